"""The command line that inversion scripts share."""

import argparse
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from .._util.validators import check_choice
from ..errors import DomainError, DtypeError, OptionError, ShapeError, SweepError
from ..io import ElasticModel, PreparedModel, elastic_from_vp, faulted_model, read_array, read_elastic, read_prepared
from ..memory import MemoryOptions
from ..plugins import IMPLS
from . import elastic
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

    @property
    def steps(self) -> int:
        """Steps of an epoch: as many as draw all shots."""
        return -(-self.experiment.nshots // self.batchsize)

    def grid(self) -> dict[str, Any]:
        """Arguments of a propagator, and of :func:`sweep_core.make_problem`, after the equation."""
        experiment = self.experiment
        return {
            "shape": experiment.model.water.shape, "dh": experiment.model.dh, "dt": experiment.dt,
            "source_type": experiment.source_type, "receiver_type": experiment.receiver_type, "memory": self.memory,
        }  # fmt: skip


def make_parser(description: str, backend: str) -> argparse.ArgumentParser:
    """Options of every inversion script; a script adds its own."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--physics", default="acoustic", help="acoustic, for vp; or elastic, for vp, vs and rho")
    add(
        "--model",
        help="prepared model (.npz); an embedded, faulted one by default. Elastic: also a folder of "
        "<name>_<spacing>m_{vp,vs,rho}_{true,smooth}.npy, at --dh or 25 m, by default $SWEEP_DATA where that is set",
    )
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
    add("--freq", type=float, help=f"peak frequency (Hz); 5 by default, elastic {elastic.FREQ}")
    add("--seed", type=int, default=0, help="order of the shots")
    add("--max-shots", type=int, default=16, help="number of shots")
    add("--show-every", type=int, default=5, help="epochs between figures")
    add("--out", help="folder of the results; beside the script by default")
    add("--resume", action="store_true", help="continue from the checkpoint in --out")
    add("--overwrite", action="store_true", help="begin anew where --out holds an earlier run, whose files are removed")
    return parser


def read_settings(arguments: argparse.Namespace, default_out: Path) -> Settings:
    """Settings from parsed arguments.

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
    check_choice(arguments.physics, "--physics", PHYSICS)
    read, survey, freq = PHYSICS[arguments.physics]
    freq = freq if arguments.freq is None else arguments.freq
    for name, value in (("lr", arguments.lr), ("freq", freq)):
        if not 0 < value < math.inf:
            raise DomainError(f"--{name} is {value}; expected a positive, finite number")
    check_choice(arguments.impl, "--impl", IMPLS)
    check_choice(arguments.memory, "--memory", MemoryOptions.STRATEGIES)
    if arguments.resume and arguments.overwrite:
        raise OptionError("--resume continues the run in --out, and --overwrite removes it; give one of them")
    experiment = survey(_started(read(arguments), arguments.init), arguments.max_shots, freq)
    water = experiment.model.water
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
        memory=MemoryOptions(arguments.memory, known_above=int(np.argmin(water.all(axis=1)))),
        overwrite=arguments.overwrite,
    )


def prepared_model(arguments: argparse.Namespace) -> PreparedModel:
    """The model of --model, or the embedded one."""
    if arguments.model:
        return read_prepared(arguments.model, dh=arguments.dh)
    if arguments.dh is not None:
        raise OptionError("--dh states the spacing of --model; the embedded model has its own")
    return faulted_model(**EMBEDDED)


def elastic_model(arguments: argparse.Namespace) -> ElasticModel:
    """The folder or model of --model or SWEEP_DATA, or the embedded one."""
    path = arguments.model or os.environ.get("SWEEP_DATA")
    if path and Path(path).is_dir():
        return read_elastic(Path(path), arguments.dh or 25.0)
    return elastic_from_vp(prepared_model(arguments))


PHYSICS: dict[str, tuple[Callable, Callable, float]] = {
    "acoustic": (prepared_model, marine_experiment, 5.0),
    "elastic": (elastic_model, elastic.elastic_experiment, elastic.FREQ),
}
"""The reader of the model, the maker of the survey and the peak frequency (Hz), for each kind of waves."""


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
