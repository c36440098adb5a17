"""``seismic-sweep invert``: from gathers to a model, configured by a TOML file."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import attrs
import numpy as np

from ..acquisition.shots import Shots
from ..inversion import invert
from ..inversion.batches import modelled
from ..inversion.experiment import model_error
from ..inversion.solver import Solver
from ..inversion.unknowns import one_earth
from ..io import Gathers, replacing
from ..plot import plot_comparison, plot_epoch, save
from ..plot.canvas import new_figure
from ..processing import estimate_wavelet
from .config import inversion_options, make_equation, problem_of, read_data, read_earth, stages_of, wavelet_of
from .options import add_configured, check_problem, make_executor, read_configured


def add(commands) -> None:
    parser = add_configured(commands, "invert", "find the model whose records fit the observed ones")
    parser.add_argument("--out", type=Path, help="folder of the run; that of the configuration's name by default")
    parser.add_argument("--overwrite", action="store_true", help="begin anew; a run in the folder goes on otherwise")
    parser.add_argument("--profile", action="store_true", help="also record where the time of each step goes")
    parser.add_argument("--skip-bad-shots", action="store_true", help="leave out shots that fail, with a warning")
    parser.set_defaults(run=run, goes_on="; the same command goes on from the last gradient in its folder")


def run(parsed: argparse.Namespace) -> int:
    new_figure((1.0, 1.0))  # refuses before the run if matplotlib is missing
    config = read_configured(parsed)
    out = parsed.out or config.path.with_suffix("")
    equation, stages = make_equation(config), stages_of(config)
    names = [parameter.name for parameter in equation.parameters]
    earth = read_earth(config, "start", names)
    data = read_data(config, earth.dh)
    problem, executor = problem_of(config, equation, earth, data.dt), make_executor(config)
    check_problem(executor, problem)
    print(data)
    dtype = earth.models[0].dtype
    shots = Shots(wavelet_of(config, data.nt, data.dt).astype(dtype), data.sources, data.receivers, data.receiver_mask)

    def record(models: Sequence[np.ndarray], shots: Shots) -> np.ndarray:
        return np.concatenate(modelled(executor, problem, shots, models, np.arange(len(shots)), 4))

    observed, options = data.observed.astype(dtype, copy=False), inversion_options(config, earth)
    if config.wavelet.estimate:
        shots = with_estimated_wavelet(shots, data, record(earth.models, shots))
    true = None
    if config.model.true is not None:
        true = one_earth(problem, read_earth(config, "true", names).models, "true")
    inverted = invert(
        Solver(executor, problem), shots.wavelet, shots.sources, shots.receivers, observed, earth.models, stages,
        weights=data.weights(), receiver_mask=shots.mask, folder=out, overwrite=parsed.overwrite,
        profile=parsed.profile, skip_bad_shots=parsed.skip_bad_shots, **options,
    )  # fmt: skip
    for name, model in zip(names, inverted.models, strict=True):
        with replacing(out / f"{name}.npy") as stream:
            np.save(stream, model)
    labels = [f"{parameter.name} ({parameter.unit})" for parameter in equation.parameters]
    figure = plot_epoch(
        inverted.models, earth.dh, start=earth.models, true=true, history=inverted.history, fixed=options.get("fixed"),
        sources=data.sources, receivers=data.receivers, labels=labels,
    )  # fmt: skip
    save(figure, out / "model.png")
    middle = np.array([len(data) // 2])
    modelled_data = record(inverted.models, shots.take(middle))
    save(plot_comparison(data.take(middle), modelled_data, gain=1.0), out / "traces.png")
    print(inverted)
    if inverted.profile:
        print(inverted.profile)
    if true:
        for label, known, first, last in zip(labels, true, earth.models, inverted.models, strict=True):
            print(f"{label} model error, RMS: {model_error(first, known):.4g} to {model_error(last, known):.4g}")
    print(f"results in {out}")
    return 0


def with_estimated_wavelet(shots: Shots, data: Gathers, record: np.ndarray) -> Shots:
    """Return the shots with the wavelet that fits the data best by least squares; `record` is that of the start."""
    estimate = estimate_wavelet(data.observed, record, shots.wavelet, weights=data.weights())
    print(
        f"wavelet estimated: {100 * estimate.unexplained:.1f} % of the data's energy is left unexplained by the start"
    )
    return attrs.evolve(shots, wavelet=estimate.wavelet.astype(record.dtype))
