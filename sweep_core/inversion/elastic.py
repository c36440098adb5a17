"""The elastic experiment: vp, vs and rho at once, from particle velocities."""

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path

import attrs
import numpy as np

from ..acquisition.shots import Shots
from ..equations import Elastic
from ..io import ElasticModel, elastic_from_vp, read_elastic
from .descent import DENSITY
from .experiment import Experiment, bounds, marine_survey
from .settings import Settings, make_parser, prepared_model, read_settings

STRENGTH = 1e12
"""Moment rate of the explosion, N/s: with it records are of the order of 1 cm/s, far from what float32 cannot hold."""

FREQ = 1.5
"""Peak frequency, Hz. On Marmousi-II vp and vs approach the truth with it; at 3 Hz vs moves away."""


@attrs.frozen(eq=False)
class ElasticExperiment(Experiment):
    """Three parameters, of which vs stays below vp / sqrt(2): no rock has a negative Poisson ratio."""

    def update(self, model: np.ndarray) -> np.ndarray:
        vp, vs, rho = super().update(model)
        return np.stack([vp, np.minimum(vs, vp / np.float32(np.sqrt(2))), rho])


def elastic_experiment(model: ElasticModel, nshots: int = 16, freq: float = FREQ) -> ElasticExperiment:
    """Explosions two cells deep, and vx and vz on the seafloor at every second cell.

    A step changes vp and vs by the same part of the range that each has in the start, and rho by DENSITY of it.
    """
    equation, rock = Elastic(spatial_order=4), ~model.water
    limits = [bounds(true[rock], start[rock]) for true, start in zip(model.true, model.initial, strict=True)]
    slowest = float(min(earth[1, rock].min() for earth in (model.true, model.initial)))
    speeds = slowest, bounds(model.true[0], model.initial[0])[1]
    shots, dt = marine_survey(model, equation, nshots, freq, speeds)
    at = shots.receivers[:, 0]
    depth = np.maximum(shots.receivers[:, 1], model.water.sum(axis=0)[at])
    shots = Shots(np.float32(STRENGTH) * shots.wavelet, shots.sources, np.stack([at, depth], axis=1))
    ranges = np.ptp(model.initial[:, rock], axis=1) * (1, 1, DENSITY)
    low, high = np.array(limits, np.float32).T[..., None, None]
    return ElasticExperiment(
        model, shots, dt, freq, equation, low, high, source_type=("sxx", "szz"), receiver_type=("vz", "vx"),
        steps=tuple((ranges / ranges[0]).tolist()),
    )  # fmt: skip


def make_elastic_parser(description: str, backend: str) -> ArgumentParser:
    """Options of an elastic inversion script: those of every one, with other defaults."""
    what = "folder of <name>_<spacing>m_{vp,vs,rho}_{true,smooth}.npy, brought to --dh or 25 m, or a prepared vp (.npz)"
    parser = make_parser(description, backend, f"{what}; $SWEEP_DATA where that is set")
    parser.set_defaults(model=os.environ.get("SWEEP_DATA"), freq=FREQ)
    return parser


def read_elastic_settings(arguments: Namespace, default_out: Path) -> Settings:
    """Settings of an elastic inversion; see :func:`read_settings`."""
    return read_settings(arguments, default_out, _model, elastic_experiment)


def _model(arguments: Namespace) -> ElasticModel:
    if arguments.model and Path(arguments.model).is_dir():
        return read_elastic(Path(arguments.model), arguments.dh or 25.0)
    return elastic_from_vp(prepared_model(arguments))
