"""``python -m benchmarks.staggered``: equations on a staggered grid beside Deepwave, alternating in one process.

Both are driven by an explosion in the middle, differentiated with respect to the same models, and must agree to
5 % on the pressure before they are timed. The cost of computing everywhere, as Deepwave does, stands in brackets.
"""

import argparse
import os
import sys

import attrs
import numpy as np
import torch

from sweep_core import (
    AcousticVariableDensity,
    AcousticVTI,
    AcousticVTISecondOrder,
    Elastic,
    ElasticVTI,
    Equation,
    MemoryOptions,
    ViscoAcoustic,
    ricker,
)
from sweep_torch import PropTorch

from .timing import Job, alternate, everywhere, ratio

DH, DT, FREQ = 5.0, 0.0005, 15.0
VTI = AcousticVTI, AcousticVTISecondOrder
SOURCES = ("p", "ph", "sxx", "syy", "szz")
EARTH = {"vp": 3000.0, "vs": 1700.0, "rho": 2000.0, "epsilon": 0.15, "delta": 0.05, "gamma": 0.1, "Q": 50.0}


@attrs.frozen
class Case:
    """A homogeneous earth and one shot, with receivers 25 cells above it; float32, order 4, 20 cells of PML."""

    equation: Equation
    shape: tuple[int, ...]
    steps: int

    @property
    def name(self) -> str:
        size = " x ".join(map(str, self.shape))
        return f"{self.equation.name} {size} + 20, nt {self.steps}"

    @property
    def cell_updates(self) -> int:
        return int(np.prod([n + 40 for n in self.shape])) * self.steps

    def arrays(self):
        """Return (wavelet, source (x, .., z), receivers, models)."""
        middle = [n // 2 for n in self.shape[::-1]]
        line = np.array([[x, *middle[1:-1], middle[-1] - 25] for x in range(0, self.shape[-1], 5)])
        models = [torch.full(self.shape, EARTH[p.name]) for p in self.equation.parameters]
        return ricker(FREQ, self.steps, DT).astype(np.float32), np.array([middle]), line, models


CASES = [
    Case(Elastic(4), (500, 500), 300),
    Case(AcousticVariableDensity(4), (500, 500), 300),
    Case(Elastic(4), (100, 100, 100), 100),
]
LONG = [Case(Elastic(4), (500, 500), 1500), Case(Elastic(4), (100, 100, 100), 500)]
FURTHER = [
    Case(equation, (500, 500), 1500)
    for equation in (
        AcousticVTI(4, has_density=True),
        AcousticVTI(4),
        AcousticVTISecondOrder(4),
        ElasticVTI(4),
        ViscoAcoustic(4, mechanisms=1, reference_frequency=FREQ),
    )
]


class Side:
    """A code that computes the pressure record (receivers, steps) of a case from its models."""

    def forward(self):
        with torch.no_grad():
            return self.record(self.models)

    def gradient(self):
        models = [m.clone().requires_grad_() for m in self.models]
        record = self.record(models)
        record.backward(record.detach())
        return [m.grad for m in models]


class Sweep(Side):
    """SWEEP on a case, with a source of volume in a fluid and one of normal moments in a solid."""

    def __init__(self, case: Case, strategy: str = "auto", device: str = "cpu"):
        wavelet, self.source, self.receivers, models = case.arrays()
        self.models = [m.to(device) for m in models]
        normal = [f.name for f in case.equation.fields_in(len(case.shape)) if f.name in SOURCES]
        if isinstance(case.equation, AcousticVTISecondOrder):  # one source, of the rate of the injected volume
            normal, wavelet = ["p"], np.diff(wavelet, prepend=wavelet[:1]) / np.float32(DT)
        self.solver = PropTorch(
            case.equation, case.shape, DH, DT, dev=device, source_type=normal, receiver_type=["p"],
             pml_freq=FREQ / 2, impl="c", memory=MemoryOptions(strategy),
        )  # fmt: skip
        self.wavelet = torch.from_numpy(wavelet).to(device)

    def record(self, models):
        return self.solver(self.wavelet, self.source, self.receivers, models=models)[0, ..., 0].T


class Deepwave(Side):
    """The function of Deepwave for the equation of a case, with the same source."""

    def __init__(self, case: Case, device: str = "cpu"):
        import deepwave

        wavelet, source, receivers, models = case.arrays()
        self.models = [m.to(device) for m in models]
        self.equation, self.deepwave = case.equation, deepwave
        record, rates = "p", {"pressure_rate": 1.0}
        if isinstance(self.equation, AcousticVariableDensity):
            rates = {"volume_rate": 1.0}
        elif isinstance(self.equation, VTI):  # an injected volume acts on each stress by its own modulus
            record, rates = "sigma_v", {"sigma_v": 1.0, "sigma_h": (1 + 2 * EARTH["delta"]) ** 0.5}
        survey = {f"receiver_locations_{record}": torch.from_numpy(receivers[None, :, ::-1].copy())}
        for rate, factor in rates.items():
            survey[f"source_amplitudes_{rate}"] = factor * torch.from_numpy(wavelet)[None, None] / DH ** len(case.shape)
            survey[f"source_locations_{rate}"] = torch.from_numpy(source[None, :, ::-1].copy())
        self.recorded, self.survey = f"receiver_amplitudes_{record}", {name: x.to(device) for name, x in survey.items()}

    def record(self, models):
        function, earth, options = self.earth(*models)
        options |= {"accuracy": 4, "pml_width": 20, "pml_freq": FREQ}
        return getattr(function(*earth, DH, DT, **options, **self.survey), self.recorded)[0]

    def earth(self, vp, *models):
        """Return the function of the equation, the models that it takes and its options."""
        deepwave, isotropic = self.deepwave, {"max_vel": EARTH["vp"]}
        if isinstance(self.equation, AcousticVariableDensity):
            return deepwave.acoustic, (vp, *models), isotropic
        if isinstance(self.equation, ViscoAcoustic):  # vp is the speed of the slowest waves there
            rho, q = models
            relaxation = self.equation.relaxation
            relaxed = relaxation.stiffening(FREQ, q) * (1 - sum(relaxation.fractions(q)))
            return deepwave.viscoacoustic, (vp * relaxed**0.5, rho, q), {"q_freq": FREQ}
        if isinstance(self.equation, VTI):
            epsilon, delta, rho = (*models, torch.ones_like(vp))[:3]
            kappa = rho * vp**2
            stiffnesses = (1 + 2 * epsilon) * kappa, (1 + 2 * delta) ** 0.5 * kappa, kappa
            return deepwave.acoustic_vti, (*stiffnesses, 1 / rho), {}
        if isinstance(self.equation, ElasticVTI):
            c = self.equation.stiffnesses(vp, *models)
            return deepwave.elastic_vti, (c["c11"], c["c13"], c["c33"], c["c55"], 1 / models[1]), {}
        vs, rho = models
        return deepwave.elastic, (rho * (vp**2 - 2 * vs**2), rho * vs**2, 1 / rho), isotropic


def shape_difference(mine, other) -> float:
    """Return the largest difference over the maximum of `mine`, after the best scaling of `other`."""
    scale = float((mine * other).sum() / (other * other).sum())
    return float((mine - scale * other).abs().max() / mine.abs().max())


def compare(case: Case, rounds: int, strategy: str) -> None:
    """Print a row for the forward run and, in two dimensions, one for the gradient."""
    ours, peer = Sweep(case, strategy), Deepwave(case)
    mine, other = ours.forward(), peer.forward()
    difference = shape_difference(mine, other)
    if not difference <= 0.05:
        sys.exit(f"{case.name}: SWEEP and Deepwave differ by {difference:.1%} beside a factor: not the same problem")
    operations = ["forward", "gradient"] if len(case.shape) == 2 else ["forward"]
    jobs = {}
    for operation in operations:
        call = getattr(ours, operation)
        calls = {"SWEEP": call, "everywhere": everywhere(call), "Deepwave": getattr(peer, operation)}
        jobs |= {f"{side} {operation}": Job(one, case.cell_updates) for side, one in calls.items()}
    alternate(jobs, 1)
    costs = alternate(jobs, rounds)
    for operation in operations:
        mine, full, other = (costs[f"{side} {operation}"] for side in ("SWEEP", "everywhere", "Deepwave"))
        rates = [f"{1e-9 / np.median(c):.3f}" for c in (mine, full, other)]
        ratios = f"{ratio(other, mine):.2f} ({ratio(other, full):.2f})"
        own = f"{ratio(mine, costs['SWEEP forward']):.2f}" if operation == "gradient" else ""
        print(f"| {case.name}, {operation} | {' | '.join(rates)} | {ratios} | {own} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5, help="rounds")
    parser.add_argument("--long", action="store_true", help="only runs whose waves fill the grid")
    parser.add_argument("--further", action="store_true", help="only equations that are compiled on first use")
    parser.add_argument("--strategy", default="auto", help="memory strategy of our gradient: auto, full, ckpt")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    print("| problem | SWEEP, Gcell/s | everywhere | Deepwave | x Deepwave | own forward runs |")
    print("|---|---|---|---|---|---|")
    for case in FURTHER if arguments.further else LONG if arguments.long else CASES:
        compare(case, arguments.repeats, arguments.strategy)


if __name__ == "__main__":
    main()
