"""Observed records beside modelled ones: shape, energy, sign, delay, and whether a cycle is skipped."""

import numpy as np

from .certificate import Finding, finding
from .excerpt import Part, spread
from .skipping import SKIPPING, skipping

TRACES = 300
"""Of each shot and field that are correlated."""
LOUD = 1e-3
"""Of the loudest trace: those below it say nothing."""
SIGN, DELAY = "sign of the data", "delay of the data"


def shape(expected: tuple[int, ...], observed: np.ndarray) -> Finding:
    """(nshots, nt, nrec, nfield), all of it."""
    given = tuple(observed.shape)
    swapped = len(given) == 4 and (given[0], given[2], given[1], given[3]) == expected
    short = len(given) == 3 and ((*given, 1) == expected or (1, *given) == expected)
    hint = (
        "; it has receivers before time: use transpose(0, 2, 1, 3)" if swapped
        else "; an axis is missing" if short else ""
    )  # fmt: skip
    return Finding(
        "shape of the data", "good" if given == expected else "wrong", f"{given}",
        f"(nshots, nt, nrec, nfield) = {expected}",
        "" if given == expected else f"give the record of each sample, receiver and field of the call{hint}",
        float(given != expected),
    )  # fmt: skip


def compared(part: Part, record: np.ndarray, observed: np.ndarray) -> tuple[list[Finding], list[tuple[str, str]]]:
    """Compare records of the same shots and receivers: (findings, what was not tested and why)."""
    listening = np.ones((len(record), record.shape[2]), bool) if part.shots.mask is None else part.shots.mask
    if not np.isfinite(observed[np.broadcast_to(listening[:, None, :, None], observed.shape)]).all():
        return [
            Finding("values of the data", "wrong", "NaN or infinite samples", "numbers", "mask or mend those traces")
        ], []
    keep = spread(record.shape[2], TRACES)
    traces = [
        np.moveaxis(x[:, :, keep].astype(np.float64), 1, -1)[listening[:, keep]].reshape(-1, x.shape[1])
        for x in (record, observed)
    ]  # (shots and receivers) x fields, nt
    fields = np.tile(np.arange(record.shape[-1]), len(traces[0]) // record.shape[-1])
    modelled, data = traces
    found = [_energy(part, fields, modelled, data)]
    dead = float(np.mean(~data.any(axis=1))) if len(data) else 1.0
    found.append(
        finding(
            "dead traces", dead, (0, 0.5), f"{dead:.1%} of the observed traces are zero throughout", "none",
            "say so by receiver_mask, or the inversion takes the silence for data",
        )
    )  # fmt: skip
    made, seen = (_loud(x, fields) for x in traces)
    if not (made & seen).any():
        return found, [(name, "no trace is loud in both records") for name in (SIGN, DELAY, SKIPPING)]
    apart, frequency, flipped = _apart(part, modelled[made & seen], data[made & seen])
    skipped = skipping(modelled[seen], -data[seen] if flipped else data[seen], part.problem.dt, frequency)
    if isinstance(skipped, str):
        return found + apart, [(SKIPPING, skipped)]
    return [*found, *apart, skipped], []


def _loud(traces, fields):
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
    told = ", ".join(f"{name} {r:.3g}" for name, r in zip(part.problem.receiver_type, ratios, strict=True))
    mend = f"multiply the wavelet by {1 / ratios[worst]:.3g}, or " if np.isfinite(factors[worst]) else ""
    return finding(
        "energy", factors[worst], (3, 10), f"amplitudes modelled over observed (root of the energy): {told}",
        "0.33 to 3",
        f"an inversion would mend the amplitudes first: {mend}estimate the wavelet from the data, see the units of the "
        "data, or use a misfit of normalised traces",
    )  # fmt: skip


def _apart(part, modelled, data):
    """Find sign and lag of traces by their cross-correlation; their frequency, and whether they are turned."""
    nt, dt = modelled.shape[1], part.problem.dt
    length = 2 * nt
    spectra = [np.fft.rfft(x / np.linalg.norm(x, axis=1, keepdims=True), length, axis=1) for x in (modelled, data)]
    correlated = np.fft.irfft(spectra[1] * spectra[0].conj(), length, axis=1)  # [l]: data are l samples later
    energy = (np.abs(spectra[0]) ** 2).sum(axis=0)
    frequency = float((np.fft.rfftfreq(length, dt) * energy).sum() / energy.sum())
    period = 1 / frequency
    upright, turned = correlated.max(axis=1), -correlated.min(axis=1)
    negative = float(np.mean(turned > upright))
    flipped = negative > 0.5
    best = np.argmax(-correlated if flipped else correlated, axis=1)
    lags = np.where(best >= nt, best - length, best) * dt
    common, spread_of = float(np.median(lags)), float(np.subtract(*np.percentile(lags, [75, 25])))
    shifted = abs(common) > max(2 * dt, 0.1 * period) and spread_of <= max(2 * dt, 0.1 * period)
    half = period / 2
    later = "later" if common > 0 else "earlier"
    return [
        finding(
            SIGN, negative, (0.2, 0.5),
            f"{negative:.0%} of {len(lags)} traces fit better with the other sign", "few",
            "the polarity of wavelet or data is the other one: change the sign of one of them",
        ),
        Finding(
            DELAY, "wrong" if shifted and abs(common) > half else "doubtful" if shifted else "good",
            f"median {1e3 * common:.3g} ms, half of the traces within {1e3 * spread_of:.3g} ms",
            f"below {1e3 * max(2 * dt, 0.1 * period):.3g} ms where all agree",
            f"all traces are as much {later} than the modelled ones: see the wavelet's delay and the time of the first "
            "sample" if shifted else "",
            abs(common),
        ),
    ], frequency, flipped  # fmt: skip
