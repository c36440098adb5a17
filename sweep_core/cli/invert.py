"""``seismic-sweep invert``: from gathers to a model, told by a file."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import attrs
import numpy as np

from ..acquisition.shots import Shots
from ..inversion import invert
from ..inversion.experiment import model_error
from ..inversion.objective import Solver, modelled
from ..inversion.unknowns import one_earth
from ..io import Gathers, replacing
from ..plot import plot_comparison, plot_epoch, save
from ..plot.canvas import new_figure
from ..processing import estimate_wavelet
from .config import (
    inversion_options,
    make_equation,
    problem_of,
    read_config,
    read_data,
    read_earth,
    stages_of,
    wavelet_of,
)
from .options import add_backend, add_configured, check_problem, chosen_backend


def add(commands) -> None:
    parser = add_configured(commands, "invert", "find the model whose records fit the observed ones")
    parser.add_argument("--out", type=Path, help="folder of the run; that of the configuration's name by default")
    parser.add_argument("--overwrite", action="store_true", help="begin anew; a run in the folder goes on otherwise")
    add_backend(parser)
    parser.set_defaults(run=run, goes_on="; the same command goes on from the last gradient in its folder")


def run(given: argparse.Namespace) -> int:
    new_figure((1.0, 1.0))  # refuses here, and not after the run, where there is no matplotlib
    config = read_config(given.config)
    out = given.out or config.path.with_suffix("")
    equation, stages = make_equation(config), stages_of(config)
    names = [parameter.name for parameter in equation.parameters]
    earth = read_earth(config, "start", names)
    data = read_data(config, earth.dh)
    problem, executor = problem_of(config, equation, earth, data.dt), chosen_backend(given)
    check_problem(executor, problem)
    print(data)
    dtype = earth.models[0].dtype
    shots = Shots(wavelet_of(config, data.nt, data.dt).astype(dtype), data.sources, data.receivers, data.receiver_mask)

    def record(models: Sequence[np.ndarray], shots: Shots) -> np.ndarray:
        return np.concatenate(modelled(executor, problem, shots, models, np.arange(len(shots)), 4))

    observed, options = data.observed.astype(dtype, copy=False), inversion_options(config, earth)
    if config["wavelet"].get("estimate", False):
        shots = explained(shots, data, record(earth.models, shots))
    true = one_earth(problem, read_earth(config, "true", names).models, "true") if "true" in config["model"] else None
    found = invert(
        Solver(executor, problem), shots.wavelet, shots.sources, shots.receivers, observed, earth.models, stages,
        weights=data.weights(), receiver_mask=shots.mask, folder=out, overwrite=given.overwrite, **options,
    )  # fmt: skip
    for name, model in zip(names, found.models, strict=True):
        with replacing(out / f"{name}.npy") as stream:
            np.save(stream, model)
    labels = [f"{parameter.name} ({parameter.unit})" for parameter in equation.parameters]
    figure = plot_epoch(
        found.models, earth.dh, start=earth.models, true=true, history=found.history, fixed=options.get("fixed"),
        sources=data.sources, receivers=data.receivers, labels=labels,
    )  # fmt: skip
    save(figure, out / "model.png")
    middle = np.array([len(data) // 2])
    made = record(found.models, shots.take(middle))
    save(plot_comparison(data.take(middle), made, gain=1.0), out / "traces.png")
    print(found)
    if true:
        for label, known, first, last in zip(labels, true, earth.models, found.models, strict=True):
            print(f"{label} model error, RMS: {model_error(first, known):.4g} to {model_error(last, known):.4g}")
    print(f"results in {out}")
    return 0


def explained(shots: Shots, data: Gathers, record: np.ndarray) -> Shots:
    """The shots with the wavelet that explains the data best, in the model that made the record."""
    found = estimate_wavelet(data.observed, record, shots.wavelet, weights=data.weights())
    print(f"wavelet estimated: {100 * found.unexplained:.1f} % of the data's energy is left unexplained by the start")
    return attrs.evolve(shots, wavelet=found.wavelet.astype(record.dtype))
