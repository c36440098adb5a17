"""Memory against time of a gradient by each strategy: `python -m benchmarks.memory --threads 1 --out memory.png`."""

import argparse
import math
from pathlib import Path

import numpy as np
import torch

from sweep_core import BoundaryOptions, CkptOptions, MemoryOptions
from sweep_core.memory.limits import readable
from sweep_core.plot.canvas import new_figure, save
from sweep_torch import empty_pool

from .cases import Case
from .sides import Sweep
from .timing import Job, alternate, ratio

CASE = Case("141 x 681 + 20, nt 2000, order 4", (141, 681), 20, 2000, 1, 4, receivers=681)


def ckpt(**options) -> MemoryOptions:
    return MemoryOptions("ckpt", ckpt=CkptOptions(**options))


def boundary(dtype: str) -> MemoryOptions:
    return MemoryOptions("boundary", boundary=BoundaryOptions(dtype=dtype))


FULL, STRIPS = (MemoryOptions("full"), "exact"), ("float32", "float16", "int8")
CURVES = {
    "full; in 16 and 8 bits": [FULL, *((MemoryOptions("full", dtype=dtype), "exact") for dtype in ("float16", "int8"))],
    "full, every 2nd, 4th step": [(MemoryOptions("full", interval=interval), "exact") for interval in (2, 4)],
    "ckpt, chunks": [(ckpt(chunks=chunks), "exact") for chunks in (4, 10, 20, 45, 90)],
    "ckpt, chunks on disk": [(ckpt(chunks=chunks, storage="disk"), "exact") for chunks in (10, 20, 45, 90)],
    "ckpt, recursive": [(ckpt(mode="recursive", count=count), "exact") for count in (3, 6, 11, 20, 40)],
    "boundary; in 16 and 8 bits": [(boundary(dtype), "exact") for dtype in STRIPS],
    "boundary, interior; 16, 8 bits": [(boundary(dtype), "interior") for dtype in STRIPS],
}
"""Points (strategy, edge_gradient) of each curve."""


def held_at_once(call, device: str) -> int:
    """Return the peak of bytes that torch holds on the device during the first call."""
    empty_pool()
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()
        call()
        return torch.cuda.max_memory_allocated()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        call()
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    return int(np.cumsum([e.nbytes() for e in sorted(events, key=lambda e: e.start_ns())]).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--steps", type=int, default=CASE.steps)
    parser.add_argument("--out", type=Path, default="memory.png", help="the picture")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    case = CASE.first_steps(CASE.cell_updates * arguments.steps / CASE.steps)
    sides = {way: Sweep(case, way[0], arguments.device, way[1]) for curve in CURVES.values() for way in curve}
    sizes = {way: held_at_once(side.gradient, arguments.device) for way, side in sides.items()}
    empty_pool()
    costs = alternate({way: Job(side.gradient) for way, side in sides.items()}, arguments.repeats + 1)
    times = {way: ratio(cost[1:], costs[FULL][1:]) for way, cost in costs.items()}  # the first touches memory
    best = min(costs[FULL][1:])
    print(f"{case.name}, {arguments.device}, {arguments.threads} threads: a gradient with 'full' {best:.3f} s\n")
    print("| memory | held at once | estimated | time of 'full' | counted |\n|---|---|---|---|---|")
    for way, side in sides.items():
        estimate = side.solver.estimate(case.shots, case.steps, nreceivers=case.receivers).current
        sizes_text = f"{readable(sizes[way])} | {readable(estimate.use.on_device)}"
        edge = f', edge_gradient="{way[1]}"' if way[1] != "exact" else ""
        print(f"| `{way[0]}`{edge} | {sizes_text} | {times[way]:.2f} | {estimate.time:.2f} |")
    figure = new_figure((7, 4))
    axis = figure.subplots()
    for name, curve in CURVES.items():
        axis.plot([sizes[way] / 2**20 for way in curve], [times[way] for way in curve], "o-", ms=4, label=name)
    axis.set(xscale="log", xlabel="MiB on the device", ylabel="time of a gradient over that of 'full'", title=case.name)
    axis.set_ylim(0, math.ceil(max(times.values()) + 0.2))
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    save(figure, arguments.out)
    print(f"\npicture: {arguments.out}")


if __name__ == "__main__":
    main()
