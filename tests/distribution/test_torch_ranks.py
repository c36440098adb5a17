"""Law 6 under torchrun: 3 shots on 1, 2 and 5 processes give the serial sum; the verbs are each other's adjoints."""

import ast
import os
import re
import subprocess
import sys
import time
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
import torch
from laws import case, error
from ranks import SCRIPTS, launch

from sweep_core import Acoustic, AcousticVariableDensity, DeviceError, Elastic, OptionError
from sweep_torch import PropTorch
from sweep_torch.distribution import chunked_observed_data, setup_distributed, split_indices_for_rank

SCRIPT = "torch_ranks.py"
ROOT = Path(__file__).parents[2]
EQUATIONS = (Acoustic, AcousticVariableDensity, Elastic)
PICKLING = re.compile(r"object_list|(?<!py)_object$|import (pickle|dill|cloudpickle)$|torch\.load$|allow_pickle=True")
equations = pytest.mark.parametrize("equation", EQUATIONS, ids=lambda equation: equation.name)


@lru_cache
def serial(equation):
    sys.path.insert(0, str(SCRIPTS))
    import torch_ranks

    solver, models, *survey, observed = torch_ranks.problem(equation)
    misfit, slopes = torch_ranks.gradient(solver, models, *survey, observed, range(torch_ranks.SHOTS))
    record = chunked_observed_data(solver, *survey, models=models, forward_batchsize=1)
    return float(misfit), [slope.numpy() for slope in slopes], record.numpy()


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return lru_cache(lambda ranks: launch(SCRIPT, tmp_path_factory.mktemp("ranks") / "found.json", ranks))


@pytest.fixture(scope="module", params=[pytest.param(1, marks=pytest.mark.slow), 2, 5])
def ranks(request, outcome):
    return outcome(request.param)


def assert_gradients(result, expected):
    for a, b in zip(result, expected, strict=True):
        assert np.abs(b).max() > 0
        assert error(a, b) < 1e-12


@equations
def test_shots_on_any_number_of_ranks_equal_the_serial_run(ranks, equation):
    result, (misfit, gradient, record) = ranks[equation.name], serial(equation)
    assert result["misfit"] == pytest.approx(misfit, rel=1e-12)
    assert_gradients(result["gradient"], gradient)
    np.testing.assert_array_equal(result["record"], record)


@equations
def test_summed_gradients_of_ddp_equal_the_serial_run(ranks, equation):
    assert_gradients(ranks[equation.name]["ddp"], serial(equation)[1])


def test_verbs_hold_the_laws(ranks):
    """The laws hold on every rank."""
    assert ranks["laws"] > 10 and ranks["broken"] == 0


def test_broadcast_reaches_every_rank(ranks):
    assert all(ranks[equation.name]["broadcast"] == 0 for equation in EQUATIONS)


def test_broadcast_keeps_tensors_and_uses_no_pickle(ranks):
    """Every dtype, scalars, empty tensors and views. An unpickled object could run the sender's code."""
    assert ranks["sent"] == {"changed": 0, "unpickled": 0, "for example": []}


def test_a_value_that_rank_0_cannot_send_raises_on_every_rank(ranks):
    assert ranks["refusals"] == (2 * ranks["size"] if ranks["size"] > 1 else 0)


OWN_PIPE = "sweep_core/plot/process.py"
"""It pickles figures for a process that it starts itself, through a pipe that no other process has."""


def test_sources_use_no_pickle():
    """Packages and scripts use no collective of objects, no pickle and no torch.load."""
    results = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {name}"
        for folder in ("sweep_core", "sweep_torch", "sweep_jax", "examples")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in [*names_in(node)]
        if PICKLING.search(name) and path != ROOT / OWN_PIPE
    ]
    assert results == []


def names_in(node):
    """Yield the names of the modules, attributes and arguments in a node."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (f"import {name}" for name in (getattr(node, "module", ""), *(alias.name for alias in node.names)))
    elif isinstance(node, ast.Attribute) or (isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant)):
        yield ast.unparse(node)


def test_threads_of_the_group_end_with_the_group(ranks):
    """A thread that outlives the group sometimes aborts the process when Python ends."""
    if not Path("/proc/self/task").is_dir():
        pytest.skip("only Linux lists the threads of a process by name")
    assert ranks["threads"] == []


def test_workers_end_with_their_launcher(tmp_path):
    """Workers end even if the launcher is killed while the workers compute."""
    script = tmp_path / "worker.py"
    script.write_text(
        "import os, time, torch\nfrom sweep_torch.distribution import setup_distributed\n"
        "os.write(1, b'%d\\n' % setup_distributed('cpu')[0])  # in one piece, unlike print()\n"
        "end = time.time() + 60\n"
        "while time.time() < end: torch.rand(100, 100) @ torch.rand(100, 100)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as launcher:
        assert {launcher.stdout.readline() for _ in range(2)} == {"0\n", "1\n"}
        launcher.kill()
        killed = time.monotonic()
        assert launcher.stdout.read() == ""  # returns when the last worker has ended
        assert time.monotonic() - killed < 5


def test_two_runs_are_bit_identical(outcome, tmp_path):
    assert launch(SCRIPT, tmp_path / "again.json", 2) == outcome(2)


@pytest.mark.parametrize("batch", [1, 2, 7])
def test_batches_of_shots_equal_all_shots_at_once(batch):
    """Each shot has its own wavelet, receivers, mask and earth model."""
    setup = case()
    solver, mask = PropTorch(**setup.arguments), torch.tensor(np.arange(15).reshape(3, 5) % 3 > 0)
    survey = [torch.tensor(x) for x in (setup.shots.wavelet, setup.shots.sources, setup.shots.receivers)]
    earths = [torch.tensor(np.stack([m, 1.02 * m, 0.97 * m])) for m in setup.models]
    expected = solver(*survey, models=earths, receiver_mask=mask)
    record = chunked_observed_data(solver, *survey, models=earths, forward_batchsize=batch, receiver_mask=mask)
    assert error(record, expected.numpy()) < 1e-12


def test_a_shared_wavelet_per_field_is_not_split_by_shot():
    setup = case()
    solver, models = PropTorch(**setup.arguments), [torch.tensor(m) for m in setup.models]
    survey = (
        torch.tensor(setup.shots.wavelet[0, 0, :, None]),
        *map(torch.tensor, (setup.shots.sources, setup.shots.receivers)),
    )
    record = chunked_observed_data(solver, *survey, models=models, forward_batchsize=2)
    assert error(record, solver(*survey, models=models).numpy()) < 1e-12


def test_split_indices_covers_every_index_once():
    parts = [split_indices_for_rank([5, 6, 7], rank, 5) for rank in range(5)]
    assert [index for part in parts for index in part] == [5, 6, 7]
    assert [] in parts


def test_bad_arguments_raise():
    if not torch.cuda.is_available():
        with pytest.raises(DeviceError, match="0 found"):
            setup_distributed("cuda")
    with pytest.raises(OptionError, match="forward_batchsize is 0"):
        chunked_observed_data(None, torch.zeros(3), torch.zeros((1, 2)), torch.zeros((1, 2)), forward_batchsize=0)
