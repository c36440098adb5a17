"""The laws that travel with the package: they hold where they should, see what is wrong, and draw what is admissible."""

from typing import ClassVar
from unittest import SkipTest

import attrs
import numpy as np
import pytest

from sweep_core import Acoustic, Elastic, OptionError, Parameter, SerialDistributor, equations
from sweep_core.reference import ReferenceExecutor
from sweep_core.testing import laws
from sweep_core.testing.__main__ import main, results
from sweep_core.testing.cases import case
from sweep_core.testing.entries import Entry, runs
from sweep_core.testing.programme import conforms


@pytest.mark.parametrize("cls", equations().values(), ids=equations())
@pytest.mark.parametrize("shape", [(6, 7), (5, 6, 7), (2, 6, 7)], ids=str)
def test_examples_are_admissible_and_rough(cls, shape):
    models = cls().example(shape, np.random.default_rng(0))
    assert all(m.shape == shape and m.dtype == np.float64 and len(np.unique(m)) == m.size for m in models)
    assert np.all(cls().admits(*models))


def test_examples_keep_ranges_and_fit_together():
    """Ranges in which most pairs do not fit."""
    vp, vs, _ = Elastic().example((20, 20), np.random.default_rng(0), vp=(1000, 2000), vs=(900, 1700))
    assert vp.min() >= 1000 and vp.max() < 2000 and vs.min() >= 900 and np.all(3 * vp**2 > 4 * vs**2)


def test_examples_that_cannot_be_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(OptionError, match=r"elastic: of 1000 draws .* none was admissible in some cells \(vp > sqrt"):
        Elastic().example((3, 3), rng, vp=(1000, 1100), vs=(1000, 1100))
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
def test_what_a_parameter_is_drawn_from(parameter, expected):
    assert parameter.drawn_from == pytest.approx(expected)


# --- what laws see ----------------------------------------------------------------------------------------------------


class Faulty(ReferenceExecutor):
    """The reference with a fault."""

    def __init__(self, **changed):
        self.changed = changed

    def forward(self, problem, shots, models):
        record = super().forward(problem, shots, models)
        return self.changed.get("forward", lambda r: r)(record)

    def misfit_and_gradient(self, problem, shots, models, observed):
        """By complex step, cell after cell."""
        residual, gradients = self.forward(problem, shots, models) - observed, []
        for i, m in enumerate(models):
            gradients.append(np.zeros_like(m))
            for cell in np.ndindex(m.shape):
                direction = [np.zeros_like(x) for x in models]
                direction[i][cell] = 1
                gradients[i][cell] = (self.born(problem, shots, models, direction) * residual).sum()
        return 0.5 * (residual**2).sum(), self.changed.get("gradient", lambda g: g)(gradients)


def entry(**changed):
    return Entry("faulty", lambda: Faulty(**changed))


@pytest.fixture(scope="module")
def tiny():
    return case(shape=(4, 5), nt=12, pml=2, nrec=4)


@pytest.mark.parametrize(
    ("law", "changed"),
    [
        (laws.forward_equals_reference, {"forward": lambda r: r * (1 + 1e-11)}),
        (laws.forward_equals_reference, {"forward": lambda r: r * np.nan}),
        (laws.forward_equals_reference, {"forward": lambda r: r[:, 1:]}),
        (laws.forward_equals_reference, {"forward": lambda r: r.astype(np.float32)}),
        (laws.jacobian_and_adjoint, {"gradient": lambda g: [x * (1 + 1e-10) for x in g]}),
        (laws.gradient_in_every_region, {"gradient": lambda g: [np.pad(x[1:], ((1, 0), (0, 0))) for x in g]}),
        (laws.two_runs_are_identical, {"forward": lambda r: r * (1 + 1e-9 * np.random.default_rng().random())}),
        (laws.bad_input_is_refused, {}),
    ],
)
def test_laws_see_faults(law, changed, tiny):
    with pytest.raises(laws.Broken, match="expected|the record|refused"):
        law(entry(**changed), tiny)


@pytest.mark.parametrize("law", [laws.jacobian_and_adjoint, laws.gradient_in_every_region])
def test_laws_hold_where_nothing_is_wrong(law, tiny):
    assert law(entry(), tiny).value < 1e-13


def test_reciprocity_is_asked_of_the_fields_that_promise_it():
    class Bold(Elastic):
        name = "bold"
        reciprocal: ClassVar[tuple[str, ...]] = ("vx", "sxz")

    bold, (reference,) = case(Bold, nt=80), [Entry("reference", ReferenceExecutor)]
    assert laws.reciprocity(reference, bold, "vx").value < 1e-13
    with pytest.raises(laws.Broken, match="traces of sxz"):
        laws.reciprocity(reference, bold, "sxz")


def test_what_an_equation_does_not_support_is_skipped_with_its_reason():
    class Flat(Acoustic):
        name, ndims = "flat", (2,)

    with pytest.raises(SkipTest, match=r"flat is supported in \(2,\) dimensions"):
        runs(case(Flat, shape=(9, 9, 9)))


def test_time_that_is_up_is_said(monkeypatch):
    found = list(conforms(Acoustic, [Entry("reference", ReferenceExecutor)], minutes=0.0))
    assert {r.reason for r in found} == {"time is up; --minutes gives more"}


# --- the command ------------------------------------------------------------------------------------------------------


@attrs.frozen
class Forgetful(SerialDistributor):
    """Loses what belongs to the last shot."""

    def gather(self, plan, part):
        whole = super().gather(plan, part).copy()
        whole[-1] = 0
        return whole


def test_distributors():
    assert {r.status for r in results("sweep_core:SerialDistributor")} == {"held"}
    assert main(["sweep_core:SerialDistributor"]) == 0


def test_a_distributor_that_errs(monkeypatch, capsys):
    monkeypatch.setattr("sweep_core.distribution.Forgetful", Forgetful, raising=False)
    assert main(["sweep_core.distribution:Forgetful"]) == 1
    printed = capsys.readouterr().out
    assert "broken  rank 0 of 1" in printed and "gather, largest difference" in printed


def test_the_reference_keeps_its_laws(capsys):
    assert main(["acoustic", "--backend", "reference", "vp=1500:4500"]) == 0
    assert "broken" not in capsys.readouterr().out.replace("0 broken", "")


WRONG = {
    "nobody": "nothing is registered as 'nobody'; there are the equations .*acoustic.* and the backends .*reference",
    "acoustic vp=3": "'vp=3' is not a range; expected parameter=low:high, such as vp=1500:4500",
    "acoustic vp=3:2": "expected parameter=low:high with low <= high",
    "acoustic vs=1:2": "acoustic has no parameter 'vs'",
    "acoustic --backend nobody": "no backend is called 'nobody'",
    "reference vp=1:2": "reference is no equation",
    "sweep_core:Nobody": "sweep_core:Nobody cannot be loaded: AttributeError",
}


@pytest.mark.parametrize(("line", "message"), WRONG.items(), ids=WRONG)
def test_what_cannot_be_asked_is_refused_by_name(line, message, capsys):
    import re

    assert main(line.split()) == 1
    assert re.search(message, capsys.readouterr().err)
