"""The TOML file of the commands ``shoot`` and ``invert``. Its values become arguments of the library."""

from pathlib import Path
from typing import Any

import attrs
import numpy as np

from .._util.config import option, read_toml, structure
from .._util.validators import check_choice, check_number, one_of, positive
from ..acquisition.wavelets import ricker
from ..errors import OptionError, SweepError
from ..inversion import Stage, TotalVariation
from ..io import Gathers, open_segy, read_array, read_gathers, read_prepared, read_segy
from ..misfit import MISFITS
from ..numerics.grid import make_grid
from ..plugins import IMPLS, equations
from ..problem import Problem, make_problem


@attrs.frozen
class Physics:
    """The equation, the length of a record, and arguments of :func:`sweep_core.make_problem`, which checks them."""

    equation: Any = "acoustic"
    spatial_order: Any = 8
    nt: int | None = option(None, validator=attrs.validators.optional(positive))
    dt: Any = None
    source_type: Any = None
    receiver_type: Any = None
    pml_type: Any = None
    pml_width: Any = None
    pml_target_db: Any = None
    pml_velocity: Any = None
    pml_freq: Any = None
    free_surface: Any = None
    source_scaling: Any = None
    edge_gradient: Any = None
    time_dispersion: Any = None
    memory: Any = None
    check_finite: Any = None


@attrs.frozen
class Model:
    """Files of the start and of the true model, and their spacing in metres."""

    start: Any = None
    true: Any = None
    dh: Any = None


@attrs.frozen
class Positions:
    """A line of `count` positions; `first` and `last` are [x, z] in metres."""

    first: Any = option()
    last: Any = option()
    count: int = option(validator=positive)

    @first.validator
    @last.validator
    def _check(self, attribute: Any, value: Any) -> None:
        if not isinstance(value, list) or len(value) != 2 or not all(type(n) in (int, float) for n in value):
            raise OptionError(f"{attribute.name} is {value!r}; expected [x, z] in metres")

    def cells(self, dh: Any) -> np.ndarray:
        """Return the positions in cells, (count, 2), columns (x, z)."""
        first, last = np.array([self.first, self.last], np.float64)
        return np.linspace(first, last, self.count) / np.broadcast_to(dh, 2)[::-1]


@attrs.frozen
class Survey:
    """The sources and the receivers, the same for each source."""

    sources: Positions = option()
    receivers: Positions = option()


@attrs.frozen
class Data:
    """The file of the gathers and, for SEG-Y, arguments of read_segy and open_segy of :mod:`sweep_core.io`."""

    file: Path | None = None
    nt: Any = None
    datum: Any = None
    source_depth: Any = None
    receiver_depth: Any = None
    shots: Any = None
    dead: Any = None
    interval: Any = None
    sample_format: Any = None
    unit: Any = None
    coordinate_scalar: Any = None
    elevation_scalar: Any = None
    stacked: Any = None
    header_bytes: Any = None


HEADER_OPTIONS = {
    "interval",
    "sample_format",
    "unit",
    "coordinate_scalar",
    "elevation_scalar",
    "stacked",
    "header_bytes",
}
"""The options of :class:`Data` that overrule the headers of a SEG-Y file, arguments of open_segy."""


@attrs.frozen
class Wavelet:
    """A Ricker wavelet of a peak frequency in Hz, or a file of samples; `estimate` fits it to the data in the start."""

    ricker: float | None = None
    delay: float | None = None
    scale: float = option(1.0)
    file: Path | None = None
    estimate: bool = False

    @scale.validator
    def _check(self, attribute: Any, value: float) -> None:
        if not value:
            raise OptionError("scale is zero, which silences the wavelet; leave scale out")


@attrs.frozen
class Inversion:
    """Arguments of :func:`sweep_core.inversion.invert`, which checks them."""

    bounds: Any = None
    fixed: Any = None
    misfit: Any = None
    total_variation: Any = None
    precondition: bool | None = None
    batch: Any = None
    seed: Any = None


@attrs.frozen
class StageTable:
    """Arguments of :class:`sweep_core.inversion.Stage`, which checks them."""

    iterations: Any = option()
    low: Any = None
    high: Any = None
    shots: Any = None
    coarsen: Any = None
    encoded: Any = None
    misfit: Any = None


@attrs.frozen
class Execution:
    """The backend, its kind of code and its device; arguments of the command line override them."""

    backend: str | None = option(
        None, "registered backend that computes; by default the first installed of torch and jax"
    )
    impl: str | None = option(
        None, "c (compiled code), eager (the framework's own operations) or auto", one_of(None, *IMPLS)
    )
    device: str | None = option(None, "such as cpu, cuda or cuda:1; the backend's own by default")
    backend_options: str | None = option(None, "further options of the backend, such as 'workers=4' of dask")


@attrs.define
class Config:
    """The tables of a file, and its path."""

    physics: Physics = attrs.field(factory=Physics)
    model: Model = attrs.field(factory=Model)
    survey: Survey | None = None
    data: Data = attrs.field(factory=Data)
    wavelet: Wavelet = attrs.field(factory=Wavelet)
    inversion: Inversion = attrs.field(factory=Inversion)
    stage: list[StageTable] = attrs.field(factory=list)
    execution: Execution = attrs.field(factory=Execution)
    path: Path = attrs.field(init=False, default=Path())

    def need(self, table: str, name: str, meaning: str) -> Any:
        """Return an option of a table; OptionError with its meaning if the file does not state the option."""
        if (value := getattr(getattr(self, table), name)) is None:
            raise OptionError(f"{self.path}: [{table}] has no {name}; expected {meaning}")
        return value

    def file(self, name: Any) -> Path:
        """Return the path of a file that the configuration names, relative to its own folder."""
        if not isinstance(name, str | Path) or not str(name):
            raise OptionError(f"{self.path}: {name!r} is not the name of a file")
        return self.path.parent / name


def read_config(path: str | Path, **execution: Any) -> Config:
    """Return a configuration; `execution` overrides options of its table [execution].

    Raises
    ------
    OptionError
        If the file cannot be read, has an unknown table or option, or a value of another type.
    """
    tables = read_toml(path, "seismic-sweep shoot --help lists its tables")
    if execution and isinstance(table := tables.setdefault("execution", {}), dict):
        table |= execution
    config = structure(Config, tables, str(path))
    config.path = Path(path)
    return config


def stated(table: Any, *but: str) -> dict[str, Any]:
    """Return the options of a table that the file states, but those of some names."""
    return attrs.asdict(table, recurse=False, filter=lambda field, value: value is not None and field.name not in but)


@attrs.frozen(eq=False)
class Earth:
    """Parameters of an equation in its order, (nz, nx) or (nz, ny, nx), and the cells known to be water."""

    models: list[np.ndarray]
    dh: Any
    water: np.ndarray | None = None


def read_earth(config: Config, which: str, names: list[str]) -> Earth:
    """Return ``start`` or ``true`` of [model]: a prepared model, a .npy, or a table of .npy by names of parameters."""
    files, dh = config.need("model", which, f"a file with {', '.join(names)}"), config.model.dh
    example = ", ".join(f'{name} = "{name}.npy"' for name in names)
    if isinstance(files, str) and files.endswith(".npz"):
        if names != ["vp"]:
            raise OptionError(f"{config.path}: {which} is {files}, which holds only vp; expected {{{example}}}")
        prepared = read_prepared(config.file(files), dh)
        return Earth([prepared.initial if which == "start" else prepared.true], prepared.dh, prepared.water)
    by_name = {names[0]: files} if isinstance(files, str) else files
    if not isinstance(by_name, dict) or sorted(by_name) != sorted(names):
        raise OptionError(f"{config.path}: {which} is {files!r}; expected {{{example}}}")
    if dh is None:
        raise OptionError(f"{config.path}: [model] has no dh; expected the spacing of {which} in metres")
    models, dh = [read_array(config.file(by_name[name])) for name in names], tuple(dh) if isinstance(dh, list) else dh
    make_grid(models[0].shape, dh)  # refuses an invalid spacing
    return Earth(models, dh)


def make_equation(config: Config) -> Any:
    """Return the equation of [physics]."""
    known, name = equations(), config.physics.equation
    check_choice(name, f"{config.path}: equation", sorted(known))
    return known[name](spatial_order=config.physics.spatial_order)


def problem_of(config: Config, equation: Any, earth: Earth, dt: float) -> Problem:
    """Return the problem of [physics] on the grid of a model."""
    options = stated(config.physics, "equation", "spatial_order", "nt", "dt")
    return make_problem(equation, earth.models[0].shape, earth.dh, dt, **options)


def read_data(config: Config, dh: Any) -> Gathers:
    """Return the gathers of [data], from a file of :func:`sweep_core.io.write_gathers` or from SEG-Y."""
    path = config.file(config.need("data", "file", "gathers (.npz) or a SEG-Y file"))
    dt, options = config.physics.dt, stated(config.data, "file")
    if path.suffix != ".npz":
        header = {name: options.pop(name) for name in HEADER_OPTIONS & set(options)}
        gathers = read_segy(open_segy(path, **header), dh, dt=dt, **options)
        if not len(gathers):
            raise OptionError(
                f"{config.path}: [data] shots is {options['shots']!r}; expected one or more numbers of shots"
            )
        return gathers
    if options:
        raise OptionError(
            f"{config.path}: [data] {next(iter(options))} applies only to SEG-Y files, and file is {path.name}; leave "
            "it out"
        )
    gathers = read_gathers(path)
    if dt is not None:
        check_number(dt, "dt", "seconds")
    for name, value in (("dh", dh), ("dt", dt)):
        if value is not None and not np.allclose(getattr(gathers, name), value, rtol=1e-6):
            raise OptionError(f"{config.path}: {name} is {value}; expected {getattr(gathers, name)}, that of {path}")
    return gathers


def wavelet_of(config: Config, nt: int, dt: float) -> np.ndarray:
    """Return the samples of [wavelet], (nt,)."""
    wavelet = config.wavelet
    if wavelet.file is None:
        if wavelet.ricker is None:
            raise OptionError(
                f"{config.path}: [wavelet] has neither ricker nor file; expected ricker, a peak frequency in Hz, or "
                "file, a .npy of samples at dt"
            )
        return ricker(wavelet.ricker, nt, dt, wavelet.delay) * wavelet.scale
    if unused := stated(wavelet, "file", "scale", "estimate"):
        raise OptionError(f"{config.path}: [wavelet] has file and {next(iter(unused))}; give one of them")
    samples = read_array(config.file(wavelet.file))
    if samples.shape != (nt,):
        raise OptionError(f"{wavelet.file} has shape {samples.shape}; expected ({nt},), the samples of the data")
    if samples.dtype.kind not in "fiu":
        raise OptionError(f"{wavelet.file} holds {samples.dtype}; expected real numbers")
    return samples * wavelet.scale


def stages_of(config: Config) -> list[Stage]:
    """Return the stages of [[stage]]."""
    if not config.stage:
        raise OptionError(f"{config.path} has no [[stage]]; expected one or more, with iterations, low and high")
    stages = []
    for number, table in enumerate(config.stage, start=1):
        try:
            misfit = None if table.misfit is None else misfit_of(config, table.misfit)
            stages.append(Stage(**stated(table, "misfit"), misfit=misfit))
        except SweepError as error:
            raise OptionError(f"{config.path}: [[stage]] {number}: {error}") from error
    return stages


def misfit_of(config: Config, name: Any) -> Any:
    """Return a function of sweep_core.misfit by its name."""
    check_choice(name, f"{config.path}: misfit", sorted(MISFITS))
    return MISFITS[name]


def inversion_options(config: Config, earth: Earth) -> dict[str, Any]:
    """Return the arguments of :func:`sweep_core.inversion.invert` that [inversion] states."""
    table = config.inversion
    options = stated(table, "misfit", "total_variation", "fixed")
    if table.misfit is not None:
        options["misfit"] = misfit_of(config, table.misfit)
    if table.total_variation is not None:
        options["regularise"] = TotalVariation(table.total_variation)
    fixed = ("" if earth.water is None else "water") if table.fixed is None else table.fixed
    if fixed == "water":
        if earth.water is None:
            raise OptionError(
                f'{config.path}: fixed is "water", which only a prepared model holds; prepare the model, or name a .npy'
            )
        options["fixed"] = earth.water
    elif fixed:
        options["fixed"] = read_array(config.file(fixed))
    return options
