"""``seismic-sweep shoot``: the record of a survey."""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from .._util.arrays import numpy_of
from .._util.validators import check_whole
from ..acquisition.shots import Shots
from ..errors import MemoryLimitError, OptionError
from ..inversion.batches import batches
from ..inversion.experiment import time_step
from ..io import Gathers, write_gathers, write_segy
from ..io.segy.writing import check_samples
from ..memory.limits import available, readable
from ..problem import Problem
from .config import Config, Earth, make_equation, problem_of, read_data, read_earth, wavelet_of
from .options import add_configured, check_new, check_problem, make_executor, read_configured


def add(commands) -> None:
    parser = add_configured(commands, "shoot", "model the shots of a survey, or those of field data again")
    parser.add_argument("--model", choices=("true", "start"), default="true", help="of [model] (%(default)s)")
    parser.add_argument("--out", type=Path, help="gathers, .npz or .sgy; file of [data] by default")
    parser.add_argument("--batch", type=int, default=4, help="shots that are modelled at once (%(default)s)")
    parser.add_argument("--overwrite", action="store_true", help="replace the file, if it is there")
    parser.set_defaults(run=run)


def survey_of(config: Config, equation, earth: Earth, name: str) -> Gathers:
    """Return gathers with silent records, of [survey] or, without that table, of [data]."""
    if config.survey is not None:
        nt = config.need("physics", "nt", "the samples of a record")
        sources, receivers = (line.cells(earth.dh) for line in (config.survey.sources, config.survey.receivers))
        every = np.broadcast_to(receivers, (len(sources), *receivers.shape))
        if (dt := config.physics.dt) is None:
            of_any_step = problem_of(config, equation, earth, 1e-3)  # its largest dt does not depend on its own
            dt = time_step(of_any_step.largest_dt(*earth.models))
        size, left = 4 * len(sources) * nt * len(receivers), available()
        if left is not None and size > left:
            raise MemoryLimitError(
                f"the record of {len(sources)} shots, {nt} samples and {len(receivers)} receivers takes "
                f"{readable(size)}, and {readable(left)} of memory are left; give fewer samples, shots or receivers"
            )
        silence = np.broadcast_to(np.float32(0), (len(sources), nt, len(receivers), 1))
        return Gathers(sources, every, silence, dt, earth.dh, name=name)
    data = read_data(config, earth.dh)
    return attrs.evolve(data, name=name, clipped=np.zeros_like(data.clipped), notes=())


def _output(parsed: argparse.Namespace, config: Config) -> Path:
    """Return the file of the gathers, which a run may write."""
    if parsed.out is None and config.survey is None:
        raise OptionError(
            f"{config.path} has no [survey], so [data] names the observed gathers; name another file by --out"
        )
    out = parsed.out or config.file(config.need("data", "file", "the name of a file, or give --out"))
    if out.suffix not in (".npz", ".sgy", ".segy"):
        raise OptionError(f"{out} ends in {out.suffix!r}; expected .npz for gathers, or .sgy or .segy for SEG-Y")
    if (
        config.survey is None
        and out.resolve() == config.file(config.need("data", "file", "the recorded gathers")).resolve()
    ):
        raise OptionError(f"{out} holds the observed gathers; name another file by --out")
    check_new(out, parsed.overwrite)
    return out


def _writer(out: Path, problem: Problem, survey: Gathers) -> Callable[[Gathers], Any]:
    """Return the function that writes gathers to a file, by its suffix."""
    if out.suffix == ".npz":
        return partial(write_gathers, out)
    if len(problem.receiver_type) > 1:
        raise OptionError(f"receiver_type is {problem.receiver_type}; expected one field for {out}: write .npz instead")
    start = float(problem.time(problem.receiver_type[0], 1)[0])
    check_samples(survey.nt, survey.dt, start)
    return partial(write_segy, out, start=start)


def run(parsed: argparse.Namespace) -> int:
    from tqdm import tqdm

    config = read_configured(parsed)
    check_whole(parsed.batch, "--batch", 1, "shots")
    out = _output(parsed, config)
    equation = make_equation(config)
    earth = read_earth(config, parsed.model, [parameter.name for parameter in equation.parameters])
    survey = survey_of(config, equation, earth, out.stem)
    problem, executor = problem_of(config, equation, earth, survey.dt), make_executor(config)
    check_problem(executor, problem)
    write = _writer(out, problem, survey)
    wavelet = wavelet_of(config, survey.nt, survey.dt).astype(earth.models[0].dtype)
    shots, parts = Shots(wavelet, survey.sources, survey.receivers, survey.receiver_mask), []
    with tqdm(total=len(survey), unit="shot") as bar:
        for some in batches(np.arange(len(survey)), parsed.batch):
            parts.append(numpy_of(executor.forward(problem, shots.take(some), earth.models)))
            bar.update(len(some))
    gathers = attrs.evolve(survey, observed=np.concatenate(parts))
    write(gathers)
    print(f"{gathers}\nwritten    {out}")
    return 0
