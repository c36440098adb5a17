"""Registration of this package's backend."""

from sweep_core.plugins import BackendRecord, impl


@impl
def sweep_backends() -> list[BackendRecord]:
    target = "sweep_jax.executor:JaxExecutor"
    return [BackendRecord("jax", target, ("jax",), ("cpu", "cuda"), ("eager", "c"))]
