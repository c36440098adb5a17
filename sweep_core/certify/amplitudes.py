"""Checks of amplitudes: silent receivers, and the range of a gradient in single precision."""

from math import ceil, log2, log10

import numpy as np

from ..execution.call_checks import OUTGROWN, first_not_finite
from .certificate import Finding, finding
from .excerpt import Excerpt

EPSILON = 1e-8
"""The constant that torch.optim.Adam and optax.adam add to the size of a gradient by default."""
QUIET = 1e-7
"""Amplitude relative to the loudest receiver, below which there is only rounding."""
SIGNIFICANT = 1e-6
"""Value relative to the largest one of a gradient, above which cells must be right."""
AMPLE = 1e12
"""Records and gradients between 1 / AMPLE and AMPLE are far from the limits of single precision."""
ZEROS = 0.1
"""Fraction of all cells that may underflow to zero."""


def silent_receivers(part: Excerpt, record: np.ndarray) -> list[Finding]:
    """Find receivers that record nothing, and the reason, or a record that is not finite."""
    if first := first_not_finite(part.problem, record):
        return [Finding("finite record", "wrong", first, "finite numbers", OUTGROWN)]
    loud = np.abs(record).max(axis=1, initial=0.0)
    is_used = np.ones(loud.shape[:2], bool) if part.shots.mask is None else part.shots.mask
    count, scale = int(is_used.sum()), loud.max(axis=(0, 1), initial=0.0)
    silent = is_used & (loud <= QUIET * scale).all(axis=-1)
    advice, quiet = [], int(silent.sum())
    late = int((silent & _too_far(part)).sum())
    if not count:
        advice.append("receiver_mask leaves no receiver: set it True where there is data")
    if late:
        times = part.shape.samples * part.problem.dt
        advice.append(
            f"the fastest wave reaches {late} of them after the end of the run ({times:.4g} s): run more steps"
        )
    if quiet > late:
        advice.append(
            f"no wave reaches {quiet - late} of them within the run (run more steps), or the field is zero there"
        )
    fraction = quiet / count if count else 1.0
    measured = f"{quiet} of {count} receivers record nothing; the largest sample is {scale.max(initial=0.0):.3g}"
    return [finding("heard", fraction, (0, 0.5), measured, "waves at each", "; ".join(advice) or "mask them")]


def _too_far(part: Excerpt) -> np.ndarray:
    """Return a mask (nshots, nrec): True if a straight ray at the fastest speed arrives after the last sample."""
    problem, spacing = part.problem, np.array(part.problem.grid.spacing[::-1])
    fast = float(np.max(problem.equation.speed(*part.models)))
    sources = part.shots.sources.reshape(len(part.shots), -1, 1, problem.grid.ndim)
    receivers = np.broadcast_to(part.shots.receivers, (len(part.shots), *part.shots.receivers.shape[-2:]))[:, None]
    distance = np.linalg.norm((receivers.astype(np.float64) - sources) * spacing, axis=-1).min(axis=1)
    signal = part.signals
    begins = int(np.argmax(np.any(np.abs(signal) > QUIET * np.abs(signal).max(), axis=0))) * problem.dt
    return begins + distance / fast > part.shape.samples * problem.dt


def gradient(executor, part: Excerpt, record: np.ndarray, observed) -> list[Finding]:
    """Compare the gradient of half the sum of squares in the user's numbers with that of louder waves."""
    residual = record if observed is None else record - observed
    if part.shots.mask is not None:
        residual = residual * part.shots.mask[:, None, :, None]
    if not np.isfinite(residual).all() or not residual.any() or not record.any():
        return []
    own = [g.astype(np.float64) for g in part.pulled(executor, residual)]
    sizes = [float(np.abs(x).max()) for x in (record, residual, *own)]
    if all(1 / AMPLE < size < AMPLE for size in sizes) and all((g == 0).mean() < ZEROS for g in own):
        loud = own
    else:  # powers of two change digits only of numbers at the limits of the range
        factors = [2.0 ** -round(log2(size)) for size in sizes[:2]]
        pull = part.louder(factors[0]).pulled(executor, residual.astype(np.float64) * factors[1])
        loud = [g.astype(np.float64) / factors[0] / factors[1] for g in pull]
    names = [p.name for p in part.problem.equation.parameters]
    against = "the observed data" if observed is not None else "no data at all"
    return [_range(part, names, own, loud), _epsilon(names, own, against)]


def _range(part, names, own, loud):
    worst, worst_name = 0.0, names[0]
    for name, g, exact in zip(names, own, loud, strict=True):
        significant = np.abs(exact) > SIGNIFICANT * np.abs(exact).max()
        lost = ~(np.abs(g - exact) <= 0.1 * np.abs(exact)) & significant
        fraction = float(lost.sum() / max(significant.sum(), 1))
        if fraction > worst:
            worst, worst_name = fraction, name
    zero = float(np.mean([(g == 0) & (e != 0) for g, e in zip(own, loud, strict=True)]))
    return finding(
        "range of the gradient", max(worst, 2e-3 if zero > ZEROS else 0), (1e-3, 1e-2),
        f"{part.dtype} loses {worst:.2%} of the cells above {SIGNIFICANT:g} of the maximum ({worst_name}), and "
        f"{zero:.0%} of all cells",
        f"at most 0.1 % and {ZEROS:.0%}",
        "the waves are too weak or too strong for this dtype: scale wavelet and data by one factor, so that the record "
        "is about 1, or use float64",
    )  # fmt: skip


def _epsilon(names, own, against):
    largest = [float(np.abs(g).max()) for g in own]
    least, sizes = min(largest), ", ".join(f"{name} {x:.2g}" for name, x in zip(names, largest, strict=True))
    enough = 100 * EPSILON
    factor = 10.0 ** ceil(log10(1000 * enough / least)) if 0 < least < np.inf else 0.0
    advice = f"multiply the misfit by {factor:.0e}" if factor else "scale wavelet and data, or check for zeros in them"
    return finding(
        "Adam's epsilon", enough / least if least > 0 else np.inf, (1, np.inf),
        f"largest gradient: {sizes} (of half the sum of squares against {against}; that of a mean is smaller)",
        f"above {enough:g}, a hundred times the epsilon of torch.optim.Adam and optax.adam",
        f"Adam would hardly change the model: {advice}, or set its eps to 0",
    )  # fmt: skip
