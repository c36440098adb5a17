"""What gradients will take before they are computed: bytes by place and purpose, and time."""

import attrs

from .limits import readable
from .options import MemoryOptions

PURPOSES = "history", "states", "workspace", "records", "gradients", "inputs"


@attrs.frozen
class MemoryUse:
    """Bytes by purpose that a gradient takes at most at once, on the device, at the host and on disk: the ``"history"``
    and ``"states"`` that are kept for the adjoint, ``"workspace"`` of compiled code, ``"records"`` and residuals,
    ``"gradients"`` with what takes them to the models, and ``"inputs"``: coefficients of the padded grid, wavelets,
    positions as rows.
    """

    device: dict[str, int] = attrs.field(factory=dict)
    host: dict[str, int] = attrs.field(factory=dict)
    disk: dict[str, int] = attrs.field(factory=dict)

    @property
    def on_device(self) -> int:
        """Bytes on the device, for all purposes."""
        return sum(self.device.values())


@attrs.frozen
class Cost:
    """One way to remember a run.

    Parameters
    ----------
    memory : MemoryOptions
        The options that ask for it.
    taken : MemoryUse
    time : float
        Relative to that of a gradient whose history is kept, the adjoint counted as two forward runs.
    fits : bool, optional
        Whether that is left on the device; None where nothing tells.
    """

    memory: MemoryOptions
    taken: MemoryUse
    time: float
    fits: bool | None = None


@attrs.frozen
class Estimate:
    """What a gradient takes by each strategy; ``print`` shows a table.

    Parameters
    ----------
    costs : tuple of Cost
        The strategies, fastest first; of those that take the same time the lossless ones.
    chosen : Cost
        What the solver's own `memory` gives.
    left : int, optional
        Bytes that are left on the device; None where nothing tells.
    """

    costs: tuple[Cost, ...]
    chosen: Cost
    left: int | None = None

    @property
    def fastest(self) -> Cost | None:
        """The first that fits."""
        return next((cost for cost in self.costs if cost.fits is not False), None)

    def __str__(self):
        named = [*((str(cost.memory), cost) for cost in self.costs), (f"here: {self.chosen.memory}", self.chosen)]
        rows = [["", "time", "device", "", "host", "disk", *PURPOSES], *(_row(*pair) for pair in named)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        left = "unknown" if self.left is None else readable(self.left)
        lines = ("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows)
        return "\n".join([*map(str.rstrip, lines), f"left on the device: {left}"])


def _row(name: str, cost: Cost) -> list[str]:
    """A line of the table."""
    places = attrs.astuple(cost.taken, recurse=False)
    device, host, disk, *purposes = (
        *(sum(p.values()) for p in places),
        *(sum(p.get(x, 0) for p in places) for x in PURPOSES),
    )
    note = "too large" if cost.fits is False else ""
    written = [readable(size) if size else "-" for size in (device, host, disk, *purposes)]
    return [name, f"{cost.time:.2f}", written[0], note, *written[1:]]
