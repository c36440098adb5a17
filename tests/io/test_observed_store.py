"""A store of observed data: shots are written completely or not at all, checked when read, and missing ones are named."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

zarr = pytest.importorskip("zarr")

from sweep_core import CheckpointError, DataError, DomainError, DtypeError, OptionError, ShapeError, StorageError  # noqa: E402
from sweep_core.io import Gathers, ObservedStore, store_gathers  # noqa: E402

SHAPE = (6, 40, 5, 2)
ROOT = Path(__file__).parents[2]


def record(count=SHAPE[0], dtype=np.float32):
    return np.random.default_rng(0).standard_normal((count, *SHAPE[1:])).astype(dtype)


@pytest.fixture
def store(tmp_path):
    return ObservedStore.create(tmp_path / "line.zarr", SHAPE, 0.002, metadata={"crew": "A"})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_shots_are_read_in_any_order_with_the_written_bits(dtype, tmp_path):
    fresh = ObservedStore.create(tmp_path / "line.zarr", SHAPE, 0.002, dtype, {"crew": "A"})
    data = record(dtype=dtype)
    fresh.write([4, 1], data[[4, 1]])
    fresh.write(np.array([0, 2, 3, 5]), data[[0, 2, 3, 5]])
    again = ObservedStore.open(tmp_path / "line.zarr")
    assert (again.shape, again.dtype, again.dt, again.metadata) == (SHAPE, np.dtype(dtype), 0.002, {"crew": "A"})
    for shots in ([5, 0, 0], np.array([3]), slice(None), slice(4, 1, -2), 2, []):
        result = again[shots]
        expected = data[np.array(shots, int) if isinstance(shots, list) else shots]
        np.testing.assert_array_equal(result, expected)
        assert result.dtype == np.dtype(dtype)
    assert not again.missing().size


def test_one_chunk_holds_one_shot(store):
    store.write([2], record(1))
    files = {path.relative_to(store.path).as_posix() for path in store.path.rglob("*") if path.is_file()}
    assert files == {f"{name}zarr.json" for name in ("", "record/", "checksum/")} | {
        "record/c/2/0/0/0",
        "checksum/c/2/0",
    }


def test_a_large_shot_has_several_chunks(store, monkeypatch, tmp_path):
    """The compressor admits 2 GiB at once."""
    monkeypatch.setattr("sweep_core.io.observed_store.LARGEST_CHUNK", 40 * 2 * 4 * 2)
    fresh = ObservedStore.create(tmp_path / "large.zarr", SHAPE, 0.002)
    fresh.write([3], record(1))
    assert len([*(fresh.path / "record/c/3").rglob("0")]) > 1 and fresh.record.chunks == (1, 40, 2, 2)
    np.testing.assert_array_equal(fresh[[3]], record(1))


def test_missing_shots_are_named(store):
    store.write([0, 3], record(2))
    assert store.missing().tolist() == [1, 2, 4, 5]
    store.check_written([0, 3])
    with pytest.raises(DataError, match="lacks shots 1, 2, 4, 5; expected"):
        store.check_written()
    with pytest.raises(DataError, match="shot 4 of .* was not written"):
        store[[0, 4]]


def test_a_shot_of_zeros_counts_as_written_and_a_survey_of_zeros_does_not_count(store):
    store.write([0, 1], np.zeros((2, *SHAPE[1:]), np.float32))
    store.write([2], record(1))
    assert store.missing().tolist() == [3, 4, 5]
    assert not store[[0]].any()
    store.check_written([0, 2])
    with pytest.raises(DataError, match="zero throughout"):
        store.check_written([0, 1])


def test_a_shot_that_is_written_again_replaces_the_first(store):
    store.write([1], record(1))
    before = store.version
    store.write([1], 2 * record(1))
    np.testing.assert_array_equal(store[[1]], 2 * record(1))
    changed = store.version
    store.write([1], record(1))
    assert store.version == before != changed


def test_the_version_is_that_of_the_contents(store, tmp_path):
    other = ObservedStore.create(tmp_path / "other.zarr", SHAPE, 0.002)
    store.write([0, 1], record(2))
    other.write([1], record(2)[1:])
    assert other.version != store.version
    other.write([0], record(1))
    assert other.version == store.version


@pytest.mark.parametrize("how", ["changed", "cut", "removed"])
def test_a_damaged_shot_is_named(how, store):
    store.write([0, 1], record(2))
    chunk = store.path / "record/c/1/0/0/0"
    if how == "changed":
        (store.path / "record/c/0/0/0/0").replace(chunk)
    elif how == "cut":
        os.truncate(chunk, chunk.stat().st_size // 2)
    else:
        chunk.unlink()
    with pytest.raises(DataError, match="shot 1 of .*(is damaged|cannot be read).*; write it again"):
        store[[1]]
    store.write([1], record(1))
    np.testing.assert_array_equal(store[[1]], record(1))


REFUSALS = {
    "another shape": (lambda s: s.write([0], record(2)), ShapeError, r"expected \(1, 40, 5, 2\)"),
    "another dtype": (lambda s: s.write([0], record(1, np.float64)), DtypeError, "float64; expected float32"),
    "a shot twice": (lambda s: s.write([1, 1], record(2)), OptionError, "each shot once"),
    "no such shot": (lambda s: s.write([6], record(1)), DomainError, "from 0 to 5"),
    "reading no such shot": (lambda s: s[[-1]], DomainError, "from 0 to 5"),
    "all at once": (lambda s: np.asarray(s), OptionError, "not loaded unasked"),
    "a path that exists": (lambda s: ObservedStore.create(s.path, SHAPE, 0.002), CheckpointError, "exists"),
    "a folder without store": (lambda s: ObservedStore.open(s.path.parent), CheckpointError, "no store"),
    "an array of the group": (lambda s: ObservedStore.open(s.path / "record"), CheckpointError, "no store"),
    "whole numbers": (
        lambda s: ObservedStore.create("x.zarr", SHAPE, 0.002, "int16"),
        DtypeError,
        "float32 or float64",
    ),
    "three axes": (lambda s: ObservedStore.create("x.zarr", SHAPE[1:], 0.002), ShapeError, "nshots, nt, nrec, nfield"),
    "no shots": (lambda s: ObservedStore.create("x.zarr", (0, 4, 4, 1), 0.002), OptionError, "from 1 on"),
    "no interval": (lambda s: ObservedStore.create("x.zarr", SHAPE, 0), DomainError, "above zero"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_does_not_fit_is_refused(name, store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    action, kind, match = REFUSALS[name]
    with pytest.raises(kind, match=match):
        action(store)
    assert len(store.missing()) == 6 and not Path("x.zarr").exists()


def test_another_zarr_group_is_neither_opened_nor_removed(tmp_path):
    zarr.create_group(tmp_path / "mine")
    for action in (ObservedStore.open, lambda p: ObservedStore.create(p, SHAPE, 0.002, overwrite=True)):
        with pytest.raises(CheckpointError, match="another Zarr group"):
            action(tmp_path / "mine")
    assert (tmp_path / "mine/zarr.json").exists()


def test_a_store_of_a_later_format_is_refused(store):
    store.group.attrs["version"] = 2
    with pytest.raises(CheckpointError, match="version 2, and this SWEEP reads 1"):
        ObservedStore.open(store.path)


def test_overwrite_removes_a_store(store):
    store.write([0], record(1))
    assert len(ObservedStore.create(store.path, (3, 4, 5, 1), 0.001, overwrite=True).missing()) == 3


WRITER = """
import os, sys
import numpy as np
from sweep_core.io import ObservedStore
from zarr.storage import LocalStore

store, moment = ObservedStore.open(sys.argv[1]), sys.argv[2]
put = LocalStore.set
async def stop(self, key, value):
    if moment in key and "/c/1" in key:
        os.kill(os.getpid(), 9)
    return await put(self, key, value)
LocalStore.set = stop
data = np.random.default_rng(0).standard_normal((2, *store.shape[1:])).astype(np.float32)
store.write([0, 1], data)
"""


@pytest.mark.parametrize("moment", ["record", "checksum"])
@pytest.mark.parametrize("begun", [False, True])
def test_a_killed_writer_leaves_no_half_of_a_shot(begun, moment, store):
    if begun:  # the shot was there, and is replaced
        store.write([1], 3 * record(1))
    done = subprocess.run(
        [sys.executable, "-c", WRITER, str(store.path), moment], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert store.missing().tolist() == [1, 2, 3, 4, 5]
    np.testing.assert_array_equal(store[[0]], record(1))
    store.write(store.missing(), record()[1:])
    np.testing.assert_array_equal(store[:], record())


def test_a_full_disk_is_an_error_with_the_folder(store, monkeypatch):
    store.write([0], record(1))

    async def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("zarr.storage.LocalStore.set", fail)
    with pytest.raises(
        StorageError, match=r"line\.zarr could not be written: No space left on device; free some space"
    ):
        store.write([1], record(1))
    monkeypatch.undo()
    assert store.missing().tolist() == [1, 2, 3, 4, 5]


def test_a_store_that_cannot_be_created_leaves_nothing(tmp_path, monkeypatch):
    async def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("zarr.storage.LocalStore.set", fail)
    with pytest.raises(StorageError, match=r"line\.zarr could not be written"):
        ObservedStore.create(tmp_path / "line.zarr", SHAPE, 0.002)
    assert not [*tmp_path.iterdir()]


def test_several_processes_write_at_once(store):
    code = (
        "import sys, numpy as np; from sweep_core.io import ObservedStore\n"
        "s, n = ObservedStore.open(sys.argv[1]), int(sys.argv[2])\n"
        "[s.write([k], np.full((1, *s.shape[1:]), k + 1, np.float32)) for k in range(n, 6, 2)]"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(store.path), str(n)], cwd=ROOT) for n in range(2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert store[:][:, 0, 0, 0].tolist() == [1, 2, 3, 4, 5, 6]


# --- gathers ----------------------------------------------------------------------------------------------------------


def gathers(nshots=2, nrec=3, nt=40, dt=0.002, nfield=2):
    data = np.random.default_rng(1).standard_normal((nshots, nt, nrec, nfield))
    return Gathers(np.zeros((nshots, 2)), np.zeros((nshots, nrec, 2)), data, dt=dt, dh=10.0)


def test_gathers_with_fewer_receivers_are_padded(store):
    some = gathers()
    store_gathers(store, some, [5, 2])
    np.testing.assert_array_equal(store[[5, 2]][:, :, :3], some.observed.astype(np.float32))
    assert not store[[5, 2]][:, :, 3:].any() and store.missing().tolist() == [0, 1, 3, 4]
    store_gathers(store, some)
    np.testing.assert_array_equal(store[[0, 1]], store[[5, 2]])


@pytest.mark.parametrize(
    "change, kind, match",
    [
        ({"dt": 0.004}, DomainError, "0.004 s; expected 0.002 s"),
        ({"nt": 41}, ShapeError, "fewer shots and receivers"),
        ({"nrec": 6}, ShapeError, "fewer shots and receivers"),
        ({"nfield": 1}, ShapeError, "fewer shots and receivers"),
        ({"nshots": 7}, ShapeError, "fewer shots and receivers"),
    ],
)
def test_gathers_that_do_not_fit_are_refused(change, kind, match, store):
    with pytest.raises(kind, match=match):
        store_gathers(store, gathers(**change))
    assert len(store.missing()) == 6


def test_only_gathers_are_stored(store):
    with pytest.raises(DtypeError, match="expected sweep_core.io.Gathers"):
        store_gathers(store, record())
