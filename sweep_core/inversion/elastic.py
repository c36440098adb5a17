"""The elastic experiment: vp, vs and rho at once, from particle velocities."""

import numpy as np

from ..acquisition.shots import Shots
from ..equations import Elastic
from ..io import ElasticModel
from .descent import DENSITY
from .experiment import Experiment, marine_survey, span

STRENGTH = 1e12
"""Moment rate of the explosion, N/s: with it records are of the order of 1 cm/s, far from what float32 cannot hold."""

FREQ = 1.5
"""Peak frequency, Hz. On Marmousi-II vp and vs approach the truth with it; at 3 Hz vs moves away."""


def elastic_experiment(model: ElasticModel, nshots: int = 16, freq: float = FREQ) -> Experiment:
    """Return an elastic experiment: explosions two cells deep, and vx and vz on the seafloor at every second cell.

    A step changes vp and vs by the same part of the range that each has in the start, and rho by DENSITY of it.

    Parameters
    ----------
    model : ElasticModel
        True and initial vp, vs (m/s) and rho (kg/m3), (3, nz, nx).
    nshots : int
        Sources, evenly spaced from edge to edge, at most one in a cell.
    freq : float
        Peak frequency of the Ricker wavelet, Hz.

    Returns
    -------
    Experiment

    Raises
    ------
    DomainError, ShapeError
        See :func:`marine_experiment`.
    """
    equation, rock = Elastic(spatial_order=4), ~model.water
    limits = [span(true[rock], start[rock]) for true, start in zip(model.true, model.initial, strict=True)]
    slowest = float(min(earth[1, rock].min() for earth in (model.true, model.initial)))
    speeds = slowest, span(model.true[0], model.initial[0])[1]
    shots, dt = marine_survey(model, equation, nshots, freq, speeds)
    at = shots.receivers[:, 0]
    depth = np.maximum(shots.receivers[:, 1], model.water.sum(axis=0)[at])
    shots = Shots(np.float32(STRENGTH) * shots.wavelet, shots.sources, np.stack([at, depth], axis=1))
    ranges = np.ptp(model.initial[:, rock], axis=1) * (1, 1, DENSITY)
    low, high = np.array(limits, np.float32).T[..., None, None]
    return Experiment(
        model, shots, dt, freq, equation, low, high, source_type=("sxx", "szz"), receiver_type=("vz", "vx"),
        steps=tuple((ranges / ranges[0]).tolist()),
    )  # fmt: skip
