"""certify passes sound set-ups and finds planted mistakes."""

import numpy as np
import pytest
from certified import sound

from sweep_core import (
    AcousticVariableDensity,
    BoundaryOptions,
    CkptOptions,
    Elastic,
    MemoryOptions,
    Shots,
    StabilityError,
    SweepError,
    ricker,
)
from sweep_core.certify import certify

ELASTIC = {"equation": Elastic, "source_type": ["vz"], "receiver_type": ["vx", "vz"]}
SOUND = {
    "acoustic": {},
    "acoustic, eager": {"impl": "eager"},
    "acoustic, float64": {"dtype": "float64", "order": 8},
    "acoustic, order 2 of a fine grid": {"order": 2, "dh": 5.0, "dt": 1e-3},
    "variable density": {"equation": AcousticVariableDensity, "receiver_type": ["p", "vx"]},
    "variable density, float64, free surface": {
        "equation": AcousticVariableDensity,
        "dtype": "float64",
        "free_surface": True,
    },
    "elastic": ELASTIC,
    "elastic, float64, free surface": {**ELASTIC, "dtype": "float64", "free_surface": True},
    "elastic, p of an explosion": {"equation": Elastic, "source_type": ["sxx", "szz"], "receiver_type": ["p"]},
    "3-D": {"shape": (16, 18, 26)},
    "3-D, elastic": {**ELASTIC, "shape": (16, 18, 26)},
    "free surface": {"free_surface": True},
    "between nodes": {"between": True},
    "between nodes, free surface, elastic": {**ELASTIC, "between": True, "free_surface": True},
    "chunks": {"memory": MemoryOptions("ckpt", ckpt=CkptOptions(chunks=5))},
    "recursive": {"memory": MemoryOptions("ckpt", ckpt=CkptOptions("recursive"))},
    "boundary": {"memory": MemoryOptions("boundary"), "impl": "c"},
    "boundary of int8": {"memory": MemoryOptions("boundary", boundary=BoundaryOptions(dtype="int8")), "impl": "c"},
    "bfloat16": {"memory": MemoryOptions("full", dtype="bfloat16"), "impl": "c"},
    "every other step": {"memory": MemoryOptions("full", interval=2), "impl": "c"},
    "known rows": {"memory": MemoryOptions(known_above=20)},
    "edges as given": {"edge_gradient": "interior"},
    "edges as given, elastic": {**ELASTIC, "edge_gradient": "interior"},
    "no time dispersion": {"time_dispersion": "corrected"},
    "increments": {"source_scaling": "increment"},
    "JAX": {"framework": "jax"},
    "JAX, eager, float64": {"framework": "jax", "impl": "eager", "dtype": "float64"},
    "JAX, elastic": {**ELASTIC, "framework": "jax", "dtype": "float64"},
}


def example(**options):
    pytest.importorskip(options.get("framework", "torch"))
    return sound(**options)


def certify_or_skip(call):
    """Return the certificate, or skip the test if it needs compiled code and there is none."""
    try:
        return call.certify()
    except SweepError as reason:
        if "impl='c' cannot" in str(reason):
            pytest.skip(str(reason))
        raise


def masked(call):
    mask = np.arange(36).reshape(2, 18) % 3 > 0
    receivers = np.stack([call.arguments["receivers"]] * 2)
    receivers[~mask] = -99
    call.arguments.update(receivers=receivers, receiver_mask=mask)


def an_earth_each(call):
    call.arguments["models"] = [np.stack([m, 1.03 * m]) for m in call.arguments["models"]]


def a_pair_of_sources(call):
    sources, wavelet = call.arguments["sources"], call.arguments["wavelet"]
    call.arguments["sources"] = np.stack([sources, sources + 3], axis=1)
    call.arguments["wavelet"] = np.stack([wavelet, -0.7 * wavelet] * 2).reshape(2, 2, -1)


def wavelets_by_field(call):
    wavelet = call.arguments["wavelet"]
    call.arguments["wavelet"] = np.stack([wavelet, 0.5 * wavelet], axis=-1)


def small_integers(call):
    call.arguments.update({name: call.arguments[name].astype(np.uint8) for name in ("sources", "receivers")})


def sea(call):
    vp, vs, rho = (m.copy() for m in call.arguments["models"])
    vp[:12], vs[:12], rho[:12] = 1500, 0, 1000
    call.arguments["models"] = [vp, vs, rho]


SURVEYS = {
    "ragged": (masked, {}),
    "an earth for each shot": (an_earth_each, ELASTIC),
    "two sources a shot": (a_pair_of_sources, {}),
    "a wavelet for each field": (wavelets_by_field, {**ELASTIC, "source_type": ["sxx", "szz"]}),
    "positions in eight bits": (small_integers, {"free_surface": True}),
    "a sea": (sea, {**ELASTIC, "source_type": ["sxx", "szz"], "receiver_type": ["p"], "free_surface": True}),
}


@pytest.mark.parametrize(("plant", "setting"), SURVEYS.values(), ids=SURVEYS)
def test_sound_surveys_pass(plant, setting):
    call = example(**setting)
    plant(call)
    certificate = call.certify(observed=1.2 * call.record())
    assert not certificate.doubts and not certificate.untested, str(certificate)


def test_a_long_call_is_checked_on_an_excerpt():
    call = example(shape=(60, 90), free_surface=True)
    certificate = call.certify(observed=call.record(), budget=5e5)
    assert any("the whole model would take long" in excerpts for excerpts in certificate.excerpts) and certificate, str(
        certificate
    )
    few = call.certify(budget=3e6)
    assert any("shot 0 of 2 on the whole model" in excerpts for excerpts in few.excerpts)


@pytest.mark.parametrize("options", SOUND.values(), ids=SOUND)
def test_sound_set_ups_pass(options):
    certificate = certify_or_skip(example(**options))
    assert not certificate.doubts, str(certificate)
    assert certificate and {"reference", "dot product", "range of the gradient"} <= {
        f.name for f in certificate.findings
    }
    untested = {name for name, _ in certificate.untested}
    lossy = options.get("memory", MemoryOptions()).dtype == "bfloat16" or "int8" in str(options.get("memory"))
    assert untested == ({"Taylor test", "finite difference"} if lossy else set())


# --- planted mistakes -------------------------------------------------------------------------------------------------


class Stranger:
    """Torch's executor with a mistake planted in its results."""

    name = "stranger"

    def __init__(self, record=lambda x: x, born=lambda x: x, gradient=lambda g: g):
        from sweep_torch.executor import TorchExecutor

        self.inner, self.change = TorchExecutor(), (record, born, gradient)
        self.supports = self.inner.supports

    def forward(self, *call):
        return self.change[0](self.inner.forward(*call))

    def born(self, *call):
        return self.change[1](self.inner.born(*call))

    def misfit_and_gradient(self, problem, shots, models, observed):
        misfit, gradient = self.inner.misfit_and_gradient(problem, shots, models, observed)
        return misfit, [self.change[2](g.clone()) for g in gradient]


def shifted(g):
    return g.roll(1, 0)


def without_edges(g):
    g[:, -1] = g[:, 0] = 0
    return g


WRONG_CODE = {
    "an adjoint a percent too large": (
        {"gradient": lambda g: 1.01 * g},
        {"dot product", "Taylor test", "finite difference"},
    ),
    "an adjoint of the other sign": ({"gradient": lambda g: -g}, {"dot product", "Taylor test", "finite difference"}),
    "an adjoint a cell off": ({"gradient": shifted}, {"dot product", "Taylor test", "finite difference"}),
    "no gradient in edge cells": ({"gradient": without_edges}, {"dot product", "Taylor test"}),
    "a Jacobian and its transpose of another problem": (
        {"born": lambda x: 1.01 * x, "gradient": lambda g: 1.01 * g},
        {"Taylor test", "finite difference"},
    ),
    "a Born run of another problem": ({"born": lambda x: 1.01 * x}, {"dot product"}),
    "waves five percent too weak": ({"record": lambda x: 0.95 * x}, {"reference"}),
    "a record one sample late": ({"record": lambda x: x.roll(1, 1)}, {"reference"}),
    "a record of NaN": ({"record": lambda x: x * float("nan")}, {"reference", "finite record"}),
}


@pytest.mark.parametrize(("planted", "expected"), WRONG_CODE.values(), ids=WRONG_CODE)
def test_wrong_code_is_found(planted, expected):
    call = example()
    arguments = {name: np.asarray(x) for name, x in call.placed().items() if name != "models"}
    certificate = certify(
        Stranger(**planted), call.solver().problem, Shots(**arguments), [np.asarray(m) for m in call.placed()["models"]]
    )
    assert {f.name for f in certificate.doubts if f.verdict == "wrong"} >= expected, str(certificate)
    assert not certificate


def test_the_same_code_without_a_mistake_passes():
    call = example()
    arguments = {name: np.asarray(x) for name, x in call.placed().items() if name != "models"}
    models = [np.asarray(m) for m in call.placed()["models"]]
    certificate = certify(Stranger(), call.solver().problem, Shots(**arguments), models)
    assert not certificate.doubts, str(certificate)


def changed(**values):
    """Return a plant that changes each named argument of the call by its function."""

    def plant(call):
        for name, change in values.items():
            call.arguments[name] = change(call.arguments.get(name))
        return {}

    return plant


def options(**values):
    def plant(call):
        call.options.update(values)
        return {}

    return plant


def observed(change):
    """Return a plant of observed data: the modelled record, changed."""
    return lambda call: {"observed": np.ascontiguousarray(change(call.record()), call.dtype)}


def slower(call):
    """Plant data of an earth much faster than the start."""
    models = call.arguments["models"]
    call.arguments["models"] = [1.12 * m for m in models]
    record = call.record()
    call.arguments["models"] = [0.85 * m for m in models]
    return {"observed": record}


def water_alone(call):
    """Plant data of rock under water, and a start of almost only water, which fits the direct wave."""
    vp = np.full(call.options["shape"], 3000.0)
    vp[:14] = 1500
    call.arguments["models"] = [vp]
    record = call.record()
    call.arguments["models"] = [np.minimum(vp, 1510)]
    return {"observed": record}


def later(samples):
    return lambda d: np.concatenate([0 * d[:, :samples], d[:, :-samples]], axis=1)


def with_nan(d):
    d[0, 5, 3] = np.nan
    return d


def silenced(d):
    d[:, :, :4] = 0
    return d


def turned(models):
    return [m.T + 0.05 * m for m in models]


def a_push(w):
    t = (np.arange(len(w)) - 90) / 18
    return 1e4 * np.exp(-(t**2))


def in_g_per_cm3(models):
    return [*models[:-1], models[-1] / 1000]


NT, DT = 340, 1.5e-3
SQUARE = {"shape": (48, 48)}
SIDEWAYS = np.stack([np.full(18, 2), np.arange(2, 38, 2)], axis=1)
# name: (plant, name of the finding, its verdict, options of the set-up)
MISTAKES = {
    "too coarse a grid": (options(dh=30.0), "cells a wavelength", "wrong", {}),
    "a grid too coarse for shear waves": (changed(models=lambda m: [m[0], m[1] / 2, m[2]]), "cells a wavelength", "wrong", ELASTIC),
    "a grid a little too coarse": (options(dh=21.0), "cells a wavelength", "doubtful", {}),
    "a coarse time step": (lambda call: call.options.update(dh=40.0, dt=8e-3) or call.arguments.update(wavelet=1e4 * ricker(10.0, 200, 8e-3)) or {}, "time step", "wrong", {"order": 16}),
    "a time step far too small": (options(dt=5e-5), "time step", "doubtful", {}),
    "km/s": (lambda call: call.arguments.update(models=[m / 1e3 for m in call.arguments["models"]]) or call.options.update(dh=0.01) or {}, "unit of vp", "wrong", {}),
    "mm/s": (lambda call: call.arguments.update(models=[m * 1e3 for m in call.arguments["models"]]) or call.options.update(dh=1e4) or {}, "unit of vp", "doubtful", {}),
    "g/cm3": (changed(models=in_g_per_cm3), "unit of rho", "wrong", {"equation": AcousticVariableDensity}),
    "a wavelet of zeros": (changed(wavelet=lambda w: 0 * w), "wavelet", "wrong", {}),
    "one shot without a wavelet": (changed(wavelet=lambda w: np.stack([w, 0 * w])), "wavelet", "doubtful", {}),
    "a wavelet that begins at its peak": (changed(wavelet=lambda w: np.roll(w, -100)), "wavelet's beginning", "wrong", {}),
    "a wavelet that is cut off": (changed(wavelet=lambda w: 1e4 * ricker(10.0, NT, DT, delay=(NT - 1) * DT)), "wavelet's end", "wrong", {}),
    "a push": (changed(wavelet=a_push), "zero frequency", "doubtful", {}),
    "a spike": (changed(wavelet=lambda w: 1e4 * (np.arange(len(w)) == 20)), "above the grid", "wrong", {}),
    "too few time steps": (changed(wavelet=lambda w: 1e4 * ricker(30.0, 90, DT)), "heard", "doubtful", {}),
    "no time at all": (changed(wavelet=lambda w: w[:3]), "heard", "wrong", {}),
    "all receivers masked": (changed(receiver_mask=lambda _: np.zeros((2, 18), bool)), "heard", "wrong", {}),
    "sources where the field is zero outside": (changed(sources=lambda s: 0 * s), "positions", "doubtful", {"pml_width": 0}),
    "positions in kilometres": (changed(receivers=lambda r: r / 100.0, sources=lambda s: s / 100.0), "positions", "doubtful", {}),
    "an absorption that is off": (options(pml_velocity=3.0), "absorption", "wrong", {}),
    "a layer of one cell": (options(pml_width=1), "absorption", "wrong", {}),
    "a layer that turns waves of all frequencies": (options(pml_freq=1e4), "absorption", "wrong", ELASTIC),
    "a unit wavelet in an elastic solid": (changed(wavelet=lambda w: w / w.max()), "Adam's epsilon", "doubtful", ELASTIC),
    "waves too weak for float32": (changed(wavelet=lambda w: 1e-8 * w / w.max()), "range of the gradient", "wrong", ELASTIC),
    "waves too strong for float32": (changed(wavelet=lambda w: 1e20 * w), "range of the gradient", "wrong", {}),
    "a model that lies on its side": (changed(models=turned), "x and z", "doubtful", SQUARE),
    "positions as (z, x)": (changed(receivers=lambda _: SIDEWAYS, sources=lambda s: s[:, ::-1].copy()), "x and z", "doubtful", {}),
    "a start that skips cycles": (slower, "cycle skipping", "wrong", {"shape": (40, 110)}),
    "a start of water alone": (water_alone, "cycle skipping", "wrong", {"shape": (40, 110), "receiver_type": ["h1"]}),
    "data of the other sign": (observed(lambda d: -d), "sign of the data", "wrong", {}),
    "data with a delay": (observed(later(16)), "delay of the data", "doubtful", {}),
    "data with a long delay": (observed(later(60)), "delay of the data", "wrong", {}),
    "data in other units": (observed(lambda d: 1000 * d), "energy", "wrong", {}),
    "data ten times too weak, vx alone": (observed(lambda d: d * np.array([0.05, 1])), "energy", "wrong", ELASTIC),
    "data with receivers before time": (observed(lambda d: d.transpose(0, 2, 1, 3)), "shape of the data", "wrong", {}),
    "data without the axis of fields": (observed(lambda d: d[..., 0]), "shape of the data", "wrong", {}),
    "data with a NaN": (observed(with_nan), "values of the data", "wrong", {}),
    "data with dead traces": (observed(silenced), "dead traces", "doubtful", {}),
    "data of silence": (observed(lambda d: 0 * d), "energy", "wrong", {}),
}  # fmt: skip


_unplanted: dict = {}


def unplanted(**setting) -> set[str]:
    """Return the doubts about a set-up without a mistake and data that fit it."""
    key = repr(setting)
    if key not in _unplanted:
        call = example(**setting)
        _unplanted[key] = {f.name for f in call.certify(observed=call.record()).doubts}
    return _unplanted[key]


@pytest.mark.parametrize(("plant", "name", "verdict", "setting"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_found(plant, name, verdict, setting):
    call = example(**setting)
    certificate = call.certify(**plant(call))
    result = certificate[name]
    assert name not in unplanted(**setting)
    assert result.verdict == verdict and result.advice and result in certificate.doubts, str(certificate)
    assert bool(certificate) is all(f.verdict != "wrong" for f in certificate.findings)
    assert result.advice.split()[0] in str(certificate)


@pytest.mark.parametrize("setting", [{"order": 8}, {"equation": AcousticVariableDensity}], ids=["acoustic", "density"])
def test_the_echo_of_a_layer_agrees_with_theory(setting):
    """The echo is exp(-2 cos(angle) / c times the integral of d) far above pml_freq. The layer damps little:
    its end, 20 cells beyond the edge, reflects the rest.
    """
    call = example(pml_width=20, pml_velocity=100.0, pml_freq=1e-3, **setting)
    value, way = call.certify()["absorption"].value, np.hypot(52, 6)
    speed = call.arguments["models"][0].max()
    layer = call.solver().problem.cpml.reflection(20) ** (100 / speed * 52 / way)
    spread = (np.hypot(12, 6) / way) ** 0.5
    assert value == pytest.approx(layer * spread, rel=0.15)


def test_a_lens_in_a_wide_model_does_not_lie_on_its_side():
    call = example(shape=(30, 150))
    z, x = np.mgrid[:30, :150]
    call.arguments["models"] = [2000.0 + 300 * np.exp(-((z - 15) ** 2 + (x - 75) ** 2) / 50)]
    assert call.certify()["x and z"].verdict == "good"


def test_data_of_the_other_sign_give_one_doubt():
    """Their delay is zero, as for the same traces of the right sign."""
    call = example()
    certificate = call.certify(observed=-1.1 * call.record())
    assert [f.name for f in certificate.doubts] == ["sign of the data"]
    assert certificate["delay of the data"].measured.startswith(
        "the median is 0 ms; the middle half of the traces spans 0 ms"
    )


def test_data_that_fit_pass():
    call = example()
    certificate = call.certify(observed=call.record())
    assert not certificate.doubts, str(certificate)


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_certify_refuses_an_unstable_call(framework):
    call = example(framework=framework)
    call.options["dt"] = 6e-3
    with pytest.raises(StabilityError, match="largest stable dt"):
        call.certify()
