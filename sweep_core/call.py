"""One call of a solver: checks of shapes and dtypes for any array library, and of values where they can be read."""

from numbers import Integral

import attrs
import numpy as np

from .errors import DomainError, DtypeError, OptionError, ShapeError, StabilityError, UnsupportedError
from .problem import Problem
from .stencil import largest_dt
from .survey import Shots, check_inside, check_positions


@attrs.frozen
class CallShape:
    """The numbers of one call; hashable, so that compiled code may be cached by them."""

    shots: int
    steps: int
    sources: int
    receivers: int
    dtype: str

    def record(self, problem: Problem) -> tuple[int, int, int, int]:
        """Shape of the record: (nshots, nt, nrec, nfield)."""
        return (self.shots, self.steps, self.receivers, len(problem.receiver_type))


def dtype_name(array) -> str:
    """``'float32'`` for an array of NumPy, torch or JAX."""
    return str(array.dtype).rsplit(".", 1)[-1]


def check_call(problem: Problem, shots: Shots, models) -> CallShape:
    """Checks whatever can be checked without reading values.

    Raises
    ------
    ShapeError, DtypeError, OptionError, UnsupportedError
    """
    dtype = check_models(problem, models)
    ndim = problem.grid.ndim
    check_positions("sources", shots.sources, ndim)
    check_positions("receivers", shots.receivers, ndim)
    nshots = int(shots.sources.shape[0])
    nsrc = int(shots.sources.shape[1]) if len(shots.sources.shape) == 3 else 1
    if nshots < 1 or nsrc < 1:
        raise ShapeError(f"sources have shape {tuple(shots.sources.shape)}; expected at least one shot and one source")
    if len(shots.receivers.shape) == 3 and shots.receivers.shape[0] != nshots:
        raise ShapeError(
            f"receivers are given for {shots.receivers.shape[0]} shots and sources for {nshots}; expected "
            f"({nshots}, nrec, {ndim}), or (nrec, {ndim}) for all shots"
        )
    nrec = int(shots.receivers.shape[-2])
    if nrec < 1:
        raise ShapeError("there are no receivers and no snapshots, so the run would return nothing; give receivers")
    steps = _check_wavelet(shots.wavelet, nshots, nsrc, dtype)
    return CallShape(nshots, steps, nsrc, nrec, dtype)


def check_models(problem: Problem, models) -> str:
    """The dtype of models of the right number, shape and dtype; raises as :func:`check_call` does."""
    parameters = [p.name for p in problem.equation.parameters]
    expected = f"models=[{', '.join(parameters)}]"
    if not isinstance(models, list | tuple):
        raise DtypeError(f"models is a {type(models).__name__}; expected a list or tuple, {expected}")
    if len(models) != len(parameters):
        raise ShapeError(f"models holds {len(models)} arrays; {problem.equation.name} needs {expected}")
    dtypes = set()
    for name, model in zip(parameters, models, strict=True):
        if not hasattr(model, "shape") or not hasattr(model, "dtype"):
            raise DtypeError(
                f"model {name} is a {type(model).__name__}; expected an array of shape {problem.grid.shape}"
            )
        shape = tuple(model.shape)
        if len(shape) == problem.grid.ndim + 1 and shape[1:] == problem.grid.shape:
            raise UnsupportedError(
                f"model {name} has shape {shape}: one earth per shot is not supported yet; give {problem.grid.shape}"
            )
        if shape != problem.grid.shape:
            transposed = "; it looks transposed: depth comes first" if shape == problem.grid.shape[::-1] else ""
            raise ShapeError(f"model {name} has shape {shape}; the problem has {problem.grid.shape}{transposed}")
        dtypes.add(dtype_name(model))
    if len(dtypes) > 1 or not dtypes <= {"float32", "float64"}:
        raise DtypeError(f"models are {sorted(dtypes)}; expected all float32 or all float64")
    dtype = dtypes.pop()
    stored = problem.memory.dtype
    if stored is not None and stored != dtype:
        raise UnsupportedError(f"history in {stored} for models in {dtype} is not supported yet; leave dtype=None")
    return dtype


def _check_wavelet(wavelet, nshots, nsrc, dtype) -> int:
    if not hasattr(wavelet, "shape") or not hasattr(wavelet, "dtype"):
        raise DtypeError(f"wavelet is a {type(wavelet).__name__}; expected an array of shape (nt,)")
    shape = tuple(int(n) for n in wavelet.shape)
    full = (nshots, nsrc)
    if len(shape) not in (1, 2, 3) or shape[-1] < 1 or shape[:-1] != full[: len(shape) - 1]:
        raise ShapeError(
            f"wavelet has shape {shape} for {nshots} shots of {nsrc} sources; expected (nt,), ({nshots}, nt) or "
            f"({nshots}, {nsrc}, nt)"
        )
    if dtype_name(wavelet) != dtype:
        raise DtypeError(f"wavelet is {dtype_name(wavelet)} and the models are {dtype}; give both in one dtype")
    return shape[-1]


def check_values(problem: Problem, models, wavelet) -> None:
    """Checks NumPy values of models and wavelet: finite, in bounds, stable.

    Raises
    ------
    DomainError, StabilityError
    """
    for parameter, model in zip(problem.equation.parameters, models, strict=True):
        good = (model > parameter.low) & (model < parameter.high)
        if not good.all():
            cell = tuple(int(i) for i in np.argwhere(~good)[0])
            where = ", ".join(f"{axis} = {i}" for axis, i in zip(problem.grid.axes, cell, strict=True))
            unit = "" if parameter.unit == "1" else f" {parameter.unit}"
            raise DomainError(
                f"{parameter.name} is {model[cell]}{unit} at {where}; expected finite values above {parameter.low:g}"
            )
    speed = float(np.max(problem.equation.speed(*models)))
    if speed > problem.largest_speed:
        # Six digits are stated: rounded down, so that what is stated is stable.
        stable = largest_dt(problem.equation.spatial_order, problem.grid.spacing, speed) * (1 - 5e-6)
        raise StabilityError(
            f"dt = {problem.dt:g} s is unstable for a speed of {speed:g} m/s at dh = {problem.grid.spacing} m and "
            f"spatial_order {problem.equation.spatial_order}; the largest stable dt is {stable:.6g} s"
        )
    if not np.isfinite(wavelet).all():
        raise DomainError("the wavelet holds NaN or infinite values; expected finite samples")


def check_survey(problem: Problem, shots: Shots) -> None:
    """Checks NumPy values of positions: all inside the model.

    Raises
    ------
    DomainError
    """
    for name, positions in (("sources", shots.sources), ("receivers", shots.receivers)):
        array = np.asarray(positions)
        if array.ndim == 2:
            array = array[:, None] if name == "sources" else array[None]
        check_inside(name, array, problem.grid.shape)


def check_forward_batchsize(value) -> int:
    """A number of shots from 1 on."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise OptionError(f"forward_batchsize is {value!r}; expected a number of shots from 1 on")
    return int(value)
