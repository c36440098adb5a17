"""Checks of the stages of an inversion, before the first one runs."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import attrs

from .._util.arrays import evenly_spaced
from .._util.validators import is_whole
from ..errors import OptionError, SweepError
from .bad_shots import check_skippable
from .encoding import check_encodable
from .lbfgs import LBFGS
from .objective import Objective
from .observed_data import check_used
from .regularisers import check_regularisers
from .stage import Stage
from .stage_runner import stage_objective
from .stepwise import Stepwise


def list_stages(stages: Any) -> list[Stage]:
    """Return the stages as a list of one or more."""
    stage_list: list[Any] = list(stages) if isinstance(stages, list | tuple) else [stages]
    if not stage_list or not all(isinstance(stage, Stage) for stage in stage_list):
        raise OptionError(f"stages are {stage_list!r}; expected one or more Stage(iterations)")
    return stage_list


def with_defaults(stage: Stage, optimiser: Any, regularise: Any) -> Stage:
    """Return a stage with the optimiser and the regularisers of the inversion where it has none of its own."""
    return attrs.evolve(
        stage, optimiser=stage.optimiser or optimiser or LBFGS(),
        regularise=regularise if stage.regularise is None else stage.regularise,
    )  # fmt: skip


def check_features(stages: Sequence[Stage], data: Objective, skip_bad_shots: bool) -> None:
    """Check that stages can leave out shots if they must, and can encode the shots if they are to."""
    for stage in stages:
        if skip_bad_shots:
            check_skippable(stage)
        if stage.encoded:
            weights = data.weights if stage.weights is None else stage.weights
            check_encodable(data.shots, stage.misfit or data.misfit, weights)


def check_stages(stages: Sequence[Stage], data: Objective) -> None:
    """Check all stages before the first one runs. Errors name the number of the stage."""
    for number, stage in enumerate(stages, start=1):
        shots = evenly_spaced(len(data.shots), stage.shots)
        try:
            _check_optimiser(stage.optimiser, len(shots))
            check_regularisers(stage.regularise)
            check_used(stage_objective(data, stage).observed, shots)
        except SweepError as error:
            raise type(error)(f"stage {number}: {error}") from error


def _check_optimiser(optimiser: Any, nshots: int) -> None:
    """Check that an optimiser can minimise, and that a stage has the shots by which it scales its steps."""
    if isinstance(optimiser, type) or not hasattr(optimiser, "minimise"):
        raise OptionError(
            f"optimiser is {optimiser!r}; expected LBFGS(), sweep_torch.Torch(torch.optim.Adam, lr=0.5) or "
            "sweep_jax.Optax(optax.adam(0.5))"
        )
    if getattr(optimiser, "scaling", None) and optimiser.shots > nshots:
        raise OptionError(
            f"shots is {optimiser.shots} in {optimiser!r}, but the stage has {nshots}; expected at most these, because "
            "scaling counts the shots of a step"
        )


def check_interval(every: Any, stages: Sequence[Stage], folder: Any) -> None:
    """Check the steps or the time between checkpoints. Only a folder and an optimiser that draws shots need them."""
    if not isinstance(every, timedelta) and not is_whole(every, 1):
        raise OptionError(
            f"checkpoint_every is {every!r}; expected a whole number of steps from 1 on, or a timedelta, such as "
            "datetime.timedelta(minutes=10)"
        )
    if every != 1 and not (folder and any(isinstance(stage.optimiser, Stepwise) for stage in stages)):
        raise OptionError(
            f"checkpoint_every is {every!r}, but {'no stage draws shots' if folder else 'the run has no folder'}; "
            "leave it out"
        )
