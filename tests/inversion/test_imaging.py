"""Images show reflectors at their places, with their signs, without smooth parts. A least-squares image has the size
of the perturbation.
"""

from functools import cache

import attrs
import numpy as np
import pytest
from inverting import on_ranks
from scipy.ndimage import gaussian_filter

from sweep_core import (
    Acoustic,
    AcousticVariableDensity,
    DomainError,
    DtypeError,
    OptionError,
    ShapeError,
    Shots,
    StabilityError,
    UnsupportedError,
    make_problem,
    ricker,
)
from sweep_core.execution.reference import ReferenceExecutor
from sweep_core.inversion import Objective, least_squares_migrate, migrate
from sweep_core.processing import bandpass

torch = pytest.importorskip("torch")
from sweep_torch import PropTorch  # noqa: E402
from sweep_torch.executor import TorchExecutor  # noqa: E402

SHAPE, DH, DT, NT = (60, 80), 10.0, 0.002, 420
SMOOTH, RHO = np.full(SHAPE, 2000, np.float32), np.full(SHAPE, 1000, np.float32)
SOURCES = np.stack([np.arange(4, 80, 12), np.full(7, 2)], axis=1)
RECEIVERS = np.stack([np.arange(0, 80, 2), np.full(40, 3)], axis=1)
WAVELET = 1e3 * ricker(12.0, NT, DT)  # 17 cells long at 2000 m/s
VOLUME = np.cumsum(WAVELET) * DT / 1000.0  # drives variable density to the same waves
MIDDLE = slice(20, 60)  # columns with sources on both sides


@cache
def solver(equation=Acoustic, make=PropTorch, **options):
    return make(equation(spatial_order=8), SHAPE, DH, DT, pml_width=12, **options)


def shots_of(equation, dtype=np.float32):
    return Shots((WAVELET if equation is Acoustic else VOLUME).astype(dtype), SOURCES, RECEIVERS)


def earth(equation, vp=SMOOTH, rho=RHO):
    return [vp] if equation is Acoustic else [vp, rho]


def record(equation, models):
    prop = solver(equation)
    return prop.executor.forward(prop.problem, shots_of(equation), models).numpy()


def reflections(equation, vp=SMOOTH, rho=RHO):
    return record(equation, earth(equation, vp, rho)) - record(equation, earth(equation))


def image(equation, observed, vp=SMOOTH, function=migrate, example=None, **options):
    shots = shots_of(equation)
    arguments = shots.wavelet, SOURCES, RECEIVERS, observed, earth(equation, vp)
    return function(example or solver(equation), *arguments, **options)


DEPTHS = {"flat": np.full(SHAPE[1], 35.0), "dipping": 25 + 0.2 * np.arange(SHAPE[1])}


@cache
def layer(depth="flat", change=200.0):
    """Return the smooth earth with a layer one cell thick; two cells share it if it lies between them."""
    distance = np.abs(np.arange(SHAPE[0])[:, None] - DEPTHS[depth])
    return (SMOOTH + change * np.maximum(1 - distance, 0)).astype(np.float32)


STEP = SMOOTH.copy()
STEP[35:] = 2700


@pytest.mark.parametrize("change", [200.0, -200.0], ids=["faster", "slower"])
@pytest.mark.parametrize("depth", ["flat", "dipping"])
@pytest.mark.parametrize("condition", ["correlation", "laplacian", "impedance"])
def test_a_reflector_has_its_depth_and_sign(condition, depth, change):
    equation = AcousticVariableDensity if condition == "impedance" else Acoustic
    result = image(equation, reflections(equation, layer(depth, change)), condition=condition)[10:, MIDDLE]
    assert result.dtype == np.float32
    result *= np.sign(change)
    assert np.abs(result.argmax(axis=0) + 10 - DEPTHS[depth][MIDDLE]).max() <= 1  # a wave is 17 cells long
    # The Laplacian has a trough beside the peak, nearly as deep and in some columns deeper.
    assert (result.max(axis=0) > -result.min(axis=0)).mean() >= 0.9


def test_an_image_uses_the_weighted_and_filtered_data():
    """<image, x> = <w F J x, w F d>"""
    observed, x = reflections(Acoustic, layer()), np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
    weights = np.random.default_rng(1).random((7, NT, 40, 1))
    result = image(Acoustic, observed, precondition=False, weights=weights, low=4.0, high=18.0)
    prop = solver(edge_gradient="interior")
    scattered = prop.executor.born(prop.problem, shots_of(Acoustic), [SMOOTH], [x]).numpy()
    one, other = (weights * bandpass(record, DT, 4.0, 18.0) for record in (scattered, observed))
    expected, size = (one * other).sum(), np.linalg.norm(one) * np.linalg.norm(other)
    assert abs((result.astype(np.float64) * x).sum() - expected) < 1e-5 * size < 0.1 * abs(expected)


def test_an_image_changes_sign_at_a_step():
    for equation, condition in ((Acoustic, "correlation"), (AcousticVariableDensity, "impedance")):
        result = image(equation, reflections(equation, STEP), condition=condition)[:, MIDDLE].mean(axis=1)
        crossing = 33 + np.flatnonzero((result[33:37] < 0) & (result[34:38] > 0))
        assert len(crossing) == 1 and abs(crossing[0] + 0.5 - 34.5) <= 1


def test_an_impedance_image_shows_a_density_reflector():
    heavy = RHO.copy()
    heavy[35] += 300
    result = image(AcousticVariableDensity, reflections(AcousticVariableDensity, rho=heavy), condition="impedance")
    assert (result[10:, MIDDLE].argmax(axis=0) + 10 == 35).all()


def test_laplacian_and_impedance_remove_smooth_parts():
    """A reflector in the migration model scatters waves back, which correlate along the whole path above it."""

    def smooth_share(equation, condition):
        result = image(equation, reflections(equation, STEP), STEP, condition=condition)[:, MIDDLE]
        return (gaussian_filter(result, 6)[10:29] ** 2).sum() / (result[10:45] ** 2).sum()

    plain = smooth_share(Acoustic, "correlation")
    assert smooth_share(Acoustic, "laplacian") < 0.02 * plain
    assert smooth_share(AcousticVariableDensity, "impedance") < 0.1 * plain


def test_impedance_is_the_inverse_scattering_condition():
    """For constant rho, grad u . grad v + u_tt v / vp^2 = 0.5 lap(u v), summed over time.

    The impedance image of d_tt is vp^3 / 4 times the Laplacian of the correlation image of d.
    """
    observed = reflections(Acoustic, layer())
    twice = np.gradient(np.gradient(observed, DT, axis=1), DT, axis=1)
    inner = slice(12, -2), slice(4, -4)
    result = image(AcousticVariableDensity, twice, condition="impedance", precondition=False)[inner]
    other = -image(Acoustic, observed, condition="laplacian", precondition=False)[inner] * 2000.0**3 / 4
    assert np.linalg.norm(result - other) < 0.02 * np.linalg.norm(other)


def test_the_laplacian_uses_the_spacing_of_each_axis():
    """The spacing differs along each axis; the function is a parabola."""
    from sweep_core.inversion.imaging import _laplacian

    z, y, x = np.meshgrid(5.0 * np.arange(6), 3.0 * np.arange(7), 2.0 * np.arange(8), indexing="ij")
    result = _laplacian(z**2 + 2 * y**2 - 5 * x**2 + x * y, (5.0, 3.0, 2.0))
    np.testing.assert_allclose(result[1:-1, 1:-1, 1:-1], 2 + 4 - 10)


def test_the_preconditioner_equalises_deep_reflectors():
    vp = layer().copy()
    vp[52] += 200
    observed = reflections(Acoustic, vp)
    shares = []
    for precondition in (False, True):
        result = image(Acoustic, observed, precondition=precondition)[:, MIDDLE]
        shares.append(result[52].mean() / result[35].mean())
    assert shares[0] < 0.65 and 0.75 < shares[1] < 1.25


def test_images_have_no_rim():
    """The edge_gradient of the solver has no influence."""
    observed = reflections(Acoustic, layer())
    for instance in (solver(), solver(edge_gradient="interior")):
        result = image(Acoustic, observed, example=instance, precondition=False)[20:]
        edges = max(np.abs(part).max() for part in (result[-1], result[:, 0], result[:, -1]))
        assert edges < 0.5 * np.abs(result[:, MIDDLE]).max()


@pytest.mark.parametrize("equation", [Acoustic, AcousticVariableDensity])
@pytest.mark.parametrize("impl", ["c", "eager"])
@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_transposed_is_the_adjoint_of_born(backend, impl, equation):
    """With weights, filter, mask and interior edge gradients: <w F J x, y> = <x, (w F J)^T y>."""
    jax = pytest.importorskip("jax")
    from sweep_jax.executor import JaxExecutor

    rng, shape = np.random.default_rng(0), (20, 24)
    problem = make_problem(equation(), shape, DH, DT, pml_width=6, edge_gradient="interior")
    mask = rng.random((3, 10)) > 0.2
    shots = Shots(
        ricker(25.0, 90, DT), np.array([[3, 2], [12, 2], [20, 4]]), np.stack([np.arange(1, 21, 2), np.full(10, 3)], 1),
        mask,
    )  # fmt: skip
    models = [2000 + 100 * rng.random(shape), 1000 + 100 * rng.random(shape)][: len(problem.equation.parameters)]
    with jax.enable_x64(True):
        objective = Objective(
            TorchExecutor(impl) if backend == "torch" else JaxExecutor(impl), problem, shots,
            rng.standard_normal((3, 90, 10, 1)), weights=rng.random((3, 90, 10, 1)), low=5.0, high=40.0, batch=2,
        )  # fmt: skip
        x, y = [rng.standard_normal(shape) for _ in models], rng.standard_normal((3, 90, 10, 1))
        result = np.concatenate([objective.born(models, x, selection) for selection in (np.arange(2), np.arange(2, 3))])
        transposed = objective.transposed(models, lambda _, selection: y[selection])
    assert (result * y).sum() == pytest.approx(
        sum((a * b).sum() for a, b in zip(x, transposed, strict=True)), rel=1e-11
    )


WATER = np.zeros(SHAPE, bool)
WATER[:8] = True


@cache
def least_squares(iterations=10, **options):
    observed = reflections(Acoustic, layer())
    return image(
        Acoustic,
        observed,
        function=least_squares_migrate,
        iterations=iterations,
        fixed=WATER,
        progress=False,
        **options,
    )


def test_the_least_squares_image_has_the_size_of_the_perturbation():
    result, history = least_squares()
    assert result.dtype == np.float32 and (result[:8] == 0).all()
    assert len(history) == 11 and (np.diff(history) < 0).all() and history[-1] < 0.02 * history[0]
    assert (result[:, MIDDLE].argmax(axis=0) == 35).all()
    part = slice(10, 50), MIDDLE
    first = image(Acoustic, reflections(Acoustic, layer()))
    plain, sharp, true = (x[part].astype(np.float64) for x in (first, result, layer() - SMOOTH))
    best = (plain * true).sum() / (plain * plain).sum() * plain
    assert np.linalg.norm(sharp - true) < 0.9 * np.linalg.norm(best - true)
    # Waves of this length cannot tell one cell of 200 m/s from three of 70.
    assert 60 < sharp.max(axis=0).min() and sharp.max(axis=0).max() < 200 < 0.4 * plain.max(axis=0).min()
    profiles = (x.mean(axis=1) / x.mean(axis=1).max() for x in (plain, sharp))
    curvature = [2 * p[25] - p[24] - p[26] for p in profiles]
    assert curvature[1] > 1.2 * curvature[0]


def test_the_history_is_the_misfit_of_the_data():
    options = {"low": 4.0, "high": 18.0, "weights": np.linspace(0, 1, NT).reshape(1, NT, 1, 1).repeat(7, axis=0)}
    observed, mask = reflections(Acoustic, layer()), np.random.default_rng(0).random((7, 40)) > 0.3
    for damping in (0.0, 2.0):
        result, history = image(
            Acoustic, observed, function=least_squares_migrate, iterations=4, receiver_mask=mask, damping=damping,
            progress=False, **options,
        )  # fmt: skip
        prop = solver(edge_gradient="interior")
        modelled = prop.executor.born(prop.problem, shots_of(Acoustic), [SMOOTH], [result]).numpy()
        for scattered, expected in ((0 * modelled, history[0]), (modelled, history[-1])):
            left = options["weights"] * bandpass(scattered - observed, DT, 4.0, 18.0) * mask[:, None, :, None]
            assert expected == pytest.approx(0.5 * (left.astype(np.float64) ** 2).sum(), rel=1e-3)


def test_masked_receivers_do_not_change_the_image():
    observed, mask = reflections(Acoustic, layer()), np.ones((7, 40), bool)
    mask[:, ::3] = False
    silent = observed * mask[:, None, :, None]
    broken = np.where(mask[:, None, :, None], observed, np.nan).astype(np.float32)
    one, other = (image(Acoustic, x, receiver_mask=mask) for x in (silent, broken))
    np.testing.assert_array_equal(one, other)


def test_damping_reduces_the_image():
    undamped, damped = least_squares(4), least_squares(4, damping=10.0)
    assert np.linalg.norm(damped[0]) < 0.8 * np.linalg.norm(undamped[0])
    assert damped[1][-1] > undamped[1][-1] and (np.diff(damped[1]) < 0).all()


def test_ranks_agree_with_the_serial_image():
    observed = reflections(Acoustic, layer())
    serial = image(Acoustic, observed, condition="laplacian")
    for result in on_ranks(3, lambda group: image(Acoustic, observed, condition="laplacian", group=group)):
        np.testing.assert_allclose(result, serial, atol=1e-5 * np.abs(serial).max())
    expected, history = least_squares(3)
    for result, answer in on_ranks(
        2,
        lambda group: image(
            Acoustic, observed, function=least_squares_migrate, iterations=3, fixed=WATER, progress=False, group=group
        ),
    ):
        np.testing.assert_allclose(result, expected, atol=1e-3 * np.abs(expected).max())
        np.testing.assert_allclose(answer, history, rtol=1e-3)


def test_jax_agrees_with_torch():
    pytest.importorskip("jax")
    from sweep_jax import PropJax

    observed, prop = reflections(Acoustic, layer()), solver(make=PropJax)
    one, other = (image(Acoustic, observed, example=each, condition="laplacian") for each in (None, prop))
    np.testing.assert_allclose(one, other, atol=1e-3 * np.abs(one).max())
    expected, history = least_squares(3)
    result, answer = image(
        Acoustic, observed, example=prop, function=least_squares_migrate, iterations=3, fixed=WATER, progress=False
    )
    np.testing.assert_allclose(result, expected, atol=5e-3 * np.abs(expected).max())
    np.testing.assert_allclose(answer, history, rtol=1e-3)


def test_images_in_three_dimensions():
    shape, nt = (24, 16, 16), 180
    prop = PropTorch(Acoustic(), shape, DH, DT, pml_width=6)
    smooth = np.full(shape, 2000, np.float32)
    true = smooth.copy()
    true[15] += 300
    receivers = np.stack([*(x.ravel() for x in np.meshgrid(np.arange(1, 16, 2), np.arange(1, 16, 2)))], axis=1)
    shots = Shots(
        1e4 * ricker(18.0, nt, DT).astype(np.float32), np.array([[8, 8, 2]]),
        np.concatenate([receivers, np.full((len(receivers), 1), 3)], axis=1),
    )  # fmt: skip
    pair = [prop.executor.forward(prop.problem, shots, [m]).numpy() for m in (true, smooth)]
    arguments = shots.wavelet, shots.sources, shots.receivers, pair[0] - pair[1], [smooth]
    result = migrate(prop, *arguments, condition="laplacian")
    assert result.shape == shape and abs(int(result[8:22, 7, 8].argmax()) + 8 - 15) <= 1
    _, history = least_squares_migrate(prop, *arguments, iterations=2, progress=False)
    assert history[2] < 0.5 * history[0]


def call_with_changes(**changes):
    """Call migrate or least_squares_migrate with changed arguments."""
    options = {"function": migrate, "equation": Acoustic, "observed": np.ones((7, NT, 40, 1), np.float32), **changes}
    function, equation = options.pop("function"), options.pop("equation")
    inputs = {"solver": solver(equation), "models": earth(equation), "wavelet": shots_of(equation).wavelet}
    inputs = {name: options.pop(name, value) for name, value in inputs.items()}
    if function is least_squares_migrate:
        options["progress"] = False
    observed = options.pop("observed")
    function(
        inputs["solver"], inputs["wavelet"], SOURCES, options.pop("receivers", RECEIVERS), observed, inputs["models"],
        **options,
    )  # fmt: skip


LEAST = {"function": least_squares_migrate}


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"condition": "imaging"}, OptionError, "condition is 'imaging'; expected one of .*'laplacian'"),
        ({"condition": "impedance"}, UnsupportedError, r"a derivative in rho, .* only \['vp'\]; use AcousticVariable"),
        (
            {"condition": "impedance", "equation": AcousticVariableDensity, "parameter": "vp"},
            OptionError,
            "parameter is 'vp'; expected 'rho' or None for condition='impedance'",
        ),
        ({"parameter": "vs"}, OptionError, r"parameter is 'vs'; expected a parameter of acoustic: \['vp'\]"),
        ({"solver": 5}, OptionError, "solver is 5; expected a PropTorch"),
        ({"models": SMOOTH}, DtypeError, "models is a ndarray; expected a list"),
        ({"models": [SMOOTH.T]}, ShapeError, "it looks transposed"),
        ({"models": [np.stack([SMOOTH] * 7)]}, ShapeError, r"model vp has shape \(7, 60, 80\); .* one earth"),
        ({"models": [np.full(SHAPE, np.nan, np.float32)]}, DomainError, "model vp holds NaN"),
        ({"models": [9 * SMOOTH]}, StabilityError, "largest stable dt"),
        ({"observed": np.ones((7, NT, 40, 2))}, ShapeError, "observed has shape"),
        ({"observed": np.zeros((7, NT, 40, 1))}, DomainError, "observed is zero throughout"),
        ({"observed": np.full((7, NT, 40, 1), np.nan)}, DomainError, "observed holds NaN"),
        ({"observed": np.ones((7, NT - 1, 40, 1))}, ShapeError, r"expected \(7, 420, 40, 1\)"),
        ({"weights": np.ones((7, 3, 1, 1))}, ShapeError, "weights have shape"),
        ({"receivers": RECEIVERS + 50}, DomainError, "receiver 15 of shot 0 is at x = 80"),
        ({"low": 20.0, "high": 10.0}, DomainError, "low is 20 Hz, high is 10 Hz"),
        ({"batch": 0}, OptionError, "batch is 0"),
        ({"precondition": "no"}, OptionError, "precondition is 'no'; expected True or False"),
        ({"wavelet": np.zeros(NT, np.float32)}, DomainError, "no wave meets the cells of the image"),
        ({**LEAST, "iterations": 0}, OptionError, "iterations is 0; expected a whole number from 1 on"),
        ({**LEAST, "iterations": 2.0}, OptionError, "iterations is 2.0"),
        ({**LEAST, "damping": -1.0}, OptionError, "damping is -1.0; expected a finite number from 0 on"),
        ({**LEAST, "fixed": np.ones(SHAPE, bool)}, OptionError, "every cell is fixed; expected some free cells"),
        ({**LEAST, "fixed": np.ones(SHAPE)}, OptionError, "fixed is of float64"),
        ({**LEAST, "weights": np.zeros((7, 1, 1, 1))}, DomainError, "weights are zero throughout"),
    ],
)
def test_bad_arguments_are_refused(changes, kind, words):
    with pytest.raises(kind, match=words):
        call_with_changes(**changes)


def test_a_backend_needs_pullback_and_born():
    @attrs.frozen
    class Only:
        problem: object
        executor: object

    @attrs.frozen
    class NoBorn:
        executor: object
        name = "stranger"

        def pullback(self, *arguments):
            return self.executor.pullback(*arguments)

    prop = solver()
    with pytest.raises(UnsupportedError, match="computes no gradient"):
        call_with_changes(solver=Only(prop.problem, ReferenceExecutor()))
    with pytest.raises(UnsupportedError, match="backend 'stranger' has no born"):
        call_with_changes(solver=Only(prop.problem, NoBorn(prop.executor)), **LEAST)
