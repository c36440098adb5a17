"""Set-up of all tests: the helpers of tests/support, 64-bit JAX, and the choice of tests to run."""

import collections
import importlib
import importlib.util
import itertools
import mmap
import os
import statistics
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent / "support"))

# Threads that wait for each other are slow on a shared machine. Tests of threads set their own numbers.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

if importlib.util.find_spec("jax"):
    import jax

    jax.config.update("jax_enable_x64", True)  # before its first array; the tests state every dtype


def no_gpu() -> str:
    """Return the reason why tests that need a CUDA device cannot run here, or an empty string."""
    if not importlib.util.find_spec("torch"):
        return "torch is not installed, and the tests look for a CUDA device with torch"
    import torch

    return "" if torch.cuda.is_available() else "torch finds no CUDA device"


# --- which tests run --------------------------------------------------------------------------------------------------

QUICK = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)
"""Flags that cut the CPU time of XLA's compiler to a quarter; the programs run slower."""
LONG = [
    "test_memory_safety",
    "test_plugins",
    "test_site",
    "test_field_line",
    "test_build",
    "test_sums",
    "test_torch_ranks",
    "test_fwi_scripts",
    "test_fwi_elastic",
    "test_cluster_scripts",
    "test_two_hosts",
    "test_jax_pmap",
    "test_jax_parallel",
    "test_cuda_further",
    "test_cuda_kernels",
    "test_cuda_staggered",
]
"""Files of few tests, each of which takes long."""
LEFT_OUT = pytest.StashKey[collections.Counter]()
CPU_SECONDS = pytest.StashKey[list[float]]()
"""CPU seconds of each process that ran tests."""
CALIBRATIONS = pytest.StashKey[list[float]]()
"""CPU seconds of the fixed workload, timed before and after the tests of each process."""


def pytest_addoption(parser):
    text = "leave out tests marked slow, and let XLA compile faster (its programs run slower)"
    parser.addoption("--fast", action="store_true", help=text)
    text = "fail a run whose CPU time is above cpu_budget of pyproject.toml"
    parser.addoption("--within-budget", action="store_true", help=text)
    parser.addini("cpu_budget", "the most CPU time of make test, in units of the calibration of cpu_budget.py")


def pytest_configure(config):
    config.stash[LEFT_OUT] = collections.Counter()
    config.stash[CPU_SECONDS], config.stash[CALIBRATIONS] = [], []
    if config.option.fast:
        flags = os.environ.get("XLA_FLAGS", "").split()
        os.environ["XLA_FLAGS"] = " ".join(flags + known_to_xla(flag for flag in QUICK if flag not in flags))


def known_to_xla(flags) -> list[str]:
    """Return the flags that the installed XLA has: an unknown flag aborts the process."""
    jaxlib = importlib.util.find_spec("jaxlib")
    libraries = [x for x in Path(jaxlib.origin).parent.glob("*jax*") if x.is_file()] if jaxlib else []
    if not libraries:
        return []
    with open(max(libraries, key=lambda x: x.stat().st_size), "rb") as file:
        text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return [flag for flag in flags if text.find(flag[2:].partition("=")[0].encode()) >= 0]


@pytest.hookimpl(trylast=True)  # -k and -m select first
def pytest_collection_modifyitems(config, items):
    gpu = [item for item in items if item.get_closest_marker("gpu")]
    reasons = {id(item): f"need a GPU ({reason})" for item in gpu if (reason := no_gpu())}
    if config.option.fast:
        slow = {id(item) for item in items if item.get_closest_marker("slow")}
        running = [item for item in items if id(item) not in slow | reasons.keys()]
        for number in slow | {id(item) for item in importlib.import_module("cover").redundant(running)}:
            reasons.setdefault(number, "are slow, or repeat parts of other tests (make test-all)")
    config.stash[LEFT_OUT].update(reasons.values())
    config.hook.pytest_deselected(items=[item for item in items if id(item) in reasons])
    items[:] = [item for item in items if id(item) not in reasons]
    if hasattr(config, "workerinput"):  # a worker takes a file when it has ended another, and the last should be short
        counts = collections.Counter(item.path for item in items)
        items.sort(key=lambda item: (item.path.stem not in LONG, -counts[item.path]))


def pytest_sessionstart(session):
    if not has_workers(session.config):
        session.config.stash[CALIBRATIONS].append(importlib.import_module("cpu_budget").calibration())


@pytest.hookimpl(tryfirst=True)  # before the terminal's summary
def pytest_sessionfinish(session):
    config, budget = session.config, importlib.import_module("cpu_budget")
    if not has_workers(config):
        config.stash[CPU_SECONDS].append(budget.cpu_seconds())
        config.stash[CALIBRATIONS].append(budget.calibration())
    if hasattr(config, "workeroutput"):
        config.workeroutput["left out"] = dict(config.stash[LEFT_OUT])
        config.workeroutput["cpu"] = config.stash[CPU_SECONDS], config.stash[CALIBRATIONS]
    elif config.option.within_budget and cpu_units(config) > float(config.getini("cpu_budget")):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)  # a hook of xdist; all workers collect the same tests
def pytest_testnodedown(node):
    output, stash = getattr(node, "workeroutput", {}), node.config.stash
    stash[LEFT_OUT] |= collections.Counter(output.get("left out", {}))
    seconds, calibrations = output.get("cpu", ([], []))
    stash[CPU_SECONDS] += seconds
    stash[CALIBRATIONS] += calibrations


def has_workers(config) -> bool:
    """Return True in the process that distributes its tests to the workers of xdist."""
    return bool(getattr(config.option, "numprocesses", None)) and not hasattr(config, "workerinput")


def cpu_units(config) -> float:
    return sum(config.stash[CPU_SECONDS]) / statistics.median(config.stash[CALIBRATIONS])


def pytest_terminal_summary(terminalreporter, config):
    for reason, count in config.stash[LEFT_OUT].items():
        terminalreporter.write_line(f"LEFT OUT [{count}] {reason}")
    if config.stash[CALIBRATIONS]:
        seconds, units = sum(config.stash[CPU_SECONDS]), cpu_units(config)
        terminalreporter.write_line(f"CPU TIME {seconds:.0f} s, {units:.0f} calibrations")
        if config.option.within_budget:
            budget = float(config.getini("cpu_budget"))
            verdict = "ABOVE" if units > budget else "within"
            terminalreporter.write_line(f"CPU TIME {verdict} cpu_budget of pyproject.toml: {budget:.0f} calibrations")


# ----------------------------------------------------------------------------------------------------------------------

_test_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def clear_jax_programs():
    """Drop JAX's compiled programs after every 200 tests: Linux limits the memory maps of a process."""
    yield
    if next(_test_numbers) % 200 == 0:
        importlib.import_module("laws").forget()


@pytest.fixture
def threads(monkeypatch):
    """Return a function that sets the CPU threads of torch and OMP_NUM_THREADS until the end of the test."""
    torch = importlib.util.find_spec("torch") and importlib.import_module("torch")
    before = torch.get_num_threads() if torch else 1

    def use(count):
        monkeypatch.setenv("OMP_NUM_THREADS", str(count))
        if torch:
            torch.set_num_threads(count)

    yield use
    if torch:
        torch.set_num_threads(before)
