"""The check that a class states an equation: its declarations, and one step on a few cells. It runs once."""

from contextlib import contextmanager, suppress
from functools import lru_cache
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from ..discretization.array_ops import NumpyOps
from ..discretization.node_averages import NodeAverages
from ..equations.equation import RANGES, Equation, Field, Parameter
from ..errors import OptionError, SweepError
from ..memory import MemoryOptions
from ..numerics.cpml import CPML
from ..numerics.grid import AXES, make_grid
from .problem import Problem

DECLARED = {
    "parameters": ("a tuple of Parameter", Parameter),
    "fields": ("a tuple of Field", Field),
    "coefficient_names": ("a tuple of names", str),
    "constant_names": ("a tuple of names", str),
    "memories": ("a tuple of names", str),
    "reciprocal": ("a tuple of fields", str),
}
"""Class variables that are tuples, and of what."""


@lru_cache(maxsize=64)
def check_declared(equation: Equation) -> None:
    """Raise an OptionError if a class variable is missing, of another kind, or names an unknown field."""
    for name in ("name", "levels", "pml_type", "ndims", *DECLARED, *equation.tables_stated):
        if not hasattr(equation, name):
            raise OptionError(f"{type(equation).__name__} does not state the class variable {name!r}")

    def refuse(name, value, expected):
        raise OptionError(f"{equation.name}: {name} is {value!r}; expected {expected}")

    if not isinstance(equation.name, str) or not equation.name:
        raise OptionError(f"{type(equation).__name__}: name is {equation.name!r}; expected a word, such as 'acoustic'")
    for name, (expected, kind) in DECLARED.items():
        value = getattr(equation, name)
        if not isinstance(value, tuple | list) or not all(isinstance(x, kind) for x in value):
            refuse(name, value, expected)
        names = [getattr(x, "name", x) for x in value]
        if len(set(names)) < len(names):
            refuse(name, names, "each name once")
    if both := set(equation.coefficient_names) & set(equation.constant_names):
        refuse("constant_names", equation.constant_names, f"names of no coefficients, unlike {min(both)!r}")
    for name, interval in equation.coefficient_ranges.items():
        if name not in equation.coefficient_names or interval not in RANGES:
            refuse("coefficient_ranges", {name: interval}, f"{' or '.join(map(repr, RANGES))} for a coefficient")
    for name, least in (("parameters", 1), ("fields", 1)):
        if len(getattr(equation, name)) < least:
            refuse(name, getattr(equation, name), "at least one")
    if equation.levels not in (1, 2):
        refuse("levels", equation.levels, "1 or 2")
    for where, ndims in (("ndims", equation.ndims), *((f"ndims of {f.name}", f.ndims) for f in equation.fields)):
        if not isinstance(ndims, tuple | list) or not ndims or not set(ndims) <= AXES.keys():
            refuse(where, ndims, "some of 1, 2 and 3")
    for f in equation.fields:
        if not isinstance(f.stagger, tuple | list | str) or not set(f.stagger) <= set("xyzt"):
            refuse(f"stagger of {f.name}", f.stagger, "some of 'x', 'y', 'z' and 't'")
        if f.parity not in ((-1, 1) if f.mirrored else (-1, 0, 1)):
            refuse(f"parity of {f.name}", f.parity, "-1 or 1, or 0 where it is not mirrored")
        if f.source_sign not in (-1, 1):
            refuse(f"source_sign of {f.name}", f.source_sign, "1, or -1 for a stress")
    error = equation.float32_error
    if isinstance(error, bool) or not isinstance(error, int | float) or not 0 < error < 1:
        refuse("float32_error", error, "a number between 0 and 1")
    for p in equation.parameters:
        bounds = (p.low, p.high, *(p.typical if isinstance(p.typical, tuple | list) else ()))
        if not all(isinstance(x, Real) for x in bounds) or len(bounds) != (2 if p.typical is None else 4):
            refuse(f"interval of {p.name}", (p.low, p.high, p.typical), "numbers low and high, and typical=(low, high)")
        if not p.low < p.high:
            refuse(f"interval of {p.name}", (p.low, p.high), "low < high")
        if p.typical is not None and not p.low <= p.typical[0] <= p.typical[1] <= p.high:
            refuse(f"typical of {p.name}", p.typical, f"an interval within {p.low:g}..{p.high:g}")
    unknown = set(equation.reciprocal) - {f.name for f in equation.fields}
    if unknown:
        refuse("reciprocal", equation.reciprocal, f"some of {[f.name for f in equation.fields]}")


class _State(dict):
    """A state that says which keys there are, if it is asked for another."""

    def __missing__(self, key):
        raise OptionError(
            f"step reads {key!r} of the state; expected one of its fields, levels and memories {list(self)}"
        )


@lru_cache(maxsize=64)
def check_statement(equation: Equation, ndim: int) -> None:
    """Raise an OptionError if an equation breaks its contract in `ndim` dimensions.

    Run on a few cells along each axis: coefficients, speed, fits, derived quantities, sources, and a step from rest. An
    equation that rejects these values passes, such as one that holds an array of a model's shape.
    """
    with suppress(_Unprobed):
        _run_once(equation, ndim)


def _run_once(equation, ndim):
    order, fields = equation.spatial_order, [f.name for f in equation.waves_in(ndim)]
    shape = (max(order, 6),) * ndim
    if not fields:
        raise OptionError(
            f"{equation.name} has no field in {ndim} dimensions; expected one, because ndims is {equation.ndims}"
        )
    cpml = CPML(((0, 0),) * ndim, (equation.pml_type,) * ndim, decades=equation.pml_decades, power=equation.pml_power)
    first = (fields[0],)
    problem = Problem(equation, make_grid(shape, 10.0), 1e-3, first, first, cpml, MemoryOptions())
    with np.errstate(all="ignore"):
        models = _models(equation, shape)
        _check_parameters(equation, models, shape)
        _check_sources(equation, ndim, fields)
        _check_constants(equation, problem.dt)
        coefficients = _coefficients(equation, problem, models)
        _check_step(equation, problem, coefficients, fields)


def _models(equation, shape):
    """Return parameters that fit together, as far as the equation can tell."""
    try:
        return equation.example(shape, np.random.default_rng(0))
    except Exception:  # the checks below name the fault
        return [np.full(shape, sum(p.drawn_from) / 2) for p in equation.parameters]


class _Unprobed(Exception):
    """Values that an equation does not want."""


@contextmanager
def _named_errors(equation, method):
    """Turn an error of a method into one of SWEEP, which names the method."""
    try:
        yield
    except SweepError as error:
        raise OptionError(f"{equation.name}: {error}") from error
    except (ValueError, ArithmeticError, AssertionError) as error:
        raise _Unprobed from error
    except Exception as error:
        raise OptionError(f"{equation.name}: {method} raises {type(error).__name__}: {error}") from error


def _refuse(equation, source, value, expected):
    raise OptionError(f"{equation.name}: {source} gives {value}; expected {expected}")


def _shape(x) -> Any:
    """Return the shape of an array, or the kind of another object."""
    return tuple(x.shape) if hasattr(x, "shape") else type(x).__name__


def _check_parameters(equation, models, shape):
    with _named_errors(equation, "speed(*parameters)"):
        speed = equation.speed(*models)
    if _shape(speed) not in (shape, ()):
        _refuse(equation, "speed", _shape(speed), f"an array of the parameters' shape, here {shape}")
    with _named_errors(equation, "fits(*parameters)"):
        fits = equation.fits(*models)
    if fits is not True and _shape(fits) not in (shape, ()):
        _refuse(equation, "fits", _shape(fits), f"True, or an array of the parameters' shape, here {shape}")
    if _admissible(equation, models):
        _check_values(equation, "speed", speed, "positive")


def _admissible(equation, models):
    """Return whether an equation admits the models of this check in all cells, and so owes admissible results."""
    return bool(np.all(equation.admits(*models)))


def _check_values(equation, source, values, interval):
    """Refuse values that are not finite, or outside of an interval: one of RANGES, or None."""
    good = np.isfinite(values)
    if interval is not None:
        good &= values > 0 if interval == "positive" else values >= 0
    if not np.all(good):
        expected = {"positive": "finite values above 0", "not negative": "finite values from 0 on"}
        value = f"{np.extract(~good, values)[0]:.6g} for admissible parameters"
        _refuse(equation, source, value, expected.get(interval, "finite values"))


def _check_sources(equation, ndim, fields):
    names = (*equation.coefficient_names_in(ndim), *equation.constant_names)
    for field in fields:
        with _named_errors(equation, f"source_coefficient({field!r})"):
            coefficient = equation.source_coefficient(field)
        if coefficient is not None and coefficient not in names:
            _refuse(equation, f"source_coefficient({field!r})", repr(coefficient), f"None or one of {list(names)}")
        with _named_errors(equation, f"source_weight({field!r}, dt, cell_volume)"):
            finite = isfinite(equation.source_weight(field, 1e-3, 100.0))
        if not finite:
            _refuse(equation, f"source_weight({field!r}, ...)", "a value that is not finite", "a finite number")
    with _named_errors(equation, "derived(ndim)"):
        derived = equation.derived(ndim)
    if not isinstance(derived, dict):
        _refuse(equation, "derived(ndim)", type(derived).__name__, "a dict, empty where there is none")
    for name, parts in derived.items():
        if name in fields:
            _refuse(equation, "derived", f"{name!r}, which is a field", "another name")
        if not isinstance(parts, dict) or not parts or not set(parts) <= set(fields):
            _refuse(equation, f"derived {name!r}", repr(parts), f"a weight for some of the fields {fields}")
        if len({"t" in f.stagger for f in equation.waves_in(ndim) if f.name in parts}) > 1:
            _refuse(equation, f"derived {name!r}", repr(parts), "a sum of fields known at the same times")


def _check_count(equation, source, values, names):
    """Refuse anything but a sequence of one value for each name."""
    is_sequence = isinstance(values, tuple | list)
    if not is_sequence or len(values) != len(names):
        count = f"{len(values)} values" if is_sequence else type(values).__name__
        _refuse(equation, source, count, f"a tuple of {len(names)}: {list(names)}")


def _check_constants(equation, dt):
    names = equation.constant_names
    with _named_errors(equation, "constants(dt)"):
        constants = equation.constants(dt)
    _check_count(equation, "constants", constants, names)
    for name, c in zip(names, constants, strict=True):
        if not isinstance(c, Real) or not isfinite(c):
            _refuse(equation, f"constant {name!r}", repr(c), "a finite number")


def _coefficients(equation, problem, models):
    names, shape = equation.coefficient_names_in(problem.grid.ndim), problem.padded_shape
    with _named_errors(equation, "coefficients(node_averages, *parameters)"):
        coefficients = equation.coefficients(NodeAverages(problem, np), *models)
    _check_count(equation, "coefficients", coefficients, names)
    admissible = _admissible(equation, models)
    for name, c in zip(names, coefficients, strict=True):
        try:
            np.broadcast_to(c, shape)
        except (ValueError, TypeError):
            _refuse(equation, f"coefficient {name!r}", _shape(c), f"an array of the parameters' shape, here {shape}")
        if admissible:
            _check_values(equation, f"coefficient {name!r}", np.asarray(c), equation.coefficient_ranges.get(name))
    return tuple(np.broadcast_to(c, (1, *shape)) for c in coefficients)


def _check_step(equation, problem, coefficients, fields):
    names, shape, driven = equation.state_names(problem.grid.ndim), (1, *problem.padded_shape), []
    random = np.random.default_rng(0)
    before = {name: random.standard_normal(shape) for name in names}

    def stepped(kick):
        """Return the step from `before`; its sources add `kick` to all cells."""

        def inject(field, x):
            if field not in fields:
                raise OptionError(f"step calls inject with {field!r}; expected one of the fields {fields}")
            driven.append(field)
            return x + kick

        state = _State({name: x.copy() for name, x in before.items()})
        new = equation.step(NumpyOps(problem, np.float64), state, coefficients, inject)
        if state.keys() != before.keys() or any((state[name] != x).any() for name, x in before.items()):
            raise OptionError("step changes the state of its argument; expected a new dict of new arrays")
        return new

    with _named_errors(equation, "step(ops, state, coefficients, inject)"):
        new = stepped(0.0)
    if not isinstance(new, dict):
        _refuse(equation, "step", type(new).__name__, f"the new state, a dict of {list(names)}")
    for fault, keys in (("lacks", set(names) - new.keys()), ("has the extra", new.keys() - set(names))):
        if keys:
            raise OptionError(f"{equation.name}: the new state of step {fault} {sorted(keys)}; expected {list(names)}")
    for name in names:
        if _shape(new[name]) != shape:
            _refuse(equation, f"step's new state {name!r}", _shape(new[name]), f"an array of shape {shape}")
    for field in fields:
        if driven.count(field) != 1:
            raise OptionError(
                f"{equation.name}: step calls inject({field!r}, ...) {driven.count(field)} times; expected once for "
                "each field, or its sources would be lost or doubled"
            )
    with _named_errors(equation, "step(ops, state, coefficients, inject)"):
        kicked = stepped(1.0)
    for field in fields:
        if np.array_equal(kicked[field], new[field]):
            raise OptionError(
                f"{equation.name}: step drops the result of inject({field!r}, ...); expected it in the new state, or "
                "the sources would be lost"
            )


def check_equation(equation: Equation, ndim: int) -> None:
    """Refuse an object that is no equation in `ndim` dimensions, and name the fault of its class.

    Each class is checked once.

    Raises
    ------
    OptionError
    """
    check_declared(equation)
    if ndim in equation.ndims:
        check_statement(equation, ndim)
