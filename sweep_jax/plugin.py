"""What this package registers: one backend."""

from sweep_core.hookspecs import BackendRecord, impl


@impl
def sweep_backends():
    return [BackendRecord("jax", "sweep_jax.executor:JaxExecutor", ("jax",), ("cpu", "cuda"))]
