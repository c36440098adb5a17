"""Checks of the arguments of an objective."""

from typing import Any

import numpy as np

from .._util.validators import check_choice, check_whole
from ..acquisition.call_shape import wavelet_layout
from ..acquisition.shots import check_mask, check_positions
from ..distribution import ShotPlan
from ..errors import DomainError, OptionError, ShapeError


def check_objective(objective: Any) -> None:
    """Check that the arguments of an :class:`Objective` fit each other, except for the values of its observed data."""
    problem, shots, group = objective.problem, objective.shots, objective.group
    if not hasattr(group, "all_reduce"):
        raise OptionError(f"group is {group!r}; expected a Distributor, such as SerialDistributor()")
    for name in ("sources", "receivers"):
        check_positions(name, getattr(shots, name), problem.grid.ndim)
    nt = wavelet_layout(problem, shots.wavelet, shots.sources)[0]
    expected = len(shots), nt, int(shots.receivers.shape[-2]), len(problem.receiver_type)
    shape = np.shape(objective.observed)
    if shape != expected:
        raise ShapeError(f"observed has shape {shape}; expected {expected}")
    if objective.weights is not None:
        _check_weights(objective.weights, shape)
    if shots.mask is not None:
        check_mask(shots.mask, len(shots), expected[2])
    if not callable(objective.misfit):
        raise OptionError(f"misfit is {objective.misfit!r}; expected a function, such as sweep_core.misfit.envelope")
    check_whole(objective.batch, "batch", 1, "shots")
    check_choice(objective.reduction, "reduction", ("fast", "ordered"))
    ShotPlan(len(shots), group.size, objective.costs)  # checks the costs


def _check_weights(weights: Any, shape: tuple[int, ...]) -> None:
    """Check weights of a record of a shape: one set for each shot, finite, and not zero throughout."""
    factors = np.shape(weights)
    fits = len(factors) == 4 and all(n in (1, m) for n, m in zip(factors, shape, strict=True))
    if not fits or factors[0] != shape[0]:
        raise ShapeError(
            f"weights have shape {factors}; expected ({shape[0]}, nt, nrec, nfield), or 1 along other axes"
        )
    if not np.isfinite(weights).all():
        raise DomainError("weights hold NaN or infinite values; set them to zero where data do not count")
    if not np.any(weights):
        raise DomainError("weights are zero throughout, so no sample counts; set them to one where data count")
