"""What an inversion may change, as one vector."""

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
    """Parameters within bounds, in the cells that are not fixed: m = start + scale x, x being the vector.

    Parameters
    ----------
    start, low, high : sequence of array
        Of each parameter of the equation, in its order.
    free : sequence of bool array
        The cells that may change.
    scale : sequence of array
        Of one unit of x; the cells' own, where some are to move further than others.
    fits : callable
        ``fits(*models)`` tells which cells hold parameters that are admissible together.
    centre : sequence of array
        Parameters that fit; a cell that would not is brought back towards them. See :class:`Mirror`.
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
        """The parameters, in their own dtype, within the bounds, which fit together in each cell."""
        return self._mirror(x).models()

    def _mirror(self, x):
        found, at = [], 0
        for start, low, high, free, scale in zip(self.start, self.low, self.high, self.free, self.scale, strict=True):
            count = int(free.sum())
            model = start.copy()
            moved = start[free] + scale[free] * x[at : at + count]
            model[free] = np.clip(moved.astype(start.dtype), low[free], high[free])
            found.append(model)
            at += count
        return Mirror(self.fits, self.centre, found)

    def slope(self, x: np.ndarray, gradients: Sequence[np.ndarray]) -> np.ndarray:
        """The derivative in x, of those in the parameters."""
        parts = zip(self._mirror(x).transposed(gradients), self.scale, self.free, strict=True)
        return np.concatenate([(g * scale)[free] for g, scale, free in parts])

    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest x."""
        sides = []
        for side in (self.low, self.high):
            parts = zip(side, self.start, self.scale, self.free, strict=True)
            ways = [((end - start.astype(np.float64)) / scale)[free] for end, start, scale, free in parts]
            sides.append(np.concatenate(ways))
        return sides[0], sides[1]


def make_unknowns(problem: Problem, start: Any, bounds: Bounds | None = None, fixed: Any = None) -> Unknowns:
    """What may change, of what a user says; see :func:`invert`.

    Raises
    ------
    ShapeError, DtypeError, DomainError, OptionError
    """
    models = one_earth(problem, start, "start")
    parameters = problem.equation.parameters
    names = _names(problem)
    if bounds is not None and not _are_pairs(bounds):
        raise OptionError(f"bounds are {bounds!r}; expected (low, high) by name, such as {{{names[0]!r}: (low, high)}}")
    for given, what in ((bounds, "bounds"), (fixed, "fixed")):
        _check_names(problem, given, what)
    low, high, free = [], [], []
    for parameter, model in zip(parameters, models, strict=True):
        name = parameter.name
        held = held_cells(fixed.get(name) if isinstance(fixed, Mapping) else fixed, model.shape)
        pair = (bounds or {}).get(name, (0.7 * model.min(), 1.3 * model.max()))
        try:
            least, most = (np.broadcast_to(numpy_of(side), model.shape) for side in pair)
        except ValueError:
            least = most = np.array("of another shape")
        if any(side.dtype.kind not in "fiu" for side in (least, most)):
            raise OptionError(f"bounds of {name} are {pair!r}; expected numbers or arrays {model.shape}")
        least, most = least.astype(model.dtype), most.astype(model.dtype)
        wrong = ~held & ~((least <= model) & (model <= most) & (least < most))
        if wrong.any():
            cell = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise DomainError(
                f"start {name} is {model[cell]:g} at {cell}; expected a value within the bounds {least[cell]:g} to "
                f"{most[cell]:g}, which must leave room"
            )
        if not np.all(held | parameter.admits(least)):
            raise DomainError(f"bounds of {name} begin at {least[~held].min():g}, which {name} cannot be; raise them")
        low.append(least)
        high.append(most)
        free.append(~held)
    if not any(cells.any() for cells in free):
        raise OptionError("every cell is fixed; nothing to invert for")
    _check_stable(problem, models, high, free)
    ones = [np.ones(model.shape) for model in models]
    return Unknowns(models, low, high, free, ones, problem.equation.fits, models)


def check_steps(problem: Problem, steps: Any) -> None:
    """Raise an OptionError unless `steps` are lengths by the name of a parameter; see :func:`invert`."""
    if steps is not None and not isinstance(steps, Mapping):
        first = _names(problem)[0]
        raise OptionError(f"steps are {steps!r}; expected lengths by name, such as {{{first!r}: 1.0}}")
    _check_names(problem, steps, "steps")
    for name, length in (steps or {}).items():
        check_positive(length, f"the step of {name}", "a length over that of other parameters")


def _check_names(problem, given, what):
    unknown = sorted(set(given) - set(_names(problem))) if isinstance(given, Mapping) else []
    if unknown:
        raise OptionError(
            f"{what} name {unknown[0]!r}; the parameters of {problem.equation.name} are {_names(problem)}"
        )


def _names(problem):
    return [parameter.name for parameter in problem.equation.parameters]


def one_earth(problem: Problem, given: Any, what: str) -> list[np.ndarray]:
    """Models of any library as NumPy arrays, the same for all shots.

    Raises
    ------
    ShapeError, DtypeError, DomainError
    """
    models = [numpy_of(m) for m in given] if isinstance(given, list | tuple) else given
    check_models(problem, models)
    for parameter, model in zip(problem.equation.parameters, models, strict=True):
        if model.shape != problem.grid.shape:
            raise ShapeError(
                f"{what} {parameter.name} has shape {model.shape}; expected {problem.grid.shape}, one "
                "earth for all shots"
            )
        if not np.isfinite(model).all():
            raise DomainError(f"{what} {parameter.name} holds NaN or infinite values")
    return models


def _are_pairs(bounds) -> bool:
    return isinstance(bounds, Mapping) and all(isinstance(p, list | tuple) and len(p) == 2 for p in bounds.values())


def held_cells(fixed, shape) -> np.ndarray:
    """The cells of a parameter that stay."""
    cells = numpy_of(False if fixed is None else fixed)
    if cells.dtype != bool or cells.shape not in ((), shape):
        raise OptionError(
            f"fixed is of {cells.dtype} and shape {cells.shape}; expected bool, True in cells that stay, {shape}"
        )
    return np.broadcast_to(cells, shape)


def _check_stable(problem, models, high, free):
    """DomainError where what the bounds allow is unstable; a speed grows with every parameter but density."""
    extreme = [
        np.where(cells, top, model) if parameter.unit == "m/s" else model
        for parameter, model, top, cells in zip(problem.equation.parameters, models, high, free, strict=True)
    ]
    speed = float(np.max(problem.equation.speed(*extreme)))
    if speed > problem.largest_speed:
        raise DomainError(
            f"the bounds allow speeds up to {speed:g} m/s, for which dt = {problem.dt:g} s is unstable; give "
            f"bounds below {problem.largest_speed:g} m/s, or a smaller dt"
        )
