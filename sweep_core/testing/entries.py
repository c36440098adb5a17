"""What runs a case: the backends of this environment, each in every way that it knows."""

from collections.abc import Callable
from typing import Any
from unittest import SkipTest

import attrs
import numpy as np

from ..errors import SweepError, UnsupportedError
from ..execution import answers
from ..plugins import backend, backends
from .cases import Case

__all__ = ["Entry", "entries", "runs"]


@attrs.frozen
class Entry:
    """One executor: its name, and what makes it. `rounding` is how far answers of its memory strategies may differ."""

    name: str
    make: Callable[[], Any]
    rounding: float = 0.0

    def executor_for(self, problem):
        """The executor; SkipTest where it does not support the problem, with its reason."""
        try:
            executor = self.make()
        except (SweepError, ImportError) as reason:
            self.absent(str(reason))
        support = executor.supports(problem)
        if not support:
            self.absent(getattr(support, "reason", "supports(problem) is false, and says no more"))
        return executor

    def absent(self, reason: str):
        """Called where a problem cannot be run."""
        raise SkipTest(f"{self.name}: {reason}")

    def having(self, problem, name: str):
        """The executor; SkipTest where it has no method of that name, as a protocol allows."""
        executor = self.executor_for(problem)
        if not hasattr(executor, name):
            self.absent(f"it has no {name}")
        return executor

    def forward(self, made: Case) -> np.ndarray:
        return answers.forward(self.executor_for(made.problem), made)

    def misfit_and_gradient(self, made: Case, observed):
        return answers.misfit_and_gradient(self.having(made.problem, "misfit_and_gradient"), made, observed)

    def born(self, made: Case) -> np.ndarray:
        return answers.born(self.having(made.problem, "born"), made, made.direction())

    def jacobian_transposed(self, made: Case, cotangent) -> list:
        """The gradient whose residual is `cotangent`, in the dtype of the case."""
        cotangent = cotangent.astype(made.models[0].dtype)
        return self.misfit_and_gradient(made, self.forward(made) - cotangent)[1]

    @property
    def differentiates(self) -> bool:
        """Whether it has gradients: the reference refuses them."""
        return self.name != "reference" and hasattr(self.make(), "misfit_and_gradient")


def entries(*names: str) -> list[Entry]:
    """The backends that can be used here, each with every implementation that it offers; or those named, such as
    ``"torch"`` or ``"torch-c"``.

    Raises
    ------
    PluginError
        For a name that is not a backend, or one that cannot be used.
    """
    found = {}
    for status in backends():
        if status.available and status.record:
            ways = status.record.impls or ("",)
            found[status.name] = [_entry(status.name, impl) for impl in ways]
            found |= {entry.name: [entry] for entry in found[status.name]}
    if not names:
        return list({entry.name: entry for several in found.values() for entry in several}.values())
    for name in names:
        if name not in found:
            backend(name)  # which says what is wrong with it
    return [entry for name in names for entry in found[name]]


def _entry(name, impl) -> Entry:
    """A framework may order the operations of an eager step as it likes, by how many steps it sees."""
    title, options = (f"{name}-{impl}", {"impl": impl}) if impl else (name, {})
    return Entry(title, lambda: backend(name, **options), 1e-12 if impl == "eager" else 0.0)


def runs(made: Case):
    """The case; SkipTest where its equation does not support such a problem."""
    try:
        made.problem  # noqa: B018
    except UnsupportedError as reason:
        raise SkipTest(str(reason)) from None
    return made
