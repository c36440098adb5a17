"""Check for cycle skipping: first waves of the record and of the data, compared in windows of time."""

import numpy as np

from .certificate import Finding, finding

SKIPPING = "cycle skipping"
PERIODS = 4
"""Length of a tapered window in periods. A window is compared with modelled waves up to half its length away."""
MOST = 300
"""The largest number of traces that are compared."""
AUDIBLE = 1e-2
"""Amplitude relative to the loudest window of a trace. The first window above it holds the first wave."""
NOISE = 5
"""Amplitude relative to the quietest window of a trace. Below it there may be only noise."""
ALIKE, PAIRED = 0.98, 0.5
"""Correlations from which on two windows hold the same waves, and the same waves at another time."""
WEAK = 0.1
"""Amplitude relative to the observed wave. A weaker modelled wave is not a counterpart."""
FEW = 0.1
"""Fraction of the first waves that need a counterpart. With fewer there is no finding."""


def skipping(modelled: np.ndarray, data: np.ndarray, dt: float, frequency: float) -> Finding | str:
    """Return the finding, or the reason why there is none.

    A direct wave through known water fits in any initial model, and is louder than the waves through the rock. So the
    check uses the first wave of each trace, and leaves out waves that fit up to a factor.

    Parameters
    ----------
    modelled, data : (n, nt) array
        Traces that are not silent.
    dt : float
        Sampling interval (s).
    frequency : float
        Mean frequency of their energy (Hz).
    """
    every = slice(None, None, -(-len(data) // MOST))
    synthetic, observed = (
        x[every] / np.maximum(np.abs(x[every]).max(axis=1, keepdims=True), 1e-300) for x in (modelled, data)
    )
    state, late = _compare_windows(synthetic, observed, round(PERIODS / frequency / dt))
    audible = state > 0
    first = np.where(audible.any(axis=1), audible.argmax(axis=1), 0)
    waves, lags = (np.take_along_axis(x, first[:, None], axis=1)[:, 0] for x in (state, late))
    is_compared = waves > 1
    if not is_compared.any():
        if not audible.any() or np.any(state[audible] > 1):
            return "the first waves of all traces fit as they are, and do not show the earth that later waves cross"
        is_compared = waves == 1
    far = (waves == 3) | (np.abs(lags) * dt > 0.5 / frequency)
    count, wrong = int(is_compared.sum()), int((is_compared & far).sum())
    if (waves[is_compared] == 3).mean() > 1 - FEW:
        return "the modelled record has no counterpart to the first waves of the data: check mutes and initial model"
    return finding(
        SKIPPING, wrong / count, (0.05, 0.25),
        f"in {wrong / count:.0%} of {count} traces the first modelled wave is more than half a period "
        f"({500 / frequency:.3g} ms at {frequency:.3g} Hz) early or late, or missing",
        "at most 5 %",
        "an inversion would fit the wrong cycle: begin with lower frequencies or a better start, or use a misfit that "
        "does not skip cycles (envelope, optimal transport)",
    )  # fmt: skip


def _compare_windows(modelled, data, length):
    """Return the state of each window, (n, windows), and the delay of its data in samples.

    The state is 0 if the data are silent, 1 if both are alike, 2 if the modelled wave is at another time, and 3 if
    there is no modelled wave.
    """
    nt = data.shape[1]
    length = min(max(length, 4), nt)
    starts = range(0, nt - length + 1, max(length // 4, 1))
    taper, half = np.hanning(length + 2)[1:-1], length // 2
    around = np.pad(modelled, ((0, 0), (half, half)))
    size = 1 << (3 * length).bit_length()
    energy = np.stack([((data[:, start : start + length] * taper) ** 2).sum(axis=1) for start in starts], axis=1)
    most, least = energy.max(axis=1, keepdims=True), energy.min(axis=1, keepdims=True)
    loud = energy > np.clip(NOISE**2 * least, AUDIBLE**2 * most, 0.25 * most)
    state, late = np.zeros(energy.shape, int), np.zeros(energy.shape)

    def sliding_sums(x, window):
        """Return sums over a window at each of its positions in x."""
        product = np.fft.rfft(x, size, axis=1) * np.fft.rfft(window, size, axis=-1).conj()
        return np.fft.irfft(product, size, axis=1)[:, : 2 * half + 1]

    for i, start in enumerate(starts):
        nearby = around[:, start : start + length + 2 * half]
        data_energy = energy[:, i, None]
        model_energy = np.maximum(sliding_sums(nearby**2, taper**2), 0)
        # Fourier transforms round relative to the loudest sum, so weak sums are wrong; they are no counterpart anyway.
        norms = np.sqrt(model_energy) * np.sqrt(data_energy)
        exists = (model_energy > WEAK**2 * data_energy) & (norms > 0)
        products = sliding_sums(nearby, data[:, start : start + length] * taper**2)
        correlation = np.where(exists, products / np.where(exists, norms, 1), 0)
        best = correlation.argmax(axis=1)
        match = np.where(correlation[:, half] > ALIKE, 1, np.where(correlation.max(axis=1) < PAIRED, 3, 2))
        state[:, i], late[:, i] = np.where(loud[:, i], match, 0), np.where(match == 2, half - best, 0)
    return state, late
