"""First waves of a start and of the data, within half a period of each other or not, in windows of time."""

import numpy as np

from .certificate import Finding, finding

SKIPPING = "cycle skipping"
PERIODS = 4
"""Length of a tapered window, which is compared with modelled waves up to half that length away."""
MOST = 300
"""Traces that are compared."""
AUDIBLE = 1e-2
"""Amplitude over that of the loudest window of a trace: the first window above it holds the first wave."""
NOISE = 5
"""Amplitude over that of the quietest window of a trace: below it there may be noise alone."""
ALIKE, PAIRED = 0.98, 0.5
"""Correlations from which on two windows hold the same waves, and the same waves at another time."""
WEAK = 0.1
"""Amplitude over that of the observed wave: a weaker modelled wave is no counterpart."""
FEW = 0.1
"""Part of the first waves that need a counterpart; with fewer of them nothing is said."""


def skipping(modelled: np.ndarray, data: np.ndarray, dt: float, frequency: float) -> Finding | str:
    """Return the finding, or why there is none.

    A direct wave through known water fits from any start, and is louder than the waves that tell of the rock. So the
    first wave of each trace is looked at, and those that fit, times a number, are left out.

    Parameters
    ----------
    modelled, data : (n, nt) array
        Traces that are not silent.
    frequency : float
        Hz, of their energy.
    """
    some = slice(None, None, -(-len(data) // MOST))
    made, seen = (x[some] / np.maximum(np.abs(x[some]).max(axis=1, keepdims=True), 1e-300) for x in (modelled, data))
    state, late = _windows(made, seen, round(PERIODS / frequency / dt))
    audible = state > 0
    first = np.where(audible.any(axis=1), audible.argmax(axis=1), 0)
    waves, lags = (np.take_along_axis(x, first[:, None], axis=1)[:, 0] for x in (state, late))
    told = waves > 1
    if not told.any():
        if not audible.any() or np.any(state[audible] > 1):
            return "the first waves of all traces fit as they are, and tell nothing of the earth that later ones cross"
        told = waves == 1
    far = (waves == 3) | (np.abs(lags) * dt > 0.5 / frequency)
    count, wrong = int(told.sum()), int((told & far).sum())
    if (waves[told] == 3).mean() > 1 - FEW:
        return "the modelled record has no counterpart to the first waves of the data: see mutes, and the start"
    return finding(
        SKIPPING, wrong / count, (0.05, 0.25),
        f"the first wave of {wrong / count:.0%} of {count} traces is modelled more than half a period "
        f"({500 / frequency:.3g} ms at {frequency:.3g} Hz) away, or not at all",
        "at most 5 %",
        "an inversion would fit the wrong cycle: begin with lower frequencies, a better start, or a misfit that "
        "does not skip (envelope, optimal transport)",
    )  # fmt: skip


def _windows(modelled, data, length):
    """Return the state of each window, (n, windows), and how many samples later its data are.

    The state is 0 where the data are silent, 1 where both are alike, 2 where the modelled wave is at another time, and
    3 where there is none.
    """
    nt = data.shape[1]
    length = min(max(length, 4), nt)
    starts = range(0, nt - length + 1, max(length // 4, 1))
    taper, half = np.hanning(length + 2)[1:-1], length // 2
    around = np.pad(modelled, ((0, 0), (half, half)))
    size = 1 << (3 * length).bit_length()
    energy = np.stack([((data[:, at : at + length] * taper) ** 2).sum(axis=1) for at in starts], axis=1)
    most, least = energy.max(axis=1, keepdims=True), energy.min(axis=1, keepdims=True)
    loud = energy > np.clip(NOISE**2 * least, AUDIBLE**2 * most, 0.25 * most)
    state, late = np.zeros(energy.shape, int), np.zeros(energy.shape)

    def moved(x, window):
        """Return sums over a window at each of its places in x."""
        product = np.fft.rfft(x, size, axis=1) * np.fft.rfft(window, size, axis=-1).conj()
        return np.fft.irfft(product, size, axis=1)[:, : 2 * half + 1]

    for i, at in enumerate(starts):
        here = around[:, at : at + length + 2 * half]
        own = energy[:, i, None]
        theirs = np.maximum(moved(here**2, taper**2), 0)
        # Sums by Fourier transforms are off by rounding of the loudest: what is weak is no counterpart anyway.
        sizes = np.sqrt(theirs) * np.sqrt(own)
        there = (theirs > WEAK**2 * own) & (sizes > 0)
        alike = np.where(there, moved(here, data[:, at : at + length] * taper**2) / np.where(there, sizes, 1), 0)
        best = alike.argmax(axis=1)
        found = np.where(alike[:, half] > ALIKE, 1, np.where(alike.max(axis=1) < PAIRED, 3, 2))
        state[:, i], late[:, i] = np.where(loud[:, i], found, 0), np.where(found == 2, half - best, 0)
    return state, late
