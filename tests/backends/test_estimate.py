"""Estimates of the memory of a gradient agree with the allocations of torch, for every equation and strategy."""

import re

import attrs
import numpy as np
import pytest
from laws import SHIPPED_NAMES, case, executors, known_equations

from sweep_core import (
    Acoustic,
    BoundaryOptions,
    CkptOptions,
    DomainError,
    DtypeError,
    MemoryLimitError,
    MemoryOptions,
    UnsupportedError,
)
from sweep_core.memory import PURPOSES
from sweep_core.native.sizes import CHAIN

torch = pytest.importorskip("torch")
from sweep_torch import PropTorch, empty_pool  # noqa: E402

equation = pytest.mark.parametrize("equation", known_equations())
SHAPE, NT, NREC = (90, 110), 150, 90


@pytest.fixture(autouse=True)
def compiled():
    for param in executors("torch-c"):
        param.values[0].executor_for(case().problem)


def ckpt(**options):
    return MemoryOptions("ckpt", ckpt=CkptOptions(**options))


KINDS = {
    "full": MemoryOptions("full"),
    "ckpt": ckpt(),
    "recursive": ckpt(mode="recursive"),
    "recursive-2": ckpt(mode="recursive", count=2),
    "disk": ckpt(chunks=5, storage="disk"),
    "budget": MemoryOptions(budget=30 << 20),
    "int8": MemoryOptions("full", dtype="int8"),
    "boundary": MemoryOptions("boundary"),
    "boundary, float16": MemoryOptions("boundary", boundary=BoundaryOptions(dtype="float16")),
    "boundary on disk": MemoryOptions("boundary", boundary=BoundaryOptions("disk")),
}


class Setting:
    """A solver and the gradient of some shots."""

    def __init__(self, memory, equation=Acoustic, nshots=2, free_surface=False):
        self.solver = PropTorch(
            equation(4), SHAPE, 10.0, 4e-4, impl="c", memory=memory, pml_width=(0, 8, 9, 10) if free_surface else 12,
            free_surface=free_surface,
        )  # fmt: skip
        rng = np.random.default_rng(0)
        self.models = [torch.tensor(m, dtype=torch.float32) for m in equation(4).example(SHAPE, rng)]
        self.wavelet = torch.tensor(rng.standard_normal(NT), dtype=torch.float32)
        self.positions = torch.tensor([[50, 9]] * nshots), torch.stack([torch.arange(NREC), torch.full((NREC,), 7)], 1)
        self.estimate = self.solver.estimate(nshots, NT, nreceivers=NREC)

    def gradient(self):
        leaves = [m.clone().requires_grad_() for m in self.models]
        record = self.solver(self.wavelet, *self.positions, models=leaves)
        return torch.autograd.grad(record, leaves, torch.ones_like(record))

    def peak(self):
        """Return the peak of the bytes that torch's profiler counts during a gradient."""
        self.gradient()
        empty_pool()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            self.gradient()
        events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
        return int(np.cumsum([e.nbytes() for e in sorted(events, key=lambda e: e.start_ns())]).max())


@equation
@pytest.mark.parametrize("memory", KINDS.values(), ids=KINDS)
def test_estimates_are_within_two_percent_of_measurements(memory, equation):
    """This holds on the device, with the tensors that torch keeps for the chain rule to the models."""
    try:
        this = Setting(memory, equation)
    except (UnsupportedError, MemoryLimitError) as reason:
        assert equation.name not in SHIPPED_NAMES, reason
        assert re.search(r"run backward in time|budget is \d+ bytes; expected", str(reason))
        pytest.skip(str(reason))
    assert this.estimate.current.use.on_device == pytest.approx(this.peak(), rel=0.02)


@equation
@pytest.mark.parametrize(
    "memory", [MemoryOptions("full"), MemoryOptions("full", dtype="int8"), ckpt(chunks=3)], ids=str
)
def test_known_rows_have_no_history(memory, equation):
    """A third of the rows and half of the PML rows are known: the history shrinks by at least a quarter."""
    full, known = Setting(memory, equation), Setting(attrs.evolve(memory, known_above=40), equation)
    history = [this.estimate.current.use.device.get("history", 0) for this in (full, known)]
    assert history[1] < 0.75 * history[0] or history == [0, 0]
    assert known.estimate.current.use.on_device == pytest.approx(known.peak(), rel=0.02)
    assert known.peak() < full.peak()
    assert [c.memory.known_above for c in known.estimate.costs] == [40] * len(known.estimate.costs)


@attrs.frozen
class WholeModel(Acoustic):
    """An equation of the whole model: a probe of a few rows fails."""

    def coefficients(self, node_averages, vp):
        if vp.shape[-2] < 9:
            raise ValueError("a table of the whole model does not fit")
        return (vp * vp,)


def test_explain_reports_a_history_of_known_rows():
    memory = MemoryOptions("full", known_above=40)
    answer = "; all rows are kept: acoustic cannot compute coefficients for a subset of rows"
    for kind, expected in ((WholeModel, True), (Acoustic, False)):
        solver = PropTorch(kind(), SHAPE, 10.0, 1e-3, memory=memory)
        assert solver.impl == "c" and solver.explain().endswith(answer) is expected


def test_estimates_hold_with_a_free_surface_and_one_shot():
    this = Setting(KINDS["recursive"], nshots=1, free_surface=True)
    assert this.estimate.current.use.on_device == pytest.approx(this.peak(), rel=0.02)


@equation
def test_gradients_within_a_budget_keep_their_bits(equation):
    """The budget falls from the largest estimate to the smallest."""
    full = Setting(MemoryOptions("full"), equation)
    expected, estimate = full.gradient(), full.estimate
    largest, least = (f(c.use.on_device for c in estimate.costs if not c.use.disk) for f in (max, min))
    times = []
    for budget in np.linspace(largest, least, 4).astype(int):
        this = Setting(MemoryOptions(budget=int(budget)), equation)
        assert this.estimate.current.use.on_device <= budget
        assert all(torch.equal(a, b) for a, b in zip(this.gradient(), expected, strict=True))
        times.append(this.estimate.current.time)
    assert times == sorted(times) and times[0] == 1 and times[-1] > 1.5
    with pytest.raises(
        MemoryLimitError, match=f"budget is {least // 2} bytes; expected {least} or more for a gradient "
    ):
        Setting(MemoryOptions(budget=int(least // 2)), equation)


def test_the_table_lists_costs_by_time():
    estimate = Setting(ckpt(storage="disk")).estimate
    lines = str(estimate).splitlines()
    assert lines[0].split() == ["time", "device", "host", "disk", *PURPOSES]
    assert len(lines) == len(estimate.costs) + 3 and lines[-1].startswith("left on the device: ")
    assert lines[-2].startswith("here: MemoryOptions(strategy='ckpt', ckpt=CkptOptions(storage='disk'))")
    text = "gradients with MemoryOptions(strategy='ckpt', ckpt=CkptOptions(storage='disk')); estimate(nshots, nt)"
    assert text in Setting(ckpt(storage="disk")).solver.explain()
    assert [c.time for c in estimate.costs] == sorted(c.time for c in estimate.costs)
    selection = estimate.current.use
    assert selection.disk.keys() == {"states"} and "states" not in selection.device and not selection.host
    assert estimate.fastest.memory == MemoryOptions("full") and estimate.current.fits


@pytest.mark.parametrize("entry", executors("jax-c"))
def test_jax_estimates_its_own_strategies(entry, monkeypatch):
    """All of it is torch's but the chain rule, for which the frameworks keep different tensors."""
    from sweep_jax import PropJax

    solver = PropJax(Acoustic(4), SHAPE, 10.0, 1e-3, impl="c", pml_width=12)
    estimate = solver.estimate(2, NT, nreceivers=NREC)
    strategies = KINDS["full"], MemoryOptions("ckpt"), KINDS["recursive"], ckpt(mode="recursive", count=1)
    assert [c.memory for c in estimate.costs if c.memory != MemoryOptions("boundary")] == list(strategies)
    monkeypatch.setattr("sweep_torch.prop.chain_of", lambda problem: CHAIN)
    ours = {c.memory: c.use for c in Setting(KINDS["full"]).estimate.costs}
    assert all(ours[c.memory] == c.use for c in estimate.costs)
    tight = PropJax(Acoustic(4), SHAPE, 10.0, 1e-3, impl="c", pml_width=12, memory=MemoryOptions(budget=30 << 20))
    assert tight.estimate(2, NT, nreceivers=NREC).current.use.on_device <= 30 << 20


def test_impossible_estimates_are_refused():
    solver = PropTorch(Acoustic(4), SHAPE, 10.0, 1e-3, impl="eager")
    with pytest.raises(UnsupportedError, match="impl is 'eager' .impl='eager' was asked for.; expected 'c'"):
        solver.estimate(1, 100)
    assert "estimate" not in solver.explain()
    solver = PropTorch(Acoustic(4), SHAPE, 10.0, 1e-3, impl="c")
    with pytest.raises(DomainError, match="nshots is 0; expected a whole number from 1 on"):
        solver.estimate(0, 100)
    with pytest.raises(DomainError, match="nt is None; expected a whole number from 1 on"):
        solver.estimate(1, None)
    for dtype in ("float16", np.dtype("float64"), False):
        with pytest.raises(DtypeError, match=re.escape(f"dtype is {dtype!r}; expected 'float32' or 'float64'")):
            solver.estimate(1, 100, dtype=dtype)


def test_defaults_come_from_the_solver():
    """The dtype is that of the models; each cell of the top row has a receiver."""
    model = torch.full(SHAPE, 2000.0, dtype=torch.float64)
    own, stated = (PropTorch(Acoustic(4), SHAPE, 10.0, 1e-3, impl="c", models=m) for m in ([model], None))
    assert own.estimate(1, 100).costs == stated.estimate(1, 100, 1, SHAPE[1], "float64").costs
