"""What a compiled gradient takes, told by the library before anything is allocated."""

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
from .library import supports

CHAIN = 2
"""What the framework holds to take gradients of coefficients to the models, by the size of the former: what it keeps of
the padded models, and the results. Measured: 1.5 to 3.1."""
SMALL = 64 << 20
"""Bytes up to which nobody asks what is left."""
PURPOSES = {
    "history": "history",
    "checkpoints": "states",
    **dict.fromkeys(("state", "workspace", "flag"), "workspace"),
    **dict.fromkeys(("record", "cotangent", "snapshots"), "records"),
    **dict.fromkeys(("gradient_coefficients", "gradient_wavelet"), "gradients"),
}
"""What buffers are for; all others are inputs."""
STRATEGIES = (
    MemoryOptions("full"),
    MemoryOptions("ckpt"),
    MemoryOptions("ckpt", ckpt=CkptOptions(storage="cpu")),
    MemoryOptions("ckpt", ckpt=CkptOptions(storage="disk")),
    MemoryOptions("ckpt", ckpt=CkptOptions("recursive")),
    MemoryOptions("ckpt", ckpt=CkptOptions("recursive", count=1)),
    MemoryOptions("boundary"),
)
"""Those that an estimate compares, as they are preferred where they take the same time."""


def history_request(
    kind: str,
    problem: Problem,
    shape: CallShape,
    left: Callable[[], int | None] = available,
    traced: bool = False,
    together: bool = False,
    slices: bool = True,
) -> HistoryRequest:
    """What a memory strategy is told of a call."""

    def history():
        full = attrs.evolve(problem, memory=MemoryOptions("full", known_above=problem.memory.known_above))
        return compiled_call(kind, full, shape, shape.steps).history

    def state():
        return _needs(compiled_call(kind, problem, shape), "forward", HistoryPlan(1, 0))["state"]

    def taken(kept):
        return memory_use(kind, problem, shape, kept).on_device

    return HistoryRequest(
        shape.steps,
        shape.shots,
        history,
        left,
        on_cpu=kind == "cpu",
        traced=traced,
        together=together,
        state=state,
        taken=taken,
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

    Raises
    ------
    UnsupportedError
        Without `slices`, for a backend that makes a run in one call, where the strategy needs them.
    """
    strategy = make_strategy(problem.memory)
    if not slices and (refusal := strategy.compiled_refusal):
        raise UnsupportedError(refusal)
    return strategy.keep(history_request(kind, problem, shape, left, slices=slices, **run))


def _needs(call: CompiledCall, operation: str, kept: HistoryPlan) -> dict[str, int]:
    """Bytes of the buffers of an operation by name; of a run in slices those of one slice."""
    struct = structs.SweepProblem.from_buffer_copy(call.struct)
    struct.chunk, struct.boundary = kept.chunk, boundary_of(call.problem, kept.strips)
    struct.stored, struct.interval = structs.DTYPES[kept.dtype or call.shape.dtype], kept.interval
    if kept.sliced:
        struct.last = min(kept.chunk, struct.steps)
    return {need.name.decode(): need.bytes for need in call.library.buffers(operation, struct)}


@lru_cache(maxsize=4096)
def memory_use(kind: str, problem: Problem, shape: CallShape, kept: HistoryPlan) -> MemoryUse:
    """What a forward run and its adjoint take at most at once, where so much is kept."""
    call = compiled_call(kind, problem, shape)
    forward, adjoint = (_needs(call, operation, kept) for operation in ("forward", "adjoint"))
    if kept.sliced:
        forward["checkpoints"] = (kept.states or 0) * forward["state"]
    phases = Counter[str](), Counter[str]()
    handed = {name: forward[name] for name in ("history", "checkpoints", "record")}
    given = {name: size for name, size in (forward | adjoint).items() if name not in PURPOSES}
    for phase, needs in zip(phases, (forward, adjoint | handed), strict=True):
        for name, size in (needs | given).items():
            phase[PURPOSES.get(name, "inputs")] += size
    phases[1]["gradients"] += CHAIN * adjoint["gradient_coefficients"]
    if kept.sliced:  # the replay has a state and a record of its own, and shares the workspace
        phases[1]["workspace"] += forward["state"] + max(forward["workspace"] - adjoint["workspace"], 0)
        phases[1]["records"] += forward["record"]
    most = max(phases, key=Counter.total)
    away = {"disk": "disk", "cpu": "host" if kind != "cpu" else "device"}.get(kept.storage, "device")
    if away == "device":
        return MemoryUse(device=dict(most))
    moved = {kept.placed: most.pop(kept.placed)}
    return MemoryUse(device=dict(most), **{away: moved})


def estimate(
    kind: str, problem: Problem, shape: CallShape, left: Callable[[], int | None] = available, **run
) -> Estimate:
    """Return the memory that the gradient of a call takes by each strategy; `run` goes to :func:`history_request`."""
    there = left()

    def cost(memory):
        kept = make_strategy(memory).keep(history_request(kind, problem, shape, lambda: there, **run))
        taken = memory_use(kind, problem, shape, kept)
        return Cost(memory, taken, kept.time(shape.steps), None if there is None else taken.on_device <= there)

    def possible(memory):
        at_host = kind == "cpu" and memory.ckpt is not None and memory.ckpt.storage == "cpu"  # the device's own memory
        if make_strategy(memory).strips and not supports(problem.equation, problem.grid.ndim, kind, strips=True):
            return False
        return not (at_host or (run.get("traced") and make_strategy(memory).traced_refusal))

    ways = [attrs.evolve(memory, known_above=problem.memory.known_above) for memory in STRATEGIES]
    costs = sorted(map(cost, filter(possible, ways)), key=lambda c: c.time)
    return Estimate(tuple(costs), cost(problem.memory), there)


def check_room(
    kind: str, problem: Problem, shape: CallShape, kept: HistoryPlan, left: Callable[[], int | None], **run
) -> None:
    """MemoryLimitError, with what would fit, where a gradient takes more than what is left."""
    size = memory_use(kind, problem, shape, kept).on_device
    there = left() if size > SMALL else None
    if there is None or size <= there:
        return
    table = estimate(kind, problem, shape, lambda: there, **run)
    fitting = table.fastest
    what = "give fewer shots a call" if fitting is None else f"memory={fitting.memory} fits, as do fewer shots a call"
    raise MemoryLimitError(
        f"a gradient of this call takes {readable(size)}, and {readable(there)} are left; {what}:\n{table}"
    )
