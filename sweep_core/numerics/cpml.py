"""Convolutional perfectly matched layers (CPML): where they lie and how they damp."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import attrs
import numpy as np

from ..errors import DomainError, OptionError, ShapeError, UnsupportedError

__all__ = ["CPML"]

STAGGERED = ("cpmls", "mpmls", "sponge")
TYPES = {"cpmlr": ("cpmlr",), **dict.fromkeys(STAGGERED, STAGGERED)}
"""Types of layer that an equation with one of them can have: the plain one, then the multi-axial one and the sponge."""
FACES = {
    1: ("top", "bottom"),
    2: ("top", "bottom", "left", "right"),
    3: ("top", "bottom", "front", "back", "left", "right"),
}


def widths(value, ndim: int, free_surface: bool = False) -> tuple[tuple[int, int], ...]:
    """Return PML cells at the (low, high) face of each axis from one number or one per face; none at a free surface."""
    faces = FACES[ndim]
    same = isinstance(value, int | np.integer) and not isinstance(value, bool)
    values = (value,) * len(faces) if same else value
    if isinstance(values, str | bytes) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        raise OptionError(f"pml_width is {value!r}; expected a number of cells, or one per face {faces}")
    values = tuple(values)
    if len(values) != len(faces):
        raise ShapeError(f"pml_width has {len(values)} values; expected one, or one per face {faces}")
    if not all(isinstance(w, int | np.integer) and not isinstance(w, bool) and w >= 0 for w in values):
        raise DomainError(f"pml_width is {value!r}; expected whole numbers of cells from 0 on")
    if free_surface:
        if values[0] and not same:
            raise OptionError(f"pml_width is {value!r} with a free surface on top; expected 0 as its first value")
        values = (0, *values[1:])
    return tuple((int(values[2 * a]), int(values[2 * a + 1])) for a in range(ndim))


def known_types(equation) -> tuple[str, ...]:
    """Return the types of layer that an equation can have, the plain one first."""
    return TYPES.get(equation.pml_type, (equation.pml_type,))


def layer_types(value, equation, ndim: int, free_surface: bool) -> tuple[str, ...]:
    """Return the type of layer of each axis from one word, one per axis, or None: the equation's own.

    Raises
    ------
    UnsupportedError
        If the equation cannot absorb with such a layer.
    """
    known = known_types(equation)
    asked = equation.default_pml_type(ndim, free_surface) if value is None else value
    types = asked if isinstance(asked, tuple | list) else (asked,) * ndim
    if len(types) != ndim or not all(isinstance(name, str) and name in known for name in types):
        raise UnsupportedError(
            f"pml_type is {value!r}; expected {' or '.join(map(repr, known))} for {equation.name}, one for all axes or "
            "one for each"
        )
    return tuple(types)


MULTIAXIAL_POWERS = (2, 8)
"""Powers of the depth with which d and g of a multi-axial layer grow."""
SPONGE_POWER, SPONGE_REFLECTION = 3, 1e-4
"""Power of the depth with which g of a sponge grows, and the target of its reflection at normal incidence."""
MOST_DAMPING = 10.0
"""The largest g dt of a multi-axial layer: more would leave nothing of a coefficient in single precision."""
RANGE = (1e-12, 1e12)
"""Smallest and largest design speed (m/s) and frequency (Hz): no profile is 0 / 0 or infinite between them."""


def _in_range(instance, attribute, value):
    if not RANGE[0] <= value <= RANGE[1]:
        raise DomainError(f"pml_{attribute.name} is {value}; expected a positive number, {RANGE[0]:g} to {RANGE[1]:g}")


class Profiles(NamedTuple):
    """Numbers of the layers of one axis at each of its nodes: no layer is decay 0, gain 0 and damping 1.

    psi <- decay psi + gain x is the memory variable of a derivative x; f <- damping f a step of a field f.
    """

    decay: np.ndarray
    gain: np.ndarray
    damping: np.ndarray


@attrs.frozen
class CPML:
    """Profiles of the complex stretch s = 1 + d / (alpha + i omega) along one axis, and of a sponge in the same layer.

    d = d0 (x / L)^n, d0 = (n + 1) velocity ln(1 / R) / (2 L), alpha = pi freq (1 - x / L), x the depth into the layer
    of thickness L (Roden and Gedney 2000; Komatitsch and Martin 2007, Geophysics 72, eqs. 22 to 27, kappa = 1).

    Guided waves whose phase and group velocities differ in sign grow in such a layer, and so do plane waves in tilted
    anisotropy. A multi-axial layer (``"mpmls"``) has n = 2 and damps every field as well, at a rate g = d0 (x / L)^8:
    f_t + g f stands for f_t. With t = 1 + g / (i omega) that is t f_t, so a derivative across the layer is divided by
    s t and one along it by t (Meza-Fajardo and Papageorgiou 2008, BSSA 98). Their ratio of the profiles is constant;
    here it rises towards the outer face. The layer is no perfect match for waves that graze it: it reflects these.

    Parameters
    ----------
    width : ((int, int), ...)
        Cells at the low and high face of each axis.
    types : (str, ...)
        Type of the layers of each axis. ``"mpmls"`` and ``"sponge"`` damp every field. A sponge does nothing else: d is
        zero, and waves decay in any medium.
    velocity : float
        The wave speed that the damping is designed for, m/s.
    freq : float
        Frequency below which the layer turns from damping to shifting, Hz; half the peak of the wavelet is a good
        choice.
    decades : float
        Decades of R, the target of the reflection at normal incidence, for 20 cells.
    power : int
        n: what reflects least. Differences see where a profile of n = 2 begins: staggered ones leave 20 to 40 dB less
        with 4, those of the regular grid 5 to 15 dB less with 3.

    R follows the width: 10^-(decades (width / 20)^0.75), no less than 1e-16. A smaller one damps grazing waves better,
    but by a profile so steep that differences reflect from it (docs/explanation/pml.md has figures).
    """

    width: tuple[tuple[int, int], ...]
    types: tuple[str, ...]
    velocity: float = attrs.field(default=3000.0, converter=float, validator=_in_range)
    freq: float = attrs.field(default=5.0, converter=float, validator=_in_range)
    decades: float = 8.0
    power: int = 2

    def damps_fields(self, axis: int) -> bool:
        """Return True if the layers of an axis damp every field."""
        return self.types[axis] in ("mpmls", "sponge")

    @property
    def damps_any_field(self) -> bool:
        """True if the layers of some axis damp every field."""
        return any(map(self.damps_fields, range(len(self.types))))

    def reflection(self, width: int) -> float:
        """Return the target of the reflection at normal incidence for a layer of so many cells."""
        return 10 ** -min(self.decades * (width / 20) ** 0.75, 16.0)

    def _strength(self, power: int, reflection: float, thickness: float) -> float:
        """Return the damping (1/s) at the outer face, for a reflection at normal incidence and a thickness (m)."""
        return (power + 1) / 2 * self.velocity * math.log(1 / reflection) / thickness

    def profiles(self, axis: int, cells: int, spacing: float, dt: float, shift: float = 0.0) -> Profiles:
        """Return the profiles of an axis of `cells` padded cells.

        Nodes lie `shift` cells further than cells: 1/2 where they are staggered.
        """
        decay, gain, damping = np.zeros(cells), np.zeros(cells), np.ones(cells)
        low, high = self.width[axis]
        power, sponge_power = MULTIAXIAL_POWERS if self.types[axis] == "mpmls" else (self.power, None)
        at = np.arange(cells) + shift
        for width, depth in ((low, low - at), (high, at - (cells - 1 - high))):
            if width == 0:
                continue
            inside = depth > 0
            depth = depth[inside] / width
            if self.types[axis] == "sponge":
                g = self._strength(SPONGE_POWER, SPONGE_REFLECTION, width * spacing) * depth**SPONGE_POWER
                damping[inside] = np.exp(-np.minimum(g * dt, MOST_DAMPING))
                continue
            d0 = self._strength(power, self.reflection(width), width * spacing)
            d = d0 * depth**power
            alpha = math.pi * self.freq * np.maximum(1 - depth, 0)
            b = np.exp(-(d + alpha) * dt)
            decay[inside] = b
            gain[inside] = d / (d + alpha) * (b - 1)
            if sponge_power:
                damping[inside] = np.exp(-np.minimum(d0 * depth**sponge_power * dt, MOST_DAMPING))
        return Profiles(decay, gain, damping)
