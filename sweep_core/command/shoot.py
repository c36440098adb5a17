"""``seismic-sweep shoot``: the record of a survey."""

import argparse
from pathlib import Path

import numpy as np

from ..arrays import numpy_of
from ..errors import OptionError
from ..grid import make_grid
from ..inversion.experiment import time_step
from ..inversion.objective import batches
from ..io import Gathers, write_gathers, write_segy
from ..survey import Shots
from .config import Config, Earth, make_equation, positions, problem_of, read_config, read_data, read_earth, wavelet_of
from .options import add_backend, add_config, check_new, check_problem, chosen_backend


def add(commands) -> None:
    parser = commands.add_parser("shoot", help="model the shots of a survey, or those of field data again")
    add_config(parser)
    parser.add_argument("--model", choices=("true", "start"), default="true", help="of [model] (%(default)s)")
    parser.add_argument("--out", type=Path, help="gathers, .npz or .sgy; file of [data] by default")
    parser.add_argument("--batch", type=int, default=4, help="shots that are modelled at once (%(default)s)")
    parser.add_argument("--overwrite", action="store_true", help="replace the file, if it is there")
    add_backend(parser)
    parser.set_defaults(run=run)


def survey_of(config: Config, equation, earth: Earth) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, int, float]:
    """(sources, receivers, mask, nt, dt): of [survey], or of the data that are there."""
    if config["survey"]:
        nt = config.need("physics", "nt", "the samples of a record")
        if type(nt) is not int or nt < 1:
            raise OptionError(f"{config.path}: nt is {nt!r}; expected a number of samples from 1 on")
        sources, receivers = (positions(config, which, earth.dh) for which in ("sources", "receivers"))
        every = np.broadcast_to(receivers, (len(sources), *receivers.shape))
        if (dt := config["physics"].get("dt")) is None:
            grid, fastest = make_grid(earth.models[0].shape, earth.dh), float(np.max(equation.speed(*earth.models)))
            dt = time_step(equation, grid.spacing, fastest)
        return sources, every, None, nt, dt
    data = read_data(config, earth.dh)
    return data.sources, data.receivers, data.receiver_mask, data.nt, data.dt


def run(given: argparse.Namespace) -> int:
    from tqdm import tqdm

    config = read_config(given.config)
    if given.batch < 1:
        raise OptionError(f"--batch is {given.batch}; expected a number of shots from 1 on")
    if given.out is None and not config["survey"]:
        raise OptionError(f"{config.path} has no [survey], so [data] is what was recorded; write elsewhere by --out")
    out = given.out or config.file(config.need("data", "file", "the name of a file, or give --out"))
    check_new(out, given.overwrite)
    equation = make_equation(config)
    earth = read_earth(config, given.model, [parameter.name for parameter in equation.parameters])
    sources, receivers, mask, nt, dt = survey_of(config, equation, earth)
    problem, executor = problem_of(config, equation, earth, dt), chosen_backend(given)
    check_problem(executor, problem)
    wavelet = wavelet_of(config, nt, dt).astype(earth.models[0].dtype)
    shots, parts = Shots(wavelet, sources, receivers, mask), []
    with tqdm(total=len(sources), unit="shot") as bar:
        for some in batches(np.arange(len(sources)), given.batch):
            parts.append(numpy_of(executor.forward(problem, shots.take(some), earth.models)))
            bar.update(len(some))
    gathers = Gathers(sources, receivers, np.concatenate(parts), dt, earth.dh, receiver_mask=mask, name=out.stem)
    (write_gathers if out.suffix == ".npz" else write_segy)(out, gathers)
    print(f"{gathers}\nwritten    {out}")
    return 0
