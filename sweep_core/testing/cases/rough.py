"""Small rough problems, no two cells alike."""

from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from ...acquisition.shots import Shots
from ...acquisition.wavelets import ricker
from ...equations.acoustic import Acoustic
from .problems import DH, SHAPES, Case, default_shape, random_cells, stable_dt
from .strategies import STRATEGIES

__all__ = [
    "case",
    "ricker_case",
    "variant",
]


@lru_cache
def case(
    equation=Acoustic, order=4, shape=None, nt=48, pml=(5, 0, 7, 3, 4, 2), nshots=3, nsrc=2, nrec=5, seed=0, ranges=()
) -> Case:
    """Return a heterogeneous model with a PML of another width at each face, and random shots with random wavelets.

    Receivers also lie on corners, edges and sources; two receivers may share a cell. Wavelets are noise, so that no
    symmetry of a Ricker hides an error in time. `ranges` are (parameter, (low, high)) for :meth:`Equation.example`.

    Parameters
    ----------
    equation : type, default Acoustic
        Class of the equation.
    order : int, default 4
        Spatial order of the differences.
    shape : tuple of int, optional
        Number of cells along each axis, depth first. The default is a small grid of the fewest dimensions of the
        equation.
    nt : int, default 48
        Number of time steps.
    pml : int or tuple of int, default (5, 0, 7, 3, 4, 2)
        Cells of the PML: one number, or a number for each face (top, bottom, [front, back,] left, right). A grid of
        fewer dimensions uses the first numbers.
    nshots : int, default 3
        Number of shots.
    nsrc : int, default 2
        Number of sources of each shot.
    nrec : int, default 5
        Number of receivers of each shot, at least 3.
    seed : int, default 0
        Seed of the random numbers.
    ranges : tuple of (str, (float, float)), optional
        Pairs (name, (low, high)) with the range of a parameter. Other parameters have their default range.

    Returns
    -------
    Case
        A case in float64 with strategy 'full'. The record has all fields of the equation. dt is 0.7 of the largest
        stable one.

    Raises
    ------
    OptionError
        If the order is not valid, or the equation has no example in these ranges.
    TypeError
        If an argument is not hashable, because cases are cached.
    """
    rng, eq = np.random.default_rng(seed), equation(spatial_order=order)
    shape = shape or default_shape(eq)
    sources = random_cells(rng, shape, nshots, nsrc)
    receivers = random_cells(rng, shape, nshots, nrec)
    receivers[:, 0] = sources[:, 0]
    receivers[:, 1] = 0
    receivers[:, 2] = np.array(shape[::-1]) - 1
    wavelet, spacing = rng.standard_normal((nshots, nsrc, nt)), DH[: len(shape)]
    models = eq.example(shape, rng, **dict(ranges))
    arguments = {
        **{"equation": eq, "shape": shape, "dh": spacing, "dt": stable_dt(eq, spacing, models)},
        **{"pml_width": pml[: 2 * len(shape)] if isinstance(pml, tuple) else pml, "memory": STRATEGIES["full"]},
        "receiver_type": [f.name for f in eq.waves_in(len(shape))],
    }
    return Case(arguments, Shots(wavelet, sources, receivers), models)


VARIANTS: dict[str, dict[str, Any]] = {
    "free surface": {"free_surface": True},
    "between nodes": {"between": True},
    "free surface, between nodes": {"free_surface": True, "between": True, "sources": True},
    "an earth each": {"earths": True, "sources": True},
    "increments between nodes, an earth each": {"source_scaling": "increment", "between": True, "earths": True},
    "edges as given": {"edge_gradient": "interior"},
    "no time dispersion, masked": {"time_dispersion": "corrected", "masked": True},
    "3-D": {"shape": SHAPES[3], "sources": True},
    "3-D, free surface, between nodes": {"shape": SHAPES[3], "free_surface": True, "between": True},
}
"""Variants of a 2-D problem with absorbing faces and a survey on nodes. "sources" puts a source into every field."""


ONE_AXIS: dict[str, dict[str, Any]] = {
    "1-D": {"shape": SHAPES[1], "sources": True},
    "1-D, free surface, between nodes": {"shape": SHAPES[1], "free_surface": True, "between": True, "earths": True},
}
"""Variants of equations that exist in one dimension."""


@lru_cache
def variant(name, equation=Acoustic, order=4, nt=40, seed=3, ranges=(), shape=None) -> Case:
    """Return a case of `VARIANTS`: a rough earth, a PML of another width at each face, and receivers at the corners.

    Parameters
    ----------
    name : str
        Name of the variant, a key of `VARIANTS` or `ONE_AXIS`.
    equation : type, default Acoustic
        Class of the equation.
    order : int, default 4
        Spatial order of the differences.
    nt : int, default 40
        Number of time steps.
    seed : int, default 3
        Seed of the random numbers.
    ranges : tuple of (str, (float, float)), optional
        Pairs (name, (low, high)) with the range of a parameter. Other parameters have their default range.
    shape : tuple of int, optional
        Number of cells along each axis, depth first. The default is that of the variant, or else that of :func:`case`.

    Returns
    -------
    Case
        A case in float64 with strategy 'full', three shots of two sources and five receivers, and a record of all
        fields and derived quantities.

    Raises
    ------
    KeyError
        If no variant has this name.
    OptionError
        If the order is not valid, or the equation has no example in these ranges.
    TypeError
        If an argument is not hashable, because cases are cached.
    """
    options = dict({**VARIANTS, **ONE_AXIS}[name])
    rng, eq = np.random.default_rng(seed), equation(spatial_order=order)
    shape_of_variant = options.pop("shape", default_shape(eq))
    shape = shape or shape_of_variant
    between, earths, masked, every = (options.pop(key, False) for key in ("between", "earths", "masked", "sources"))
    ndim, top = len(shape), int("free_surface" in options)
    names = [f.name for f in eq.waves_in(ndim)]
    low, high = np.array([0] * (ndim - 1) + [top]), np.array(shape[::-1]) - 1
    sources, receivers = (rng.integers(low, high + 1, (3, n, ndim)) for n in (2, 5))  # type: Any, Any
    receivers[:, 0], receivers[:, 1], receivers[:, 2] = sources[:, 0], low, high
    if between:
        sources, receivers = (
            np.clip(x + rng.uniform(-0.5, 0.5, x.shape), low + 0.2 * top, high) for x in (sources, receivers)
        )
    mask = rng.random((3, 5)) < 0.7 if masked else None
    if mask is not None:
        receivers[~mask] = -99
    models = eq.example((3, *shape) if earths else shape, rng, **dict(ranges))
    arguments = {
        **{"equation": eq, "shape": shape, "dh": DH[:ndim], "dt": stable_dt(eq, DH[:ndim], models)},
        **{"pml_width": (5 - 5 * top, 4, 7, 6, 4, 5)[: 2 * ndim], "memory": STRATEGIES["full"]},
        "receiver_type": [*names, *eq.derived(ndim)],
        **({"source_type": names} if every else {}),
        **options,
    }
    return Case(arguments, Shots(rng.standard_normal((3, 2, nt)), sources, receivers, mask), models)


def ricker_case(nt=60, **options) -> Case:
    """Return a `case` with one smooth wavelet for all shots, of about twenty samples per period.

    Parameters
    ----------
    nt : int, default 60
        Number of time steps.
    **options
        Other arguments of :func:`case`.

    Returns
    -------
    Case
        A case with the wavelet ``(nt,)``, a Ricker wavelet with its peak at step 20.

    Raises
    ------
    OptionError
        If the order is not valid, or the equation has no example in these ranges.
    TypeError
        If an argument is not hashable, because cases are cached.
    """
    call = case(nt=nt, **options)
    dt = call.arguments["dt"]
    return attrs.evolve(call, shots=attrs.evolve(call.shots, wavelet=ricker(0.045 / dt, nt, dt, delay=20 * dt)))
