"""Inversions by `invert`: objective, unknowns, regularisers, optimisers, stages."""

from functools import partial

import attrs
import numpy as np
import pytest
from inverting import DH, DT, NT, SHAPE, call, earth, observed, on_ranks, solver, survey

from sweep_core import (
    Acoustic,
    AcousticVariableDensity,
    DomainError,
    DtypeError,
    Elastic,
    NotFiniteError,
    OptionError,
    ShapeError,
    SweepError,
    backend,
    make_problem,
    ricker,
)
from sweep_core.inversion import LBFGS, Objective, Stage, StopInversion, Tikhonov, TotalVariation, illumination, invert
from sweep_core.inversion.descent import Descent
from sweep_core.inversion.mirror import Mirror
from sweep_core.inversion.unknowns import make_unknowns
from sweep_core.misfit import envelope, global_correlation, least_squares
from sweep_core.processing import bandpass

torch = pytest.importorskip("torch")
from sweep_torch import PropTorch, Torch  # noqa: E402

EXECUTORS = ("torch", "jax")


@pytest.fixture(scope="module")
def data():
    return observed(solver(), [torch.from_numpy(earth()[0])])


def error(model):
    return float(np.sqrt(np.mean((model - earth()[0]) ** 2)))


def objective(name="torch", dtype=np.float64, **options):
    problem = make_problem(Acoustic(), SHAPE, DH, DT, pml_width=8)
    shots, executor = survey(dtype), backend(name)
    aim = np.asarray(executor.forward(problem, shots, [earth()[0].astype(dtype)]))
    return Objective(executor, problem, shots, aim, batch=2, **options)


WEIGHTS = np.linspace(0, 1, 3 * NT).reshape(3, NT, 1, 1)


@pytest.mark.parametrize("misfit", [least_squares, global_correlation, envelope], ids=lambda m: m.__name__)
@pytest.mark.parametrize("name", EXECUTORS)
def test_the_gradient_of_weighted_filtered_misfits_equals_finite_differences(name, misfit):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        arguments = objective(name, misfit=misfit, weights=WEIGHTS, low=2.0, high=9.0)
        start, direction = earth()[1].astype(np.float64), np.random.default_rng(0).standard_normal(SHAPE)
        value, (slope,) = arguments([start])
        sides = [WEIGHTS * bandpass(x, DT, 2.0, 9.0) for x in (arguments.record([start]), arguments.observed)]
        assert value == pytest.approx(float(misfit(*sides)[0]), rel=1e-9)
        h = 1e-3
        ends = [arguments([start + sign * h * direction])[0] for sign in (1, -1)]
    assert (ends[0] - ends[1]) / (2 * h) == pytest.approx((slope * direction).sum(), rel=1e-5)


def test_backends_agree():
    jax = pytest.importorskip("jax")
    start = [earth()[1].astype(np.float64)]
    with jax.enable_x64(True):
        results = [objective(name, misfit=envelope, weights=WEIGHTS, high=9.0)(start) for name in EXECUTORS]
    (value, slopes), (other, others) = results
    assert value == pytest.approx(other, rel=1e-9)
    np.testing.assert_allclose(slopes[0], others[0], atol=1e-9 * abs(slopes[0]).max())


def test_transposed_is_the_adjoint_of_the_weighted_filtered_record():
    arguments, random = objective(weights=WEIGHTS, low=2.0, high=9.0), np.random.default_rng(1)
    start, direction = earth()[1].astype(np.float64), random.standard_normal(SHAPE)
    z = random.standard_normal(arguments.observed.shape)
    born = arguments.executor.born(arguments.problem, arguments.shots, [start], [direction]).numpy()
    result = arguments.apply_weights(arguments.apply_filter(born), np.arange(3))
    transposed = arguments.transposed([start], lambda _, selection: z[selection])[0]
    assert (result * z).sum() == pytest.approx((transposed * direction).sum(), rel=1e-10)


@attrs.frozen
class Half:
    """One of two ranks; a sum over ranks is its own value."""

    rank: int
    size: int = 2

    def all_reduce(self, x):
        return x


@pytest.mark.parametrize("costs", [None, np.array([1.0, 1.0, 3.0])], ids=["equal", "unequal"])
def test_ranks_share_the_shots(costs):
    start = [earth()[1].astype(np.float64)]
    whole = objective(misfit=envelope, high=9.0)(start)
    shots = []
    parts = [
        objective(misfit=envelope, high=9.0, group=Half(rank), costs=costs)(
            start, after=lambda some, _: shots.append(some)
        )
        for rank in (0, 1)
    ]
    assert [list(some) for some in shots] == ([[0], [1, 2]] if costs is None else [[2], [0, 1]])
    assert sum(part[0] for part in parts) == pytest.approx(whole[0], rel=1e-12)
    np.testing.assert_allclose(sum(part[1][0] for part in parts), whole[1][0], rtol=1e-9, atol=1e-20)


def test_the_illumination_is_the_diagonal_of_the_gauss_newton_hessian():
    """The mean of many random draws equals |J e|^2, by Born modelling of one cell, at three cells."""
    arguments, start = objective(weights=WEIGHTS, high=9.0), earth()[1].astype(np.float64)
    draws = [illumination(arguments, [start], smooth=1e-6, seed=seed)[0] for seed in range(60)]
    mean, spread = np.mean(draws, axis=0), np.std(draws, axis=0) / np.sqrt(60)
    for cell in ((8, 10), (14, 20), (20, 30)):
        direction = np.zeros(SHAPE)
        direction[cell] = 1
        born = arguments.executor.born(arguments.problem, arguments.shots, [start], [direction]).numpy()
        exact = float((arguments.apply_weights(arguments.apply_filter(born), np.arange(3)) ** 2).sum())
        assert abs(mean[cell] - exact) < 4 * spread[cell] < 0.8 * exact
    smooth = illumination(arguments, [start], smooth=3.0)[0]
    assert smooth[6:10].mean() > 2 * smooth[20:].mean() > 0  # illumination decreases with depth
    assert smooth.max() < 3 * smooth[5:-5, 5:-5].max()  # the rim is not the brightest


@pytest.mark.parametrize("regulariser", [Tikhonov(1.0), TotalVariation(1.0), TotalVariation(1.0, edge=0.3)], ids=str)
@pytest.mark.parametrize("shape", [(7, 9), (4, 5, 6)])
def test_regularisers_have_exact_derivatives(regulariser, shape):
    random, h = np.random.default_rng(2), 1e-6
    model, direction = 1 + 0.1 * random.standard_normal(shape), random.standard_normal(shape)
    value, slope = regulariser(model)
    difference = (regulariser(model + h * direction)[0] - regulariser(model - h * direction)[0]) / (2 * h)
    assert difference == pytest.approx((slope * direction).sum(), rel=1e-6) and value > 0
    assert regulariser(np.ones(shape))[0] == 0
    ramp, step = np.linspace(0, 1, shape[0]), (np.arange(shape[0]) > 1).astype(float)
    of_ramp, of_step = (
        regulariser(np.broadcast_to(x.reshape(-1, *[1] * (len(shape) - 1)), shape))[0] for x in (ramp, step)
    )
    if isinstance(regulariser, Tikhonov):
        assert of_ramp < 0.5 * of_step
    elif regulariser.edge < 0.1:
        assert of_ramp == pytest.approx(of_step, rel=0.02)  # total variation of an edge equals that of a slope


def test_unknowns_are_cells_that_may_change():
    problem = make_problem(AcousticVariableDensity(), SHAPE, DH, DT, pml_width=8)
    _, vp, water = earth()
    rho = np.full(SHAPE, 2000, np.float32)
    result = make_unknowns(problem, [vp, rho], {"vp": (1400, 3000)}, {"vp": water, "rho": True})
    assert len(result) == (~water).sum()
    x = np.full(len(result), 1e5)
    changed, remaining = result.models(x)
    assert (remaining == rho).all() and (changed[water] == vp[water]).all() and (changed[~water] == 3000).all()
    low, high = result.limits()
    np.testing.assert_allclose(result.models(low)[0][~water], 1400)
    np.testing.assert_allclose(result.models(high)[0][~water], 3000)
    scaled = attrs.evolve(result, scale=[np.full(SHAPE, 5.0), np.ones(SHAPE)])
    np.testing.assert_allclose(scaled.models(np.ones(len(result)))[0][~water], vp[~water] + 5)
    np.testing.assert_allclose(scaled.slope(x, [np.ones(SHAPE), np.ones(SHAPE)]), 5)


def test_stages_recover_the_model(data):
    observations = []
    result = call(data, [Stage(6, high=6.0), Stage(10)], bounds={"vp": (1450, 2800)}, observers=[observations.append])
    (model,) = result.models
    _, start, water = earth()
    assert error(model) < 0.8 * error(start)
    assert model.dtype == np.float32 and (model[water] == 1500).all()
    assert [line["stage"] for line in result.history] == [1] * 7 + [2] * 11
    ends = [[line["misfit"] for line in result.history if line["stage"] == n] for n in (1, 2)]
    assert ends[0][-1] < 0.1 * ends[0][0] and ends[1][-1] < 0.05 * ends[1][0]
    assert [output.iteration for output in observations] == list(range(1, 17))
    np.testing.assert_array_equal(observations[-1].model, model)
    assert observations[-1].misfit == result.history[-1]["misfit"] and observations[-1].gradient.shape == SHAPE
    assert "stage 1, up to 6 Hz: misfit from" in str(result) and "stage 2, all frequencies" in str(result)


def test_regularisers_reduce_the_roughness(data):
    rough, smooth = (
        call(data, Stage(8), regularise=regularise, misfit=partial(least_squares, normalise="shot")).models[0]
        for regularise in ((), [TotalVariation(300.0), Tikhonov(1e5)])
    )
    roughness = [np.abs(np.diff(model[6:], axis=1)).mean() for model in (rough, smooth)]
    assert roughness[1] < 0.5 * roughness[0]


@pytest.mark.parametrize("kind", ["torch", "optax"])
def test_optimisers_with_random_shots_reduce_the_misfit(data, kind):
    if kind == "torch":
        optimiser = Torch(torch.optim.Adam, shots=2, lr=0.2)
    else:
        optax = pytest.importorskip("optax")
        from sweep_jax import Optax

        optimiser = Optax(optax.adam(0.2), shots=2)
    result = call(data, Stage(30), optimiser=optimiser)
    both = objective(dtype=np.float32)
    assert both(result.models)[0] < 0.4 * both([earth()[1]])[0]
    assert result.history[-1]["gradients"] == pytest.approx(2 + 30 * 2 / 3)
    moved = np.abs(call(data, Stage(1), optimiser=optimiser).models[0] - earth()[1]).max()
    assert moved == pytest.approx(0.002 * earth()[1].mean(), rel=0.02)


def test_jax_agrees_with_torch(data):
    pytest.importorskip("jax")
    from sweep_jax import PropJax

    one, other = (
        call(data, Stage(4, high=6.0), make=partial(solver, make=make)).models[0] for make in (PropTorch, PropJax)
    )
    np.testing.assert_allclose(one, other, atol=0.01 * abs(one - earth()[1]).max())


def test_two_parameters_both_move():
    equation = AcousticVariableDensity()
    true, start, water = earth()
    rho = (1000 + 0.4 * (start - 1500)).astype(np.float32)
    heavy = rho.copy()
    heavy[12:17, 14:24] += 300
    data = observed(solver(equation), [torch.from_numpy(m) for m in (true, heavy)])
    result = call(data, Stage(10), [start, rho], make=lambda: solver(equation))
    vp, density = result.models
    assert result.history[-1]["misfit"] < 0.1 * result.history[0]["misfit"] and (vp != start).any()
    assert np.abs(density - rho).max() > 10 and (density[water] == rho[water]).all()
    only = call(data, Stage(2), [start, rho], make=lambda: solver(equation), fixed={"vp": water, "rho": True})
    assert (only.models[1] == rho).all() and (only.models[0] != start).any()


def speeds(cells, rng, *ranges):
    return [rng.uniform(*ends, cells) for ends in ranges]


def test_mirror_makes_invalid_cells_valid_and_has_a_derivative():
    rng, fits = np.random.default_rng(0), Elastic().fits
    start = [np.full(400, value) for value in (1500.0, 1200.0, 2000.0)]
    arguments = [s + w for s, w in zip(start, speeds(400, rng, *[(-400, 400)] * 3), strict=True)]
    out = ~fits(*arguments)
    result = Mirror(fits, start, arguments).models()
    assert 50 < out.sum() < 350 and fits(*result).all()
    for one, other, reference in zip(result, arguments, start, strict=True):
        assert np.array_equal(one[~out], other[~out])  # valid cells do not change
        assert (abs(one - reference) <= abs(other - reference)).all()
    slopes, direction, h = speeds(400, rng, *[(-1, 1)] * 3), speeds(400, rng, *[(-1, 1)] * 3), 1e-3

    def value(side):
        models = Mirror(fits, start, [g + side * h * w for g, w in zip(arguments, direction, strict=True)]).models()
        return sum(s * m for s, m in zip(slopes, models, strict=True))

    exact = sum(s * w for s, w in zip(Mirror(fits, start, arguments).transposed(slopes), direction, strict=True))
    np.testing.assert_allclose((value(1) - value(-1)) / (2 * h), exact, atol=1e-6 * abs(exact).max())
    single = [[x.astype(np.float32) for x in part] for part in (start, arguments)]
    assert fits(*Mirror(fits, *single).models()).all()


def elastic_line(iterations, **options):
    """Invert a line over a solid with vp / vs = 1.2, close to the minimum 1.155, and a layer of a larger ratio."""
    nz, nx, nt = 24, 36, 260
    start = [np.full((nz, nx), value, np.float32) for value in (1500, 1250, 2000)]
    true, fixed = [model.copy() for model in start], np.zeros((nz, nx), bool)
    fixed[:5], true[0][7:18], true[1][7:18] = True, 1650, 1100
    line = PropTorch(Elastic(), (nz, nx), 20.0, DT, source_type=["sxx", "szz"], receiver_type=["vx", "vz"], pml_width=8)
    sources, receivers = np.array([[6, 3], [28, 3]]), np.stack([np.arange(0, 36, 2), np.full(18, 4)], axis=1)
    wavelet = (1e9 * ricker(6.0, nt, DT)).astype(np.float32)
    with torch.no_grad():
        aim = line(torch.from_numpy(wavelet), sources, receivers, models=[torch.from_numpy(m) for m in true])
    arguments = {"fixed": fixed, "progress": False, **options}
    return invert(line, wavelet, sources, receivers, aim, start, Stage(iterations), **arguments)


@pytest.mark.parametrize("optimiser", [LBFGS(), Torch(torch.optim.Adam, shots=2, lr=2.0)], ids=["L-BFGS", "Adam"])
def test_an_inversion_survives_invalid_vp_and_vs(optimiser):
    result = elastic_line(10, optimiser=optimiser)
    assert len(result.history) == 11 and result.history[-1]["misfit"] < 0.4 * result.history[0]["misfit"]
    assert Elastic().fits(*result.models).all()


def test_densities_have_shorter_steps():
    entries = {}
    for steps in (None, {"rho": 1.0}, {"vp": 0.1}):
        adam = Torch(torch.optim.Adam, shots=2, lr=0.1)
        models = elastic_line(4, steps=steps, optimiser=adam).models
        entries[str(steps)] = [np.abs(m - m[0, 0]).max() / m[0, 0] for m in models]
    shorter, alike, slow = entries.values()
    assert shorter[2] == pytest.approx(0.3 * alike[2], rel=0.3) and shorter[0] == pytest.approx(alike[0], rel=0.3)
    assert slow[0] == pytest.approx(0.1 * shorter[0], rel=0.3)


def test_an_observer_ends_a_stage(data, capsys):
    def stop(event):
        if event.iteration == 2:
            raise StopIteration

    def broken(event):
        raise ValueError("a picture without a screen")

    result = call(data, [Stage(8, high=6.0), Stage(2)], observers=[stop, broken])
    assert [line["iteration"] for line in result.history] == [0, 1, 2, 0, 1, 2]
    assert "observer 'broken' failed and is not called again: ValueError: a picture" in capsys.readouterr().err


def test_the_seed_determines_the_random_shots(data):
    history_of_seed = {}
    for seed in (0, 1):
        messages = history_of_seed[seed] = []
        call(data, Stage(4), optimiser=Torch(torch.optim.Adam, shots=2), seed=seed,
             true=[earth()[0]], observers=[lambda output, messages=messages: messages.append(output.history[-1])])  # fmt: skip
    misfits = [[line["misfit"] for line in lines] for lines in history_of_seed.values()]
    assert misfits[0] != misfits[1]
    assert misfits[0] == [line["misfit"] for line in call(
        data, Stage(4), optimiser=Torch(torch.optim.Adam, shots=2)).history[1:]]  # fmt: skip
    errors = [line["model_error"] for line in history_of_seed[0]]
    assert errors[-1] < np.sqrt(np.mean((earth()[0].astype(float) - earth()[1]) ** 2))
    with pytest.raises(OptionError, match="seed is -1; expected a whole number from 0 on"):
        call(data, Stage(1), seed=-1)


@pytest.mark.parametrize("ranks", [1, 2])
def test_an_observer_ends_the_whole_run(data, ranks):
    def stop(event):
        if event.iteration == 2:
            raise StopInversion

    def run(group):
        return call(data, [Stage(8, high=6.0), Stage(2)], observers=[stop], group=group if ranks > 1 else None)

    for result in on_ranks(ranks, run):
        assert [line["iteration"] for line in result.history] == [0, 1, 2]
    assert np.array_equal(result.models[0], call(data, [Stage(2, high=6.0)]).models[0]) or ranks > 1


@pytest.mark.parametrize("optimiser", [None, Torch(torch.optim.Adam, shots=2, lr=2.0)], ids=["L-BFGS", "Adam"])
def test_an_ordered_reduction_has_the_same_bits_on_any_number_of_ranks(data, optimiser, tmp_path):
    """Two ranks begin a run, and three or one continue it; costs that differ change the plan alone."""
    options = {"optimiser": optimiser, "reduction": "ordered", "misfit": envelope}
    plan, costs = [Stage(2), Stage(2, high=9.0)], np.array([1.0, 2.0, 5.0])
    alone = call(data, plan, **options)
    fast = call(data, plan, **options | {"reduction": "fast"})
    np.testing.assert_allclose(fast.models[0], alone.models[0], rtol=1e-4)

    def stop(event):
        if event.iteration == 3:
            raise StopInversion

    for size, run in ((2, {"observers": [stop]}), (3, {"costs": costs}), (1, {})):
        results = on_ranks(
            size, lambda group, run=run: call(data, plan, group=group, folder=tmp_path, **options, **run)
        )
    assert np.array_equal(results[0].models[0], alone.models[0])
    for result in on_ranks(3, lambda group: call(data, plan, group=group, **options)):
        assert np.array_equal(result.models[0], alone.models[0])


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_shot_that_is_not_finite_is_named_on_every_rank(data, ranks):
    """Shot 1 has a misfit of NaN as soon as the model has changed."""
    start = observed(solver(), [torch.tensor(earth()[1])])[1]

    def misfit(synthetic, aim):
        value, slope = least_squares(synthetic, aim)
        is_bad = any(
            np.array_equal(d, data[1]) and not np.array_equal(s, start) for s, d in zip(synthetic, aim, strict=True)
        )
        return (np.nan if is_bad else value), slope

    errors = []

    def run(group):
        with pytest.raises(NotFiniteError) as error:
            call(data, Stage(2), misfit=misfit, batch=2, group=group if ranks > 1 else None)
        errors.append(str(error.value))

    on_ranks(ranks, run)
    assert len(errors) == ranks and all("gradient is not finite in shot 1, although" in error for error in errors)


def test_a_run_continues_after_an_observer_stopped_it(data, tmp_path):
    """The run is unfinished: the same call without the observer continues it."""

    def stop(event):
        raise StopInversion

    plan = [Stage(3, high=6.0), Stage(2)]
    for _ in range(2):
        stopped = call(data, plan, observers=[stop], folder=tmp_path)
        assert [line["iteration"] for line in stopped.history] == [0, 1]
    result = call(data, plan, folder=tmp_path)
    assert np.array_equal(result.models[0], call(data, plan).models[0])


@pytest.mark.parametrize("optimiser", [LBFGS(), Torch(torch.optim.Adam)], ids=["LBFGS", "Adam"])
def test_a_start_that_fits_the_data_is_returned(optimiser):
    start = earth()[1]
    data = observed(solver(), [torch.from_numpy(start)])
    result = call(data, [Stage(3), Stage(2, high=6.0)], optimiser=optimiser)
    assert np.array_equal(result.models[0], start)
    assert [(line["stage"], line["iteration"], line["misfit"]) for line in result.history] == [(1, 0, 0.0), (2, 0, 0.0)]
    assert "misfit from 0 to 0 in 0 iterations" in str(result)


def test_a_misfit_may_be_a_name(data):
    named = call(data, [Stage(1, misfit="envelope"), Stage(1)], misfit="global_correlation")
    arguments = call(data, [Stage(1, misfit=envelope), Stage(1)], misfit=global_correlation)
    assert np.array_equal(named.models[0], arguments.models[0])


def test_the_mean_over_random_shots_equals_all_shots():
    arguments = objective()
    unknowns = make_unknowns(arguments.problem, [earth()[1].astype(np.float64)], fixed=earth()[2])
    drawing = Descent(arguments, unknowns, drawn=1, precondition=False)
    x, messages = np.zeros(len(drawing.unknowns)), []
    for _ in range(3):
        value, _ = drawing(x)
        messages.append((drawing.misfit, drawing.gradients[0], value))
    value, (gradient,) = arguments([unknowns.start[0]])
    assert len({misfit for misfit, *_ in messages}) == 3  # every shot has another misfit
    assert np.mean([misfit for misfit, *_ in messages]) == pytest.approx(value, rel=1e-9)
    assert np.mean([value for *_, value in messages]) == pytest.approx(1, rel=1e-9)
    np.testing.assert_allclose(np.mean([g for _, g, _ in messages], axis=0), gradient, atol=1e-9 * abs(gradient).max())


def test_a_stage_may_use_some_of_the_shots(data):
    result = call(data, Stage(2, shots=2))
    assert result.history[-1]["misfit"] < result.history[0]["misfit"]
    both = objective(dtype=np.float32)
    assert result.history[0]["misfit"] == pytest.approx(both([earth()[1]], [0, 2])[0], rel=1e-4)


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"stages": []}, OptionError, r"stages are \[\]; expected one or more Stage"),
        ({"stages": 5}, OptionError, r"stages are \[5\]; expected"),
        ({"reduction": "exact"}, OptionError, "reduction is 'exact'; expected one of 'fast', 'ordered'"),
        ({"costs": [1.0, 2.0]}, ShapeError, "costs has 2 entries; expected 3"),
        ({"costs": [1.0, 2.0, -1.0]}, OptionError, "costs are .*; expected one positive, finite number for each shot"),
        ({"start": [earth()[1][1:]]}, ShapeError, r"model vp has shape \(23, 36\)"),
        (
            {"start": [np.stack([earth()[1]] * 3)]},
            ShapeError,
            r"start vp has shape \(3, 24, 36\); expected .* one earth",
        ),
        ({"bounds": {"vs": (1, 2)}}, OptionError, r"bounds name 'vs'; expected parameters of acoustic: \['vp'\]"),
        (
            {"bounds": {"vp": (1600, 3000)}, "fixed": None},
            DomainError,
            "start vp is 1500 at .*; expected a value within",
        ),
        ({"bounds": {"vp": (1400, 9000)}}, DomainError, "the bounds allow speeds up to 9000 m/s"),
        ({"fixed": True}, OptionError, "every cell is fixed"),
        ({"steps": 0.3}, OptionError, r"steps are 0.3; expected lengths by name, such as {'vp': 1.0}"),
        ({"steps": {"rho": 0.3}}, OptionError, r"steps name 'rho'; expected parameters of acoustic: \['vp'\]"),
        ({"steps": {"vp": 0}}, DomainError, "the step of vp is 0; expected a length relative to other parameters"),
        ({"fixed": np.zeros(SHAPE)}, OptionError, "fixed is of float64"),
        ({"weights": np.ones((3, 7, 1, 1))}, ShapeError, r"weights have shape \(3, 7, 1, 1\)"),
        ({"data": np.zeros((3, NT, 18, 2), np.float32)}, ShapeError, "observed has shape"),
        ({"regularise": "smooth"}, OptionError, "regularise holds 'smooth'"),
        ({"optimiser": "adam"}, OptionError, r"optimiser is 'adam'; expected LBFGS\(\)"),
        ({"bounds": (1400, 3000)}, OptionError, r"bounds are \(1400, 3000\); expected \(low, high\) by name"),
        ({"bounds": {"vp": 3000}}, OptionError, "bounds are {'vp': 3000}"),
        ({"start": [np.full(SHAPE, np.nan, np.float32)]}, DomainError, "start vp holds NaN"),
        ({"misfit": "l2"}, OptionError, "misfit is 'l2'; expected one of 'least_squares', .*'envelope'"),
        ({"misfit": 2}, OptionError, "misfit is 2; expected a function"),
        ({"misfit": lambda s, d: ((s - d) ** 2).sum()}, OptionError, r"returned float32; expected \(value, its deriv"),
        ({"data": np.zeros((3, NT, 18, 1), np.float32)}, DomainError, "observed is zero throughout"),
        ({"make": lambda: 5}, OptionError, "solver is 5; expected a PropTorch"),
        ({"batch": 0}, OptionError, "batch is 0; expected"),
        ({"data": np.zeros((3, NT, 18, 1), complex)}, DtypeError, "observed is of complex128; expected an array"),
        ({"data": "observed.npy"}, DtypeError, "observed is of <U12"),
        ({"receivers": "line"}, ShapeError, r"receivers have shape \(\)"),
        ({"bounds": {"vp": ("slow", "fast")}}, OptionError, r"bounds of vp are \('slow', 'fast'\); expected numbers"),
        ({"bounds": {"vp": (np.ones(3), 4000)}}, OptionError, r"expected numbers or arrays \(24, 36\)"),
        ({"bounds": {"vp": ("1400", 4000)}}, OptionError, r"bounds of vp are \('1400', 4000\)"),
        ({"bounds": {"vp": (True, 4000)}}, OptionError, r"bounds of vp are \(True, 4000\)"),
        ({"bounds": {"vp": (-1400, 4000)}}, DomainError, "low bound of vp is -1400; expected values that vp can have"),
        ({"precondition": "no"}, OptionError, "precondition is 'no'; expected True or False"),
        ({"folder": 3}, DtypeError, "folder is 3; expected a string or a pathlib.Path"),
        ({"misfit": lambda s, d: (np.ones(2), s)}, OptionError, r"returned \(2,\) values; expected one number"),
        ({"make": lambda: PropTorch}, OptionError, "solver is <class .*PropTorch'>; expected a PropTorch"),
        ({"fixed": [[True], [False, True]]}, DtypeError, "list cannot be read as an array"),
        ({"progress": 1}, OptionError, "progress is 1; expected True or False"),
        ({"optimiser": LBFGS}, OptionError, r"optimiser is <class .*LBFGS'>; expected LBFGS\(\)"),
        ({"regularise": TotalVariation}, OptionError, r"regularise holds <class .*; expected TotalVariation\(weight\)"),
        ({"observers": print}, OptionError, "observers are <built-in function print>; expected a list"),
        ({"group": "mpi"}, OptionError, "group is 'mpi'; expected a Distributor"),
        ({"weights": np.zeros((3, 1, 1, 1))}, DomainError, "weights are zero throughout"),
        ({"weights": np.full((3, 1, 1, 1), np.nan)}, DomainError, "weights hold NaN"),
        ({"weights": np.ones((3, 1, 1, 1), complex)}, DtypeError, "weights is of complex128"),
    ],
)
def test_bad_arguments_are_refused(data, options, kind, words):
    stages, arguments = options.pop("stages", Stage(1)), options.pop("data", data)
    with pytest.raises(kind, match=words):
        call(arguments, stages, **options)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s, d: (np.inf, s - d), "misfit at the start is inf: modelled samples are .* observed ones .* scale"),
        (
            lambda s, d: (1.0, np.float32(1e30) * (s - d)),
            "start is (nan|inf): modelled samples are .* derivative .*e.30;",
        ),
        (lambda s, d: (1.0, 0 * s), "start is 0.0: the misfit does not change with the record; check"),
    ],
)
def test_the_error_for_a_start_without_gradient_gives_the_reason(data, change, words):
    with np.errstate(all="ignore"), pytest.raises(DomainError, match=words):
        call(data, Stage(1), misfit=change)


@pytest.mark.filterwarnings("ignore::sweep_core.SweepWarning")
def test_receivers_without_waves_do_not_change_the_gradient():
    """Most receivers of this line record precursors of 1e-8 to 1e-26, which are noise."""
    nz, nx, nt = 30, 120, 160
    sources, receivers = np.array([[10, 5]]), np.stack([np.arange(12, 120, 3), np.full(36, 5)], axis=1)
    start = torch.full((nz, nx), 2000.0)
    true, wavelet = start.clone(), torch.from_numpy(ricker(10.0, nt, 0.001).astype(np.float32))
    true[15:20, 20:35] = 2200
    line = PropTorch(Acoustic(), (nz, nx), 10.0, 0.001, pml_width=8)
    aim = line(wavelet, sources, receivers, models=[true])
    amplitudes = aim.abs().amax((0, 1, 3))
    assert (amplitudes < 1e-8 * amplitudes.max()).sum() > 10

    def slope(is_used):
        model = start.clone().requires_grad_()
        record = line(wavelet, sources, receivers, models=[model])
        return (
            torch.autograd.grad(global_correlation(record[:, :, is_used], aim[:, :, is_used])[0], model)[0]
            .ravel()
            .double()
        )

    selection, every = slope(amplitudes > 1e-3 * amplitudes.max()), slope(amplitudes >= 0)
    assert every.norm() < 3 * selection.norm() and selection @ every > 0.9 * selection.norm() * every.norm()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"low": 9.0, "high": 5.0}, "low is 9 Hz, high is 5 Hz"),
        ({"high": 1e4}, "the Nyquist frequency 250 Hz"),
        ({"misfit": 2}, "misfit is 2"),
        ({"optimiser": "adam"}, "optimiser is 'adam'"),
        ({"regularise": "tv"}, "regularise holds 'tv'"),
        ({"weights": np.ones((3, 7, 1, 1))}, "weights have shape"),
        ({"high": 5.0, "coarsen": 20}, "backend 'torch' does not run|cells"),
    ],
)
def test_a_bad_second_stage_is_refused_before_the_first_runs(data, changes, words):
    def never(synthetic, aim):
        raise AssertionError("stage 1 must not run")

    with pytest.raises(SweepError, match=f"stage 2: .*({words})"):
        call(data, [Stage(1, misfit=never), Stage(1, **changes)])


@pytest.mark.parametrize("coarsen", [1, 2])
def test_data_of_masked_receivers_do_not_change_the_model(data, coarsen):
    mask = np.ones((3, 18), bool)
    mask[1, ::3] = mask[2] = False
    silent, broken = (np.where(mask[:, None, :, None], data, bad).astype(np.float32) for bad in (0, np.nan))
    options = {"receiver_mask": mask, "misfit": envelope}
    one, other = (call(x, Stage(2, high=8.0, coarsen=coarsen), **options) for x in (silent, broken))
    np.testing.assert_array_equal(one.models[0], other.models[0])
    assert [answer["misfit"] for answer in one.history] == [answer["misfit"] for answer in other.history]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Stage(0), "iterations is 0"),
        (lambda: Stage(1, high=-1), "high is -1; expected a frequency in Hz"),
        (lambda: Stage(1, shots=0), "shots is 0"),
        (lambda: LBFGS(memory=0), "memory is 0"),
        (lambda: Tikhonov(0), "weight is 0"),
        (lambda: TotalVariation(1.0, edge=0), "edge is 0"),
        (lambda: Torch(torch.optim.Adam, shots=0), "shots is 0"),
        (lambda: Torch("adam"), "make is 'adam'; expected a class of torch.optim"),
        (lambda: Torch(torch.optim.Adam, lr="1"), r"Torch\(Adam, shots=4, lr='1'\) cannot step: "),
        (lambda: Torch(torch.optim.Adam, rate=1), "cannot step: .*unexpected keyword argument 'rate'"),
        (lambda: Torch(torch.optim.LBFGS), "cannot step: .*closure"),
    ],
)
def test_bad_options_of_stages_and_optimisers_are_refused(make, words):
    with pytest.raises(OptionError, match=words):
        make()


def test_observers_of_shots_receive_every_batch(data, monkeypatch):
    from sweep_core import ObserverRecord
    from sweep_core.plugins import registry

    entries = []
    result = attrs.evolve(registry(), observers=(ObserverRecord("counts", "shot", entries.append),))
    monkeypatch.setattr("sweep_core.inversion.fwi.registry", lambda: result)
    call(data, Stage(1), batch=2, precondition=False)
    assert [(messages.shots, messages.iteration) for messages in entries[:4]] == [
        ((0, 1), 0),
        ((2,), 0),
        ((0, 1), 1),
        ((2,), 1),
    ]
    np.testing.assert_array_equal(entries[0].model, earth()[1])
    assert (entries[2].model != entries[0].model).any()
