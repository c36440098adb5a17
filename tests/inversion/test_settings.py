"""The options of an inversion are checked before any computation or output."""

import attrs
import numpy as np
import pytest

from sweep_core import MemoryOptions, SweepError
from sweep_core._util.config import named_values
from sweep_core.inversion import Settings, make_solver, option
from sweep_core.io import faulted_model, write_prepared

FREQUENCIES = {"acoustic": 4, "elastic": 2}

SCALES = np.reshape([[1000, 1000, 1], [1, 1000, 1], [1, 1, 1000]], (3, 3, 1, 1))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_prepared(tmp_path_factory.mktemp("model") / "m.npz", faulted_model((24, 40), 40.0, seed=3))


@pytest.fixture(params=FREQUENCIES)
def read(request, model):
    inputs = ["--physics", request.param, "--model", str(model), "--freq", str(FREQUENCIES[request.param])]
    return lambda *more: Settings.read("a test", [*inputs, *map(str, more)])


NUMBERS = {
    "--seed": {-1: "--seed is -1; expected a whole number from 0 on"},
    "--max-shots": {0: "--max-shots is 0", 37: "37 shots over a line of 40 cells; expected 1 to 36", 10**11: "1 to 36"},
    "--lr": dict.fromkeys(("inf", "nan", "0", "-1"), "--lr is .*; expected a positive, finite number"),
    "--freq": dict.fromkeys(("inf", "nan", "0", "-1"), "--freq is .*; expected a positive, finite number"),
    "--epochs": {0: "--epochs is 0; expected a whole number from 1 on"},
}


@pytest.mark.parametrize("option", NUMBERS)
def test_numbers_out_of_range_are_refused(read, option):
    for value, message in NUMBERS[option].items():
        with pytest.raises(SweepError, match=message):
            read(f"{option}={value}").experiment  # noqa: B018
    assert read("--max-shots=36").experiment.nshots == 36


def test_the_memory_strategy_is_checked(read):
    with pytest.raises(SweepError, match="--memory is 'most'; expected one of 'auto', 'full', 'ckpt', 'boundary'"):
        read("--memory=most")
    known = read().grid()["memory"].known_above
    assert read().grid()["memory"] == MemoryOptions(known_above=known)
    assert read("--memory=boundary").grid()["memory"] == MemoryOptions("boundary", known_above=known)


def test_rows_of_water_are_known(read):
    """Known rows are water over the whole width: their gradient has no use."""
    settings = read()
    water, known = settings.experiment.model.water, settings.grid()["memory"].known_above
    assert 0 < known < len(water) and water[:known].all() and not water[known].all()


def test_a_start_model_in_other_units_is_refused(read, tmp_path):
    """The rock alone shows the unit: the water is replaced by that of the model."""
    initial = read().experiment.model.initial
    thousands = [initial / 1000] if initial.ndim == 2 else [initial / scale for scale in SCALES]
    for start in thousands:
        np.save(tmp_path / "start.npy", start.astype(np.float32))
        with pytest.raises(SweepError, match=r"start.npy does not fit this model: initial: .* multiply it by 1000"):
            read("--init", tmp_path / "start.npy").experiment  # noqa: B018
    np.save(tmp_path / "start.npy", initial)
    assert np.array_equal(read("--init", tmp_path / "start.npy").experiment.model.initial, initial)


@pytest.fixture
def configured(tmp_path):
    def read(text, *arguments):
        (tmp_path / "run.toml").write_text(text)
        return Settings.read("a test", ["--config", str(tmp_path / "run.toml"), *arguments])

    return read


def test_a_file_states_options_and_the_command_line_overrides_them(configured, tmp_path):
    settings = configured('max_shots = 3\nlr = 5\nresume = true\nout = "here"', "--lr=7", "--seed=2")
    assert (settings.max_shots, settings.lr, settings.seed, settings.resume) == (3, 7.0, 2, True)
    assert settings.out == tmp_path / "here", "a path is relative to the file"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max_shotz = 3", "run.toml has no option 'max_shotz'.*did you mean 'max_shots'"),
        ('max_shots = "3"', "run.toml: max_shots is '3'; expected a whole number"),
        ("max_shots = true", "max_shots is True; expected a whole number"),
        ("lr = [1]", r"lr is \[1\]; expected a number"),
        ("resume = 1", "resume is 1; expected true, false or text in quotes"),
        ("out = 3", "out is 3; expected the name of a file"),
        ("epochs = 0", "run.toml: epochs is 0; expected a whole number from 1 on"),
        ("epochs", "run.toml cannot be read as TOML"),
    ],
)
def test_errors_in_a_file_name_the_option(configured, text, expected):
    with pytest.raises(SweepError, match=expected):
        configured(text)


def test_a_script_may_add_options(configured):
    @attrs.frozen(slots=False)
    class Options(Settings):
        device: str = option("auto", "where to compute")

    assert Options.read("a test", ["--device", "cpu", "--epochs", "2"]) == Options(device="cpu", epochs=2)
    with pytest.raises(SweepError, match="has no option 'device'"):
        configured('device = "cpu"')


def test_a_backend_takes_its_options_from_the_settings(model):
    pytest.importorskip("torch")
    settings = Settings(model=model, freq=4, backend="torch", backend_options="impl=eager, device=cpu")
    executor = make_solver(settings, "another", None).executor
    assert (executor.impl, str(executor.device)) == ("eager", "cpu")


@pytest.mark.parametrize(
    ("own", "options", "message"),
    [
        ("another", "impl", "--backend-options is 'impl'; expected one name=value each, such as 'workers=4, backend=t"),
        ("another", "impl=c, impl=eager", "expected one name=value each"),
        ("another", "1=2", "expected one name=value each"),
        ("another", "colour=red", "backend 'reference' takes no 'colour'"),
        ("reference", "impl=c", "--backend-options is 'impl=c', but the script makes the solver of 'reference'"),
    ],
)
def test_bad_options_of_a_backend_are_refused(model, own, options, message):
    settings = Settings(model=model, freq=4, backend="reference", backend_options=options)
    with pytest.raises(SweepError, match=message):
        make_solver(settings, own, None)


def test_options_of_a_backend_are_values_of_toml_or_text():
    text = "a=1, b=2.5, c=true, d='x y', e=tcp://host:8786, f=cuda:1,"
    expected = {"a": 1, "b": 2.5, "c": True, "d": "x y", "e": "tcp://host:8786", "f": "cuda:1"}
    assert named_values(text, "options") == expected and named_values("", "options") == {}
