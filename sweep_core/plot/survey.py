"""Drawing of sources and receivers on a map or section."""

from typing import Any

import numpy as np

from ..errors import DomainError, ShapeError
from .inputs import as_numbers

AXES = {2: ("z", "x"), 3: ("z", "y", "x")}
Survey = tuple[np.ndarray | None, np.ndarray | None]
MOST = 40  # markers along a line

_STYLES: dict[str, dict[str, Any]] = {
    "source": {"marker": "*", "markersize": 15, "color": "#e6232a", "zorder": 6},
    "receiver": {"marker": "v", "markersize": 6, "color": "white", "zorder": 5},
}


def read_survey(sources: Any, receivers: Any, shape: tuple[int, ...]) -> Survey:
    """Return the distinct positions of all shots in cells, (n, ndim), columns in the order of the axes, or None."""
    return _read(sources, "sources", shape), _read(receivers, "receivers", shape)


def _read(positions: Any, name: str, shape: tuple[int, ...]) -> np.ndarray | None:
    if positions is None:
        return None
    ndim, columns = len(shape), ", ".join(reversed(AXES[len(shape)]))
    expected = f"columns ({columns}) in cells: (n, {ndim}) or (nshots, n, {ndim})"
    array = as_numbers(positions, name, expected, (1, 2, 3))
    if array.shape[-1] != ndim:
        raise ShapeError(f"{name} has shape {array.shape}; expected {expected}")
    places = np.unique(array.reshape(-1, ndim), axis=0)[:, ::-1]
    outside = ~((places >= -0.5) & (places <= np.array(shape) - 0.5))
    if outside.any():
        row, axis = np.argwhere(outside)[0]
        raise DomainError(
            f"{name}: {AXES[ndim][axis]} = {places[row, axis]:g} (cells) lies outside 0..{shape[axis] - 1}; "
            f"expected {expected}"
        )
    return places


def draw_survey(axis: Any, survey: Survey, dh: np.ndarray, rows: int = 0, columns: int = -1) -> None:
    """Draw sources as stars and receivers as triangles, over a section along the axes `rows` and `columns`."""
    for places, (name, base) in zip(survey, _STYLES.items(), strict=True):
        if places is not None:
            points = np.unique(places[:, [columns, rows]], axis=0) * (dh[columns], dh[rows])
            # Markers must not hide each other: along a line some are left out, on a map all are smaller.
            every = -(-len(points) // MOST) if rows == 0 else 1
            crowd = {"receiver": 2 * MOST, "source": 8}[name]
            shrink = min(1.0, max(0.5, (crowd / len(points)) ** 0.5)) if rows or name == "source" else 1.0
            label = f"{len(places)} {name}{'s' * (len(places) > 1)}" + f" (one in {every} drawn)" * (every > 1)
            style = {**base, "markersize": base["markersize"] * shrink, "markeredgewidth": 0.7 * shrink}
            x, z = points[(len(points) - 1) % every // 2 :: every].T
            axis.plot(x, z, linestyle="none", clip_on=False, markeredgecolor="black", label=label, **style)


def add_legend(axis: Any, **place: Any) -> None:
    """Add a legend with the numbers of sources and receivers, by default above the axes on the right."""
    if axis.get_legend_handles_labels()[1]:
        place = place or {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.25, "ncols": 2}
        axis.legend(frameon=False, handletextpad=0.1, columnspacing=1.0, **place)
