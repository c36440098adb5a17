"""The parts of a call that are looked at: some shots on as much of the model as is quickly run, and a small cut-out."""

from math import prod
from typing import Any

import attrs
import numpy as np

from .._util.arrays import numpy_of
from ..acquisition.receivers import receiver_positions
from ..acquisition.shots import Shots, samples_of
from ..errors import ShapeError, UnsupportedError
from ..execution.answers import forward, misfit_and_gradient
from ..execution.call_checks import check_call, check_survey, check_values
from ..memory import MemoryOptions
from ..numerics.grid import Grid
from ..problem import Problem

SIDE, STEPS, LAYER = {2: 32, 3: 14}, {2: 160, 3: 90}, {2: 8, 3: 5}
"""Of the small cut-out: cells along each axis, time steps, cells of the PML."""
LISTENING = 8
"""Its receivers."""
MARGIN = 4
"""Cells from a cut within which positions are moved inwards: those that an interpolation takes."""


@attrs.frozen(eq=False)
class Part:
    """Some shots of a call on a part of its model, as NumPy arrays.

    Attributes
    ----------
    problem, shots, models
    indices : tuple of int
        Which shots of the call.
    kept : (nrec,) integer array
        Which of its receivers.
    words : str
    """

    problem: Problem
    shots: Shots
    models: list
    indices: tuple[int, ...]
    kept: np.ndarray
    words: str = ""

    @property
    def dtype(self) -> np.dtype:
        return self.models[0].dtype

    @property
    def shape(self):
        """The CallShape."""
        return check_call(self.problem, self.shots, self.models)

    @property
    def signals(self) -> np.ndarray:
        """All wavelets, (n, nt)."""
        samples = samples_of(self.shots.wavelet, self.shape.by_field)
        return samples.reshape(-1, samples.shape[-1])

    def typed(self, dtype) -> "Part":
        shots = attrs.evolve(self.shots, wavelet=self.shots.wavelet.astype(dtype))
        return attrs.evolve(self, shots=shots, models=[m.astype(dtype) for m in self.models])

    def louder(self, factor: float) -> "Part":
        """The same with another amplitude of the wavelets, as far as numbers go."""
        factor = min(factor, 1e30 / max(float(np.abs(self.shots.wavelet).max()), 1e-300))
        wavelet = (self.shots.wavelet.astype(np.float64) * factor).astype(self.dtype)
        return attrs.evolve(self, shots=attrs.evolve(self.shots, wavelet=wavelet))

    def moved(self, models) -> "Part":
        return attrs.evolve(self, models=[np.asarray(m, self.dtype) for m in models])

    def pulled(self, executor, cotangent) -> list[np.ndarray]:
        """The gradient in each model of a misfit whose derivative in the record is `cotangent`."""
        cotangent = np.asarray(cotangent, self.dtype)
        if hasattr(executor, "pullback"):
            gradient = executor.pullback(self.problem, self.shots, self.models)[1](cotangent)
            return [numpy_of(g) for g in gradient]
        return misfit_and_gradient(executor, self, forward(executor, self) - cotangent)[1]

    def remembering(self, memory: MemoryOptions) -> "Part":
        return attrs.evolve(self, problem=attrs.evolve(self.problem, memory=memory))


def read(name: str, x) -> Any:
    """The values of an array of any library."""
    try:
        return None if x is None else numpy_of(x)
    except Exception as error:
        raise UnsupportedError(
            f"certify reads the values of {name}, which cannot be had ({type(error).__name__}); call it outside of "
            "jit, grad, vmap and torch.func"
        ) from error


def whole_call(problem: Problem, shots: Shots, models) -> Part:
    """All of a call, after all checks of one.

    Raises
    ------
    SweepError
        As the call itself.
    """
    shape = check_call(problem, shots, models)
    if not len(shots):
        raise ShapeError("there are no shots; certify looks at one at least")
    fields = attrs.fields_dict(Shots)
    shots = Shots(**{name: read(name, getattr(shots, name)) for name in fields})
    models = [read(f"model {i}", m) for i, m in enumerate(models)]
    check_survey(problem, shots)
    check_values(problem, models, samples_of(shots.wavelet, shape.by_field))
    memory = attrs.evolve(problem.memory, known_above=0)  # the derivative is looked at everywhere
    problem = attrs.evolve(problem, memory=memory)
    return Part(problem, shots, models, tuple(range(len(shots))), np.arange(shots.receivers.shape[-2]))


def some_shots(part: Part, indices) -> Part:
    """Shots of a call, with their own receivers and earths."""
    many = [m.ndim > part.problem.grid.ndim and len(m) > 1 for m in part.models]
    models = [m[list(indices)] if own else m for m, own in zip(part.models, many, strict=True)]
    return attrs.evolve(part, shots=part.shots.take(indices), models=models, indices=tuple(indices))


def spread(total: int, count: int) -> list[int]:
    """`count` of the numbers below `total`, the first and the last among them where there are two."""
    return sorted({round(float(i)) for i in np.linspace(0, total - 1, min(total, count))})


def survey_part(part: Part, budget: float, most: int = 3) -> Part:
    """Up to `most` shots on the whole model; if a single one takes more than `budget` cell updates, on what fits around
    its source and nearest receiver.
    """
    problem, steps = part.problem, part.shape.steps
    cost = prod(problem.padded_shape) * steps
    count = len(part.shots)
    chosen = spread(count, int(min(most, max(1, budget // cost))))
    some = some_shots(part, chosen)
    words = f"shot{'s' if len(chosen) > 1 else ''} {', '.join(map(str, chosen))} of {count}"
    if cost <= budget:
        return attrs.evolve(some, words=f"{words} on the whole model, {steps} steps")
    cells = max(budget / steps, 1) ** (1 / problem.grid.ndim)
    side = max(int(cells) - 2 * max(max(w) for w in problem.pml), SIDE[problem.grid.ndim])
    box = _box(some, side)
    inside = _within(some, box)
    if not inside.any():
        inside[:] = True
    cut = _cut(some, box, np.flatnonzero(inside), problem.pml)
    return attrs.evolve(
        cut,
        words=f"{words}, {_by(cut.problem.grid.shape)} cells of the model around the source and "
        f"{int(inside.sum())} of {inside.size} receivers, {steps} steps: the whole would take long",
    )


def cut_out(part: Part) -> Part:
    """One shot in a few cells around its source, for a few steps from the beginning of its wavelet."""
    problem, ndim = part.problem, part.problem.grid.ndim
    one = some_shots(part, [len(part.shots) // 2])
    side = max(SIDE[ndim], 2 * problem.equation.spatial_order)
    box = _box(one, side)
    heard = np.ones(len(part.kept), bool) if one.shots.mask is None else one.shots.mask[0]
    near = _within(one, box) & heard
    inside, others = np.flatnonzero(near), np.flatnonzero(heard & ~near)
    inside = inside[spread(len(inside), LISTENING)]
    others = others[spread(len(others), LISTENING - len(inside))]
    kept = np.sort(np.concatenate([inside, others])) if heard.any() else np.arange(1)
    pml = tuple((min(low, LAYER[ndim]), min(high, LAYER[ndim])) for low, high in problem.pml)
    one = attrs.evolve(one, shots=attrs.evolve(one.shots, mask=None))
    cut = _cut(one, box, kept, pml)
    begin, end = _window(cut.shots.wavelet, cut.shape.by_field, STEPS[ndim])
    by_field = cut.shape.by_field
    wavelet = cut.shots.wavelet[..., begin:end, :] if by_field else cut.shots.wavelet[..., begin:end]
    moved = int((~near)[kept].sum())
    words = (
        f"a cut-out of {_by(cut.problem.grid.shape)} cells around the source of shot {one.indices[0]}, samples {begin} "
        f"to {end - 1} of its wavelet, and {len(kept)} receivers"
        + (f", {moved} of them moved into it" if moved else "")
    )
    return attrs.evolve(cut, shots=attrs.evolve(cut.shots, wavelet=wavelet), words=words)


def _by(shape) -> str:
    return " x ".join(map(str, shape))


def _window(wavelet, by_field, steps):
    """(begin, end) of the samples from where the wavelet begins."""
    loudest = np.abs(wavelet).max(axis=-1) if by_field else np.abs(wavelet)
    loudest = loudest.reshape(-1, loudest.shape[-1]).max(axis=0)
    nt = len(loudest)
    first = int(np.argmax(loudest > 1e-2 * loudest.max())) if loudest.any() else 0
    begin = min(max(0, first - 10), max(0, nt - steps))
    return begin, min(nt, begin + steps)


def _box(part: Part, side: int) -> list[tuple[int, int]]:
    """(start, stop) along each axis, z first, around the first source; from the top on where that is free."""
    problem = part.problem
    at = part.shots.sources.reshape(-1, problem.grid.ndim)[0][::-1]
    box = []
    for axis, (n, x) in enumerate(zip(problem.grid.shape, at, strict=True)):
        start = int(np.clip(int(x) - side // 2, 0, max(n - side, 0)))
        if axis == 0 and problem.free_surface:
            start = 0
        box.append((start, min(n, start + side)))
    return box


def _limits(problem, box):
    """The lowest and highest position along each column that may stay where it is."""
    low = [0 if start == 0 else start + MARGIN for start, _ in box]
    high = [stop - 1 if stop == n else stop - 1 - MARGIN for (_, stop), n in zip(box, problem.grid.shape, strict=True)]
    return np.array(low[::-1]), np.array(high[::-1])


def _within(part: Part, box) -> np.ndarray:
    """Which receivers, of the first shot, lie in the box."""
    low, high = _limits(part.problem, box)
    receivers = part.shots.receivers
    receivers = receivers[0] if receivers.ndim == 3 else receivers
    return ((receivers >= low) & (receivers <= high)).all(-1)


def _folded(positions, low, high, box):
    """Positions in a box, counted from its corner: those that lie outside are moved into it, fractions kept."""
    start, stop = (np.array(side[::-1]) for side in zip(*box, strict=True))
    first, last = start + MARGIN, np.maximum(stop - 1 - MARGIN, start + MARGIN)
    inside = (positions >= low) & (positions <= high)
    moved = first + np.mod(positions - first, np.maximum(last - first, 1))
    return (np.where(inside, positions, moved) - start).astype(positions.dtype)


def _cut(part: Part, box, kept, pml) -> Part:
    """The call on a box of its model, with the receivers `kept`."""
    problem, shots = part.problem, part.shots
    window = (..., *(slice(*side) for side in box))
    shape = tuple(stop - start for start, stop in box)
    cpml = attrs.evolve(problem.cpml, width=pml)
    smaller = attrs.evolve(problem, grid=Grid(shape, problem.grid.spacing), cpml=cpml)
    low, high = _limits(problem, box)
    receivers = receiver_positions(np, problem, shots) if shots.mask is not None else shots.receivers
    cut = Shots(
        shots.wavelet,
        _folded(shots.sources, low, high, box),
        _folded(receivers[..., kept, :], low, high, box),
        None if shots.mask is None else shots.mask[:, kept],
    )
    models = [np.ascontiguousarray(m[window]) for m in part.models]
    return attrs.evolve(part, problem=smaller, shots=cut, models=models, kept=part.kept[kept])
