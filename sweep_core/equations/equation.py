"""The statements of a wave equation, from which everything else is derived."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import reduce
from itertools import product
from math import isfinite
from operator import and_
from typing import Any, ClassVar

import attrs
import numpy as np

from ..errors import OptionError
from ..numerics.stencils import check_order, largest_speed

COMMON = {"m/s": (1700.0, 2500.0), "kg/m3": (1800.0, 2300.0), "1/s": (5.0, 50.0), "Pa": (5e9, 1e10), "1": (0.05, 0.15)}
"""Ranges of random examples, by unit, for a parameter without `typical` values and without two finite bounds."""

RANGES = ("positive", "not negative")
"""Ranges that an equation may state for a coefficient; any finite value is admissible without one."""


@attrs.frozen
class Parameter:
    """A property of the earth: its unit and the interval of its admissible values.

    Parameters
    ----------
    name : str
        Name of the model, such as ``"vp"``.
    unit : str
        Unit of the model, such as ``"m/s"``; ``"1"`` without a unit.
    low, high : float
        Bounds of the admissible values, in the unit.
    closed : bool
        True if `low` itself is admissible.
    typical : tuple of float, optional
        Interval from which :meth:`Equation.example` draws values.

    Examples
    --------
    >>> Parameter("vs", "m/s", closed=True).admits(0.0)
    True
    """

    name: str
    unit: str
    low: float = 0.0
    high: float = float("inf")
    closed: bool = False
    typical: tuple[float, float] | None = None

    def admits(self, x: Any) -> Any:
        """Return whether the values `x` are admissible, one by one; NaN is not."""
        return ((x >= self.low) if self.closed else (x > self.low)) & (x < self.high)

    @property
    def drawn_from(self) -> tuple[float, float]:
        """`typical` if it is stated; else between finite bounds; else common values of the unit, from `low` on."""
        if self.typical is not None:
            return self.typical
        if isfinite(self.low) and isfinite(self.high):
            return self.low, self.high
        low, high = COMMON.get(self.unit, COMMON["1"])
        return max(self.low, 0.0) + low, max(self.low, 0.0) + high


@attrs.frozen
class Field:
    """A wavefield.

    Parameters
    ----------
    name : str
        Name of the field, such as ``"vx"``.
    unit : str
        Unit of the field, such as ``"m/s"``.
    stagger : tuple of str
        Axes along which the nodes of the field lie half a cell further, such as ``("x", "t")``; ``"t"`` is time.
    parity : {-1, 0, 1}
        Symmetry about a free surface: -1 if the field is odd and zero on the surface, 1 if even, 0 if neither.
    mirrored : bool
        False if the parity holds for positions alone, and differences are closed at the surface so that energy is
        conserved (:mod:`sweep_core.numerics.free_surface`). Only such a field may have a parity of 0.
    ndims : tuple of int
        Numbers of dimensions in which the field exists.
    order : {0, 1, 2}
        Order of its derivative in time: 2 with two time levels; 0 if the field exists within a step only, is computed
        from other fields, and has neither sources nor receivers.
    source_sign : {1, -1}
        -1 for a stress with tension positive: its physical sources are rates of moment, which act with a minus sign.
    """

    name: str
    unit: str
    stagger: tuple[str, ...] = ()
    parity: int = -1
    mirrored: bool = True
    ndims: tuple[int, ...] = (2, 3)
    order: int = 1
    source_sign: int = 1

    @property
    def on_surface(self) -> bool:
        """True if the field is zero on nodes of a free surface."""
        return self.parity < 0 and "z" not in self.stagger


@attrs.frozen
class Equation(ABC):
    """Base of all equations: an immutable value that may serve any number of propagators at once.

    A subclass states the class variables, `coefficients`, `step`, `source_coefficient`, `source_weight` and `speed`.
    It absorbs with layers of `pml_type` (:class:`sweep_core.numerics.cpml.CPML`) whose profile has the power
    `pml_power` and the strength `pml_decades`: waves whose phase and group velocities differ in sign need
    ``"mpmls"``. `coefficient_ranges` states coefficients that are always ``"positive"`` or ``"not negative"``; compiled
    code checks this, and divides by the former, so that its history may hold fields instead of rates.
    Its name is that of its compiled header, if there is one, and `library` is the package whose libsweep_cpu and
    libsweep_cuda contain it. In each field of `reciprocal` a source and a receiver may change places.
    `default_fields` are the fields of ``"source_type"`` and ``"receiver_type"`` if they are not the first field. In
    2000 steps of at least half the largest dt, float32 records err by at most `float32_error` of their maximum.

    Parameters
    ----------
    spatial_order : int
        Order of the differences, even, 2 to 64.
    device : str, torch.device or jax.Device, optional
        Default device of the solvers of this equation.

    Raises
    ------
    OptionError
        For another order.
    """

    name: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]]
    fields: ClassVar[tuple[Field, ...]]
    coefficient_names: ClassVar[tuple[str, ...]]
    coefficient_ranges: ClassVar[dict[str, str]] = {}
    constant_names: ClassVar[tuple[str, ...]] = ()
    levels: ClassVar[int]
    memories: ClassVar[tuple[str, ...]]
    pml_type: ClassVar[str]
    ndims: ClassVar[tuple[int, ...]]
    pml_power: ClassVar[int] = 2
    library: ClassVar[str] = "sweep_core.native"
    reciprocal: ClassVar[tuple[str, ...]] = ()
    float32_error: ClassVar[float] = 1e-5
    tables_stated: ClassVar[tuple[str, ...]] = ()
    default_fields: ClassVar[dict[str, tuple[str, ...]]] = {}

    spatial_order: int = attrs.field(default=4, converter=check_order)
    device: Any = attrs.field(default=None, eq=str)

    @abstractmethod
    def coefficients(self, node_averages: Any, *parameters: Any) -> tuple[Any, ...]:
        """Return the factors of the step in each cell, by arithmetic that a framework can differentiate.

        `node_averages` is a :class:`sweep_core.discretization.node_averages.NodeAverages`: it has dt, and averages
        between cells.
        """

    def constants(self, dt: float) -> tuple[float, ...]:
        """Return the factors of the step that are one number for all cells and depend on no parameter.

        They are in the order of `constant_names`. Unlike coefficients they take no memory, and have no gradient.
        """
        return ()

    @abstractmethod
    def step(
        self, ops: Any, state: dict[str, Any], coefficients: tuple[Any, ...], inject: Callable[[str, Any], Any]
    ) -> dict[str, Any]:
        """Return the state one time step later, with the keys of :meth:`state_names`; a pure function.

        ``inject(field, x)`` gives x with the sources of this step added, and is called for each field once it is made.
        """

    @abstractmethod
    def source_coefficient(self, field: str) -> str | None:
        """Return the name of the coefficient or constant that multiplies a source into `field`, or None."""

    @abstractmethod
    def speed(self, *parameters: Any) -> Any:
        """Return the fastest wave speed at each cell (m/s), which bounds the time step."""

    def default_pml_type(self, ndim: int, free_surface: bool) -> str | tuple[str, ...]:
        """Return the type of the absorbing layers, or one for each axis, depth first."""
        return self.pml_type

    def coefficient_limit(self, speed: float) -> float:
        """Return the first coefficient at the largest stable speed, with which compiled code compares."""
        return float("inf")

    @abstractmethod
    def source_weight(self, field: str, dt: float, cell_volume: float) -> float:
        """Return the amount that one unit of a physical source adds to its cell in one step, before
        :meth:`source_coefficient` and the field's `source_sign`.
        """

    @property
    def drives_rates(self) -> bool:
        """True if a source adds to the rate of its field, and so to all fields that this rate changes.

        :meth:`source_coefficient` then multiplies the part of the field itself.
        """
        return False

    @property
    def pml_decades(self) -> float:
        """Decades of the target of a PML's reflection at normal incidence, for 20 cells."""
        return 2 + 1.5 * self.spatial_order

    @property
    def rule(self) -> str:
        """The condition of :meth:`fits` in words, for a message."""
        return "admissible parameters"

    def fits(self, *parameters: Any) -> Any:
        """Return True in each cell whose parameters, each admissible by itself, are admissible together."""
        return True

    def admits(self, *parameters: Any) -> Any:
        """Return True in cells with admissible parameters; arrays may be those of any library."""
        good = [p.admits(x) for p, x in zip(self.parameters, parameters, strict=True)]
        return reduce(and_, good) & self.fits(*parameters)

    def example(
        self, shape: tuple[int, ...], rng: np.random.Generator, **ranges: tuple[float, float]
    ) -> list[np.ndarray]:
        """Return a rough, admissible earth, no two cells alike.

        It stays admissible if parameters change by 2 % of their range.

        Parameters
        ----------
        shape : tuple of int
            Shape of each model.
        rng : numpy.random.Generator
            Source of random numbers; each cell is drawn again until its parameters fit together.
        **ranges : (low, high)
            Ranges of parameters by name, instead of :attr:`Parameter.drawn_from`.

        Returns
        -------
        list of numpy.ndarray, float64
            In the order of `parameters`.

        Raises
        ------
        OptionError
            If no parameter has such a name, or cells that fit are too rare.
        """
        names = [p.name for p in self.parameters]
        if unknown := sorted(ranges.keys() - set(names)):
            raise OptionError(f"{self.name} has no parameter {unknown[0]!r}; its parameters are {names}")
        for p in self.parameters:
            low, high = ranges.get(p.name, (p.low, p.high))
            if not p.low <= low <= high <= p.high:
                asked, admitted = f"{low:g} to {high:g}", f"{p.low:g} to {p.high:g}"
                raise OptionError(f"{self.name}: range of {p.name} is {asked}; expected a part of {admitted}")
        bounds = np.array([ranges.get(p.name, p.drawn_from) for p in self.parameters], dtype=np.float64)
        low, high = (b.reshape(-1, *(1,) * len(shape)) for b in bounds.T)
        models, bad = np.empty((len(names), *shape)), np.ones(shape, bool)
        for _ in range(1000):
            models = np.where(bad, rng.uniform(low, high, models.shape), models)
            corners = (
                models + 0.02 * (high - low) * np.reshape(c, low.shape) for c in product((-1, 1), repeat=len(names))
            )
            bad = ~reduce(and_, (np.broadcast_to(self.admits(*corner), shape) for corner in corners))
            if not bad.any():
                return list(models)
        raise OptionError(
            f"{self.name}: in some cells, none of 1000 draws from {dict(zip(names, bounds.tolist(), strict=True))} was "
            f"admissible ({self.rule}); state `typical` of its parameters, or override example"
        )

    def largest_speed(self, spacing: tuple[float, ...], dt: float) -> float:
        """Return the largest wave speed (m/s) for which steps of dt are stable in a uniform medium."""
        return largest_speed(self.spatial_order, spacing, dt)

    def depends_on_contrasts(self, ndim: int) -> bool:
        """Return True if contrasts may make steps unstable that are stable in the fastest cell's medium."""
        return False

    def solid(self, *parameters: Any) -> Any:
        """Return True in solid cells, if some cells may be fluid.

        Positions between nodes are then interpolated on one side of a contact. None, the default, states that
        there is one kind of cells.
        """
        return None

    def derived(self, ndim: int) -> dict[str, dict[str, float]]:
        """Return the recorded quantities that are no fields: for each name, the weights of the fields in its sum."""
        return {}

    def fields_in(self, ndim: int) -> tuple[Field, ...]:
        """Return the fields of a grid with so many dimensions."""
        return tuple(f for f in self.fields if ndim in f.ndims)

    def waves_in(self, ndim: int) -> tuple[Field, ...]:
        """Return the fields with sources and receivers: all but those that exist within a step only."""
        return tuple(f for f in self.fields_in(ndim) if f.order)

    def rates_in(self, ndim: int) -> tuple[Any, ...]:
        """Return the `DerivativeSum` of these dimensions, for an equation stated by them."""
        return ()

    def coefficient_names_in(self, ndim: int) -> tuple[str, ...]:
        """Return the coefficients of these dimensions."""
        return self.coefficient_names

    def state_names(self, ndim: int) -> tuple[str, ...]:
        """Return the keys of the state: fields, their older levels, memory variables of each axis."""
        fields = [f.name for f in self.fields_in(ndim)]
        older = [f"{name}_old" for name in fields if self.levels == 2]
        return (*fields, *older, *(f"{memory}_{axis}" for memory in self.memories for axis in range(ndim)))
