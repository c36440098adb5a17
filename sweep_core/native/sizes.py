"""The memory of a compiled gradient, computed by the library before anything is allocated."""

from collections import Counter
from collections.abc import Callable
from functools import lru_cache

import attrs

from ..acquisition.call_shape import CallShape
from ..errors import MemoryLimitError, UnsupportedError
from ..memory import CkptOptions, Cost, Estimate, HistoryPlan, HistoryRequest, MemoryOptions, MemoryUse, make_strategy
from ..memory.limits import available, readable
from ..problem import Problem
from . import structs
from .call import CompiledCall, answers_for_pml, boundary_of, compiled_call
from .selection import supports

CHAIN = 2
"""Memory of the framework for the chain rule from coefficients to models, over the size of the coefficients.

It holds parts of the padded models, and the results. PyTorch counts what it keeps: 2.3 times and more.
"""
SMALL = 64 << 20
"""Bytes up to which the memory left is not queried."""
PURPOSES = {
    "history": "history",
    "checkpoints": "states",
    **dict.fromkeys(("state", "workspace", "flag"), "workspace"),
    **dict.fromkeys(("record", "cotangent", "snapshots"), "records"),
    **dict.fromkeys(("gradient_coefficients", "gradient_wavelet"), "gradients"),
}
"""Purposes of buffers; all others are inputs."""
STRATEGIES = (
    MemoryOptions("full"),
    MemoryOptions("ckpt"),
    MemoryOptions("ckpt", ckpt=CkptOptions(storage="cpu")),
    MemoryOptions("ckpt", ckpt=CkptOptions(storage="disk")),
    MemoryOptions("ckpt", ckpt=CkptOptions("recursive")),
    MemoryOptions("ckpt", ckpt=CkptOptions("recursive", count=1)),
    MemoryOptions("boundary"),
)
"""The strategies of an estimate; the first is preferred among equally fast ones."""


def history_request(
    kind: str,
    problem: Problem,
    shape: CallShape,
    left: Callable[[], int | None] = available,
    traced: bool = False,
    histories_coexist: bool = False,
    slices: bool = True,
    chain: float = CHAIN,
) -> HistoryRequest:
    """Return the facts about a call from which a memory strategy plans its history; for `chain` see `CHAIN`."""

    def history():
        full = attrs.evolve(problem, memory=MemoryOptions("full", known_above=problem.memory.known_above))
        return compiled_call(kind, full, shape, shape.steps).history

    def state():
        return _needs(compiled_call(kind, problem, shape), "forward", HistoryPlan(1, 0))["state"]

    def bytes_of(plan):
        return memory_use(kind, problem, shape, plan, chain).on_device

    return HistoryRequest(
        shape.steps,
        shape.shots,
        history,
        left,
        on_cpu=kind == "cpu",
        traced=traced,
        histories_coexist=histories_coexist,
        state=state,
        bytes_of=bytes_of,
        slices=slices,
        in_pml=answers_for_pml(problem),
        dtype=shape.dtype,
    )


def plan_history(
    kind: str,
    problem: Problem,
    shape: CallShape,
    left: Callable[[], int | None] = available,
    slices: bool = True,
    **run,
) -> HistoryPlan:
    """Return the history that the memory strategy of `problem` keeps of a call, by :func:`history_request`.

    Parameters
    ----------
    kind : {'cpu', 'cuda'}
        Kind of device.
    problem : Problem
        The problem.
    shape : CallShape
        Shapes of a call.
    left : callable
        Returns the bytes that are free on the device, or None if they are unknown.
    slices : bool
        True if the backend computes a run in slices.
    **run
        Further arguments of :func:`history_request`.

    Returns
    -------
    HistoryPlan
        Sizes and places of the history.

    Raises
    ------
    UnsupportedError
        If the strategy needs slices and `slices` is False, as for a backend that computes a run in one call.
    """
    strategy = make_strategy(problem.memory)
    if not slices and (refusal := strategy.compiled_refusal):
        raise UnsupportedError(refusal)
    return strategy.keep(history_request(kind, problem, shape, left, slices=slices, **run))


def _needs(call: CompiledCall, operation: str, plan: HistoryPlan) -> dict[str, int]:
    """Return the bytes of the buffers of an operation by name; for a run in slices those of one slice."""
    struct = structs.SweepProblem.from_buffer_copy(call.struct)
    struct.chunk, struct.boundary = plan.chunk, boundary_of(call.problem, plan.strips)
    struct.stored, struct.interval = structs.DTYPES[plan.dtype or call.shape.dtype], plan.interval
    if plan.sliced:
        struct.last = min(plan.chunk, struct.steps)
    return {need.name.decode(): need.bytes for need in call.library.buffers(operation, struct)}


@lru_cache(maxsize=4096)
def memory_use(kind: str, problem: Problem, shape: CallShape, plan: HistoryPlan, chain: float = CHAIN) -> MemoryUse:
    """Return the largest memory of a forward run and its adjoint with a plan's history; for `chain` see `CHAIN`."""
    call = compiled_call(kind, problem, shape)
    forward, adjoint = (_needs(call, operation, plan) for operation in ("forward", "adjoint"))
    if plan.sliced:
        forward["checkpoints"] = (plan.states or 0) * forward["state"]
    phases = Counter[str](), Counter[str]()
    passed_on = {name: forward[name] for name in ("history", "checkpoints", "record")}
    inputs = {name: size for name, size in (forward | adjoint).items() if name not in PURPOSES}
    for phase, needs in zip(phases, (forward, adjoint | passed_on), strict=True):
        for name, size in (needs | inputs).items():
            phase[PURPOSES.get(name, "inputs")] += size
    phases[1]["gradients"] += int(chain * adjoint["gradient_coefficients"])
    if plan.sliced:  # the replay has its own state and record, and shares the workspace
        phases[1]["workspace"] += forward["state"] + max(forward["workspace"] - adjoint["workspace"], 0)
        phases[1]["records"] += forward["record"]
    most = max(phases, key=Counter.total)
    away = {"disk": "disk", "cpu": "host" if kind != "cpu" else "device"}.get(plan.storage, "device")
    if away == "device":
        return MemoryUse(device=dict(most))
    moved = {plan.placed: most.pop(plan.placed)}
    return MemoryUse(device=dict(most), **{away: moved})


def estimate(
    kind: str, problem: Problem, shape: CallShape, left: Callable[[], int | None] = available, **run
) -> Estimate:
    """Return the memory that the gradient of a call takes by each strategy; `run` goes to :func:`history_request`.

    Parameters
    ----------
    kind : {'cpu', 'cuda'}
        Kind of device.
    problem : Problem
        The problem.
    shape : CallShape
        Shapes of a call.
    left : callable
        Returns the bytes that are free on the device, or None if they are unknown.
    **run
        Further arguments of :func:`history_request`.

    Returns
    -------
    Estimate
        Memory and relative time of each strategy that runs the problem.
    """
    there = left()

    def cost(memory):
        plan = make_strategy(memory).keep(history_request(kind, problem, shape, lambda: there, **run))
        use = memory_use(kind, problem, shape, plan, run.get("chain", CHAIN))
        return Cost(memory, use, plan.time(shape.steps), None if there is None else use.on_device <= there)

    def possible(memory):
        at_host = kind == "cpu" and memory.ckpt is not None and memory.ckpt.storage == "cpu"  # the device's own memory
        where = problem.equation, problem.grid.ndim, kind
        if make_strategy(memory).strips and not supports(*where, strips=True, dtype=shape.dtype):
            return False
        return not (at_host or (run.get("traced") and make_strategy(memory).traced_refusal))

    ways = [attrs.evolve(memory, known_above=problem.memory.known_above) for memory in STRATEGIES]
    costs = sorted(map(cost, filter(possible, ways)), key=lambda c: c.time)
    return Estimate(tuple(costs), cost(problem.memory), there)


def check_room(
    kind: str, problem: Problem, shape: CallShape, plan: HistoryPlan, left: Callable[[], int | None], **run
) -> None:
    """Raise a MemoryLimitError, with strategies that fit, if a gradient takes more memory than is left.

    Parameters
    ----------
    kind : {'cpu', 'cuda'}
        Kind of device.
    problem : Problem
        The problem.
    shape : CallShape
        Shapes of a call.
    plan : HistoryPlan
        The history of the call.
    left : callable
        Returns the bytes that are free on the device, or None if they are unknown.
    **run
        Further arguments of :func:`history_request`.

    Raises
    ------
    MemoryLimitError
        The message lists the memory of each strategy.
    """
    size = memory_use(kind, problem, shape, plan, run.get("chain", CHAIN)).on_device
    there = left() if size > SMALL else None
    if there is None or size <= there:
        return
    table = estimate(kind, problem, shape, lambda: there, **run)
    fitting = table.fastest
    advice = "use fewer shots a call"
    if fitting is not None:
        advice = f"use memory={fitting.memory}, which fits, or fewer shots a call"
    raise MemoryLimitError(
        f"a gradient of this call takes {readable(size)}, but only {readable(there)} are left; {advice}:\n{table}"
    )
