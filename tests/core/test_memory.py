"""Memory strategies choose the steps that they keep by the bytes of the history and of the free memory."""

from math import isqrt

import numpy as np
import pytest

from sweep_core import BoundaryOptions, CkptOptions, MemoryLimitError, MemoryOptions, UnsupportedError
from sweep_core.memory import HistoryPlan, HistoryRequest, make_strategy
from sweep_core.memory.auto import CACHE_BYTES, CALL

NTS = pytest.mark.parametrize("nt", [1, 2, 3, 10, 101, 2001])
AUTO, FULL, CKPT = map(MemoryOptions, ("auto", "full", "ckpt"))


def chunk(memory, nt, step, left=0, shots=1, **more):
    """Return the steps of history that a run keeps; each takes `step` bytes for each shot."""
    remaining = make_strategy(memory).keep(
        HistoryRequest(nt, shots, lambda: step * shots * max(nt - 1, 1), lambda: left, **more)
    )
    assert remaining == HistoryPlan(remaining.chunk), "only the chunk differs from the default"
    return remaining.chunk


@NTS
def test_chunks_cover_the_run(nt):
    steps = max(nt - 1, 1)
    assert chunk(FULL, nt, 1 << 40) >= steps
    assert chunk(AUTO, nt, 1) == steps, "all steps fit into the cache"
    assert chunk(AUTO, nt, 1 << 40, 2 * steps << 40) == steps, "all steps fit into the free memory"
    assert chunk(AUTO, nt, 1 << 40, (2 * steps << 40) - 2) == round(np.sqrt(steps)), "the least memory"
    assert chunk(AUTO, nt, 1 << 18) == min(steps, 32), "chunks that stay in the cache"
    for chunks in (None, 1, 2, 7, 10**6):
        length = chunk(MemoryOptions("ckpt", ckpt=CkptOptions(chunks=chunks)), nt, 1 << 40)
        assert 1 <= length <= steps
        assert -(-steps // length) <= (chunks or round(np.sqrt(steps)))


def fail():
    raise AssertionError


def test_free_memory_is_read_only_if_it_matters():
    for memory in (FULL, CKPT):
        make_strategy(memory).keep(HistoryRequest(101, 1, fail, fail))
    make_strategy(AUTO).keep(HistoryRequest(101, 1, lambda: CACHE_BYTES, fail))


@pytest.mark.parametrize("shots", [1, 3])
def test_a_program_on_a_cpu_keeps_chunks_in_its_cache(shots):
    """Each of its calls finds fresh memory. The cache holds 32 steps of 256 KiB, or none of 1 MiB."""
    small, large, nt, plenty = 1 << 18, 1 << 20, 20_001, 1 << 60
    assert chunk(AUTO, nt, small, plenty, shots, traced=True) == 32
    assert chunk(AUTO, nt, small, plenty, shots, traced=True, on_cpu=False) == nt - 1
    assert chunk(AUTO, nt, large, plenty, shots, traced=True) == nt - 1
    assert chunk(AUTO, nt, small, plenty, shots) == nt - 1


def test_programs_and_coexisting_histories_keep_less():
    nt, step = 101, 1 << 30
    half = {"left": 200 * step, "on_cpu": False}
    assert chunk(AUTO, nt, step, **half) == 100
    assert chunk(AUTO, nt, step, **half, traced=True) == 10
    assert chunk(AUTO, nt, step, left=400 * step, traced=True) == 100
    assert chunk(AUTO, nt, step, **half, histories_coexist=True) == 10
    assert chunk(AUTO, nt, step >> 6, **half, histories_coexist=True) == 100


def within(budget, nt=2001, step=10, state=25, slices=True):
    """Return the plan of a run with 1000 bytes beside its history, states and slices."""

    def use(plan):
        if plan.sliced:
            return 1000 + step * (plan.chunk + 1) + state * (plan.states + 2)
        chunks = -(-(nt - 1) // plan.chunk)
        return 1000 + step * (plan.chunk + 1) + state * (chunks - 1)

    run = HistoryRequest(nt, 1, lambda: step * (nt - 1), fail, state=lambda: state, bytes_of=use, slices=slices)
    plan = make_strategy(MemoryOptions(budget=budget)).keep(run)
    assert use(plan) <= budget
    return plan, budget - use(plan)


def test_a_budget_gets_the_fastest_plan_that_fits():
    """The plan keeps all, else as few chunks as fit, else as many states as fit; free memory is not read."""
    assert within(21_010)[0] == HistoryPlan(2000)
    assert within(21_009)[0] == HistoryPlan(1000)
    assert within(3000)[0] == HistoryPlan(167), "twelve chunks: eleven take 2080 and 250 beside the 1000"
    assert within(2380) == (HistoryPlan(16, 46), 10)
    assert within(1170 + 25 * 9)[0] == HistoryPlan(16, 7)
    assert within(1170 + 25 * 3)[0] == HistoryPlan(16, 1)
    with pytest.raises(
        MemoryLimitError, match="budget is 1244 bytes; expected 1245 or more for a gradient of this call"
    ):
        within(1244)
    with pytest.raises(MemoryLimitError, match="fewer shots"):
        within(1900, slices=False)


def test_little_is_kept_if_the_free_memory_is_unknown():
    assert chunk(AUTO, 3, CALL[1] // 2, None) == 2
    assert chunk(AUTO, 3, CALL[1] // 2 + 1, None) == 1
    assert chunk(AUTO, 3, CALL[1] // 2, None, traced=True) == 1


def sliced(nt, step, state, **options):
    """Return the plan of a run with a history of `step` bytes for each step and a state of `state` bytes."""
    memory = MemoryOptions("ckpt", ckpt=CkptOptions(**options))
    return make_strategy(memory).keep(
        HistoryRequest(nt, 1, lambda: step * max(nt - 1, 1), lambda: 0, state=lambda: state)
    )


def test_the_recursive_schedule_has_segments_and_states():
    """Segments have 16 steps or a history as large as a state; states are log2(nt), those stated, or the useful ones."""
    assert sliced(2001, 10, 25, mode="recursive") == HistoryPlan(16, 11)
    assert sliced(2001, 10, 251, mode="recursive") == HistoryPlan(26, 11)
    assert sliced(2001, 10, 25, mode="recursive", count=3) == HistoryPlan(16, 3)
    assert sliced(49, 10, 25, mode="recursive", count=30) == HistoryPlan(16, 2)
    for nt in (1, 2, 17):
        assert sliced(nt, 10, 25, mode="recursive", count=3) == HistoryPlan(max(nt - 1, 1)), (
            "one segment is the whole run"
        )


@NTS
def test_chunks_with_states_on_disk_are_a_schedule(nt):
    """The chunks are the same, and each is recomputed once; the state of the last one is the current one."""
    length = chunk(CKPT, nt, 1)
    remaining = sliced(nt, 10, 25, storage="disk", directory="/there")
    assert remaining == (
        HistoryPlan(length) if length >= nt - 1 else HistoryPlan(length, -(-nt // length) - 2, "disk", "/there")
    )


def plan(memory, dtype="float32", nt=101, step=1 << 20):
    return make_strategy(memory).keep(HistoryRequest(nt, 1, lambda: step * (nt - 1), fail, dtype=dtype))


def test_a_history_in_lower_precision_is_packed_in_few_steps():
    """As many steps as stay in the cache, or four. At the precision of the models nothing is packed."""
    packed = MemoryOptions("full", dtype="int8")
    assert plan(packed) == HistoryPlan(8, dtype="int8") and plan(packed, step=1 << 30) == HistoryPlan(4, dtype="int8")
    assert plan(packed, nt=3) == HistoryPlan(2, dtype="int8")
    assert plan(MemoryOptions("full", dtype="float32")) == HistoryPlan(100)
    assert plan(MemoryOptions("full", dtype="float32"), "float64") == HistoryPlan(8, dtype="float32")
    assert plan(packed).time(101) == 1


def test_boundary_strips_have_a_storage_and_a_precision():
    disk = {"storage": "disk", "directory": "/there"}
    strips = MemoryOptions("boundary", boundary=BoundaryOptions(**disk, dtype="int8"))
    assert plan(strips) == HistoryPlan(6, None, **disk, strips=True, in_pml=True, dtype="int8")
    plain = MemoryOptions("boundary", boundary=BoundaryOptions(dtype="float32"))
    assert plan(plain) == plan(MemoryOptions("boundary")) == HistoryPlan(6, strips=True, in_pml=True)


def test_chunks_between_strips_are_short():
    """The cache holds 32 steps of 64 KiB, or none of 4 MiB. Chunks are shorter if no PML history is plan."""
    strips, nt = MemoryOptions("boundary"), 2001

    def steps(step, in_pml):
        return make_strategy(strips).keep(HistoryRequest(nt, 1, lambda: step * (nt - 1), fail, in_pml=in_pml)).chunk

    assert [steps(1 << 16, True), steps(1 << 22, True), steps(1 << 22, False)] == [32, round(4500 ** (1 / 3)), 3]


def test_time_counts_recomputed_steps():
    """The adjoint counts as two runs. History is kept, or recomputed once, twice in the PML, or by the schedule."""
    assert HistoryPlan(100).time(101) == 1 and HistoryPlan(10).time(101) == 4 / 3
    assert (
        HistoryPlan(10, strips=True).time(101) == 4 / 3 and HistoryPlan(10, strips=True, in_pml=True).time(101) == 5 / 3
    )
    assert HistoryPlan(10, 8).time(100) == pytest.approx((1 + 9 / 10 + 2) / 3)
    assert HistoryPlan(10, 0).time(100) == pytest.approx((1 + 45 / 10 + 2) / 3)


@NTS
def test_eager_runs_have_segments(nt):
    steps = max(nt - 1, 1)
    assert make_strategy(FULL).segment(nt) >= steps
    assert make_strategy(AUTO).segment(nt) == isqrt(nt)
    assert make_strategy(CKPT).segment(nt) == chunk(CKPT, nt, 1)


def test_history_is_kept_or_refused_if_it_cannot_be_recomputed():
    assert make_strategy(AUTO).segment(101, "torch.func") == make_strategy(FULL).segment(101, "torch.func") == 101
    assert make_strategy(CKPT).segment(1, "torch.func") == 1
    with pytest.raises(UnsupportedError, match=r"torch.func cannot recompute \(strategy 'ckpt'\) with impl='eager'"):
        make_strategy(CKPT).segment(101, "torch.func")
