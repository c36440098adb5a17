"""A problem: the physics on a grid with its boundaries, as one immutable value."""

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from .._util.validators import is_whole
from ..discretization.array_ops import NumpyOps
from ..discretization.stability import excess
from ..equations.equation import Equation, Field
from ..errors import DomainError, OptionError
from ..memory import MemoryOptions
from ..numerics.cpml import CPML
from ..numerics.grid import Grid


@attrs.frozen(cache_hash=True)
class Problem:
    """Equation, grid, time step, fields and boundaries. Build one with :func:`make_problem`.

    Two problems that state the same are equal and hash alike, so compiled code may be cached by them.

    Parameters
    ----------
    equation : Equation
        The wave equation.
    grid : Grid
        Cells of the model and their size (m).
    dt : float
        Time step (s).
    source_type, receiver_type : tuple of str
        Fields that sources act on and receivers record.
    cpml : CPML
        The absorbing layers.
    memory : MemoryOptions
        How a gradient remembers the forward run.
    free_surface : bool
        True if z = 0 is free.
    source_scaling : {'physical', 'increment'}
    edge_gradient : {'exact', 'interior'}
    time_dispersion : {'uncorrected', 'corrected'}
    check_finite : bool, optional
        As for :class:`sweep_torch.PropTorch`.
    pml_target_db : float, optional
        The target that chose the widths, if one did: a coarser grid then keeps the cells of the layers.
    """

    equation: Equation
    grid: Grid
    dt: float
    source_type: tuple[str, ...]
    receiver_type: tuple[str, ...]
    cpml: CPML
    memory: MemoryOptions
    free_surface: bool = False
    source_scaling: str = "physical"
    edge_gradient: str = "exact"
    time_dispersion: str = "uncorrected"
    check_finite: bool | None = None
    pml_target_db: float | None = None

    @property
    def pml(self) -> tuple[tuple[int, int], ...]:
        """PML cells at the low and high face of each axis."""
        return self.cpml.width

    @property
    def padded_shape(self) -> tuple[int, ...]:
        """Cells of each axis, PML included."""
        return tuple(n + low + high for n, (low, high) in zip(self.grid.shape, self.pml, strict=True))

    @property
    def largest_speed(self) -> float:
        """The largest stable wave speed (m/s) at this time step in a uniform medium; see :meth:`largest_dt`."""
        return self.equation.largest_speed(self.grid.spacing, self.dt)

    def is_stable(self, *models: np.ndarray) -> bool:
        """Return whether dt is stable in models (NumPy arrays), by :meth:`largest_dt`."""
        return float(excess(self, NumpyOps(self, models[0].dtype), models)) <= 1

    def largest_dt(self, *models: np.ndarray) -> float:
        """Return the largest stable time step (s) in models: that of a uniform medium as fast as the fastest cell, or
        less where contrasts between cells ask for it (:mod:`sweep_core.discretization.stability`).

        Parameters
        ----------
        *models : NumPy arrays
            In the order of ``equation.parameters``, of the grid's shape or one for each shot.
        """
        in_fastest = self.dt * self.largest_speed / float(self.equation.speed(*models).max())
        fastest = attrs.evolve(self, dt=in_fastest)
        return in_fastest / float(excess(fastest, NumpyOps(fastest, models[0].dtype), models)) ** 0.5

    def admits(self, *models: Any) -> Any:
        """Return whether `models` are admissible, cell by cell."""
        return self.equation.admits(*models)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The equation's fields on this grid."""
        return self.equation.fields_in(self.grid.ndim)

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        """The equation's coefficients on this grid."""
        return self.equation.coefficient_names_in(self.grid.ndim)

    @property
    def constants(self) -> dict[str, float]:
        """The equation's constants by name, at this time step."""
        equation = self.equation
        return dict(zip(equation.constant_names, map(float, equation.constants(self.dt)), strict=True))

    def field(self, name: str) -> Field:
        """Return the field of that name."""
        return self.fields[self.field_index(name)]

    def field_index(self, name: str) -> int:
        """Return the index of a field among the fields of this grid."""
        return [f.name for f in self.fields].index(name)

    def parts(self, name: str) -> dict[str, float]:
        """Return the fields, with their weights, whose sum is a field or a derived quantity."""
        return self.equation.derived(self.grid.ndim).get(name, {name: 1.0})

    @property
    def recorded(self) -> tuple[str, ...]:
        """The fields that receivers listen to."""
        return tuple(dict.fromkeys(field for name in self.receiver_type for field in self.parts(name)))

    def at_half_step(self, name: str) -> bool:
        """Return True if a field is known half a time step later than others."""
        return "t" in self.field(name).stagger

    def time(self, field: str, nt: int) -> np.ndarray:
        """Return the times (s) of the samples of a recorded field.

        They are k dt, half a step later if it is staggered in time.
        """
        if field not in self.receiver_type:
            raise OptionError(
                f"field {field!r} is not recorded; expected one of receiver_type, {list(self.receiver_type)}"
            )
        return (np.arange(_samples(nt)) + 0.5 * self.at_half_step(next(iter(self.parts(field))))) * self.dt

    def source_time(self, field: str, nt: int) -> np.ndarray:
        """Return the times (s) at which the samples of a wavelet act on a field.

        They lie midway between the times of its values.
        """
        if field not in self.source_type:
            raise OptionError(f"field {field!r} has no source; expected one of source_type, {list(self.source_type)}")
        between = self.equation.levels == 1 and not self.at_half_step(field)
        return (np.arange(_samples(nt)) + 0.5 * between) * self.dt


def _samples(nt: Any) -> int:
    if not is_whole(nt, 0):
        raise DomainError(f"nt is {nt!r}; expected a whole number of samples")
    return int(nt)


PRESSURES = "h1", "p"
"""The names that equations give their pressure."""


def absent(field: str, equation: Equation, known: Sequence[str]) -> str:
    """Return the end of an error message about a field that an equation lacks, with a hint at its pressure."""
    pressure = [name for name in known if name in PRESSURES and field in (*PRESSURES, "pressure")]
    hint = f"; its pressure is {pressure[0]!r}" if pressure else ""
    return f"which {equation.name} does not have; its fields are {known}{hint}"
