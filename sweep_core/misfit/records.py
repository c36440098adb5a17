"""Checks and amplitudes of records (nshots, nt, nrec, nfield) of any array library. Time is axis 1."""

from typing import Any

from array_api_compat import array_namespace

from .._util.arrays import dtype_name
from ..errors import DtypeError, ShapeError

TIME = 1
FLOOR = 1e-6
"""A trace below this fraction of the loudest of its shot and field holds precursors and rounding, but no wave."""


def _check_arrays(arrays: dict[str, Any], expected: str) -> None:
    for name, array in arrays.items():
        if not hasattr(array, "shape"):
            raise DtypeError(f"{name} is a {type(array).__name__}; expected {expected}")


def check_like_record(name: str, x: Any, record: Any) -> None:
    """Check that an array has the shape of a record.

    Parameters
    ----------
    name : str
        Name of `x` in the error message.
    x, record : array
        Arrays of any library.

    Raises
    ------
    ShapeError
        The shapes differ.
    DtypeError
        One of them is not an array.
    """
    _check_arrays({name: x, "the record": record}, "an array")
    if tuple(x.shape) != tuple(record.shape):
        raise ShapeError(f"{name} has shape {tuple(x.shape)}; expected that of the record, {tuple(record.shape)}")


def check_records(synthetic: Any, observed: Any) -> Any:
    """Check two records and return the functions of their array library.

    Returns
    -------
    module
        The functions by their names in the Python array API standard.

    Raises
    ------
    ShapeError, DtypeError
        The arguments are not two records of one shape, one dtype and one library.
    """
    _check_arrays({"synthetic": synthetic, "observed": observed}, "a record, an array")
    check_like_record("observed", observed, synthetic)
    if len(synthetic.shape) != 4:
        raise ShapeError(f"the record has shape {tuple(synthetic.shape)}; expected (nshots, nt, nrec, nfield)")
    dtypes = dtype_name(synthetic), dtype_name(observed)
    if dtypes[0] != dtypes[1] or dtypes[0] not in ("float32", "float64"):
        raise DtypeError(f"synthetic is {dtypes[0]} and observed {dtypes[1]}; expected both float32, or both float64")
    try:
        return array_namespace(synthetic, observed)
    except TypeError as error:
        kinds = f"{type(synthetic).__module__.partition('.')[0]} and {type(observed).__module__.partition('.')[0]}"
        raise DtypeError(f"synthetic and observed are of {kinds}; expected two arrays of one library") from error


def amplitude_levels(xp: Any, record: Any, axes: Any = TIME) -> tuple[Any, Any]:
    """Return the largest magnitude of each shot and field, and that of each trace relative to it.

    Parameters
    ----------
    xp : module
        The array library of the record.
    record : (nshots, nt, nrec, nfield) array
        The record.
    axes : int or tuple of int
        The axes of one trace: (1, 2, 3) treats all traces of a shot as one.

    Returns
    -------
    scale : (nshots, 1, 1, nfield) array
        The largest magnitude, or 1 if all samples are zero. Callers divide by it before they square: float32 holds no
        squares of amplitudes below 1e-19.
    level : (nshots, 1, nrec, nfield) array
        The largest magnitude of a trace over `scale`, or 0 where no wave reaches the trace.
    """
    peak = xp.max(xp.abs(record), axis=axes, keepdims=True)
    scale = xp.max(peak, axis=2, keepdims=True)
    scale = xp.where(scale > 0, scale, xp.ones_like(scale))
    level = peak / scale
    return scale, xp.where(level <= FLOOR, xp.zeros_like(level), level)  # a level of NaN stays


def sample_numbers(xp: Any, record: Any) -> Any:
    """Return 0, 1, 2, ... along time, (1, n, 1, 1), with the dtype and the device of a record."""
    return xp.cumulative_sum(xp.ones_like(record[:1, :, :1, :1]), axis=TIME) - 1
