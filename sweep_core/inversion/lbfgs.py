"""L-BFGS within bounds, by SciPy."""

from typing import ClassVar

import attrs
import numpy as np

from .._util import validators
from .stepwise import After, Function, Limits


@attrs.frozen
class LBFGS:
    """L-BFGS-B (Byrd, Lu, Nocedal and Zhu 1995), which needs no step length.

    Parameters
    ----------
    memory : int
        Pairs of steps and changes of the gradient that stand for the Hessian.
    trials : int
        Models that a line search tries at most.
    """

    memory: int = attrs.field(default=8, validator=validators.positive)
    trials: int = attrs.field(default=8, validator=validators.positive)
    shots: ClassVar[None] = None  # all in every step

    def minimise(self, function: Function, limits: Limits, iterations: int, after: After) -> np.ndarray:
        """The vector it comes to from zero; ``after(x)`` is asked after each iteration whether to end there."""
        from scipy.optimize import Bounds, minimize

        def called(intermediate_result):
            if after(intermediate_result.x):
                raise StopIteration

        found = minimize(
            function, np.zeros(len(limits[0])), jac=True, method="L-BFGS-B", bounds=Bounds(*limits), callback=called,
            options={"maxcor": self.memory, "maxls": self.trials, "maxiter": iterations, "ftol": 0, "gtol": 0,
                     "maxfun": iterations * self.trials},
        )  # fmt: skip
        return found.x
