"""Arrays of any library: their dtypes, and their values on the host."""

from functools import lru_cache
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_jax_namespace

from ..errors import DtypeError


def numpy_of(x: Any) -> np.ndarray:
    """Return the values of an array of any backend, also of a tensor on a GPU or one that requires a gradient."""
    try:
        return np.asarray(x.detach().cpu() if hasattr(x, "detach") else x)
    except ValueError as error:
        raise DtypeError(f"{type(x).__name__} cannot be read as an array: {error}") from None


def dtype_name(array: Any) -> str:
    """Return ``'float32'`` for a float32 array of NumPy, torch or JAX."""
    return _name(array.dtype)


@lru_cache(maxsize=64)  # NumPy takes its time to write a name
def _name(dtype) -> str:
    return str(dtype).rsplit(".", 1)[-1]


def evenly_spaced(total: int, count: int | None) -> np.ndarray:
    """Return `count` evenly spaced numbers below `total`; two or more include the first and the last. None is all."""
    count = total if count is None else min(count, total)
    return np.linspace(0, total - 1, count).round().astype(np.int64)


def cast(x: Any, dtype: str) -> Any:
    """Return x in the dtype of that name."""
    xp = array_namespace(x)
    return xp.astype(x, getattr(xp, dtype), copy=False)


def whole(xp: Any, x: Any) -> Any:
    """Return integers that hold a cell; JAX has no int64 unless it is told to."""
    return cast(x, "int32" if is_jax_namespace(xp) else "int64")
