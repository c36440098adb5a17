"""Checks of observed records against modelled ones: shape, energy, sign, delay and cycle skipping."""

import numpy as np

from .._util.arrays import evenly_spaced
from .certificate import Finding, finding
from .excerpt import Excerpt
from .skipping import SKIPPING, skipping

TRACES = 300
"""The largest number of traces of a shot and field that are correlated."""
LOUD = 1e-3
"""Amplitude relative to the loudest trace, below which a trace is not used."""
SIGN, DELAY = "sign of the data", "delay of the data"


def shape(expected: tuple[int, ...], observed: np.ndarray) -> Finding:
    """Check that the data have the shape (nshots, nt, nrec, nfield) of the call."""
    actual = tuple(observed.shape)
    is_swapped = len(actual) == 4 and (actual[0], actual[2], actual[1], actual[3]) == expected
    is_short = len(actual) == 3 and ((*actual, 1) == expected or (1, *actual) == expected)
    hint = (
        "; receivers come before time: use transpose(0, 2, 1, 3)" if is_swapped
        else "; an axis is missing" if is_short else ""
    )  # fmt: skip
    return Finding(
        "shape of the data", "good" if actual == expected else "wrong", f"{actual}",
        f"(nshots, nt, nrec, nfield) = {expected}",
        "" if actual == expected else f"pass the record of each sample, receiver and field of the call{hint}",
        float(actual != expected),
    )  # fmt: skip


def compare(part: Excerpt, record: np.ndarray, observed: np.ndarray) -> tuple[list[Finding], list[tuple[str, str]]]:
    """Compare records of the same shots and receivers. Return findings, and the untested checks with reasons."""
    is_used = np.ones((len(record), record.shape[2]), bool) if part.shots.mask is None else part.shots.mask
    if not np.isfinite(observed[np.broadcast_to(is_used[:, None, :, None], observed.shape)]).all():
        return [
            Finding(
                "values of the data",
                "wrong",
                "NaN or infinite samples",
                "finite numbers",
                "mask or repair these traces",
            )
        ], []
    columns = evenly_spaced(record.shape[2], TRACES)
    traces = [
        np.moveaxis(x[:, :, columns].astype(np.float64), 1, -1)[is_used[:, columns]].reshape(-1, x.shape[1])
        for x in (record, observed)
    ]  # (shots and receivers) x fields, nt
    fields = np.tile(np.arange(record.shape[-1]), len(traces[0]) // record.shape[-1])
    modelled, data = traces
    findings = [_energy(part, fields, modelled, data)]
    dead = float(np.mean(~data.any(axis=1))) if len(data) else 1.0
    findings.append(
        finding(
            "dead traces", dead, (0, 0.5), f"{dead:.1%} of the observed traces are zero at all times", "0%",
            "set receiver_mask to False there, because an inversion would fit the zeros as data",
        )
    )  # fmt: skip
    modelled_loud, data_loud = (_is_loud(x, fields) for x in traces)
    both = modelled_loud & data_loud
    if not both.any():
        return findings, [(name, "no trace is loud in both records") for name in (SIGN, DELAY, SKIPPING)]
    sign_and_delay, frequency, is_flipped = _sign_and_delay(part, modelled[both], data[both])
    heard_data = -data[data_loud] if is_flipped else data[data_loud]
    skipped = skipping(modelled[data_loud], heard_data, part.problem.dt, frequency)
    if isinstance(skipped, str):
        return findings + sign_and_delay, [(SKIPPING, skipped)]
    return [*findings, *sign_and_delay, skipped], []


def _is_loud(traces, fields):
    energy = np.sqrt((traces**2).sum(axis=1))
    most = np.zeros(fields.max(initial=0) + 1)
    np.maximum.at(most, fields, energy)
    return energy > LOUD * most[fields]


def _energy(part, fields, modelled, data):
    sizes = [
        [float(np.linalg.norm(x[fields == i])) for x in (modelled, data)]
        for i in range(len(part.problem.receiver_type))
    ]
    ratios = [m / d if d else np.inf for m, d in sizes]
    factors = [max(r, 1 / r) if r else np.inf for r in ratios]
    worst = int(np.argmax(factors))
    amplitudes = ", ".join(f"{name} {r:.3g}" for name, r in zip(part.problem.receiver_type, ratios, strict=True))
    advice = f"multiply the wavelet by {1 / ratios[worst]:.3g}, " if np.isfinite(factors[worst]) else ""
    return finding(
        "energy", factors[worst], (3, 10), f"modelled over observed amplitude (root of the energy): {amplitudes}",
        "0.33 to 3",
        f"an inversion would fit the amplitudes first: {advice}estimate the wavelet from the data, check the unit of "
        "the data, or use a misfit of normalised traces",
    )  # fmt: skip


def _sign_and_delay(part, modelled, data):
    """Find sign and lag by cross-correlation. Return findings, frequency (Hz), and whether the signs differ."""
    nt, dt = modelled.shape[1], part.problem.dt
    length = 2 * nt
    spectra = [np.fft.rfft(x / np.linalg.norm(x, axis=1, keepdims=True), length, axis=1) for x in (modelled, data)]
    correlated = np.fft.irfft(spectra[1] * spectra[0].conj(), length, axis=1)  # [l]: data are l samples later
    energy = (np.abs(spectra[0]) ** 2).sum(axis=0)
    frequency = float((np.fft.rfftfreq(length, dt) * energy).sum() / energy.sum())
    period = 1 / frequency
    same_sign, other_sign = correlated.max(axis=1), -correlated.min(axis=1)
    negative = float(np.mean(other_sign > same_sign))
    is_flipped = negative > 0.5
    best = np.argmax(-correlated if is_flipped else correlated, axis=1)
    lags = np.where(best >= nt, best - length, best) * dt
    common, scatter = float(np.median(lags)), float(np.subtract(*np.percentile(lags, [75, 25])))
    shifted = abs(common) > max(2 * dt, 0.1 * period) and scatter <= max(2 * dt, 0.1 * period)
    half = period / 2
    later = "later" if common > 0 else "earlier"
    return [
        finding(
            SIGN, negative, (0.2, 0.5),
            f"{negative:.0%} of {len(lags)} traces fit better with the opposite sign", "at most 20%",
            "wavelet and data have opposite polarity: change the sign of one of them",
        ),
        Finding(
            DELAY, "wrong" if shifted and abs(common) > half else "doubtful" if shifted else "good",
            f"the median is {1e3 * common:.3g} ms; the middle half of the traces spans {1e3 * scatter:.3g} ms",
            f"a median of at most {1e3 * max(2 * dt, 0.1 * period):.3g} ms, if the traces agree",
            f"all traces are {later} than the modelled ones by the same time: check the wavelet's delay and the time "
            "of the first sample" if shifted else "",
            abs(common),
        ),
    ], frequency, is_flipped  # fmt: skip
