"""Registration of this package's backend, by name."""

from sweep_core import BackendRecord, impl


@impl
def sweep_backends():
    return [BackendRecord("tiny", "sweep_tiny.executor:TinyExecutor", requires=("numpy",), devices=("cpu",))]
