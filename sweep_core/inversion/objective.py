"""Misfit and gradient of the shots of a survey with any backend, a batch of shots at a time."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np

from .._util.arrays import numpy_of
from ..acquisition.shots import Shots
from ..distribution import SerialDistributor, is_elastic, record_interval
from ..errors import DtypeError, OptionError, UnsupportedError
from ..misfit import Misfit, by_name, least_squares
from ..problem import Problem
from ..processing import bandpass
from .batches import AfterShots, modelled
from .objective_check import check_objective
from .observed_data import StoredData, check_observed, observed_of
from .shared_shots import SharedShots
from .tasks import group_of, sum_of_shots, values_of_shots


@attrs.frozen(eq=False)
class Objective:
    """The sum over shots of misfit(w F s, w F d), with s the record of a model and d the observed record.

    w are weights and F is a zero-phase filter. F is symmetric, so the derivative in s is F w times that of the misfit.
    The solver also models the frequencies that F removes, so they must fit the grid.

    Parameters
    ----------
    executor : Executor
        An executor, such as ``solver.executor`` or ``sweep_core.backend(name)``.
    problem : Problem
        The problem.
    shots : Shots
        All shots of the survey.
    observed : (nshots, nt, nrec, nfield) NumPy array, or ObservedStore
        Observed record, of the dtype of the models. Samples of masked receivers count as zero, and may be NaN. The
        shots of a :class:`sweep_core.io.ObservedStore` are read and checked when they are used.
    misfit : Misfit or str
        A misfit of :mod:`sweep_core.misfit`, its name, or a user's function.
    weights : array, optional
        Masks and mutes, of a shape that broadcasts to that of `observed`, with all shots along its first axis.
    low, high : float, optional
        Corners of F (Hz); see :func:`sweep_core.processing.bandpass`.
    batch : int
        Number of shots that are modelled at once.
    group : Distributor
        The ranks that share the shots. Each rank returns the sum over all shots.
    costs : (nshots,) array, optional
        Cost of each shot, by which the ranks share the shots; equal by default.
    reduction : {'fast', 'ordered'}
        How shots are summed; see :func:`sweep_core.inversion.invert`.
    numbers : (nshots,) integer array, optional
        Numbers of the shots in their survey, 0, 1, ... by default.

    Raises
    ------
    ShapeError, DtypeError, DomainError, OptionError
        The arguments do not fit each other, or have wrong values.
    """

    executor: Any
    problem: Problem
    shots: Shots
    observed: Any
    misfit: Misfit = attrs.field(default=least_squares, converter=by_name)
    weights: np.ndarray | None = None
    low: float | None = None
    high: float | None = None
    batch: int = 4
    group: Any = attrs.field(factory=SerialDistributor)
    costs: np.ndarray | None = None
    reduction: str = "fast"
    numbers: np.ndarray | None = None

    def __attrs_post_init__(self):
        check_objective(self)
        object.__setattr__(self, "observed", check_observed(self.observed, self.shots.mask, self.problem.dt))
        self.apply_filter(np.zeros((1, self.observed.shape[1], 1, 1), self.observed.dtype))  # checks the corners

    def shot_numbers(self, some: np.ndarray) -> np.ndarray:
        """Return the numbers of some shots in their survey.

        Parameters
        ----------
        some : (n,) integer array
            Shots, counted from 0.

        Returns
        -------
        (n,) integer array
            Their numbers.
        """
        return some if self.numbers is None else self.numbers[some]

    def target(self, some: np.ndarray) -> np.ndarray:
        """Return w F d of some shots.

        Parameters
        ----------
        some : (n,) integer array
            Shots, counted from 0.

        Returns
        -------
        (n, nt, nrec, nfield) array
            Weighted and filtered observed record.
        """
        return self.apply_weights(self.apply_filter(self.observed[some]), some)

    @property
    def is_least_squares(self) -> bool:
        """True if the `misfit_and_gradient` of every executor computes this objective."""
        return self.misfit is least_squares and self.weights is None and self.low is None and self.high is None

    def apply_filter(self, record: np.ndarray) -> np.ndarray:
        """Return F times a record.

        Parameters
        ----------
        record : (n, nt, nrec, nfield) array
            A record.

        Returns
        -------
        (n, nt, nrec, nfield) array
            The filtered record.
        """
        if self.low is None and self.high is None:
            return record
        return bandpass(record, self.problem.dt, self.low, self.high)

    def apply_weights(self, record: np.ndarray, some: np.ndarray) -> np.ndarray:
        """Return w times a record of some shots.

        Parameters
        ----------
        record : (n, nt, nrec, nfield) array
            Record of the shots.
        some : (n,) integer array
            Shots, counted from 0.

        Returns
        -------
        (n, nt, nrec, nfield) array
            The weighted record.
        """
        return record if self.weights is None else (self.weights[some] * record).astype(record.dtype, copy=False)

    def compare(self, record: np.ndarray, some: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the misfit of a record of some shots, and its derivative in the record.

        Parameters
        ----------
        record : (n, nt, nrec, nfield) array
            Modelled record of the shots.
        some : (n,) integer array
            Shots, counted from 0.

        Returns
        -------
        misfit : float
            The misfit.
        adjoint_source : (n, nt, nrec, nfield) array
            Its derivative in `record`.

        Raises
        ------
        OptionError
            The misfit does not return a value and its derivative.
        """
        result = self.misfit(self.apply_weights(self.apply_filter(record), some), self.target(some))
        if not isinstance(result, tuple) or len(result) != 2 or np.shape(result[1]) != record.shape:
            raise OptionError(
                f"misfit {self.misfit!r} returned {type(result).__name__}; expected (value, its derivative)"
            )
        if math.prod(np.shape(result[0])) != 1:
            raise OptionError(f"misfit {self.misfit!r} returned {np.shape(result[0])} values; expected one number")
        value, slope = result
        return float(value), self.apply_filter(self.apply_weights(numpy_of(slope), some))

    def record(self, models: Sequence[np.ndarray], indices: Any = None) -> np.ndarray:
        """Return the record of models, on this rank.

        Parameters
        ----------
        models : list of arrays
            Models in the order of ``equation.parameters``.
        indices : (n,) integer array, optional
            Shots, counted from 0; all by default.

        Returns
        -------
        (n, nt, nrec, nfield) array
            The record.
        """
        numbers = self._indices(indices)
        if is_elastic(self.group):
            parts = values_of_shots(self, Objective.record, models, numbers)
        else:
            parts = modelled(self.executor, self.problem, self.shots, models, numbers, self.batch)
        return np.concatenate([np.empty((0, *self.observed.shape[1:]), self.observed.dtype), *parts])

    def __call__(
        self, models: Sequence[np.ndarray], indices: Any = None, after: AfterShots = None
    ) -> tuple[float, list[np.ndarray]]:
        """Return the misfit and its derivative in each model, float64, summed over all shots or those of `indices`.

        ``after(shots, misfit)`` is called after each batch. If the data of a shot cannot be read, every rank raises a
        DataError that names the shot. The sums are not finite if those of a shot are not.
        """
        return self._sum(Objective.misfit_and_gradients, models, indices, after)

    def misfit_and_gradients(self, models: Sequence[np.ndarray], some: np.ndarray) -> tuple[Any, list[Any]]:
        """Return the misfit of some shots and its derivative in each model, in one call of the executor on this rank.

        Parameters
        ----------
        models : list of arrays
            Models in the order of ``equation.parameters``.
        some : (n,) integer array
            Shots, counted from 0.

        Returns
        -------
        misfit : number
            The misfit.
        gradients : list of arrays
            Arrays of the backend.

        Raises
        ------
        DataError
            The data of a shot cannot be read.
        """
        if self.is_least_squares:
            with record_interval("read", "data"):
                observed = self.observed[some]
            return self.executor.misfit_and_gradient(self.problem, self.shots.take(some), models, observed)
        record, pull = self._pullback(some, models)
        with record_interval("misfit", "data"):
            value, slope = self.compare(numpy_of(record), some)
        return value, pull(slope)

    def born(self, models: Sequence[np.ndarray], perturbations: Sequence[np.ndarray], some: np.ndarray) -> np.ndarray:
        """Return w F J times perturbations of the models, in some shots. J is the derivative of the record.

        Parameters
        ----------
        models, perturbations : list of arrays
            Models and their perturbations, in the order of ``equation.parameters``.
        some : (n,) integer array
            Shots, counted from 0.

        Returns
        -------
        (n, nt, nrec, nfield) array
            The weighted and filtered Born record.

        Raises
        ------
        UnsupportedError
            The backend has no Born modelling.
        """
        if not hasattr(self.executor, "born"):
            raise UnsupportedError(
                f"backend {self.executor.name!r} has no born; see the page howto/write-backend of the documentation"
            )
        scattered = self.executor.born(self.problem, self.shots.take(some), models, perturbations)
        return self.apply_weights(self.apply_filter(numpy_of(scattered)), some)

    def transposed(
        self,
        models: Sequence[np.ndarray],
        residual: Callable[["Objective", np.ndarray], np.ndarray],
        indices: Any = None,
    ) -> list[np.ndarray]:
        """Return (w F J)^T times a residual, summed over shots. J is the derivative of the record.

        Parameters
        ----------
        models : list of arrays
            Models in the order of ``equation.parameters``.
        residual : callable
            ``residual(objective, shots)`` returns an array of the shape of the record of these shots. With an elastic
            group it runs on the workers, `objective` is that of one shot, and :meth:`shot_numbers` are those of all.
        indices : (n,) integer array, optional
            Shots, counted from 0; all by default.

        Returns
        -------
        list of float64 arrays
            One for each model, of its shape.

        Raises
        ------
        UnsupportedError
            The backend has no pullback.
        """
        return self._sum(partial(_transposed, residual), models, indices)[1]

    def _pullback(self, some, models):
        if not hasattr(self.executor, "pullback"):
            raise UnsupportedError(
                f"backend {self.executor.name!r} has no pullback, which all misfits but plain least squares need; see "
                "the page howto/write-backend of the documentation"
            )
        return self.executor.pullback(self.problem, self.shots.take(some), models)

    def _indices(self, indices):
        return np.arange(len(self.shots)) if indices is None else np.asarray(indices, np.int64)

    def own_shots(self, indices: np.ndarray) -> np.ndarray:
        """Return those of some shots that this rank models.

        Parameters
        ----------
        indices : (n,) integer array
            Shots, counted from 0.

        Returns
        -------
        (m,) integer array
            The shots of this rank.
        """
        return self._shared.own(indices)

    def read_ahead(self, indices: np.ndarray) -> None:
        """Announce the shots of the step after the next one, whose first batch a store reads in advance.

        Parameters
        ----------
        indices : (n,) integer array
            Shots, counted from 0.
        """
        if isinstance(self.observed, StoredData):
            self.observed.expect_step(self._shared.own_batches(self._indices(indices)))

    @property
    def _shared(self) -> SharedShots:
        return SharedShots(self.group, self.costs, self.batch, self.reduction)

    def _sum(self, pull, models, indices=None, after=None):
        """Return the sums of the misfits and gradients of ``pull(objective, models, shots)``, on every rank."""
        indices, shared = self._indices(indices), self._shared
        if is_elastic(self.group):
            return sum_of_shots(self, pull, models, indices, after)
        if isinstance(self.observed, StoredData):
            self.observed.expect(shared.own_batches(indices))
        return shared.sum(partial(pull, self, models), models, indices, after)


def _transposed(residual, objective, models, some):
    """Return zero and (w F J)^T times a residual of some shots."""
    _, pull = objective._pullback(some, models)
    return 0.0, pull(objective.apply_filter(objective.apply_weights(residual(objective, some), some)))


def make_objective(
    executor: Any, problem: Problem, wavelet: Any, sources: Any, receivers: Any, observed: Any, dtype: Any,
    weights: Any = None, receiver_mask: Any = None, **options: Any,
) -> Objective:  # fmt: skip
    """Return the objective of arrays of any library, for models of a dtype."""
    shots = Shots(*(None if x is None else numpy_of(x) for x in (wavelet, sources, receivers, receiver_mask)))
    observed, weights = observed_of(observed, dtype, shots.mask), None if weights is None else numpy_of(weights)
    for name, array in (("wavelet", shots.wavelet), ("weights", weights)):
        if array is not None and array.dtype.kind not in "fiub":
            raise DtypeError(f"{name} is of {array.dtype}; expected an array of real numbers")
    executor, options["group"] = group_of(executor, options["group"])
    return Objective(
        executor, problem, attrs.evolve(shots, wavelet=shots.wavelet.astype(dtype)),
        observed, weights=weights, **options,
    )  # fmt: skip
