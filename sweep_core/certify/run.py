"""All checks of a call, in the order of the certificate."""

from typing import Any

import attrs
import numpy as np

from .._util.validators import check_whole
from ..acquisition.shots import Shots
from ..errors import DtypeError, OptionError, SweepError, UnsupportedError
from ..execution.answers import forward
from ..problem import Problem
from ..typing import Models, Record
from . import amplitudes, data, values
from .absorption import absorption
from .certificate import Certificate, Finding
from .excerpt import cut_out, read, some_shots, survey_excerpt, whole_call
from .operators import operators

BUDGET = 3e8
"""Cell updates of a forward run that compiled code computes in one or two seconds."""


def certify(
    executor: Any,
    problem: Problem,
    shots: Shots,
    models: Models,
    observed: Record | None = None,
    budget: float = BUDGET,
    seed: int = 0,
) -> Certificate:
    """Check a call of any executor for silent errors, as ``solver.certify`` does for a call of a solver.

    Parameters
    ----------
    executor : Executor
        The backend.
    problem : Problem
        The problem of the call.
    shots : Shots
        Wavelet, sources and receivers of the call.
    models : list of (nz, nx) or (nshots, nz, nx) arrays
        Models in the order and the units of ``equation.parameters``.
    observed : (nshots, nt, nrec, nfield) array, optional
        Observed data of all shots.
    budget : float
        The largest cost of a forward run, in cells times steps. A larger call is checked on a part of its model.
    seed : int
        Seed of random perturbations and residuals.

    Returns
    -------
    Certificate
        True if nothing is wrong; ``print`` shows a table.

    Raises
    ------
    SweepError
        The errors of a call. An OptionError if `budget` or `seed` has a wrong value.
    """
    if isinstance(budget, bool) or not isinstance(budget, int | float) or not budget > 0:
        raise OptionError(f"budget is {budget!r}; expected a positive number of cell updates")
    check_whole(seed, "seed", 0)
    problem = attrs.evolve(problem, check_finite=False)  # a finding names what is not finite
    call, rng = whole_call(problem, shots, models), np.random.default_rng(seed)
    excerpts, untested = [f"models, wavelets and positions of {len(call.shots)} shots"], []
    findings = [
        *values.units(call), *values.axes(call), *values.positions(call), *values.wavelet(call), *values.sampling(call),
        *values.guided_waves(call),
    ]  # fmt: skip
    try:
        findings.append(absorption(executor, call))
    except UnsupportedError as reason:
        untested.append(("absorption", str(reason)))
    survey, small = survey_excerpt(call, budget), cut_out(call)
    excerpts += [survey.words, small.words]
    record = forward(executor, survey)
    findings += amplitudes.silent_receivers(survey, record)
    survey_data = None
    if observed is not None:
        observed_array: np.ndarray = read("observed", observed)
        if observed_array.dtype.kind not in "fiu":
            raise DtypeError(f"observed are of dtype {observed_array.dtype}; expected real numbers")
        full = (len(call.shots), call.shape.samples, len(call.receivers), len(problem.receiver_type))
        findings.append(data.shape(full, observed_array))
        if findings[-1].verdict == "good":
            survey_data = observed_array[list(survey.indices)][:, :, survey.receivers]
            comparison, reasons = data.compare(survey, record, survey_data)
            findings += comparison
            untested += reasons
    checks, reasons = operators(executor, small, rng)
    findings += checks
    untested += reasons
    findings += _gradient(executor, survey, record, survey_data, untested)
    equation, cells = problem.equation, " x ".join(map(str, problem.grid.shape))
    title = f"{type(equation).__name__} of order {equation.spatial_order}, {cells} cells, {executor.name} backend"
    return Certificate(title, tuple(findings), tuple(excerpts), tuple(untested))


def _gradient(executor: Any, survey: Any, record: Any, observed: Any, untested: Any) -> list[Finding]:
    """Check the amplitude of the gradient of one shot, if the backend computes gradients."""

    def without(reason: str) -> list[Finding]:
        untested.extend((name, reason) for name in ("range of the gradient", "Adam's epsilon"))
        return []

    if not hasattr(executor, "misfit_and_gradient"):
        return without(f"the backend {executor.name!r} computes no gradient")
    first = attrs.evolve(some_shots(survey, [0]), indices=survey.indices[:1])
    try:
        findings = amplitudes.gradient(executor, first, record[:1], None if observed is None else observed[:1])
    except SweepError as reason:
        return without(str(reason))
    return findings or without("the residual is zero, or not finite")
