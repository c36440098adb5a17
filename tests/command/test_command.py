"""The command line models and inverts a survey from a file, and names the fault of a bad file."""

import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import attrs
import numpy as np
import pytest

from sweep_core import OptionError, SweepError, SweepWarning, backends, make_problem
from sweep_core.cli import main
from sweep_core.cli.config import HEADER_OPTIONS, Config, Data, Physics, StageTable, read_config, wavelet_of
from sweep_core.inversion import Stage
from sweep_core.inversion.lock import Lock
from sweep_core.io import Gathers, Line, open_segy, read_gathers, read_segy, write_gathers

PAGE = Path(__file__).parents[2] / "docs/reference/command-line.md"
pytest.importorskip("torch")
pytest.importorskip("tqdm")


@pytest.fixture
def survey(tmp_path, monkeypatch):
    """Write the survey file and the models of the page."""
    models, text = (re.search(rf"```{kind}\n(.+?)```", PAGE.read_text(), re.DOTALL)[1] for kind in ("python", "toml"))
    with monkeypatch.context() as patch:
        patch.chdir(tmp_path)
        exec(models, {})
    np.save(tmp_path / "words.npy", np.array(["fast"] * 200))
    path = tmp_path / "survey.toml"
    path.write_text(text.replace("iterations = 4", "iterations = 1").replace("iterations = 6", "iterations = 2"))
    return path


def output_of(capsys):
    output = capsys.readouterr()
    return output.out, output.err


def test_a_survey_is_shot_and_inverted(survey, capsys):
    folder = survey.parent
    assert main(["shoot", str(survey)]) == 0
    gathers = read_gathers(folder / "observed.npz")
    assert gathers.observed.shape == (8, 900, 50, 1) and gathers.observed.dtype == np.float32
    assert np.allclose(gathers.sources[[0, -1]], [[5, 2], [95, 2]])
    assert "8 shots of 50 receivers" in output_of(capsys)[0]

    assert main(["invert", str(survey)]) == 0
    out, _ = output_of(capsys)
    first = np.load(folder / "survey/vp.npy")
    start, true = (np.load(folder / f"{name}.npy") for name in ("start", "true"))
    assert np.array_equal(first[:4], start[:4]), "water stays"
    assert np.linalg.norm(first - true) < 0.95 * np.linalg.norm(start - true)
    assert re.search(r"stage 2, all frequencies: misfit from .* -\d\d\.\d %", out) and "model error" in out
    for picture in ("model", "traces"):
        assert (folder / f"survey/{picture}.png").stat().st_size > 10_000

    stamps = {path: path.stat().st_mtime_ns for path in folder.glob("survey/stage_*")}
    assert main(["invert", str(survey)]) == 0
    assert np.array_equal(np.load(folder / "survey/vp.npy"), first)
    assert {path: path.stat().st_mtime_ns for path in folder.glob("survey/stage_*")} == stamps, "nothing is computed"

    survey.write_text(survey.read_text().replace("high = 4.0", "high = 5.0"))
    capsys.readouterr()
    assert main(["invert", str(survey)]) == 1
    assert "holds another run: stages was" in output_of(capsys)[1]
    assert main(["invert", str(survey), "--overwrite", "--profile"]) == 0
    assert not np.array_equal(np.load(folder / "survey/vp.npy"), first)
    table = (folder / "survey/profile.txt").read_text()
    assert "forward  backward" in table and table in output_of(capsys)[0]


@pytest.fixture
def short(survey, capsys, monkeypatch):
    """Return a survey file of two modelled shots; pictures are left out."""
    monkeypatch.setattr("sweep_core.cli.invert.save", lambda *_: None)
    survey.write_text(survey.read_text().replace("nt = 900", "nt = 450").replace("count = 8", "count = 2"))
    assert main(["shoot", str(survey)]) == 0
    capsys.readouterr()
    return survey


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_a_shot_that_fails_is_left_out(short, capsys):
    path = short.parent / "observed.npz"
    gathers = read_gathers(path)
    observed = gathers.observed.copy()
    observed[1, 50, 5] = 1e30  # its square exceeds float32
    path.unlink()
    write_gathers(path, attrs.evolve(gathers, observed=observed))
    assert main(["invert", str(short)]) == 1
    assert "the misfit at the start is inf" in output_of(capsys)[1]
    with pytest.warns(SweepWarning, match="shot 1 is left out"):
        assert main(["invert", str(short), "--skip-bad-shots"]) == 0
    assert "shot 1 left out" in output_of(capsys)[0]


def test_a_run_is_extended_and_its_model_starts_another(short, capsys):
    folder, text = short.parent, short.read_text()
    assert main(["invert", str(short)]) == 0
    short.write_text(text.replace("iterations = 2", "iterations = 3") + "[[stage]]\niterations = 1\n")
    assert main(["invert", str(short)]) == 0
    assert re.search(r"stage 2.* in 3 iterations\nstage 3.* in 1 iterations", output_of(capsys)[0])
    short.write_text(text.replace('"start.npy"', '"survey/vp.npy"'))
    assert main(["invert", str(short)]) == 1
    assert re.search("start was .* Name another folder, or start again .*--overwrite", output_of(capsys)[1])
    assert main(["invert", str(short), "--out", str(folder / "second")]) == 0


def test_a_stopped_run_says_how_to_continue(short, capsys, monkeypatch):
    """Ctrl-C leaves no traceback; the same command continues to the same bits."""

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("sweep_core.cli.shoot.batches", stop)
        assert main(["shoot", str(short), "--overwrite"]) == 130
    assert output_of(capsys)[1].endswith("stopped\n")
    assert main(["invert", str(short), "--out", str(short.parent / "whole")]) == 0
    with monkeypatch.context() as patch:
        patch.setattr("sweep_core.inversion.fwi.Reporter.iteration", stop)
        assert main(["invert", str(short)]) == 130
    assert output_of(capsys)[1].endswith("stopped; the same command goes on from the last gradient in its folder\n")
    assert main(["invert", str(short)]) == 0
    whole, resumed = (np.load(short.parent / folder / "vp.npy") for folder in ("whole", "survey"))
    assert np.array_equal(whole, resumed)


def test_messages_name_no_file_outside_of_the_installation(tmp_path, capsys):
    (tmp_path / "bad.toml").write_text("[physics")
    assert main(["shoot", str(tmp_path / "bad.toml")]) == 1
    assert "seismic-sweep shoot --help" in output_of(capsys)[1]
    for command in ("shoot", "invert"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        output = output_of(capsys)[0]
        assert "docs/" not in output and all(
            f"[{field.name}]" in output for field in attrs.fields(Config) if field.init
        )
    absent = ["model", str(tmp_path / "none.npy"), "--source-dh", "10", "--target-dh", "10"]
    assert main(absent) == 1 and ".py " not in output_of(capsys)[1]


def test_all_backends_give_the_same_record(survey, capsys):
    survey.write_text(survey.read_text().replace("count = 8", "count = 2").replace("nt = 900", "nt = 200"))
    records = {}
    for name in ("torch", "jax"):
        if any(status.name == name and status.available for status in backends()):
            out = survey.parent / f"{name}.npz"
            assert main(["shoot", str(survey), "--backend", name, "--impl", "eager", "--out", str(out)]) == 0
            records[name] = read_gathers(out).observed
            assert f"backend '{name}'" in output_of(capsys)[0]
    options = ["shoot", str(survey), "--backend", "torch", "--backend-options"]
    assert main([*options, "impl=eager", "--out", str(survey.parent / "options.npz")]) == 0
    assert np.array_equal(read_gathers(survey.parent / "options.npz").observed, records["torch"])
    assert main([*options, "colour=red"]) == 1
    output = output_of(capsys)
    assert "impl='eager' was asked for" in output[0] and "backend 'torch' takes no 'colour'" in output[1]
    first = records.pop("torch")
    for other in records.values():
        assert np.abs(other - first).max() < 1e-5 * np.abs(first).max()
    assert main(["shoot", str(survey), "--backend", "fortran"]) == 1
    assert "backend is 'fortran'; expected one of" in output_of(capsys)[1]


def test_an_elastic_start_model_can_be_shot(survey):
    """The test has a .npy for each parameter, another field, SEG-Y and --model."""
    folder = survey.parent
    vp = np.load(folder / "true.npy")
    for name, array in {"vp": vp, "vs": vp / 2, "rho": np.full_like(vp, 2000)}.items():
        np.save(folder / f"{name}.npy", array)
    text = survey.read_text().replace('equation = "acoustic"', 'equation = "elastic"\nreceiver_type = ["vz"]')
    text = text.replace('"start.npy"', '{vp = "vp.npy", vs = "vs.npy", rho = "rho.npy"}')
    survey.write_text(text.replace("count = 8", "count = 2").replace("nt = 900", "nt = 150"))
    assert main(["shoot", str(survey), "--model", "start", "--out", str(folder / "elastic.sgy")]) == 0
    assert len(open_segy(folder / "elastic.sgy")) == 100


def test_segy_files_convert_there_and_back(survey, capsys):
    folder = survey.parent
    survey.write_text(survey.read_text().replace("nt = 900", "nt = 200"))
    assert main(["shoot", str(survey)]) == 0
    there, back = folder / "there.sgy", folder / "back.npz"
    assert main(["segy", "convert", str(folder / "observed.npz"), str(there)]) == 0
    capsys.readouterr()
    assert main(["segy", "inspect", str(there), "--text"]) == 0
    assert "400 traces of 200 samples every 2 ms" in output_of(capsys)[0]
    assert main(["segy", "convert", str(there), str(back), "--dh", "20"]) == 0
    one, other = read_gathers(folder / "observed.npz"), read_gathers(back)
    assert np.array_equal(one.observed, other.observed)
    assert np.allclose(one.offsets, other.offsets, atol=0.01)

    bare = folder / "there.su"
    bare.write_bytes(there.read_bytes()[3600:])
    assert main(["segy", "convert", str(bare), str(back), "--dh", "20", "--overwrite"]) == 0
    assert np.array_equal(read_gathers(back).observed, one.observed)

    section, again = folder / "vp.sgy", folder / "again.npy"
    assert main(["segy", "convert", str(folder / "true.npy"), str(section), "--dh", "20"]) == 0
    assert main(["segy", "convert", str(section), str(again)]) == 0
    assert np.array_equal(np.load(again), np.load(folder / "true.npy"))
    for words, expected in {
        ("true.npy", "other.npz"): "true.npy cannot be converted to",
        ("there.sgy", "other.txt"): "there.sgy cannot be converted to",
        ("observed.npz", "other.su"): "observed.npz cannot be converted to",
        ("there.sgy", "back.npz", "--dh", "20"): "is there already",
        ("there.sgy", "new.npz"): "--dh is missing",
        ("vp.sgy", "new.npy", "--dh", "20"): "--dh does not apply",
    }.items():
        capsys.readouterr()
        assert main(["segy", "convert", *(str(folder / w) if "." in w else w for w in words)]) == 1
        assert expected in output_of(capsys)[1]


def test_a_model_is_prepared(survey, capsys):
    folder = survey.parent
    words = ["model", str(folder / "true.npy"), "--source-dh", "10", "--target-dh", "20", "--radii", "4"]
    assert main([*words, "--out", str(folder / "model.npz")]) == 0
    assert "30 x 50 cells of 20 m" in output_of(capsys)[0]
    survey.write_text(
        survey.read_text().replace('"true.npy"', '"model.npz"').replace('"start.npy"', '"model.npz"')
        .replace("1900", "900").replace("1980", "980").replace('fixed = "water.npy"', "").replace("nt = 900", "nt = 300")
    )  # fmt: skip
    assert main(["shoot", str(survey)]) == 0 and main(["invert", str(survey)]) == 0


def test_the_wavelet_is_estimated(survey, capsys):
    """The first wavelet has the wrong frequency and strength; the start is the true model here."""
    text = survey.read_text().replace('"start.npy"', '"true.npy"').replace("nt = 900", "nt = 300")
    survey.write_text(text)
    assert main(["shoot", str(survey)]) == 0
    survey.write_text(
        text.replace("ricker = 6.0", "ricker = 8.0\nscale = 10.0").replace("estimate = false", "estimate = true")
    )
    capsys.readouterr()
    main(["invert", str(survey)])
    assert float(re.search(r"([\d.]+) % of the data's energy is left", output_of(capsys)[0])[1]) < 2


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("[physics]", "[phisics]"), "no table 'phisics'.*did you mean 'physics'"),
        (("free_surface", "freesurface"), r"\[physics\] has no option 'freesurface'.*free_surface"),
        (("free_surface = false", "free_surface = 1"), "free_surface is 1; expected True"),
        (('"acoustic"', '"acustic"'), "equation is 'acustic'; expected one of"),
        (('"acoustic"', '["acoustic"]'), r"equation is \['acoustic'\]; expected one of"),
        (("dh = 20.0", 'dh = "20"'), "dh is '20'"),
        (("dh = 20.0", "dh = []"), "dh has 0 values; expected one, or one for each"),
        (("ricker = 6.0", "ricker = 6.0\nscale = 0"), "scale is zero"),
        (("dt = 0.002", "dt = 0.02"), "largest stable dt"),
        (("dt = 0.002", 'dt = "2 ms"'), "dt is '2 ms'"),
        (("nt = 900", "nt = 0"), "nt is 0"),
        (("nt = 900", "nt = 1_000_000_000_000"), "record of 8 shots.* takes .* GiB.*fewer samples"),
        (("count = 8", "count = 1_000_000_000_000"), "MemoryError: .*allocate"),
        (("nt = 900", ""), r"\[physics\] has no nt"),
        (("nt = 900", "nt = 900\nspatial_order = 3"), "spatial_order"),
        (("nt = 900", 'nt = 900\nmemory = "disc"'), "strategy is 'disc'"),
        (('true = "true.npy"', ""), r"\[model\] has no true"),
        (('"true.npy"', '"tru.npy"'), "tru.npy"),
        (('"true.npy"', '{vs = "true.npy"}'), "expected {vp = "),
        (("dh = 20.0", ""), r"\[model\] has no dh"),
        (("dh = 20.0", "dh = -20.0"), "dh is"),
        (("[100, 40]", "[100, 40, 3]"), r"expected \[x, z\] in metres"),
        (("[100, 40]", "[-100, 40]"), "source 0 is at x = -5"),
        (("count = 8", "count = 0"), r"\[survey\] sources: .*count is 0"),
        (("count = 8", "number = 8"), r"\[survey\] sources has no option 'number'; it has 'first', 'last', 'count'"),
        (('file = "observed.npz"', ""), r"\[data\] has no file"),
        (("ricker = 6.0", ""), "has neither ricker nor file"),
        (("ricker = 6.0", "ricker = 600.0"), "Nyquist"),
        (("ricker = 6.0", 'ricker = "6 Hz"'), "ricker"),
        (("[[stage]]", "[stage]"), "survey.toml"),
    ],
)
def test_shoot_names_the_bad_option(survey, capsys, change, expected):
    text = survey.read_text()
    assert change[0] in text
    survey.write_text(text.replace(*change))
    assert main(["shoot", str(survey)]) == 1
    assert re.search(expected, output_of(capsys)[1]), output_of(capsys)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("bounds = {vp = [1400, 3500]}", "bounds = {vp = [1700, 3500]}"), "within the bounds"),
        (("bounds = {vp", "bounds = {vs"), "bounds name 'vs'"),
        (('fixed = "water.npy"', 'fixed = "water"'), "which only a prepared model holds"),
        (('"least_squares"', '"l2"'), "misfit is 'l2'; expected one of"),
        (('"least_squares"', '["l2"]'), r"misfit is \['l2'\]; expected one of"),
        (("estimate = false", 'estimate = "no"'), "estimate is 'no'; expected true or false"),
        (("batch = 4", "batch = 4\nprecondition = 1"), "precondition is 1; expected true or false"),
        (("batch = 4", "batch = 0"), "batch is 0"),
        (("iterations = 1", ""), r"\[\[stage\]\] 1 has no iterations"),
        (("iterations = 1", "iterations = 0"), r"\[\[stage\]\] 1: .*iterations is 0"),
        (("iterations = 1", "iterations = 1\nencoded = 0"), r"\[\[stage\]\] 1: .*encoded is 0"),
        (("high = 4.0", "high = -4.0"), r"\[\[stage\]\] 1: .*high is -4.0"),
        (("high = 4.0", "hihg = 4.0"), r"\[\[stage\]\] 1 has no option 'hihg'.*high"),
        (("dt = 0.002", "dt = 0.001"), "dt is 0.001; expected 0.002, that of"),
        (("dt = 0.002", 'dt = "0.002"'), "dt is '0.002'; expected one number"),
        (("ricker = 6.0", 'file = "words.npy"'), "words.npy holds <U4; expected real numbers"),
        (("dh = 20.0", "dh = 25.0"), "dh is 25.0; expected"),
        (('file = "observed.npz"', 'file = "none.npz"'), "none.npz"),
        (
            ('file = "observed.npz"', 'file = "observed.npz"\nsource_depth = 3'),
            "source_depth applies only to SEG-Y files",
        ),
        (("ricker = 6.0", 'ricker = 6.0\nfile = "w.npy"'), "file and ricker; give one"),
        (("ricker = 6.0", 'file = "water.npy"'), r"expected \(200,\)"),
        (("ricker = 6.0", 'file = "water.npy"\nscale = "loud"'), "scale is 'loud'; expected a number"),
    ],
)
def test_invert_names_the_bad_option(survey, capsys, change, expected):
    text = survey.read_text().replace("nt = 900", "nt = 200")
    survey.write_text(text.replace("ricker = 6.0", "ricker = 8.0"))
    assert main(["shoot", str(survey)]) == 0
    assert change[0] in text
    survey.write_text(text.replace(*change))
    capsys.readouterr()
    assert main(["invert", str(survey)]) == 1
    assert re.search(expected, output_of(capsys)[1])
    assert not (survey.parent / "survey").exists(), "a refused run leaves no folder"


@pytest.mark.parametrize(
    ("table", "function", "own", "elsewhere"),
    [
        (Physics, make_problem, {"nt", "spatial_order"}, {"shape", "dh"}),
        (Data, read_segy, {"file", *HEADER_OPTIONS}, {"segy", "dh", "dt", "line", "codes"}),
        (StageTable, Stage, set(), {"weights", "optimiser", "regularise"}),
    ],
)
def test_tables_have_the_arguments_of_the_library(table, function, own, elsewhere):
    """Arguments that a file cannot state, or that another table states, are excepted."""
    names = {field.name for field in attrs.fields(table)} - own
    assert names == set(inspect.signature(function).parameters) - elsewhere


def test_a_file_states_the_backend_and_the_command_line_overrides_it(survey, capsys):
    text = survey.read_text().replace("count = 8", "count = 1").replace("nt = 900", "nt = 20")
    survey.write_text(text.replace('impl = "auto"', 'backend = "reference"'))
    assert main(["shoot", str(survey)]) == 0 and "backend 'reference'" in output_of(capsys)[0]
    assert main(["shoot", str(survey), "--overwrite", "--backend", "torch"]) == 0
    assert "backend 'torch'" in output_of(capsys)[0]
    survey.write_text(text.replace('impl = "auto"', 'impl = "fortran"'))
    assert main(["shoot", str(survey), "--overwrite"]) == 1
    assert re.search(r"\[execution\]: impl is 'fortran'; expected one of", output_of(capsys)[1])


def test_bad_files_are_refused_by_name(tmp_path, capsys):
    deep = b"[physics]\nnt = " + b"[" * 100_000
    for text in (b"\xff\xfe", b"[physics", b"physics = 3", b"[[physics]]", deep):
        (tmp_path / "bad.toml").write_bytes(text)
        assert main(["shoot", str(tmp_path / "bad.toml")]) == 1
        assert "bad.toml" in output_of(capsys)[1]
    assert main(["invert", str(tmp_path / "none.toml")]) == 1
    (tmp_path / "stages.toml").write_text("")
    with pytest.raises(OptionError, match="has no \\[\\[stage"):
        from sweep_core.cli.config import stages_of

        stages_of(read_config(tmp_path / "stages.toml"))
    with pytest.raises(SweepError, match="has neither ricker nor file"):
        wavelet_of(read_config(tmp_path / "stages.toml"), 10, 0.001)


def test_a_folder_without_a_run_is_not_removed(survey, capsys):
    assert main(["shoot", str(survey)]) == 0
    (survey.parent / "survey").mkdir()
    (survey.parent / "survey/thesis.txt").write_text("all I have")
    for words in ([], ["--overwrite"]):
        capsys.readouterr()
        assert main(["invert", str(survey), *words]) == 1
        assert "holds thesis.txt but no run" in output_of(capsys)[1]
    assert (survey.parent / "survey/thesis.txt").read_text() == "all I have"


def test_overwriting_a_run_checks_first_and_keeps_other_files(survey, capsys):
    text = survey.read_text().replace("nt = 900", "nt = 200").replace("ricker = 6.0", "ricker = 8.0")
    survey.write_text(text)
    assert main(["shoot", str(survey)]) == main(["invert", str(survey)]) == 0
    folder = survey.parent / "survey"
    (folder / "notes.txt").write_text("of mine")
    before = (folder / "run.json").read_bytes()
    survey.write_text(text.replace("[1400, 3500]", "[1700, 3500]"))
    assert main(["invert", str(survey), "--overwrite"]) == 1 and (folder / "run.json").read_bytes() == before
    survey.write_text(text.replace("[1400, 3500]", "[1400, 3600]"))
    assert main(["invert", str(survey)]) == 1 and "holds another run" in output_of(capsys)[1]
    assert main(["invert", str(survey), "--overwrite"]) == 0 and (folder / "run.json").read_bytes() != before
    assert (folder / "notes.txt").read_text() == "of mine"
    lock = Lock(folder / "run.lock")
    try:
        assert main(["invert", str(survey), "--overwrite"]) == 1 and "is in use by process" in output_of(capsys)[1]
    finally:
        lock.release()


def test_a_bad_true_model_is_refused_before_the_inversion(survey, capsys):
    survey.write_text(survey.read_text().replace("nt = 900", "nt = 200").replace("ricker = 6.0", "ricker = 8.0"))
    assert main(["shoot", str(survey)]) == 0
    for odd, words in (
        (np.ones((3, 3), np.float32), "has shape"),
        (np.full((60, 100), np.nan, np.float32), "NaN"),
    ):
        np.save(survey.parent / "true.npy", odd)
        assert main(["invert", str(survey)]) == 1 and re.search(words, output_of(capsys)[1])
        assert not (survey.parent / "survey").exists()


def test_field_data_are_modelled_at_their_positions(survey, capsys):
    """Two shots, the second with fewer channels, on a line that runs north-east."""
    folder, text = survey.parent, survey.read_text()
    receivers = np.stack([np.linspace(10, 90, 6), np.full(6, 2.0)], axis=1)
    mask, traces = np.ones((2, 6), bool), np.arange(12).reshape(2, 6)
    mask[1, 4:], traces[1, 4:] = False, -1
    line = Line((5000.0, 70000.0), (1.0, 2.0))
    field = Gathers(
        np.array([[20.0, 2.0], [60.0, 2.0]]), np.stack([receivers] * 2), np.zeros((2, 200, 6, 1), np.float32), 0.002,
        20.0, receiver_mask=mask, traces=traces, shots=np.array([101, 103]), line=line,
    )  # fmt: skip
    write_gathers(folder / "field.npz", field)
    text = re.sub(r"\[survey\].*?\[data\]", "[data]", text, flags=re.DOTALL).replace("observed.npz", "field.npz")
    survey.write_text(text.replace("nt = 900\n", "").replace("ricker = 6.0", "ricker = 8.0"))
    for out in ("made.npz", "made.sgy"):
        assert main(["shoot", str(survey), "--out", str(folder / out)]) == 0, output_of(capsys)
    modelled, read = read_gathers(folder / "made.npz"), read_segy(folder / "made.sgy", 20.0, line=line)
    assert modelled.observed[0].any() and not modelled.observed[1, :, 4:].any() and (modelled.traces == traces).all()
    assert modelled.line == line and modelled.shots.tolist() == read.shots.tolist() == [101, 103]
    np.testing.assert_array_equal(read.observed[read.receiver_mask.nonzero()[0][:1]], modelled.observed[:1])
    np.testing.assert_allclose(read.sources, field.sources, atol=1e-3)
    assert open_segy(folder / "made.sgy").header("TraceNumber").size == 10
    assert main(["shoot", str(survey), "--out", str(folder / "field.npz"), "--overwrite"]) == 1
    assert "holds the observed gathers" in output_of(capsys)[1]
    text = survey.read_text()
    survey.write_text(text.replace('"field.npz"', '"made.sgy"\nheader_bytes = {SourceX = [81, "i4"], GroupX = 73}'))
    assert main(["shoot", str(survey), "--out", str(folder / "turned.npz")]) == 0
    assert len(read_gathers(folder / "turned.npz")) == 10, "each receiver is a source of one shot"
    survey.write_text(text.replace('"field.npz"', '"made.sgy"\nshots = []'))
    assert main(["shoot", str(survey), "--out", str(folder / "none.npz")]) == 1
    assert "[data] shots is []; expected one or more numbers of shots" in output_of(capsys)[1]


def test_a_closed_pipe_gives_no_error():
    """`| head` closes its input early."""
    code = "import sys; from sweep_core.cli import main; sys.exit(main(['info']))"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert not process.stderr.read()


@pytest.mark.parametrize(
    ("out", "change", "words"),
    [
        ("", ("", ""), "ends in ''; expected .npz for gathers"),
        ("made.txt", ("", ""), "ends in '.txt'; expected .npz for gathers, or .sgy or .segy"),
        ("made.sgy", ('equation = "acoustic"', 'equation = "acoustic_variable_density"\nreceiver_type = ["vx", "vz"]'), "expected one field for"),
        ("made.sgy", ("dt = 0.002", "dt = 0.0012345678"), "dt is 1234.5678 microseconds"),
    ],
)  # fmt: skip
def test_bad_output_files_are_refused_before_modelling(survey, capsys, monkeypatch, out, change, words):
    def fail(*_):
        raise AssertionError("nothing may be computed")

    monkeypatch.setattr("sweep_core.cli.shoot.batches", fail)
    text = survey.read_text().replace(*change)
    both = '{vp = "true.npy", rho = "true.npy"}' if "density" in text else '"true.npy"'
    survey.write_text(text.replace('true = "true.npy"', f"true = {both}"))
    assert main(["shoot", str(survey), "--out", str(survey.parent / out)]) == 1
    assert re.search(words, output_of(capsys)[1])


def test_a_prepared_model_replaces_no_file_without_overwrite(tmp_path, capsys):
    np.save(tmp_path / "in.npy", np.full((40, 60), 2000, np.float32))
    words = ["model", str(tmp_path / "in.npy"), "--source-dh", "10", "--target-dh", "10", "--radii", "2,2", "--out"]
    for out in ("in.npy", "new.npz", "new.npz"):
        main([*words, str(tmp_path / out)])
    assert output_of(capsys)[1].count("is there already; give --overwrite") == 2
    assert (
        np.load(tmp_path / "in.npy").shape == (40, 60) and main([*words, str(tmp_path / "new.npz"), "--overwrite"]) == 0
    )


def test_the_command_is_installed_and_imports_no_framework():
    project = tomllib.loads((PAGE.parents[2] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"seismic-sweep": "sweep_core.cli:main"}
    code = "import sys, sweep_core.cli as c; c.main(['info']); print({'torch', 'jax', 'matplotlib'} & set(sys.modules))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "backends" in output and output.endswith("set()\n")
    process = subprocess.run([sys.executable, "-m", "sweep_core.cli", "--help"], capture_output=True, text=True)
    assert process.returncode == 0 and all(
        word in process.stdout for word in ("shoot", "invert", "segy", "model", "info")
    )
