"""A misspelt hook: its name lacks an s."""

from sweep_core import BackendRecord, impl


@impl
def sweep_backend():
    return [BackendRecord("misspelt", "sweep_broken:Nothing")]
