"""Checks of a solver on a cut-out: its record against the reference, and its gradient against its record."""

import attrs
import numpy as np

from ..errors import DtypeError, SweepError, UnsupportedError
from ..execution.answers import born, forward, misfit_and_gradient, record_error, relative, unequal
from ..execution.reference import ReferenceExecutor
from ..memory import MemoryOptions
from ..memory.options import LOWER
from .certificate import Finding, about, finding
from .excerpt import Excerpt

BOUNDS = {np.dtype(np.float64): (1e-10, 1e-6), np.dtype(np.float32): (3e-4, 3e-3)}
"""Relative errors of forward runs and dot products up to which they are good, and doubtful."""
CELLS = 3
"""Cells of each model in which the gradient is compared with a finite difference."""
STEPS = 1e-3 * 0.5 ** np.arange(4)
"""Steps of the Taylor test, relative to the models."""


def inexact(part: Excerpt) -> float:
    """Return the relative error of the gradient from the storage of its history; 0 if the storage is exact."""
    memory = part.problem.memory
    stored = memory.dtype, memory.boundary.dtype if memory.boundary else ""
    return max((LOWER[dtype] for dtype in LOWER if dtype in stored), default=0.0)


def directions(part: Excerpt, rng) -> list[np.ndarray] | None:
    """Return random perturbations as large as the models, or None if none is admissible at a thousandth of its size.

    The perturbations are zero at the edges if the gradient takes the earth under the PML as given.
    """
    inside = np.ones(part.problem.grid.shape)
    if part.problem.edge_gradient == "interior":
        inside = np.pad(inside[(slice(1, -1),) * inside.ndim], 1)
    for highest in (1, 0):  # at the limit of dt only slower models are stable
        directions = [np.abs(m) * rng.uniform(-1, highest, m.shape) * inside for m in part.models]
        if _admissible(part.problem, [m + STEPS[0] * d for m, d in zip(part.models, directions, strict=True)]):
            return [np.asarray(d, part.dtype) for d in directions]
    return None


def _admissible(problem, models) -> bool:
    return bool(np.all(problem.admits(*models))) and problem.is_stable(*models)


def record_of_reference(executor, part: Excerpt) -> Finding:
    """Compare the record of the solver with that of NumPy in float64."""
    part, record = scaled_excerpt(executor, part)
    expected = forward(ReferenceExecutor(), part.remembering(MemoryOptions()))
    name, good, doubtful = "reference", *BOUNDS[part.dtype]
    if record.shape != expected.shape:
        return Finding(
            name, "wrong", f"shape {record.shape}", f"{expected.shape}", "report this error: the solver is broken"
        )
    error = record_error(record, expected)
    return finding(
        name, error, (good, doubtful),
        f"the difference to the record of NumPy in float64 is {about(error, good)} of the maximum",
        f"at most {good:g} for {part.dtype}",
        "do not trust these waves: try impl='eager' or float64, and report the difference",
    )  # fmt: skip


def dot_product(executor, part: Excerpt, rng) -> Finding:
    """Check <J dm, y> = <dm, J^T y>."""
    part, record = scaled_excerpt(executor, part)
    size = np.abs(record).max(axis=(0, 1, 2))
    y = (rng.standard_normal(record.shape) / np.where(size > 0, size, 1)).astype(part.dtype)
    dm = directions(part, rng)
    if dm is None:
        raise UnsupportedError("no perturbation of the models is admissible")
    has_born = hasattr(executor, "born")
    exact, call = (executor, part) if has_born else (ReferenceExecutor(), part.remembering(MemoryOptions()))
    born_record = born(exact, call, dm).astype(np.float64)
    gradient = [g.astype(np.float64) for g in part.pulled(executor, y)]
    terms = [d * g for d, g in zip(dm, gradient, strict=True)]
    left, right = float((born_record * y).sum()), float(sum(t.sum() for t in terms))
    error = unequal(left, right, terms)
    # The error of an inexact history in each cell is a fraction of the largest value.
    most = max(float(np.abs(g).max() * np.linalg.norm(d)) for d, g in zip(dm, gradient, strict=True))
    lossy = inexact(part) * most * error / max(abs(left - right), 1e-300)
    good, doubtful = (max(bound, lossy) for bound in BOUNDS[part.dtype])
    by = "" if has_born else " (J of NumPy)"
    return finding(
        "dot product", error, (good, doubtful),
        f"<J dm, y> = {left:.4g}{by}, <dm, J^T y> = {right:.4g}; the relative difference is "
        f"{about(error, good)}",
        f"at most {good:.2g} for {part.dtype}",
        "the gradient is not the transpose of the derivative: do not invert with it; try impl='eager' or "
        "memory=MemoryOptions('full'), and report the difference",
    )  # fmt: skip


def scaled_excerpt(executor, part: Excerpt) -> tuple[Excerpt, np.ndarray]:
    """Return the excerpt with wavelets scaled so that the maximum of its record is 1, and this record in float64."""
    for _ in range(2):  # one pass does not scale a record of subnormal numbers exactly
        record = forward(executor, part).astype(np.float64)
        largest = float(np.abs(record).max(initial=0.0))
        if not 0 < largest < np.inf or 0.5 < largest < 2:
            break
        part = part.louder(1 / largest)
    return part, record


def _in_float64(executor, part: Excerpt) -> tuple[Excerpt, np.ndarray, list]:
    """Return the scaled excerpt, an observed record for it, and the gradient of their misfit."""
    part, record = scaled_excerpt(executor, part.typed(np.float64))
    noise = np.random.default_rng(1).standard_normal(record.shape) * np.abs(record).max(axis=(0, 1, 2))
    observed = record - noise
    return part, observed, misfit_and_gradient(executor, part, observed)[1]


def taylor(executor, part: Excerpt, rng) -> list[Finding]:
    """Check the order of the remainder of the misfit, and the gradient in some cells, in float64."""
    if inexact(part):
        raise UnsupportedError(f"{part.problem.memory} stores an inexact history, so its gradient is not exact")
    try:
        part, observed, gradient = _in_float64(executor, part)
    except DtypeError as error:
        raise UnsupportedError(f"the test needs float64: {error}") from error
    return [_slope(executor, part, observed, gradient, rng), _cells(executor, part, observed, gradient, rng)]


def _misfit(executor, part, models, observed):
    residual = forward(executor, part.moved(models)).astype(np.float64) - observed
    return 0.5 * float((residual**2).sum())


def _slope(executor, part, observed, gradient, rng):
    dm = directions(part, rng)
    if dm is None:
        raise UnsupportedError("no perturbation of the models is admissible")
    start = _misfit(executor, part, part.models, observed)
    slope = sum(float((d * g).sum()) for d, g in zip(dm, gradient, strict=True))
    remainders = []
    for h in STEPS:
        models = [m + h * d for m, d in zip(part.models, dm, strict=True)]
        remainders.append(abs(_misfit(executor, part, models, observed) - start - h * slope))
    order = float(np.polyfit(np.log(STEPS), np.log(np.maximum(remainders, 1e-300)), 1)[0])
    return finding(
        "Taylor test", abs(order - 2), (0.1, 0.3), f"the remainder falls with the power {order:.2f} of the step",
        "2 in float64",
        "the gradient is not the derivative of the misfit: do not invert with it, and report the difference",
    )  # fmt: skip


def _cells(executor, part, observed, gradient, rng):
    worst, place = 0.0, ""
    for i, (p, g) in enumerate(zip(part.problem.equation.parameters, gradient, strict=True)):
        loud = np.argwhere(np.abs(g) >= np.quantile(np.abs(g), 0.8))
        if part.problem.edge_gradient == "interior":
            edges = np.array(part.problem.grid.shape) - 1
            cells = loud[:, -len(edges) :]
            loud = loud[((cells > 0) & (cells < edges)).all(axis=1)]
        for cell in map(tuple, rng.permutation(loud)[:CELLS]):
            exact = _difference(executor, part, i, cell, observed)
            if exact is None:
                continue
            error = relative(exact, g[cell], float(np.abs(g).mean()))
            if not error <= worst:
                worst, place = error, f" ({p.name} at cell {tuple(map(int, cell))}: {g[cell]:.6g}, not {exact:.6g})"
    return finding(
        "finite difference", worst, (1e-4, 1e-3),
        f"the relative error of the gradient is {about(worst, 1e-4)}" + (place if worst > 1e-4 else ""),
        "at most 0.0001 in float64",
        "the gradient is not the derivative of the misfit: do not invert with it, and report the difference",
    )  # fmt: skip


def _difference(executor, part, i, cell, observed):
    """Return the central difference of the misfit in one cell, or None if a step makes the model inadmissible."""
    h, values = 1e-4 * max(abs(part.models[i][cell]), np.abs(part.models[i]).mean()), []
    if h == 0:
        return None
    for step in (h, -h):
        models = [m.copy() for m in part.models]
        models[i][cell] += step
        if not _admissible(part.problem, models):
            return None
        values.append(_misfit(executor, part, models, observed))
    return (values[0] - values[1]) / (2 * h)


def operators(executor, part: Excerpt, rng) -> tuple[list[Finding], list[tuple[str, str]]]:
    """Run the checks. Return findings, and the untested checks with reasons."""
    memory = part.problem.memory
    if memory.interval > 1:  # the shortened wavelet may not admit it
        part = part.remembering(attrs.evolve(memory, interval=1))
    findings: list[Finding] = []
    untested: list[tuple[str, str]] = []

    def test(names, check, *arguments):
        try:
            result = check(executor, part, *arguments)
        except UnsupportedError as reason:
            untested.extend((name, str(reason)) for name in names)
        except SweepError as reason:
            findings.extend(
                Finding(n, "wrong", f"refused: {reason}", "a result", "do as the message says") for n in names
            )
        else:
            findings.extend(result if isinstance(result, list) else [result])

    test(["reference"], record_of_reference)
    if not hasattr(executor, "misfit_and_gradient"):
        reason = f"the backend {executor.name!r} computes no gradient"
        return findings, untested + [(name, reason) for name in ("dot product", "Taylor test", "finite difference")]
    if not np.any(forward(executor, part)):
        reason = "nothing arrives in the cut-out"
        return findings, untested + [(name, reason) for name in ("dot product", "Taylor test", "finite difference")]
    test(["dot product"], dot_product, rng)
    test(["Taylor test", "finite difference"], taylor, rng)
    return findings, untested
