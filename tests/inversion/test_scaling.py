"""Steps that grow with their shots: the factors, the same numbers in torch and JAX, and continued runs."""

import numpy as np
import pytest
from inverting import call, earth, observed, solver

from sweep_core import OptionError
from sweep_core.inversion import LinearScaling, Settings, Stage, StopInversion

torch = pytest.importorskip("torch")
pytest.importorskip("tqdm")
from sweep_torch import Torch  # noqa: E402

LIMITS = np.full(3, -100.0), np.full(3, 100.0)


@pytest.fixture(scope="module")
def data():
    return observed(solver(), [torch.from_numpy(earth()[0])])


def path(optimiser, steps=6):
    """Return the vectors after each step on a parabola."""
    points = []
    optimiser.minimise(lambda x: (0.0, x - 7.0), LIMITS, steps, lambda x: points.append(x.copy()))
    return np.array(points)


def test_the_factor_grows_linearly_and_stays():
    scaling = LinearScaling(reference=4, warmup=4)
    assert [scaling.factor(step, 12) for step in (1, 2, 3, 4, 5, 100)] == [1.5, 2.0, 2.5, 3.0, 3.0, 3.0]
    assert [scaling.factor(step, 2) for step in (1, 4)] == [0.5, 0.5]
    assert LinearScaling(4).factor(1, 12) == 3.0


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_the_factor_is_one_of_the_learning_rate(name):
    """Without a warm-up, three times the shots are three times the learning rate."""
    make = getattr(torch.optim, name)
    scaled = path(Torch(make, shots=6, scaling=LinearScaling(reference=2), lr=0.1))
    np.testing.assert_allclose(scaled, path(Torch(make, shots=6, lr=0.3)), rtol=1e-12)
    assert np.abs(scaled - path(Torch(make, shots=6, lr=0.1))).max() > 0.1


def test_a_warm_up_has_the_learning_rates_of_a_schedule():
    """The reference is plain torch with a rate that is set before each step."""
    x = torch.nn.Parameter(torch.zeros(3, dtype=torch.float64))
    adam, points = torch.optim.Adam([x], lr=0.1), []
    for factor in (1 + 2 / 4, 1 + 4 / 4, 1 + 6 / 4, 3, 3, 3):
        adam.param_groups[0]["lr"] = 0.1 * factor
        x.grad = x.detach() - 7.0
        adam.step()
        points.append(x.detach().numpy().copy())
    scaling = LinearScaling(reference=2, warmup=4)
    np.testing.assert_allclose(path(Torch(torch.optim.Adam, 6, scaling, lr=0.1)), points, rtol=1e-12)


def test_torch_and_jax_take_the_same_steps():
    jax, optax = pytest.importorskip("jax"), pytest.importorskip("optax")
    from sweep_jax import Optax

    scaling = LinearScaling(reference=2, warmup=3)
    with jax.enable_x64(True):
        ours = path(Optax(optax.adam(0.1), 6, scaling))
    np.testing.assert_allclose(ours, path(Torch(torch.optim.Adam, 6, scaling, lr=0.1)), rtol=1e-12)


@pytest.mark.parametrize("stopped", [1, 3])
def test_a_run_that_continues_in_its_warm_up_has_the_same_bits(stopped, data, tmp_path):
    def stop(state):
        if state.iteration == stopped:
            raise StopInversion

    adam = Torch(torch.optim.Adam, shots=2, scaling=LinearScaling(1, warmup=4), lr=0.3)
    whole = call(data, Stage(6), optimiser=adam)
    call(data, Stage(6), optimiser=adam, folder=tmp_path / "run", observers=[stop])
    again = call(data, Stage(6), optimiser=adam, folder=tmp_path / "run")
    np.testing.assert_array_equal(again.models[0], whole.models[0])
    plain = call(data, Stage(6), optimiser=Torch(torch.optim.Adam, shots=2, lr=0.3))
    assert not np.array_equal(plain.models[0], whole.models[0])


def test_a_run_with_another_scaling_is_refused(data, tmp_path):
    adam = {scale: Torch(torch.optim.Adam, 2, LinearScaling(scale), lr=0.3) for scale in (1, 2)}
    call(data, Stage(1), optimiser=adam[1], folder=tmp_path)
    with pytest.raises(ValueError, match=r"optimiser was .*LinearScaling\(reference=1"):
        call(data, Stage(1), optimiser=adam[2], folder=tmp_path)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: LinearScaling(0), "LinearScaling: reference is 0; expected a whole number of shots"),
        (lambda: LinearScaling(None), "LinearScaling: reference is None"),
        (lambda: LinearScaling(2, -1), "LinearScaling: warmup is -1"),
        (lambda: Torch(torch.optim.Adam, 4, 2.0), "scaling is 2.0; expected a LinearScaling"),
        (lambda: Settings(warmup=3), "--warmup is 3, but --lr-shots is not given"),
        (lambda: Settings(warmup=-1, lr_shots=2), "--warmup is -1"),
    ],
)
def test_wrong_values_are_refused(make, message):
    with pytest.raises(OptionError, match=message):
        make()


def test_more_shots_than_a_stage_has_are_refused(data):
    adam = Torch(torch.optim.Adam, shots=3, scaling=LinearScaling(1), lr=0.3)
    with pytest.raises(OptionError, match="stage 2: shots is 3 in .* but the stage has 2; expected at most these"):
        call(data, [Stage(1), Stage(1, shots=2)], optimiser=adam)


def test_scripts_state_the_scaling():
    assert Settings().scaling is None
    settings = Settings.read("a test", ["--lr-shots", "4", "--warmup", "10", "--batchsize", "8"])
    assert settings.scaling == LinearScaling(4, 10) and settings.scaling.factor(10, settings.shots_per_step) == 2
