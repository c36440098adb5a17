"""Ranks that were given other arguments, that end, or that do not answer: every other rank reports it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sweep_core import DistributedError, SerialDistributor, UnsupportedError
from sweep_core.distribution import check_same

ROOT = Path(__file__).parents[2]


def run(case, folder):
    """Return the last line of each of two ranks, by rank."""
    job = {"OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": f"{os.getpid()}-{case}", "OMP_NUM_THREADS": "1"}
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    processes = [
        subprocess.Popen(
            [sys.executable, ROOT / "tests/distribution/disagreeing.py", case, folder],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | job | {"OMPI_COMM_WORLD_RANK": str(rank), "PYTHONPATH": path},
        )
        for rank in range(2)
    ]  # fmt: skip
    outputs = [process.communicate(timeout=120) for process in processes]
    assert case == "dies" or [process.returncode for process in processes] == [0, 0], outputs
    return [(out.splitlines() or [""])[-1] for out, _ in outputs]


def test_arguments_that_differ_are_named_on_every_rank(tmp_path):
    for rank, line in enumerate(run("disagrees", tmp_path)):
        assert line.startswith(f"{rank} DistributedError: rank {rank} of 2: start is ")
        assert ", folder is " in line and "but not on all ranks; expected the same arguments" in line
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("case", ["dies", "hangs"])
def test_a_rank_that_does_not_answer_ends_the_others(case, tmp_path):
    work = ": iteration 0, shots 1, 2" if case == "hangs" else ""
    line = run(case, tmp_path)[0]
    assert line.startswith("0 DistributedError: rank 0 of 2: ")
    assert f"failed; rank 1 is missing{work}; see its message (" in line


def test_a_damaged_shot_of_one_rank_is_named_on_every_rank(tmp_path):
    pytest.importorskip("zarr")
    reason = f"shot 2 of {tmp_path}/observed.zarr is damaged: its checksum differs; write it again"
    assert run("damaged", tmp_path) == [f"0 DataError: rank 1 of 2: DataError: {reason}", f"1 DataError: {reason}"]


def test_every_rank_leaves_a_damaged_shot_out(tmp_path):
    pytest.importorskip("zarr")
    reason = f"shot 2 of {tmp_path}/observed.zarr is damaged: its checksum differs; write it again"
    assert run("skips", tmp_path) == [f"{rank} ended well without {{2: {reason!r}}}" for rank in range(2)]


def test_one_rank_agrees_with_itself():
    check_same(SerialDistributor(), {"start": np.ones(3), "seed": 0})


def test_a_value_that_another_rank_has_otherwise_is_named():
    class Second(SerialDistributor):
        """Rank 1 of 2, whose rank 0 has other values."""

        def broadcast(self, x):
            return np.array([1.0, 2.0])

    with pytest.raises(DistributedError, match="seed is 1 here, start is 2 here, but not on all ranks"):
        check_same(Second(), {"seed": 1, "start": 2})


def test_a_group_of_devices_is_no_group_of_an_inversion():
    """Devices of one process have no values of one rank; the message names what to use."""
    distribution = pytest.importorskip("sweep_jax.distribution")
    with pytest.raises(UnsupportedError, match="JaxDistributor.*DevicesExecutor"):
        check_same(distribution.JaxDistributor(distribution.local_devices(1)), {"seed": 0})
