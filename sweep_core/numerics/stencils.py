"""Taylor stencils on a regular grid, and the time step that they allow.

Weights of central differences of order 2n (Fornberg 1988, Math. Comp. 51, table 1; closed form for equal spacing).
"""

from functools import lru_cache
from math import factorial, sqrt
from numbers import Integral
from typing import NamedTuple

import numpy as np

from ..errors import OptionError

HIGHEST_ORDER = 64  # beyond it the outermost weights are below the rounding of the first


class Stencil(NamedTuple):
    """An operator along an axis: O f [i] = centre f[i] + sum_k weights[k-1] (f[i + k - back] + sign f[i + ahead - k]).

    k counts from 1. `back` or `ahead` is 1 where O f lies half a cell beside f, otherwise both are 0.
    """

    centre: float
    weights: tuple[float, ...]
    sign: int
    back: int
    ahead: int


def check_order(order: int) -> int:
    """Return `order` as an int if it is an even number of 2 to 64, otherwise OptionError."""
    if isinstance(order, bool) or not isinstance(order, Integral) or not 2 <= int(order) <= HIGHEST_ORDER or order % 2:
        raise OptionError(
            f"spatial_order is {order!r}; expected an even number of 2 to {HIGHEST_ORDER}, such as 4 or 8"
        )
    return int(order)


@lru_cache
def first_derivative(order: int) -> np.ndarray:
    """Return weights w of D1 f = sum_k w[k-1] (f[+k] - f[-k]), k = 1..order/2, for unit spacing."""
    n = check_order(order) // 2
    weights = [(-1) ** (k + 1) * factorial(n) ** 2 / (k * factorial(n - k) * factorial(n + k)) for k in range(1, n + 1)]
    return _constant(weights)


@lru_cache
def second_derivative(order: int) -> np.ndarray:
    """Return weights w of D2 f = w[0] f[0] + sum_k w[k] (f[+k] + f[-k]), k = 1..order/2, for unit spacing."""
    side = [2 * w / k for k, w in enumerate(first_derivative(order), start=1)]
    return _constant([-2 * sum(side), *side])


@lru_cache
def second_derivative_root(order: int) -> np.ndarray:
    """Return weights w of R f = sum_k w[k-1] (f[2 - k] - f[1 - k]), k = 1..order/2, with R^T R = -D2.

    With y = 4 sin^2(k/2), the symbol of -D2 is y q(y), the first terms of the series of 4 arcsin^2(sqrt(y)/2). As q is
    positive, it is |w|^2 of order/2 weights (Fejer and Riesz); these have least delay. Their symbol is the exponential
    of the causal half of log q (Oppenheim and Schafer 2010, Discrete-Time Signal Processing, section 13.5).
    """
    n, nodes = check_order(order) // 2, 4096
    y = 4 * np.sin(np.pi * np.arange(nodes) / nodes) ** 2
    q = sum(2 * factorial(m) ** 2 / (m**2 * factorial(2 * m)) * y ** (m - 1) for m in range(1, n + 1))
    cepstrum = np.fft.ifft(np.log(q)).real[: nodes // 2] / 2
    cepstrum[1:] *= 2
    return _constant(np.fft.ifft(np.exp(np.fft.fft(cepstrum, nodes))).real[:n])


def root_shift(order: int) -> float:
    """Return how far beyond a node, in cells, R of :func:`second_derivative_root` takes the derivative."""
    return 0.5 - float((np.arange(check_order(order) // 2) * second_derivative_root(order)).sum())


@lru_cache
def staggered_derivative(order: int) -> np.ndarray:
    """Return weights w of D f = sum_k w[k-1] (f[+(k - 1/2)] - f[-(k - 1/2)]), k = 1..order/2, for unit spacing."""
    n = check_order(order) // 2
    odd = factorial(2 * n) // (2**n * factorial(n))  # (2n - 1)!!
    weights = [
        (-1) ** (k + 1) * odd**2 / (4 ** (n - 1) * factorial(n + k - 1) * factorial(n - k) * (2 * k - 1) ** 2)
        for k in range(1, n + 1)
    ]
    return _constant(weights)


@lru_cache
def midpoint_mean(order: int) -> np.ndarray:
    """Return weights w of the mean sum_k w[k-1] (f[+(k - 1/2)] + f[-(k - 1/2)]), k = 1..order/2 (Lagrange)."""
    return _constant([w * (k - 0.5) for k, w in enumerate(staggered_derivative(order), start=1)])


def _constant(values) -> np.ndarray:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


@lru_cache
def largest_speed(order: int, spacing: tuple[float, ...], dt: float) -> float:
    """Return the largest wave speed (m/s) for which leapfrog steps of dt are stable.

    The second-order scheme is

        u[k+1] - 2 u[k] + u[k-1] = dt^2 c^2 D2 u[k].

    It is stable while dt^2 c^2 times the largest eigenvalue of -D2, that of the Nyquist wavenumber of every axis, is at
    most 4.
    """
    w = second_derivative(order)
    nyquist = -(w[0] + 2 * sum((-1) ** k * w[k] for k in range(1, len(w))))
    return 2 / (dt * sqrt(sum(nyquist / h**2 for h in spacing)))


@lru_cache
def largest_staggered_speed(order: int, spacing: tuple[float, ...], dt: float) -> float:
    """Return the same for staggered leapfrog steps: the largest symbol of D is 2 sum_k |w_k| / dh."""
    nyquist = 2 * float(np.abs(staggered_derivative(order)).sum())
    return 2 / (dt * nyquist * sqrt(sum(1 / h**2 for h in spacing)))
