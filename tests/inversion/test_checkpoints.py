"""Nothing in a checkpoint is trusted: damaged ones are refused by name, and never go on with other bits."""

import json
import zipfile

import attrs
import numpy as np
import pytest

from sweep_core import CheckpointError, DomainError, SweepError
from sweep_core.inversion import (
    AdamState,
    RunFolder,
    first_scale,
    make_elastic_parser,
    make_parser,
    read_elastic_settings,
    read_settings,
)
from sweep_core.inversion.adam import REACH
from sweep_core.io import faulted_model, write_prepared

LINE = {"misfit": 1.0, "seconds": 0.5}
PARSERS = {"acoustic": (make_parser, read_settings, 4), "elastic": (make_elastic_parser, read_elastic_settings, 2)}


@pytest.fixture(scope="module", params=PARSERS)
def run(request, tmp_path_factory):
    """(settings, folder, state) of a run after two epochs."""
    out = tmp_path_factory.mktemp(request.param)
    parser, read, freq = PARSERS[request.param]
    model = write_prepared(out / "model.npz", faulted_model((24, 40), 40.0, seed=3))
    words = f"--model {model} --out {out / 'run'} --max-shots 5 --batchsize 3 --freq {freq}"
    settings = read(parser("a test", "reference").parse_args(words.split()), out)
    experiment, rng = settings.experiment, np.random.default_rng(1)
    initial, count = experiment.model.initial, len(experiment.names)
    model = experiment.update(initial + rng.normal(0, 1, initial.shape).astype(np.float32))
    mean = rng.normal(0, 1, initial.shape).astype(np.float32)
    state = AdamState(model, rng.uniform(1, 2, count), 4, mean, mean**2)
    folder = RunFolder(settings.out, settings.identity())
    folder.claim()
    folder.start()
    for epoch in range(3):
        folder.append(epoch=epoch, model_error=experiment.model_error(model), **LINE)
    state.save(settings, folder, 2)
    folder.release()
    return settings, folder, state


@pytest.fixture
def damaged(run):
    """A function that loads the checkpoint from other bytes; the right ones are put back."""
    settings, folder, state = run
    whole = folder.checkpoint.read_bytes()

    def load(data):
        folder.checkpoint.write_bytes(data)
        return AdamState.load(settings, folder)

    yield load, whole
    folder.checkpoint.write_bytes(whole)


def entries(folder):
    with np.load(folder.checkpoint, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def packed(path, arrays, **options):
    np.savez(path, **arrays, **options)
    return path.read_bytes()


def same(one, two):
    pairs = zip(attrs.astuple(one, recurse=False), attrs.astuple(two, recurse=False), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def test_a_whole_one_comes_back_bit_for_bit(run):
    settings, folder, state = run
    found, checkpoint = AdamState.load(settings, folder)
    assert same(found, state) and checkpoint.epoch == 2 and len(checkpoint.history) == 3


SHAPES = {
    "scalar": lambda x: x.ravel()[0],
    "another axis": lambda x: x[None],
    "cropped": lambda x: x[..., :-1] if x.ndim else np.stack([x, x]),
    "transposed": lambda x: x.T if x.ndim > 1 else x.reshape(-1, 1),
    "empty": lambda x: x[:0] if x.ndim else np.empty(0, x.dtype),
}
DTYPES = {
    "float16": lambda x: x.astype(np.float16),
    "complex": lambda x: x.astype(complex),
    "text": lambda x: x.astype(str),
    "bool": lambda x: x > 0,
    "objects": lambda x: x.astype(object),
}
VALUES = {"negative": lambda x: -1 - np.abs(x), "large": lambda x: x + x.dtype.type(10**6)}
NOT_FINITE = {
    "nan": lambda x: np.where(np.arange(x.size).reshape(x.shape) == x.size - 1, np.float32(np.nan), x),
    "inf": lambda x: x * x.dtype.type(np.inf),
}


def test_every_array_is_held_to_its_shape_dtype_and_range(run, damaged, tmp_path):
    _, folder, state = run
    load, _ = damaged
    good = entries(folder)
    same_shape = {name for name, x in good.items() if x.shape == () or x.shape == (1,)}
    for name in good.keys() - {"identity", "history"}:
        kinds = {**SHAPES, **DTYPES, **VALUES, **(NOT_FINITE if good[name].dtype.kind == "f" else {})}
        for kind, change in kinds.items():
            with np.errstate(all="ignore"):
                values = change(good[name])
            if values.shape == good[name].shape and kind in SHAPES:
                assert name in same_shape
                continue
            if name in ("scale", "exp_avg_sq") and kind == "large":
                continue  # any gradient may have been
            with pytest.raises(CheckpointError) as caught:
                load(packed(tmp_path / "bad.npz", {**good, name: values}, allow_pickle=True))
            assert name in str(caught.value) or kind == "objects", (name, kind)
            assert "give --overwrite" in str(caught.value)


def test_another_byte_order_holds_the_same_numbers(run, damaged, tmp_path):
    load, good = damaged[0], entries(run[1])
    swapped = {name: x.astype(x.dtype.newbyteorder(">")) for name, x in good.items()}
    load(packed(tmp_path / "good.npz", swapped))


def test_every_entry_is_needed_and_none_is_strange(run, damaged, tmp_path):
    load, good = damaged[0], entries(run[1])
    for name in good:
        with pytest.raises(CheckpointError, match=f"has no {name}"):
            load(packed(tmp_path / "bad.npz", {key: x for key, x in good.items() if key != name}))
    with pytest.raises(CheckpointError, match="holds extra, which is nothing of this run"):
        load(packed(tmp_path / "bad.npz", {**good, "extra": np.zeros(2)}))


def test_the_identity_is_in_the_checkpoint_itself(run, damaged, tmp_path):
    """So that the npz of another run beside the right names does not pass."""
    load, good = damaged[0], entries(run[1])
    identity = json.loads(str(good["identity"]))
    for name, value in identity.items():
        for other in ({**identity, name: [value]}, {k: v for k, v in identity.items() if k != name}):
            with pytest.raises(CheckpointError, match=f"another run: {name} was "):
                load(packed(tmp_path / "bad.npz", {**good, "identity": json.dumps(other)}))
    with pytest.raises(CheckpointError, match="another run: colour was 'red' and is now None"):
        load(packed(tmp_path / "bad.npz", {**good, "identity": json.dumps({**identity, "colour": "red"})}))
    for text in ("", "{", "[]", "null", "[" * 100_000, 3.0):
        with pytest.raises(CheckpointError, match="identity"):
            load(packed(tmp_path / "bad.npz", {**good, "identity": text}))


def test_the_history_is_that_of_its_epochs(run, damaged, tmp_path):
    load, good = damaged[0], entries(run[1])
    lines = json.loads(str(good["history"]))
    wrong = [lines[:-1], lines[1:], [*lines, lines[-1]], [], {}, [1, 2, 3], [{}, {}, {}], "history"]
    for name in lines[0]:
        huge = (float("nan"), float("inf"), 10**400)
        wrong += [[*lines[:2], {**lines[2], name: value}] for value in ("1", None, [[1.0]], {}, *huge)]
        wrong += [[*lines[:2], {key: x for key, x in lines[2].items() if key != name}]]
    wrong += [[*lines[:2], {**lines[2], "model_error": [1.0] * 7}], [{**line, "model_error": []} for line in lines]]
    for history in wrong:
        with pytest.raises(CheckpointError, match="history"):
            load(packed(tmp_path / "bad.npz", {**good, "history": json.dumps(history)}))
    for epoch in (0, 1, 3, 2**33, 2**62, 2**63 - 1):
        with pytest.raises(CheckpointError, match=f"is of epoch {epoch}, and its history of"):
            load(packed(tmp_path / "bad.npz", {**good, "epoch": np.array(epoch)}))


def test_a_mean_gradient_is_one_that_its_mean_square_allows():
    """The bound is reached by no gradient, and missed by little by the worst."""
    b1, b2, steps = 0.9, 0.999, 400
    worst = (b1 / b2) ** np.arange(steps)[::-1]
    for gradients in (worst, np.ones(steps), np.eye(steps)[-1], np.random.default_rng(0).normal(size=steps)):
        mean = square = 0.0
        for g in gradients:
            mean, square = b1 * mean + (1 - b1) * g, b2 * square + (1 - b2) * g * g
        assert abs(mean) <= REACH * np.sqrt(square)
        if gradients is worst:
            assert abs(mean) > 0.99 * REACH * np.sqrt(square)


@pytest.mark.parametrize(("gradient", "said"), [(0.0, "fits the data already"), (np.nan, "check the data")])
def test_a_first_gradient_is_one(gradient, said):
    parts = np.stack([np.full((2, 3), -4.0), np.full((2, 3), gradient)])
    assert first_scale(("vp",), parts[0]) == [0.25]
    with pytest.raises(DomainError, match=f"gradient in vs at the start is {gradient}: .*{said}"):
        first_scale(("vp", "vs"), parts)


def test_the_model_is_one_that_the_run_may_have_come_to(run, damaged, tmp_path):
    settings, folder, _ = run
    load, good, water = damaged[0], entries(folder), settings.experiment.model.water
    for name in settings.experiment.names:
        for values in (np.where(water, good[name] + 1, good[name]), np.where(water, good[name], good[name] * 9)):
            with pytest.raises(CheckpointError, match=f"holds {name} that this run cannot have come to"):
                load(packed(tmp_path / "bad.npz", {**good, name: values.astype(np.float32)}))
    for name, value in (("step", np.array(3)), ("scale", 0 * good["scale"])):
        with pytest.raises(CheckpointError, match=f"holds {name} that"):
            load(packed(tmp_path / "bad.npz", {**good, name: value}))


def mutations(whole, rng):
    """Bytes flipped, blocks zeroed, cut out, put in and exchanged, ends cut off."""
    for _ in range(150):
        data = bytearray(whole)
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        yield bytes(data)
    for _ in range(25):
        first, length = rng.integers(len(whole)), rng.integers(1, 500)
        yield whole[:first]
        yield whole[:first] + bytes(length) + whole[first + length :]
        yield whole[:first] + whole[first + length :]
        yield whole[:first] + rng.bytes(length) + whole[first:]
    # Where the zip describes itself, which no checksum covers.
    directory = whole.rindex(b"PK\x05\x06")
    for at in range(int.from_bytes(whole[directory + 16 : directory + 20], "little"), len(whole), 3):
        data = bytearray(whole)
        data[at] ^= 1 << rng.integers(8)
        yield bytes(data)
    yield from (b"", b"PK\x05\x06" + bytes(18), b"\x93NUMPY\x01\x00", b"\x80\x04N.")


def test_damaged_bytes_are_refused_or_change_nothing(run, damaged):
    load, whole = damaged
    refused, count = 0, 0
    for data in mutations(whole, np.random.default_rng(0)):
        count += 1
        try:
            found, checkpoint = load(data)
        except SweepError as error:
            refused += 1
            assert isinstance(error, CheckpointError) and "checkpoint.npz" in str(error)
        else:
            assert same(found, run[2]) and len(checkpoint.history) == 3
    assert count > 300 and refused > 0.6 * count


def test_a_header_that_tells_of_less_is_caught_by_the_checksum(run, damaged, tmp_path):
    """NumPy alone would read a part of the member and never come to its checksum."""
    load, whole = damaged
    name = run[0].experiment.names[0]
    with zipfile.ZipFile(run[1].checkpoint) as archive:
        header = archive.read(f"{name}.npy")[:128]
    shorter = header.replace(b"40), }", b"10), }")
    assert shorter != header and whole.count(header) >= 1
    with pytest.raises(CheckpointError, match=f"entry {name}: (Bad CRC-32|it holds)"):
        load(whole.replace(header, shorter, 1))
