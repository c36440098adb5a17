"""Strategy ``'full'``: every step is kept."""

from .strategy import Run, Strategy, adjoint_steps


class Full(Strategy):
    """Keeps the history of all steps."""

    def chunk(self, run: Run) -> int:
        return adjoint_steps(run.nt)

    def segment(self, nt: int, barred: str = "") -> int:
        return nt
