"""Step lengths that grow with the number of shots of a step."""

import attrs

from .._util.validators import check_whole


@attrs.frozen
class LinearScaling:
    """Learning rate proportional to the shots of a step, reached over some steps (Goyal et al. 2017, arXiv:1706.02677).

    A learning rate that suits steps of `reference` shots is multiplied by k = shots / reference. From the first step on
    it grows linearly from one time (or k times, if k < 1) to k times at step `warmup`.

    The rule assumes that the k gradients of smaller steps are almost the same, so that one step k times as long leads
    as far. It also assumes that noise limits the step, and not the curvature of the misfit. The first steps violate the
    first assumption, hence the warm-up. Steps that draw a large part of the survey violate the second one. Adam divides
    by the size of the gradient, for which some authors use the square root of k.

    Parameters
    ----------
    reference : int
        Shots of a step for which the learning rate is meant.
    warmup : int
        Number of steps over which the learning rate grows; 0 begins with k times.

    Raises
    ------
    OptionError
        A number is not whole, or too small.

    Examples
    --------
    >>> from sweep_core.inversion import LinearScaling
    >>> scaling = LinearScaling(reference=4, warmup=3)
    >>> [round(scaling.factor(step, shots=16), 2) for step in (1, 2, 3, 4)]
    [2.0, 3.0, 4.0, 4.0]
    """

    reference: int
    warmup: int = 0

    def __attrs_post_init__(self) -> None:
        check_whole(self.reference, "LinearScaling: reference", 1, "shots of a step")
        check_whole(self.warmup, "LinearScaling: warmup", 0, "steps")

    def factor(self, step: int, shots: int) -> float:
        """Return the factor of the learning rate.

        Parameters
        ----------
        step : int
            Number of the step in its stage, from 1 on.
        shots : int
            Shots of a step.

        Returns
        -------
        float
            The factor.
        """
        k = shots / self.reference
        begin = min(1.0, k)
        return k if step >= self.warmup else begin + (k - begin) * step / self.warmup
