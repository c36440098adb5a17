"""How an inversion went on."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import DomainError
from .canvas import new_figure

_NEEDED = ("stage", "about", "gradients", "misfit")


def plot_history(history: Sequence[Mapping[str, Any]], *, ax: Any = None) -> Any:
    """The misfit of each stage over that at its start, against the gradients that were computed.

    Parameters
    ----------
    history : sequence of mappings
        That of :class:`sweep_core.inversion.Inverted`.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    DomainError
        Where the history is empty, or its lines are those of something else.
    """
    if not history or not all(name in line for line in history for name in _NEEDED):
        raise DomainError(f"the history has {len(history)} lines; expected some with {', '.join(_NEEDED)}")
    figure = new_figure((7.0, 3.5)) if ax is None else ax.figure
    axis = figure.subplots() if ax is None else ax
    for number in sorted({line["stage"] for line in history}):
        lines = [line for line in history if line["stage"] == number]
        first = lines[0]["misfit"] or 1.0
        done = [line["gradients"] for line in lines]
        axis.plot(done, [100 * line["misfit"] / first for line in lines], "o-", ms=3, label=lines[0]["about"])
    axis.set(xlabel="gradients of all shots", ylabel="misfit (% of the start of its stage)", ylim=(0, None))
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    return figure
