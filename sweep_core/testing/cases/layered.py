"""Layered earths for runs of many steps."""

from functools import lru_cache

import numpy as np

from ...acquisition.shots import Shots
from ...acquisition.wavelets import ricker
from .problems import DH, Case, default_shape, stable_dt
from .strategies import STRATEGIES

__all__ = [
    "layered_case",
]


@lru_cache
def layered_case(equation, order=4, nt=20_000, shape=None, pml=10, nshots=4, seed=0, ranges=()) -> Case:
    """Return a random flat-layered earth for each shot, under a free surface, with a PML on the other faces.

    Layers of 1 to 12 cells have the parameters of :meth:`Equation.example` with these `ranges`, and speeds times 1 to
    4. dt is 0.99 of the largest stable one. Receivers lie along both sides and at the source.

    Parameters
    ----------
    equation : type
        Class of the equation.
    order : int, default 4
        Spatial order of the differences.
    nt : int, default 20000
        Number of time steps.
    shape : tuple of int, optional
        Number of cells along each axis, depth first; by default (40, 44), or (24, 22, 22) for an equation in 3-D only.
    pml : int or tuple of int, default 10
        Cells of the PML: one number, or a number for each face (top, bottom, [front, back,] left, right).
    nshots : int, default 4
        Number of shots, each with its own earth and one source.
    seed : int, default 0
        Seed of the random numbers.
    ranges : tuple of (str, (float, float)), optional
        Pairs (name, (low, high)) with the range of a parameter. Other parameters have their default range.

    Returns
    -------
    Case
        A case in float64 with strategy 'full', models ``(nshots, *shape)``, and sources and receivers of all fields.

    Raises
    ------
    OptionError
        If the order is not valid, or the equation has no example in these ranges.
    TypeError
        If an argument is not hashable, because cases are cached.
    """
    rng, eq = np.random.default_rng(seed), equation(spatial_order=order)
    shape = shape or {1: (300,), 2: (40, 44), 3: (24, 22, 22)}[len(default_shape(eq))]
    models: list[np.ndarray] = [np.empty((nshots, *shape)) for _ in eq.parameters]
    for shot in range(nshots):
        layer = np.repeat(np.arange(shape[0]), rng.integers(1, 13, shape[0]))[: shape[0]]
        factor = 4 ** rng.uniform(0, 1, shape[0])
        for model, parameter, value in zip(
            models, eq.parameters, eq.example(layer.shape, rng, **dict(ranges)), strict=True
        ):
            profile = (value * factor if parameter.unit == "m/s" else value)[layer]
            model[shot] = profile.reshape(-1, *(1,) * (len(shape) - 1))
    dt = stable_dt(eq, DH[:1] * len(shape), models, 0.99)
    fields = [f.name for f in eq.waves_in(len(shape))]
    arguments = {
        **{"equation": eq, "shape": shape, "dh": DH[0], "dt": dt, "free_surface": True, "source_type": fields},
        **{"pml_width": pml, "receiver_type": fields, "memory": STRATEGIES["full"]},
    }
    source = np.array([[n // 2 for n in shape[:0:-1]] + [5]] * nshots)
    sides = [np.array([[x, *source[0, 1:-1], z] for z in range(1, shape[0], 3)]) for x in (1, shape[-1] - 2)]
    wavelet = ricker(0.02 / dt, nt, dt)
    return Case(arguments, Shots(wavelet, source, np.concatenate([source[:1], *sides])), models)
