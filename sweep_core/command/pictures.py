"""The pictures of an inversion."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..io import Gathers
from ..plot import plot_comparison, plot_history, plot_parameters
from ..plot.canvas import save


def draw(
    folder: Path, labels: Sequence[str], models: Mapping[str, Sequence[np.ndarray]], dh: Any, history: list,
    data: Gathers, record: Callable[[Sequence[np.ndarray]], np.ndarray],
) -> None:  # fmt: skip
    """``model.png``, ``misfit.png`` and ``traces.png``: models by name, the inverted one at last, whose record of the
    middle shot is laid over the observed one.
    """
    plot_parameters(folder / "model.png", labels, {name: np.stack(each) for name, each in models.items()}, dh)
    save(plot_history(history), folder / "misfit.png")
    middle = data.take([len(data) // 2])
    save(plot_comparison(middle, record(list(models.values())[-1]), gain=1.0), folder / "traces.png")
