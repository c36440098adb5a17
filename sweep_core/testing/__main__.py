"""``python -m sweep_core.testing NAME`` runs the laws of an equation, a backend or a distributor."""

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
derivatives in every region, memory strategies, float32, variants (free surface, 3-D, ...), bad input. The exit status
is 0 if some laws ran and all of them hold, and 1 otherwise."""

NAME = """\
a registered equation, which runs on every backend of this environment; a registered backend, which runs every equation;
or "package.module:attribute": an equation class, a distributor, or a callable that returns a distributor without
arguments (for several ranks, run the command under the distributor's own launcher, such as torchrun)"""


def main(arguments=None) -> int:
    """Run the command line. Return 0 if some laws ran and all of them hold, and 1 otherwise."""
    parser = argparse.ArgumentParser("python -m sweep_core.testing", description=DESCRIPTION)
    parser.add_argument("name", metavar="NAME", help=NAME)
    parser.add_argument(
        "ranges", metavar="parameter=low:high", nargs="*", help="range of a parameter in the models of an equation"
    )
    parser.add_argument(
        "--backend", action="append", default=[], help="run an equation only on this backend; may be repeated"
    )
    parser.add_argument("--minutes", type=float, default=5.0, help="time limit for each equation (5)")
    options = parser.parse_intermixed_args(arguments)
    # Set before JAX is imported: most laws need float64, which JAX refuses otherwise.
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    try:
        return report(results(options.name, tuple(map(_range, options.ranges)), options.backend, options.minutes))
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


def results(name: str, ranges=(), backend_names=(), minutes=5.0) -> Iterable[Result]:
    """Run the laws of the object of a name.

    Raises
    ------
    PluginError, OptionError
        There is no such object, or `ranges` or `backend_names` are not empty although the object is not an equation.
    """
    registered = equations()
    target = registered[name] if name in registered else _target(name) if ":" in name else None
    if isinstance(target, Equation):
        raise OptionError(f"{name} is an instance of an equation; expected its class, {type(target).__name__}")
    if isinstance(target, type) and issubclass(target, Equation):
        check_equation(target, dict(ranges))
        return conforms(target, entries(*backend_names), ranges, minutes)
    if ranges or backend_names:
        raise OptionError(f"{name} is not an equation; parameter=low:high and --backend are only for equations")
    if target is not None:
        return distributes(target)
    if name in [status.name for status in backends()]:
        backend_entries = entries(name)
        return (
            attrs.evolve(result, who=f"{result.who} {equation}")
            for equation, cls in sorted(registered.items())
            for result in conforms(cls, backend_entries, minutes=minutes)
        )
    failure = equation_failures().get(name)
    if failure:
        raise PluginError(f"equation {name!r} failed to load: {failure}")
    raise PluginError(
        f"nothing is registered as {name!r}; expected one of the equations {sorted(registered)}, one of the backends "
        f"{sorted(s.name for s in backends())}, or package.module:attribute"
    )


def check_equation(cls: type, ranges: dict) -> None:
    """Raise an OptionError if a class does not state an equation, or if no model of it lies in `ranges`."""
    try:
        equation = cls()
    except SweepError:
        raise
    except Exception as failure:
        reason = f"{type(failure).__name__}: {failure}"
        raise OptionError(f"{cls.__name__}() raises {reason}; expected an equation without arguments") from failure
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


def report(law_results: Iterable[Result]) -> int:
    """Print each result at once, then the broken laws. Return 0 if some laws ran and all hold, and 1 otherwise."""
    counts, broken, begin = dict.fromkeys(("held", "broken", "skipped"), 0), [], time.perf_counter()
    unrun = 0
    for result in law_results:
        counts[result.status] += 1
        unrun += result.reason == LATE
        figure = f"{result.figure.value:9.2g} <= {result.figure.bound:.2g}" if result.figure else ""
        detail = figure or result.reason.partition("\n")[0]
        print(f"{result.status:8s}{result.who:14s} {result.law:45s}{result.seconds:7.2f} s  {detail}", flush=True)
        broken += [result] if result.status == "broken" else []
    for result in broken:
        print(f"\n{result.who}, {result.law}\n  {result.reason}")
    summary = ", ".join(f"{count} {status}" for status, count in counts.items())
    late = f" ({unrun} of them for want of time)" if unrun else ""
    print(f"\n{summary}{late} in {time.perf_counter() - begin:.0f} s")
    return 0 if counts["held"] and not counts["broken"] else 1


if __name__ == "__main__":
    sys.exit(main())
