"""All checks of one call, in the order in which they are told."""

from typing import Any

import attrs
import numpy as np

from ..acquisition.shots import Shots
from ..errors import DtypeError, OptionError, SweepError, UnsupportedError
from ..execution.answers import forward
from ..problem import Problem
from ..typing import Models, Record
from . import amplitudes, data, values
from .absorption import absorption
from .certificate import Certificate, Finding
from .excerpt import cut_out, read, some_shots, survey_part, whole_call
from .operators import operators

BUDGET = 3e8
"""Cell updates of a forward run that compiled code makes in a second or two."""


def certify(
    executor: Any,
    problem: Problem,
    shots: Shots,
    models: Models,
    observed: Record | None = None,
    budget: float = BUDGET,
    seed: int = 0,
) -> Certificate:
    """Look for silent errors in a call of any executor, as ``solver.certify`` does for a call of a solver.

    Parameters
    ----------
    executor : Executor
        The backend.
    problem : Problem
        The problem that is run.
    shots : Shots
        Wavelet, sources and receivers of the call.
    models : list of (nz, nx) or (nshots, nz, nx) arrays
        Models in the order and the units of ``equation.parameters``.
    observed : (nshots, nt, nrec, nfield) array, optional
        Observed data of all shots.
    budget : float
        Cells times steps of a forward run.
    seed : int
        Seed of random perturbations and residuals.

    Returns
    -------
    Certificate
        True if nothing is wrong; ``print`` shows a table.

    Raises
    ------
    SweepError
        As a call; an OptionError for another `budget` or `seed`.
    """
    if isinstance(budget, bool) or not isinstance(budget, int | float) or not budget > 0:
        raise OptionError(f"budget is {budget!r}; expected a positive number of cell updates")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise OptionError(f"seed is {seed!r}; expected a whole number from 0 on")
    problem = attrs.evolve(problem, check_finite=False)  # a finding names what is not finite
    call, rng = whole_call(problem, shots, models), np.random.default_rng(seed)
    taken, untested = [f"models, wavelets and positions of {len(call.shots)} shots"], []
    found = [
        *values.units(call), *values.axes(call), *values.positions(call), *values.wavelet(call), *values.sampling(call),
        *values.guided_waves(call),
    ]  # fmt: skip
    try:
        found.append(absorption(executor, call))
    except UnsupportedError as reason:
        untested.append(("absorption", str(reason)))
    survey, small = survey_part(call, budget), cut_out(call)
    taken += [survey.words, small.words]
    record = forward(executor, survey)
    found += amplitudes.heard(survey, record)
    seen = None
    if observed is not None:
        values_observed: np.ndarray = read("observed", observed)
        if values_observed.dtype.kind not in "fiu":
            raise DtypeError(f"observed are of dtype {values_observed.dtype}; expected real numbers")
        full = (len(call.shots), call.shape.samples, len(call.kept), len(problem.receiver_type))
        found.append(data.shape(full, values_observed))
        if found[-1].verdict == "good":
            seen = values_observed[list(survey.indices)][:, :, survey.kept]
            beside, reasons = data.compared(survey, record, seen)
            found += beside
            untested += reasons
    checked, reasons = operators(executor, small, rng)
    found += checked
    untested += reasons
    found += _gradient(executor, survey, record, seen, untested)
    equation, cells = problem.equation, " x ".join(map(str, problem.grid.shape))
    title = f"{type(equation).__name__} of order {equation.spatial_order}, {cells} cells, {executor.name} backend"
    return Certificate(title, tuple(found), tuple(taken), tuple(untested))


def _gradient(executor: Any, survey: Any, record: Any, seen: Any, untested: Any) -> list[Finding]:
    """The amplitude of a gradient of one shot, if there are any."""

    def without(reason: str) -> list[Finding]:
        untested.extend((name, reason) for name in ("range of the gradient", "Adam's epsilon"))
        return []

    if not hasattr(executor, "misfit_and_gradient"):
        return without(f"the backend {executor.name!r} computes no gradient")
    first = attrs.evolve(some_shots(survey, [0]), indices=survey.indices[:1])
    try:
        found = amplitudes.gradient(executor, first, record[:1], None if seen is None else seen[:1])
    except SweepError as reason:
        return without(str(reason))
    return found or without("the residual is zero, or not finite")
