"""What a command line asks of an inversion is looked at before anything is computed or written."""

import numpy as np
import pytest

from sweep_core import MemoryOptions, SweepError
from sweep_core.inversion import make_parser, read_settings
from sweep_core.io import faulted_model, write_prepared

FREQUENCIES = {"acoustic": 4, "elastic": 2}

SCALES = np.reshape([[1000, 1000, 1], [1, 1000, 1], [1, 1, 1000]], (3, 3, 1, 1))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_prepared(tmp_path_factory.mktemp("model") / "m.npz", faulted_model((24, 40), 40.0, seed=3))


@pytest.fixture(params=FREQUENCIES)
def read(request, model, tmp_path):
    given = ["--physics", request.param, "--model", str(model), "--freq", str(FREQUENCIES[request.param])]
    return lambda *more: read_settings(make_parser("a test", "torch").parse_args([*given, *map(str, more)]), tmp_path)


NUMBERS = {
    "--seed": {-1: "--seed is -1; expected a number from 0 on"},
    "--max-shots": {0: "--max-shots is 0", 37: "37 shots over a line of 40 cells; expected 1 to 36", 10**11: "1 to 36"},
    "--lr": dict.fromkeys(("inf", "nan", "0", "-1"), "--lr is .*; expected a positive, finite number"),
    "--freq": dict.fromkeys(("inf", "nan", "0", "-1"), "--freq is .*; expected a positive, finite number"),
    "--epochs": {0: "--epochs is 0; expected a number from 1 on"},
}


@pytest.mark.parametrize("option", NUMBERS)
def test_numbers_out_of_range_are_refused(read, option):
    for value, said in NUMBERS[option].items():
        with pytest.raises(SweepError, match=said):
            read(f"{option}={value}")
    assert read("--max-shots=36").experiment.nshots == 36


def test_a_memory_strategy_is_one_of_those_that_are_there(read):
    with pytest.raises(SweepError, match="--memory is 'most'; expected one of 'auto', 'full', 'ckpt', 'boundary'"):
        read("--memory=most")
    known = read().memory.known_above
    assert read().memory == MemoryOptions(known_above=known)
    assert read("--memory=boundary").memory == MemoryOptions("boundary", known_above=known)


def test_rows_of_water_are_known(read):
    """Those of water from side to side, whose gradient nobody would use."""
    settings = read()
    water, known = settings.experiment.model.water, settings.memory.known_above
    assert 0 < known < len(water) and water[:known].all() and not water[known].all()


def test_a_start_in_other_units_is_refused_by_its_rock(read, tmp_path):
    """The water, which is known, is that of the model and in the right unit."""
    initial = read().experiment.model.initial
    thousands = [initial / 1000] if initial.ndim == 2 else [initial / scale for scale in SCALES]
    for start in thousands:
        np.save(tmp_path / "start.npy", start.astype(np.float32))
        with pytest.raises(SweepError, match=r"start.npy is no start of this model: initial: .* multiply it by 1000"):
            read("--init", tmp_path / "start.npy")
    np.save(tmp_path / "start.npy", initial)
    assert np.array_equal(read("--init", tmp_path / "start.npy").experiment.model.initial, initial)
