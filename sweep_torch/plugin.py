"""Registration of this package's backend."""

from sweep_core.plugins import BackendRecord, impl


@impl
def sweep_backends() -> list[BackendRecord]:
    target = "sweep_torch.executor:TorchExecutor"
    return [BackendRecord("torch", target, ("torch",), ("cpu", "cuda"), ("eager", "c"))]
