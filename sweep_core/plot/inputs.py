"""What figures are drawn from, read from arrays of any library, and refused by name where it does not fit."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .._util.arrays import numpy_of
from ..errors import DomainError, DtypeError, ShapeError


def as_numbers(values: Any, name: str, expected: str, ndim: Sequence[int]) -> np.ndarray:
    """A real, non-empty NumPy array of `values` with one of the dimensions `ndim`; `expected` says which in words."""
    if isinstance(values, str | PathLike):
        saved = "; the figure is returned, and sweep_core.plot.save(figure, path) writes it"
        raise DtypeError(f"{name} is {str(values)!r}; expected {expected}{saved * bool(Path(values).suffix)}")
    array = _read(values, name)
    if array.dtype.kind not in "iuf":
        raise DtypeError(f"{name} has dtype {array.dtype}; expected real numbers")
    if array.ndim not in ndim or 0 in array.shape:
        raise ShapeError(f"{name} has shape {array.shape}; expected {expected}")
    if not np.isfinite(array).any():
        raise DomainError(f"{name} holds NaN or infinity alone; expected {expected}")
    return array


def _read(values: Any, name: str) -> np.ndarray:
    try:
        return numpy_of(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DtypeError(f"{name} cannot be read as a NumPy array: {error}") from None


def as_model(model: Any, name: str, expected: str, ndim: Sequence[int]) -> np.ndarray:
    """One model, of an array or of a list of one as a solver takes it."""
    if _listed(model):
        if len(model) != 1:
            raise ShapeError(f"{name} is a list of {len(model)} models; expected one: choose it by models[i]")
        model = model[0]
    return as_numbers(model, name, expected, ndim)


def as_models(models: Any, name: str, labels: Sequence[str], shape: tuple[int, ...] | None = None) -> np.ndarray:
    """(n, nz, nx) of a list of n models as a solver takes them, of such an array, or of (nz, nx) alone."""
    expected = f"(nz, nx), or {len(check_labels(labels))} of them in the order of labels"
    if _listed(models):
        parts = [as_numbers(model, f"{name}, number {i}", "(nz, nx)", (2,)) for i, model in enumerate(models)]
        if len({part.shape for part in parts}) != 1:
            raise ShapeError(f"{name} holds models of shapes {[part.shape for part in parts]}; expected one shape")
        array = np.stack(parts)
    else:
        array = as_numbers(models, name, expected, (2, 3))
        array = array[None] if array.ndim == 2 else array
    if len(array) != len(labels):
        raise ShapeError(f"there are {len(labels)} labels; expected one for each of the {len(array)} models of {name}")
    if shape is not None and array.shape[1:] != shape:
        raise ShapeError(f"{name} has shape {array.shape[1:]}; expected {shape}, as the first")
    return array


def _listed(models: Any) -> bool:
    """Whether it is a list of arrays, as a solver takes models, rather than of numbers."""
    return isinstance(models, list | tuple) and bool(models) and all(getattr(m, "ndim", 0) > 1 for m in models)


def free_cells(fixed: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Where the earth is not known beforehand; everywhere, unless `fixed` is true in cells of water."""
    if fixed is None:
        return np.ones(shape, bool)
    array = _read(fixed, "fixed")
    if array.dtype != bool or array.shape != shape:
        raise ShapeError(f"fixed is {array.dtype} of shape {array.shape}; expected bool {shape}, true in water")
    if array.all():
        raise DomainError("fixed is true in every cell; expected some that are free")
    return ~array


def check_positive(value: Any, name: str, unit: str) -> float:
    """`value` as a float, refused unless it is one number above zero."""
    number = float(as_numbers(value, name, f"one number, {unit}", (0,)))
    if number <= 0:
        raise DomainError(f"{name} is {value}; expected {unit}, positive")
    return number


def check_labels(labels: Any) -> Sequence[str]:
    """`labels`, or a refusal."""
    if not isinstance(labels, list | tuple) or not all(isinstance(label, str) and label.strip() for label in labels):
        raise DtypeError(f"labels are {labels!r}; expected a list of names with units, such as ['vp (m/s)']")
    return labels


def unit_of(label: str) -> str:
    """Return the unit of a label such as 'vp (m/s)'; empty if it has none."""
    return label.partition("(")[2].rstrip(")")


def check_number(value: Any, name: str, count: int, whose: str) -> int:
    """`value` as an index from 0 below `count`, or a refusal."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise DtypeError(f"{name} is {value!r}; expected a number from 0 to {count - 1}")
    if not 0 <= value < count:
        raise DomainError(f"{name} is {value}; {whose} has {count}, counted from 0")
    return int(value)


def spacing(dh: Any, ndim: int) -> np.ndarray:
    """(ndim,) spacing in km, in the order of the axes."""
    values = as_numbers(dh, "dh", "metres: a number, or one for each axis", (0, 1))
    if values.shape not in ((), (1,), (ndim,)):
        raise ShapeError(f"dh has {values.size} values; expected one, or one for each of the {ndim} axes")
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise DomainError(f"dh is {dh}; expected metres, positive")
    return np.broadcast_to(values / 1e3, (ndim,))
