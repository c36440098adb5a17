"""Wavelets at times that the caller provides."""

from typing import Any

import numpy as np

from sweep_core._util.validators import check_positive, named_arguments

__all__ = ["ricker"]


@named_arguments({"freq": "the peak frequency is f in sweep-solver", "nt": "give the times t, in s"})
def ricker(t: Any, f: float = 10.0) -> np.ndarray:
    """Ricker wavelet, the negative second derivative of a Gaussian, with its peak of 1 at t = 0.

    Parameters
    ----------
    t : array
        Times, s.
    f : float
        Peak frequency, Hz.

    Returns
    -------
    array of the shape of `t`
    """
    a = (np.pi * check_positive(f, "ricker: f", "Hz") * np.asarray(t)) ** 2
    return (1 - 2 * a) * np.exp(-a)
