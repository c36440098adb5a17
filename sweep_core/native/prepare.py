"""From a checked call to the named buffers of its operations, and from their outputs to record and gradients.

Arrays may be those of NumPy, torch or JAX, traced ones included: `model_buffers` has only operations that a framework
differentiates. `NumpyRun` takes its derivatives by complex step.
"""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import attrs
import numpy as np

from .._util.processors import thread_count
from ..acquisition.call_shape import CallShape
from ..acquisition.receivers import empty_record, finalise_record
from ..acquisition.rows import point_lists
from ..acquisition.shots import Shots
from ..acquisition.sources import driving_wavelet, signals
from ..discretization.array_ops import Ops, coefficients_of, solid_of
from ..discretization.stability import marked
from ..errors import UnsupportedError
from ..memory import NO_HISTORY, NONE, HistoryPlan, make_strategy
from ..memory.files import mapped
from ..numerics.time_dispersion import undisperse
from ..plugins import Support
from ..problem import Problem
from .call import Buffer, CompiledCall, compiled_call, tables
from .selection import supports
from .sizes import plan_history


@attrs.frozen
class ArrayLibrary:
    """The functions that array libraries name differently.

    Parameters
    ----------
    xp : module
        numpy, torch or jax.numpy.
    hold : callable
        Returns an array without its derivative.
    constant : callable
        Returns the values of a NumPy array as an array of this library, in the dtype and on the device of the call.
    """

    xp: Any
    hold: Callable[[Any], Any]
    constant: Callable[[np.ndarray], Any]


NUMPY = ArrayLibrary(np, np.real, np.asarray)
"""NumPy, whose derivatives are those of the complex step."""


@attrs.frozen
class CallPlan:
    """The compiled calls of a run by the library ``'cpu'`` or ``'cuda'``, and the plan of its history."""

    kind: str
    problem: Problem
    shape: CallShape
    history: HistoryPlan

    def whole(self, history: bool = True) -> CompiledCall:
        """Return the call that makes the run at once; with `history` it leaves the planned one, unless in slices."""
        chunk = self.history.chunk if history and not self.history.sliced else 0
        return compiled_call(self.kind, self.problem, self.shape, chunk)

    def segment(self, snapshots: bool = False) -> CompiledCall:
        """Return the call whose buffers hold one slice of a run in slices; see :meth:`CompiledCall.steps`."""
        shape = self.shape if snapshots else attrs.evolve(self.shape, snapshots=None)
        return compiled_call(self.kind, self.problem, shape, self.history.chunk, self.history.chunk)


def survey_buffers(
    problem: Problem, shape: CallShape, shots: Shots, xp: Any = np, solid: Any = None
) -> tuple[list[Any], dict[str, Any]]:
    """Return the buffers that do not depend on models and wavelet.

    Parameters
    ----------
    xp : module
        numpy or jax.numpy.
    solid : bool array, optional
        The cells (1 or nshots, *padded grid) that are solid, where positions between nodes are near fluids; see
        :func:`sweep_core.discretization.array_ops.solid_of`.

    Returns
    -------
    cells : list of array
        Flat cells of the sources, (nshots, nsrc, taps) for each source field; `model_buffers` takes them.
    buffers : dict
        The points of sources and receivers, and the tables, by the names of their buffers.
    """
    cells, lists = point_lists(problem, shape, shots, xp, np.dtype(shape.dtype), solid)
    return cells, lists | {"tables": xp.asarray(tables(problem), dtype=np.dtype(shape.dtype))}


def model_buffers(
    problem: Problem,
    shape: CallShape,
    cells: list[Any],
    wavelet: Any,
    models: Any,
    library: ArrayLibrary = NUMPY,
    unread: Ops | None = None,
) -> dict[str, Any]:
    """Return the buffers ``"coefficients"`` and ``"wavelet"``, functions of models and wavelet.

    Parameters
    ----------
    cells : list of array
        Those of `survey_buffers`.
    unread : Ops, optional
        The operations of the framework, if the values of the models were not checked. Compiled code then checks that dt
        is stable.
    """
    values = coefficients_of(problem, models, shape.earths, library.xp, library.hold, library.constant)
    if unread is not None:
        values = marked(problem, unread, models, values)
    coefficients = library.xp.stack(values, 1)
    samples = driving_wavelet(library.xp, problem, shape, wavelet)
    return {
        "coefficients": coefficients,
        "wavelet": signals(problem, shape, library.xp, samples, cells, coefficients),
    }


def compiled_support(problem: Problem, kind: str) -> Support:
    """Look for a compiled library that runs a problem with its memory strategy.

    Parameters
    ----------
    problem : Problem
        The problem to run.
    kind : {'cpu', 'cuda'}
        The library: that of the device.

    Returns
    -------
    Support
        True if the library runs the problem, with the reason.

    Raises
    ------
    NativeError
        If the library was built from other sources than those of the package.
    """
    strategy = make_strategy(problem.memory)
    if refusal := strategy.refusal_of(kind, problem.equation.levels):
        return Support(False, refusal)
    return supports(problem.equation, problem.grid.ndim, kind, strips=strategy.strips)


def record_cotangent(problem: Problem, shape: CallShape, mask: Any, cotangent: np.ndarray) -> np.ndarray:
    """Return the transpose of `finalise_record`: (nshots, steps, nrec, nfield) from (nshots, nt, nrec, nfield)."""
    if mask is not None:
        cotangent = np.where(mask[:, None, :, None], cotangent, 0)
    if problem.time_dispersion == "corrected":
        matrix = undisperse(np, np.eye(shape.steps, dtype=cotangent.dtype))
        cotangent = np.einsum("jk,skrf->sjrf", matrix[:, : cotangent.shape[1]], cotangent)
    return cotangent


def model_tangents(
    problem: Problem, shape: CallShape, cells: list[Any], wavelet: Any, models: Any, direction: Any
) -> dict[str, np.ndarray]:
    """Return the derivative of `model_buffers` in a direction of the models, by complex step.

    Squire and Trapp 1998, SIAM Review 40. It is float64, whatever the models are.
    """
    h = 1e-20
    moved = [np.asarray(m, np.float64) + 1j * h * d for m, d in zip(models, direction, strict=True)]
    return {name: x.imag / h for name, x in model_buffers(problem, shape, cells, wavelet, moved).items()}


def model_gradients(
    problem: Problem, shape: CallShape, cells: list[Any], wavelet: Any, models: Any, gradients: dict[str, np.ndarray]
) -> list[np.ndarray]:
    """Return the transpose of `model_tangents`: a gradient for each model, from those of its buffers.

    A coefficient depends on its own cell, and where fields are staggered along an axis also on the next cell there. A
    direction that is one in every second cell along these axes thus holds at most one of the cells that a
    coefficient depends on.

    Raises
    ------
    UnsupportedError
        If the coefficients depend on cells further away, which a random direction shows.
    """
    axes = problem.grid.axes
    strides = [1 + any(axis in field.stagger for field in problem.fields) for axis in axes]
    sources: Any = np.stack(cells, 3).reshape(shape.shots, -1)
    shots: Any = np.arange(shape.shots)[:, None] if shape.earths > 1 else 0
    sums = [np.zeros((shape.earths, *problem.grid.shape)) for _ in models]
    for i, first in product(range(len(models)), product(*map(range, strides))):
        direction = [np.zeros_like(m) for m in models]
        direction[i][(..., *map(slice, first, (None,) * len(axes), strides))] = 1
        targets: Any = np.ix_(*map(_targets, problem.pml, problem.grid.shape, first, strides))
        slopes = model_tangents(problem, shape, cells, wavelet, models, direction)
        amounts = (gradients["coefficients"] * slopes["coefficients"]).sum(axis=1)
        if problem.source_scaling == "increment":  # the wavelet depends on the coefficients at the sources
            by_source = (gradients["wavelet"] * slopes["wavelet"]).sum(axis=1)
            np.add.at(amounts.reshape(shape.earths, -1), (shots, sources), by_source)
        np.add.at(sums[i], (slice(None), *targets), amounts)
    sums = [x.reshape(-1, *m.shape).sum(axis=0) for x, m in zip(sums, models, strict=True)]
    random = np.random.default_rng(0)
    direction = [random.standard_normal(m.shape) for m in models]
    slopes = model_tangents(problem, shape, cells, wavelet, models, direction)
    parts = [gradients[name] * slope for name, slope in slopes.items()]
    lack = sum((x * d).sum() for x, d in zip(sums, direction, strict=True)) - sum(part.sum() for part in parts)
    if abs(lack) > 1e-6 * sum(np.abs(part).sum() for part in parts):
        raise UnsupportedError(
            f"coefficients of {problem.equation.name} depend on other cells than their own and the next along "
            "staggered axes, for which NumpyRun has no gradient; use backend 'torch' or 'jax'"
        )
    return [x.astype(m.dtype) for x, m in zip(sums, models, strict=True)]


def _targets(widths: tuple[int, int], size: int, first: int, stride: int) -> np.ndarray:
    """Return, for each padded cell, the cell of the model that it depends on and that such a direction holds."""
    own = np.arange(-widths[0], size + widths[1])
    at, after = np.clip(own, 0, size - 1), np.clip(own + 1, 0, size - 1)
    return np.where(at % stride == first, at, after)


class NumpyRun:
    """A run of compiled code on NumPy arrays, on the CPU.

    Parameters
    ----------
    problem : Problem
        The problem that is run.
    shape : CallShape
        The sizes of the checked call, which may have no shots.
    shots : Shots
        Wavelet and positions, NumPy arrays.
    models : list of (nz, nx) or (nshots, nz, nx) arrays
        Models in the order of ``equation.parameters``.
    gradient : bool
        True to keep the history of the problem's memory strategy, for a gradient.

    Raises
    ------
    SweepError
        If a library, or memory for the history, is missing.
    """

    def __init__(self, problem: Problem, shape: CallShape, shots: Shots, models: Any, gradient: bool = False):
        self.problem, self.shape = problem, shape
        self.wavelet, self.models = np.array(shots.wavelet), [np.array(m) for m in models]
        self.mask = None if shots.mask is None else np.array(shots.mask)
        if not shape.shots:
            return
        self.history_plan = plan_history("cpu", problem, shape) if gradient else NO_HISTORY
        plan = CallPlan("cpu", problem, shape, self.history_plan)
        self.call = plan.segment() if self.history_plan.sliced else plan.whole()
        self.buffers = {name: self._empty(name, b.nbytes, b) for name, b in self.call.named().items()}
        solid = solid_of(problem, models, np, np.real)
        self.cells, fixed = survey_buffers(problem, shape, shots, solid=solid)
        for name, values in (fixed | model_buffers(problem, shape, self.cells, shots.wavelet, models)).items():
            self.buffers[name][...] = values
        if self.history_plan.sliced:
            states = (self.history_plan.states or 0, self.buffers["state"].nbytes)
            self.states = self._empty("states", states[0] * states[1]).reshape(states)
            self.adjoint_state = np.empty_like(self.buffers["state"])
            self.schedule = self.history_plan.schedule(shape.steps)

    def forward(self) -> np.ndarray:
        """Return the record, (nshots, nt, nrec, nfield)."""
        if not self.shape.shots:
            return self._empty_record()
        if self.history_plan.sliced:
            self.slots, self.recorded = self.schedule.forward(_Slices(self)), self.schedule.segments - 1
        else:
            self.invoke("forward", self.call)
        return self._record()

    def born(self, direction: Any) -> np.ndarray:
        """Return the derivative of the record in a direction of the models."""
        if not self.shape.shots:
            return self._empty_record()
        for name, x in model_tangents(
            self.problem, self.shape, self.cells, self.wavelet, self.models, direction
        ).items():
            self.buffers[f"tangent_{name}"][...] = x
        self.invoke("born", self.call)
        return self._record()

    def gradient(self, cotangent: np.ndarray) -> list[np.ndarray]:
        """Return the gradient in each model, from the derivative of a misfit in the record of `forward`."""
        if not self.shape.shots:
            return [np.zeros_like(m) for m in self.models]
        self.buffers["cotangent"][...] = record_cotangent(self.problem, self.shape, self.mask, cotangent)
        if self.history_plan.sliced:
            self.schedule.backward(_Slices(self), self.slots, self.recorded)
            self.recorded = NONE
        else:
            self.invoke("adjoint", self.call)
        gradients = {name: self.buffers[f"gradient_{name}"] for name in ("coefficients", "wavelet")}
        return model_gradients(self.problem, self.shape, self.cells, self.wavelet, self.models, gradients)

    def invoke(self, operation: str, call: CompiledCall, **others: np.ndarray) -> None:
        """Run an operation of a call on the buffers, or on `others` of these names."""
        arrays = [(self.buffers | others)[b.name] for b in call.buffers[operation]]
        call.run(operation, [(x.ctypes.data, x.nbytes) for x in arrays], threads=thread_count(), keep=arrays)

    def _empty(self, name: str, nbytes: int, buffer: Buffer | None = None) -> np.ndarray:
        if name == self.history_plan.placed and self.history_plan.storage == "disk":
            return np.frombuffer(mapped(nbytes, self.history_plan.directory), np.uint8)[:nbytes]
        return np.empty(nbytes, np.uint8) if buffer is None else np.empty(buffer.shape, buffer.dtype)

    def _record(self) -> np.ndarray:
        return finalise_record(np, self.problem, self.shape, self.mask, self.buffers["record"].copy())

    def _empty_record(self) -> np.ndarray:
        return empty_record(self.problem, self.shape, partial(np.zeros, dtype=self.shape.dtype))[0]


class _Slices:
    """A :class:`sweep_core.memory.Tape` on the buffers of a run."""

    def __init__(self, run: NumpyRun):
        self.run = run

    def advance(self, first: int, last: int) -> None:
        self.run.invoke("forward", self.run.call.steps(first, last, False))

    def record(self, first: int, last: int) -> None:
        self.run.invoke("forward", self.run.call.steps(first, last, True))

    def reverse(self, first: int, last: int) -> None:
        self.run.invoke("adjoint", self.run.call.steps(first, last, True), state=self.run.adjoint_state)

    def save(self, slot: int) -> None:
        self.run.states[slot] = self.run.buffers["state"]

    def restore(self, slot: int | None) -> None:
        if slot is not None:  # a run that begins at step 0 clears the state itself
            self.run.buffers["state"][...] = self.run.states[slot]
