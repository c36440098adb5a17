"""Registration of this package's backend and distributor."""

from sweep_core.plugins import BackendRecord, DistributorRecord, impl

REQUIRES = ("dask", "distributed")


@impl
def sweep_backends() -> list[BackendRecord]:
    return [BackendRecord("dask", "sweep_dask.executor:DaskExecutor", REQUIRES, ("cpu", "cuda"))]


@impl
def sweep_distributors() -> list[DistributorRecord]:
    return [DistributorRecord("dask", "sweep_dask.distributor:DaskDistributor", REQUIRES)]
