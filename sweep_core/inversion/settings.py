"""The options that inversion scripts share, on a command line or in a TOML file."""

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import attrs
import numpy as np

from .._util.config import option, read_options
from .._util.validators import amount, check_whole, one_of, positive
from ..errors import DomainError, DtypeError, OptionError, ShapeError, SweepError
from ..io import ElasticModel, PreparedModel, elastic_from_vp, faulted_model, read_array, read_elastic, read_prepared
from ..memory import MemoryOptions
from ..plugins import IMPLS
from . import elastic
from .experiment import Experiment, marine_experiment
from .scaling import LinearScaling

EMBEDDED: dict[str, Any] = {"shape": (100, 300), "dh": 20.0, "seed": 0}
"""The model of a run without ``--model``: 2 km deep, 6 km wide."""


def prepared_model(path: Path | None, dh: float | None) -> PreparedModel:
    """Return the prepared model of a file, or the embedded one; `dh` is the spacing (m) that the file must have."""
    if path:
        return read_prepared(path, dh=dh)
    if dh is not None:
        raise OptionError("--dh states the spacing of --model; the embedded model has its own")
    return faulted_model(**EMBEDDED)


def elastic_model(path: Path | None, dh: float | None) -> ElasticModel:
    """Return the elastic model of a folder or file, by default that of SWEEP_DATA or the embedded one."""
    folder = path or os.environ.get("SWEEP_DATA")
    if folder and Path(folder).is_dir():
        return read_elastic(Path(folder), dh or 25.0)
    return elastic_from_vp(prepared_model(path, dh))


PHYSICS: dict[str, tuple[Callable[..., Any], Callable[..., Experiment], float]] = {
    "acoustic": (prepared_model, marine_experiment, 5.0),
    "elastic": (elastic_model, elastic.elastic_experiment, elastic.FREQ),
}
"""The reader of the model, the maker of the survey and the peak frequency (Hz), for each kind of waves."""


@attrs.frozen(slots=False)
class Settings:
    """The options of an inversion script, checked. A script derives its own class to add options.

    Every option is an argument of the command line, ``--max-shots 8``, and a key of the file of ``--config``,
    ``max_shots = 8``. The command line overrides the file, whose paths are relative to its own folder.

    Parameters
    ----------
    physics : {'acoustic', 'elastic'}
        Invert for vp, or for vp, vs and rho.
    model : Path, optional
        Prepared model (.npz), or for elastic waves a folder of arrays; by default an embedded, faulted model.
    dh : float, optional
        Spacing that `model` must have, m.
    init : Path, optional
        Model to start from, SI units, instead of the start of the prepared model.
    backend : str, optional
        Any registered backend that supports the problem; the script's own by default.
    backend_options : str, optional
        Options of that backend, such as ``"workers=4, backend=torch"``.
    impl : {'auto', 'c', 'eager'}
    memory : {'auto', 'full', 'ckpt', 'boundary'}
        How gradients remember a forward run.
    epochs : int
        Passes over all shots.
    batchsize : int
        Shots of a step, over all ranks or devices.
    forward_batchsize : int
        Shots that a rank or device models at once.
    lr : float
        Step length of Adam, m/s of vp.
    lr_shots : int, optional
        Shots of a step for which `lr` is meant; the step length then grows linearly with the shots of a step.
    warmup : int
        Steps over which it grows.
    freq : float, optional
        Peak frequency of the wavelet, Hz; 5 by default, 1.5 for elastic waves.
    seed : int
        Seed of the order of the shots.
    reduction : {'fast', 'ordered'}
        With ``'ordered'`` the run has the same bits on any number of ranks.
    skip_bad_shots : bool
        Leave out shots that fail.
    max_shots : int
        Number of shots.
    checkpoint_every : int
        Steps between checkpoints.
    show_every : int
        Epochs between figures.
    out : Path, optional
        Folder of the results.
    resume : bool or 'auto'
        Continue the run in `out`; with ``'auto'`` begin one if there is none.
    overwrite : bool
        Remove the run in `out`, and begin anew.
    profile : bool
        Record the time of each step, and write ``profile.txt``, ``profile.png`` and ``trace.json``.

    Raises
    ------
    OptionError
        For a value out of range, and for `resume` together with `overwrite`.

    Examples
    --------
    >>> from sweep_core.inversion import Settings
    >>> settings = Settings.read("a small inversion", ["--max-shots", "6", "--batchsize", "4"])
    >>> settings.steps
    2
    """

    physics: str = option("acoustic", "acoustic, for vp; or elastic, for vp, vs and rho", one_of(*PHYSICS))
    model: Path | None = option(
        None,
        "prepared model (.npz); an embedded, faulted one by default. Elastic: also a folder of "
        "<name>_<spacing>m_{vp,vs,rho}_{true,smooth}.npy, at --dh or 25 m, by default $SWEEP_DATA where that is set",
    )
    dh: float | None = option(None, "spacing that --model must have (m)")
    init: Path | None = option(None, "start from this model (.npy or .npz, SI units) instead of the prepared start")
    backend: str | None = option(None, "any registered backend that supports the problem; the script's own by default")
    backend_options: str | None = option(None, "options of --backend, such as 'workers=4, backend=torch' of dask")
    impl: str = option(
        "auto", "c, eager or auto; other backends than the script's own choose by themselves", one_of(*IMPLS)
    )
    memory: str = option(
        "auto",
        f"how gradients remember a forward run: {', '.join(MemoryOptions.STRATEGIES)}",
        one_of(*MemoryOptions.STRATEGIES),
    )
    epochs: int = option(20, "passes over all shots", positive)
    batchsize: int = option(8, "shots of a step, over all ranks or devices", positive)
    forward_batchsize: int = option(4, "shots that a rank or device models at once", positive)
    lr: float = option(20.0, "step length of Adam (m/s of vp)", amount("a positive, finite number"))
    lr_shots: int | None = option(
        None,
        "shots of a step for which --lr is meant: it is multiplied by --batchsize over them",
        attrs.validators.optional(positive),
    )
    warmup: int = option(0, "steps over which --lr grows to this, with --lr-shots")
    freq: float | None = option(
        None,
        f"peak frequency (Hz); 5 by default, elastic {elastic.FREQ}",
        attrs.validators.optional(amount("a positive, finite number")),
    )
    seed: int = option(0, "order of the shots")
    reduction: str = option(
        "fast", "ordered: the same bits on any number of ranks, one shot at a time", one_of("fast", "ordered")
    )
    skip_bad_shots: bool = option(False, "leave out shots that fail, with a warning; by default they end the run")
    max_shots: int = option(16, "number of shots", positive)
    checkpoint_every: int = option(1, "steps between checkpoints", positive)
    show_every: int = option(5, "epochs between figures", positive)
    out: Path | None = option(None, "folder of the results; beside the script by default")
    resume: bool | str = option(
        False, "continue the run in --out; with --resume auto, begin one if there is none", one_of(False, True, "auto")
    )
    overwrite: bool = option(False, "begin anew where --out holds an earlier run, whose files are removed")
    profile: bool = option(False, "record the time of each step by rank: profile.txt, profile.png and trace.json")

    def __attrs_post_init__(self) -> None:
        check_whole(self.seed, "seed", 0)
        check_whole(self.warmup, "--warmup", 0, "steps")
        if self.warmup and self.lr_shots is None:
            raise OptionError(f"--warmup is {self.warmup}, but --lr-shots is not given; give it, or leave --warmup out")
        if self.resume and self.overwrite:
            raise OptionError("--resume continues the run in --out, and --overwrite removes it; give one of them")

    @classmethod
    def read(cls, description: str, arguments: Sequence[str] | None = None) -> Self:
        """Return the options of a command line and of the file of its ``--config``.

        Parameters
        ----------
        description : str
            First line of ``--help``.
        arguments : sequence of str, optional
            By default those of this process.

        Raises
        ------
        OptionError
            Naming the option that is unknown or out of range.
        """
        return read_options(cls, description, arguments)

    @functools.cached_property
    def experiment(self) -> Experiment:
        """The survey over the model of the options.

        Raises
        ------
        SweepError
            If the model cannot be read, or does not fit another option.
        """
        read, survey, freq = PHYSICS[self.physics]
        return survey(with_start(read(self.model, self.dh), self.init), self.max_shots, self.freq or freq)

    @property
    def shots_per_step(self) -> int:
        """The shots that a step draws: ``batchsize``, or all of fewer."""
        return min(self.batchsize, self.experiment.nshots)

    @property
    def scaling(self) -> LinearScaling | None:
        """The scaling of the step length by the shots of a step, if ``lr_shots`` is given."""
        return None if self.lr_shots is None else LinearScaling(self.lr_shots, self.warmup)

    @property
    def steps(self) -> int:
        """The steps of an epoch, which draw every shot once."""
        return -(-self.experiment.nshots // self.shots_per_step)

    @property
    def folder(self) -> Path:
        """The folder of the results; OptionError if neither the user nor the script names one."""
        if self.out is None:
            raise OptionError("out is None; expected the folder of the results; give --out")
        return self.out

    def grid(self) -> dict[str, Any]:
        """Return arguments of a propagator, and of :func:`sweep_core.make_problem`, after the equation."""
        experiment = self.experiment
        rows = int(np.argmin(experiment.model.water.all(axis=1)))
        return {
            "shape": experiment.model.water.shape, "dh": experiment.model.dh, "dt": experiment.dt,
            "source_type": experiment.source_type, "receiver_type": experiment.receiver_type,
            "memory": MemoryOptions(self.memory, known_above=rows),
        }  # fmt: skip


def with_start(model: Any, start: Path | None) -> Any:
    """Return the prepared model with the start of a file, (nz, nx) or (3, nz, nx), outside of the water."""
    if start is None:
        return model
    initial = read_array(start, "vp", "initial")
    if initial.shape != model.true.shape:
        raise ShapeError(f"--init has shape {initial.shape}; expected {model.true.shape}, that of the model")
    if initial.dtype.kind not in "fiu":
        raise DtypeError(f"--init {start} holds {initial.dtype}; expected real numbers in SI units")
    try:
        return attrs.evolve(model, initial=np.where(model.water, model.true, initial).astype(np.float32))
    except SweepError as error:
        raise DomainError(f"--init {start} does not fit this model: {error}") from error
