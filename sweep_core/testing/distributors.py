"""The laws of a distributor: the result of each method, adjoint pairs, and sums over ranks."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from .._util.arrays import numpy_of
from ..distribution import Distributor, ShotPlan
from ..errors import PluginError, SweepError
from ..execution.answers import unequal
from ..plugins.discovery import VERBS
from .laws import ROUNDING, Broken, Figure, within, worst
from .programme import Result, judged

__all__ = ["Group", "distributes"]

SHAPE = (3, 2)
"""Shape of the values of one shot, or of one rank."""
EXPECTED = (
    "expected an equation class, a distributor, or a callable that returns a distributor without arguments; name a "
    "registered backend by its name"
)


class Group:
    """A distributor, and random values of all its ranks, which are the same on each rank.

    If ranks are processes, each process sees its own value. If they are devices of one process, the process sees all
    values along a leading axis.

    Parameters
    ----------
    distributor : Distributor
        The distributor under test. Every rank must make its group, because the constructor calls scatter.

    Attributes
    ----------
    verbs : Distributor
        The distributor under test.
    size : int
        Number of ranks.
    rank : int
        Rank of this process, from 0 on.
    stacked : bool
        True if ranks are devices of one process, so that values of all ranks have a leading axis.
    here : range
        Ranks whose values this process sees.
    """

    def __init__(self, distributor):
        self.verbs, self.size, self.rank = distributor, distributor.size, distributor.rank
        plan = ShotPlan(self.size, self.size)
        scattered = distributor.scatter(plan, np.ones((self.size, *SHAPE)))
        self.stacked = len(scattered.shape) == len(SHAPE) + 2
        self.here = range(self.size) if self.stacked else range(self.rank, self.rank + 1)

    def random(self, seed: int, *shape: int) -> np.ndarray:
        """Return random numbers of every rank, ``(size, *shape)``.

        Parameters
        ----------
        seed : int
            Seed of the random numbers.
        *shape : int
            Shape of the value of one rank.

        Returns
        -------
        numpy.ndarray, ``(size, *shape)``
            Normally distributed values, the same on each rank.
        """
        return np.random.default_rng(seed).standard_normal((self.size, *shape))

    def argument(self, values):
        """Return the argument of a method from the values of every rank.

        Parameters
        ----------
        values : sequence of numpy.ndarray
            One value for each rank, all of one shape if they are stacked.

        Returns
        -------
        numpy.ndarray
            The value of this rank, or the values of all ranks along a leading axis if they are stacked.
        """
        return np.stack(values) if self.stacked else values[self.rank]

    def parts(self, plan, x):
        """Return the argument of gather and all_gather: the parts of x, padded if they are stacked.

        Parameters
        ----------
        plan : ShotPlan
            The shots of each rank.
        x : numpy.ndarray, (nshots, ...)
            Values of all shots of the plan.

        Returns
        -------
        numpy.ndarray
            The part of this rank; ``(size, plan.longest, ...)`` if the parts are stacked.
        """
        parts = [x[list(plan.part(r))] for r in range(self.size)]
        if self.stacked:
            parts = [np.concatenate([p, np.zeros((plan.longest - len(p), *p.shape[1:]))]) for p in parts]
        return self.argument(parts)

    def local(self, y) -> list[np.ndarray]:
        """Return the result of a method for each rank that this process sees.

        Parameters
        ----------
        y : array
            Result of a method of the distributor, an array of the backend.

        Returns
        -------
        list of numpy.ndarray
            One value for each rank of `here`.
        """
        return list(numpy_of(y)) if self.stacked else [numpy_of(y)]

    def dot(self, xs, ys) -> float:
        """Return <x, y> over all ranks, from the values that this process sees.

        Parameters
        ----------
        xs, ys : sequence of numpy.ndarray
            One value for each rank of `here`, in pairs of one shape.

        Returns
        -------
        float
            The sum over all ranks. Every rank must call this method, because it may call all_reduce.

        Raises
        ------
        ValueError
            If `xs` and `ys` have different lengths, or a pair has different sizes.
        """
        products = [np.vdot(x, y) for x, y in zip(xs, ys, strict=True)]
        return float(sum(products)) if self.stacked else float(numpy_of(self.verbs.all_reduce(np.array(products)))[0])


def _equal(pairs, bound=0.0) -> Figure:
    errors = []
    for name, x, expected in pairs:
        if x.shape != expected.shape:
            raise Broken(f"{name} has shape {x.shape}; expected {expected.shape}")
        errors.append((np.abs(x - expected).max(initial=0.0), f"{name}, largest difference"))
    return worst(errors, bound)


def _on_root(group, name, value, expected, bound=0.0) -> Figure:
    if group.rank == 0:
        return _equal([(name, numpy_of(value), expected)], bound)
    if value is not None:
        raise Broken(f"{name} returns {type(value).__name__} on rank {group.rank}; expected None")
    return Figure(0.0, bound)


def scatter_and_gather(group, plan) -> Figure:
    """Check that scatter gives each rank its part, that gather joins the parts, and that both are adjoint.

    Ranks may have no shots.
    """
    x, y = np.random.default_rng(1).standard_normal((2, plan.count, *SHAPE))
    scattered = group.local(group.verbs.scatter(plan, x))
    parts = [x[list(plan.part(r))] for r in group.here]
    if group.stacked:  # the parts of devices are padded to one length
        scattered = [s[: len(p)] for s, p in zip(scattered, parts, strict=True)]
    _equal(("scatter", s, p) for s, p in zip(scattered, parts, strict=True))
    gathered = group.verbs.gather(plan, group.parts(plan, y))
    _on_root(group, "gather", gathered, y)
    product = group.dot(scattered, [y[list(plan.part(r))] for r in group.here])
    return within(unequal(product, float(np.vdot(x, y)), [x * y]), ROUNDING, "<scatter x, y> and <x, gather y>")


def all_gather(group, plan) -> Figure:
    """Check that all_gather joins the parts on every rank."""
    x = np.random.default_rng(2).standard_normal((plan.count, *SHAPE))
    return _equal(("all_gather", g, x) for g in group.local(group.verbs.all_gather(plan, group.parts(plan, x))))


def broadcast_and_reduce(group) -> Figure:
    """Check that broadcast copies the value of rank 0, that reduce sums on rank 0, and that both are adjoint."""
    x, ys = group.random(3, *SHAPE)[0], group.random(4, *SHAPE)
    copies = group.local(group.verbs.broadcast(x))
    _equal(("broadcast", copy, x) for copy in copies)
    _on_root(group, "reduce", group.verbs.reduce(group.argument(ys)), ys.sum(0), ROUNDING)
    product = group.dot(copies, [ys[r] for r in group.here])
    return within(
        unequal(product, float(np.vdot(x, ys.sum(0))), [x * ys]), ROUNDING, "<broadcast x, y> and <x, reduce y>"
    )


def all_reduce(group) -> Figure:
    """Check that all_reduce gives the sum with the same bits on every rank, and keeps its argument.

    all_reduce is its own adjoint.
    """
    xs = group.random(5, *SHAPE)
    argument = group.argument(xs)
    copy, sums = np.array(argument), group.local(group.verbs.all_reduce(argument))
    _equal([("the argument of all_reduce", argument, copy)])
    gathered = group.local(group.verbs.all_gather(ShotPlan(group.size, group.size), _one_each(group, sums)))[0]
    _equal(("all_reduce on another rank", np.reshape(gathered[r], SHAPE), sums[0]) for r in range(group.size))
    return _equal((("all_reduce", total, xs.sum(0)) for total in sums), ROUNDING)


def _one_each(group, values):
    return np.stack([v[None] for v in values]) if group.stacked else values[0][None]


def ranks_add_up(group, plan) -> Figure:
    """Check that a sum over the shots of a plan equals the sum on one rank."""
    shots = np.random.default_rng(6).standard_normal((plan.count, *SHAPE))
    sums = np.stack([shots[list(plan.part(r))].sum(0) for r in range(group.size)])
    totals = group.local(group.verbs.all_reduce(group.argument(sums)))
    return _equal((("the sum over ranks", total, shots.sum(0)) for total in totals), ROUNDING)


def bad_plans_are_refused(group) -> Figure:
    """Check that parts and shots that do not fit their plan are refused."""
    plan, accepted = ShotPlan(4, group.size), []
    wrong: dict[str, Callable] = {
        "parts of another size": lambda: group.verbs.gather(plan, np.ones((99, *SHAPE))),
    }
    if group.rank == 0:  # on other ranks scatter would wait for rank 0
        wrong |= {} if group.size > 1 else {"too few shots": lambda: group.verbs.scatter(plan, np.ones((3, *SHAPE)))}
    for name, call in wrong.items():
        try:
            call()
        except SweepError:
            continue
        accepted.append(name)
    return within(
        len(accepted), 0, f"plans that were not refused by an error of SWEEP: {', '.join(accepted) or 'none'}"
    )


def distributes(target) -> Iterator[Result]:
    """Run every law of a distributor.

    Parameters
    ----------
    target : Distributor or callable
        A distributor, or a function or class that returns a distributor without arguments.

    Returns
    -------
    iterator of Result
        The result of each law on this rank, as soon as it is known. Every rank must run all laws, because the methods
        of a distributor wait for all ranks.

    Raises
    ------
    PluginError
        `target` is not a distributor and does not return one.
    """
    group = Group(_distributor_of(target))
    return _laws(group)


def _distributor_of(target):
    if isinstance(target, Distributor) and not isinstance(target, type):
        return target
    name = getattr(target, "__name__", repr(target))
    try:
        distributor = target()
    except Exception as failure:
        reason = f"{type(failure).__name__}: {failure}"
        raise PluginError(f"{name} is not a distributor, and returns none ({reason}); {EXPECTED}") from failure
    if missing := [verb for verb in VERBS if not hasattr(distributor, verb)]:
        raise PluginError(f"{name} returns no distributor: it lacks {', '.join(missing)}; {EXPECTED}")
    return distributor


def _laws(group) -> Iterator[Result]:
    who = f"rank {group.rank} of {group.size}"
    yield judged(who, "broadcast and reduce", partial(broadcast_and_reduce, group))
    yield judged(who, "all_reduce", partial(all_reduce, group))
    plans = {f"{count} shots": ShotPlan(count, group.size) for count in (5, 2 * group.size, group.size - 1 or 1)}
    plans["5 shots of unequal cost"] = ShotPlan(5, group.size, costs=[1, 9, 2, 5, 3])
    for name, plan in plans.items():
        yield judged(who, f"scatter and gather, {name}", partial(scatter_and_gather, group, plan))
        yield judged(who, f"all_gather, {name}", partial(all_gather, group, plan))
        yield judged(who, f"ranks add up, {name}", partial(ranks_add_up, group, plan))
    yield judged(who, "bad plans", partial(bad_plans_are_refused, group))
    group.verbs.barrier()
