"""A figure of one shot: model, gather and waves."""

from typing import Any

from .canvas import panel_size, panels
from .colours import add_colour_bar, largest
from .gathers import amplify, draw_gather, read_gathers, read_receivers
from .inputs import as_model, as_numbers
from .models import draw_section
from .survey import add_legend, draw_survey, read_survey
from .waves import draw_snapshot, name_waves, read_snapshots, wave_clip


def plot_shot(
    model: Any, dh: Any, dt: float, *, sources: Any, receivers: Any, record: Any, snapshots: Any, times: Any,
    solver: Any = None, field: Any = None, wave: str | None = None, gain: Any = 1.0, percentile: float = 97.0,
    label: str | None = None, ax: Any = None,
) -> Any:  # fmt: skip
    """Plot one shot: model and survey, gather, and the waves after two and three fifths of the snapshots.

    Parameters
    ----------
    model : (nz, nx) array, or a list of one
        vp (m/s).
    dh, dt : float
        Grid spacing (m), and sampling interval of the record (s).
    sources, receivers : array of int or float
        Positions (x, z) of this shot in cells.
    record : (nt, nrec) or (1, nt, nrec, nfield) array
        The gather.
    snapshots, times : (nsnap, nz, nx) and (nsnap,) array
        Snapshots and their times (s), see `plot_snapshots`.
    solver, field, gain
        See `plot_gather`; amplitudes are multiplied by t by default.
    wave : str, optional
        Field of the snapshots, with `solver`; the first recorded field by default.
    percentile : float
        Amplitudes beyond this percentile of their magnitudes are clipped. In snapshots, only cells with waves count.
    label : str, optional
        Name of the quantity in gather and snapshots; by default the field and its unit, or "amplitude" without a
        solver.
    ax : four matplotlib Axes, optional
        Axes to draw into; by default those of a new figure.

    Returns
    -------
    matplotlib Figure
        The figure.

    Raises
    ------
    SweepError
        A ShapeError, DtypeError, DomainError or OptionError that names the argument.
    UnsupportedError
        matplotlib is not installed.
    """
    model = as_model(model, "the model", "(nz, nx)", (2,))
    snapshots, times, steps, model = read_snapshots(snapshots, times, dh, model)
    gathers, gather_label = read_gathers(record, 1, solver, field, label)
    survey, waves = read_survey(sources, receivers, model.shape), name_waves(solver, wave, label)
    x = as_numbers(receivers, "receivers", "columns (x, z) in cells", (1, 2, 3)).reshape(-1, 2)[:, 0] * steps[1] * 1e3
    gather, gather_label = amplify(gathers[0], dt, gain, gather_label)
    places, xlabel = read_receivers(x, gather.shape[1])

    width, height = panel_size(model.shape * steps, 12.0, 2, 2, bars=2)
    size = max(width, 7.0), max(height, 5.8)
    figure, (left, right, *below) = panels(ax, 4, size, lambda new: new.subplots(2, 2))
    add_colour_bar(figure, draw_section(left, model, steps), left, "vp (m/s)", model)
    draw_survey(left, survey, steps)
    add_legend(left)
    left.set_title("model", loc="left")
    clip = largest(gather, percentile)
    image = draw_gather(right, gather, dt, places, clip)
    right.set(xlabel=xlabel, ylabel="time (s)")
    right.set_title("gather", loc="left")
    add_colour_bar(figure, image, right, gather_label, gather)
    clip = wave_clip(snapshots, percentile)
    for axis, n in zip(below, (2 * len(times) // 5, 3 * len(times) // 5), strict=True):
        image = draw_snapshot(axis, snapshots[n], steps, clip, model)
        axis.set_title(f"waves at {times[n]:.2f} s", loc="left")
        add_colour_bar(figure, image, axis, waves, snapshots[n])
    return figure
