"""The command line that inversion scripts share."""

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from .._util.validators import check_choice
from ..errors import DomainError, DtypeError, OptionError, ShapeError, SweepError
from ..io import PreparedModel, faulted_model, read_array, read_prepared
from ..memory import MemoryOptions
from ..plugins import IMPLS
from .experiment import Experiment, marine_experiment

EMBEDDED: dict[str, Any] = {"shape": (100, 300), "dh": 20.0, "seed": 0}
"""The model of a run without ``--model``: 2 km deep, 6 km wide."""


@attrs.frozen
class Settings:
    """What was asked for on the command line, checked."""

    experiment: Experiment
    epochs: int
    batchsize: int
    forward_batchsize: int
    lr: float
    seed: int
    show_every: int
    out: Path
    resume: bool
    backend: str
    impl: str
    memory: MemoryOptions = attrs.field(factory=MemoryOptions)
    overwrite: bool = False

    def identity(self) -> dict[str, object]:
        """What a resumed run must share with the one that it continues."""
        experiment = self.experiment
        return {
            "equation": experiment.equation.name,
            "model": experiment.model.name,
            "shape": list(experiment.model.true.shape),
            "dh": experiment.model.dh,
            "initial_error": experiment.model_error(experiment.model.initial),
            "shots": experiment.nshots,
            "steps": int(experiment.shots.wavelet.shape[0]),
            "dt": experiment.dt,
            "freq": experiment.freq,
            "batchsize": self.batchsize,
            "lr": self.lr,
            "seed": self.seed,
        }


def make_parser(description: str, backend: str, model: str = "prepared model (.npz)") -> argparse.ArgumentParser:
    """Options of every inversion script; a script adds its own."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--model", help=f"{model}; an embedded, faulted one by default")
    add("--dh", type=float, help="spacing that --model must have (m)")
    add("--init", help="start from this model (.npy or .npz, SI units) instead of the prepared start")
    add(
        "--backend",
        default=backend,
        help="any registered backend that supports the problem (python -m sweep_core)",
    )
    add("--impl", default="auto", help="c, eager or auto; other backends than the script's own choose by themselves")
    add("--memory", default="auto", help=f"how gradients remember a forward run: {', '.join(MemoryOptions.STRATEGIES)}")
    add("--epochs", type=int, default=20, help="passes over all shots")
    add("--batchsize", type=int, default=8, help="shots of a step, over all ranks or devices")
    add("--forward-batchsize", type=int, default=4, help="shots that a rank or device models at once")
    add("--lr", type=float, default=20.0, help="step length of Adam (m/s of vp)")
    add("--freq", type=float, default=5.0, help="peak frequency (Hz)")
    add("--seed", type=int, default=0, help="order of the shots")
    add("--max-shots", type=int, default=16, help="number of shots")
    add("--show-every", type=int, default=5, help="epochs between figures")
    add("--out", help="folder of the results; beside the script by default")
    add("--resume", action="store_true", help="continue from the checkpoint in --out")
    add("--overwrite", action="store_true", help="begin anew where --out holds an earlier run, whose files are removed")
    return parser


def read_settings(
    arguments: argparse.Namespace,
    default_out: Path,
    read: Callable[[argparse.Namespace], Any] | None = None,
    survey: Callable[[Any, int, float], Experiment] = marine_experiment,
) -> Settings:
    """Settings from parsed arguments; `read` makes the model of them, a prepared one by default, `survey` its shots.

    Raises
    ------
    SweepError
        Naming the argument that does not fit.
    """
    for name in ("epochs", "batchsize", "forward_batchsize", "max_shots", "show_every"):
        value = getattr(arguments, name)
        if value < 1:
            raise OptionError(f"--{name.replace('_', '-')} is {value}; expected a number from 1 on")
    if arguments.seed < 0:
        raise OptionError(f"--seed is {arguments.seed}; expected a number from 0 on")
    for name in ("lr", "freq"):
        if not 0 < getattr(arguments, name) < math.inf:
            raise DomainError(f"--{name} is {getattr(arguments, name)}; expected a positive, finite number")
    check_choice(arguments.impl, "--impl", IMPLS)
    check_choice(arguments.memory, "--memory", MemoryOptions.STRATEGIES)
    if arguments.resume and arguments.overwrite:
        raise OptionError("--resume continues the run in --out, and --overwrite removes it; give one of them")
    model = _started((read or prepared_model)(arguments), arguments.init)
    experiment = survey(model, arguments.max_shots, arguments.freq)
    return Settings(
        experiment=experiment,
        epochs=arguments.epochs,
        batchsize=min(arguments.batchsize, experiment.nshots),
        forward_batchsize=arguments.forward_batchsize,
        lr=arguments.lr,
        seed=arguments.seed,
        show_every=arguments.show_every,
        out=Path(arguments.out) if arguments.out else default_out,
        resume=arguments.resume,
        backend=arguments.backend,
        impl=arguments.impl,
        memory=MemoryOptions(arguments.memory, known_above=int(np.argmin(model.water.all(axis=1)))),
        overwrite=arguments.overwrite,
    )


def prepared_model(arguments: argparse.Namespace) -> PreparedModel:
    """The model of --model, or the embedded one."""
    if arguments.model:
        return read_prepared(arguments.model, dh=arguments.dh)
    if arguments.dh is not None:
        raise OptionError("--dh states the spacing of --model; the embedded model has its own")
    return faulted_model(**EMBEDDED)


def _started(model, start: str | None):
    """The model with another start, if one is given."""
    if not start:
        return model
    initial = read_array(start, "vp", "initial")
    if initial.shape != model.true.shape:
        raise ShapeError(f"--init has shape {initial.shape}; the model has {model.true.shape}")
    if initial.dtype.kind not in "fiu":
        raise DtypeError(f"--init {start} holds {initial.dtype}; expected real numbers in SI units")
    try:
        return attrs.evolve(model, initial=np.where(model.water, model.true, initial).astype(np.float32))
    except SweepError as error:
        raise DomainError(f"--init {start} is no start of this model: {error}") from error
