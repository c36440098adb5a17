"""Each equation of the installed libraries on 1, 2, 4 and 5 virtual devices of JAX, beside torch on one.

The program writes to the file of its first argument. For each case it writes the differences of the gradient from that
of one device and from that of torch, relative to its maximum. For a sum in a fixed order it writes the number of
different results.
"""

import json
import sys

import jax
from rank_sums import EQUATIONS, SHOTS, sums

from sweep_core.execution.answers import error
from sweep_jax import JaxExecutor
from sweep_jax.distribution import DevicesExecutor, local_devices, set_virtual_cpu_devices
from sweep_torch import TorchExecutor

COUNTS = (1, 2, 4, 5)


def difference(one, other):
    return max(error(a, b) for a, b in zip(one, other, strict=True))


def main(path):
    jax.config.update("jax_enable_x64", True)
    set_virtual_cpu_devices(max(COUNTS))
    results = {}
    for name, equation in EQUATIONS.items():
        for nshots in SHOTS:
            one, torch = (sums(executor, equation, nshots) for executor in (JaxExecutor(), TorchExecutor()))
            for count in COUNTS:
                many = sums(DevicesExecutor(devices=local_devices(count)), equation, nshots)
                results[f"{name}, {nshots} shots, {count} devices"] = difference(many, one), difference(many, torch)
        ordered = [
            sums(DevicesExecutor(devices=local_devices(count)), equation, 2, reduction="ordered") for count in COUNTS
        ]
        results[f"{name}, in a fixed order"] = len({tuple(x.tobytes() for x in arrays) for arrays in ordered})
    with open(path, "w") as file:
        json.dump(results, file)


if __name__ == "__main__":
    main(sys.argv[1])
