"""A cost model: the time of a step, and the memory of a device, on more devices than one run had."""

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from .._util.validators import check_positive, check_whole, check_width
from ..errors import DomainError, OptionError
from .profile import EVALUATION, KINDS, Interval, Profile
from .shot_plan import ShotPlan

DEVICES = tuple(2**power for power in range(11))


def _latency(value: Any) -> float:
    return check_width(value, "latency", "seconds")


def _bandwidth(value: Any) -> float:
    return check_positive(value, "bandwidth", "bytes per second")


@attrs.frozen
class Link:
    """The connection between devices: the time of a sum over n devices is

        2 ceil(log2 n) latency + 2 (n - 1) / n bytes / bandwidth,

    that of a reduce-scatter and an all-gather by recursive halving (Thakur, Rabenseifner and Gropp 2005, Int. J. High
    Perform. Comput. Appl. 19, 49-66). A ring moves as many bytes.

    Parameters
    ----------
    latency : float
        Time of the smallest message (s).
    bandwidth : float
        Bytes per second between two devices.

    Raises
    ------
    DtypeError, DomainError
        A number is not positive and finite; `latency` may be zero.

    Examples
    --------
    >>> from sweep_core.distribution import Link
    >>> Link(latency=1e-5, bandwidth=1e9).seconds(nbytes=8e6, devices=4)
    0.01204
    """

    latency: float = attrs.field(converter=_latency)
    bandwidth: float = attrs.field(converter=_bandwidth)

    def seconds(self, nbytes: float, devices: int) -> float:
        """Return the time of a sum of arrays of `nbytes` bytes over devices; zero for one device.

        Parameters
        ----------
        nbytes : float
            Bytes of the array on each device.
        devices : int
            Number of devices.

        Returns
        -------
        float
            Seconds.
        """
        rounds, share = _rounds_and_share(devices)
        return rounds * self.latency + share * nbytes / self.bandwidth

    @classmethod
    def of(cls, profile: Profile) -> "Link":
        """Return the link that fits the sums of a profile best: the median of small ones, and of the largest ones.

        Parameters
        ----------
        profile : Profile
            Profile of a run on two ranks or more.

        Returns
        -------
        Link

        Raises
        ------
        DomainError
            The run had one rank, or no two sizes of sums.
        """
        sums = [(each.nbytes, each.end - each.start) for each in profile.of_steps(("communication",))
                if each.name == "all_reduce"]  # fmt: skip
        sizes = sorted({nbytes for nbytes, _ in sums})
        if profile.size == 1 or len(sizes) < 2:
            raise DomainError(
                f"the profile has {profile.size} ranks and sums of {len(sizes)} sizes; expected two of each, which "
                "measure latency and bandwidth; give link=Link(latency, bandwidth)"
            )
        small, large = (
            float(np.median([t for nbytes, t in sums if nbytes == size])) for size in sizes[:: len(sizes) - 1]
        )
        rounds, share = _rounds_and_share(profile.size)
        return cls(small / rounds, share * (sizes[-1] - sizes[0]) / max(large - small, 1e-9))


def _rounds_and_share(devices: int) -> tuple[int, float]:
    """Return the messages one after another of a sum, and the bytes that a device sends over those of the array."""
    return 2 * (devices - 1).bit_length(), 2 * (devices - 1) / devices


@attrs.frozen
class PredictedStep:
    """The prediction for a number of devices.

    Attributes
    ----------
    devices : int
        Number of devices.
    shots : int
        Largest number of shots of a device in a gradient.
    compute, communication, host, step : float
        Seconds of a step, and of its parts; `compute` is that of the slowest device.
    idle : float
        Seconds that the mean device waits for the slowest one.
    speed_up, efficiency : float
        Time on one device over this one, and the same over the number of devices.
    memory : int, optional
        Bytes on a device.
    """

    devices: int
    shots: int
    compute: float
    communication: float
    host: float
    step: float
    idle: float
    speed_up: float
    efficiency: float
    memory: int | None = None


@attrs.frozen
class Prediction:
    """The predicted time of a step by the number of devices; ``print`` shows a table.

    Attributes
    ----------
    rows : tuple of PredictedStep
        A row for each number of devices.
    shots : int
        Shots of a gradient.
    shot : float
        Time of forward and backward of the mean shot (s).
    host : float
        Time of a step that does not depend on the number of devices (s).
    link : Link or None
        The link between devices.
    """

    rows: tuple[PredictedStep, ...]
    shots: int
    shot: float
    host: float
    link: Link | None

    def row(self, devices: int) -> PredictedStep:
        """Return the prediction for a number of devices.

        Parameters
        ----------
        devices : int
            One of the numbers that were predicted.

        Returns
        -------
        PredictedStep

        Raises
        ------
        OptionError
            There is no row of this number.
        """
        for row in self.rows:
            if row.devices == devices:
                return row
        raise OptionError(f"devices is {devices}; expected one of {', '.join(str(row.devices) for row in self.rows)}")

    def __str__(self) -> str:
        has_memory = any(row.memory is not None for row in self.rows)
        head = ["devices", "shots", "compute", "communication", "host", "step (s)", "speed-up", "efficiency"]
        table = [[*head, *(["memory"] if has_memory else [])]]
        for row in self.rows:
            times = (f"{value:.4g}" for value in (row.compute, row.communication, row.host, row.step))
            memory = [f"{row.memory / 2**30:.2f} GiB"] if row.memory is not None else []
            shares = [f"{row.speed_up:.2f}", f"{100 * row.efficiency:.0f} %"]
            table.append([str(row.devices), str(row.shots), *times, *shares, *memory])
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        return "\n".join("  ".join(map(str.rjust, line, widths)) for line in table)


def predict(
    profile: Profile,
    devices: Sequence[int] = DEVICES,
    *,
    shots: int | None = None,
    costs: Any = None,
    nbytes: int | None = None,
    link: Link | None = None,
    memory: Callable[[int], int] | None = None,
    batch: int = 4,
) -> Prediction:
    """Predict the time of a step and the memory of a device on more devices, from the profile of one run.

    Parameters
    ----------
    profile : Profile
        Profile of a run of the same problem on one or more ranks, each of which was one device.
    devices : sequence of int
        Numbers of devices; 1 to 1024 in powers of two by default.
    shots : int, optional
        Shots of a gradient; by default as many as in the run.
    costs : (shots,) array, optional
        Cost of each shot in any unit, such as :func:`shot_costs`; equal by default. Their mean stands for the mean
        shot of the run.
    nbytes : int, optional
        Bytes of the sum of a gradient; by default those of the run, with 8 for each cell and parameter on one rank.
    link : Link, optional
        The link between devices; by default that of the run, :meth:`Link.of`.
    memory : callable, optional
        ``memory(shots)`` returns the bytes on a device for a number of shots that are modelled at once, such as
        ``lambda shots: solver.estimate(shots, nt).current.use.on_device``.
    batch : int
        Number of shots that a device models at once, for `memory`.

    Returns
    -------
    Prediction
        A table, which :func:`sweep_core.plot.plot_scaling` draws.

    Raises
    ------
    DomainError
        The run has no steps, computed no gradient in them, or does not measure the link.
    OptionError, ShapeError
        A number is not whole, or costs do not fit.

    Notes
    -----
    The time of a step on n devices is the sum of

    - compute: the time of a shot (forward, backward and its data), times the cost of the largest part of
      ``ShotPlan(shots, n, costs)`` in units of the mean shot, times the gradients of a step;
    - communication: the sums of the gradient, and the small sums of the run, each by :meth:`Link.seconds`;
    - host: the largest time of a rank in the optimiser, checkpoints and observers.

    Assumptions:

    - The time of a shot does not depend on the number of shots that a device models at once, nor on other devices. So
      devices of one host do not share memory, processors or disks.
    - The link is equal between all devices, and sums do not overlap with the computation.
    - The work of the host does not depend on the number of devices.
    """
    if not profile.is_step.any():
        raise DomainError("the profile has no steps; expected that of a run with one step or more")
    steps = int(profile.is_step.sum())
    total_shots = sum(each.shots for each in profile.of_steps(("backward", "gradient")))
    if not total_shots:
        raise DomainError("no step of the profile computed a gradient; expected that of a run with new steps")
    own = _shots(profile, total_shots)
    count = own if shots is None else check_whole(shots, "shots", 1)
    seconds = profile.mean
    compute = seconds[:, [KINDS.index(kind) for kind in ("forward", "backward", "gradient", "data")]].sum() * steps
    shot, gradients = float(compute) / total_shots, total_shots / steps / own
    host = float(seconds[:, KINDS.index("host")].max())
    numbers = tuple(check_whole(number, "devices", 1) for number in devices)
    if max(numbers, default=1) > 1 and link is None:
        link = Link.of(profile)
    large, small = _sums(profile, steps)
    large = large if nbytes is None else check_whole(nbytes, "nbytes", 0)
    rows: list[PredictedStep] = []
    alone = None
    for number in (1, *numbers):
        plan = ShotPlan(count, number, costs)
        part = (1 + plan.imbalance) * count / number  # the largest part, in mean shots
        slowest = shot * part * gradients
        sending = gradients * link.seconds(large, number) + small * link.seconds(8, number) if link else 0.0
        step = slowest + sending + host
        alone = alone or step
        at_once = min(batch, plan.longest)
        rows.append(
            PredictedStep(
                number, plan.longest, slowest, sending, host, step, slowest - shot * count / number * gradients,
                alone / step, alone / step / number, None if memory is None else int(memory(at_once)),
            )
        )  # fmt: skip
    return Prediction(tuple(rows[1:]), count, shot, host, link)


def _shots(profile: Profile, total_shots: int) -> int:
    """Return the shots of a gradient: those of all steps over the number of evaluations that computed one."""
    own = [each for each in _evaluations(profile) if each.own < each.end - each.start]
    return max(round(total_shots * profile.size / max(len(own), 1)), 1)


def _sums(profile: Profile, steps: int) -> tuple[int, float]:
    """Return the bytes of the sum of a gradient, and the number of other sums in a step on several ranks."""
    sizes = [each.nbytes for each in profile.of_steps(("communication",))]
    if profile.size == 1:  # the sums are identities, and some are left out: of the gradient, and of requests to stop
        return max((each.nbytes for each in _evaluations(profile)), default=0), len(sizes) / steps + 1
    large = max(sizes, default=0)
    return large, sum(size < large for size in sizes) / steps / profile.size


def _evaluations(profile: Profile) -> list[Interval]:
    """Return the evaluations of misfit and gradient in the steps."""
    return [each for each in profile.of_steps(("host",)) if each.name == EVALUATION]
