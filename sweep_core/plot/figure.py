"""The figure that `plot_*` make; the one module that imports matplotlib with itself."""

from io import BytesIO
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


class ShownFigure(Figure):
    """Notebooks show it as it is: they know those of matplotlib only where pyplot was imported."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        stream = BytesIO()
        self.savefig(stream, format="png")
        return stream.getvalue()
