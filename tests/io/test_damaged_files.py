"""A damaged file gives the same numbers, or a SweepError that names the file.

Formats with a checksum (zip, gzip) give the original numbers. A .npy or SEG-Y file has no checksum of its samples: a
damaged byte changes at most the number of values in READERS, and no sample moves.
"""

import gzip
import io as streams
import os
import runpy
import tarfile
import tracemalloc
import zipfile
from argparse import Namespace
from functools import cache
from pathlib import Path

import attrs
import numpy as np
import pytest
from numpy.lib import format as npy

from sweep_core import CheckpointError, SerialDistributor, SweepError, io
from sweep_core.cli.model import load_velocity
from sweep_core.inversion.journal import Journal
from sweep_core.inversion.settings import with_start

SCRIPTS = Path(__file__).parents[2] / "examples" / "models" / "marmousi"
ROUNDS = int(os.environ.get("SWEEP_FUZZ", 60))
"""Damages per kind of file; set SWEEP_FUZZ to try more."""


@cache
def script(name):
    return Namespace(**runpy.run_path(str(SCRIPTS / f"{name}.py")))


def earth():
    return io.faulted_model((20, 30), 25.0)


def write_archive(folder):
    path = folder / "m.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, part in (("a.bin", earth().true), ("deep/b.bin", earth().initial)):
            info = tarfile.TarInfo(name)
            info.size = part.nbytes
            tar.addfile(info, streams.BytesIO(part.tobytes()))
    return path


def unpack(path):
    files = script("extract_model_segy").safe_extract(path, path.parent / "unpacked")
    return {str(f.relative_to(path.parent)): np.frombuffer(f.read_bytes(), np.uint8) for f in files}


def write_segy(folder):
    segyio = pytest.importorskip("segyio", reason="segyio is not installed")
    path, values, spec = folder / "MODEL_P-WAVE_VELOCITY.segy", earth().true, segyio.spec()
    spec.format, spec.samples, spec.tracecount = 5, np.arange(len(values)), values.shape[1]
    with segyio.create(str(path), spec) as file:
        file.trace = np.ascontiguousarray(values.T)
    return path


def convert(path):
    command = script("convert_segy_to_npy")
    command.convert(command.QUANTITIES[0], path.parent, path.parent / "npy", True)
    return {"vp": np.load(path.parent / "npy" / "vp_1p25m.npy")}


def write_stored(folder):
    np.savez(folder / "m.npz", vp=earth().true)
    return folder / "m.npz"


def write_npy(folder):
    np.save(folder / "m.npy", earth().true)
    return folder / "m.npy"


def write_folder(folder):
    result = io.elastic_from_vp(earth())
    for kind, values in (("true", result.true), ("smooth", result.initial)):
        for name, part in zip(("vp", "vs", "rho"), values, strict=True):
            np.save(folder / f"m_25m_{name}_{kind}.npy", part)
    return folder / "m_25m_rho_smooth.npy"


def arrays_of(model):
    return {key: value for key, value in attrs.asdict(model).items() if isinstance(value, np.ndarray)}


READERS = {
    "read_prepared": (lambda f: io.write_prepared(f / "m.npz", earth()), lambda p: arrays_of(io.read_prepared(p)), 0),
    "read_array of .npz": (write_stored, lambda p: {"vp": io.read_array(p, "vp")}, 0),
    "--init": (write_npy, lambda p: arrays_of(with_start(earth(), p)), 1),
    "read_elastic": (write_folder, lambda p: arrays_of(io.read_elastic(p.parent)), 3),
    "prepare_fwi_models": (write_npy, lambda p: {"vp": load_velocity(p)}, 1),
    "extract_model_segy": (write_archive, unpack, 0),
    "convert_segy_to_npy": (write_segy, convert, 1),
}
"""Writer, reader, and the number of values that may differ per damaged byte."""


def damage(whole, rng):
    """Return (content, number of damaged bytes): flipped bits, digits of a header, a hole, fewer or more bytes."""
    kind = rng.choice(["bit", "bytes", "header", "tail", "hole", "cut", "more"])
    content, size = bytearray(whole), len(whole)
    if kind == "cut":
        return whole[: rng.integers(0, size)], size
    if kind == "more":
        return whole + rng.bytes(int(rng.integers(1, 99))), size
    if kind == "hole":
        begin = int(rng.integers(0, size))
        content[begin : begin + 64] = bytes(len(content[begin : begin + 64]))
        return bytes(content), 64
    first, last = {"header": (0, min(size, 240)), "tail": (size - 64, size)}.get(kind, (0, size))
    places = rng.integers(first, last, 1 if kind == "bit" else int(rng.integers(1, 4)))
    for at in places:
        flipped = content[at] ^ (1 << int(rng.integers(8)))
        content[at] = int(rng.choice(list(b"0123456789<>|fiuO(,)'L \n"))) if kind == "header" else flipped
    return bytes(content), len(places)


@pytest.mark.parametrize("reader", READERS)
def test_a_damaged_file_is_read_correctly_or_refused_by_name(reader, tmp_path):
    if reader == "extract_model_segy" and not hasattr(tarfile, "data_filter"):
        pytest.skip("this Python has no safe tar filter")
    write, read, each = READERS[reader]
    path, rng = write(tmp_path), np.random.default_rng(len(reader))
    whole, expected, refused = path.read_bytes(), read(path), 0
    for _ in range(ROUNDS):
        content, hits = damage(whole, rng)
        path.write_bytes(content)
        try:
            result = read(path)
        except SweepError as error:
            assert path.name.split("rho")[0] in str(error) and "\n" not in str(error)
            refused += 1
            continue
        assert result.keys() == expected.keys()
        differ = sum(int((result[key] != expected[key]).sum()) for key in result)
        assert differ <= each * hits
    print(f"{reader}: {refused} of {ROUNDS} refused")
    assert refused > 0.2 * ROUNDS


@pytest.mark.skipif(not hasattr(tarfile, "data_filter"), reason="this Python has no safe tar filter")
def test_the_checksum_of_an_archive_is_checked(tmp_path):
    """Without the check, a flipped bit in the data of a readable tar passes in silence."""
    path, data = write_archive(tmp_path), streams.BytesIO()
    with gzip.GzipFile(
        fileobj=data, mode="wb", compresslevel=0
    ) as stream:  # uncompressed: one bit of the file is one bit of the data
        stream.write(gzip.decompress(path.read_bytes()))
    whole, rng = data.getvalue(), np.random.default_rng(0)
    first = whole.index(earth().true.tobytes()[:99])
    for at in rng.integers(first, first + earth().true.nbytes, 20):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(SweepError, match="m.tar.gz cannot be unpacked.*CRC"):
            unpack(path)
    assert not (tmp_path / "unpacked").exists() or not list((tmp_path / "unpacked").iterdir())


UNITS = {
    "g/cm3": ("rho_smooth", lambda rho: rho / 1000, r"rho_smooth.npy: the largest density is 2\.\d+; .*in g/cm3"),
    "km/s": ("vs_true", lambda vs: vs / 1000, r"vs_true.npy: the largest S velocity .*in km/s, multiply it by 1000"),
    "ns": ("vp_smooth", lambda vp: vp * 1e6, r"vp_smooth.npy: the largest P velocity is .*expected 100 to 20000 m/s"),
    "a scalar": ("rho_smooth", lambda rho: np.float32(2000), r"rho_smooth.npy holds an array of shape \(\)"),
    "a row": (
        "rho_true",
        lambda rho: rho[:1],
        r"rho_true.npy holds an array of shape \(1, 30\); expected .*\(20, 30\)",
    ),
    "NaN": ("vs_smooth", lambda vs: vs * np.float32(np.nan), "vs_smooth.npy is nan to nan"),
    "text": ("rho_true", lambda rho: rho.astype(str), "rho_true.npy holds <U.*; expected floating-point numbers"),
}


@pytest.mark.parametrize(("name", "change", "message"), UNITS.values(), ids=UNITS)
def test_models_in_other_units_or_shapes_are_refused(tmp_path, name, change, message):
    path = write_folder(tmp_path).with_name(f"m_25m_{name}.npy")
    np.save(path, change(np.load(path)))
    with pytest.raises(SweepError, match=message):
        io.read_elastic(tmp_path)


def test_every_reader_refuses_velocities_in_km(tmp_path):
    slow = earth().true / np.float32(1000)
    np.save(tmp_path / "vp.npy", slow)
    np.savez(tmp_path / "m.npz", format="sweep-prepared-model", version=1, name="x", dh=25.0, true=slow, initial=slow,
             water=earth().water)  # fmt: skip
    with pytest.raises(SweepError, match=r"m.npz.*true: the largest P velocity .*in km/s"):
        io.read_prepared(tmp_path / "m.npz")
    with pytest.raises(SweepError, match=r"vp.npy: the largest P velocity .*in km/s"):
        load_velocity(tmp_path / "vp.npy")
    with pytest.raises(SweepError, match="true: the largest density .*in g/cm3"):
        solid = io.elastic_from_vp(earth())
        io.ElasticModel(solid.true / [[[1]], [[1]], [[1000]]], solid.initial, ~solid.water & False, 25.0)


def inflate(path, keys):
    """Replace entries of an archive by 64 MB of zeros under a header that states (10, 10)."""
    with zipfile.ZipFile(path) as archive:
        whole = {name: archive.read(name) for name in archive.namelist()}
    head = streams.BytesIO()
    npy.write_array_header_1_0(head, {"descr": "<f4", "fortran_order": False, "shape": (10, 10)})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in whole.items():
            archive.writestr(name, head.getvalue() + bytes(1 << 26) if name.removesuffix(".npy") in keys else content)
    return path


def open_journal(folder):
    """Return the journal of a run in its first stage."""
    journal = Journal(folder, {}, [earth().true], SerialDistributor())
    journal.close()
    journal.begin()
    return journal


def checkpoint(folder):
    open_journal(folder / "run").checkpoint({}, [earth().true])
    return folder / "run/checkpoint.npz"


INFLATED = {
    "read_array": (write_stored, ["vp"], lambda p: io.read_array(p, "vp")),
    "read_prepared": (lambda f: io.write_prepared(f / "m.npz", earth()), ["true"], io.read_prepared),
    "read_gathers": (lambda f: io.write_gathers(f / "g.npz", gathers()), ["observed_0000000"], io.read_gathers),
    "checkpoint": (checkpoint, ["0"], lambda p: open_journal(p.parent).position()),
}


def gathers():
    return io.Gathers(np.ones((1, 2)), np.ones((1, 3, 2)), np.ones((1, 20, 3, 1), np.float32), dt=0.001, dh=5.0)


@pytest.mark.parametrize(("write", "keys", "read"), INFLATED.values(), ids=INFLATED)
def test_readers_stop_at_the_size_in_the_header(tmp_path, write, keys, read):
    path = inflate(write(tmp_path), keys)
    assert path.stat().st_size < 1 << 18
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError, match="67108864 bytes, but its header states"):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 22
    finally:
        tracemalloc.stop()


def test_an_entry_is_in_memory_once_and_its_checksum_is_checked(tmp_path):
    np.savez(tmp_path / "m.npz", vp=np.arange(1 << 21, dtype=np.float64))
    tracemalloc.start()
    try:
        assert io.read_array(tmp_path / "m.npz", "vp")[-1] == (1 << 21) - 1
        assert tracemalloc.get_traced_memory()[1] < 1.2 * (1 << 24)
    finally:
        tracemalloc.stop()
    content = bytearray((tmp_path / "m.npz").read_bytes())
    content[-1000] ^= 1
    (tmp_path / "m.npz").write_bytes(content)
    with pytest.raises(CheckpointError, match="CRC"):
        io.read_array(tmp_path / "m.npz", "vp")
