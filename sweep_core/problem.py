"""A problem: the physics on a grid with its boundaries, as one immutable value."""

from collections.abc import Sequence
from math import isfinite, prod
from numbers import Real
from typing import Any

import attrs
import numpy as np

from .discretization.pml import CPML, layer_types, widths
from .discretization.surface import closed_rows
from .equation import Equation, Field
from .errors import DomainError, OptionError, UnsupportedError
from .grid import MOST_CELLS, Grid, make_grid
from .memory import MemoryOptions
from .ops import NumpyOps
from .options import resolve_memory
from .stability import excess
from .statement import check_equation
from .validators import check_choice, is_whole


@attrs.frozen(cache_hash=True)
class Problem:
    """Equation, grid, time step, fields and boundaries. Build one with :func:`make_problem`.

    Two problems that state the same are equal and hash alike, so compiled code may be cached by them.
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

    def is_stable(self, *models) -> bool:
        """Return whether dt is stable in models (NumPy arrays), by :meth:`largest_dt`."""
        return float(excess(self, NumpyOps(self, models[0].dtype), models)) <= 1

    def largest_dt(self, *models) -> float:
        """Return the largest stable time step (s) in models: that of a uniform medium as fast as the fastest cell, or
        less where contrasts between cells ask for it (:mod:`sweep_core.stability`).

        Parameters
        ----------
        *models : NumPy arrays
            In the order of ``equation.parameters``, of the grid's shape or one for each shot.
        """
        in_fastest = self.dt * self.largest_speed / float(self.equation.speed(*models).max())
        fastest = attrs.evolve(self, dt=in_fastest)
        return in_fastest / float(excess(fastest, NumpyOps(fastest, models[0].dtype), models)) ** 0.5

    def admits(self, *models):
        """Whether models are admissible, cell by cell."""
        return self.equation.admits(*models)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The equation's fields on this grid."""
        return self.equation.fields_in(self.grid.ndim)

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        """The equation's coefficients on this grid."""
        return self.equation.coefficient_names_in(self.grid.ndim)

    def field(self, name: str) -> Field:
        """The field of that name."""
        return self.fields[self.field_index(name)]

    def field_index(self, name: str) -> int:
        """Where a field is among the fields of this grid."""
        return [f.name for f in self.fields].index(name)

    def parts(self, name: str) -> dict[str, float]:
        """The fields, and their weights, that a field or a derived quantity is the sum of."""
        return self.equation.derived(self.grid.ndim).get(name, {name: 1.0})

    @property
    def recorded(self) -> tuple[str, ...]:
        """The fields that receivers listen to."""
        return tuple(dict.fromkeys(field for name in self.receiver_type for field in self.parts(name)))

    def at_half_step(self, name: str) -> bool:
        """Whether a field is known half a time step later than others."""
        return "t" in self.field(name).stagger

    def time(self, field: str, nt: int) -> np.ndarray:
        """Times (s) of the samples of a recorded field: k dt, half a step later where it is staggered in time."""
        if field not in self.receiver_type:
            raise OptionError(f"field {field!r} is not recorded; receiver_type is {list(self.receiver_type)}")
        return (np.arange(_samples(nt)) + 0.5 * self.at_half_step(next(iter(self.parts(field))))) * self.dt

    def source_time(self, field: str, nt: int) -> np.ndarray:
        """Times (s) at which the samples of a wavelet act on a field: midway between the values that it has there."""
        if field not in self.source_type:
            raise OptionError(f"field {field!r} has no source; source_type is {list(self.source_type)}")
        between = self.equation.levels == 1 and not self.at_half_step(field)
        return (np.arange(_samples(nt)) + 0.5 * between) * self.dt


def _samples(nt: Any) -> int:
    if not is_whole(nt, 0):
        raise DomainError(f"nt is {nt!r}; expected a whole number of samples")
    return int(nt)


PRESSURES = "h1", "p"
"""The names that equations give their pressure."""


def absent(field: str, equation: Equation, known: Sequence[str]) -> str:
    """Return what a refusal says of a field that an equation does not have, with a hint at its pressure."""
    pressure = [name for name in known if name in PRESSURES and field in (*PRESSURES, "pressure")]
    hint = f"; its pressure is {pressure[0]!r}" if pressure else ""
    return f"which {equation.name} does not have; its fields are {known}{hint}"


def _fields(name: str, value, equation: Equation, ndim: int) -> tuple[str, ...]:
    known = [f.name for f in equation.waves_in(ndim)]
    if name == "receiver_type":
        known += equation.derived(ndim)
    if value is None:
        return (known[0],)
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise OptionError(f"{name} is {value!r}; expected a list of fields of {equation.name}, such as [{known[0]!r}]")
    for field in value:
        if field not in known:
            raise OptionError(f"{name} names {field!r}, {absent(field, equation, known)}")
    if len(set(value)) != len(value):
        raise OptionError(f"{name} is {list(value)}; each field may be named once")
    return tuple(value)


RATIOS = (1e-15, 1e15)
"""Smallest and largest dt / dh (s/m), whose square is a number of single precision; a wave crosses no more than about a
cell in a step, so speeds lie between its inverses.
"""
CHOICES = {
    "source_scaling": ("physical", "increment"),
    "edge_gradient": ("exact", "interior"),
    "time_dispersion": ("uncorrected", "corrected"),
}


def check_cells(equation: Equation, grid: Grid, pml, free_surface: bool) -> None:
    """That each axis has the cells that differences need, and all of them, PML included, can be counted."""
    order = equation.spatial_order
    for n, axis in zip(grid.shape, grid.axes, strict=True):
        if n < order:
            raise DomainError(f"the model has {n} cells along {axis}; spatial_order {order} needs at least as many")
    padded = tuple(n + low + high for n, (low, high) in zip(grid.shape, pml, strict=True))
    if prod(padded) > MOST_CELLS:
        raise DomainError(
            f"the model of shape {grid.shape} has {prod(padded)} cells with its PML, in shape {padded}; expected at "
            f"most {MOST_CELLS}: coarsen the grid, cut the model, or narrow the PML"
        )
    rows = closed_rows(equation) if free_surface else 0
    cells = grid.shape[0] + pml[0][1]
    if cells < rows:
        raise DomainError(
            f"the model and the PML below it have {cells} cells along z; a free surface needs at least {rows} at "
            f"spatial_order {order}"
        )


def make_problem(
    equation,
    shape,
    dh,
    dt,
    source_type=None,
    receiver_type=None,
    pml_type=None,
    pml_width=20,
    pml_velocity=None,
    pml_freq=None,
    free_surface=False,
    source_scaling="physical",
    edge_gradient="exact",
    time_dispersion="uncorrected",
    memory=None,
    check_finite=None,
) -> Problem:
    """A checked :class:`Problem` from what a user writes; see PropTorch for the meaning of each argument.

    Raises
    ------
    SweepError
        A DomainError, ShapeError, OptionError or UnsupportedError that names the argument.
    """
    if not isinstance(equation, Equation):
        raise OptionError(f"equation is {equation!r}; expected an equation such as Acoustic(spatial_order=8)")
    grid = make_grid(shape, dh)
    check_equation(equation, grid.ndim)
    if grid.ndim not in equation.ndims:
        raise UnsupportedError(f"{equation.name} is supported in {equation.ndims} dimensions yet, not in {grid.ndim}")
    if not isinstance(dt, Real) or isinstance(dt, bool) or not isfinite(dt) or dt <= 0:
        raise DomainError(f"dt is {dt!r}; expected a positive time step in seconds")
    if not all(RATIOS[0] <= float(dt) / h <= RATIOS[1] for h in grid.spacing):
        raise DomainError(
            f"dt = {dt:g} s at dh = {grid.spacing} m; expected dt / dh of {RATIOS[0]:g} to {RATIOS[1]:g} s/m"
        )
    memory = resolve_memory(memory, None)
    if memory.known_above >= grid.shape[0]:
        raise DomainError(
            f"MemoryOptions: known_above is {memory.known_above}, and the models have {grid.shape[0]} rows; expected a "
            "row that leaves free ones"
        )
    cpml_width = widths(pml_width, grid.ndim, free_surface is True)
    check_cells(equation, grid, cpml_width, free_surface is True)
    if not isinstance(free_surface, bool):
        raise OptionError(f"free_surface is {free_surface!r}; expected True (on top) or False")
    types = layer_types(pml_type, equation, grid.ndim, free_surface)
    chosen = {"source_scaling": source_scaling, "edge_gradient": edge_gradient, "time_dispersion": time_dispersion}
    for name, value in chosen.items():
        check_choice(value, name, CHOICES[name])
    if check_finite is not None and not isinstance(check_finite, bool):
        raise OptionError(f"check_finite is {check_finite!r}; expected True, False or None")
    if time_dispersion == "corrected" and any("t" in f.stagger for f in equation.fields):
        raise UnsupportedError(
            f"time_dispersion='corrected' is not supported for {equation.name}, staggered in time, yet"
        )
    given = {"velocity": pml_velocity, "freq": pml_freq}
    for name, value in given.items():
        if value is not None and (not isinstance(value, Real) or isinstance(value, bool)):
            raise OptionError(f"pml_{name} is {value!r}; expected a number")
    chosen_pml = {k: v for k, v in given.items() if v is not None}
    cpml = CPML(
        cpml_width,
        order=equation.spatial_order,
        power=equation.pml_power,
        multiaxial=tuple(name == "mpmls" for name in types),
        **chosen_pml,
    )
    return Problem(
        equation=equation,
        grid=grid,
        dt=float(dt),
        source_type=_fields("source_type", source_type, equation, grid.ndim),
        receiver_type=_fields("receiver_type", receiver_type, equation, grid.ndim),
        cpml=cpml,
        memory=memory,
        free_surface=free_surface,
        check_finite=check_finite,
        **chosen,
    )
