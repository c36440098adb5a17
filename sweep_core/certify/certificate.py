"""What was found, in words."""

from math import ceil, log10
from textwrap import wrap
from typing import Any

import attrs

VERDICTS = ("good", "doubtful", "wrong")
WIDTH = 120


@attrs.frozen
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    name : str
    verdict : {'good', 'doubtful', 'wrong'}
    measured : str
        In words and numbers, with units.
    expected : str
    advice : str
        A sentence that says what to do; empty of what is good.
    value : float
        The number that the verdict rests on.
    """

    name: str
    verdict: str = attrs.field(validator=attrs.validators.in_(VERDICTS))
    measured: str
    expected: str
    advice: str = ""
    value: float = float("nan")


def finding(name: str, value: Any, bounds: tuple[float, float], measured: str, expected: str, advice: str) -> Finding:
    """One whose `value` is good up to bounds[0] and doubtful up to bounds[1]; NaN is wrong."""
    verdict = "good" if value <= bounds[0] else "doubtful" if value <= bounds[1] else "wrong"
    return Finding(name, verdict, measured, expected, "" if verdict == "good" else advice, float(value))


def about(error: float, good: float = 1e-6) -> str:
    """An error in words: of what is good the power of ten above it alone, which does not change with each machine."""
    if not 0 < error <= good:
        return f"{error:.1e}" if error else "0"
    return f"below {10.0 ** ceil(log10(max(error, 1e-6 * good))):.0e}"


@attrs.frozen
class Certificate:
    """What :meth:`certify` of a solver found. True in a condition where nothing is wrong; ``print`` shows a table.

    Attributes
    ----------
    title : str
        Of what.
    findings : tuple of Finding
    taken : tuple of str
        What was looked at: shots, samples, cells.
    untested : tuple of (str, str)
        Names of findings that there are not, and why.
    """

    title: str
    findings: tuple[Finding, ...]
    taken: tuple[str, ...] = ()
    untested: tuple[tuple[str, str], ...] = ()

    @property
    def doubts(self) -> tuple[Finding, ...]:
        """The findings that are wrong, then those that are doubtful."""
        return tuple(f for verdict in ("wrong", "doubtful") for f in self.findings if f.verdict == verdict)

    def __bool__(self) -> bool:
        return all(f.verdict != "wrong" for f in self.findings)

    def __getitem__(self, name: str) -> Finding:
        """The finding of that name."""
        for found in self.findings:
            if found.name == name:
                return found
        reasons = dict(self.untested)
        there = reasons.get(name, f"the findings are {[f.name for f in self.findings]}")
        raise KeyError(f"{name!r} was not tested: {there}")

    def __str__(self) -> str:
        counts = {v: sum(f.verdict == v for f in self.findings) for v in VERDICTS}
        lines = [f"{self.title}: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.items())]
        for taken in self.taken:
            lines += wrap(taken, WIDTH, initial_indent="  looked at ", subsequent_indent=" " * 12)
        width = max((len(f.name) for f in self.findings), default=0)
        for f in self.findings:
            verdict = f.verdict.upper() if f.verdict == "wrong" else f.verdict
            told = f"{f.measured}; expected {f.expected}"
            indent = " " * (width + 11)
            lines += wrap(told, WIDTH, initial_indent=f"{verdict:8} {f.name:{width}}  ", subsequent_indent=indent)
            lines += wrap(f.advice, WIDTH, initial_indent=f"{indent}-> ", subsequent_indent=f"{indent}   ")
        for name, reason in self.untested:
            lines += wrap(f"{reason}", WIDTH, initial_indent=f"untested {name:{width}}  ", subsequent_indent=indent)
        return "\n".join(lines)
