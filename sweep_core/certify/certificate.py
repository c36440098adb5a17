"""The results of the checks, in words."""

from math import ceil, log10
from textwrap import wrap
from typing import Any

import attrs

VERDICTS = ("good", "doubtful", "wrong")
WIDTH = 120


@attrs.frozen
class Finding:
    """The result of one check.

    Attributes
    ----------
    name : str
        Name of the check.
    verdict : {'good', 'doubtful', 'wrong'}
        The verdict.
    measured : str
        The measured value in words and numbers, with units.
    expected : str
        The expected value.
    advice : str
        Advice to the user; empty if the verdict is good.
    value : float
        The number behind the verdict.
    """

    name: str
    verdict: str = attrs.field(validator=attrs.validators.in_(VERDICTS))
    measured: str
    expected: str
    advice: str = ""
    value: float = float("nan")


def finding(name: str, value: Any, bounds: tuple[float, float], measured: str, expected: str, advice: str) -> Finding:
    """Return a finding whose `value` is good up to bounds[0] and doubtful up to bounds[1]; NaN is wrong."""
    verdict = "good" if value <= bounds[0] else "doubtful" if value <= bounds[1] else "wrong"
    return Finding(name, verdict, measured, expected, "" if verdict == "good" else advice, float(value))


def about(error: float, good: float = 1e-6) -> str:
    """Return an error in words. A good one is only a power of ten above it, which is the same on all machines."""
    if not 0 < error <= good:
        return f"{error:.1e}" if error else "0"
    return f"below {10.0 ** ceil(log10(max(error, 1e-6 * good))):.0e}"


@attrs.frozen
class Certificate:
    """The findings of :meth:`certify` of a solver. It is true if nothing is wrong; ``print`` shows a table.

    Attributes
    ----------
    title : str
        Equation, grid and backend of the call.
    findings : tuple of Finding
        The findings.
    excerpts : tuple of str
        Shots, samples and cells that the checks used.
    untested : tuple of (str, str)
        Names of checks that could not run, and the reasons.
    """

    title: str
    findings: tuple[Finding, ...]
    excerpts: tuple[str, ...] = ()
    untested: tuple[tuple[str, str], ...] = ()

    @property
    def doubts(self) -> tuple[Finding, ...]:
        """Findings that are wrong, then findings that are doubtful."""
        return tuple(f for verdict in ("wrong", "doubtful") for f in self.findings if f.verdict == verdict)

    def __bool__(self) -> bool:
        return all(f.verdict != "wrong" for f in self.findings)

    def __getitem__(self, name: str) -> Finding:
        """Return the finding of a name.

        Raises
        ------
        KeyError
            There is no such finding.
        """
        for f in self.findings:
            if f.name == name:
                return f
        reason = dict(self.untested).get(name, f"the findings are {[f.name for f in self.findings]}")
        raise KeyError(f"{name!r} was not tested: {reason}")

    def __str__(self) -> str:
        counts = {v: sum(f.verdict == v for f in self.findings) for v in VERDICTS}
        lines = [f"{self.title}: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.items())]
        for excerpt in self.excerpts:
            lines += wrap(excerpt, WIDTH, initial_indent="  checked ", subsequent_indent=" " * 10)
        width = max((len(f.name) for f in self.findings), default=0)
        for f in self.findings:
            verdict = f.verdict.upper() if f.verdict == "wrong" else f.verdict
            result = f"{f.measured}; expected {f.expected}"
            indent = " " * (width + 11)
            lines += wrap(result, WIDTH, initial_indent=f"{verdict:8} {f.name:{width}}  ", subsequent_indent=indent)
            lines += wrap(f.advice, WIDTH, initial_indent=f"{indent}-> ", subsequent_indent=f"{indent}   ")
        for name, reason in self.untested:
            lines += wrap(f"{reason}", WIDTH, initial_indent=f"untested {name:{width}}  ", subsequent_indent=indent)
        return "\n".join(lines)
