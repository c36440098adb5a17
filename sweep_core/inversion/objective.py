"""Misfit and gradient of the shots of a survey by any backend, a few shots at a time."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from .._util.arrays import numpy_of
from ..acquisition.call_shape import wavelet_layout
from ..acquisition.shots import Shots, check_mask, check_positions
from ..distribution import SerialDistributor, ShotPlan
from ..errors import DomainError, DtypeError, OptionError, ShapeError, UnsupportedError
from ..misfit import Misfit, by_name, least_squares
from ..plugins import check_support
from ..problem import Problem
from ..processing import bandpass

AfterShots = Callable[[Any, Any], None] | None


@attrs.frozen
class Solver:
    """A solver of any backend for :func:`sweep_core.inversion.invert`, in the place of a PropTorch or PropJax.

    Parameters
    ----------
    executor : Executor
        An executor of a backend, such as ``backend("torch")``.
    problem : Problem
        The problem that is run.
    """

    executor: Any
    problem: Problem

    def explain(self) -> str:
        """Return the backend that computes, and the strategy by which gradients remember the forward run.

        Returns
        -------
        str
            One sentence.

        Raises
        ------
        UnsupportedError
            If the executor does not support the problem.
        """
        name = self.executor.name
        reason = check_support(name, self.executor, self.problem).reason or "ready"
        return f"backend {name!r}: {reason}; gradients with {self.problem.memory}"


def problem_of(solver: Any) -> Problem:
    """That of a PropTorch or PropJax; OptionError of anything else."""
    if isinstance(solver, type) or not hasattr(solver, "executor"):
        raise OptionError(f"solver is {solver!r}; expected a PropTorch or PropJax")
    return solver.problem


def batches(chosen: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Shots, so many at a time."""
    return (chosen[first : first + size] for first in range(0, len(chosen), size))


def modelled(executor, problem, shots: Shots, models, chosen: np.ndarray, size: int) -> list[np.ndarray]:
    """Records of the chosen shots, so many at a time."""
    return [numpy_of(executor.forward(problem, shots.take(some), models)) for some in batches(chosen, size)]


def added_up(
    pull: Callable[[np.ndarray], tuple[Any, list]], chosen: np.ndarray, size: int, sums: list[np.ndarray],
    after: AfterShots = None,
) -> float:  # fmt: skip
    """The misfit of the chosen shots, so many at a time; their gradients are added to `sums`.

    ``pull(shots)`` gives both of some, of which ``after(shots, misfit)`` is told.
    """
    misfit = 0.0
    for some in batches(chosen, size):
        value, slopes = pull(some)
        misfit += float(value)
        if after:
            after(some, value)
        for total, slope in zip(sums, slopes, strict=True):
            total += numpy_of(slope)
    return misfit


@attrs.frozen(eq=False)
class Objective:
    """sum over shots of misfit(w F s, w F d): s is the record that a model makes, d the observed one.

    F, a filter of zero phase, is symmetric, so the derivative in s is F w times that of the misfit. Frequencies that F
    keeps out of the misfit are modelled all the same, and must fit the grid.

    Parameters
    ----------
    executor : Executor
        Such as ``solver.executor``, or ``sweep_core.backend(name)``.
    problem : Problem
    shots : Shots
        All of the survey.
    observed : (nshots, nt, nrec, nfield) NumPy array
        Of the dtype of the models. What masked receivers hold, be it NaN, is taken as zero, as their records are.
    misfit : Misfit or str
        One of :mod:`sweep_core.misfit`, or its name, or one's own.
    weights : array, optional
        Masks and mutes, of a shape that may be broadcast to that of `observed`, all shots along its first axis.
    low, high : float, optional
        Corners of F, Hz; see :func:`sweep_core.processing.bandpass`.
    batch : int
        Shots that are modelled at once.
    group : Distributor
        Of the ranks that share out the shots: each answers with the sum over all.
    """

    executor: Any
    problem: Problem
    shots: Shots
    observed: np.ndarray
    misfit: Misfit = attrs.field(default=least_squares, converter=by_name)
    weights: np.ndarray | None = None
    low: float | None = None
    high: float | None = None
    batch: int = 4
    group: Any = attrs.field(factory=SerialDistributor)
    _aim: np.ndarray | None = attrs.field(init=False, default=None)

    def __attrs_post_init__(self):
        if not hasattr(self.group, "all_reduce"):
            raise OptionError(f"group is {self.group!r}; expected a Distributor, such as SerialDistributor()")
        for name in ("sources", "receivers"):
            check_positions(name, getattr(self.shots, name), self.problem.grid.ndim)
        nshots, nfield = len(self.shots), len(self.problem.receiver_type)
        nrec = int(self.shots.receivers.shape[-2])
        shape = np.shape(self.observed)
        nt = wavelet_layout(self.problem, self.shots.wavelet, self.shots.sources)[0]
        if shape != (nshots, nt, nrec, nfield):
            raise ShapeError(f"observed has shape {shape}; expected ({nshots}, {nt}, {nrec}, {nfield})")
        given = shape if self.weights is None else np.shape(self.weights)
        if len(given) != 4 or given[0] != nshots or any(n not in (1, m) for n, m in zip(given, shape, strict=True)):
            raise ShapeError(
                f"weights have shape {given}; expected ({nshots}, nt, nrec, nfield), 1 where all are alike"
            )
        if self.weights is not None and not np.isfinite(self.weights).all():
            raise DomainError("weights hold NaN or infinite values; give zeros where nothing is to count")
        if self.weights is not None and not np.any(self.weights):
            raise DomainError("weights are zero throughout, so that nothing counts; give ones where data are to be met")
        if self.shots.mask is not None:
            check_mask(self.shots.mask, nshots, nrec)
            heard = numpy_of(self.shots.mask)[:, None, :, None]
            object.__setattr__(self, "observed", np.where(heard, self.observed, np.zeros_like(self.observed)))
        if not callable(self.misfit):
            raise OptionError(f"misfit is {self.misfit!r}; expected a function, such as sweep_core.misfit.envelope")
        if not np.isfinite(self.observed).all():
            raise DomainError("observed holds NaN or infinite values; give zeros, and weights of zero there")
        if not np.any(self.observed):
            raise DomainError("observed is zero throughout; give the record that was measured")
        if isinstance(self.batch, bool) or not isinstance(self.batch, int) or self.batch < 1:
            raise OptionError(f"batch is {self.batch!r}; expected a number of shots from 1 on")

        self.filtered(self.observed[:1, :, :1])  # refuses corners that are none

    def aim(self, some: np.ndarray) -> np.ndarray:
        """w F d of some shots; the whole is filtered when it is first asked for."""
        whole = self._aim
        if whole is None:
            whole = self.weighed(self.filtered(self.observed), np.arange(len(self.shots)))
            object.__setattr__(self, "_aim", whole)
        return whole[some]

    @property
    def plain(self) -> bool:
        """Whether it is what every executor's own misfit_and_gradient computes."""
        return self.misfit is least_squares and self.weights is None and self.low is None and self.high is None

    def filtered(self, record: np.ndarray) -> np.ndarray:
        """F of a record."""
        if self.low is None and self.high is None:
            return record
        return bandpass(record, self.problem.dt, self.low, self.high)

    def weighed(self, record: np.ndarray, some: np.ndarray) -> np.ndarray:
        """w times a record of some shots."""
        return record if self.weights is None else (self.weights[some] * record).astype(record.dtype, copy=False)

    def compared(self, record: np.ndarray, some: np.ndarray) -> tuple[float, np.ndarray]:
        """The misfit of a record of some shots and its derivative in it."""
        told = self.misfit(self.weighed(self.filtered(record), some), self.aim(some))
        if not isinstance(told, tuple) or len(told) != 2 or np.shape(told[1]) != record.shape:
            raise OptionError(
                f"misfit {self.misfit!r} returned {type(told).__name__}; expected (value, its derivative)"
            )
        if math.prod(np.shape(told[0])) != 1:
            raise OptionError(f"misfit {self.misfit!r} returned {np.shape(told[0])} values; expected one number")
        value, slope = told
        return float(value), self.filtered(self.weighed(numpy_of(slope), some))

    def record(self, models: Sequence[np.ndarray], chosen: Any = None) -> np.ndarray:
        """What models make, (nshots, nt, nrec, nfield): of all shots, or of those chosen, on this rank."""
        parts = modelled(self.executor, self.problem, self.shots, models, self._chosen(chosen), self.batch)
        return np.concatenate([self.observed[:0], *parts])

    def __call__(
        self, models: Sequence[np.ndarray], chosen: Any = None, after: AfterShots = None
    ) -> tuple[float, list[np.ndarray]]:
        """(misfit, its derivative in each model), float64, summed over all shots or those `chosen`.

        ``after(shots, misfit)`` is called after every few of them.
        """

        def pull(some):
            if self.plain:
                take = self.executor.misfit_and_gradient
                return take(self.problem, self.shots.take(some), models, self.observed[some])
            record, pull = self._pullback(some, models)
            value, slope = self.compared(numpy_of(record), some)
            return value, pull(slope)

        return self._summed(pull, models, chosen, after)

    def born(self, models: Sequence[np.ndarray], perturbations: Sequence[np.ndarray], some: np.ndarray) -> np.ndarray:
        """w F J of perturbations of the models, in some shots: J is the derivative of the record."""
        if not hasattr(self.executor, "born"):
            raise UnsupportedError(
                f"backend {self.executor.name!r} has no born; see the page howto/write-backend of the documentation"
            )
        scattered = self.executor.born(self.problem, self.shots.take(some), models, perturbations)
        return self.weighed(self.filtered(numpy_of(scattered)), some)

    def transposed(
        self, models: Sequence[np.ndarray], residual: Callable[[np.ndarray], np.ndarray], chosen: Any = None
    ) -> list[np.ndarray]:
        """(w F J)^T of ``residual(shots)``, in the shape of their records: J is the derivative of the record.

        Summed over all shots or those `chosen`.
        """

        def pull(some):
            return 0.0, self._pullback(some, models)[1](self.filtered(self.weighed(residual(some), some)))

        return self._summed(pull, models, chosen)[1]

    def _pullback(self, some, models):
        if not hasattr(self.executor, "pullback"):
            raise UnsupportedError(
                f"backend {self.executor.name!r} has no pullback, which any misfit but plain least squares needs; see "
                "the page howto/write-backend of the documentation"
            )
        return self.executor.pullback(self.problem, self.shots.take(some), models)

    def _chosen(self, chosen):
        return np.arange(len(self.shots)) if chosen is None else np.asarray(chosen, np.int64)

    def _summed(self, pull, models, chosen=None, after=None):
        chosen = self._chosen(chosen)
        mine = chosen[list(ShotPlan(len(chosen), self.group.size).part(self.group.rank))]
        gradients = [np.zeros(model.shape) for model in models]
        misfit = added_up(pull, mine, self.batch, gradients, after)
        if self.group.size > 1:
            packed = numpy_of(self.group.all_reduce(np.concatenate([[misfit], *(g.ravel() for g in gradients)])))
            parts = np.split(packed[1:], np.cumsum([g.size for g in gradients])[:-1])
            misfit, gradients = packed[0], [part.reshape(g.shape) for part, g in zip(parts, gradients, strict=True)]
        return float(misfit), gradients


def make_objective(
    executor: Any, problem: Problem, wavelet: Any, sources: Any, receivers: Any, observed: Any, dtype: Any,
    weights: Any = None, receiver_mask: Any = None, **options: Any,
) -> Objective:  # fmt: skip
    """The objective of arrays of any library, for models of a dtype."""
    shots = Shots(*(None if x is None else numpy_of(x) for x in (wavelet, sources, receivers, receiver_mask)))
    observed, weights = numpy_of(observed), None if weights is None else numpy_of(weights)
    for name, array in (("observed", observed), ("wavelet", shots.wavelet), ("weights", weights)):
        if array is not None and array.dtype.kind not in "fiub":
            raise DtypeError(f"{name} is of {array.dtype}; expected an array of real numbers")
    return Objective(
        executor, problem, attrs.evolve(shots, wavelet=shots.wavelet.astype(dtype)),
        observed.astype(dtype, copy=False), weights=weights, **options,
    )  # fmt: skip
