"""One shot on a page."""

from pathlib import Path
from typing import Any

import numpy as np

from .canvas import add_colour_bar, as_numbers, largest, new_figure, panel_size, save
from .gathers import amplify, draw_gather, read_gathers, read_receivers
from .models import draw_section
from .survey import add_legend, draw_survey, read_survey
from .waves import draw_snapshot, read_snapshots, wave_clip


def plot_shot(
    path: Path | str, model: Any, dh: Any, dt: float, *, sources: Any, receivers: Any, record: Any, snapshots: Any,
    times: Any, percentile: float = 97.0,
) -> None:  # fmt: skip
    """One shot on a page: model and survey, gather, and the waves at two and at three fifths of the time.

    Parameters
    ----------
    path : path
        The picture; its suffix names the format.
    model : (nz, nx) array
        vp, m/s.
    dh, dt : float
        Spacing, m, and sampling interval of the record, s.
    sources, receivers : array of int or float
        Positions (x, z) of this shot in cells.
    record : (nt, nrec) or (1, nt, nrec, 1) array
        The gather.
    snapshots, times : (nsnap, nz, nx) and (nsnap,) array
        As in `plot_snapshots`.
    """
    model = as_numbers(model, "the model", "(nz, nx)", (2,))
    snapshots, times, steps, model = read_snapshots(snapshots, times, dh, model)
    gathers, survey = read_gathers(record, 1), read_survey(sources, receivers, model.shape)
    x = np.asarray(receivers).reshape(-1, 2)[:, 0] * steps[1] * 1e3
    gather = amplify(gathers[0], dt, 1)
    places, xlabel = read_receivers(x, gather.shape[1])

    width, height = panel_size(model.shape * steps, 12.0, 2, 2)
    figure = new_figure((max(width, 7.0), max(height, 5.8)))
    ((left, right), below) = figure.subplots(2, 2)
    add_colour_bar(figure, draw_section(left, model, steps), left, "vp (m/s)", model)
    draw_survey(left, survey, steps)
    add_legend(left)
    left.set_title("model", loc="left")
    clip = largest(gather, percentile)
    image = draw_gather(right, gather, dt, places, clip)
    right.set(xlabel=xlabel, ylabel="time (s)")
    right.set_title("gather", loc="left")
    add_colour_bar(figure, image, right, "pressure × t", gather)
    clip = wave_clip(snapshots, percentile)
    for axis, n in zip(below, (2 * len(times) // 5, 3 * len(times) // 5), strict=True):
        image = draw_snapshot(axis, snapshots[n], steps, clip, model)
        axis.set_title(f"waves at {times[n]:.2f} s", loc="left")
        add_colour_bar(figure, image, axis, "pressure", snapshots[n])
    save(figure, path, dpi=100)
