"""Strategy ``'full'``: every step is kept."""

from .strategy import Kept, Run, Strategy, adjoint_steps


class Full(Strategy):
    """Keeps the history of all steps."""

    def keep(self, run: Run) -> Kept:
        return Kept(adjoint_steps(run.nt))

    def segment(self, nt: int, barred: str = "") -> int:
        return nt
