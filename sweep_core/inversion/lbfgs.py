"""L-BFGS with bounds, by SciPy."""

from typing import ClassVar

import attrs
import numpy as np

from .._util import validators
from .stepwise import After, Function, Limits


@attrs.frozen
class LBFGS:
    """The L-BFGS-B optimiser (Byrd, Lu, Nocedal and Zhu 1995), which needs no step length.

    Parameters
    ----------
    memory : int
        Number of pairs of steps and gradient changes that approximate the Hessian.
    trials : int
        The largest number of models that a line search tries.

    Raises
    ------
    OptionError
        A number is not a whole number from 1 on.
    """

    memory: int = attrs.field(default=8, validator=validators.positive)
    trials: int = attrs.field(default=8, validator=validators.positive)
    shots: ClassVar[None] = None  # every step uses all shots

    def minimise(self, function: Function, limits: Limits, iterations: int, after: After) -> np.ndarray:
        """Minimise a function from zero.

        Parameters
        ----------
        function : callable
            ``function(x)`` returns the value and its gradient.
        limits : (low, high)
            Bounds of x.
        iterations : int
            Number of iterations.
        after : callable
            ``after(x)`` is called after each iteration; True ends the minimisation.

        Returns
        -------
        (n,) array
            The last x.
        """
        from scipy.optimize import Bounds, minimize

        def callback(intermediate_result):
            if after(intermediate_result.x):
                raise StopIteration

        result = minimize(
            function, np.zeros(len(limits[0])), jac=True, method="L-BFGS-B", bounds=Bounds(*limits), callback=callback,
            options={"maxcor": self.memory, "maxls": self.trials, "maxiter": iterations, "ftol": 0, "gtol": 0,
                     "maxfun": iterations * self.trials},
        )  # fmt: skip
        return result.x
