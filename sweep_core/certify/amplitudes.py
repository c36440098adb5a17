"""Who hears anything, and how much of a gradient single precision holds."""

from math import ceil, log2, log10

import numpy as np

from ..execution.call_checks import OUTGROWN, first_not_finite
from .certificate import Finding, finding
from .excerpt import Part

EPSILON = 1e-8
"""What torch.optim.Adam and optax.adam add to the size of a gradient by default."""
QUIET = 1e-7
"""Of the loudest receiver: below it there is rounding alone."""
SIGNIFICANT = 1e-6
"""Of the largest value of a gradient: cells that are to be right."""
AMPLE = 1e12
"""Records and gradients between its inverse and it are far from the ends of single precision."""
ZEROS = 0.1
"""Part of all cells that may be zero for want of smaller numbers."""


def heard(part: Part, record: np.ndarray) -> list[Finding]:
    """Receivers that record nothing, and why; or that the record is not finite."""
    if first := first_not_finite(part.problem, record):
        return [Finding("finite record", "wrong", first, "finite numbers", OUTGROWN)]
    loud = np.abs(record).max(axis=1, initial=0.0)
    listening = np.ones(loud.shape[:2], bool) if part.shots.mask is None else part.shots.mask
    count, scale = int(listening.sum()), loud.max(axis=(0, 1), initial=0.0)
    silent = listening & (loud <= QUIET * scale).all(axis=-1)
    alone, quiet = [], int(silent.sum())
    late = int((silent & _too_far(part)).sum())
    if not count:
        alone.append("receiver_mask leaves no receiver: it is True where there is data")
    if late:
        times = part.shape.samples * part.problem.dt
        alone.append(
            f"the fastest wave takes longer than the {times:.4g} s of the run to {late} of them: run more steps"
        )
    if quiet > late:
        alone.append("no wave gets to the others within the run (more steps), or they lie where the field is zero")
    share = quiet / count if count else 1.0
    measured = f"{quiet} of {count} receivers record nothing; the loudest sample is {scale.max(initial=0.0):.3g}"
    return [finding("heard", share, (0, 0.5), measured, "none", "; ".join(alone) or "mask them")]


def _too_far(part: Part) -> np.ndarray:
    """(nshots, nrec): whether even a straight ray at the fastest speed of the model arrives after the last sample."""
    problem, spacing = part.problem, np.array(part.problem.grid.spacing[::-1])
    fast = float(np.max(problem.equation.speed(*part.models)))
    sources = part.shots.sources.reshape(len(part.shots), -1, 1, problem.grid.ndim)
    receivers = np.broadcast_to(part.shots.receivers, (len(part.shots), *part.shots.receivers.shape[-2:]))[:, None]
    distance = np.linalg.norm((receivers.astype(np.float64) - sources) * spacing, axis=-1).min(axis=1)
    signal = part.signals
    begins = int(np.argmax(np.any(np.abs(signal) > QUIET * np.abs(signal).max(), axis=0))) * problem.dt
    return begins + distance / fast > part.shape.samples * problem.dt


def gradient(executor, part: Part, record: np.ndarray, observed) -> list[Finding]:
    """The gradient of half the sum of squares as a user would have it, beside the same of louder waves."""
    residual = record if observed is None else record - observed
    if part.shots.mask is not None:
        residual = residual * part.shots.mask[:, None, :, None]
    if not np.isfinite(residual).all() or not residual.any() or not record.any():
        return []
    own = [g.astype(np.float64) for g in part.pulled(executor, residual)]
    sizes = [float(np.abs(x).max()) for x in (record, residual, *own)]
    if all(1 / AMPLE < size < AMPLE for size in sizes) and all((g == 0).mean() < ZEROS for g in own):
        loud = own
    else:  # powers of two change no digit, but of numbers at the ends of the range
        factors = [2.0 ** -round(log2(size)) for size in sizes[:2]]
        pull = part.louder(factors[0]).pulled(executor, residual.astype(np.float64) * factors[1])
        loud = [g.astype(np.float64) / factors[0] / factors[1] for g in pull]
    names = [p.name for p in part.problem.equation.parameters]
    against = "the observed data" if observed is not None else "no data at all"
    return [_range(part, names, own, loud), _epsilon(names, own, against)]


def _range(part, names, own, loud):
    worst, which = 0.0, names[0]
    for name, g, exact in zip(names, own, loud, strict=True):
        significant = np.abs(exact) > SIGNIFICANT * np.abs(exact).max()
        lost = ~(np.abs(g - exact) <= 0.1 * np.abs(exact)) & significant
        share = float(lost.sum() / max(significant.sum(), 1))
        if share > worst:
            worst, which = share, name
    zero = float(np.mean([(g == 0) & (e != 0) for g, e in zip(own, loud, strict=True)]))
    return finding(
        "range of the gradient", max(worst, 2e-3 if zero > ZEROS else 0), (1e-3, 1e-2),
        f"{worst:.2%} of the cells above {SIGNIFICANT:g} of the maximum ({which}) and {zero:.0%} of all are lost to "
        f"{part.dtype}",
        f"at most 0.1 % and {ZEROS:.0%}",
        "the waves are too weak, or too strong, for such numbers: scale wavelet and data alike, so that the record is "
        "about 1, or use float64",
    )  # fmt: skip


def _epsilon(names, own, against):
    largest = [float(np.abs(g).max()) for g in own]
    least, told = min(largest), ", ".join(f"{name} {x:.2g}" for name, x in zip(names, largest, strict=True))
    enough = 100 * EPSILON
    factor = 10.0 ** ceil(log10(1000 * enough / least)) if 0 < least < np.inf else 0.0
    advice = f"multiply the misfit by {factor:.0e}" if factor else "scale wavelet and data, or see what is zero there"
    return finding(
        "Adam's epsilon", enough / least if least > 0 else np.inf, (1, np.inf),
        f"gradient of at most {told} (half the sum of squares against {against}; a mean is smaller)",
        f"above {enough:g}, a hundred times what torch.optim.Adam and optax.adam add to it",
        f"such an optimiser would hardly move: {advice}, or set its eps to 0",
    )  # fmt: skip
