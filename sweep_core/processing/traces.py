"""Traces: real numbers along an axis of time."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DomainError, DtypeError, ShapeError


def as_traces(data: Any, axis: int) -> NDArray[Any]:
    """Return data as a C-contiguous array with time as its last axis; float32 stays, other real types become float64.

    Raises
    ------
    DtypeError, ShapeError, DomainError
        The data are not real and finite, or they have no such axis.
    """
    try:
        array = np.asarray(data)
    except (TypeError, RuntimeError, ValueError) as error:  # such as a tensor on a GPU, or rows of different lengths
        raise DtypeError(f"data cannot be read as a NumPy array: {error}") from None
    if array.dtype.kind not in "iuf":
        raise DtypeError(f"data are of {array.dtype}; expected real numbers")
    if not isinstance(axis, Integral) or not -array.ndim <= axis < array.ndim or array.shape[axis] == 0:
        raise ShapeError(
            f"data have shape {array.shape}; expected time along axis {axis!r}: 1 of (nshots, nt, nrec, nfield), "
            "-1 of a wavelet"
        )
    if not np.isfinite(array).all():
        raise DomainError("data hold NaN or infinite values; expected finite numbers")
    return np.ascontiguousarray(
        np.moveaxis(array, axis, -1), dtype=np.float32 if array.dtype == np.float32 else np.float64
    )


def like_data(traces: NDArray[Any], axis: int, dtype: Any) -> NDArray[Any]:
    """Return traces, whose last axis is time, with the axes and the dtype of their data, C-contiguous."""
    return np.ascontiguousarray(np.moveaxis(traces, -1, axis), dtype=dtype)
