"""What the commands ``shoot`` and ``invert`` read: a TOML file whose tables are arguments of the library."""

import inspect
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from .._util.validators import check_choice, check_number, refuse_unknown
from ..acquisition.wavelets import ricker
from ..errors import OptionError, SweepError
from ..inversion import Stage, TotalVariation
from ..io import Gathers, open_segy, read_array, read_gathers, read_prepared, read_segy
from ..misfit import MISFITS
from ..numerics.grid import make_grid
from ..plugins import equations
from ..problem import Problem, make_problem


def _arguments(function: Callable, *but: str) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in but]


OVERRULED = _arguments(open_segy, "path", "nt")
"""Of :func:`sweep_core.io.open_segy`: what a file may say, and be wrong about."""

TABLES = {
    "physics": ["equation", "spatial_order", "nt", *_arguments(make_problem, "equation", "shape", "dh")],
    "model": ["start", "true", "dh"],
    "survey": ["sources", "receivers"],
    "data": ["file", *_arguments(read_segy, "segy", "dh", "dt", "line", "codes"), *OVERRULED],
    "wavelet": ["ricker", "delay", "scale", "file", "estimate"],
    "inversion": ["bounds", "fixed", "misfit", "total_variation", "precondition", "batch"],
    "stage": ["iterations", "low", "high", "shots", "coarsen", "encoded", "misfit"],
}
"""The tables of a file, and what each may hold."""


@attrs.frozen
class Config:
    """A file that was read, and checked for names that it may not hold; values are checked by those that take them."""

    path: Path
    tables: dict[str, Any]

    def __getitem__(self, name: str) -> dict[str, Any]:
        """A table; empty where there is none."""
        return self.tables.get(name, {})

    def need(self, table: str, name: str, meaning: str) -> Any:
        """A value that must be there."""
        if name not in self[table]:
            raise OptionError(f"{self.path}: [{table}] has no {name}; expected {meaning}")
        return self[table][name]

    def file(self, name: Any) -> Path:
        """A path that the file names, from where it lies."""
        if not isinstance(name, str) or not name:
            raise OptionError(f"{self.path}: {name!r} is no name of a file")
        return self.path.parent / name


def read_config(path: str | Path) -> Config:
    """A configuration; OptionError where it cannot be read or holds names that it may not."""
    path = Path(path)
    try:
        tables = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise OptionError(
            f"{path} cannot be read as TOML ({error}); seismic-sweep shoot --help lists its tables"
        ) from error
    for name, table in tables.items():
        if name not in TABLES:
            refuse_unknown(str(path), "table", name, TABLES)
        parts: Iterable[Any] = table if name == "stage" else [table]
        if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
            said = "[[stage]]" if name == "stage" else f"[{name}]"
            raise OptionError(f"{path}: {name} is {table!r}; expected a table, {said}")
        for part in parts:
            for key in part:
                if key not in TABLES[name]:
                    refuse_unknown(f"{path}: [{name}]", "option", key, TABLES[name])
    return Config(path, tables)


@attrs.frozen(eq=False)
class Earth:
    """Parameters of an equation in its order, (nz, nx) or (nz, ny, nx), and what is known to be water."""

    models: list[np.ndarray]
    dh: Any
    water: np.ndarray | None = None


def read_earth(config: Config, which: str, names: list[str]) -> Earth:
    """``start`` or ``true`` of [model]: a prepared model, a .npy, or a table of .npy by the names of parameters."""
    given, dh = config.need("model", which, f"a file with {', '.join(names)}"), config["model"].get("dh")
    if isinstance(given, str) and given.endswith(".npz"):
        if names != ["vp"]:
            raise OptionError(f"{config.path}: {given} holds vp alone; expected {which} = {{{_example(names)}}}")
        prepared = read_prepared(config.file(given), dh)
        return Earth([prepared.initial if which == "start" else prepared.true], prepared.dh, prepared.water)
    files = {names[0]: given} if isinstance(given, str) else given
    if not isinstance(files, dict) or sorted(files) != sorted(names):
        raise OptionError(f"{config.path}: {which} is {given!r}; expected {{{_example(names)}}}")
    if dh is None:
        raise OptionError(f"{config.path}: [model] has no dh; expected the spacing of {which} in metres")
    models, dh = [read_array(config.file(files[name])) for name in names], tuple(dh) if isinstance(dh, list) else dh
    make_grid(models[0].shape, dh)  # refuses what is none
    return Earth(models, dh)


def _example(names):
    return ", ".join(f'{name} = "{name}.npy"' for name in names)


def make_equation(config: Config) -> Any:
    """Of [physics]: acoustic waves, order 8, unless it says otherwise."""
    known, name = equations(), config["physics"].get("equation", "acoustic")
    check_choice(name, f"{config.path}: equation", sorted(known))
    return known[name](spatial_order=config["physics"].get("spatial_order", 8))


def problem_of(config: Config, equation: Any, earth: Earth, dt: float) -> Problem:
    """Of [physics], on the grid of a model."""
    taken = _arguments(make_problem, "equation", "shape", "dh", "dt")
    options = {name: value for name, value in config["physics"].items() if name in taken}
    return make_problem(equation, earth.models[0].shape, earth.dh, dt, **options)


def read_data(config: Config, dh: Any) -> Gathers:
    """The gathers of [data]: what :func:`sweep_core.io.write_gathers` wrote, or a SEG-Y file."""
    path = config.file(config.need("data", "file", "gathers (.npz) or a SEG-Y file"))
    options = {name: value for name, value in config["data"].items() if name != "file"}
    if path.suffix != ".npz":
        header = {name: options.pop(name) for name in OVERRULED if name in options}
        gathers = read_segy(open_segy(path, **header), dh, dt=config["physics"].get("dt"), **options)
        if not len(gathers):
            raise OptionError(f"{config.path}: [data] shots is {options['shots']!r}; expected numbers of some shots")
        return gathers
    if options:
        raise OptionError(
            f"{config.path}: [data] {next(iter(options))} is for SEG-Y files; {path.name} has been prepared"
        )
    gathers = read_gathers(path)
    if (dt := config["physics"].get("dt")) is not None:
        check_number(dt, "dt", "seconds")
    for name, stated in (("dh", dh), ("dt", dt)):
        if stated is not None and not np.allclose(getattr(gathers, name), stated, rtol=1e-6):
            raise OptionError(f"{path} is for {name} = {getattr(gathers, name)}; {config.path} has {stated}")
    return gathers


def wavelet_of(config: Config, nt: int, dt: float) -> np.ndarray:
    """The samples of [wavelet], (nt,)."""
    wavelet = config["wavelet"]
    for name in ("ricker", "delay", "scale"):
        if type(wavelet.get(name, 1.0)) not in (int, float):
            raise OptionError(f"{config.path}: [wavelet] {name} is {wavelet[name]!r}; expected a number")
    if not wavelet.get("scale", 1.0):
        raise OptionError(f"{config.path}: [wavelet] scale is zero, of which nothing is left; leave it out")
    if "file" in wavelet:
        if left := sorted({"ricker", "delay"} & set(wavelet)):
            raise OptionError(f"{config.path}: [wavelet] has file and {left[0]}; give one of them")
        samples = read_array(config.file(wavelet["file"]))
        if samples.shape != (nt,):
            raise OptionError(f"{wavelet['file']} has shape {samples.shape}; expected ({nt},), the samples of the data")
        if samples.dtype.kind not in "fiu":
            raise OptionError(f"{wavelet['file']} holds {samples.dtype}; expected real numbers")
        return samples * wavelet.get("scale", 1.0)
    if "ricker" not in wavelet:
        raise OptionError(
            f"{config.path}: [wavelet] needs ricker, a peak frequency in Hz, or file, a .npy of samples at dt"
        )
    return ricker(wavelet["ricker"], nt, dt, wavelet.get("delay")) * wavelet.get("scale", 1.0)


def positions(config: Config, which: str, dh: Any) -> np.ndarray:
    """(count, 2) cells, columns (x, z), of ``first``, ``last`` and ``count`` of a line in [survey], in metres."""
    given = config.need("survey", which, "{first = [x, z], last = [x, z], count = n}, in metres")
    if not isinstance(given, dict) or set(given) != {"first", "last", "count"}:
        raise OptionError(f"{config.path}: {which} are {given!r}; expected first, last (metres) and count")
    if type(given["count"]) is not int or given["count"] < 1:
        raise OptionError(f"{config.path}: count of {which} is {given['count']!r}; expected a number from 1 on")
    ends = []
    for end in ("first", "last"):
        at = given[end]
        if not isinstance(at, list) or len(at) != 2 or not all(type(n) in (int, float) for n in at):
            raise OptionError(f"{config.path}: {end} of {which} is {at!r}; expected [x, z] in metres")
        ends.append(np.array(at, np.float64))
    return np.linspace(ends[0], ends[1], given["count"]) / np.broadcast_to(dh, 2)[::-1]


def stages_of(config: Config) -> list[Stage]:
    """Of [[stage]]."""
    found = []
    for number, table in enumerate(config.tables.get("stage", []), start=1):
        if "iterations" not in table:
            raise OptionError(f"{config.path}: [[stage]] {number} has no iterations")
        try:
            misfit = misfit_of(config, table["misfit"]) if "misfit" in table else None
            found.append(Stage(**{**table, "misfit": misfit}))
        except SweepError as error:
            raise OptionError(f"{config.path}: [[stage]] {number}: {error}") from error
    if not found:
        raise OptionError(f"{config.path} has no [[stage]]; expected one or more, with iterations, low and high")
    return found


def misfit_of(config: Config, name: Any) -> Any:
    """A function of sweep_core.misfit by its name."""
    check_choice(name, f"{config.path}: misfit", sorted(MISFITS))
    return MISFITS[name]


def inversion_options(config: Config, earth: Earth) -> dict[str, Any]:
    """What [inversion] says to :func:`sweep_core.inversion.invert`."""
    said = dict(config["inversion"])
    for table, name in (("wavelet", "estimate"), ("inversion", "precondition")):
        if not isinstance(value := config[table].get(name, True), bool):
            raise OptionError(f"{config.path}: [{table}] {name} is {value!r}; expected true or false")
    found: dict[str, Any] = {name: said[name] for name in ("precondition", "batch") if name in said}
    if "misfit" in said:
        found["misfit"] = misfit_of(config, said["misfit"])
    if "total_variation" in said:
        found["regularise"] = TotalVariation(said["total_variation"])
    if "bounds" in said:
        found["bounds"] = said["bounds"]
    fixed = said.get("fixed", "" if earth.water is None else "water")
    if fixed == "water":
        if earth.water is None:
            raise OptionError(f'{config.path}: fixed = "water" needs a prepared model, which knows it; or name a .npy')
        found["fixed"] = earth.water
    elif fixed:
        found["fixed"] = read_array(config.file(fixed))
    return found
