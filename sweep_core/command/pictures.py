"""The pictures of an inversion."""

from pathlib import Path
from typing import Any

from ..io import Gathers
from ..plot import plot_comparison, plot_epoch, save


def draw(folder: Path, models: dict[str, Any], dh: Any, data: Gathers, record: Any, shot: int, **told: Any) -> None:
    """``model.png``, of models by name, and ``traces.png``: the record of one shot over what was observed of it."""
    now = models["inverted"]
    named = {name: models[name] for name in ("start", "true") if name in models}
    figure = plot_epoch(now, dh, **named, sources=data.sources, receivers=data.receivers, **told)
    save(figure, folder / "model.png")
    save(plot_comparison(data.take([shot]), record, gain=1.0), folder / "traces.png")
