"""Estimates of the memory and time of gradients before they are computed."""

import attrs

from .limits import readable
from .options import MemoryOptions

PURPOSES = "history", "states", "workspace", "records", "gradients", "inputs"


@attrs.frozen
class MemoryUse:
    """Largest memory of a gradient at one time: bytes by purpose, on the device, at the host and on disk.

    The purposes are ``"history"`` and ``"states"`` for the adjoint, ``"workspace"`` of compiled code, ``"records"`` and
    residuals, ``"gradients"`` and ``"inputs"``. Gradients include the buffers of the chain rule to the models. Inputs
    are coefficients of the padded grid, wavelets and rows of positions.
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
    """Memory and time of a gradient by one memory strategy.

    Parameters
    ----------
    memory : MemoryOptions
        The options of the strategy.
    use : MemoryUse
        Bytes of the gradient.
    time : float
        Time over that of a gradient with a full history, whose adjoint counts as two forward runs.
    fits : bool, optional
        True if the device has that memory left; None if unknown.
    """

    memory: MemoryOptions
    use: MemoryUse
    time: float
    fits: bool | None = None


@attrs.frozen
class Estimate:
    """Memory and time of a gradient by each strategy; ``print`` shows a table.

    Parameters
    ----------
    costs : tuple of Cost
        The strategies, fastest first; among equally fast ones the lossless ones first.
    current : Cost
        Cost of the solver's own `memory`.
    left : int, optional
        Bytes left on the device; None if unknown.
    """

    costs: tuple[Cost, ...]
    current: Cost
    left: int | None = None

    @property
    def fastest(self) -> Cost | None:
        """The first strategy that fits; None if none does."""
        return next((cost for cost in self.costs if cost.fits is not False), None)

    def __str__(self):
        named = [*((str(cost.memory), cost) for cost in self.costs), (f"here: {self.current.memory}", self.current)]
        rows = [["", "time", "device", "", "host", "disk", *PURPOSES], *(_row(*pair) for pair in named)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        left = "unknown" if self.left is None else readable(self.left)
        lines = ("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows)
        return "\n".join([*map(str.rstrip, lines), f"left on the device: {left}"])


def _row(name: str, cost: Cost) -> list[str]:
    """Return a row of the table."""
    places = attrs.astuple(cost.use, recurse=False)
    device, host, disk, *purposes = (
        *(sum(p.values()) for p in places),
        *(sum(p.get(x, 0) for p in places) for x in PURPOSES),
    )
    note = "too large" if cost.fits is False else ""
    written = [readable(size) if size else "-" for size in (device, host, disk, *purposes)]
    return [name, f"{cost.time:.2f}", written[0], note, *written[1:]]
