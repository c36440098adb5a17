"""Run by torchrun on every rank: each equation of the installed libraries with 1, 2, 5 and 7 shots, by all ranks and by one.

Rank 0 writes to the file of the first argument. For each case it writes the difference of the gradient from the serial
one, relative to its maximum. It also writes whether the sum in a fixed order has the bits of one rank.
"""

import json
import sys

import numpy as np

from sweep_core import SerialDistributor
from sweep_core.distribution import check_same
from sweep_core.execution.answers import error
from sweep_core.inversion import Objective
from sweep_core.native.codegen import shipped
from sweep_core.testing.cases import case
from sweep_torch import TorchExecutor
from sweep_torch.distribution import TorchDistributor, setup_distributed, teardown_distributed

SHOTS, NT = (1, 2, 5, 7), 24
EQUATIONS = {equation.name: type(equation) for equation in shipped()}


def sums(executor, equation, nshots, group=None, reduction="fast"):
    """Return the misfit and the gradients of a case, whose shots have unequal costs and whose data are noise."""
    small = case(equation, nshots=nshots, nt=NT)
    observed = np.random.default_rng(1).standard_normal((nshots, NT, 5, len(small.problem.receiver_type)))
    options = {"group": group or SerialDistributor(), "reduction": reduction, "costs": np.arange(1.0, nshots + 1)}
    objective = Objective(executor, small.problem, small.shots, observed, batch=2, **options)
    misfit, gradients = objective(small.models)
    return [np.array(misfit), *gradients]


def compare(equation, nshots, group):
    """Return the results of one equation and number of shots."""
    executor = TorchExecutor()
    fast, ordered = (sums(executor, equation, nshots, group, reduction) for reduction in ("fast", "ordered"))
    check_same(group, {"fast": [x.tobytes() for x in fast], "ordered": [x.tobytes() for x in ordered]})
    difference = max(error(a, b) for a, b in zip(fast, sums(executor, equation, nshots), strict=True))
    pairs = zip(ordered, sums(executor, equation, nshots, reduction="ordered"), strict=True)
    return {"fast": difference, "ordered": all(a.tobytes() == b.tobytes() for a, b in pairs)}


def main(path):
    rank, _, device = setup_distributed("cpu")
    try:
        group = TorchDistributor(device)
        results = {
            f"{name}, {nshots} shots": compare(equation, nshots, group)
            for name, equation in EQUATIONS.items()
            for nshots in SHOTS
        }
    finally:
        teardown_distributed()
    if rank == 0:
        with open(path, "w") as file:
            json.dump(results, file)


if __name__ == "__main__":
    main(sys.argv[1])
