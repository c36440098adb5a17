"""Gathers check their arrays, and files of gathers are read back unchanged, whole or in parts."""

import attrs
import numpy as np
import pytest

from sweep_core import CheckpointError, DomainError, DtypeError, ShapeError, ShotPlan
from sweep_core.io import Gathers, Line, Misfit, read_gathers, write_gathers

NSHOTS, NT, NREC = 5, 30, 4
ARRAYS = ("sources", "receivers", "observed", "receiver_mask", "recorded", "clipped", "shots", "traces")


def parts(**changes):
    rng = np.random.default_rng(0)
    mask = np.ones((NSHOTS, NREC), bool)
    mask[2, 3] = False
    products = {
        "sources": rng.uniform(0, 50, (NSHOTS, 2)),
        "receivers": rng.uniform(0, 50, (NSHOTS, NREC, 2)),
        "observed": rng.standard_normal((NSHOTS, NT, NREC, 1)).astype(np.float32) * mask[:, None, :, None],
        "dt": 0.002,
        "dh": (5.0, 10.0),
        "receiver_mask": mask,
        "line": Line((3.5, 1e6), (1, 2)),
        "misfit": Misfit(1.0, 2.0, 0.5),
        "notes": ("a note", "wörter"),
        "name": "line 12",
        "datum": 3.0,
    }
    return products | changes


def assert_same(result, expected):
    for key in ARRAYS:
        a, b = getattr(result, key), getattr(expected, key)
        assert a.dtype == b.dtype and a.flags.c_contiguous, key
        np.testing.assert_array_equal(a, b)
    for key in ("dt", "dh", "line", "misfit", "datum", "name", "notes"):
        assert getattr(result, key) == getattr(expected, key), key


def test_gathers_are_read_back_unchanged(tmp_path):
    gathers = Gathers(**parts())
    assert write_gathers(tmp_path / "new" / "g.npz", gathers) == tmp_path / "new" / "g.npz"
    assert_same(read_gathers(tmp_path / "new" / "g.npz"), gathers)


def test_a_rank_reads_only_its_own_records(tmp_path, monkeypatch):
    gathers, plan = Gathers(**parts()), ShotPlan(NSHOTS, 2)
    write_gathers(tmp_path / "g.npz", gathers)
    read_keys = []
    read = read_gathers.__globals__["read_archive"]
    monkeypatch.setitem(
        read_gathers.__globals__,
        "read_archive",
        lambda path, keys, what: read(path, read_keys.extend(keys := [*keys]) or keys, what),
    )
    for rank in range(2):
        read_keys.clear()
        assert_same(read_gathers(tmp_path / "g.npz", plan.part(rank)), gathers.take(plan.part(rank)))
        assert sum(key.startswith("observed") for key in read_keys) == len(plan.part(rank))
    assert_same(read_gathers(tmp_path / "g.npz", [3, 1]), gathers.take([3, 1]))


def test_gathers_may_be_written_in_parts(tmp_path):
    gathers = Gathers(**parts())
    write_gathers(tmp_path / "g.npz", (gathers.take(part) for part in ([], [0, 1], [2], [3, 4])))
    assert_same(read_gathers(tmp_path / "g.npz"), gathers)
    other = attrs.evolve(gathers, dt=0.004, recorded=None)
    for wrong, message in (
        ([gathers, other], "dt is 0.004; expected 0.002, as in the first part"),
        ([], "no gathers to write"),
    ):
        with pytest.raises(ShapeError, match=message):
            write_gathers(tmp_path / "other.npz", wrong)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.npz"]


def test_other_files_and_arguments_are_refused(tmp_path):
    gathers, path = Gathers(**parts()), tmp_path / "g.npz"
    write_gathers(path, gathers)
    for shots in ([5], [-1]):
        with pytest.raises(ShapeError, match="expected numbers from 0 to 4, the shots of .*g.npz"):
            read_gathers(path, shots)
    for odd in (3, None, b"g.npz"):
        for call in (read_gathers, lambda path: write_gathers(path, gathers)):
            with pytest.raises(DtypeError, match="path is .*; expected a string or a pathlib.Path"):
                call(odd)
    for odd in (3, [3], None):
        with pytest.raises(DtypeError, match="gathers (are|is a) .*; expected"):
            write_gathers(tmp_path / "none.npz", odd)
    whole = path.read_bytes()
    at = whole.index(gathers.observed[1].tobytes()[:40])
    path.write_bytes(whole[:at] + b"\0" * 4 + whole[at + 4 :])
    assert_same(read_gathers(path, [0, 2]), gathers.take([0, 2]))
    with pytest.raises(CheckpointError, match="g.npz cannot be read as gathers.*CRC"):
        read_gathers(path, [1])
    np.savez(path, observed=gathers.observed)
    with pytest.raises(CheckpointError, match="g.npz holds no gathers: it has no format"):
        read_gathers(path)
    with pytest.raises(CheckpointError, match="there is no file"):
        read_gathers(tmp_path / "none.npz")


def test_a_damaged_file_is_read_correctly_or_refused(tmp_path):
    """The file has checksums."""
    gathers, path, rng = Gathers(**parts()), tmp_path / "g.npz", np.random.default_rng(0)
    write_gathers(path, gathers)
    whole = path.read_bytes()
    for _ in range(60):
        content = bytearray(whole)
        for at in rng.integers(0, len(whole), int(rng.integers(1, 4))):
            content[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(content[: rng.integers(1, len(whole))] if rng.random() < 0.2 else content)
        try:
            result = read_gathers(path)
        except CheckpointError as error:
            assert "g.npz" in str(error)
            continue
        assert_same(result, gathers)


def test_defaults_of_a_synthetic_survey():
    products = {key: value for key, value in parts().items() if key in ("sources", "receivers", "observed", "dt", "dh")}
    gathers = Gathers(**products | {"dh": 10.0})
    assert gathers.receiver_mask.all() and not gathers.clipped.any() and not gathers.dead.any()
    assert (
        gathers.dh == (10.0, 10.0)
        and gathers.shots.tolist() == [0, 1, 2, 3, 4]
        and gathers.nt == NT
        and len(gathers) == NSHOTS
    )
    np.testing.assert_allclose(gathers.offsets[1, 2], 10 * (gathers.receivers[1, 2, 0] - gathers.sources[1, 0]))
    assert gathers.weights().min() == 1 and gathers.weights().dtype == np.float32
    assert str(gathers).startswith(
        "gathers: 5 shots of 4 receivers, 20 traces\n  time      30 samples every 2 ms, 0.058 s"
    )


def test_weights_grow_inside_the_recording():
    products = {key: value for key, value in parts().items() if key in ("sources", "receivers", "observed", "dt", "dh")}
    recorded = np.tile([0.010, 0.040], (NSHOTS, NREC, 1))
    weights = Gathers(**products, recorded=recorded).weights(taper=0.008)[0, :, 0, 0]
    assert not weights[:6].any() and not weights[20:].any() and (weights[9:17] == 1).all()
    np.testing.assert_allclose(weights[5:10], 0.5 - 0.5 * np.cos(np.pi * np.arange(5) / 4), atol=1e-6)


INVALID = {
    "a list": ({"sources": [[1.0, 2.0]] * NSHOTS}, DtypeError, "sources are list"),
    "integers": ({"receivers": np.zeros((NSHOTS, NREC, 2), int)}, DtypeError, "receivers are int64"),
    "nan": ({"observed": np.full((NSHOTS, NT, NREC, 1), np.nan)}, DomainError, "observed hold NaN"),
    "three axes": ({"observed": np.zeros((NSHOTS, NT, NREC))}, ShapeError, r"expected \(nshots, nt, nrec, nfield\)"),
    "columns": ({"sources": np.zeros((NSHOTS, 3))}, ShapeError, r"sources has shape \(5, 3\); expected \(5, 2\)"),
    "mask": ({"receiver_mask": np.ones((NSHOTS, NREC), int)}, DtypeError, "receiver_mask is of int64; expected bool"),
    "masked samples": ({"receiver_mask": np.zeros((NSHOTS, NREC), bool)}, DomainError, "samples where receiver_mask is False"),
    "dt": ({"dt": 0.0}, DomainError, "dt is 0.0"),
    "dh": ({"dh": (1.0, 2.0, 3.0)}, ShapeError, r"dh is \(1.0, 2.0, 3.0\)"),
    "datum": ({"datum": "sea"}, DtypeError, "datum is 'sea'; expected one number, an elevation in metres"),
    "no datum": ({"datum": np.nan}, DomainError, "datum is nan"),
    "name": ({"name": 3}, DtypeError, "name is 3; expected str"),
    "line": ({"line": "a"}, DtypeError, "line is 'a'; expected Line"),
    "shots": ({"shots": np.arange(3)}, ShapeError, r"shots has shape \(3,\); expected \(5,\)"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "kind", "message"), INVALID.values(), ids=INVALID)
def test_invalid_gathers_are_refused(changes, kind, message):
    with pytest.raises(kind, match=message):
        Gathers(**parts(**changes))


@pytest.mark.parametrize("origin", ["ab", ("1", "2"), (0.0, np.nan), (True, False), 3.0])
def test_an_invalid_origin_is_refused(origin):
    with pytest.raises(ShapeError, match="not a point of a map; expected"):
        Line(origin)


def test_take_refuses_a_missing_shot():
    with pytest.raises(DomainError, match="indices is .*; expected numbers of shots from 0 to 4"):
        Gathers(**parts()).take([5])


def test_a_rank_may_have_no_shots(tmp_path):
    gathers = Gathers(**parts())
    write_gathers(tmp_path / "g.npz", gathers)
    assert_same(read_gathers(tmp_path / "g.npz", []), gathers.take([]))
    assert gathers.take([]).observed.shape == (0, NT, NREC, 1) and "0 shots of no receivers" in str(gathers.take([]))
    assert gathers.take([]).weights().shape == (0, NT, NREC, 1)
