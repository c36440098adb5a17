"""A synthetic experiment over a prepared model: wavelet, survey, and the order in which shots are used."""

import math

import attrs
import numpy as np

from ..errors import DomainError, ShapeError
from ..io import PreparedModel
from ..stencil import largest_dt
from ..survey import Shots
from ..wavelet import ricker


@attrs.frozen(eq=False)
class Experiment:
    """Everything that defines the data of an inversion but the code that models them.

    Parameters
    ----------
    model : PreparedModel
        True and initial vp (nz, nx) in m/s, and the water that stays fixed.
    shots : Shots
        float32 wavelet (nt,), sources (nshots, 2) and receivers (nrec, 2) in cells.
    dt : float
        Time step, s.
    freq : float
        Peak frequency of the wavelet, Hz.
    spatial_order : int
    slowest, fastest : float
        Bounds of vp during the inversion, m/s; dt is stable up to `fastest`.
    """

    model: PreparedModel
    shots: Shots
    dt: float
    freq: float
    spatial_order: int
    slowest: float
    fastest: float

    @property
    def nshots(self) -> int:
        return len(self.shots)

    def order(self, seed: int, epoch: int, batchsize: int) -> list[np.ndarray]:
        """The steps of an epoch: all shots once, shuffled by seed and epoch, in parts of `batchsize`."""
        shuffled = np.random.default_rng((seed, epoch)).permutation(self.nshots)
        return [np.sort(shuffled[i : i + batchsize]) for i in range(0, self.nshots, batchsize)]

    def model_error(self, vp: np.ndarray) -> float:
        """RMS difference from the true model, m/s."""
        return float(np.sqrt(np.mean((np.asarray(vp, np.float64) - self.model.true) ** 2)))

    def update(self, vp: np.ndarray) -> np.ndarray:
        """vp within the bounds, and the true velocity in the water."""
        return np.where(self.model.water, self.model.true, np.clip(vp, self.slowest, self.fastest))


def marine_experiment(
    model: PreparedModel,
    nshots: int = 16,
    freq: float = 5.0,
    spatial_order: int = 8,
    duration: float | None = None,
) -> Experiment:
    """Shots and a fixed spread of receivers along the top of a model, two cells deep.

    Parameters
    ----------
    nshots : int
        Sources, evenly spaced from edge to edge; receivers are at every second cell.
    freq : float
        Peak frequency of the Ricker wavelet, Hz; at least four cells must remain to its shortest wavelength.
    duration : float, optional
        Record length in s: by default 2.3 times the depth over 2000 m/s, and the wavelet's delay.
    """
    nz, nx = model.true.shape
    fastest = 1.15 * float(max(model.true.max(), model.initial.max()))
    slowest = 0.85 * float(min(model.true.min(), model.initial.min()))
    if slowest / (2.5 * freq) < 2 * model.dh:
        raise DomainError(
            f"{freq} Hz is too high for dh = {model.dh} m: waves of {slowest:.0f} m/s at 2.5 times the peak frequency "
            f"have less than two cells; use at most {slowest / (5 * model.dh):.1f} Hz or a finer grid"
        )
    if nshots < 1 or nx < 8 or nz < 8:
        raise ShapeError(f"{nshots} shots over a model of {nz} x {nx} cells; expected at least 1 and 8 x 8")
    stable = 0.9 * largest_dt(spatial_order, (model.dh, model.dh), fastest)
    dt = math.floor(stable * 1e4) / 1e4 if stable > 1e-4 else stable
    seconds = duration if duration is not None else 2.3 * nz * model.dh / 2000 + 1.5 / freq
    nt = math.ceil(seconds / dt)
    depth = 2
    at = np.linspace(2, nx - 3, nshots).round() if nshots > 1 else np.array([nx // 2])
    sources = np.stack([at, np.full(nshots, depth)], axis=1).astype(np.int64)
    receivers = np.stack([np.arange(0, nx, 2), np.full(len(range(0, nx, 2)), depth)], axis=1).astype(np.int64)
    shots = Shots(ricker(freq, nt, dt).astype(np.float32), sources, receivers)
    return Experiment(model, shots, dt, freq, spatial_order, slowest, fastest)
