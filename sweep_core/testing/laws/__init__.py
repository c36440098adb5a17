"""The laws of an executor, each on one case: functions that return a figure or raise AssertionError."""

from .figure import ROUNDING as ROUNDING
from .figure import Broken, Figure, within, worst
from .gradients import (
    gradient_equals_finite_difference,
    gradient_in_every_region,
    gradient_in_single_precision,
    half_the_sum_of_squares,
    jacobian_and_adjoint,
    pullback_is_the_gradient,
    regions,
    taylor_remainder,
)
from .inputs import bad_input_is_refused, no_shots
from .memory import known_rows_have_no_gradient, known_rows_scatter_nothing, strategies_agree
from .records import (
    born_equals_reference,
    everything,
    fades,
    forward_equals_reference,
    reciprocity,
    shots_add_up,
    single_precision,
    two_runs_are_identical,
)

__all__ = [
    "Broken",
    "Figure",
    "bad_input_is_refused",
    "born_equals_reference",
    "everything",
    "fades",
    "forward_equals_reference",
    "gradient_equals_finite_difference",
    "gradient_in_every_region",
    "gradient_in_single_precision",
    "half_the_sum_of_squares",
    "jacobian_and_adjoint",
    "known_rows_have_no_gradient",
    "known_rows_scatter_nothing",
    "no_shots",
    "pullback_is_the_gradient",
    "reciprocity",
    "regions",
    "shots_add_up",
    "single_precision",
    "strategies_agree",
    "taylor_remainder",
    "two_runs_are_identical",
    "within",
    "worst",
]
