"""Arrays of any library, read on the host."""

from typing import Any

import numpy as np


def numpy_of(x: Any) -> np.ndarray:
    """The values of an array of any backend, also of a tensor on a GPU or one that requires a gradient."""
    return np.asarray(x.detach().cpu() if hasattr(x, "detach") else x)
