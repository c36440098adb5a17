"""Arrays of any library, read on the host."""

from typing import Any

import numpy as np

from ..errors import DtypeError


def numpy_of(x: Any) -> np.ndarray:
    """The values of an array of any backend, also of a tensor on a GPU or one that requires a gradient."""
    try:
        return np.asarray(x.detach().cpu() if hasattr(x, "detach") else x)
    except ValueError as error:
        raise DtypeError(f"{type(x).__name__} cannot be read as an array: {error}") from None
