"""``python -m benchmarks``: SWEEP and its peers on the same problems, alternating in one process.

A ratio is the median over the rounds. The warm-up is a comparison: all must agree to 5 % on the record, or on the
gradient off the outermost cells, whose conventions differ. SWEEP does not compute cells that no wave can have reached,
nor cells from which no wave can reach a receiver any more. The cost of computing everywhere, as the peers do, is shown
as well.
"""

import argparse
import os
import sys
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import torch

from sweep_core.native import load

from .cases import BARE, GRADIENT, LONG, LONG_GRADIENTS, PLANE, SPACE, Case
from .devito import Devito
from .picture import draw
from .sides import Deepwave, Sweep
from .sweep_solver import Eager, Jax
from .timing import Job, alternate, everywhere, ratio, triad

BYTES = (
    16  # per cell and step of the leapfrog in float32: two levels and the coefficient are read, one level is written
)
PEERS = [Deepwave, Devito, Eager, Jax]
OURS = ["SWEEP", "SWEEP everywhere"]


def row(*cells) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def digits(x: float) -> str:
    """Format a number with three digits."""
    return f"{x:.0f}" if x >= 1000 else f"{x:#.3g}".rstrip(".")


def installed() -> list:
    """Print the table of the peers; return those that are installed."""
    available = []
    row("side", "version", "of each problem")
    row("---", "---", "---")
    row("SWEEP", f"this one, {load('cpu').isa}", "all")
    for peer in PEERS:
        try:
            versions = ", ".join(f"{package} {version(package)}" for package in peer.packages)
        except PackageNotFoundError:
            row(peer.name, "not installed", "")
        else:
            row(peer.name, versions, peer.share)
            available.append(peer)
    return available


def check(peer, case: Case, operation: str) -> None:
    """Exit if both sides differ on the steps that the peer computes."""
    expected, answer = getattr(Sweep(peer.case), operation)(), getattr(peer, operation)()
    if operation == "gradient":
        expected, answer = (x[1:-1, 1:-1] for x in (expected, answer))
    difference = float((answer - expected).abs().max() / expected.abs().max())
    if not difference <= 0.05:
        sys.exit(f"{case.name}: SWEEP and {peer.name} differ by {difference:.1%} ({operation}): not the same problem")


def compare(case: Case, kinds, rounds: int, what="forward", strategy="auto") -> dict:
    """Print a row of the table: Gcell/s of every side, and ratios to SWEEP; return the Gcell/s by the row's name."""
    ours, peers = getattr(Sweep(case, strategy), what), [kind(case) for kind in kinds]
    for peer in peers:
        check(peer, case, what)
    ours()
    jobs = {name: Job(call, case.cell_updates) for name, call in zip(OURS, (ours, everywhere(ours)), strict=True)}
    jobs |= {peer.name: Job(getattr(peer, what), peer.case.cell_updates, peer.rounds) for peer in peers}
    costs = alternate(jobs, rounds)
    rates = {name: 1e-9 / float(np.median(cost)) for name, cost in costs.items()}
    ratios = ("{} ({})".format(*(digits(ratio(costs[peer.name], costs[own])) for own in OURS)) for peer in peers)
    name = case.name if what == "forward" else f"{what}, {case.name}"
    row(name, *(digits(rate) for rate in rates.values()), *ratios)
    return {name: rates}


def histories(rounds: int) -> tuple[str, str]:
    """Return the fastest memory strategy of the gradient, and a sentence about all strategies."""
    sides = {strategy: Sweep(GRADIENT, strategy) for strategy in ("full", "ckpt", "auto")}
    jobs = {"forward": Job(sides["auto"].forward)} | {name: Job(side.gradient) for name, side in sides.items()}
    alternate(jobs, 1)
    costs = alternate(jobs, rounds)
    fastest = min(sides, key=lambda name: np.median(costs[name]))
    text = ", ".join(f"{name} {np.median(cost):.2f} s" for name, cost in costs.items())
    cost = ratio(costs[fastest], costs["forward"])
    return fastest, f"{GRADIENT.name}: {text}, all lossless; {fastest} is taken, {cost:.2f} of our forward runs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3, help="rounds")
    parser.add_argument("--long", action="store_true", help="only runs whose waves fill the grid; no picture")
    parser.add_argument("--out", default="benchmarks.png", help="the picture")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    for variable in ("OMP_NUM_THREADS", "NPROC", "PJRT_NPROC"):  # for Devito; for JAX, the older and the newer name
        os.environ[variable] = str(arguments.threads)
    bandwidth = triad()
    print(f"float32, {arguments.threads} threads, medians of {arguments.repeats} rounds\n")
    peers = [peer for peer in installed() if not arguments.long or peer.share == "all"]
    names = [peer.name for peer in peers]
    print(f"\ntriad {bandwidth:.1f} GB/s: from memory, {BYTES} bytes a cell allow {bandwidth / BYTES:.2f} Gcell/s")
    fastest = "auto"
    if not arguments.long:
        fastest, sentence = histories(arguments.repeats)
        print(f"gradient of {sentence}")
    print("Gcell/s, PML included; x: how much longer a peer takes than SWEEP (than SWEEP everywhere)\n")
    row("forward", *OURS, *names, *(f"x {name}" for name in names))
    row(*["---"] * (1 + len(OURS) + 2 * len(names)))
    lines = {}
    for case in LONG if arguments.long else [*PLANE, *SPACE, *BARE]:
        lines |= compare(case, peers, arguments.repeats)
    for case in LONG_GRADIENTS if arguments.long else [GRADIENT]:
        lines |= compare(case, peers, arguments.repeats, "gradient", fastest)
    if arguments.long:
        return
    draw(arguments.out, lines, bandwidth / BYTES)
    print(f"\npicture: {arguments.out}")


if __name__ == "__main__":
    main()
