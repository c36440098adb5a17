"""What this package registers: one backend."""

from sweep_core.hookspecs import BackendRecord, impl


@impl
def sweep_backends():
    return [BackendRecord("torch", "sweep_torch.executor:TorchExecutor", ("torch",), ("cpu", "cuda"))]
