"""Small rough problems, and the answers of the reference."""

from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from .. import Acoustic, BoundaryOptions, CkptOptions, MemoryOptions, Shots, make_problem, ricker
from ..equations.equation import Equation
from ..execution.reference import ReferenceExecutor
from ..memory.options import LOWER

__all__ = [
    "Case",
    "born_of_cell",
    "case",
    "default_shape",
    "layered_case",
    "of_another_wavelet",
    "random_cells",
    "reference_born",
    "reference_record",
    "ricker_case",
    "stable_dt",
    "variant",
]

DH = (10.0, 8.0, 9.0)
SHAPES = {1: (61,), 2: (19, 23), 3: (11, 12, 13)}
OF_LIMIT = 0.7
"""The time step, relative to the largest stable one."""
STRATEGIES = {
    "full": MemoryOptions("full"),
    "auto": MemoryOptions("auto"),
    "ckpt": MemoryOptions("ckpt"),
    "ckpt-1": MemoryOptions("ckpt", ckpt=CkptOptions(chunks=1)),
    "ckpt-7": MemoryOptions("ckpt", ckpt=CkptOptions(chunks=7)),
    "ckpt-999": MemoryOptions("ckpt", ckpt=CkptOptions(chunks=999)),
    "recursive": MemoryOptions("ckpt", ckpt=CkptOptions("recursive")),
    "recursive-1": MemoryOptions("ckpt", ckpt=CkptOptions("recursive", count=1)),
    "host": MemoryOptions("ckpt", ckpt=CkptOptions(storage="cpu")),
    "disk": MemoryOptions("ckpt", ckpt=CkptOptions(storage="disk")),
    "boundary": MemoryOptions("boundary"),
    "boundary-disk": MemoryOptions("boundary", boundary=BoundaryOptions(storage="disk")),
    **{dtype: MemoryOptions("full", dtype=dtype) for dtype in LOWER},
    "boundary-int8": MemoryOptions("boundary", boundary=BoundaryOptions(dtype="int8")),
}
INEXACT = {
    "boundary": 1e-11,
    "boundary-disk": 1e-11,
    **LOWER,
    "boundary-int8": LOWER["int8"],
}
"""For inexact strategies, the largest difference from the gradient of 'full', relative to its maximum, in float64."""


def default_shape(equation: Equation) -> tuple[int, ...]:
    """Return the shape of the small cases of an equation, two-dimensional if it exists in two dimensions.

    Parameters
    ----------
    equation : Equation
        The equation.

    Returns
    -------
    tuple of int
        Number of cells along each axis, depth first.
    """
    return SHAPES[2 if 2 in equation.ndims else min(equation.ndims)]


@attrs.frozen(eq=False)
class Case:
    """A problem and one call of it, in float64 NumPy arrays. Cases are cached, so that the reference runs each once.

    Parameters
    ----------
    arguments : dict
        Keyword arguments of :func:`sweep_core.make_problem`.
    shots : Shots
        Wavelets, positions and mask.
    models : list of numpy.ndarray
        One array for each parameter of the equation, in the unit of the parameter. A case with an earth for each shot
        has a leading axis nshots.
    """

    arguments: dict
    shots: Shots
    models: list

    @property
    def problem(self):
        """The problem.

        Raises
        ------
        SweepError
            If :func:`sweep_core.make_problem` refuses the arguments.
        """
        return make_problem(**self.arguments)

    def typed(self, dtype) -> "Case":
        """Return the case in another dtype.

        Parameters
        ----------
        dtype : dtype
            Floating-point type, such as ``numpy.float32``.

        Returns
        -------
        Case
            A case with converted wavelets and models.
        """
        shots = attrs.evolve(self.shots, wavelet=self.shots.wavelet.astype(dtype))
        return attrs.evolve(self, shots=shots, models=[m.astype(dtype) for m in self.models])

    def remembering(self, strategy: str | MemoryOptions) -> "Case":
        """Return the case with a memory strategy.

        Parameters
        ----------
        strategy : str or MemoryOptions
            Options of the memory strategy, or their name, a key of `STRATEGIES`.

        Returns
        -------
        Case
            A case with these options and the same shots and models.

        Raises
        ------
        KeyError
            If no strategy has this name.
        """
        memory = STRATEGIES[strategy] if isinstance(strategy, str) else strategy
        return attrs.evolve(self, arguments=self.arguments | {"memory": memory})

    def noise(self, seed=1) -> np.ndarray:
        """Return random values in the shape of the record, each field as large as in the record.

        Parameters
        ----------
        seed : int, default 1
            Seed of the random numbers.

        Returns
        -------
        numpy.ndarray, (nshots, nt, nrec, nfield)
            Normally distributed values. Their standard deviation is the maximum of the field in the record of the
            reference, or 1 if that maximum is zero.
        """
        record = reference_record(self)
        scale = np.abs(record).max((0, 1, 2))
        return np.random.default_rng(seed).standard_normal(record.shape) * np.where(scale > 0, scale, 1)

    def direction(self, seed=2) -> list:
        """Return a random perturbation of the models.

        Parameters
        ----------
        seed : int, default 2
            Seed of the random numbers.

        Returns
        -------
        list of numpy.ndarray
            One array in the shape and unit of each model. Its standard deviation is the mean absolute value of the
            model.
        """
        rng = np.random.default_rng(seed)
        return [rng.standard_normal(m.shape) * np.abs(m).mean() for m in self.models]


def stable_dt(equation, spacing, models, share=OF_LIMIT) -> float:
    """Return a time step (s) that is a fraction `share` of the largest stable one.

    Parameters
    ----------
    equation : Equation
        The equation, with its spatial order.
    spacing : tuple of float
        Distance of the nodes along each axis (m), depth first.
    models : list of numpy.ndarray
        One array for each parameter of the equation.
    share : float, default 0.7
        Fraction of the largest stable time step.

    Returns
    -------
    float
        Time step (s).
    """
    return share * equation.largest_speed(spacing, 1.0) / float(np.max(equation.speed(*models)))


def random_cells(rng, shape, *leading) -> np.ndarray:
    """Return random positions with columns (x, .., z).

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of random numbers.
    shape : tuple of int
        Number of cells along each axis, depth first.
    *leading : int
        Shape of the result without its last axis, such as ``nshots, nsrc``.

    Returns
    -------
    numpy.ndarray of int, ``(*leading, ndim)``
        Positions inside the grid, in cells.
    """
    return np.stack([rng.integers(0, n, leading) for n in shape[::-1]], axis=-1)


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


@lru_cache
def reference_record(call: Case) -> np.ndarray:
    """Return the record of the reference.

    Parameters
    ----------
    call : Case
        The problem, the shots and the models.

    Returns
    -------
    numpy.ndarray, (nshots, nt, nrec, nfield)
        float64. The result is cached: do not write into it.

    Raises
    ------
    SweepError
        If the reference refuses the problem, the shots or the models.
    """
    return ReferenceExecutor().forward(call.problem, call.shots, call.models)


@lru_cache
def reference_born(call: Case) -> np.ndarray:
    """Return the derivative of the reference's record in the direction of the case.

    Parameters
    ----------
    call : Case
        The problem, the shots and the models; the direction is :meth:`Case.direction`.

    Returns
    -------
    numpy.ndarray, (nshots, nt, nrec, nfield)
        float64. The result is cached: do not write into it.

    Raises
    ------
    SweepError
        If the reference refuses the problem, the shots or the models.
    """
    return ReferenceExecutor().born(call.problem, call.shots, call.models, call.direction())


@lru_cache
def of_another_wavelet(call: Case) -> tuple[np.ndarray, np.ndarray]:
    """Return a random wavelet and its record, which is linear in the wavelet, for dot tests.

    Parameters
    ----------
    call : Case
        The problem, the shots and the models.

    Returns
    -------
    wavelet : numpy.ndarray
        Random values in the shape of the wavelet of the case.
    record : numpy.ndarray, (nshots, nt, nrec, nfield)
        Its record by the reference, float64. Both results are cached: do not write into them.

    Raises
    ------
    SweepError
        If the reference refuses the problem, the shots or the models.
    """
    wavelet = np.random.default_rng(7).standard_normal(call.shots.wavelet.shape)
    shots = attrs.evolve(call.shots, wavelet=wavelet)
    return wavelet, ReferenceExecutor().forward(call.problem, shots, call.models)


@lru_cache(maxsize=1024)
def born_of_cell(call: Case, cell, parameter=0) -> np.ndarray:
    """Return the derivative of the record in one cell of one model, exact to rounding.

    Parameters
    ----------
    call : Case
        The problem, the shots and the models.
    cell : tuple of int
        Index of the cell in the model, (z, x) or (z, y, x).
    parameter : int, default 0
        Number of the model, in the order of the equation's parameters.

    Returns
    -------
    numpy.ndarray, (nshots, nt, nrec, nfield)
        Derivative in the value of the cell, float64. The result is cached: do not write into it.

    Raises
    ------
    SweepError
        If the reference refuses the problem, the shots or the models.
    IndexError
        If the equation has no such parameter, or the model no such cell.
    """
    direction = [np.zeros(m.shape) for m in call.models]
    direction[parameter][cell] = 1
    return ReferenceExecutor().born(call.problem, call.shots, call.models, direction)
