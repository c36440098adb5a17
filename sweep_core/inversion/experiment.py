"""A synthetic experiment over a prepared model: wavelet, survey, and the order in which shots are used."""

import math
from typing import Any

import attrs
import numpy as np

from ..acquisition.shots import Shots
from ..acquisition.wavelets import ricker
from ..equations import Acoustic
from ..equations.equation import Equation
from ..errors import DomainError, ShapeError
from ..io import ElasticModel, PreparedModel


@attrs.frozen(eq=False)
class Experiment:
    """A synthetic survey over a known model: all that defines its data, but no backend.

    Parameters
    ----------
    model : PreparedModel or ElasticModel
        True and initial parameters, (nz, nx) for one or (n, nz, nx) for several, and the water that stays fixed.
    shots : Shots
        float32 wavelet (nt,), sources (nshots, 2) and receivers (nrec, 2) in cells.
    dt : float
        Time step, s.
    freq : float
        Peak frequency of the wavelet, Hz.
    equation : Equation
    slowest, fastest : float, or array (n, 1, 1)
        Bounds of the parameters during the inversion; dt is stable up to `fastest`.
    source_type, receiver_type : tuple of str
        Fields of the equation that take the source term and that are recorded.
    steps : tuple of float
        Step length of each parameter over that of the first.

    Examples
    --------
    >>> from sweep_core.inversion import marine_experiment
    >>> from sweep_core.io import faulted_model
    >>> experiment = marine_experiment(faulted_model((40, 60), 20.0), nshots=3)
    >>> experiment.nshots, experiment.names
    (3, ('vp',))
    """

    model: PreparedModel | ElasticModel
    shots: Shots
    dt: float
    freq: float
    equation: Equation
    slowest: Any
    fastest: Any
    source_type: tuple[str, ...] = ("h1",)
    receiver_type: tuple[str, ...] = ("h1",)
    steps: tuple[float, ...] = (1.0,)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters that are inverted for."""
        return tuple(parameter.name for parameter in self.equation.parameters)

    @property
    def nshots(self) -> int:
        """The number of shots."""
        return len(self.shots)

    def bounds(self) -> dict[str, tuple[float, float]]:
        """Return (low, high) of each parameter by its name."""
        sides = (np.ravel(side).tolist() for side in (self.slowest, self.fastest))
        return dict(zip(self.names, zip(*sides, strict=True), strict=True))


def separate(model: np.ndarray) -> list[np.ndarray]:
    """Return the list of parameters that a propagator takes.

    Parameters
    ----------
    model : array, (n, nz, nx), or (nz, nx) for one parameter

    Returns
    -------
    list of array, (nz, nx)

    Raises
    ------
    AttributeError
        If `model` is no array.
    """
    return list(model) if model.ndim == 3 else [model]


def model_error(model: np.ndarray, true: np.ndarray) -> Any:
    """Return the RMS difference of two models: a float for (nz, nx), a list for (n, nz, nx)."""
    return np.sqrt(np.mean((np.asarray(model, np.float64) - true) ** 2, axis=(-2, -1))).tolist()


def time_step(largest: float) -> float:
    """Return 0.9 of the largest stable time step (s), in tenths of a millisecond."""
    dt = 0.9 * largest
    return math.floor(dt * 1e4) / 1e4 if dt > 1e-4 else dt


def marine_experiment(
    model: PreparedModel, nshots: int = 16, freq: float = 5.0, spatial_order: int = 8, duration: float | None = None
) -> Experiment:
    """Return an acoustic experiment: shots and fixed receivers along the top of a model, two cells deep.

    Parameters
    ----------
    model : PreparedModel
        True and initial vp (nz, nx), m/s.
    nshots : int
        Sources, evenly spaced from edge to edge, at most one in a cell; receivers are at every second cell.
    freq : float
        Peak frequency of the Ricker wavelet, Hz; the slowest waves at 2.5 times `freq` must have two cells.
    spatial_order : int
        Order of the differences in space.
    duration : float, optional
        Record length in s: by default 2.3 times the depth over 2000 m/s, and the wavelet's delay.

    Returns
    -------
    Experiment

    Raises
    ------
    DomainError
        If `freq` is too high for the grid, or more shots than cells are asked for.
    ShapeError
        If the model has fewer than 8 x 8 cells.
    """
    equation = Acoustic(spatial_order=spatial_order)
    slowest, fastest = span(model.true, model.initial)
    shots, dt = marine_survey(model, equation, nshots, freq, (slowest, fastest), duration)
    return Experiment(model, shots, dt, freq, equation, slowest, fastest)


def span(true: np.ndarray, initial: np.ndarray) -> tuple[float, float]:
    """Return the bounds of a parameter: 15 % below its least and above its greatest value."""
    return 0.85 * float(min(true.min(), initial.min())), 1.15 * float(max(true.max(), initial.max()))


def marine_survey(
    model: PreparedModel | ElasticModel, equation: Equation, nshots: int, freq: float,
    speeds: tuple[float, float], duration: float | None = None,
) -> tuple[Shots, float]:  # fmt: skip
    """Return the shots of :func:`marine_experiment` and a stable time step for waves between `speeds` (m/s)."""
    nz, nx = model.true.shape[-2:]
    slowest, fastest = speeds
    if slowest / (2.5 * freq) < 2 * model.dh:
        raise DomainError(
            f"{freq} Hz is too high for dh = {model.dh} m: waves of {slowest:.0f} m/s at 2.5 times the peak frequency "
            f"have less than two cells; use at most {slowest / (5 * model.dh):.1f} Hz or a finer grid"
        )
    if nx < 8 or nz < 8:
        raise ShapeError(f"the model has {nz} x {nx} cells; expected at least 8 x 8")
    if not 1 <= nshots <= nx - 4:
        raise DomainError(f"{nshots} shots over a line of {nx} cells; expected 1 to {nx - 4}, one in a cell")
    dt = time_step(equation.largest_speed((model.dh, model.dh), 1.0) / fastest)
    seconds = duration if duration is not None else 2.3 * nz * model.dh / 2000 + 1.5 / freq
    nt = math.ceil(seconds / dt)
    depth = 2
    at = np.linspace(2, nx - 3, nshots).round() if nshots > 1 else np.array([nx // 2])
    sources = np.stack([at, np.full(nshots, depth)], axis=1).astype(np.int64)
    receivers = np.stack([np.arange(0, nx, 2), np.full(len(range(0, nx, 2)), depth)], axis=1).astype(np.int64)
    return Shots(ricker(freq, nt, dt).astype(np.float32), sources, receivers), dt
