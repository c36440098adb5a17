"""``python -m benchmarks``: SWEEP and its peers on the same problems, alternating in one process.

A ratio is the median over the rounds; a warm-up comes first. All must agree on the record to 5 %. SWEEP does not
compute where no wave can be yet; what it costs to compute everywhere, as the peers do, stands beside it.
"""

import argparse
import os
import sys
import time
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import torch

from sweep_core.native import load

from .cases import BARE, GRADIENT, PLANE, SPACE, Deepwave, Devito, Sweep
from .picture import draw

BYTES = 16  # a cell and step of the leapfrog in float32: two levels and the coefficient read, one level written


def seconds(run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def rounds(runs: dict, repeats: int) -> dict:
    """Seconds of each run in each round, after a round that is thrown away."""
    times = np.array([[seconds(run) for run in runs.values()] for _ in range(repeats + 1)])[1:]
    return dict(zip(runs, times.T, strict=True))


@contextmanager
def everywhere():
    os.environ["SWEEP_EVERYWHERE"] = "1"
    try:
        yield
    finally:
        del os.environ["SWEEP_EVERYWHERE"]


def everywhere_of(run):
    def computed():
        with everywhere():
            return run()

    return computed


def triad() -> float:
    """Bandwidth of a = b + 2 c, GB/s, with the threads of torch."""
    b, c = torch.ones(1 << 26), torch.ones(1 << 26)
    a = torch.empty_like(b)
    times = [seconds(lambda: torch.add(b, c, alpha=2, out=a)) for _ in range(7)][2:]
    return 3 * 4 * len(a) / float(np.median(times)) / 1e9


def installed(peers):
    """The peers that are there, and their versions."""
    found = {}
    for peer in peers:
        try:
            found[peer] = f"{peer.name} {version(peer.name.lower())}"
        except PackageNotFoundError:
            print(f"{peer.name} is not installed; pip install 'seismic-sweep[bench]'")
    return found


def compare(case, peers, repeats) -> dict:
    """One line of the table: Gcell/s of everybody, and the ratios to us."""
    ours, theirs = Sweep(case), {peer.name: peer(case) for peer in peers}
    expected = ours.forward()
    scale = expected.abs().max()
    for name, peer in theirs.items():
        difference = float((peer.forward() - expected).abs().max() / scale)
        if difference > 0.05:
            sys.exit(
                f"{case.name}: records of SWEEP and {name} differ by {difference:.1%}; the problems are not the same"
            )
    runs = {"SWEEP": ours.forward, "SWEEP everywhere": everywhere_of(ours.forward)}
    times = rounds(runs | {name: peer.forward for name, peer in theirs.items()}, repeats)
    line = {name: case.cell_updates / float(np.median(t)) / 1e9 for name, t in times.items()}
    text = "  ".join(f"{name} {rate:.2f}" for name, rate in line.items())
    for name in theirs:
        with_skip, without = (np.median(times[name] / times[own]) for own in runs)
        text += f"  {name} x {with_skip:.2f} ({without:.2f})"
    print(f"{case.name:44s} {text}", flush=True)
    return line


def gradients(repeats, deepwave) -> None:
    own = {}
    for strategy in ("full", "ckpt", "auto"):
        side = Sweep(GRADIENT, strategy)
        own[strategy] = float(np.median(rounds({"": side.gradient}, 3)[""]))
    fastest = min(own, key=lambda name: own[name])
    side = Sweep(GRADIENT, fastest)
    times = rounds({"forward": side.forward, "gradient": side.gradient}, repeats)
    cost = float(np.median(times["gradient"] / times["forward"]))
    text = ", ".join(f"{name} {value:.2f} s" for name, value in own.items())
    print(f"gradient of {GRADIENT.name}: {text}, all lossless; {fastest} costs {cost:.2f} of our forward runs")
    if deepwave:
        times = rounds({"SWEEP": side.gradient, "Deepwave": Deepwave(GRADIENT).gradient}, 2)
        ratio = float(np.median(times["Deepwave"] / times["SWEEP"]))
        print(f"Deepwave's gradient takes {ratio:.2f} times as long as ours ({fastest})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", default="benchmarks.png", help="the picture")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    peers = installed([Deepwave, Devito])
    bandwidth = triad()
    print(f"{arguments.threads} threads, float32; SWEEP {load('cpu').isa}; {'; '.join(peers.values())}")
    print(f"triad {bandwidth:.1f} GB/s: from memory, {BYTES} bytes a cell allow {bandwidth / BYTES:.2f} Gcell/s")
    print("Gcell/s, PML included; then how much longer each peer takes than SWEEP (than SWEEP everywhere)")
    lines = {}
    for case in [*PLANE, *SPACE, *BARE]:
        lines[case.name] = compare(case, peers, arguments.repeats)
    gradients(arguments.repeats, Deepwave in peers)
    draw(arguments.out, lines, bandwidth / BYTES)
    print(f"picture: {arguments.out}")


if __name__ == "__main__":
    main()
