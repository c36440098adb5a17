"""Moduli of standard linear solids with a nearly constant quality factor Q over a band of frequencies."""

from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from ..errors import OptionError

LEAST_Q = 4.0
"""Fractions of mechanisms of the modulus are fitted for all Q above this value."""
DEGREE = 3
"""Degree in 1 / Q of the polynomials of the fractions, relative to 1 / Q."""


@attrs.frozen
class Relaxation:
    """Relaxation frequencies f_l, and the fraction y_l of each of them as a polynomial in q = 1 / Q.

    The modulus of angular frequency w, relative to the unrelaxed modulus of infinite frequency, is

        m(w) = 1 - sum over l of y_l w_l / (w_l + i w),    w_l = 2 pi f_l,    Q = Re m / Im m,
        y_l = q (c_l0 + c_l1 q + c_l2 q^2 + c_l3 q^3)

    (Emmerich and Korn 1987, Geophysics 52, eq. 7).

    Parameters
    ----------
    frequencies : tuple of float
        Relaxation frequencies f_l (Hz).
    polynomials : tuple of tuple of float
        The c of each mechanism, from the constant on.
    error : float
        Largest relative error of Q over the band, for all Q from :data:`LEAST_Q` on.
    """

    frequencies: tuple[float, ...]
    polynomials: tuple[tuple[float, ...], ...]
    error: float

    def fractions(self, quality: Any) -> list[Any]:
        """Return y_l of each mechanism, by arithmetic on any array of Q."""
        q = 1 / quality
        results = []
        for constants in self.polynomials:
            value = 0 * q
            for c in reversed(constants):
                value = q * (c + value)
            results.append(value)
        return results

    def modulus(self, frequency: Any, quality: Any) -> tuple[Any, Any]:
        """Return the real and the imaginary part of m at a frequency (Hz)."""
        real, imaginary = 1 + 0 * frequency, 0 * frequency
        for f, y in zip(self.frequencies, self.fractions(quality), strict=True):
            share = y * f / (f**2 + frequency**2)
            real, imaginary = real - f * share, imaginary + frequency * share
        return real, imaginary

    def stiffening(self, frequency: float, quality: Any) -> Any:
        """Return the square of the unrelaxed speed over the phase speed at a frequency: (Re m^(-1/2))^2."""
        real, imaginary = self.modulus(frequency, quality)
        size = (real**2 + imaginary**2) ** 0.5
        return (size + real) / (2 * size**2)


@lru_cache(maxsize=64)
def relaxation(mechanisms: int, low: float, high: float) -> Relaxation:
    """Return mechanisms whose Q is nearly constant from `low` to `high` (Hz).

    Q Im m = Re m is linear in the y_l, and so in the c of their polynomials: one least-squares fit over frequencies of
    the band and values of Q gives all c. The f_l are equally spaced in logarithm about the centre of the band; the
    spacing is the one with the smallest largest error of Q, among those with y_l > 0 throughout.

    Parameters
    ----------
    mechanisms : int
        Number of mechanisms, 1 or more.
    low, high : float
        Bounds of the band (Hz), low <= high.

    Returns
    -------
    Relaxation
        The fitted mechanisms.

    Raises
    ------
    OptionError
        If no spacing gives positive fractions: too many mechanisms for the band.
    """
    spread = np.log(high / low)
    extents = spread * np.linspace(0.4, 2.0, 65) if mechanisms > 1 else [0.0]
    ranks = np.arange(mechanisms) - (mechanisms - 1) / 2
    fits = [_fit(np.sqrt(low * high) * np.exp(e * ranks / max(mechanisms - 1, 1)), low, high) for e in extents]
    best = min(fits, key=lambda fit: fit.error)
    if not np.isfinite(best.error):
        raise OptionError(
            f"mechanisms is {mechanisms}; expected fewer, because constant Q from {low:g} to {high:g} Hz "
            "needs negative fractions of so many; choose fewer mechanisms or a wider band"
        )
    return best


def _fit(frequencies, low, high) -> Relaxation:
    """Return the fit for given relaxation frequencies; its error is infinite if a fraction is not positive."""
    f = np.geomspace(low, high, 48)[:, None]
    q = np.linspace(0, 1 / LEAST_Q, 13)
    shares = frequencies / (frequencies**2 + f**2)
    system = f * shares + q[:, None, None] * frequencies * shares
    powers = q[:, None] ** np.arange(DEGREE + 1)
    matrix = (system[..., None] * powers[:, None, None]).reshape(q.size * f.size, -1)
    c = np.linalg.lstsq(matrix, np.ones(len(matrix)), rcond=None)[0].reshape(len(frequencies), -1)
    fit = Relaxation(tuple(frequencies.tolist()), tuple(map(tuple, c.tolist())), np.inf)
    if (powers @ c.T).min() <= 0:
        return fit
    real, imaginary = fit.modulus(f, 1 / q[1:])
    return attrs.evolve(fit, error=float(np.abs(real / imaginary * q[1:] - 1).max()))
