"""Registration of this package's backend and distributor."""

from sweep_core.plugins import BackendRecord, DistributorRecord, impl


@impl
def sweep_backends() -> list[BackendRecord]:
    target = "sweep_jax.executor:JaxExecutor"
    return [BackendRecord("jax", target, ("jax",), ("cpu", "cuda"), ("eager", "c"))]


@impl
def sweep_distributors() -> list[DistributorRecord]:
    return [DistributorRecord("jax", "sweep_jax.distribution:JaxDistributor", ("jax",))]
