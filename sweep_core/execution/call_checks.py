"""One call of a solver: checks of shapes and dtypes for any array library, and of values where they can be read."""

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import attrs
import numpy as np

from .._util.arrays import dtype_name
from .._util.validators import check_whole
from ..acquisition.call_shape import CallShape, wavelet_layout
from ..acquisition.positions import taps
from ..acquisition.receivers import receiver_positions
from ..acquisition.shots import Shots, check_inside, check_mask, check_positions, samples_of
from ..acquisition.snapshots import Snapshots, check_snapshots
from ..acquisition.wavelets import highest_frequency
from ..errors import DomainError, DtypeError, NotFiniteError, ShapeError, StabilityError, UnsupportedError
from ..numerics.time_dispersion import overrun
from ..problem import Problem
from ..typing import Models


def check_problem(problem: Any) -> None:
    """Raise a DtypeError unless `problem` is a Problem."""
    if not isinstance(problem, Problem):
        kind = type(problem).__name__
        raise DtypeError(f"problem is a {kind}; expected a sweep_core.Problem, the result of make_problem(...)")


def check_problem_and_shots(problem: Any, shots: Any) -> None:
    """Raise a DtypeError unless the arguments of an executor are a Problem and Shots."""
    check_problem(problem)
    if not isinstance(shots, Shots):
        kind = type(shots).__name__
        raise DtypeError(f"shots is a {kind}; expected a sweep_core.Shots: Shots(wavelet, sources, receivers)")


def check_call(problem: Problem, shots: Shots, models: Models, snapshots: Snapshots | None = None) -> CallShape:
    """Check shapes and dtypes of a call, without reading values. There may be no shots: see `empty_record`.

    Parameters
    ----------
    problem : Problem
        The problem that is run.
    shots : Shots
        Wavelet and positions, of any array library.
    models : list of (nz, nx) or (nshots, nz, nx) arrays
        Models in the order of ``equation.parameters``.
    snapshots : Snapshots, optional
        Wavefields to return.

    Returns
    -------
    CallShape
        The sizes of the call; with corrected time dispersion, more steps than the wavelet has samples.

    Raises
    ------
    ShapeError, DtypeError, OptionError, UnsupportedError
        For an array or an option that does not fit the problem.
    """
    check_problem_and_shots(problem, shots)
    dtype = check_models(problem, models)
    ndim = problem.grid.ndim
    check_positions("sources", shots.sources, ndim)
    check_positions("receivers", shots.receivers, ndim)
    nshots = int(shots.sources.shape[0])
    nsrc = int(shots.sources.shape[1]) if len(shots.sources.shape) == 3 else 1
    if nsrc < 1:
        raise ShapeError(f"sources have shape {tuple(shots.sources.shape)}; expected at least one source for each shot")
    if len(shots.receivers.shape) == 3 and shots.receivers.shape[0] != nshots:
        raise ShapeError(
            f"receivers have shape {tuple(shots.receivers.shape)} for {nshots} shots; expected "
            f"({nshots}, nrec, {ndim}), or (nrec, {ndim}) for all shots"
        )
    nrec = int(shots.receivers.shape[-2])
    if nrec < 1 and snapshots is None:
        raise ShapeError("there are no receivers and no snapshots, so the run would return nothing; give receivers")
    check_mask(shots.mask, nshots, nrec)
    samples, by_field = wavelet_layout(problem, shots.wavelet, shots.sources)
    if dtype_name(shots.wavelet) != dtype:
        raise DtypeError(f"wavelet is {dtype_name(shots.wavelet)} and the models are {dtype}; give both in one dtype")
    steps = samples + (overrun(samples) if problem.time_dispersion == "corrected" else 0)
    earths = max(model.shape[0] if len(model.shape) > ndim else 1 for model in models)
    if earths not in (1, nshots):
        raise ShapeError(f"models hold {earths} earths for {nshots} shots; expected one for all, or one for each")
    if snapshots is not None:
        snapshots = check_snapshots(problem, snapshots, samples)
    tap = taps(problem, shots.sources), taps(problem, shots.receivers)
    return CallShape(nshots, steps, nsrc, nrec, dtype, earths, *tap, snapshots, samples, by_field)


def check_models(problem: Problem, models: Any) -> str:
    """Check the number, shapes and dtype of models and return the dtype; errors as of :func:`check_call`."""
    parameters = [p.name for p in problem.equation.parameters]
    expected = f"models=[{', '.join(parameters)}]"
    if not isinstance(models, list | tuple):
        raise DtypeError(f"models is a {type(models).__name__}; expected a list or tuple, {expected}")
    if len(models) != len(parameters):
        raise ShapeError(f"models holds {len(models)} arrays; expected {expected} for {problem.equation.name}")
    dtypes = set()
    for name, model in zip(parameters, models, strict=True):
        if not hasattr(model, "shape") or not hasattr(model, "dtype"):
            raise DtypeError(
                f"model {name} is a {type(model).__name__}; expected an array of shape {problem.grid.shape}"
            )
        shape = tuple(model.shape)
        if shape != problem.grid.shape and shape[1:] != problem.grid.shape:
            transposed = "; it looks transposed: depth comes first" if shape == problem.grid.shape[::-1] else ""
            raise ShapeError(f"model {name} has shape {shape}; expected {problem.grid.shape}{transposed}")
        dtypes.add(dtype_name(model))
    if len(dtypes) > 1 or not dtypes <= {"float32", "float64"}:
        raise DtypeError(f"models are {sorted(dtypes)}; expected all float32 or all float64")
    dtype = dtypes.pop()
    problem.memory.check_dtype(dtype)
    return dtype


def check_perturbations(problem: Problem, models, perturbations, wavelet, perturbed) -> None:
    """Check that the directions of a Born run have the shapes and dtypes of the models and of the wavelet."""
    if not isinstance(perturbations, list | tuple) or len(perturbations) != len(models):
        names = ", ".join(p.name for p in problem.equation.parameters)
        raise ShapeError(f"perturbations are {type(perturbations).__name__}; expected one for each of [{names}]")
    pairs = [(f"perturbation {i}", p, m) for i, (p, m) in enumerate(zip(perturbations, models, strict=True))]
    if perturbed is not None:
        pairs.append(("the wavelet's perturbation", perturbed, wavelet))
    for name, array, like in pairs:
        shape = tuple(array.shape) if hasattr(array, "shape") else None
        if shape != tuple(like.shape):
            raise ShapeError(f"{name} has shape {shape}; expected {tuple(like.shape)}")
        if dtype_name(array) != dtype_name(like):
            raise DtypeError(f"{name} is {dtype_name(array)}; expected {dtype_name(like)}")


def check_values(problem: Problem, models: Sequence[np.ndarray], wavelet: np.ndarray) -> None:
    """Check the values of models and wavelet: finite, in bounds, stable.

    Parameters
    ----------
    problem : Problem
        The problem that is run.
    models : list of (nz, nx) or (nshots, nz, nx) NumPy arrays
        Models in the order and the units of ``equation.parameters``; empty ones, of no shots, are not checked.
    wavelet : (..., nt) NumPy array
        The result of :func:`sweep_core.acquisition.shots.samples_of`, time along the last axis.

    Raises
    ------
    DomainError
        For a value that is not finite or out of bounds.
    StabilityError
        If the time step is unstable in these models.
    """
    if not all(model.size for model in models):
        return
    for parameter, model in zip(problem.equation.parameters, models, strict=True):
        if not (parameter.admits(model.min()) and parameter.admits(model.max())):  # NaN is its own extremum
            cell, where = _first_bad(problem, parameter.admits(model))
            unit = "" if parameter.unit == "1" else f" {parameter.unit}"
            bound = "from" if parameter.closed else "above"
            raise DomainError(
                f"{parameter.name} is {model[cell]}{unit} at {where}; expected finite values {bound} {parameter.low:g}"
            )
    if not np.all(good := problem.equation.fits(*models)):
        cell, where = _first_bad(problem, good)
        values = ", ".join(
            f"{p.name} = {np.broadcast_to(m, good.shape)[cell]:g}"
            for p, m in zip(problem.equation.parameters, models, strict=True)
        )
        raise DomainError(f"{values} at {where}; expected {problem.equation.rule}")
    if not problem.is_stable(*models):
        # The message has six digits, rounded down so that the stated dt is stable.
        stable, dh = problem.largest_dt(*models) * (1 - 5e-6), ", ".join(f"{h:g}" for h in problem.grid.spacing)
        raise StabilityError(
            f"dt = {problem.dt:g} s is unstable in these models at dh = ({dh}) m and spatial_order "
            f"{problem.equation.spatial_order}; the largest stable dt is {stable:.6g} s"
        )
    if wavelet.size and not (isfinite(wavelet.min()) and isfinite(wavelet.max())):
        raise DomainError("the wavelet holds NaN or infinite values; expected finite samples")
    check_interval(problem, wavelet)


def check_interval(problem: Problem, wavelet: np.ndarray) -> None:
    """Raise a DomainError if `interval` is too long for images of the waves of a wavelet (..., nt)."""
    interval = problem.memory.interval
    if interval == 1 or not wavelet.size:
        return
    highest = highest_frequency(wavelet, problem.dt)
    longest = max(int(1 / (2 * highest * problem.dt)), 1) if highest else interval
    if interval > longest:
        raise DomainError(
            f"MemoryOptions: interval is {interval}; expected at most {longest}, for waves of up to {highest:.3g} Hz "
            f"as in this wavelet, and dt = {problem.dt:g} s"
        )


def _first_bad(problem, good):
    """Return (index, words) of the first cell that is not good."""
    cell = tuple(int(i) for i in np.argwhere(~good)[0])
    axes = ("shot", *problem.grid.axes)[-len(cell) :]
    return cell, ", ".join(f"{axis} = {i}" for axis, i in zip(axes, cell, strict=True))


def check_survey(problem: Problem, shots: Shots) -> None:
    """Check the values of positions: all inside the model.

    Parameters
    ----------
    problem : Problem
        The problem that is run.
    shots : Shots
        Sources and receivers as NumPy arrays, in grid cells.

    Raises
    ------
    DomainError
        For the first position that lies outside, or on a free surface where its field is zero.
    """
    sources = np.asarray(shots.sources)
    check_inside("sources", sources if sources.ndim == 3 else sources[:, None], problem, problem.source_type)
    receivers = receiver_positions(np, problem, attrs.evolve(shots, receivers=np.asarray(shots.receivers)))
    check_inside("receivers", receivers, problem, problem.recorded)


def check_arrays(
    problem: Problem, shots: Shots, models: Sequence[np.ndarray], perturbations: Sequence[np.ndarray] | None = None
) -> CallShape:
    """Check a call on NumPy arrays, values included.

    Parameters
    ----------
    problem : Problem
        The problem that is run.
    shots : Shots
        Wavelet and positions, NumPy arrays.
    models : list of (nz, nx) or (nshots, nz, nx) arrays
        Models in the order of ``equation.parameters``.
    perturbations : list of arrays, optional
        Directions of a Born run, of the shapes of the models.

    Returns
    -------
    CallShape
        The sizes of the call.

    Raises
    ------
    SweepError
        As :func:`check_call`, :func:`check_survey`, :func:`check_values` and :func:`check_perturbations` do.
    """
    shape = check_call(problem, shots, models)
    check_survey(problem, shots)
    check_values(problem, models, samples_of(shots.wavelet, shape.by_field))
    if perturbations is not None:
        check_perturbations(problem, models, perturbations, shots.wavelet, None)
    return shape


def _unread() -> None:
    """Return no record: reading it is impossible."""


def check_record(problem: Problem, record: np.ndarray | None, read: Callable[[], Any] = _unread) -> None:
    """Check that a record (nshots, nt, nrec, nfield) is finite, unless the problem has ``check_finite=False``.

    Parameters
    ----------
    problem : Problem
        The problem that was run.
    record : NumPy array, optional
        None where reading it would cost something.
    read : callable
        Returns the record at any cost, for ``check_finite=True``, or None where that is impossible.

    Raises
    ------
    NotFiniteError
        For a record that is not finite.
    UnsupportedError
        If ``check_finite`` is True and nobody can read the record.
    """
    if problem.check_finite and record is None and (record := read()) is None:
        raise UnsupportedError(
            "check_finite is True, but no record can be read inside jit, vmap or another transform; expected None or "
            "False there: check the result of the transformed function"
        )
    if record is None or problem.check_finite is False:
        return
    if first := first_not_finite(problem, record):
        raise NotFiniteError(
            f"{first}; expected finite numbers: {OUTGROWN}. check_finite=False returns the record as it is"
        )


OUTGROWN = "scale the wavelet down if the waves exceed their dtype at the source, or reduce dt if they grow with time"
"""Advice where a record is not finite."""


def first_not_finite(problem: Problem, record: np.ndarray) -> str:
    """Describe the earliest sample of a record that is not finite; return an empty text if all samples are finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        if isfinite(record.sum()) or np.isfinite(record).all():
            return ""
    bad = np.argwhere(~np.isfinite(record))
    shot, step, receiver, column = (int(i) for i in bad[bad[:, 1].argmin()])
    field, value = problem.receiver_type[column], record[shot, step, receiver, column]
    return f"{field} of the record is {value} at time step {step} (shot {shot}, receiver {receiver}; {record.dtype})"


def check_forward_batchsize(value) -> int:
    """Check a number of shots from 1 on."""
    return check_whole(value, "forward_batchsize", 1, "shots")
