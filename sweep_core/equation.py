"""What a wave equation states of itself; everything else is derived from it."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import attrs

from .stencil import check_order


@attrs.frozen
class Parameter:
    """A property of the earth: its unit and the open interval of its admissible values."""

    name: str
    unit: str
    low: float = 0.0
    high: float = float("inf")


@attrs.frozen
class Field:
    """A wavefield: its unit, and the axes along which its nodes lie half a cell further (``'x'``; time is ``'t'``).

    `parity` is what a free surface makes of it: -1 where it is odd about the surface and zero on it, 1 where even.
    """

    name: str
    unit: str
    stagger: tuple[str, ...] = ()
    parity: int = -1


@attrs.frozen
class Equation(ABC):
    """Base of all equations: an immutable value that may serve any number of propagators at once.

    A subclass states the class variables, `coefficients`, `step`, `source_factor` and `speed`. Its name is that of
    its compiled header, if there is one.
    """

    name: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]]
    fields: ClassVar[tuple[Field, ...]]
    coefficient_names: ClassVar[tuple[str, ...]]
    levels: ClassVar[int]
    memories: ClassVar[tuple[str, ...]]
    pml_type: ClassVar[str]
    ndims: ClassVar[tuple[int, ...]]

    spatial_order: int = attrs.field(default=4, converter=check_order)
    device: Any = attrs.field(default=None, eq=str)

    @abstractmethod
    def coefficients(self, *parameters) -> tuple:
        """What the step multiplies with, cell by cell, in arithmetic that a framework can differentiate."""

    @abstractmethod
    def step(self, ops, state: dict, coefficients: tuple) -> dict:
        """The state one time step later, without sources; pure. Its keys are those of :meth:`state_names`."""

    @abstractmethod
    def source_factor(self, field: str, coefficients: tuple):
        """What a source into `field` is multiplied with, cell by cell, before it is added."""

    @abstractmethod
    def speed(self, *parameters):
        """The fastest wave speed at each cell (m/s), which bounds the time step."""

    def coefficient_limit(self, speed: float) -> float:
        """The first coefficient at the largest stable speed: what compiled code compares with."""
        return float("inf")

    @abstractmethod
    def source_weight(self, field: str, dt: float, cell_volume: float) -> float:
        """What one unit of a physical source adds to its cell in one step, before :meth:`source_factor`."""

    def state_names(self, ndim: int) -> tuple[str, ...]:
        """Keys of the state: fields, their older levels, memory variables of each axis."""
        fields = [f.name for f in self.fields]
        older = [f"{name}_old" for name in fields if self.levels == 2]
        return (*fields, *older, *(f"{memory}_{axis}" for memory in self.memories for axis in range(ndim)))

    def field_index(self, name: str) -> int:
        return [f.name for f in self.fields].index(name)
