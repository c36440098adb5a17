"""Simultaneous shots with random signs: one record is a sum of shots, and the mean misfit is the sum over shots."""

from itertools import product

import attrs
import numpy as np
import pytest
from inverting import DH, DT, NT, RECEIVERS, SHAPE, call, earth, observed, on_ranks, solver, survey
from scipy.linalg import hadamard

from sweep_core import Acoustic, AcousticVariableDensity, OptionError, Shots, UnsupportedError, backend, make_problem
from sweep_core.inversion import LBFGS, Encoding, Objective, Stage, illumination, invert
from sweep_core.misfit import envelope, global_correlation

torch = pytest.importorskip("torch")
from sweep_torch import Torch  # noqa: E402


def objective(nshots=4, nsrc=1, nfield=1, wavelet="own", executor="torch", **options):
    """Return a random survey: `wavelet` is shared, or each shot's or source's own."""
    random = np.random.default_rng(0)
    equation = AcousticVariableDensity() if nfield == 2 else Acoustic()
    fields = {"source_type": ["p", "vx"]} if nfield == 2 else {}
    problem = make_problem(equation, SHAPE, DH, DT, pml_width=8, **fields)
    sources = np.stack([random.integers(2, 34, (nshots, nsrc)), random.integers(1, 5, (nshots, nsrc))], axis=-1)
    lead = {"shared": (), "own": (nshots,), "each": (nshots, nsrc)}[wavelet]
    amplitudes = random.uniform(0.5, 2, (*lead, 1, *[nfield][: nfield - 1]))
    waves = amplitudes * (survey(np.float64).wavelet[:, None] if nfield == 2 else survey(np.float64).wavelet)
    shots = Shots(waves, sources if nsrc > 1 else sources[:, 0], RECEIVERS, options.pop("mask", None))
    data = random.standard_normal((nshots, NT, len(RECEIVERS), 1)) * 1e-2
    return Objective(backend(executor), problem, shots, data, batch=3, **options)


def start(objective):
    return [earth()[1].astype(np.float64), np.full(SHAPE, 1000.0)][: len(objective.problem.equation.parameters)]


def encoding(nshots, signs, count=1):
    result = Encoding(count, nshots, 0)
    result.signs = np.asarray(signs)
    return result


WEIGHTS = np.repeat(np.random.default_rng(1).random((1, NT, 18, 1)), 4, axis=0)
RECEIVER_MASK = np.repeat(np.random.default_rng(2).random((1, 18)) > 0.3, 4, axis=0)


@pytest.mark.parametrize("executor", ["torch", "jax"])
def test_the_mean_over_orthogonal_signs_is_the_sum_over_shots(executor):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        whole = objective(executor=executor, weights=WEIGHTS, low=2.0, high=9.0, mask=RECEIVER_MASK)
        models = start(whole)
        value, (gradient,) = whole(models)
        values = [encoding(4, signs)(whole, np.arange(4))(models) for signs in hadamard(4)]
    assert len({misfit for misfit, _ in values}) == 4  # every row of signs gives another misfit
    assert np.mean([misfit for misfit, _ in values]) == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(np.mean([g for _, (g,) in values], axis=0), gradient, atol=1e-10 * abs(gradient).max())


def test_the_mean_over_all_signs_is_the_sum_over_shots():
    whole = objective(3)
    models = start(whole)
    values = [encoding(3, signs, 2)(whole, np.arange(3))(models) for signs in product([-1, 1], repeat=3)]
    assert np.mean([misfit for misfit, _ in values]) == pytest.approx(whole(models)[0], rel=1e-10)


def test_signs_are_uniform_and_independent():
    result, draws = Encoding(1, 5, seed=3), []
    for _ in range(2000):
        result.draw()
        draws.append(result.signs)
    correlation = np.einsum("di,dj->ij", draws, draws) / len(draws)
    assert np.abs(correlation - np.eye(5)).max() < 4 / np.sqrt(len(draws))
    assert np.abs(np.mean(draws, axis=0)).max() < 4 / np.sqrt(len(draws))
    again = Encoding(1, 5, seed=3)
    again.draw()
    assert (again.signs == draws[0]).all()
    assert any((Encoding(1, 20, seed).signs != Encoding(1, 20, 3).signs).any() for seed in (1, 2))


SURVEYS = [
    (nsrc, nfield, wavelet) for nsrc, nfield in ((1, 1), (2, 1), (2, 2)) for wavelet in ("shared", "own", "each")
]


@pytest.mark.parametrize(("nsrc", "nfield", "wavelet"), [s for s in SURVEYS if s[0] > 1 or s[2] != "each"])
@pytest.mark.parametrize("count", [1, 2, 9])
def test_the_encoded_record_is_the_sum_of_signed_records(wavelet, nsrc, nfield, count):
    whole = objective(5, nsrc, nfield, wavelet)
    models, selection = start(whole), np.array([0, 1, 3, 4])[: 4 if count != 2 else 3]
    instance = encoding(5, [1, -1, 1, -1, -1], count)
    result = instance(whole, selection).record(models)
    single, parts = whole.record(models), instance.parts(selection)
    assert len(result) == len(parts) == instance.cost(selection) == min(count, len(selection))
    assert sorted(np.concatenate(parts)) == list(selection)
    expected = [sum(instance.signs[shot] * single[shot] for shot in part) for part in parts]
    np.testing.assert_allclose(result, expected, atol=1e-10 * np.abs(single).max())


def test_the_illumination_is_close_to_that_of_all_shots():
    """The difference is the noise of the random signs."""
    whole = objective()
    models = start(whole)
    full = illumination(whole, models)[0]
    sums = [illumination(Encoding(1, 4, seed)(whole, np.arange(4)), models, seed=seed)[0] for seed in range(8)]
    assert np.linalg.norm(np.mean(sums, axis=0) - full) < 0.3 * np.linalg.norm(full)


@pytest.fixture(scope="module")
def data():
    return observed(solver(), [torch.from_numpy(earth()[0])])


OPTIMISERS = {"L-BFGS": LBFGS(), "Adam": Torch(torch.optim.Adam, shots=3, lr=0.3)}


@pytest.fixture
def draws(monkeypatch):
    """Return the list of random signs, which grows during the test."""
    entries, draw = [], Encoding.draw
    monkeypatch.setattr(Encoding, "draw", lambda self: (draw(self), entries.append(self.signs))[0])
    return entries


def test_an_inversion_of_encoded_shots_reduces_the_misfit(data, draws):
    prop = solver()

    def misfit(models):
        """Return the misfit of separate shots."""
        return Objective(prop.executor, prop.problem, survey(), data)(models)[0]

    for name, iterations in (("L-BFGS", 8), ("Adam", 30)):
        result = call(data, Stage(iterations, encoded=1), optimiser=OPTIMISERS[name])
        assert misfit(result.models) < 0.4 * misfit([earth()[1]]), (misfit(result.models), misfit([earth()[1]]))
        if name == "L-BFGS":
            assert len(draws) == 1
            assert result.history[-1]["misfit"] < 0.1 * result.history[0]["misfit"]
        else:
            assert len(draws) == 2 + 30 and len({tuple(signs) for signs in draws}) > 4
            assert result.history[-1]["gradients"] == pytest.approx(32 / 3)


def test_each_stage_draws_other_signs(data, draws):
    call(data, [Stage(1, encoded=1)] * 4)
    assert len({tuple(signs * signs[0]) for signs in draws}) > 1


@pytest.mark.parametrize("optimiser", OPTIMISERS.values(), ids=OPTIMISERS)
def test_a_killed_inversion_goes_on_to_the_same_bits(data, tmp_path, optimiser):
    stages = [Stage(3, encoded=1), Stage(3, encoded=2, coarsen=2, high=8.0)]

    class Killed(BaseException):
        pass

    def kill(after):
        def observer(event):
            if event.iteration == after:
                raise Killed

        return [observer]

    expected = call(data, stages, optimiser=optimiser)
    for after in (1, 2, 5):
        with pytest.raises(Killed):
            call(data, stages, optimiser=optimiser, folder=tmp_path, observers=kill(after))
    result = call(data, stages, optimiser=optimiser, folder=tmp_path)
    assert np.array_equal(result.models[0], expected.models[0]) and (result.models[0] != earth()[1]).any()


def test_ranks_share_the_encoded_shots(data):
    """Two encoded shots of three, and one encoded shot for two ranks: one rank has no work."""
    for count in (2, 1):
        serial = call(data, Stage(3, encoded=count))
        for result in on_ranks(2, lambda group, count=count: call(data, Stage(3, encoded=count), group=group)):
            np.testing.assert_allclose(result.models[0], serial.models[0], rtol=1e-4)


def test_observers_receive_the_indices_of_encoded_shots(data, monkeypatch):
    from sweep_core import ObserverRecord
    from sweep_core.plugins import registry

    entries = []
    result = attrs.evolve(registry(), observers=(ObserverRecord("counts", "shot", entries.append),))
    monkeypatch.setattr("sweep_core.inversion.fwi.registry", lambda: result)
    call(data, Stage(1, encoded=2), batch=1, precondition=False)
    assert {answer.shots for answer in entries} == {(0, 2), (1,)}


MOVING = np.stack([RECEIVERS, RECEIVERS + np.array([1, 0]), RECEIVERS])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"misfit": envelope},
            "misfit is <function envelope.*; expected sweep_core.misfit.least_squares for a Stage with encoded",
        ),
        ({"stage": {"misfit": global_correlation}}, "misfit is <function global_correlation"),
        (
            {"receivers": MOVING},
            "receivers that record every shot, but receivers of shot 1 differ from those of shot 0",
        ),
        ({"receiver_mask": np.arange(54).reshape(3, 18) < 53}, "receiver_mask of shot 2 differ"),
        ({"weights": np.arange(3.0).reshape(3, 1, 1, 1)}, "weights of shot 1 differ"),
        ({"stage": {"weights": np.arange(3.0).reshape(3, 1, 1, 1)}}, "weights of shot 1 differ"),
    ],
)
def test_unsupported_encoded_stages_are_refused_before_the_first_stage(data, options, words):
    shots, stage = survey(), options.pop("stage", {})
    receivers = options.pop("receivers", RECEIVERS)
    arguments = (
        solver(),
        shots.wavelet,
        shots.sources,
        receivers,
        data,
        [earth()[1]],
        [Stage(9), Stage(1, encoded=1, **stage)],
    )
    with pytest.raises(UnsupportedError, match=words):
        invert(*arguments, progress=False, observers=[pytest.fail], **options)


def test_equal_receivers_for_each_shot_are_accepted(data):
    shots = survey()
    inputs = solver(), shots.wavelet, shots.sources, np.stack([RECEIVERS] * 3), data, [earth()[1]], Stage(1, encoded=1)
    result = invert(*inputs, fixed=earth()[2], progress=False, receiver_mask=np.ones((3, 18), bool))
    np.testing.assert_array_equal(result.models[0], call(data, Stage(1, encoded=1)).models[0])


@pytest.mark.parametrize("encoded", [True, 0, -1, 1.5, "all"])
def test_encoded_must_be_a_positive_number(encoded):
    with pytest.raises(OptionError, match="encoded is .*; expected a whole number from 1 on"):
        Stage(1, encoded=encoded)
