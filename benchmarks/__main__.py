"""``python -m benchmarks``: SWEEP and Deepwave on the same problems, alternating in one process.

A ratio is the median over the pairs of runs; a warm-up comes first. Both sides must agree on the record to 5 %.
"""

import argparse
import sys
import time

import numpy as np
import torch

from sweep_core.native import load

from .cases import FORWARD, GRADIENT, Deepwave, Sweep


def seconds(run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def pairs(ours, theirs, repeats: int) -> tuple[float, float, float]:
    """Median seconds of each side, and the median of theirs / ours."""
    seconds(ours), seconds(theirs)
    times = np.array([(seconds(ours), seconds(theirs)) for _ in range(repeats)])
    return (*np.median(times, axis=0), float(np.median(times[:, 1] / times[:, 0])))


def check_same(case) -> float:
    """The largest difference of the two records over the largest value; exits where the problems differ."""
    ours, theirs = Sweep(case).forward(), Deepwave(case).forward()
    difference = float((ours - theirs).abs().max() / theirs.abs().max())
    if difference > 0.05:
        sys.exit(f"{case.name}: the records differ by {difference:.1%}; the two sides do not solve the same problem")
    return difference


def line(what, case, ours, theirs, ratio, note=""):
    rate = case.cell_updates / ours / 1e9
    print(f"{what:10s} {case.name:42s} {ours:8.3f} {theirs:8.3f} {ratio:7.2f} {rate:8.2f}  {note}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    try:
        import deepwave
    except ImportError:
        sys.exit("deepwave is not installed; pip install 'seismic-sweep[bench]'")
    torch.set_num_threads(arguments.threads)
    library = load("cpu")
    print(
        f"{arguments.threads} threads, float32; SWEEP uses {library.isa}; Deepwave {deepwave.__version__}, AVX2 wheel"
    )
    heads = ("", "case", "SWEEP s", "peer s", "ratio", "Gcell/s")
    print("{:10s} {:42s} {:>8s} {:>8s} {:>7s} {:>8s}".format(*heads))
    for case in [*FORWARD, GRADIENT]:
        difference = check_same(case)
        repeats = arguments.repeats
        ours = pairs(Sweep(case).forward, Deepwave(case).forward, repeats)
        line("forward", case, *ours, f"records agree to {difference:.1%}")
    own = {}
    for strategy in ("full", "ckpt", "auto"):
        side = Sweep(GRADIENT, strategy)
        side.gradient()
        own[strategy] = float(np.median([seconds(side.gradient) for _ in range(3)]))
    fastest = min(own, key=lambda name: own[name])
    side = Sweep(GRADIENT, fastest)
    forward, gradient, cost = pairs(side.forward, side.gradient, arguments.repeats)
    times = ", ".join(f"{name} {value:.2f} s" for name, value in own.items())
    print(f"gradient strategies, all lossless: {times}; the gradient costs {cost:.2f} of our forward runs")
    ours = pairs(side.gradient, Deepwave(GRADIENT).gradient, 2)
    line("gradient", GRADIENT, *ours, f"storage: {fastest}, float32")


if __name__ == "__main__":
    main()
