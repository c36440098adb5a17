"""The figures that `plot_*` return. Only this module imports matplotlib at its top."""

from io import BytesIO
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure that notebooks display. They display plain figures of matplotlib only after pyplot was imported."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        stream = BytesIO()
        self.savefig(stream, format="png")
        return stream.getvalue()
