"""``python -m sweep_core.testing NAME``: the laws over an equation, a backend or a distributor; exit status 0 or 1."""

import argparse
import os
import sys
import time
from collections.abc import Iterable

import attrs
import numpy as np

from .. import backends, equations
from ..equations.equation import Equation
from ..errors import OptionError, PluginError, SweepError
from ..plugins import equation_failures, load
from ..problem.equation_check import check_declared, check_statement
from .distributors import distributes
from .entries import entries
from .programme import LATE, Result, conforms

DESCRIPTION = """\
Runs SWEEP's laws on small rough problems: records against the NumPy reference, dot products, Taylor remainders, single
derivatives in every region, memory strategies, float32, variants (free surface, 3-D, ...), bad input."""

NAME = """\
a registered equation, which every backend here is asked for; a registered backend, which is asked for every equation;
or "package.module:attribute": an equation class, or a distributor or what makes one without arguments (run it under the
distributor's own launcher, such as torchrun, for more than one rank)"""


def main(arguments=None) -> int:
    """The command line; 0 where some laws were run and all of those hold, otherwise 1."""
    parser = argparse.ArgumentParser("python -m sweep_core.testing", description=DESCRIPTION)
    parser.add_argument("name", metavar="NAME", help=NAME)
    parser.add_argument(
        "ranges", metavar="parameter=low:high", nargs="*", help="what models of an equation are drawn from"
    )
    parser.add_argument(
        "--backend", action="append", default=[], help="ask only this one, of an equation; may be repeated"
    )
    parser.add_argument("--minutes", type=float, default=5.0, help="for each equation (5)")
    given = parser.parse_intermixed_args(arguments)
    # Before JAX is imported: without it float64, in which most laws are stated, is refused.
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    try:
        return report(results(given.name, tuple(map(_range, given.ranges)), given.backend, given.minutes))
    except SweepError as reason:
        print(f"{type(reason).__name__}: {reason}", file=sys.stderr)
        return 1


def _range(text: str) -> tuple[str, tuple[float, float]]:
    name, _, bounds = text.partition("=")
    try:
        low, high = map(float, bounds.split(":"))
    except ValueError:
        raise OptionError(f"{text!r} is not a range; expected parameter=low:high, such as vp=1500:4500") from None
    if not name or not -np.inf < low <= high < np.inf:
        raise OptionError(f"{text!r} is not a range; expected parameter=low:high with low <= high, both finite")
    return name, (low, high)


def results(name: str, ranges=(), asked=(), minutes=5.0) -> Iterable[Result]:
    """The laws of what `name` names.

    Raises
    ------
    PluginError, OptionError
        Where there is nothing of that name, or ranges or backends are given where they mean nothing.
    """
    known = equations()
    target = known[name] if name in known else _target(name) if ":" in name else None
    if isinstance(target, Equation):
        raise OptionError(f"{name} is an equation that was made; name its class, {type(target).__name__}")
    if isinstance(target, type) and issubclass(target, Equation):
        check_equation(target, dict(ranges))
        return conforms(target, entries(*asked), ranges, minutes)
    if ranges or asked:
        raise OptionError(f"{name} is no equation; parameter=low:high and --backend are for equations")
    if target is not None:
        return distributes(target)
    if name in [status.name for status in backends()]:
        found = entries(name)
        return (
            attrs.evolve(result, who=f"{result.who} {equation}")
            for equation, made in sorted(known.items())
            for result in conforms(made, found, minutes=minutes)
        )
    failed = equation_failures().get(name)
    if failed:
        raise PluginError(f"equation {name!r} failed to load: {failed}")
    raise PluginError(
        f"nothing is registered as {name!r}; there are the equations {sorted(known)} and the backends "
        f"{sorted(s.name for s in backends())}, and package.module:attribute names what is not registered"
    )


def check_equation(cls: type, ranges: dict) -> None:
    """OptionError where a class states no equation, or no model of it lies in `ranges`."""
    try:
        equation = cls()
    except SweepError:
        raise
    except Exception as failure:
        reason = f"{type(failure).__name__}: {failure}"
        raise OptionError(f"{cls.__name__}() raises {reason}; an equation is made without arguments") from failure
    check_declared(equation)
    for ndim in equation.ndims:
        check_statement(equation, ndim)
        try:
            equation.example((4,) * ndim, np.random.default_rng(0), **ranges)
        except SweepError:
            raise
        except Exception as failure:
            reason = f"{type(failure).__name__}: {failure}"
            raise OptionError(f"{equation.name}: example of {ndim} dimensions raises {reason}") from failure


def _target(name: str):
    try:
        return load(name)
    except (Exception, SystemExit) as failure:
        raise PluginError(f"{name} cannot be loaded: {type(failure).__name__}: {failure}") from failure


def report(found: Iterable[Result]) -> int:
    """Prints each result as it comes, and then what is broken; 0 where all that was run holds, and something was."""
    counts, broken, begin = dict.fromkeys(("held", "broken", "skipped"), 0), [], time.perf_counter()
    unrun = 0
    for result in found:
        counts[result.status] += 1
        unrun += result.reason == LATE
        figure = f"{result.figure.value:9.2g} <= {result.figure.bound:.2g}" if result.figure else ""
        told = figure or result.reason.partition("\n")[0]
        print(f"{result.status:8s}{result.who:14s} {result.law:45s}{result.seconds:7.2f} s  {told}", flush=True)
        broken += [result] if result.status == "broken" else []
    for result in broken:
        print(f"\n{result.who}, {result.law}\n  {result.reason}")
    told = ", ".join(f"{count} {status}" for status, count in counts.items())
    late = f" ({unrun} of them for want of time)" if unrun else ""
    print(f"\n{told}{late} in {time.perf_counter() - begin:.0f} s")
    return 0 if counts["held"] and not counts["broken"] else 1


if __name__ == "__main__":
    sys.exit(main())
