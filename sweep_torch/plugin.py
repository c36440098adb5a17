"""Registration of this package's backend and distributor."""

from sweep_core.plugins import BackendRecord, DistributorRecord, impl


@impl
def sweep_backends() -> list[BackendRecord]:
    target = "sweep_torch.executor:TorchExecutor"
    return [BackendRecord("torch", target, ("torch",), ("cpu", "cuda"), ("eager", "c"))]


@impl
def sweep_distributors() -> list[DistributorRecord]:
    return [DistributorRecord("torch", "sweep_torch.distribution:TorchDistributor", ("torch",))]
