"""Build a checked problem from the arguments of a solver."""

from collections.abc import Sequence
from math import isfinite, prod
from numbers import Real
from typing import Any, Literal

from .._util.validators import check_choice
from ..equations.equation import Equation
from ..errors import DomainError, OptionError, UnsupportedError
from ..memory.options import MemoryOptions, resolve_memory
from ..numerics.cpml import CPML, layer_types, widths
from ..numerics.free_surface import closed_rows, one_sided_rows
from ..numerics.grid import MOST_CELLS, Grid, make_grid
from ..numerics.pml_width import stated_width
from .equation_check import check_equation
from .problem import Problem, absent


def _fields(name: str, value: Any, equation: Equation, ndim: int) -> tuple[str, ...]:
    known = [f.name for f in equation.waves_in(ndim)]
    if name == "receiver_type":
        known += equation.derived(ndim)
    if value is None:
        value = equation.default_fields.get(name, (known[0],))
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


def check_cells(equation: Equation, grid: Grid, pml: Sequence[tuple[int, int]], free_surface: bool) -> None:
    """Check that each axis has the cells that differences need, and that the padded grid is not too large to count."""
    order = equation.spatial_order
    for n, axis in zip(grid.shape, grid.axes, strict=True):
        if n < order:
            raise DomainError(f"the model has {n} cells along {axis}; expected at least {order}, as spatial_order")
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
            f"the model and the PML below it have {cells} cells along z; expected at least {rows} for a free surface "
            f"at spatial_order {order}"
        )
    # The adjoint of memory variables takes the differences between nodes to be those of the interior.
    rows = one_sided_rows(order) + 1
    if free_surface and pml[0][1] and grid.shape[0] < rows and not all(f.mirrored for f in equation.fields):
        raise DomainError(
            f"the model has {grid.shape[0]} cells along z above a PML; expected at least {rows} for a free surface of "
            f"{equation.name} at spatial_order {order}"
        )


def _check_time_step(dt: Any, grid: Grid) -> None:
    """Check that a time step is positive, and that waves of some speed can cross the cells of a grid in it."""
    if not isinstance(dt, Real) or isinstance(dt, bool) or not isfinite(dt) or dt <= 0:
        raise DomainError(f"dt is {dt!r}; expected a positive time step in seconds")
    if not all(RATIOS[0] <= float(dt) / h <= RATIOS[1] for h in grid.spacing):
        raise DomainError(
            f"dt = {dt:g} s at dh = {grid.spacing} m; expected dt / dh of {RATIOS[0]:g} to {RATIOS[1]:g} s/m"
        )


def _make_cpml(
    equation: Equation, grid: Grid, free_surface: bool, types: Any, width: Any, target_db: Any, **design: Any
) -> CPML:
    """Return the checked absorbing layers of a problem. `design` are values of :class:`CPML`; None is its default."""
    for name, value in design.items():
        if value is not None and (not isinstance(value, Real) or isinstance(value, bool)):
            raise OptionError(f"pml_{name} is {value!r}; expected a number")
    types = layer_types(types, equation, grid.ndim, free_surface)
    stated = stated_width(width, target_db, types, equation.spatial_order, free_surface)
    faces = widths(stated, grid.ndim, free_surface)
    check_cells(equation, grid, faces, free_surface)
    design = {name: value for name, value in design.items() if value is not None}
    return CPML(faces, types, decades=equation.pml_decades, power=equation.pml_power, **design)


def make_problem(
    equation: Equation,
    shape: Sequence[int],
    dh: float | Sequence[float],
    dt: float,
    source_type: Sequence[str] | None = None,
    receiver_type: Sequence[str] | None = None,
    pml_type: str | Sequence[str] | None = None,
    pml_width: int | Sequence[int] | None = None,
    pml_target_db: float | None = None,
    pml_velocity: float | None = None,
    pml_freq: float | None = None,
    free_surface: bool = False,
    source_scaling: Literal["physical", "increment"] = "physical",
    edge_gradient: Literal["exact", "interior"] = "exact",
    time_dispersion: Literal["uncorrected", "corrected"] = "uncorrected",
    memory: MemoryOptions | str | None = None,
    check_finite: bool | None = None,
) -> Problem:
    """Return a checked :class:`Problem`.

    Parameters
    ----------
    equation, shape, dh, dt, source_type, receiver_type, pml_type, pml_width, pml_target_db, pml_velocity, pml_freq
        As for :class:`sweep_torch.PropTorch`.
    free_surface, source_scaling, edge_gradient, time_dispersion, memory, check_finite
        As for :class:`sweep_torch.PropTorch`.

    Returns
    -------
    Problem

    Raises
    ------
    SweepError
        A DomainError, ShapeError, OptionError or UnsupportedError that names the argument.

    Examples
    --------
    >>> from sweep_core import Acoustic, make_problem
    >>> make_problem(Acoustic(), shape=(40, 60), dh=10.0, dt=0.001).padded_shape
    (80, 100)
    """
    if not isinstance(equation, Equation):
        raise OptionError(f"equation is {equation!r}; expected an equation such as Acoustic(spatial_order=8)")
    grid = make_grid(shape, dh)
    check_equation(equation, grid.ndim)
    if grid.ndim not in equation.ndims:
        raise UnsupportedError(
            f"shape is {grid.shape}, of {grid.ndim} dimension{'s' * (grid.ndim > 1)}; {equation.name} supports only "
            f"{equation.ndims} yet"
        )
    _check_time_step(dt, grid)
    memory = resolve_memory(memory, None)
    if memory.known_above >= grid.shape[0]:
        raise DomainError(
            f"MemoryOptions: known_above is {memory.known_above}; expected less than {grid.shape[0]}, the number of "
            "rows of the models"
        )
    if not isinstance(free_surface, bool):
        raise OptionError(f"free_surface is {free_surface!r}; expected True (on top) or False")
    cpml = _make_cpml(
        equation, grid, free_surface, pml_type, pml_width, pml_target_db, velocity=pml_velocity, freq=pml_freq
    )
    words = {"source_scaling": source_scaling, "edge_gradient": edge_gradient, "time_dispersion": time_dispersion}
    for name, value in words.items():
        check_choice(value, name, CHOICES[name])
    if check_finite is not None and not isinstance(check_finite, bool):
        raise OptionError(f"check_finite is {check_finite!r}; expected True, False or None")
    if time_dispersion == "corrected" and any("t" in f.stagger for f in equation.fields):
        raise UnsupportedError(
            f"time_dispersion='corrected' is not supported yet for {equation.name}, which is staggered in time"
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
        pml_target_db=None if pml_target_db is None else float(pml_target_db),
        **words,
    )
