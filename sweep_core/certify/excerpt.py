"""Excerpts of a call for the checks: some shots on as much of the model as runs quickly, and a small cut-out."""

from math import prod
from typing import Any

import attrs
import numpy as np

from .._util.arrays import evenly_spaced, numpy_of
from ..acquisition.receivers import receiver_positions
from ..acquisition.shots import Shots, samples_of
from ..errors import ShapeError, UnsupportedError
from ..execution.answers import forward, misfit_and_gradient
from ..execution.call_checks import check_call, check_survey, check_values
from ..memory import MemoryOptions
from ..numerics.grid import Grid
from ..problem import Problem

SIDE, STEPS, LAYER = {1: 64, 2: 32, 3: 14}, {1: 160, 2: 160, 3: 90}, {1: 8, 2: 8, 3: 5}
"""The small cut-out: cells along each axis, time steps, and cells of the PML."""
MOST_SHOTS = 3
"""The largest number of shots on the whole model."""
LISTENING = 8
"""The number of receivers of the cut-out."""
MARGIN = 4
"""Cells at a cut that hold no positions, because an interpolation reads across them."""


@attrs.frozen(eq=False)
class Excerpt:
    """Some shots of a call on a part of its model, as NumPy arrays.

    Attributes
    ----------
    problem, shots, models
        The arguments of a call.
    indices : tuple of int
        The shots of the call.
    receivers : (nrec,) integer array
        The receivers of the call.
    words : str
        Description for the certificate.
    """

    problem: Problem
    shots: Shots
    models: list
    indices: tuple[int, ...]
    receivers: np.ndarray
    words: str = ""

    @property
    def dtype(self) -> np.dtype:
        """Type of the models."""
        return self.models[0].dtype

    @property
    def shape(self):
        """Shape of the call, a CallShape."""
        return check_call(self.problem, self.shots, self.models)

    @property
    def signals(self) -> np.ndarray:
        """All wavelets, (n, nt)."""
        samples = samples_of(self.shots.wavelet, self.shape.by_field)
        return samples.reshape(-1, samples.shape[-1])

    def typed(self, dtype) -> "Excerpt":
        shots = attrs.evolve(self.shots, wavelet=self.shots.wavelet.astype(dtype))
        return attrs.evolve(self, shots=shots, models=[m.astype(dtype) for m in self.models])

    def louder(self, factor: float) -> "Excerpt":
        """Return the excerpt with wavelets times a factor, within the range of the dtype."""
        factor = min(factor, 1e30 / max(float(np.abs(self.shots.wavelet).max()), 1e-300))
        wavelet = (self.shots.wavelet.astype(np.float64) * factor).astype(self.dtype)
        return attrs.evolve(self, shots=attrs.evolve(self.shots, wavelet=wavelet))

    def moved(self, models) -> "Excerpt":
        return attrs.evolve(self, models=[np.asarray(m, self.dtype) for m in models])

    def pulled(self, executor, cotangent) -> list[np.ndarray]:
        """Return the gradient in each model of a misfit whose derivative in the record is `cotangent`."""
        cotangent = np.asarray(cotangent, self.dtype)
        if hasattr(executor, "pullback"):
            gradient = executor.pullback(self.problem, self.shots, self.models)[1](cotangent)
            return [numpy_of(g) for g in gradient]
        return misfit_and_gradient(executor, self, forward(executor, self) - cotangent)[1]

    def remembering(self, memory: MemoryOptions) -> "Excerpt":
        return attrs.evolve(self, problem=attrs.evolve(self.problem, memory=memory))


def read(name: str, x) -> Any:
    """Return an array of any library as a NumPy array."""
    try:
        return None if x is None else numpy_of(x)
    except Exception as error:
        raise UnsupportedError(
            f"certify cannot read the values of {name} ({type(error).__name__}); call it outside of jit, grad, vmap "
            "and torch.func"
        ) from error


def whole_call(problem: Problem, shots: Shots, models) -> Excerpt:
    """Return the whole call as an excerpt, after the checks of a call.

    Raises
    ------
    SweepError
        The errors of the call itself.
    """
    shape = check_call(problem, shots, models)
    if not len(shots):
        raise ShapeError("there are no shots; certify expects one or more")
    fields = attrs.fields_dict(Shots)
    shots = Shots(**{name: read(name, getattr(shots, name)) for name in fields})
    models = [read(f"model {i}", m) for i, m in enumerate(models)]
    check_survey(problem, shots)
    check_values(problem, models, samples_of(shots.wavelet, shape.by_field))
    memory = attrs.evolve(problem.memory, known_above=0)  # the checks compare the derivative in every cell
    problem = attrs.evolve(problem, memory=memory)
    return Excerpt(problem, shots, models, tuple(range(len(shots))), np.arange(shots.receivers.shape[-2]))


def some_shots(part: Excerpt, indices) -> Excerpt:
    """Return an excerpt of some shots, with their own receivers and models."""
    per_shot = [m.ndim > part.problem.grid.ndim and len(m) > 1 for m in part.models]
    models = [m[list(indices)] if own else m for m, own in zip(part.models, per_shot, strict=True)]
    return attrs.evolve(part, shots=part.shots.take(indices), models=models, indices=tuple(indices))


def survey_excerpt(part: Excerpt, budget: float) -> Excerpt:
    """Return up to MOST_SHOTS shots on the whole model.

    If a single shot takes more than `budget` cell updates, the excerpt is a box around its source that fits the budget.
    """
    problem, steps = part.problem, part.shape.steps
    cost = prod(problem.padded_shape) * steps
    count = len(part.shots)
    indices = evenly_spaced(count, int(min(MOST_SHOTS, max(1, budget // cost)))).tolist()
    excerpt = some_shots(part, indices)
    words = f"shot{'s' if len(indices) > 1 else ''} {', '.join(map(str, indices))} of {count}"
    if cost <= budget:
        return attrs.evolve(excerpt, words=f"{words} on the whole model, {steps} steps")
    cells = max(budget / steps, 1) ** (1 / problem.grid.ndim)
    side = max(int(cells) - 2 * max(max(w) for w in problem.pml), SIDE[problem.grid.ndim])
    box = _box(excerpt, side)
    inside = _within(excerpt, box)
    if not inside.any():
        inside[:] = True
    cut = _cut(excerpt, box, np.flatnonzero(inside), problem.pml)
    return attrs.evolve(
        cut,
        words=f"{words}, {_join_shape(cut.problem.grid.shape)} cells of the model around the source and "
        f"{int(inside.sum())} of {inside.size} receivers, {steps} steps: the whole model would take long",
    )


def cut_out(part: Excerpt) -> Excerpt:
    """Return one shot in a few cells around its source, for a few steps from the onset of its wavelet."""
    problem, ndim = part.problem, part.problem.grid.ndim
    one = some_shots(part, [len(part.shots) // 2])
    side = max(SIDE[ndim], 2 * problem.equation.spatial_order)
    box = _box(one, side)
    is_used = np.ones(len(part.receivers), bool) if one.shots.mask is None else one.shots.mask[0]
    near = _within(one, box) & is_used
    inside, others = np.flatnonzero(near), np.flatnonzero(is_used & ~near)
    inside = inside[evenly_spaced(len(inside), LISTENING)]
    others = others[evenly_spaced(len(others), LISTENING - len(inside))]
    receivers = np.sort(np.concatenate([inside, others])) if is_used.any() else np.arange(1)
    pml = tuple((min(low, LAYER[ndim]), min(high, LAYER[ndim])) for low, high in problem.pml)
    one = attrs.evolve(one, shots=attrs.evolve(one.shots, mask=None))
    cut = _cut(one, box, receivers, pml)
    begin, end = _window(cut.shots.wavelet, cut.shape.by_field, STEPS[ndim])
    by_field = cut.shape.by_field
    wavelet = cut.shots.wavelet[..., begin:end, :] if by_field else cut.shots.wavelet[..., begin:end]
    moved = int((~near)[receivers].sum())
    words = (
        f"a cut-out of {_join_shape(cut.problem.grid.shape)} cells around the source of shot {one.indices[0]}, samples "
        f"{begin} to {end - 1} of its wavelet, and {len(receivers)} receivers"
        + (f", {moved} of them moved into it" if moved else "")
    )
    return attrs.evolve(cut, shots=attrs.evolve(cut.shots, wavelet=wavelet), words=words)


def _join_shape(shape) -> str:
    return " x ".join(map(str, shape))


def _window(wavelet, by_field, steps):
    """Return (begin, end) of the samples from the onset of the wavelet."""
    loudest = np.abs(wavelet).max(axis=-1) if by_field else np.abs(wavelet)
    loudest = loudest.reshape(-1, loudest.shape[-1]).max(axis=0)
    nt = len(loudest)
    first = int(np.argmax(loudest > 1e-2 * loudest.max())) if loudest.any() else 0
    begin = min(max(0, first - 10), max(0, nt - steps))
    return begin, min(nt, begin + steps)


def _box(part: Excerpt, side: int) -> list[tuple[int, int]]:
    """Return (start, stop) along each axis, z first, around the first source. A box includes a free surface."""
    problem = part.problem
    source = part.shots.sources.reshape(-1, problem.grid.ndim)[0][::-1]
    box = []
    for axis, (n, x) in enumerate(zip(problem.grid.shape, source, strict=True)):
        start = int(np.clip(int(x) - side // 2, 0, max(n - side, 0)))
        if axis == 0 and problem.free_surface:
            start = 0
        box.append((start, min(n, start + side)))
    return box


def _limits(problem, box):
    """Return the lowest and the highest valid position along each column."""
    low = [0 if start == 0 else start + MARGIN for start, _ in box]
    high = [stop - 1 if stop == n else stop - 1 - MARGIN for (_, stop), n in zip(box, problem.grid.shape, strict=True)]
    return np.array(low[::-1]), np.array(high[::-1])


def _within(part: Excerpt, box) -> np.ndarray:
    """Return the mask of the receivers of the first shot that lie in the box."""
    low, high = _limits(part.problem, box)
    receivers = part.shots.receivers
    receivers = receivers[0] if receivers.ndim == 3 else receivers
    return ((receivers >= low) & (receivers <= high)).all(-1)


def _move_inside(positions, low, high, box):
    """Return positions counted from the corner of a box. Outer positions move into it and keep their fractions."""
    start, stop = (np.array(side[::-1]) for side in zip(*box, strict=True))
    first, last = start + MARGIN, np.maximum(stop - 1 - MARGIN, start + MARGIN)
    inside = (positions >= low) & (positions <= high)
    moved = first + np.mod(positions - first, np.maximum(last - first, 1))
    return (np.where(inside, positions, moved) - start).astype(positions.dtype)


def _cut(part: Excerpt, box, rows, pml) -> Excerpt:
    """Return the call on a box of its model, with the receivers `rows`."""
    problem, shots = part.problem, part.shots
    window = (..., *(slice(*side) for side in box))
    shape = tuple(stop - start for start, stop in box)
    cpml = attrs.evolve(problem.cpml, width=pml)
    smaller = attrs.evolve(problem, grid=Grid(shape, problem.grid.spacing), cpml=cpml)
    low, high = _limits(problem, box)
    receivers = receiver_positions(np, problem, shots) if shots.mask is not None else shots.receivers
    cut = Shots(
        shots.wavelet,
        _move_inside(shots.sources, low, high, box),
        _move_inside(receivers[..., rows, :], low, high, box),
        None if shots.mask is None else shots.mask[:, rows],
    )
    models = [np.ascontiguousarray(m[window]) for m in part.models]
    return attrs.evolve(part, problem=smaller, shots=cut, models=models, receivers=part.receivers[rows])
