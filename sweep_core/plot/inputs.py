"""Checks of the inputs of figures, which may be arrays of any library. Errors name the argument."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .._util.arrays import numpy_of
from ..errors import DomainError, DtypeError, ShapeError


def as_numbers(values: Any, name: str, expected: str, ndim: Sequence[int]) -> np.ndarray:
    """Return `values` as a real, non-empty NumPy array with one of the dimensions `ndim`.

    `expected` describes these shapes in the message of an error.
    """
    if isinstance(values, str | PathLike):
        advice = "; the figure is returned, and sweep_core.plot.save(figure, path) writes it"
        raise DtypeError(f"{name} is {str(values)!r}; expected {expected}{advice * bool(Path(values).suffix)}")
    array = _read(values, name)
    if array.dtype.kind not in "iuf":
        raise DtypeError(f"{name} has dtype {array.dtype}; expected real numbers")
    if array.ndim not in ndim or 0 in array.shape:
        raise ShapeError(f"{name} has shape {array.shape}; expected {expected}")
    if not np.isfinite(array).any():
        raise DomainError(f"{name} holds only NaN or infinity; expected {expected}")
    return array


def _read(values: Any, name: str) -> np.ndarray:
    try:
        return numpy_of(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DtypeError(f"{name} cannot be read as a NumPy array: {error}") from None


def as_model(model: Any, name: str, expected: str, ndim: Sequence[int]) -> np.ndarray:
    """Return one model from an array, or from a list of one array, as for a solver."""
    if _is_model_list(model):
        if len(model) != 1:
            raise ShapeError(f"{name} is a list of {len(model)} models; expected one: choose it by models[i]")
        model = model[0]
    return as_numbers(model, name, expected, ndim)


def as_models(models: Any, name: str, labels: Sequence[str], shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Return (n, nz, nx) from a list of n models, as for a solver, from such an array, or from one (nz, nx) array."""
    expected = f"(nz, nx), or {len(check_labels(labels))} of them in the order of labels"
    if _is_model_list(models):
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


def _is_model_list(models: Any) -> bool:
    """Return True for a list of arrays, the models of a solver, and False for a list of numbers."""
    return isinstance(models, list | tuple) and bool(models) and all(getattr(m, "ndim", 0) > 1 for m in models)


def free_cells(fixed: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return the mask of the free cells: all cells, except those where `fixed` is true, such as water."""
    if fixed is None:
        return np.ones(shape, bool)
    array = _read(fixed, "fixed")
    if array.dtype != bool or array.shape != shape:
        raise ShapeError(f"fixed is {array.dtype} of shape {array.shape}; expected bool {shape}, true in water")
    if array.all():
        raise DomainError("fixed is true in every cell; expected some free cells")
    return ~array


def check_labels(labels: Any) -> Sequence[str]:
    """Return `labels`, or raise a DtypeError unless they are names."""
    if not isinstance(labels, list | tuple) or not all(isinstance(label, str) and label.strip() for label in labels):
        raise DtypeError(f"labels are {labels!r}; expected a list of names with units, such as ['vp (m/s)']")
    return labels


def unit_of(label: str) -> str:
    """Return the unit of a label such as 'vp (m/s)'; empty if it has none."""
    return label.partition("(")[2].rstrip(")")


def check_index(value: Any, name: str, count: int, whose: str) -> int:
    """Return `value` as an index from 0 below `count`, or raise an error."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise DtypeError(f"{name} is {value!r}; expected a number from 0 to {count - 1}")
    if not 0 <= value < count:
        raise DomainError(f"{name} is {value}; {whose} has {count}, counted from 0")
    return int(value)


def spacing(dh: Any, ndim: int) -> np.ndarray:
    """Return the (ndim,) spacing in km, in the order of the axes."""
    values = as_numbers(dh, "dh", "metres: a number, or one for each axis", (0, 1))
    if values.shape not in ((), (1,), (ndim,)):
        raise ShapeError(f"dh has {values.size} values; expected one, or one for each of the {ndim} axes")
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise DomainError(f"dh is {dh}; expected metres, positive")
    return np.broadcast_to(values / 1e3, (ndim,))
