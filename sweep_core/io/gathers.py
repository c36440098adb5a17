"""Observed or modelled shot gathers, in the layout that a solver uses."""

import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from .._util.validators import check_number, check_positive, check_width, shot_numbers
from ..errors import DomainError, DtypeError, OptionError, ShapeError
from .line import Line, Misfit
from .prepared import c_ordered, check_spacing


def check_spacings(dh: Any) -> tuple[float, float]:
    """Return (dz, dx) in metres from one number for both, or from two numbers."""
    if np.ndim(dh) == 0:
        return (check_spacing(dh),) * 2
    if np.shape(dh) != (2,):
        raise ShapeError(f"dh is {dh!r}; expected metres, one number or (dz, dx)")
    dz, dx = (check_spacing(float(d)) for d in dh)
    return dz, dx


def check_gathers(gathers: Any, which: str = "") -> None:
    """Raise a DtypeError unless `gathers` are `Gathers`. The text `which` ends the message with the reason."""
    if not isinstance(gathers, Gathers):
        raise DtypeError(f"gathers are {type(gathers).__name__}; expected sweep_core.io.Gathers{which}")


def check_field(gathers: Any, field: Any) -> int:
    """Return `field`, or raise an OptionError if the gathers do not hold this field."""
    nfield = gathers.observed.shape[3]
    if isinstance(field, bool) or not isinstance(field, int | np.integer) or not 0 <= field < nfield:
        raise OptionError(f"field is {field!r}; expected a field of observed, 0 to {nfield - 1}")
    return int(field)


def _interval(dt: Any) -> float:
    return check_positive(dt, "dt", "the sampling interval in seconds")


def _datum(value: Any) -> float:
    return check_number(value, "datum", "an elevation in metres")


SHOT_ARRAYS = "sources", "receivers", "receiver_mask", "recorded", "clipped", "shots", "traces"
"""The arrays of gathers that have one row per shot, apart from the record."""


@attrs.frozen(eq=False)
class Gathers:
    """Records of several shots with their positions, in C order. Instances compare by identity.

    Shots with fewer receivers than others are padded. Where `receiver_mask` is False there is no trace, or a dead
    trace.

    Parameters
    ----------
    sources : (nshots, 2) float array
        Positions of the sources: columns (x, z) in grid cells.
    receivers : (nshots, nrec, 2) float array
        Positions of the receivers: the same columns.
    observed : (nshots, nt, nrec, nfield) float32 or float64 array
        The record. Its first sample is at time zero. It is zero where `receiver_mask` is False, and at times that were
        not recorded.
    dt : float
        Sampling interval (s).
    dh : float or (dz, dx)
        Spacing (m) of the grid whose cells the positions count.
    receiver_mask : (nshots, nrec) bool array, optional
        Live traces; all by default.
    recorded : (nshots, nrec, 2) float array, optional
        Times of the first and the last recorded sample (s); those of the record by default.
    clipped : (nshots, nrec) bool array, optional
        Traces known to stay at their extreme; none by default.
    shots : (nshots,) integer array, optional
        Numbers of the shots in the acquisition; 0, 1, ... by default.
    traces : (nshots, nrec) integer array, optional
        Numbers of the traces in their file, -1 where there is no trace; 0, 1, ... by default.
    line : Line, optional
        Position of the x axis on the map.
    misfit : Misfit, optional
        Distance of the survey from that line.
    datum : float
        Elevation of z = 0 (m).
    name : str
        Name of the data in titles and texts.
    notes : tuple of str
        Remarks of the reader on the data.

    Raises
    ------
    ShapeError, DtypeError, DomainError
        The arrays do not fit each other, have another dtype, or hold NaN or infinite values. `observed` must be zero
        where `receiver_mask` is False.
    """

    sources: NDArray[np.float64] = attrs.field(repr=False, converter=c_ordered)
    receivers: NDArray[np.float64] = attrs.field(repr=False, converter=c_ordered)
    observed: NDArray[Any] = attrs.field(repr=False, converter=c_ordered)
    dt: float = attrs.field(converter=_interval)
    dh: tuple[float, float] = attrs.field(converter=check_spacings)
    receiver_mask: NDArray[np.bool_] = attrs.field(default=None, repr=False, converter=c_ordered)
    recorded: NDArray[np.float64] = attrs.field(default=None, repr=False, converter=c_ordered)
    clipped: NDArray[np.bool_] = attrs.field(default=None, repr=False, converter=c_ordered)
    shots: NDArray[np.int64] = attrs.field(default=None, repr=False, converter=c_ordered)
    traces: NDArray[np.int64] = attrs.field(default=None, repr=False, converter=c_ordered)
    line: Line = attrs.field(factory=Line)
    misfit: Misfit = attrs.field(factory=Misfit)
    datum: float = attrs.field(default=0.0, converter=_datum)
    name: str = "gathers"
    notes: tuple[str, ...] = attrs.field(default=(), repr=False)

    def __attrs_post_init__(self) -> None:
        for key, kind in (("line", Line), ("misfit", Misfit), ("name", str)):
            if not isinstance(value := getattr(self, key), kind):
                raise DtypeError(f"{key} is {value!r}; expected {kind.__name__}")
        for key in ("sources", "receivers", "observed"):
            value = getattr(self, key)
            if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
                kind_name = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
                raise DtypeError(f"{key} are {kind_name}; expected a NumPy array of floating-point numbers")
            if not np.isfinite(value).all():
                raise DomainError(f"{key} hold NaN or infinite values; expected finite numbers")
        if self.observed.ndim != 4 or 0 in self.observed.shape[1:]:
            raise ShapeError(f"observed has shape {self.observed.shape}; expected (nshots, nt, nrec, nfield)")
        nshots, nt, nrec, _ = self.observed.shape
        defaults: dict[str, Any] = {
            "receiver_mask": np.ones((nshots, nrec), bool),
            "recorded": np.tile([0.0, (nt - 1) * self.dt], (nshots, nrec, 1)),
            "clipped": np.zeros((nshots, nrec), bool),
            "shots": np.arange(nshots),
            "traces": np.arange(nshots * nrec).reshape(nshots, nrec),
        }
        for key, value in defaults.items():
            if getattr(self, key) is None:
                object.__setattr__(self, key, value)
        shapes = {"sources": (nshots, 2), "receivers": (nshots, nrec, 2)}
        for key, shape in (shapes | {key: value.shape for key, value in defaults.items()}).items():
            array = getattr(self, key)
            if not isinstance(array, np.ndarray) or array.shape != shape:
                raise ShapeError(
                    f"{key} has shape {np.shape(array)}; expected {shape}, for the shots and traces of observed"
                )
            if key in defaults and array.dtype.kind != defaults[key].dtype.kind:
                raise DtypeError(f"{key} is of {array.dtype}; expected {defaults[key].dtype}")
        if self.observed.swapaxes(1, 2)[~self.receiver_mask].any():
            raise DomainError("observed holds samples where receiver_mask is False; expected zeros")

    def __len__(self) -> int:
        return len(self.observed)

    @property
    def nt(self) -> int:
        """Number of samples of each trace."""
        return self.observed.shape[1]

    @property
    def times(self) -> NDArray[Any]:
        """Times of the samples, (nt,) seconds."""
        return np.arange(self.nt) * self.dt

    @property
    def offsets(self) -> NDArray[Any]:
        """Signed distances from the source to the receivers along the line, (nshots, nrec) metres."""
        return (self.receivers[..., 0] - self.sources[:, None, 0]) * self.dh[1]

    @property
    def dead(self) -> NDArray[np.bool_]:
        """Mask (nshots, nrec) of the traces that exist and are not used."""
        return (self.traces >= 0) & ~self.receiver_mask

    def weights(self, taper: float = 0.0) -> NDArray[Any]:
        """Return the weights of a misfit: one at recorded times, zero elsewhere.

        Parameters
        ----------
        taper : float
            Length of the cosine taper inside each end of the recording (s).

        Returns
        -------
        (nshots, nt, nrec, 1) array
            Weights, of the dtype of the data.

        Raises
        ------
        DomainError, DtypeError
            `taper` is not a number from zero on.
        """
        first, last = np.moveaxis(self.recorded[:, None], -1, 0)
        times = self.times[:, None]
        inside = np.minimum(times - first, last - times) + 1e-9 * self.dt
        if check_width(taper, "taper", "seconds"):
            weights = 0.5 - 0.5 * np.cos(np.pi * np.clip(inside / taper, 0, 1))
        else:
            weights = (inside >= 0).astype(np.float64)
        return np.ascontiguousarray(weights * self.receiver_mask[:, None], dtype=self.observed.dtype)[..., None]

    def take(self, indices: Any) -> "Gathers":
        """Return the gathers of some shots.

        Parameters
        ----------
        indices : sequence of int
            Shots, counted from 0, in the order of the result, such as the shots of one rank in a `ShotPlan`. The
            sequence may be empty.

        Returns
        -------
        Gathers
            The gathers of these shots.

        Raises
        ------
        DomainError
            There is no such shot.
        """
        indices = shot_numbers(indices, len(self))
        return attrs.evolve(self, **{key: getattr(self, key)[indices] for key in ("observed", *SHOT_ARRAYS)})

    def __str__(self) -> str:
        return "\n".join([self._counts(), *(f"  {key:<10}{text}" for key, text in self._facts())])

    def _counts(self) -> str:
        counts = (self.traces >= 0).sum(axis=1)
        fields = self.observed.shape[3]
        shots = f"{len(self)} shot{'s' * (len(self) != 1)} of {_range(*_ends(counts))} receivers"
        return f"{self.name}: {shots}, {counts.sum()} traces" + f" of {fields} fields" * (fields > 1)

    def _facts(self) -> list[tuple[str, str]]:
        dz, dx = self.dh
        live = self.receiver_mask
        facts = [("time", f"{self.nt} samples every {1e3 * self.dt:g} ms, {(self.nt - 1) * self.dt:g} s")]
        begin, end = (_ends(times) for times in self.recorded[live].T)
        if live.any() and (max(begin) > 0 or min(end) < (self.nt - 1.5) * self.dt):
            facts.append(("recorded", f"from {_range(*begin)} s to {_range(*end)} s"))
        facts.append(("traces", f"{self.dead.sum()} dead{_trace_list(self.traces[self.dead])}, "
                                f"{self.clipped.sum()} clipped{_trace_list(self.traces[self.clipped])}"))  # fmt: skip
        offsets = self.offsets[live]
        facts.append(("offsets", f"{_range(*_ends(offsets))} m, {_range(*_ends(np.abs(offsets)))} m in magnitude"))
        for key, cells in (("sources", self.sources), ("receivers", self.receivers[self.traces >= 0])):
            facts.append((key, f"x {_range(*_ends(cells[:, 0] * dx))} m, z {_range(*_ends(cells[:, 1] * dz))} m"))
        facts.append(("cells", f"{dx:g} m" if dx == dz else f"{dx:g} m along x, {dz:g} m along z"))
        x, y = self.line.origin
        facts.append(("line", f"x = 0 at ({x:.2f}, {y:.2f}), azimuth {self.line.azimuth:.2f} degrees"))
        rms, largest, offset = (f"{round(value, 6):.3g} m" for value in attrs.astuple(self.misfit))
        facts.append(("off line", f"{rms} rms, {largest} at most; offsets to {offset}"))
        return facts + [("note", note) for note in self.notes]


def _ends(values: NDArray[Any]) -> tuple[float, float]:
    return (float(values.min()), float(values.max())) if values.size else (math.nan, math.nan)


def _range(low: float, high: float) -> str:
    if math.isnan(low):
        return "no"
    if math.isclose(low, high, abs_tol=1e-9):
        return f"{low:.6g}"
    return f"{low:.6g} to {high:.6g}"


def _trace_list(traces: NDArray[np.int64]) -> str:
    """Return the first numbers of some traces, in parentheses."""
    if not traces.size:
        return ""
    return f" ({', '.join(map(str, traces[:5]))}{', ...' * (traces.size > 5)})"
