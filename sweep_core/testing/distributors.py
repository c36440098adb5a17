"""The laws of a distributor: what each verb gives, that pairs are adjoint, and that ranks add up to one."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from .._util.arrays import numpy_of
from ..distribution import Distributor, ShotPlan
from ..errors import PluginError, SweepError
from ..execution.answers import unequal
from .laws import ROUNDING, Broken, Figure, held, worst
from .programme import Result, judged

__all__ = ["Group", "distributes"]

SHAPE = (3, 2)
"""Of what belongs to one shot, or to one rank."""
VERBS = ("rank", "size", "scatter", "gather", "broadcast", "reduce", "all_reduce", "all_gather", "barrier")
EXPECTED = (
    "expected an equation class, a distributor, or what makes one without arguments; a backend is registered, and "
    "asked for by its name"
)


class Group:
    """A distributor, and values of all its ranks, which are the same random numbers on each.

    Where ranks are processes, each of them sees its own; where they are devices of one process, the process sees all,
    along a leading axis.
    """

    def __init__(self, distributor):
        self.verbs, self.size, self.rank = distributor, distributor.size, distributor.rank
        plan = ShotPlan(self.size, self.size)
        scattered = distributor.scatter(plan, np.ones((self.size, *SHAPE)))
        self.stacked = len(scattered.shape) == len(SHAPE) + 2
        self.here = range(self.size) if self.stacked else range(self.rank, self.rank + 1)

    def random(self, seed: int, *shape: int) -> np.ndarray:
        """Numbers of every rank, ``(size, *shape)``."""
        return np.random.default_rng(seed).standard_normal((self.size, *shape))

    def given(self, values):
        """What a verb takes of values of every rank."""
        return np.stack(values) if self.stacked else values[self.rank]

    def parts(self, plan, x):
        """What gather and all_gather take: the parts of x, padded where they are stacked."""
        parts = [x[plan.part(r).start : plan.part(r).stop] for r in range(self.size)]
        if self.stacked:
            parts = [np.concatenate([p, np.zeros((plan.longest - len(p), *p.shape[1:]))]) for p in parts]
        return self.given(parts)

    def seen(self, y) -> list[np.ndarray]:
        """A verb's answer for each rank that this process sees."""
        return list(numpy_of(y)) if self.stacked else [numpy_of(y)]

    def dot(self, xs, ys) -> float:
        """<x, y> over all ranks, of values that this process sees."""
        mine = [np.vdot(x, y) for x, y in zip(xs, ys, strict=True)]
        return float(sum(mine)) if self.stacked else float(numpy_of(self.verbs.all_reduce(np.array(mine)))[0])


def _equal(pairs, bound=0.0) -> Figure:
    found = []
    for what, x, expected in pairs:
        if x.shape != expected.shape:
            raise Broken(f"{what} has shape {x.shape}; expected {expected.shape}")
        found.append((np.abs(x - expected).max(initial=0.0), f"{what}, largest difference"))
    return worst(found, bound)


def _on_root(group, name, value, expected, bound=0.0) -> Figure:
    if group.rank == 0:
        return _equal([(name, numpy_of(value), expected)], bound)
    if value is not None:
        raise Broken(f"{name} gives {type(value).__name__} on rank {group.rank}; expected None")
    return Figure(0.0, bound)


def scatter_and_gather(group, count) -> Figure:
    """Each rank's part, and the parts joined again; adjoint to each other. Ranks may have no shots."""
    plan, (x, y) = ShotPlan(count, group.size), np.random.default_rng(1).standard_normal((2, count, *SHAPE))
    scattered = group.seen(group.verbs.scatter(plan, x))
    mine = [x[plan.part(r).start : plan.part(r).stop] for r in group.here]
    if group.stacked:  # the parts of devices are padded to one length
        scattered = [s[: len(m)] for s, m in zip(scattered, mine, strict=True)]
    _equal(("scatter", s, m) for s, m in zip(scattered, mine, strict=True))
    gathered = group.verbs.gather(plan, group.parts(plan, y))
    _on_root(group, "gather", gathered, y)
    pushed = group.dot(scattered, [y[plan.part(r).start : plan.part(r).stop] for r in group.here])
    return held(unequal(pushed, float(np.vdot(x, y)), [x * y]), ROUNDING, "<scatter x, y> and <x, gather y>")


def all_gather(group, count) -> Figure:
    """The parts joined, on every rank."""
    plan, x = ShotPlan(count, group.size), np.random.default_rng(2).standard_normal((count, *SHAPE))
    return _equal(("all_gather", g, x) for g in group.seen(group.verbs.all_gather(plan, group.parts(plan, x))))


def broadcast_and_reduce(group) -> Figure:
    """Rank 0's value everywhere, and the sum on rank 0; adjoint to each other."""
    x, ys = group.random(3, *SHAPE)[0], group.random(4, *SHAPE)
    copies = group.seen(group.verbs.broadcast(x))
    _equal(("broadcast", copy, x) for copy in copies)
    _on_root(group, "reduce", group.verbs.reduce(group.given(ys)), ys.sum(0), ROUNDING)
    pushed = group.dot(copies, [ys[r] for r in group.here])
    return held(unequal(pushed, float(np.vdot(x, ys.sum(0))), [x * ys]), ROUNDING, "<broadcast x, y> and <x, reduce y>")


def all_reduce(group) -> Figure:
    """The sum, on every rank, the same bits on each; adjoint to itself. Its argument stays as it is."""
    xs = group.random(5, *SHAPE)
    given = group.given(xs)
    kept, sums = np.array(given), group.seen(group.verbs.all_reduce(given))
    _equal([("the argument of all_reduce", given, kept)])
    whole = group.seen(group.verbs.all_gather(ShotPlan(group.size, group.size), _one_each(group, sums)))[0]
    _equal(("all_reduce on another rank", np.reshape(whole[r], SHAPE), sums[0]) for r in range(group.size))
    return _equal((("all_reduce", total, xs.sum(0)) for total in sums), ROUNDING)


def _one_each(group, values):
    return np.stack([v[None] for v in values]) if group.stacked else values[0][None]


def ranks_add_up(group, count) -> Figure:
    """A sum over shots, shared out by a plan, is that of one rank."""
    plan, shots = ShotPlan(count, group.size), np.random.default_rng(6).standard_normal((count, *SHAPE))
    sums = np.stack([shots[plan.part(r).start : plan.part(r).stop].sum(0) for r in range(group.size)])
    totals = group.seen(group.verbs.all_reduce(group.given(sums)))
    return _equal((("the sum over ranks", total, shots.sum(0)) for total in totals), ROUNDING)


def bad_plans_are_refused(group) -> Figure:
    """A plan for another group, and shots that are not the plan's."""
    plan, taken = ShotPlan(4, group.size), []
    wrong: dict[str, Callable] = {
        "parts of another size": lambda: group.verbs.gather(plan, np.ones((99, *SHAPE))),
    }
    if group.rank == 0:  # elsewhere scatter waits for rank 0
        wrong |= {} if group.size > 1 else {"too few shots": lambda: group.verbs.scatter(plan, np.ones((3, *SHAPE)))}
    for what, call in wrong.items():
        try:
            call()
        except SweepError:
            continue
        taken.append(what)
    return held(len(taken), 0, f"plans that were not refused by an error of SWEEP: {', '.join(taken) or 'none'}")


def distributes(target) -> Iterator[Result]:
    """Every law of a distributor, or of what a function or class without arguments makes.

    Raises
    ------
    PluginError
        Where that is no distributor.
    """
    group = Group(_made(target))
    return _laws(group)


def _made(target):
    if isinstance(target, Distributor) and not isinstance(target, type):
        return target
    what = getattr(target, "__name__", repr(target))
    try:
        made = target()
    except Exception as failure:
        reason = f"{type(failure).__name__}: {failure}"
        raise PluginError(f"{what} is no distributor, and makes none ({reason}); {EXPECTED}") from failure
    if missing := [name for name in VERBS if not hasattr(made, name)]:
        raise PluginError(f"{what} makes no distributor: it lacks {', '.join(missing)}; {EXPECTED}")
    return made


def _laws(group) -> Iterator[Result]:
    who = f"rank {group.rank} of {group.size}"
    yield judged(who, "broadcast and reduce", partial(broadcast_and_reduce, group))
    yield judged(who, "all_reduce", partial(all_reduce, group))
    for count in (5, 2 * group.size, group.size - 1 or 1):
        yield judged(who, f"scatter and gather, {count} shots", partial(scatter_and_gather, group, count))
        yield judged(who, f"all_gather, {count} shots", partial(all_gather, group, count))
        yield judged(who, f"ranks add up, {count} shots", partial(ranks_add_up, group, count))
    yield judged(who, "bad plans", partial(bad_plans_are_refused, group))
    group.verbs.barrier()
