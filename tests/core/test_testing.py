"""The laws of the package hold for correct code, find faults and draw admissible models."""

import copy
import re
from functools import partial
from typing import ClassVar
from unittest import SkipTest

import attrs
import numpy as np
import pytest

from sweep_core import Acoustic, Elastic, OptionError, Parameter, SerialDistributor, equations, errors
from sweep_core.execution.reference import ReferenceExecutor
from sweep_core.testing import laws
from sweep_core.testing.__main__ import main, results
from sweep_core.testing.cases import case
from sweep_core.testing.entries import Entry, runs
from sweep_core.testing.programme import conforms, judged, programme


@pytest.mark.parametrize("cls", equations().values(), ids=equations())
@pytest.mark.parametrize("shape", [(6, 7), (5, 6, 7), (2, 6, 7)], ids=str)
def test_examples_are_admissible_and_rough(cls, shape):
    models = cls().example(shape, np.random.default_rng(0))
    assert all(m.shape == shape and m.dtype == np.float64 and len(np.unique(m)) == m.size for m in models)
    assert np.all(cls().admits(*models))


def test_examples_keep_ranges_and_are_admissible():
    """Most pairs in these ranges are inadmissible."""
    vp, vs, _ = Elastic().example((20, 20), np.random.default_rng(0), vp=(1000, 2000), vs=(900, 1700))
    assert vp.min() >= 1000 and vp.max() < 2000 and vs.min() >= 900 and np.all(3 * vp**2 > 4 * vs**2)


def test_impossible_examples_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(OptionError, match=r"elastic: in some cells, none of 1000 draws .* was admissible \(vp > sqrt"):
        Elastic().example((3, 3), rng, vp=(1000, 1100), vs=(1000, 1100))
    with pytest.raises(OptionError, match="elastic: range of vs is -1 to 5; expected a part of 0 to inf"):
        Elastic().example((3, 3), rng, vs=(-1, 5))
    with pytest.raises(OptionError, match=r"elastic has no parameter 'q'; its parameters are \['vp', 'vs', 'rho'\]"):
        Elastic().example((3, 3), rng, q=(1, 2))


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        (Parameter("x", "m/s", 100, 200, typical=(120, 130)), (120, 130)),
        (Parameter("x", "1", -0.2, 0.4), (-0.2, 0.4)),
        (Parameter("x", "m/s"), (1700, 2500)),
        (Parameter("x", "m/s", low=1000), (2700, 3500)),
        (Parameter("x", "furlong"), (0.05, 0.15)),
    ],
)
def test_a_parameter_has_an_interval_for_examples(parameter, expected):
    assert parameter.drawn_from == pytest.approx(expected)


# --- faults -----------------------------------------------------------------------------------------------------------


class Faulty(ReferenceExecutor):
    """The reference with a fault."""

    def __init__(self, **changes):
        self.changes = changes

    def forward(self, problem, shots, models):
        record = super().forward(problem, shots, models)
        return self.changes.get("forward", lambda r: r)(record)

    def misfit_and_gradient(self, problem, shots, models, observed):
        """Compute the gradient by a Born run for each cell."""
        residual, gradients = self.forward(problem, shots, models) - observed, []
        for i, m in enumerate(models):
            gradients.append(np.zeros_like(m))
            for cell in np.ndindex(m.shape):
                direction = [np.zeros_like(x) for x in models]
                direction[i][cell] = 1
                gradients[i][cell] = (self.born(problem, shots, models, direction) * residual).sum()
        return 0.5 * (residual**2).sum(), self.changes.get("gradient", lambda g: g)(gradients)

    def pullback(self, problem, shots, models):
        remaining = self.changes.get("late", copy.deepcopy)((shots, models))
        record = self.forward(problem, shots, models)

        def pull(cotangent):
            observed = self.forward(problem, *remaining) - cotangent
            return self.changes.get("pulled", lambda g: g)(self.misfit_and_gradient(problem, *remaining, observed)[1])

        return record, pull


def entry(**changes):
    return Entry("faulty", lambda: Faulty(**changes))


@pytest.fixture(scope="module")
def tiny():
    return case(shape=(4, 5), nt=12, pml=2, nrec=4)


@pytest.mark.parametrize(
    ("law", "changes"),
    [
        (laws.forward_equals_reference, {"forward": lambda r: r * (1 + 1e-11)}),
        (laws.forward_equals_reference, {"forward": lambda r: r * np.nan}),
        (laws.forward_equals_reference, {"forward": lambda r: r[:, 1:]}),
        (laws.forward_equals_reference, {"forward": lambda r: r.astype(np.float32)}),
        (laws.jacobian_and_adjoint, {"gradient": lambda g: [x * (1 + 1e-10) for x in g]}),
        (laws.gradient_in_every_region, {"gradient": lambda g: [np.pad(x[1:], ((1, 0), (0, 0))) for x in g]}),
        (laws.two_runs_are_identical, {"forward": lambda r: r * (1 + 1e-9 * np.random.default_rng().random())}),
        (laws.bad_input_is_refused, {}),
        (laws.pullback_is_the_gradient, {"late": lambda arguments: arguments}),
        (laws.pullback_is_the_gradient, {"pulled": lambda g: [x * (1 + 1e-10) for x in g]}),
        (laws.no_shots, {"forward": lambda r: np.zeros((1, *r.shape[1:])) if not len(r) else r}),
        (laws.no_shots, {"gradient": lambda g: [x[0] for x in g]}),
        (laws.no_shots, {"gradient": lambda g: [x + 1 for x in g]}),
        (partial(laws.known_rows_have_no_gradient, row=2), {"gradient": lambda g: [x + 1 for x in g]}),
    ],
)
def test_laws_find_faults(law, changes, tiny):
    with pytest.raises(laws.Broken, match="expected|the record|refused"):
        law(entry(**changes), tiny)


@pytest.mark.parametrize(
    "law",
    [laws.jacobian_and_adjoint, laws.gradient_in_every_region, laws.pullback_is_the_gradient, laws.no_shots],
)
def test_laws_hold_without_faults(law, tiny):
    assert law(entry(), tiny).value < 1e-13


def test_known_rows_of_an_unused_parameter_have_no_gradient(tiny):
    """A parameter of the third axis is unused in 2-D: all of its gradient is zero."""
    assert laws.known_rows_have_no_gradient(entry(gradient=lambda g: [0 * x for x in g]), tiny, row=2).value == 0


def test_reciprocity_is_checked_for_reciprocal_fields():
    class Bold(Elastic):
        name = "bold"
        reciprocal: ClassVar[tuple[str, ...]] = ("vx", "sxz")

    bold, (reference,) = case(Bold, nt=80), [Entry("reference", ReferenceExecutor)]
    assert laws.reciprocity(reference, bold, "vx").value < 1e-13
    with pytest.raises(laws.Broken, match="traces of sxz"):
        laws.reciprocity(reference, bold, "sxz")


class Modest:
    """An executor with the least of the protocol: it only models."""

    name = "modest"

    def __init__(self):
        reference = ReferenceExecutor()
        self.supports, self.forward = reference.supports, reference.forward


def test_laws_skip_missing_methods_of_an_executor():
    """The reason names the missing method. The other laws hold."""
    outcome = {}
    for name, law in programme(Acoustic, Entry("modest", Modest)):
        if name in ("bad input", "two runs", "Born", "misfit", "pullback", "no shots", "Born, known rows", "Taylor"):
            outcome[name] = judged("modest", name, law)
    lacking = {
        name: r.reason.removeprefix("modest: it has no ") for name, r in outcome.items() if r.status == "skipped"
    }
    gradient = "misfit_and_gradient"
    assert lacking == {
        **{"Born": "born", "Born, known rows": "born", "pullback": "pullback"},
        **{"misfit": gradient, "Taylor": gradient, "no shots": gradient},
    }
    assert {r.status for name, r in outcome.items() if name not in lacking} == {"held"}


def test_unsupported_dimensions_are_skipped_with_their_reason():
    class Flat(Acoustic):
        name, ndims = "flat", (2,)

    with pytest.raises(SkipTest, match=r"flat supports only \(2,\) yet"):
        runs(case(Flat, shape=(9, 9, 9)))


def test_the_end_of_the_time_is_reported(monkeypatch):
    result = list(conforms(Acoustic, [Entry("reference", ReferenceExecutor)], minutes=0.0))
    assert {r.reason for r in result} == {"time is up; --minutes gives more"}


# --- the command ------------------------------------------------------------------------------------------------------


@attrs.frozen
class Forgetful(SerialDistributor):
    """A distributor that loses the last shot."""

    def gather(self, plan, part):
        whole = super().gather(plan, part).copy()
        whole[-1] = 0
        return whole


def test_the_serial_distributor_keeps_its_laws():
    assert {r.status for r in results("sweep_core:SerialDistributor")} == {"held"}
    assert main(["sweep_core:SerialDistributor"]) == 0


@attrs.frozen
class Generous(SerialDistributor):
    """A distributor that scatters extra shots."""

    def scatter(self, plan, x):
        return np.concatenate([super().scatter(plan, x), np.ones((2, *x.shape[1:]))])


@pytest.mark.parametrize(
    ("cls", "message"),
    [(Forgetful, "gather, largest difference"), (Generous, "scatter has shape (7, 3, 2); expected (5, 3, 2)")],
)
def test_faults_of_a_distributor_are_reported(cls, message, monkeypatch, capsys):
    monkeypatch.setattr("sweep_core.distribution.Erring", cls, raising=False)
    assert main(["sweep_core.distribution:Erring"]) == 1
    printed = capsys.readouterr().out
    assert "broken  rank 0 of 1" in printed and message in printed


class Wrong:
    """Equation classes of users, each with one mistake."""

    @attrs.frozen
    class Speechless(Acoustic):
        def speed(self, vp):
            return vp.nothing

    @attrs.frozen
    class Unfit(Acoustic):
        def fits(self, vp):
            return [][7]

    @attrs.frozen
    class Nowhere(Acoustic):
        ndims: ClassVar = ()

    @attrs.frozen
    class Backwards(Acoustic):
        parameters: ClassVar = (Parameter("vp", "m/s", typical=(5, 1)),)

    @attrs.frozen
    class Vague(Acoustic):
        float32_error: ClassVar = "x"

    class Asking(Acoustic):
        def __init__(self, needed):
            super().__init__()

    MADE = Acoustic()


MESSAGES = {
    "Speechless": r"acoustic: speed\(\*parameters\) raises AttributeError",
    "Unfit": "acoustic: .* raises IndexError",
    "Nowhere": r"ndims is \(\); expected some of 1, 2 and 3",
    "Backwards": r"typical of vp is \(5, 1\); expected an interval within",
    "Vague": "float32_error is 'x'; expected a number between 0 and 1",
    "Asking": r"Asking\(\) raises TypeError: .*needed.*; expected an equation without arguments",
    "MADE": "an instance of an equation; expected its class, Acoustic",
}


@pytest.mark.parametrize(("name", "message"), MESSAGES.items(), ids=MESSAGES)
def test_mistakes_of_a_class_are_reported(name, message, monkeypatch, capsys):
    monkeypatch.setattr(errors, "Wrong", getattr(Wrong, name), raising=False)
    assert main(["sweep_core.errors:Wrong", "--backend", "reference"]) == 1
    assert re.search(f"Error: .*{message}", capsys.readouterr().err)


def test_the_reference_keeps_its_laws(capsys):
    assert main(["acoustic", "--backend", "reference", "vp=1500:4500"]) == 0
    assert "broken" not in capsys.readouterr().out.replace("0 broken", "")


WRONG = {
    "nobody": "nothing is registered as 'nobody'; expected one of the equations .*acoustic.* one of the backends .*reference",
    "acoustic vp=3": "'vp=3' is not a range; expected parameter=low:high, such as vp=1500:4500",
    "acoustic vp=3:2": "expected parameter=low:high with low <= high",
    "acoustic vp=1:inf": "expected parameter=low:high with low <= high, both finite",
    "acoustic vp=-5:5": "acoustic: range of vp is -5 to 5; expected a part of 0 to inf",
    "json:dumps": "dumps is not a distributor, and returns none .TypeError.*name a registered backend",
    "os:path": "posixpath is not a distributor",
    "sweep_core.execution.reference:ReferenceExecutor": "ReferenceExecutor returns no distributor: it lacks rank, size",
    "acoustic vs=1:2": "acoustic has no parameter 'vs'",
    "acoustic --backend nobody": "backend is 'nobody'; expected one of",
    "reference vp=1:2": "reference is not an equation",
    "sweep_core:Nobody": "sweep_core:Nobody cannot be loaded: AttributeError",
}


@pytest.mark.parametrize(("line", "message"), WRONG.items(), ids=WRONG)
def test_bad_command_lines_are_refused_by_name(line, message, capsys):
    assert main(line.split()) == 1
    assert re.search(message, capsys.readouterr().err)
