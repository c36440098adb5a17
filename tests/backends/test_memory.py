"""``'auto'`` adapts the history to the free memory, and a lack of memory is reported."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from laws import executors

from sweep_core import Acoustic, MemoryLimitError, MemoryLimitWarning, MemoryOptions, ricker
from sweep_core.memory.auto import Auto

SHAPE, NT = (64, 80), 120
HISTORY = 84 * 100 * 4 * NT
"""Approximate bytes of the full history."""


def gradient(name, strategy="auto", nt=NT, record=None):
    """d |record|^2 / d vp of one shot by a compiled solver."""
    shared = {"shape": SHAPE, "dh": 10.0, "dt": 1e-3, "pml_width": 10, "impl": "c", "memory": MemoryOptions(strategy)}
    vp, wavelet = np.full(SHAPE, 2000, np.float32), ricker(20.0, nt, 1e-3).astype(np.float32)
    at = np.array([[20, 30]]), np.array([[40, 5], [60, 50]])
    if name == "torch-c":
        import torch

        from sweep_torch import PropTorch

        model = torch.tensor(vp, requires_grad=True)
        record = PropTorch(Acoustic(), **shared)(torch.tensor(wavelet), *map(torch.tensor, at), models=[model])
        record.square().sum().backward()
        return model.grad.numpy()
    import jax

    from sweep_jax import PropJax

    solver = PropJax(Acoustic(), **shared)
    return np.asarray(jax.grad(lambda m: (solver(wavelet, *at, models=[m]) ** 2).sum())(jax.numpy.asarray(vp)))


@pytest.fixture
def free_memory(monkeypatch):
    """Return (a function that sets the free bytes, a list of the chunk lengths of calls)."""
    lengths, keep = [], Auto.keep
    monkeypatch.setattr("sweep_core.memory.auto.CACHE_BYTES", 1 << 16)

    def record_chunk(*run):
        remaining = keep(*run)
        lengths.append(remaining.chunk)
        return remaining

    monkeypatch.setattr(Auto, "keep", record_chunk)

    def set_free(count):
        for module in ("sweep_torch.memory", "sweep_jax.memory", "sweep_core.memory.limits"):
            monkeypatch.setattr(f"{module}.available", lambda *_: count)

    return set_free, lengths


@pytest.mark.parametrize("entry", executors("torch-c", "jax-c"))
def test_auto_keeps_all_steps_if_they_fit(entry, free_memory):
    set_free, lengths = free_memory
    set_free(64 * HISTORY)
    whole = gradient(entry.name)
    assert lengths[-1] >= NT - 1
    pytest.importorskip("sweep_torch").empty_pool()  # memory that other tests left in the pool counts as free
    set_free(HISTORY)
    np.testing.assert_array_equal(gradient(entry.name), whole)
    assert lengths[-1] < NT / 4


@pytest.mark.parametrize("entry", executors("torch-c"))
def test_idle_memory_of_the_pool_counts_as_free(entry, free_memory):
    import torch

    from sweep_torch import empty_pool
    from sweep_torch.memory import left_on, pool

    set_free, _ = free_memory
    empty_pool()
    set_free(0)
    cpu = torch.device("cpu")
    memory_use = pool.take(1 << 20, cpu)
    assert left_on(cpu) == 0
    del memory_use
    assert left_on(cpu) == 1 << 20


def test_torch_ranks_of_a_host_share_the_free_memory(free_memory, monkeypatch):
    """Ranks plan their histories at the same time. The limit of one rank is all of the free memory."""
    torch = pytest.importorskip("torch")
    from sweep_torch.memory import empty_pool, left_on

    set_free, _ = free_memory
    empty_pool()
    set_free(12 << 20)
    launch = {"RANK": "0", "WORLD_SIZE": "6", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "3"}
    launch |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
    for name, value in launch.items():
        monkeypatch.setenv(name, value)
    cpu = torch.device("cpu")
    assert (left_on(cpu), left_on(cpu, shared=False)) == (4 << 20, 12 << 20)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1")
    assert left_on(cpu) == 12 << 20


@pytest.mark.parametrize("entry", executors("jax-c"))
def test_jax_warns_of_more_than_the_free_memory(entry, free_memory):
    """While it traces, JAX does not know the free memory of the run."""
    set_free, _ = free_memory
    set_free(HISTORY // 2)
    with pytest.warns(MemoryLimitWarning, match="killed without a message.*strategy='ckpt'"):
        gradient(entry.name, "full", NT + 1)


@pytest.mark.parametrize("entry", executors("torch-c"))
def test_torch_refuses_more_than_the_free_memory_before_the_run(entry, free_memory, monkeypatch):
    """The error states the memory of each strategy and which ones fit. Small requests are not checked."""
    import torch

    from sweep_torch import PropTorch

    set_free, _ = free_memory
    pytest.importorskip("sweep_torch").empty_pool()
    set_free(HISTORY // 2)
    gradient(entry.name, "full", NT + 1)
    monkeypatch.setattr("sweep_core.native.sizes.SMALL", 0)
    pytest.importorskip("sweep_torch").empty_pool()
    with pytest.raises(MemoryLimitError, match="takes 5.3 MiB, but only 1.9 MiB are left") as refusal:
        gradient(entry.name, "full", NT + 1)
    table = str(refusal.value).splitlines()
    assert "memory=MemoryOptions(strategy='ckpt', ckpt=CkptOptions(storage='disk')), which fits" in table[0]
    large = {row.partition("  ")[0] for row in table if "too large" in row}
    ckpt, full = (f"MemoryOptions(strategy={name!r}" for name in ("ckpt", "full"))
    strips = "MemoryOptions(strategy='boundary')"
    assert large == {f"{full})", f"here: {full})", f"{ckpt})", f"{ckpt}, ckpt=CkptOptions(mode='recursive'))", strips}
    models, at = [torch.full(SHAPE, 2000.0)], torch.tensor([[20, 30]])
    solver = PropTorch(Acoustic(), SHAPE, 10.0, 1e-3, pml_width=10, impl="c", memory=MemoryOptions("full"))
    assert solver.born(torch.ones(NT), at, at, models, models).any(), "a Born run needs no history"
    set_free(HISTORY // 20)
    pytest.importorskip("sweep_torch").empty_pool()
    with pytest.raises(MemoryLimitError, match="are left; use fewer shots a call:"):
        gradient(entry.name, "full", NT + 1)


def test_the_pool_is_bounded_and_can_be_emptied(monkeypatch):
    torch = pytest.importorskip("torch")
    from sweep_torch import empty_pool, memory

    monkeypatch.setattr(memory, "SMALL", 0)
    mine, cpu = memory.Pool(), torch.device("cpu")
    monkeypatch.setattr(memory, "available", lambda: 10 << 20)
    contents = [mine.take(size << 20, cpu) for size in (6, 5, 1)]
    del contents
    assert mine.idle() == 12 << 20
    first = mine.take(3 << 18, cpu)  # a part of the smallest block
    assert mine.idle() == 11 << 20
    second = mine.take(1 << 20, cpu)
    assert second.numel() + mine.idle() <= 10 << 20, "the largest block was freed"
    del first, second
    mine.empty()
    assert mine.idle() == 0
    memory.pool.take(1 << 20, cpu)
    empty_pool()
    assert memory.pool.idle() == 0


FAILING = """
import resource, sys
sys.path[:0] = [{folder!r}, {support!r}]
import test_memory
test_memory.gradient({name!r})
from sweep_core import MemoryLimitError
pages = int(open("/proc/self/statm").read().split()[0])
import warnings
warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (700 << 20),) * 2)
try:
    test_memory.gradient({name!r}, "full", 100_000)
except MemoryLimitError as error:
    print("REFUSED", error)
test_memory.gradient({name!r}, "ckpt", 2000)
print("WENT ON")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the address space")
@pytest.mark.parametrize("entry", executors("torch-c", "jax-c"))
def test_a_failed_allocation_names_a_smaller_strategy(entry):
    here = Path(__file__).parent
    code = FAILING.format(folder=str(here), support=str(here.parent / "support"), name=entry.name)
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "REFUSED" in process.stdout and "WENT ON" in process.stdout, process.stderr[-2000:]
    assert "MemoryOptions(strategy='ckpt')" in process.stdout
    assert ("could not be allocated" if entry.name == "jax-c" else "MiB are left") in process.stdout
