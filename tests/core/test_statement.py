"""Errors in a user's equation class are reported by name when a problem is made, for any backend."""

import numpy as np
import pytest

from sweep_core import Acoustic, AcousticVariableDensity, Field, OptionError, Parameter, make_problem
from sweep_core.discretization.array_ops import coefficients_of
from sweep_core.equations.equation import Equation
from sweep_core.equations.first_order import Contribution, DerivativeSum, StaggeredEquation


class ByHand(Equation):
    """Acoustic waves with their own step and without tables."""

    parameters, fields, coefficient_names = Acoustic.parameters, Acoustic.fields, Acoustic.coefficient_names
    levels, memories, pml_type, ndims = 2, ("psi", "zeta"), "cpmlr", (2, 3)
    coefficients, speed = Acoustic.coefficients, Acoustic.speed

    def step(self, ops, state, coefficients, inject):
        u, new, change = state["h1"], {}, 0
        for axis in ops.axes:
            decay, gain = ops.between[axis]
            psi = decay * state[f"psi_{axis}"] + gain * ops.root(u, axis)
            t = ops.d2(u, axis) + ops.root(psi, axis, transposed=True)
            zeta = ops.decay[axis] * state[f"zeta_{axis}"] + ops.gain[axis] * t
            new |= {f"psi_{axis}": psi, f"zeta_{axis}": zeta}
            change = change + coefficients[0] * (t + zeta)
        return new | {"h1": inject("h1", 2 * u - state["h1_old"] + change), "h1_old": u}

    def source_coefficient(self, field):
        return "vp2"

    def source_weight(self, field, dt, cell_volume):
        return dt**2 / cell_volume


OWN = {name: value for name, value in vars(ByHand).items() if not name.startswith(("__", "_abc"))}
LATE = Field("u", "m/s", ("t",))
VP, H1 = Parameter("vp", "m/s"), Field("h1", "Pa")
FIELDS, RATES, MODULI = (getattr(AcousticVariableDensity, name) for name in ("fields", "rates", "moduli"))


def acoustic(**changes):
    """Return an equation class like a user's; a member that is None is left out."""
    members = {name: value for name, value in ({"name": "wrong"} | OWN | changes).items() if value is not None}
    members = {name: value for name, value in members.items() if name not in ("spatial_order", "device")}
    return type("Wrong", (Equation,), members)


def step_with(change):
    """Return a step that returns `change` of (its result, the old state, inject)."""

    def step(self, ops, state, coefficients, inject):
        return change(ByHand.step(self, ops, state, coefficients, inject), state, inject)

    return {"step": step}


def without(new, key):
    return {name: value for name, value in new.items() if name != key}


WRONG = {
    **{f"no {n}": ({n: None}, f"does not state the class variable '{n}'") for n in ("name", "parameters", "fields")},
    **{f"no {n}": ({n: None}, f"does not state .* '{n}'") for n in ("coefficient_names", "levels", "memories", "ndims")},
    "parameters that are names": ({"parameters": ("vp",)}, "parameters is .*; expected a tuple of Parameter"),
    "one parameter": ({"parameters": VP}, "parameters is .*; expected a tuple of Parameter"),
    "bounds reversed": ({"parameters": (Parameter("vp", "", 3, 1),)}, r"interval of vp is \(3, 1\); expected low < high"),
    "no bound": ({"parameters": (Parameter("vp", "", low=None),)}, "interval of vp is .None, inf, None.; expected numbers"),
    "one typical": ({"parameters": (Parameter("vp", "", typical=5),)}, r"vp is \(0.0, inf, 5\); .* typical=\(low, high\)"),
    "typical outside": ({"parameters": (Parameter("vp", "", typical=(-5, 3)),)}, "typical of vp is .* within 0..inf"),
    "one name": ({"coefficient_names": "vp2"}, "coefficient_names is 'vp2'; expected a tuple of names"),
    "misspelt memories": ({"memories": ("psi", "zet")}, r"step reads 'zeta_0' of the state; .*'zet_0'"),
    "missing memories": ({"memories": ()}, r"step reads 'psi_0' .* \['h1', 'h1_old'\]"),
    "too few levels": ({"levels": 1}, "step reads 'h1_old'"),
    "too many levels": ({"levels": 3}, "levels is 3; expected 1 or 2"),
    "no tuple of dimensions": ({"ndims": 2}, r"ndims is 2; expected some of 1, 2 and 3"),
    "two fields of a name": ({"fields": (H1, H1)}, "fields is .*; expected each name once"),
    "unknown stagger": ({"fields": (Field("h1", "", ("w",)),)}, r"stagger of h1 is \('w',\)"),
    "no stagger": ({"fields": (Field("h1", "", 5),)}, "stagger of h1 is 5; expected some of"),
    "no parity": ({"fields": (Field("h1", "", parity=0),)}, "parity of h1 is 0; expected -1 or 1, or 0"),
    "no sign": ({"fields": (Field("h1", "", source_sign=0),)}, "source_sign of h1 is 0; expected 1, or -1 for a stress"),
    "a field nowhere": ({"fields": (Field("h1", "", ndims=(4,)),)}, r"ndims of h1 is \(4,\)"),
    "no field here": ({"fields": (Field("h1", "", ndims=(3,)),)}, "no field in 2 dimensions"),
    "reciprocal": ({"reciprocal": ("h9",)}, r"reciprocal is \('h9',\); expected some of \['h1'\]"),
    "two coefficients": ({"coefficients": lambda s, m, vp: (vp, vp)}, r"2 values; expected a tuple of 1: \['vp2'\]"),
    "a bare coefficient": ({"coefficients": lambda s, m, vp: vp}, "coefficients gives ndarray; expected a tuple"),
    "arguments": ({"coefficients": lambda s, m: ()}, "coefficients.* raises TypeError"),
    "a cropped coefficient": ({"coefficients": lambda s, m, vp: (vp[1:],)}, r"coefficient 'vp2' gives \(5, 6\)"),
    "no such axis": ({"coefficients": lambda s, m, vp: (m.mean(vp, "y"),)}, r"axis of a mean is 'y'; expected one of \('z', 'x'\)"),
    "source's coefficient": ({"source_coefficient": lambda s, f: "vp3"}, "'vp3'; expected None or one of .'vp2'"),
    "source's weight": ({"source_weight": lambda s, f, dt, v: None}, "source_weight.* raises TypeError"),
    "a cropped speed": ({"speed": lambda s, vp: vp[1:]}, r"speed gives \(5, 6\); expected an array of .* \(6, 6\)"),
    "one speed": ({"speed": lambda s, vp: 2000.0}, "speed gives float; expected an array"),
    "fits": ({"fits": lambda s, vp: vp[1:] > 0}, r"fits gives \(5, 6\); expected True, or an array"),
    "no speed": ({"speed": lambda s, vp: 0 * vp}, "speed gives 0 for admissible parameters; expected finite values above 0"),
    "a speed of NaN": ({"speed": lambda s, vp: np.sqrt(-vp)}, "speed gives nan for admissible parameters"),
    "a coefficient of NaN": ({"coefficients": lambda s, m, vp: (vp * np.nan,)}, "'vp2' gives nan .* expected finite values"),
    "out of its range": (
        {"coefficients": lambda s, m, vp: (-vp,), "coefficient_ranges": {"vp2": "not negative"}},
        r"coefficient 'vp2' gives -\d+.* for admissible parameters; expected finite values from 0 on",
    ),
    "a number for a name": ({"name": 3}, "name is 3; expected a word, such as 'acoustic'"),
    "an empty name": ({"name": ""}, "name is ''; expected a word"),
    "never fits": ({"fits": lambda s, vp: False}, "fits gives bool; expected True, or an array"),
    "derived nothing": ({"derived": lambda s, n: None}, r"derived\(ndim\) gives NoneType; expected a dict"),
    "derived of what": ({"derived": lambda s, n: {"p": {"h9": 1.0}}}, "derived 'p' gives .*'h9'.*; expected a weight"),
    "derived times": ({"fields": (H1, LATE), "derived": lambda s, n: {"p": {"h1": 1, "u": 1}}}, "p.*known at the same times"),
    "derived list": ({"derived": lambda s, n: {"p": ["h1"]}}, "derived 'p' gives .*; expected a weight"),
    "derived field": ({"derived": lambda s, n: {"h1": {"h1": 2.0}}}, "'h1', which is a field; expected another name"),
    "a key less": (step_with(lambda new, *_: without(new, "psi_1")), r"new state of step lacks \['psi_1'\]"),
    "a key more": (step_with(lambda new, *_: new | {"h2": new["h1"]}), r"new state of step has the extra \['h2'\]"),
    "nothing": (step_with(lambda *_: None), "step gives NoneType; expected the new state"),
    "a number": (step_with(lambda new, *_: new | {"psi_0": 0.0}), "new state 'psi_0' gives float"),
    "a cropped state": (step_with(lambda new, *_: new | {"psi_0": new["psi_0"][:, 1:]}), r"'psi_0' gives \(1, 5, 6\)"),
    "another key": (step_with(lambda new, old, _: {"h1": old["h2"]}), "step reads 'h2' of the state"),
    "another field": (step_with(lambda new, old, inject: inject("h2", 0)), "inject with 'h2'; expected one of the fields"),
    "a changed state": (step_with(lambda new, old, _: old.update(new) or new), "step changes the state of its argument"),
    "a lost source": (step_with(lambda new, old, _: new | {"h1": old["h1"]}), r"step drops the result of inject\('h1', ...\)"),
    "sources twice": (step_with(lambda new, old, inject: new | {"h1": inject("h1", new["h1"])}), "2 times; expected once"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_reported_by_name(case):
    changes, message = WRONG[case]
    with pytest.raises(OptionError, match=f"(?i)^wrong.*{message}"):
        make_problem(acoustic(**changes)(), (12, 14), 10.0, 0.001)


STAGGERED = {
    "a rate twice": ({"rates": (*RATES, RATES[0])}, "rates state the rate 'ax' twice"),
    "a derivative twice": ({"rates": (*RATES, DerivativeSum("again", RATES[0].terms))}, r"\('D', 'x', 'p'\) twice"),
    "no DerivativeSum": ({"rates": (("x", "p"),)}, r"rates holds \('x', 'p'\); expected DerivativeSum"),
    "one rate": ({"rates": RATES[0]}, "rates is DerivativeSum.*; expected a tuple of DerivativeSum"),
    "no pairs": (
        {"rates": (DerivativeSum("ax", ("x", "p")), *RATES[1:])},
        r"terms of ax is \('x', 'p'\); expected a tuple of \(axis, field\)",
    ),
    "a tuple of sources": ({"source_coefficients": ("p",)}, r"source_coefficients is \('p',\); expected a dict"),
    "no sign": ({"rates": (DerivativeSum("ax", RATES[0].terms, 0), *RATES[1:])}, "sign of .* is 0; expected 1 or -1"),
    "coefficients": ({"coefficients": lambda s, m, vp, rho: (vp,)}, "1 values; expected a tuple of 3"),
    "source": ({"source_coefficients": {"p": "kapa"}}, "the coefficient in source_coefficients is 'kapa'"),
    "a rate of two stages": (
        {"fields": (*FIELDS, Field("q", "", ("t",), order=0)), "moduli": (*MODULI, Contribution("q", "e"))},
        r"rate 'e' changes \['p', 'q'\]; expected fields of one stage",
    ),
}


@pytest.mark.parametrize("case", STAGGERED)
def test_mistakes_in_tables_are_reported_by_name(case):
    changes, message = STAGGERED[case]
    wrong = type("Wrong", (AcousticVariableDensity,), {"name": "wrong", **changes})
    with pytest.raises(OptionError, match=f"^wrong: .*{message}"):
        make_problem(wrong(), (12, 14), 10.0, 0.001)


def test_missing_tables_are_named():
    class Bare(StaggeredEquation):
        name, parameters, fields, coefficient_names = "bare", (VP,), (Field("p", "Pa"),), ("k",)

        def coefficients(self, node_averages, vp):
            return (vp,)

        def speed(self, vp):
            return vp

    with pytest.raises(OptionError, match="Bare does not state the class variable 'rates'"):
        make_problem(Bare(), (12, 14), 10.0, 0.001)


@pytest.mark.parametrize("library", ["numpy", "torch", "jax.numpy"])
def test_a_coefficient_may_be_a_number(library):
    xp = pytest.importorskip(library)
    problem = make_problem(acoustic(coefficients=lambda s, m, vp: (4.0,))(), (12, 14), 10.0, 0.001)
    (result,) = coefficients_of(problem, [2000 * xp.ones((12, 14))], 1, xp, None)
    assert tuple(result.shape) == (1, *problem.padded_shape) and bool((result == 4).all())


def test_a_class_is_checked_once_at_each_order():
    """The test counts the trial steps: two at each order, none for each problem."""
    steps = []

    def count(new, *_):
        steps.append(1)
        return new

    cls = acoustic(**step_with(count))
    for n in (20, 21, 22):
        for order in (2, 4):
            make_problem(cls(spatial_order=order), (n, n), 10.0, 0.001)
    assert len(steps) == 4


def test_a_correct_class_passes():
    assert make_problem(acoustic()(), (12, 14), 10.0, 0.001).equation.speed(np.ones(3)).shape == (3,)
