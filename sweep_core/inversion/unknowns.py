"""The unknowns of an inversion, as one vector."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from .._util.arrays import numpy_of
from .._util.validators import check_positive
from ..errors import DomainError, OptionError, ShapeError
from ..execution.call_checks import check_models
from ..problem import Problem
from .mirror import Mirror

Bounds = Mapping[str, tuple[Any, Any]]


def _arrays(value):
    return tuple(np.asarray(part) for part in value)


@attrs.frozen(eq=False)
class Unknowns:
    """Parameters within bounds, in the cells that are not fixed: m = start + scale x, with the vector x.

    Parameters
    ----------
    start, low, high : sequence of array
        Start and bounds of each parameter, in the order of the equation.
    free : sequence of bool array
        The cells that may change.
    scale : sequence of array
        Size of one unit of x in each cell.
    fits : callable
        ``fits(*models)`` returns the mask of the cells whose parameters are admissible together.
    centre : sequence of array
        Admissible parameters; other cells are mirrored towards them. See :class:`Mirror`.
    """

    start: tuple[np.ndarray, ...] = attrs.field(converter=_arrays)
    low: tuple[np.ndarray, ...] = attrs.field(converter=_arrays)
    high: tuple[np.ndarray, ...] = attrs.field(converter=_arrays)
    free: tuple[np.ndarray, ...] = attrs.field(converter=_arrays)
    scale: tuple[np.ndarray, ...] = attrs.field(converter=_arrays)
    fits: Callable[..., Any]
    centre: tuple[np.ndarray, ...] = attrs.field(converter=_arrays)

    def __len__(self) -> int:
        return sum(int(free.sum()) for free in self.free)

    def models(self, x: np.ndarray) -> list[np.ndarray]:
        """Return the parameters within the bounds and admissible in each cell, in their dtype."""
        return self._mirror(x).models()

    def _mirror(self, x):
        models, at = [], 0
        for start, low, high, free, scale in zip(self.start, self.low, self.high, self.free, self.scale, strict=True):
            count = int(free.sum())
            model = start.copy()
            moved = start[free] + scale[free] * x[at : at + count]
            model[free] = np.clip(moved.astype(start.dtype), low[free], high[free])
            models.append(model)
            at += count
        return Mirror(self.fits, self.centre, models)

    def slope(self, x: np.ndarray, gradients: Sequence[np.ndarray]) -> np.ndarray:
        """Return the derivative in x from the derivatives in the parameters."""
        parts = zip(self._mirror(x).transposed(gradients), self.scale, self.free, strict=True)
        return np.concatenate([(g * scale)[free] for g, scale, free in parts])

    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest x."""
        sides = []
        for side in (self.low, self.high):
            parts = zip(side, self.start, self.scale, self.free, strict=True)
            distances = [((end - start.astype(np.float64)) / scale)[free] for end, start, scale, free in parts]
            sides.append(np.concatenate(distances))
        return sides[0], sides[1]


def make_unknowns(problem: Problem, start: Any, bounds: Bounds | None = None, fixed: Any = None) -> Unknowns:
    """Return the unknowns of a start, bounds and fixed cells; see :func:`invert`.

    Raises
    ------
    ShapeError, DtypeError, DomainError, OptionError
        The arguments do not fit each other or the problem.
    """
    models = one_earth(problem, start, "start")
    parameters = problem.equation.parameters
    names = _names(problem)
    if bounds is not None and not _are_pairs(bounds):
        raise OptionError(f"bounds are {bounds!r}; expected (low, high) by name, such as {{{names[0]!r}: (low, high)}}")
    for argument, argument_name in ((bounds, "bounds"), (fixed, "fixed")):
        _check_names(problem, argument, argument_name)
    low, high, free = [], [], []
    for parameter, model in zip(parameters, models, strict=True):
        name = parameter.name
        is_fixed = fixed_cells(fixed.get(name) if isinstance(fixed, Mapping) else fixed, model.shape)
        pair = (bounds or {}).get(name, (0.7 * model.min(), 1.3 * model.max()))
        try:
            least, most = (np.broadcast_to(numpy_of(side), model.shape) for side in pair)
        except ValueError:
            least = most = np.array("of another shape")
        if any(side.dtype.kind not in "fiu" for side in (least, most)):
            raise OptionError(f"bounds of {name} are {pair!r}; expected numbers or arrays {model.shape}")
        least, most = least.astype(model.dtype), most.astype(model.dtype)
        wrong = ~is_fixed & ~((least <= model) & (model <= most) & (least < most))
        if wrong.any():
            cell = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise DomainError(
                f"start {name} is {model[cell]:g} at {cell}; expected a value within the bounds {least[cell]:g} to "
                f"{most[cell]:g}, with low below high"
            )
        if not np.all(is_fixed | parameter.admits(least)):
            raise DomainError(
                f"low bound of {name} is {least[~is_fixed].min():g}; expected values that {name} can have: raise it"
            )
        low.append(least)
        high.append(most)
        free.append(~is_fixed)
    if not any(cells.any() for cells in free):
        raise OptionError("every cell is fixed; expected some free cells to invert for")
    _check_stable(problem, models, high, free)
    ones = [np.ones(model.shape) for model in models]
    return Unknowns(models, low, high, free, ones, problem.equation.fits, models)


def check_steps(problem: Problem, steps: Any) -> None:
    """Raise an error unless `steps` are lengths by the name of a parameter; see :func:`invert`."""
    if steps is not None and not isinstance(steps, Mapping):
        first = _names(problem)[0]
        raise OptionError(f"steps are {steps!r}; expected lengths by name, such as {{{first!r}: 1.0}}")
    _check_names(problem, steps, "steps")
    for name, length in (steps or {}).items():
        check_positive(length, f"the step of {name}", "a length relative to other parameters")


def _check_names(problem, argument, argument_name):
    unknown = sorted(set(argument) - set(_names(problem))) if isinstance(argument, Mapping) else []
    if unknown:
        raise OptionError(
            f"{argument_name} name {unknown[0]!r}; expected parameters of {problem.equation.name}: {_names(problem)}"
        )


def _names(problem):
    return [parameter.name for parameter in problem.equation.parameters]


def one_earth(problem: Problem, arrays: Any, name: str) -> list[np.ndarray]:
    """Return models of any library as NumPy arrays, which all shots share.

    Raises
    ------
    ShapeError, DtypeError, DomainError
        The models do not fit the problem, or hold NaN or infinite values. The error begins with `name`.
    """
    models = [numpy_of(m) for m in arrays] if isinstance(arrays, list | tuple) else arrays
    check_models(problem, models)
    for parameter, model in zip(problem.equation.parameters, models, strict=True):
        if model.shape != problem.grid.shape:
            raise ShapeError(
                f"{name} {parameter.name} has shape {model.shape}; expected {problem.grid.shape}, one "
                "earth for all shots"
            )
        if not np.isfinite(model).all():
            raise DomainError(f"{name} {parameter.name} holds NaN or infinite values; expected finite numbers")
    return models


def _are_pairs(bounds) -> bool:
    return isinstance(bounds, Mapping) and all(isinstance(p, list | tuple) and len(p) == 2 for p in bounds.values())


def fixed_cells(fixed, shape) -> np.ndarray:
    """Return the mask of the fixed cells of a parameter."""
    cells = numpy_of(False if fixed is None else fixed)
    if cells.dtype != bool or cells.shape not in ((), shape):
        raise OptionError(
            f"fixed is of {cells.dtype} and shape {cells.shape}; expected bool {shape}, True in fixed cells"
        )
    return np.broadcast_to(cells, shape)


def _check_stable(problem, models, high, free):
    """Raise a DomainError if the bounds allow an unstable model. Speeds grow with every parameter except density."""
    extreme = [
        np.where(cells, top, model) if parameter.unit == "m/s" else model
        for parameter, model, top, cells in zip(problem.equation.parameters, models, high, free, strict=True)
    ]
    speed = float(np.max(problem.equation.speed(*extreme)))
    if speed > problem.largest_speed:
        raise DomainError(
            f"the bounds allow speeds up to {speed:g} m/s, for which dt = {problem.dt:g} s is unstable; use "
            f"bounds below {problem.largest_speed:g} m/s, or a smaller dt"
        )
