"""The loss of speed of waves on a grid against those of the earth, from the dispersion relation of the differences."""

from functools import lru_cache

import numpy as np

from .stencils import first_derivative, second_derivative, staggered_derivative


def _operators(equation, ndim: int) -> tuple[str, ...]:
    """Return the differences in space of an equation: those of its tables, or the usual ones of its time levels."""
    stated = {rate.operator for rate in equation.rates_in(ndim)} & {"D", "D1", "D2"}
    return tuple(sorted(stated)) or (("D2",) if equation.levels == 2 else ("D",))


def _symbol(of: str, order: int, phase: np.ndarray) -> np.ndarray:
    """Return the wavenumber, times the cell size, of a difference for a wave of so many radians a cell."""
    k = np.arange(1, order // 2 + 1)
    if of == "D2":
        w = second_derivative(order)
        return np.sqrt(np.maximum(-w[0] - 2 * np.cos(np.multiply.outer(phase, k)) @ w[1:], 0))
    w, at = (staggered_derivative(order), k - 0.5) if of == "D" else (first_derivative(order), k)
    return 2 * np.sin(np.multiply.outer(phase, at)) @ w


def phase_error(equation, ndim: int, cells: float) -> float:
    """Return the relative error of the phase speed of a wave along an axis with so many cells a wavelength.

    It is the error of the differences in space alone, which make waves too slow. The dispersion relation of small time
    steps is w = c S(k dh) / dh, with S the symbol of the difference. The error is 1 for a wave with two cells or fewer,
    which no grid can carry.
    """
    return float(_errors(equation, ndim, np.array([cells]))[0])


def _errors(equation, ndim, cells):
    phase = 2 * np.pi / np.maximum(cells, 2)
    of = (_symbol(of, equation.spatial_order, phase) for of in _operators(equation, ndim))
    worst = np.max([np.abs(symbol / phase - 1) for symbol in of], axis=0)
    return np.where(cells > 2, worst, 1.0)


@lru_cache(maxsize=64)
def cells_needed(equation, ndim: int, error: float) -> float:
    """Return the least cells a wavelength with an error of the phase speed of at most `error`."""
    cells = np.linspace(2, 60, 5801)
    wrong = np.flatnonzero(_errors(equation, ndim, cells) > error)
    return float(cells[min(wrong[-1] + 1, len(cells) - 1)])
