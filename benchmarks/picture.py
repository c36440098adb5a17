"""The bar chart of the comparison."""

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

COLOURS = {
    "SWEEP": "#1b4f72",
    "SWEEP everywhere": "#5dade2",
    "Deepwave": "#b9770e",
    "Devito": "#7d8b8c",
    "sweep-solver": "#943126",
    "sweep-solver JAX": "#d98880",
}


def draw(path, lines: dict, roofline: float) -> None:
    """Draw Gcell/s of every problem and side; `roofline` is the limit by the memory bandwidth."""
    names = list(next(iter(lines.values())))
    figure = Figure((9, 0.15 * len(lines) * (len(names) + 1) + 1.4), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    height = 0.85 / len(names)
    for i, name in enumerate(names):
        rates = [line[name] for line in lines.values()]
        positions = [row + (i - (len(names) - 1) / 2) * height for row in range(len(lines))]
        bars = axis.barh(positions, rates, height, label=name, color=COLOURS[name])
        axis.bar_label(bars, fmt="%.3g", padding=2, fontsize=7)
    axis.axvline(roofline, color="black", lw=0.8, ls="--", label="memory: triad / 16 bytes a cell")
    axis.set(xscale="log", xlabel="Gcell/s, float32 (logarithmic)")
    axis.set_yticks(range(len(lines)), list(lines), fontsize=8)
    axis.invert_yaxis()
    figure.legend(fontsize=8, loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=120)
