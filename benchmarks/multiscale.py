"""Full-waveform inversion band by band: `python -m benchmarks.multiscale --model marmousi_25m.npz --out fwi.png`."""

import argparse
import time
from pathlib import Path

import attrs
import numpy as np
import torch

from sweep_core.inversion import Stage, invert, marine_experiment
from sweep_core.inversion.batches import modelled
from sweep_core.io import read_prepared
from sweep_core.plot import plot_parameters, save
from sweep_torch import PropTorch, Torch

SHOTS = 16
SMOOTH = [Stage(8, high=3, shots=8, coarsen=2), Stage(8, high=5, shots=8, coarsen=2), Stage(8)]
LINEAR = [
    Stage(8, high=1.2, coarsen=4),
    Stage(8, high=1.6, coarsen=4),
    Stage(8, high=2.2, coarsen=3),
    Stage(8, high=3, coarsen=2),
    Stage(8, high=5, coarsen=2),
    Stage(12),
]
"""Bands for each start, with a Ricker wavelet of peak frequency 5 Hz."""


def similarity(model: np.ndarray, true: np.ndarray, rock: np.ndarray) -> float:
    """Return the mean SSIM of the rock (Wang, Bovik, Sheikh, Simoncelli 2004, eq. 13; Gaussian window, 1.5 cells)."""
    from scipy.ndimage import gaussian_filter

    low, high = true[rock].min(), true[rock].max()
    x, y = ((m.astype(np.float64) - low) / (high - low) for m in (model, true))

    def mean(z):
        return gaussian_filter(z, 1.5)

    mx, my = mean(x), mean(y)
    vx, vy, both = mean(x * x) - mx * mx, mean(y * y) - my * my, mean(x * y) - mx * my
    a, b = 0.01**2, 0.03**2
    return float((((2 * mx * my + a) * (2 * both + b)) / ((mx * mx + my * my + a) * (vx + vy + b)))[rock].mean())


def by_depth(model, rate: float = 0.8):
    """Return the prepared model with a start of true water and a speed that grows with depth by `rate`, m/s per m."""
    below = np.cumsum(~model.water, axis=0) * model.dh
    start = np.where(model.water, model.true, np.clip(1600 + rate * below, 1600, 4200))
    return attrs.evolve(model, initial=start.astype(np.float32))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--model", required=True, help="prepared model (.npz); examples/models/marmousi makes one")
    parser.add_argument("--linear", action="store_true", help="start from a speed that grows with depth")
    parser.add_argument("--adam", type=int, default=0, help="epochs of Adam on all frequencies, instead of L-BFGS")
    parser.add_argument("--iterations", type=int, nargs="+", help="iterations of each band")
    parser.add_argument("--fine", action="store_true", help="all bands on the whole grid")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a picture")
    arguments = parser.parse_args()
    if arguments.adam and (arguments.iterations or arguments.fine):
        parser.error("--iterations and --fine apply to bands, which --adam does not have")
    stages = LINEAR if arguments.linear else SMOOTH
    iterations = arguments.iterations or [stage.iterations for stage in stages]
    if len(iterations) != len(stages):
        parser.error(f"--iterations are {len(iterations)} numbers; expected {len(stages)}, one for each band")
    stages = [attrs.evolve(stage, iterations=n) for stage, n in zip(stages, iterations, strict=True)]
    if arguments.fine:
        stages = [attrs.evolve(stage, coarsen=None) for stage in stages]
    torch.set_num_threads(arguments.threads)
    model = read_prepared(arguments.model)
    model = by_depth(model) if arguments.linear else model
    experiment = marine_experiment(model, SHOTS, 5.0)
    shots, rock = experiment.shots, ~model.water
    solver = PropTorch(experiment.equation, model.true.shape, model.dh, experiment.dt)

    def record(vp):
        return np.concatenate(modelled(solver.executor, solver.problem, shots, [vp], np.arange(len(shots)), 1))

    observed = record(model.true)
    options = {}
    if arguments.adam:
        steps = arguments.adam * -(-len(shots) // 8)
        stages, options = [Stage(steps)], {"optimiser": Torch(torch.optim.Adam, shots=8, lr=0.7), "precondition": False}
    begin = time.perf_counter()
    inversion = invert(
        solver, shots.wavelet, shots.sources, shots.receivers, observed, [model.initial], stages,
        bounds={"vp": (experiment.slowest, experiment.fastest)}, fixed=model.water, **options,
    )  # fmt: skip
    seconds, start = time.perf_counter() - begin, model.initial
    print(inversion)
    errors = [experiment.model_error(m) for m in (start, inversion.models[0])]
    alike = [similarity(m, model.true, rock) for m in (start, inversion.models[0])]
    full = [float(((record(m) - observed).astype(np.float64) ** 2).sum()) for m in (start, inversion.models[0])]
    print(
        f"model error {errors[0]:.1f} to {errors[1]:.1f} m/s ({100 * (errors[1] / errors[0] - 1):+.1f} %), SSIM "
        f"{alike[0]:.3f} to {alike[1]:.3f}, misfit {100 * (full[1] / full[0] - 1):+.1f} %, {seconds:.0f} s"
    )
    if arguments.out:
        panels = {"true": model.true, "start": start, "inverted": inversion.models[0]}
        save(plot_parameters(["vp (m/s)"], panels, model.dh, fixed=model.water), arguments.out)


if __name__ == "__main__":
    main()
