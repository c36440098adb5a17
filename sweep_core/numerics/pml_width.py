"""The width of an absorbing layer for a target of its echo, by a table of measured echoes.

The echo is the difference between the record and that of an earth that continues. It is relative to the peak of the
direct wave at the receiver. :data:`ECHOES` holds the worst of all cases of ``python -m benchmarks.pml_width``, which
prints its lines. The cases are explosions and forces in uniform earths of several equations:

- Waves travel at 0.5 to 1 times `pml_velocity`.
- Wavelets peak at 0.4 to 3 times `pml_freq`, and have 8 or 32 cells to their shortest wavelength.
- Sources and receivers are 30 cells from the layer. Offsets reach :data:`FARTHEST` times this distance.
- Under a free surface, sources lie 0 or 10 cells below it. Receivers lie along the surface, and along the sides.
- There are two dimensions. In three, echoes spread more than the direct wave and are lower.
"""

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from ..errors import DomainError, OptionError, UnsupportedError

DEFAULT = 20
"""Cells of a layer if neither a width nor a target is stated."""
WIDTHS = (6, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 50, 60, 80, 100, 120, 160)
"""The measured widths in cells."""
HIGHEST = 16
"""The highest spatial order that the table covers."""
FARTHEST = {"cpmlr": 12, "cpmls": 12, "mpmls": 2, "sponge": 2}
"""Offsets of the farthest receivers in distances from the layer: 12 is 80 degrees of incidence, 2 is 45.

Multi-axial layers and sponges reflect grazing waves at any width.
"""
ECHOES: Mapping[str, Mapping[int, Sequence[int]]] = {
    "cpmlr": {
        2: (-24, -33, -39, -46, -53, -61, -69, -77, -90, -90, -90, -90, -90, -90, -90, -90, -90, -90),
        4: (-21, -28, -35, -42, -50, -57, -65, -73, -80, -83, -87, -90, -90, -90, -90, -90, -90, -90),
        8: (-19, -26, -33, -40, -47, -54, -61, -69, -85, -89, -90, -90, -90, -90, -90, -90, -90, -90),
        16: (-18, -25, -32, -39, -46, -52, -59, -67, -82, -90, -90, -90, -90, -90, -90, -90, -90, -90),
    },
    "cpmls": {
        2: (-19, -21, -24, -27, -31, -34, -38, -42, -50, -59, -67, -87, -90, -90, -90, -90, -90, -90),
        4: (-22, -34, -46, -56, -62, -69, -76, -82, -90, -90, -90, -90, -90, -90, -90, -90, -90, -90),
        8: (-22, -32, -42, -52, -61, -70, -79, -86, -90, -90, -90, -90, -90, -90, -90, -90, -90, -90),
        16: (-18, -26, -37, -46, -55, -65, -75, -87, -90, -90, -90, -90, -90, -90, -90, -90, -90, -90),
    },
    "mpmls": {
        2: (-20, -21, -23, -24, -26, -27, -29, -30, -32, -34, -36, -40, -44, -47, -53, -58, -61, -66),
        4: (-21, -23, -25, -27, -28, -30, -31, -33, -35, -37, -40, -43, -47, -50, -54, -58, -61, -66),
    },
    "sponge": {
        4: (-11, -12, -12, -13, -13, -13, -13, -14, -14, -15, -16, -18, -19, -21, -24, -28, -31, -38),
    },
}
"""The worst echo (dB, rounded up) at each of :data:`WIDTHS`, by type of layer and spatial order.

Multi-axial layers reflect less at higher orders, and sponges, which have no differences, reflect the same at all.
"""


def angle_of(layer: str) -> int:
    """Return the largest angle of incidence (degrees) that the table covers."""
    return math.floor(math.degrees(math.atan(FARTHEST[layer] / 2)))


def echoes_of(layer: str, order: int) -> list[int] | None:
    """Return the worst echo at each of :data:`WIDTHS`, or None if the table does not cover a layer at this order.

    Between two measured orders it is the worse one of both.
    """
    rows = ECHOES.get(layer)
    if not rows or order > HIGHEST:
        return None
    below, above = max((n for n in rows if n <= order), default=min(rows)), [n for n in rows if n >= order]
    return [max(pair) for pair in zip(rows[below], rows[min(above, default=below)], strict=True)]


def width_for(target: float, layer: str, order: int) -> int:
    """Return the fewest cells, of :data:`WIDTHS`, whose measured echo is at most `target` decibels of the direct wave.

    Raises
    ------
    OptionError, DomainError
        `target` is no number, or not below zero.
    UnsupportedError
        No measured layer of this type and spatial order has so low an echo.
    """
    if not isinstance(target, Real) or isinstance(target, bool):
        raise OptionError(f"pml_target_db is {target!r}; expected decibels below 0, such as -60")
    if not -math.inf < target < 0:
        raise DomainError(f"pml_target_db is {target!r}; expected decibels below 0, such as -60")
    echoes = echoes_of(layer, order)
    if echoes is None:
        raise UnsupportedError(
            f"pml_target_db is {target!r} for layers of type {layer!r} at spatial_order {order}, whose echo was not "
            f"measured; expected {', '.join(FARTHEST)} at orders 2 to {HIGHEST}: pass pml_width"
        )
    for width, echo in zip(WIDTHS, echoes, strict=True):
        if echo <= target:
            return width
    raise UnsupportedError(
        f"pml_target_db is {target!r} for layers of type {layer!r} at spatial_order {order}; expected {min(echoes)} or "
        f"more, the echo of the widest measured layer, of {WIDTHS[-1]} cells: pass pml_width, or another pml_type"
    )


def stated_width(width: Any, target: Any, layers: Sequence[str], order: int, free_surface: bool) -> Any:
    """Return `width`, or the number of each face that a target chooses, or else :data:`DEFAULT`.

    `layers` has the type of each axis.

    Raises
    ------
    OptionError
        Both are stated.
    """
    if target is None:
        return DEFAULT if width is None else width
    if width is not None:
        raise OptionError(f"pml_width is {width!r} and pml_target_db is {target!r}; give one of them")
    cells = [n for layer in layers for n in 2 * [width_for(target, layer, order)]]
    return (0, *cells[1:]) if free_surface else tuple(cells)


def described(widths: Sequence[tuple[int, int]], target: float, layers: Sequence[str], order: int) -> str:
    """Return the widths that a target chose, and the measured echo of each type of layer."""
    texts = []
    for layer in dict.fromkeys(layers):
        cells = width_for(target, layer, order)
        echo = (echoes_of(layer, order) or [])[WIDTHS.index(cells)]
        texts.append(f"{cells} cells of {layer!r} leave {echo} dB up to {angle_of(layer)} degrees of incidence")
    faces = [n for pair in widths for n in pair]
    cells_of_faces = faces[0] if len(set(faces)) == 1 else tuple(faces)
    return f"pml_width={cells_of_faces} for pml_target_db={target:g}: {', '.join(texts)}"
