"""The five commands from the published Marmousi-II archive to a prepared model, on a small archive."""

import functools
import hashlib
import importlib
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from serving import Quiet, serve

from sweep_core.io import faulted_model, read_prepared, write_prepared

segyio = pytest.importorskip("segyio", reason="segyio is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")
FOLDER = Path(__file__).resolve().parents[2] / "examples" / "models" / "marmousi"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
SEGY = {"vp": "P-WAVE_VELOCITY", "vs": "S-WAVE_VELOCITY", "rho": "DENSITY"}


unpacks = pytest.mark.skipif(not hasattr(tarfile, "data_filter"), reason="this Python has no safe tar filter")


@pytest.fixture
def script(monkeypatch):
    """Return a function that imports a script by name; the test's end removes the modules."""
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module
    for name in NAMES:
        sys.modules.pop(name, None)


@pytest.fixture
def run(script, capsys):
    """Return a function that runs a script in this process and returns its exit code and output (stdout + stderr)."""

    def call(name, *arguments):
        code = script(name).main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return call


def start(name, *arguments):
    """Run a script in a process of its own."""
    command = [sys.executable, str(FOLDER / f"{name}.py"), *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": str(FOLDER.parents[2])}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


@pytest.fixture(scope="session")
def earth():
    vp = faulted_model((41, 61), 12.5, seed=2).true
    vs = np.where(vp < 1501, 0, vp / 1.9).astype(np.float32)
    return {"vp": vp, "vs": vs, "rho": (vp / 3000 + 1).round(3)}


def write_segy(path, values, code=5):
    spec = segyio.spec()
    spec.format, spec.samples, spec.tracecount = code, np.arange(values.shape[0]), values.shape[1]
    with segyio.create(str(path), spec) as file:
        file.bin.update(format=code, hns=values.shape[0])
        file.trace = np.ascontiguousarray(values.T.astype(np.float32))


@pytest.fixture
def segy(tmp_path, earth):
    folder = tmp_path / "segy"
    folder.mkdir()
    for key, name in SEGY.items():
        write_segy(folder / f"MODEL_{name}_1.25m.segy", earth[key], code=1 if key == "vs" else 5)
    return folder


def member(tar, name, content=b"x", kind=tarfile.REGTYPE):
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(content), kind, "good"
    tar.addfile(info, io.BytesIO(content))


@pytest.fixture
def archive(tmp_path, segy):
    """Return the publisher's file, an archive of archives, with small models."""
    path = tmp_path / "served" / "elastic-marmousi-model.tar.gz"
    path.parent.mkdir()
    with tarfile.open(path, "w:gz") as outer:
        member(outer, "elastic-marmousi-model/README", b"read me")
        for file in sorted(segy.iterdir()):
            inner = io.BytesIO()
            with tarfile.open(fileobj=inner, mode="w:gz") as tar:
                tar.add(file, arcname=file.name)
            member(outer, f"elastic-marmousi-model/model/{file.name}.tar.gz", inner.getvalue())
    shutil.rmtree(segy)
    return path


@pytest.fixture
def archive_url(archive):
    with serve(functools.partial(Quiet, directory=str(archive.parent))) as address:
        yield f"{address}/{archive.name}"


def files(folder):
    """Return the sorted files under a folder, which may be missing."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


@pytest.mark.parametrize("name", NAMES)
def test_help_is_complete_and_default_paths_are_beside_the_script(script, name):
    done = start(name, "--help")
    assert done.returncode == 0 and done.stderr == "" and done.stdout.startswith("usage:")
    assert len(done.stdout) > 600 and script(name).HERE == FOLDER


@unpacks
def test_the_five_commands_prepare_and_plot_a_model(run, tmp_path, archive_url, earth):
    dest, segy, npy, out = (tmp_path / name for name in ("download", "unpacked", "npy", "prepared/m.npz"))
    assert run("download_marmousi", "--url", archive_url, "--dest", dest)[0] == 0
    assert files(dest) == ["elastic-marmousi-model.tar.gz", "elastic-marmousi-model.tar.gz.json"]
    assert run("extract_model_segy", "--download", dest, "--segy", segy)[0] == 0
    assert files(segy) == sorted(f"MODEL_{name}_1.25m.segy" for name in SEGY.values())
    code, printed = run("convert_segy_to_npy", "--segy", segy, "--npy", npy, "--any-shape")
    assert code == 0 and "the file has g/cm3: multiplied by 1000" in printed
    assert files(npy) == ["rho_1p25m.npy", "vp_1p25m.npy", "vs_1p25m.npy"]
    for key, unit in (("vp", 1), ("vs", 1), ("rho", 1000)):
        values = np.load(npy / f"{key}_1p25m.npy")
        assert values.dtype == np.float32 and values.flags.c_contiguous
        np.testing.assert_allclose(values, unit * earth[key], rtol=1e-6)
    spacing = ("--source-dh", 12.5, "--target-dh", 25)
    assert run("prepare_fwi_models", "--input", npy / "vp_1p25m.npy", *spacing, "--out", out)[0] == 0
    model = read_prepared(out, dh=25)
    assert model.shape == (21, 31) and model.water[0].all()
    np.testing.assert_array_equal(model.initial[model.water], 1500.0)
    assert run("plot_models", "--input", out, "--dpi", 30)[0] == 0
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


@unpacks
def test_download_with_extract_unpacks_the_models_without_tqdm(run, tmp_path, archive, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    url, dest, segy = archive.as_uri(), tmp_path / "d", tmp_path / "s"
    code, printed = run("download_marmousi", "--url", url, "--dest", dest, "--segy", segy, "--extract")
    assert code == 0 and "no published checksum is known" in printed and "pip install tqdm" in printed
    assert len(files(segy)) == 3
    record = json.loads((dest / f"{archive.name}.json").read_text())
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert record == {"url": url, "size": archive.stat().st_size, "sha256": digest}


@pytest.mark.parametrize("by_hand", [False, True])
def test_an_existing_file_is_verified_and_not_downloaded(run, tmp_path, archive, by_hand):
    target = tmp_path / "d" / archive.name
    arguments = ("download_marmousi", "--url", archive.as_uri(), "--dest", target.parent)
    if by_hand:
        target.parent.mkdir()
        archive.rename(target)
    assert run(*arguments)[0] == 0 and files(target.parent) == [archive.name, f"{archive.name}.json"]
    archive.unlink(missing_ok=True)
    code, printed = run(*arguments)
    assert code == 0 and "verifying it" in printed
    with open(target, "ab") as stream:
        stream.write(b"rot")
    code, printed = run(*arguments)
    assert code == 1 and "recorded" in printed and "If the file is damaged, delete" in printed


def test_a_digest_of_the_command_line_is_checked(run, tmp_path, archive):
    arguments = ("download_marmousi", "--url", archive.as_uri(), "--dest", tmp_path / "d", "--sha256")
    code, printed = run(*arguments, "0" * 64)
    assert code == 1 and "--sha256 asks for 000" in printed and "nothing was kept" in printed
    assert "could not be fetched" not in printed and files(tmp_path / "d") == []
    assert run(*arguments, hashlib.sha256(archive.read_bytes()).hexdigest().upper())[0] == 0
    assert run(*arguments, "0" * 64)[0] == 1, "an existing file is checked too"
    with pytest.raises(SystemExit, match="2"):
        run(*arguments, "abc")


def test_a_change_by_the_publisher_is_detected(run, tmp_path, archive):
    arguments = ("download_marmousi", "--url", archive.as_uri(), "--dest", tmp_path / "d")
    assert run(*arguments)[0] == 0
    (tmp_path / "d" / archive.name).unlink()
    archive.write_bytes(archive.read_bytes() + b"new")
    code, printed = run(*arguments)
    assert code == 1 and "publisher changed it" in printed
    assert files(tmp_path / "d") == [f"{archive.name}.json"]
    (tmp_path / "d" / f"{archive.name}.json").write_text("[]")
    code, printed = run(*arguments)
    assert code == 1 and "is not a record of a download" in printed


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}/m.tar.gz", "{archive_url}.missing", "ftp://{archive_url}"])
def test_an_unreachable_file_gives_one_message(tmp_path, archive_url, url):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = url.format(port=closed.getsockname()[1], archive_url=archive_url)
    done = start("download_marmousi", "--url", url, "--dest", tmp_path / "d")
    assert done.returncode == 1 and url in done.stderr and done.stderr.count("\n") == 1
    by_hand = f"put the file at {tmp_path / 'd' / url.rpartition('/')[2]}"
    assert (by_hand in done.stderr) == url.startswith("http"), "other schemes are refused without this advice"
    assert files(tmp_path / "d") == []


@unpacks
def test_planted_links_are_not_followed(run, tmp_path, archive):
    """The links have predictable names of temporary files."""
    precious, dest, npy = tmp_path / "precious", tmp_path / "d", tmp_path / "npy"
    precious.write_text("as it was")
    for folder, stem in ((dest, archive.name), *((npy, f"{name}_1p25m.npy") for name in ("vp", "vs", "rho"))):
        folder.mkdir(exist_ok=True)
        for name in (f"{stem}.part", f"{stem}.{os.getpid()}.part", f".{stem}.part"):
            (folder / name).symlink_to(precious)
    assert (
        run("download_marmousi", "--url", archive.as_uri(), "--dest", dest, "--extract", "--segy", tmp_path / "s")[0]
        == 0
    )
    assert run("convert_segy_to_npy", "--segy", tmp_path / "s", "--npy", npy, "--any-shape")[0] == 0
    assert precious.read_text() == "as it was" and (dest / archive.name).read_bytes() == archive.read_bytes()


def test_a_connection_closed_early_is_detected(run, tmp_path):
    class Short(Quiet):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"short")

    with serve(Short) as address:
        code, printed = run("download_marmousi", "--url", f"{address}/m.tar.gz", "--dest", tmp_path / "d")
    assert code == 1 and "closed after 5 of 1000 bytes" in printed
    assert files(tmp_path / "d") == []


LINKS = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.BLKTYPE)
OUTSIDE = ("../evil", "model/../../evil", "/tmp/evil", "C:\\evil", "..\\evil")
EVIL = [(name, tarfile.REGTYPE) for name in OUTSIDE] + [("odd", kind) for kind in LINKS]


@unpacks
@pytest.mark.parametrize(("name", "kind"), EVIL)
def test_a_malicious_member_is_refused_before_unpacking(run, tmp_path, name, kind):
    dest = tmp_path / "a" / "b"
    dest.mkdir(parents=True)
    with tarfile.open(dest / "evil.tar.gz", "w:gz") as tar:
        member(tar, "good")
        member(tar, name, b"" if kind in LINKS else b"x", kind)
    code, printed = run("extract_model_segy", "--download", dest, "--segy", tmp_path / "segy")
    assert code == 1 and repr(name) in printed and "Nothing was unpacked" in printed
    assert ("link or a device" if kind in LINKS else "leaves the folder") in printed
    assert files(tmp_path) == ["a/b/evil.tar.gz"]


@pytest.mark.parametrize("url", ["http://[::1/x.tgz", "http://localhost/%00.tgz", "http://localhost/"])
def test_a_url_without_a_file_name_is_refused(run, tmp_path, url):
    code, printed = run("download_marmousi", "--url", url, "--dest", tmp_path)
    assert code == 1 and "expected an http, https or file URL that ends in the name of a file" in printed


@unpacks
def test_an_existing_part_folder_is_neither_used_nor_removed(run, archive, tmp_path):
    planted = tmp_path / "s" / f".{archive.name}.{os.getpid()}.part"
    planted.mkdir(parents=True)
    (planted / "precious").write_text("as it was")
    assert run("extract_model_segy", "--download", archive.parent, "--segy", tmp_path / "s")[0] == 0
    assert (planted / "precious").read_text() == "as it was"


@unpacks
def test_a_damaged_archive_leaves_nothing_behind(run, archive, tmp_path):
    whole = archive.read_bytes()
    for content in (whole[: len(whole) // 2], b"no archive", b""):
        archive.write_bytes(content)
        code, printed = run("extract_model_segy", "--download", archive.parent, "--segy", tmp_path / "s")
        assert code == 1 and "cannot be unpacked" in printed
        assert files(archive.parent) == [archive.name]


@unpacks
def test_extract_keeps_existing_files_and_names_missing_ones(run, tmp_path, archive):
    segy = tmp_path / "s"
    arguments = ("extract_model_segy", "--segy", segy, "--download")
    code, printed = run(*arguments, tmp_path / "none")
    assert code == 1 and "run download_marmousi.py" in printed
    assert run(*arguments, archive.parent)[0] == 0
    (segy / "MODEL_DENSITY_1.25m.segy").write_bytes(b"mine")
    (segy / "MODEL_S-WAVE_VELOCITY_1.25m.segy").unlink()
    assert run(*arguments, archive.parent)[0] == 0
    assert (segy / "MODEL_DENSITY_1.25m.segy").read_bytes() == b"mine" and len(files(segy)) == 3
    next(archive.parent.rglob("MODEL_S-WAVE*")).unlink()
    (segy / "MODEL_S-WAVE_VELOCITY_1.25m.segy").unlink()
    code, printed = run(*arguments, archive.parent)
    assert code == 1 and "no MODEL_S-WAVE_VELOCITY_1.25m.segy.tar.gz" in printed


def test_velocities_in_km_are_converted_and_implausible_ones_refused(run, tmp_path, segy, earth):
    arguments = ("convert_segy_to_npy", "--segy", segy, "--npy", tmp_path / "npy", "--any-shape")
    path = segy / "MODEL_P-WAVE_VELOCITY_1.25m.segy"
    write_segy(path, earth["vp"] / 1000)
    code, printed = run(*arguments)
    assert code == 0 and "the file has km/s" in printed
    np.testing.assert_allclose(np.load(tmp_path / "npy" / "vp_1p25m.npy"), earth["vp"], rtol=1e-6)
    for wrong in (earth["vp"] * 1000, earth["vp"] - 1400, earth["vp"] * np.nan):
        write_segy(path, wrong)
        code, printed = run(*arguments)
        assert code == 1 and "DomainError" in printed and "IBM and IEEE" in printed


def test_a_wrong_shape_and_a_missing_or_damaged_file_are_refused(run, tmp_path, segy):
    arguments = ("convert_segy_to_npy", "--segy", segy, "--npy", tmp_path / "npy")
    code, printed = run(*arguments)
    assert code == 1 and "41 samples x 61 traces" in printed and "2801 x 13601" in printed
    path = segy / "MODEL_P-WAVE_VELOCITY_1.25m.segy"
    path.write_bytes(path.read_bytes()[:5000])
    code, printed = run(*arguments, "--any-shape")
    assert code == 1 and "cannot be read as SEG-Y" in printed
    path.unlink()
    code, printed = run(*arguments, "--any-shape")
    assert code == 1 and "found none; run extract_model_segy.py" in printed
    assert files(tmp_path / "npy") == []


@pytest.fixture
def prepare(run, tmp_path, earth):
    """Return a function that prepares a small model and returns the exit code, the output and the file."""
    np.save(tmp_path / "vp.npy", earth["vp"])
    fixed = ("--input", tmp_path / "vp.npy", "--source-dh", 12.5, "--radii", "2,2", "--overwrite")

    def call(*more):
        out = tmp_path / "out.npz"
        return *run("prepare_fwi_models", *fixed, "--out", out, *more), out

    return call


def test_a_crop_is_in_cells_of_the_target(prepare):
    code, printed, out = prepare("--target-dh", 25)
    whole = read_prepared(out)
    assert code == 0 and "21 x 31 cells of 25 m: 0.5 km deep, 0.75 km long" in printed
    error = (whole.initial - whole.true)[~whole.water].astype(float)
    assert f"RMS error  {np.sqrt((error**2).mean()):.1f} m/s" in printed
    assert prepare("--target-dh", 25, "--crop", ":18,5:20")[0] == 0
    np.testing.assert_array_equal(read_prepared(out).true, whole.true[:18, 5:20])


BAD_OPTIONS = {
    "--target-dh=30": "expected a whole multiple",
    "--target-dh=1e9": "expected at most 10000 times",
    "--source-dh=1e-300": "expected at most 10000 times",
    "--radii=99999999999999999999": "expected 0 to 10000",
    "--crop=0:99,:": "--crop z is 0:99; expected a part of 0:41",
    "--crop=:,7:7": "--crop x is 7:7",
    "--passes=0": "passes is 0",
    "--input=nowhere.npy": "there is no file nowhere.npy; name a .npy of P velocity",
    "--water-velocity=-1": "velocity is -1",
}


@pytest.mark.parametrize(("more", "message"), BAD_OPTIONS.items())
def test_bad_options_are_refused(prepare, more, message):
    code, printed, out = prepare("--target-dh", 12.5, more)
    assert code == 1 and not out.exists()
    assert message in printed and printed.count("\n") == 1


@pytest.mark.parametrize("more", ["--crop=1:2", "--crop=a:b,:", "--radii=x", "--radii=1,2,3", "--radii=-1"])
def test_unreadable_arguments_are_refused(prepare, more, capsys):
    with pytest.raises(SystemExit, match="2"):
        prepare(more)
    assert "expected" in capsys.readouterr().err


def test_land_is_reported_and_files_without_an_array_are_refused(prepare, tmp_path):
    np.save(tmp_path / "vp.npy", np.full((20, 20), 2500, np.float32))
    code, printed, out = prepare()
    assert code == 0 and "none was found at the top" in printed
    assert not read_prepared(out).water.any()
    for content in (b"", b"text", b"PK\x05\x06" + bytes(18)):
        (tmp_path / "vp.npy").write_bytes(content)
        code, printed, _ = prepare()
        assert code == 1 and "CheckpointError" in printed


def test_the_default_name_contains_the_spacing(script, prepare, tmp_path, monkeypatch):
    monkeypatch.setattr(script("prepare_fwi_models"), "HERE", tmp_path)
    arguments = ["--input", str(tmp_path / "vp.npy"), "--source-dh", "6.25", "--radii", "1"]
    assert script("prepare_fwi_models").main(arguments) == 0
    assert read_prepared(tmp_path / "prepared" / "marmousi2_12p5m.npz", dh=12.5).name == "marmousi2"


def test_marmousi_at_25_m(prepare):
    path = Path(os.environ.get("SWEEP_DATA", "unset")) / "marmousi2_12p5m_vp_true.npy"
    if not path.exists():
        pytest.skip(f"SWEEP_DATA does not lead to the Marmousi-II model at 12.5 m: no file {path}")
    code, _, out = prepare("--input", path, "--target-dh", 25, "--radii", "8,8")
    model = read_prepared(out, dh=25)
    assert code == 0 and model.shape == (141, 681)
    np.testing.assert_array_equal(model.water.sum(axis=0), 19)
    np.testing.assert_array_equal(model.initial[model.water], 1500)


def test_the_figure_has_three_panels_in_km(script):
    model = faulted_model((41, 61), 25.0)
    figure = script("plot_models").draw(model)
    panels = [axis for axis in figure.axes if axis.get_title(loc="left")]
    assert [axis.get_title(loc="left") for axis in panels] == ["true", "start", "start minus true"]
    assert panels[0].get_ylabel() == "depth (km)" and panels[2].get_xlabel() == "distance (km)"
    assert panels[0].get_xlim() == pytest.approx((-0.0125, 1.5125))
    assert panels[0].get_ylim() == pytest.approx((1.0125, -0.0125))
    images = [axis.images[0] for axis in panels]
    assert images[0].get_clim() == images[1].get_clim() and sum(images[2].get_clim()) == 0
    np.testing.assert_array_equal(images[1].get_array().mask, model.water)
    assert {"P velocity (m/s)", "difference (m/s)"} <= {axis.get_ylabel() for axis in figure.axes}


def test_plotting_refuses_a_missing_file_and_an_unknown_format(run, tmp_path):
    code, printed = run("plot_models", "--input", tmp_path / "none.npz")
    assert code == 1 and "there is no file" in printed
    write_prepared(tmp_path / "m.npz", faulted_model((20, 30), 25.0))
    code, printed = run("plot_models", "--input", tmp_path / "m.npz", "--out", tmp_path / "m.sourdough")
    assert code == 1 and ".png" in printed
