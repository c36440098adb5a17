"""The interface of `sweep-solver`, the SWEEP of DeepWave-KAUST: its users' scripts run with changed imports alone.

    import sweep_compat as sweep
    from sweep_compat.equations import Acoustic
    from sweep_compat.propagator.torch import PropTorch
    from sweep_compat.signal import ricker

Records and gradients equal those of that package, to rounding until the absorbing layers reflect. The page
docs/howto/from-sweep-solver.md lists the differences. A missing name raises an error that gives its counterpart in
`sweep_core`. Nothing here is taken from that package, nor needs it.
"""

from importlib import import_module
from typing import Any

from sweep_core.errors import UnsupportedError

MODULES = "equations", "propagator", "signal"
ELSEWHERE: dict[str, str] = {
    "datasets": "seismic-sweep model prepares a model for an inversion",
    "io": "sweep_core.io reads and writes SEG-Y, gathers and models",
    "is_torch_binding_available": "sweep_core.backends() lists what is installed, and compiled code runs on CPUs too",
    "loss": "sweep_core.misfit is the misfit of the executors; any other is ordinary arithmetic of the framework",
    "memory": "solver.estimate(nshots, nt) of sweep_torch.PropTorch computes the memory use of a gradient",
    "nn": "sweep_torch.PropTorch(models=[...]) is a torch.nn.Module with the models as parameters",
    "opt": "use torch.optim or optax",
    "precompile": "the compiled code comes with the installation",
    "preproc": "sweep_core.processing filters and mutes gathers",
    "viz": "sweep_core.plot draws models, gathers and surveys",
}


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return import_module(f"{__name__}.{name}")
    if name in ELSEWHERE:
        raise UnsupportedError(f"sweep_compat has no {name!r}: {ELSEWHERE[name]}")
    raise AttributeError(f"sweep_compat has no {name!r}; it has {', '.join(MODULES)}")
