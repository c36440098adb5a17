"""PropTorch inside wrappers of torch: DataParallel, DistributedDataParallel, FSDP 1 and 2."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from laws import case, error, reference_record
from ranks import launch

from sweep_core import AcousticVariableDensity, ShapeError
from sweep_torch import PropTorch


def replicas(solver, count):
    """Return `count` replicas made by DataParallel's own methods, without a GPU."""
    products = [solver._replicate_for_data_parallel() for _ in range(count)]
    for replica in products:
        for name, parameter in solver.named_parameters():
            setattr(replica, name, 1.0 * parameter)
    return products


def scattered(count, *tensors):
    """Return the arguments of each replica: every tensor is split along its first axis."""
    parts = [x.chunk(count) if isinstance(x, torch.Tensor) else [x] * count for x in tensors]
    return zip(*parts, strict=True)


@pytest.fixture
def owner():
    setup = case(nshots=4)
    solver = PropTorch(**setup.arguments, models=[torch.tensor(m) for m in setup.models])
    survey = [torch.tensor(x) for x in (setup.shots.wavelet, setup.shots.sources, setup.shots.receivers)]
    return setup, solver, survey


def record_of(solver, *survey):
    pairs = zip(replicas(solver, 2), scattered(2, *survey), strict=True)
    return torch.cat([replica(*part) for replica, part in pairs])


def test_replicas_of_data_parallel_split_the_shots(owner):
    setup, solver, survey = owner
    record = record_of(solver, *survey)
    assert error(record, reference_record(setup)) < 1e-12
    record.square().sum().backward()
    result = solver.vp.grad.clone()
    solver.vp.grad = None
    solver(*survey).square().sum().backward()
    assert error(result, solver.vp.grad.numpy()) < 1e-12


GROUP = """
import time
from pathlib import Path
import torch
from sweep_torch import PropTorch

def threads():
    count = 0
    for task in Path("/proc/self/task").iterdir():
        try:
            count += "gloo" in (task / "comm").read_text()
        except OSError:
            pass  # it ended in the meantime
    return count

torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
module = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
print(threads())
del module
torch.distributed.destroy_process_group()
until = time.monotonic() + 10  # Linux lists a thread for a moment after it was joined
while threads() and time.monotonic() < until:
    time.sleep(0.01)
print(threads())
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="only Linux lists the threads of a process by name")
def test_a_process_group_made_by_a_script_ends_before_python():
    """A Gloo thread that outlives the group sometimes aborts the process."""
    done = subprocess.run([sys.executable, "-c", GROUP], capture_output=True, text=True)
    before, after = map(int, done.stdout.split())
    assert before > 0 == after


def test_replicas_refuse_a_shared_wavelet_per_field():
    """DataParallel would split (nt, nfield) along time."""
    setup = case(AcousticVariableDensity, nshots=4)
    solver = PropTorch(**setup.arguments | {"source_type": ["p", "vz"]}, models=[torch.tensor(m) for m in setup.models])
    survey = torch.tensor(setup.shots.sources[:, :1]), torch.tensor(setup.shots.receivers)
    wavelet = torch.ones((24, 2), dtype=torch.float64)
    expected = solver(wavelet, *survey)
    with pytest.raises(ShapeError, match=r"wavelet has shape \(12, 2\) in a replica.*expand\(nshots, -1, -1\)"):
        record_of(solver, wavelet, *survey)
    wide = wavelet[None, None].expand(4, 1, -1, -1)
    assert error(record_of(solver, wide, *survey).detach(), expected.detach().numpy()) < 1e-12


def test_replicas_refuse_shared_tensors_and_accept_expanded_ones(owner):
    """A split along time or traces would silently give a record of another shape."""
    _, solver, (wavelet, sources, receivers) = owner
    wavelet, receivers = wavelet[0, 0], receivers[0, :4]
    expected = solver(wavelet, sources, receivers)
    wide = wavelet.expand(4, -1), receivers.expand(4, -1, -1)
    with pytest.raises(ShapeError, match=r"wavelet has shape \(24,\) in a replica.*pass wavelet.expand\(nshots, -1\)"):
        record_of(solver, wavelet, sources, wide[1])
    with pytest.raises(
        ShapeError, match=r"receivers has shape \(2, 2\) in a replica.*pass receivers.expand\(nshots, -1, -1\)"
    ):
        record_of(solver, wide[0], sources, receivers)
    with pytest.raises(ShapeError, match="sources are a ndarray, which DataParallel does not split"):
        record_of(solver, wide[0], sources.numpy(), wide[1])
    assert torch.equal(record_of(solver, wide[0], sources, wide[1]), expected)
    assert torch.equal(record_of(solver, wide[0], sources, receivers.numpy()), expected), (
        "DataParallel must not split an array"
    )


def test_born_runs_in_replicas(owner):
    setup, solver, (wavelet, sources, receivers) = owner
    (direction,) = map(torch.tensor, setup.direction())
    pairs = zip(replicas(solver, 2), scattered(2, wavelet, sources, receivers), strict=True)
    born = torch.cat([replica.born(*part, [direction]) for replica, part in pairs])
    assert error(born, solver.born(wavelet, sources, receivers, [direction]).detach().numpy()) < 1e-12
    with pytest.raises(ShapeError, match="wavelet has shape .* in a replica of DataParallel"):
        replicas(solver, 1)[0].born(wavelet[0, 0], sources, receivers, [direction])


def test_fsdp_1_and_2_train_like_ddp(tmp_path):
    """FSDP frees the storage of parameters between steps; value checks must allow this."""
    result = launch("torch_fsdp.py", tmp_path / "found.json", 2)
    assert len(result) == 4
    for moved, *differences in result.values():
        assert moved > 1 and max(differences) < 1e-3 * moved


def test_wrappers_on_two_ranks_give_the_serial_gradient_and_the_serial_steps(tmp_path):
    """Five shots on two ranks. Shards of FSDP 2 hold half of the model, its gradient and the state of the optimiser."""
    result = launch("torch_wrapped.py", tmp_path / "found.json", 2)
    assert result["moved"] > 1
    for name in ("ddp", "no_sync", "zero", "fsdp gradient", "fsdp models"):
        assert result[name] < 1e-12, name
    shards, model = result["shards"], result["shards"]["model"]
    assert [shards[name] for name in ("parameters", "gradients", "state")] == [model / 2, model / 2, model]
    assert shards["zero state"] == 2 * model * 2 / 3, "a rank holds the state of whole parameters: two of the three"
