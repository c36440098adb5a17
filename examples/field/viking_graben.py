"""From a SEG-Y file to a model: four shots of Mobil's AVO Viking Graben line 12, in a few minutes on two cores.

    python examples/field/viking_graben.py --segy viking_small.segy

The script reads geometry and samples from the file. A search finds the sea floor and a speed that grows with depth,
and least squares give the wavelet. Three bands of full-waveform inversion follow, the first on a coarser grid, then an
image of the reflectors. Results go to viking_graben/ beside the script; --out names another folder. A second run
continues an interrupted one.
"""

import argparse
import os
from pathlib import Path

import attrs
import numpy as np

from sweep_core import Acoustic, Shots, SweepError, ricker
from sweep_core.inversion import Stage, TotalVariation, invert, migrate
from sweep_core.io import Gathers, read_segy
from sweep_core.misfit import global_correlation
from sweep_core.plot import plot_comparison, plot_epoch, plot_image, plot_traces, plot_wavelet, save
from sweep_core.processing import bandpass, estimate_wavelet, mute_time, to_line_source
from sweep_torch import PropTorch

DH, DT, DEPTH = 12.5, 0.002, 1800.0  # m, s, m
WATER = 1480.0  # m/s, from the moveout of the direct wave
LOW = 4.0  # Hz: swell below
BANDS = (8.0, 11.0, 16.0)  # Hz
LAST = 2.1  # s: later samples are muted, with a taper of 0.15 s, since the records end


def layers(shape: tuple[int, int], sea: float, speed: float, rate: float) -> np.ndarray:
    """Return water down to `sea` (m), then `speed` (m/s) growing by `rate` (1/s) with depth."""
    z = np.arange(shape[0]) * DH
    rock = np.clip((z - sea) / DH + 0.5, 0, 1)
    column = WATER * (1 - rock) + rock * (speed + rate * np.maximum(z - sea, 0))
    return np.repeat(column.astype(np.float32)[:, None], shape[1], axis=1)


def record(solver: PropTorch, shots: Shots, vp: np.ndarray) -> np.ndarray:
    return np.asarray(solver.executor.forward(solver.problem, shots, [vp]))


def search(solver: PropTorch, data: Gathers, weights: np.ndarray) -> tuple[float, float, float]:
    """Return the depth of the sea floor, the speed below it and its growth with depth.

    With these values one wavelet explains most of the first shot's lowest band (Nelder and Mead 1965).
    """
    from scipy.optimize import minimize

    shape, first_shot = solver.problem.grid.shape, data.take([0])
    low = bandpass(first_shot.observed, DT, LOW, BANDS[0]).astype(np.float32)
    guess = bandpass(ricker(10.0, first_shot.nt, DT, 0.25), DT, LOW, BANDS[0], axis=-1).astype(np.float32)
    shots = Shots(guess, first_shot.sources, first_shot.receivers, first_shot.receiver_mask)

    def unexplained(parameters):
        sea, speed, rate = parameters
        if not (200 < sea < 600 and WATER < speed < 2600 and 0 < rate < 2):
            return 2.0
        modelled = record(solver, shots, layers(shape, sea, speed, rate))
        return estimate_wavelet(low, modelled, guess, weights=weights[:1]).unexplained

    start = np.array([350.0, 1700.0, 0.8])
    simplex = start + np.array([[0, 0, 0], [12, 0, 0], [0, 120, 0], [0, 0, 0.2]])
    minimum = minimize(unexplained, start, method="Nelder-Mead", options={"maxfev": 80, "initial_simplex": simplex})
    sea, speed, rate = minimum.x
    print(
        f"sea floor at {sea:.0f} m, below it {speed:.0f} m/s + {rate:.2f} 1/s z: {100 * minimum.fun:.0f} % unexplained"
    )
    return sea, speed, rate


def invert_line(segy: Path, out: Path) -> None:
    data = read_segy(segy, dh=DH, dt=DT)
    print(data)
    nx = int(max(data.sources[..., 0].max(), data.receivers[..., 0].max())) + 13
    solver = PropTorch(Acoustic(spatial_order=8), (round(DEPTH / DH) + 1, nx), DH, DT, free_surface=True)
    shape = solver.problem.grid.shape
    save(plot_traces(data, shot=0, gain=1), out / "gather.png")

    # Field sources are points; sources of a 2-D section are lines.
    line = bandpass(to_line_source(data.observed, DT, velocity=WATER), DT, 3.0, 20.0).astype(np.float32)
    data, weights = attrs.evolve(data, observed=line), mute_time(data, end=LAST, taper=0.15)
    sea, speed, rate = search(solver, data, weights)
    start = layers(shape, sea, speed, rate)

    guess = ricker(14.0, data.nt, DT, 0.25).astype(np.float32)
    shots = Shots(guess, data.sources, data.receivers, data.receiver_mask)
    estimate = estimate_wavelet(data.observed, record(solver, shots, start), guess, weights=weights)
    shots = attrs.evolve(shots, wavelet=estimate.wavelet.astype(np.float32))
    share, early = 100 * estimate.unexplained, 100 * estimate.acausal
    print(f"wavelet: {share:.0f} % of the data unexplained, {early:.1f} % of it would come before time zero")
    save(plot_wavelet(shots.wavelet, DT, title="estimated wavelet"), out / "wavelet.png")

    known = np.broadcast_to((np.arange(shape[0]) * DH < sea - 2 * DH)[:, None], shape)
    inversion = invert(
        solver, shots.wavelet, shots.sources, shots.receivers, data.observed, [start],
        stages=[Stage(6, low=LOW, high=high, coarsen=2 if high == BANDS[0] else None) for high in BANDS],
        bounds={"vp": (1450.0, 3200.0)}, fixed=known, misfit=global_correlation, weights=weights,
        receiver_mask=shots.mask, regularise=TotalVariation(0.05), folder=out / "run",
    )  # fmt: skip
    (vp,) = inversion.models
    np.save(out / "vp.npy", vp)
    print(inversion)

    # Data that the start, sea floor included, does not explain are scattered by deeper structure.
    rest = data.observed - record(solver, shots, start)
    image = migrate(
        solver, shots.wavelet, shots.sources, shots.receivers, rest, [start], condition="laplacian", weights=weights,
        receiver_mask=shots.mask, low=LOW, high=20.0,
    )  # fmt: skip
    np.save(out / "image.npy", image)
    save(plot_image(image, DH, fixed=known, title="reflectors, 4 to 20 Hz"), out / "image.png")

    shown = {"sources": data.sources, "receivers": data.receivers, "fixed": known, "history": inversion.history}
    save(plot_epoch([vp], DH, start=[start], title="three bands", **shown), out / "model.png")
    band = attrs.evolve(data, observed=bandpass(data.observed, DT, LOW, BANDS[-1]).astype(np.float32))
    for name, model in (("start", start), ("inverted", vp)):
        synthetic = bandpass(record(solver, shots, model), DT, LOW, BANDS[-1]).astype(np.float32)
        left = float((weights * (synthetic - band.observed) ** 2).sum() / (weights * band.observed**2).sum())
        print(f"{name}: {100 * left:.0f} % of the energy of {LOW:g} to {BANDS[-1]:g} Hz is left")
        save(plot_comparison(band, synthetic, shot=1, gain=0.5), out / f"traces_{name}.png")
    print(f"model and pictures in {out}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    folder = os.environ.get("SWEEP_DATA", ".")
    parser.add_argument("--segy", type=Path, default=Path(folder) / "viking_small.segy", help="%(default)s")
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent / "viking_graben", help="folder of the results"
    )
    arguments = parser.parse_args()
    try:
        invert_line(arguments.segy, arguments.out)
    except SweepError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from error


if __name__ == "__main__":
    main()
