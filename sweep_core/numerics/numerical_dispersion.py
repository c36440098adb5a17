"""How far waves of a grid are slower than those of the earth, from the dispersion relation of the differences."""

from functools import lru_cache

import numpy as np

from .stencils import first_derivative, second_derivative, staggered_derivative


def _operators(equation, ndim: int) -> tuple[str, ...]:
    """The differences in space that an equation takes: those of its tables, or what its levels in time suggest."""
    stated = {rate.operator for rate in equation.rates_in(ndim)} & {"D", "D1", "D2"}
    return tuple(sorted(stated)) or (("D2",) if equation.levels == 2 else ("D",))


def _symbol(of: str, order: int, phase: np.ndarray) -> np.ndarray:
    """The wavenumber, times the cell size, that a difference finds in a wave of so many radians a cell."""
    k = np.arange(1, order // 2 + 1)
    if of == "D2":
        w = second_derivative(order)
        return np.sqrt(np.maximum(-w[0] - 2 * np.cos(np.multiply.outer(phase, k)) @ w[1:], 0))
    w, at = (staggered_derivative(order), k - 0.5) if of == "D" else (first_derivative(order), k)
    return 2 * np.sin(np.multiply.outer(phase, at)) @ w


def phase_error(equation, ndim: int, cells: float) -> float:
    """The error of the phase speed, relative, of a wave along an axis with so many cells a wavelength.

    That of the differences in space alone, for which waves are too slow: the dispersion relation of small time steps,
    w = c S(k dh) / dh, with S the symbol of the difference. 1 of a wave with two cells or fewer, which a grid has not.
    """
    return float(_errors(equation, ndim, np.array([cells]))[0])


def _errors(equation, ndim, cells):
    phase = 2 * np.pi / np.maximum(cells, 2)
    of = (_symbol(of, equation.spatial_order, phase) for of in _operators(equation, ndim))
    worst = np.max([np.abs(symbol / phase - 1) for symbol in of], axis=0)
    return np.where(cells > 2, worst, 1.0)


@lru_cache(maxsize=64)
def cells_needed(equation, ndim: int, error: float) -> float:
    """The cells a wavelength from which on the phase speed is off by `error` at most."""
    cells = np.linspace(2, 60, 5801)
    wrong = np.flatnonzero(_errors(equation, ndim, cells) > error)
    return float(cells[min(wrong[-1] + 1, len(cells) - 1)])
