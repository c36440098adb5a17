"""``python -m benchmarks.gpu``: SWEEP on a CUDA device, beside a triad and, where it is installed, Deepwave.

Runs are long, so that waves fill the grid. Every problem is a line of gpu.md and an entry of gpu.json in the folder
--out. Both files are written after each problem, so an interrupted run keeps its measurements.
"""

import argparse
import datetime
import json
import math
import os
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import attrs
import numpy as np
import torch
from tqdm import tqdm

from sweep_core import AcousticVariableDensity, Elastic
from sweep_core.native import load

from . import sides, staggered
from .cases import GRADIENT, Case
from .staggered import shape_difference
from .timing import Job, alternate, ratio, triad

BYTES = 16  # per cell and step of the acoustic leapfrog in float32
ACOUSTIC = [
    GRADIENT,
    Case("1000 x 1000 + 20, nt 2000, 1 shot, order 4", (1000, 1000), 20, 2000, 1, 4),
    Case("1000 x 1000 + 20, nt 2000, 4 shots, order 8", (1000, 1000), 20, 2000, 4, 8),
    Case("150^3 + 20, nt 500, order 4", (150,) * 3, 20, 500, 1, 4),
    Case("150^3 + 20, nt 500, order 8", (150,) * 3, 20, 500, 1, 8),
    Case("512^3 + 20, nt 200, order 8", (512,) * 3, 20, 200, 1, 8),
    Case("512^3, no absorbing layer, nt 200, order 8", (512,) * 3, 0, 200, 1, 8),
]
STAGGERED = [
    staggered.Case(Elastic, (500, 500), 1000),
    staggered.Case(AcousticVariableDensity, (500, 500), 1000),
    staggered.Case(Elastic, (150, 150, 150), 300),
    staggered.Case(Elastic, (256, 256, 256), 200),
]


@attrs.frozen
class Line:
    """One problem: rates in Gcell/s with the PML, memory in GiB at the peak of a gradient, ratios of seconds."""

    problem: str
    forward: float
    gradient: float
    own_forward_runs: float
    triad_share: float  # share of the rate that the bandwidth allows; NaN where bytes per cell are not counted
    peak: float
    deepwave_forward: float = math.nan
    deepwave_gradient: float = math.nan

    def cells(self) -> list[str]:
        numbers = attrs.astuple(self)[1:]
        return [self.problem, *("" if math.isnan(x) else f"{x:.3g}" for x in numbers)]


HEAD = (
    "problem",
    "forward, Gcell/s",
    "gradient, Gcell/s",
    "own forward runs",
    "forward / triad's",
    "peak, GiB",
    "forward x Deepwave",
    "gradient x Deepwave",
)


def small(case):
    """Return the same problem, so small that any machine runs it."""
    return attrs.evolve(case, shape=tuple(max(n // 8, 60) for n in case.shape), steps=30)


def peak_of(call, device: str) -> float:
    """Return the peak memory of a call on the device, GiB; NaN on a CPU."""
    if device == "cpu":
        return math.nan
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    call()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated(device) / 2**30


def measure(case, module, device: str, rounds: int, bandwidth: float) -> Line:
    """Time both sides of the module on a case; exit if their records differ by more than 5 %, up to one factor."""
    ours = module.Sweep(case, device=device)
    jobs = {operation: Job(getattr(ours, operation), case.cell_updates) for operation in ("forward", "gradient")}
    if find_spec("deepwave"):
        peer = module.Deepwave(case, device)
        difference = shape_difference(ours.forward(), peer.forward())
        if not difference <= 0.05:
            sys.exit(f"{case.name}: SWEEP and Deepwave differ by {difference:.1%}: not the same problem")
        jobs |= {
            f"deepwave_{operation}": Job(getattr(peer, operation), case.cell_updates)
            for operation in ("forward", "gradient")
        }
    peak = peak_of(ours.gradient, device)
    alternate(jobs, 1)
    costs = alternate(jobs, rounds)
    rates = {operation: 1e-9 / float(np.median(costs[operation])) for operation in ("forward", "gradient")}
    ratios = {name: ratio(costs[name], costs[name.removeprefix("deepwave_")]) for name in jobs if "deepwave" in name}
    share = rates["forward"] * BYTES / bandwidth if module is sides else math.nan
    return Line(
        case.name, **rates, own_forward_runs=ratio(costs["gradient"], costs["forward"]), triad_share=share, peak=peak,
        **ratios,
    )  # fmt: skip


def machine(device: str) -> dict[str, str]:
    """Return the machine, the versions, the date and the command of the measurement."""
    card, driver = "none: tried on a CPU", ""
    if device != "cpu":
        card = torch.cuda.get_device_name(device)
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.split("\n")[0]
    return {
        "card": card,
        "driver": driver,
        "torch": torch.__version__,
        "sweep": version("seismic-sweep"),
        "build": load("cpu" if device == "cpu" else "cuda").isa,
        "deepwave": version("deepwave") if find_spec("deepwave") else "not installed",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "command": "python -m benchmarks.gpu " + " ".join(sys.argv[1:]),
    }


def write(folder: Path, about: dict, lines: list[Line]) -> None:
    """Write gpu.json and gpu.md; each file changes as a whole or not at all."""
    row = "| {} |".format
    description = "; ".join(f"{name}: {value}" for name, value in about.items() if value)
    table = [description, "", row(" | ".join(HEAD)), row(" | ".join("---" for _ in HEAD))]
    table += [row(" | ".join(line.cells())) for line in lines]
    problems = [{k: None if v != v else v for k, v in attrs.asdict(line).items()} for line in lines]
    texts = {"gpu.md": "\n".join(table) + "\n", "gpu.json": json.dumps(about | {"problems": problems}, indent=1) + "\n"}
    for name, text in texts.items():
        (folder / f"{name}.part").write_text(text)
        os.replace(folder / f"{name}.part", folder / name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda", help="cpu: to try this script")
    parser.add_argument("--small", action="store_true", help="small problems, to try this script")
    parser.add_argument("--repeats", type=int, default=5, help="rounds")
    parser.add_argument("--out", type=Path, default=Path("build/gpu"), help="the folder of gpu.md and gpu.json")
    arguments = parser.parse_args()
    if arguments.device != "cpu" and not torch.cuda.is_available():
        parser.error("torch finds no CUDA device; --device cpu --small tries the script")
    arguments.out.mkdir(parents=True, exist_ok=True)
    bandwidth = triad(arguments.device)
    about = machine(arguments.device) | {"triad": f"{bandwidth:.0f} GB/s", "rounds": str(arguments.repeats)}
    lines: list[Line] = []
    jobs = [(case, sides) for case in ACOUSTIC] + [(case, staggered) for case in STAGGERED]
    for case, module in tqdm(jobs, unit="problem"):
        lines.append(
            measure(small(case) if arguments.small else case, module, arguments.device, arguments.repeats, bandwidth)
        )
        write(arguments.out, about, lines)
    print((arguments.out / "gpu.md").read_text())


if __name__ == "__main__":
    main()
