"""What all tests share: the helpers of tests/support, 64-bit JAX, and GPU tests that say why they were skipped."""

import importlib
import importlib.util
import itertools
import os
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent / "support"))

# Threads that wait for each other crawl where a machine is shared. What threads do is tested with counts of its own.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

if importlib.util.find_spec("jax"):
    import jax

    jax.config.update("jax_enable_x64", True)  # before its first array; the tests state every dtype


def no_gpu() -> str:
    """Why tests that need a CUDA device cannot run here; empty where they can."""
    if not importlib.util.find_spec("torch"):
        return "torch is not installed, which is how the tests find a CUDA device"
    import torch

    return "" if torch.cuda.is_available() else "torch finds no CUDA device"


def pytest_collection_modifyitems(items):
    marked = [item for item in items if item.get_closest_marker("gpu")]
    reason = no_gpu() if marked else ""
    for item in marked if reason else ():
        item.add_marker(pytest.mark.skip(reason=reason))


_worked = itertools.count(1)


@pytest.fixture(autouse=True)
def forgetful():
    """Drops what JAX has compiled now and then: some thousand programs are more pieces of memory than Linux maps."""
    yield
    if next(_worked) % 200 == 0:
        importlib.import_module("laws").forget()


@pytest.fixture
def threads(monkeypatch):
    """A function that sets the CPU threads of torch and of what asks the environment; undone when the test is over."""
    torch = importlib.util.find_spec("torch") and importlib.import_module("torch")
    before = torch.get_num_threads() if torch else 1

    def use(count):
        monkeypatch.setenv("OMP_NUM_THREADS", str(count))
        if torch:
            torch.set_num_threads(count)

    yield use
    if torch:
        torch.set_num_threads(before)
