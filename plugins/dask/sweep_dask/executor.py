"""The backend: another backend's executor on every worker, and each shot of a call as a task."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from sweep_core import Problem, Shots, Support, backend
from sweep_core.distribution import add_results, tree_sum
from sweep_core.errors import PluginError, ShapeError
from sweep_core.plugins import first_backend

from .distributor import DaskDistributor

Shared = tuple[Any, Problem, list[np.ndarray]]
"""The executor, the problem and the models of all tasks of a call."""
Gradient = tuple[float, list[np.ndarray]]
"""A misfit and its derivative in each model."""


@lru_cache
def _executor(name: str, options: tuple[tuple[str, Any], ...]) -> Any:
    return backend(name, **dict(options))


@attrs.frozen
class WorkerExecutor:
    """The executor of a backend, which is made where it is first used, so that the client needs no device of it."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return getattr(_executor(self.name, self.options), attribute)


class DaskExecutor:
    """An executor that models each shot of a call on a worker of a Dask cluster.

    Parameters
    ----------
    backend : str, optional
        The backend of the workers; by default the first installed of torch and jax.
    cluster, workers, timeout
        See :class:`DaskDistributor`.
    **options
        Options of that backend, such as ``impl="c"`` or ``device="cuda"``.

    Attributes
    ----------
    group : DaskDistributor
        The workers, over which an inversion spreads its shots.
    worker : Executor
        The executor of a worker.

    Raises
    ------
    PluginError
        If no backend is installed.
    OptionError, DistributedError
        See :class:`DaskDistributor`.
    """

    name = "dask"

    def __init__(
        self, backend: str | None = None, cluster: Any = None, workers: int | None = None, timeout: float = 60.0,
        **options: Any,
    ) -> None:  # fmt: skip
        self.worker = WorkerExecutor(backend or _default(), tuple(sorted(options.items())))
        self.group: Any = DaskDistributor(cluster, workers, timeout)

    def supports(self, problem: Problem) -> Support:
        """Return the answer of a worker."""
        support = self._fetch("supports", problem)
        size = len(self.group.client.scheduler_info()["workers"])
        return Support(support.ok, f"{size} Dask workers of backend {self.worker.name!r}: {support.reason or 'ready'}")

    def forward(self, problem: Problem, shots: Shots, models: Any) -> np.ndarray:
        """Return the record."""
        return np.concatenate(self.group.fetch(self._tasks(_forward, problem, shots, models)))

    def born(self, problem: Problem, shots: Shots, models: Any, perturbations: Any) -> np.ndarray:
        """Return the Born record."""
        handle = self.group.place([_at_host(x) for x in perturbations])
        return np.concatenate(self.group.fetch(self._tasks(_born, problem, shots, models, lambda _: [handle])))

    def misfit_and_gradient(
        self, problem: Problem, shots: Shots, models: Any, observed: Any
    ) -> tuple[float, list[np.ndarray]]:
        """Return half the sum of squared residuals, and its gradient, added in the order of the shots."""
        data = _at_host(observed)
        tasks = self._tasks(_misfit_and_gradient, problem, shots, models, lambda some: [data[some]])
        return self.group.fetch([tree_sum(self.group, add_results, tasks)])[0]

    def pullback(
        self, problem: Problem, shots: Shots, models: Any
    ) -> tuple[np.ndarray, Callable[[Any], list[np.ndarray]]]:
        """Return the record, and the function that pulls a cotangent back; it models the shots again."""
        record = self.forward(problem, shots, models)
        copies = [np.array(_at_host(model)) for model in models]

        def pull(cotangent: Any) -> list[np.ndarray]:
            weights = _at_host(cotangent)
            if weights.shape != record.shape:
                raise ShapeError(
                    f"the cotangent has shape {weights.shape}; expected that of the record, {record.shape}"
                )
            tasks = self._tasks(_pulled, problem, shots, copies, lambda some: [weights[some]])
            return self.group.fetch([tree_sum(self.group, add_results, tasks)])[0][1]

        return record, pull

    def _fetch(self, method: str, *arguments: Any) -> Any:
        return self.group.fetch([self.group.call(method, _call, self.worker, method, *arguments)])[0]

    def _tasks(
        self, function: Callable[..., Any], problem: Problem, shots: Shots, models: Any,
        own: Callable[[list[int]], list[Any]] = lambda some: [],
    ) -> list[Any]:  # fmt: skip
        """Return a task for each shot, or one for no shots; ``own(shots)`` returns its further arguments."""
        shared = self.group.place((self.worker, problem, _arrays(models)))
        parts = [[shot] for shot in range(len(shots))] or [[]]
        at_host = attrs.evolve(shots, **{name: _at_host(x) for name, x in attrs.asdict(shots, recurse=False).items()
                                         if x is not None})  # fmt: skip
        return [
            self.group.call(f"shot {part[0] if part else 'none'}", function, shared, at_host.take(part), *own(part))
            for part in parts
        ]


def _at_host(x: Any) -> np.ndarray:
    """Return the values of an array of any library, also of a tensor on a GPU."""
    return np.asarray(x.detach().cpu() if hasattr(x, "detach") else x)


def _arrays(models: Any) -> Any:
    """Return models as NumPy arrays; anything else unchanged, for the checks of the worker's backend to refuse."""
    return [_at_host(model) for model in models] if isinstance(models, list | tuple) else models


def _default() -> str:
    """Return the name of the first installed of torch and jax."""
    name = first_backend()
    if name is None:
        raise PluginError("neither torch nor jax is installed; name the backend of the workers by backend=")
    return name


def _call(executor: Any, method: str, *arguments: Any) -> Any:
    return getattr(executor, method)(*arguments)


def _forward(shared: Shared, shots: Shots) -> np.ndarray:
    executor, problem, models = shared
    return _at_host(executor.forward(problem, shots, models))


def _born(shared: Shared, shots: Shots, perturbations: list[np.ndarray]) -> np.ndarray:
    executor, problem, models = shared
    return _at_host(executor.born(problem, shots, models, perturbations))


def _misfit_and_gradient(shared: Shared, shots: Shots, observed: np.ndarray) -> Gradient:
    executor, problem, models = shared
    misfit, slopes = executor.misfit_and_gradient(problem, shots, models, observed)
    return float(misfit), [_at_host(slope) for slope in slopes]


def _pulled(shared: Shared, shots: Shots, cotangent: np.ndarray) -> Gradient:
    executor, problem, models = shared
    return 0.0, [_at_host(slope) for slope in executor.pullback(problem, shots, models)[1](cotangent)]
