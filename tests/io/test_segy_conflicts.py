"""Contradictions and gaps in SEG-Y headers: resolved by the file size, refused by name, or overruled by the user."""

import numpy as np
import pytest
import segy as standard

from sweep_core import DataError, DomainError, DtypeError, OptionError, UnsupportedError
from sweep_core.io import open_segy, read_segy

pytest.importorskip("segyio", reason="segyio is not installed")


@pytest.mark.parametrize(
    "stated", [{"binary": {"Samples": 63}}, {"change": {"Samples": 1500}}, {"binary": {"Samples": 0}}]
)
def test_the_file_size_decides_between_sample_counts(write, stated):
    segy = open_segy(write(**stated))
    assert segy.nt == 64 and len(segy) == 14
    assert any("admits only 64" in note for note in segy.notes) == (stated != {"binary": {"Samples": 0}})


def test_ambiguous_or_impossible_sample_counts_are_refused(write):
    whole = write().read_bytes()
    size = len(whole) - 3600
    other = next(n for n in range(65, 9999) if size % (240 + 4 * n) == 0)
    path = write(binary={"Samples": other})
    with pytest.raises(
        DataError,
        match=f"header states {other} samples a trace, its first trace 64, and its size admits both; pass the right one as nt=",
    ):
        open_segy(path)
    assert open_segy(path, nt=64).nt == 64
    path.write_bytes(whole[:-7])
    with pytest.raises(
        DataError, match=r"shots.sgy has 6937 bytes of traces, 13.986 traces of 64; expected a whole number"
    ):
        open_segy(path)
    with pytest.raises(DataError, match="nt is 65; expected a count for which"):
        open_segy(write(), nt=65)


def test_different_intervals_need_interval(write):
    path = write(binary={"Interval": 2000})
    with pytest.raises(
        DataError,
        match="2000 microseconds in its binary header and in its 14 traces 4000 in 14; expected one: pass interval=",
    ):
        open_segy(path)
    assert open_segy(path, interval=0.004).interval == 0.004
    assert open_segy(write(binary={"Interval": 0})).interval == 0.004
    with pytest.raises(DataError, match="0 microseconds in its binary header and in its 14 traces none"):
        open_segy(write(binary={"Interval": 0}, change={"Interval": 0}))


def test_samples_in_another_format_than_stated_are_detected(write):
    traces = standard.survey()[0]
    for real, stated, message in (
        (1, 5, "as IBM floats"),
        (5, 1, "as IEEE floats"),
        (5, 2, "as floats read as integers"),
        (1, 10, "as floats read as integers"),
    ):
        path = write(traces, format=real, binary={"Format": stated})
        with pytest.raises(
            DataError, match=f"states samples of format {stated} .*{message}. Pass the right one as sample_format="
        ):
            open_segy(path)
        assert np.abs(open_segy(path, sample_format=real).traces() - traces).max() < 1e-3
    with pytest.raises(UnsupportedError, match="fixed point with gain"):
        open_segy(write(binary={"Format": 4}))
    with pytest.raises(DataError, match="states sample format 77"):
        open_segy(write(binary={"Format": 77}))


def test_samples_that_are_not_finite_are_refused_by_number(write):
    traces = standard.survey()[0]
    traces[4, 9], traces[4, 11] = np.nan, np.inf
    path = write(traces)
    with pytest.raises(DataError, match=r"sample 9 of trace 4 is nan, as are 1 more; .*dead=\[4\]"):
        read_segy(path, dh=12.5)
    assert read_segy(path, dh=12.5, dead=[4]).dead.sum() == 1
    doubles = write(np.where(np.isfinite(traces), traces.astype(float), 1e300), format=6)
    with pytest.raises(DataError, match="sample 9 of trace 4 is inf"):
        open_segy(doubles).traces()


def test_offsets_that_disagree_with_coordinates_are_noted(write):
    (note,) = read_segy(write(change=lambda n: {"offset": 50} if n > 10 else {}), dh=12.5).notes
    assert "in 3 headers" in note and "trace 11 states 50 m, its coordinates 125 m" in note


REFUSED = {
    "no file": ({"path": "none.sgy"}, {}, DataError, "cannot be opened: No such file"),
    "shots": ({}, {"shots": [3]}, DomainError, r"shots is \[3\]; expected numbers of shots from 0 to 2"),
    "dead": ({}, {"dead": [14]}, DomainError, "numbers of traces from 0 to 13"),
    "dh": ({}, {"dh": 0.0}, DomainError, "dh is 0.0"),
    "dt": ({}, {"dt": -1.0}, DomainError, "dt is -1.0"),
    "one sample": ({}, {"dt": 9.0}, DomainError, r"dt is 9 s, and traces of .* are 0.252 s long; expected 2 to"),
    "many samples": ({}, {"dt": 1e-12}, DomainError, r"dt is 1e-12 s, .*; expected 2 to 1073741824 samples"),
    "nt": ({}, {"nt": 10.5}, DomainError, "nt is 10.5; expected a whole number"),
    "line": ({}, {"line": "north"}, DtypeError, "line is 'north'; expected sweep_core.io.Line"),
    "datum": ({}, {"datum": "sea"}, DtypeError, "datum is 'sea'; expected one number, metres"),
    "depth": ({}, {"source_depth": "5 m"}, DtypeError, "source_depth is '5 m'"),
    "codes": ({}, {"codes": 1}, DtypeError, r"codes is 1; expected trace identification codes, such as \(1,\)"),
    "scalar": ({"change": {"SourceGroupScalar": 257}}, {}, DataError, "SourceGroupScalar of trace 0 is 257, and 13 others"),
    "unit": ({"change": {"CoordinateUnits": 9}}, {}, DataError, "CoordinateUnits of trace 0 is 9"),
    "no unit": ({}, {"unit": ["m"]}, OptionError, r"unit is \['m'\]"),
    "no format": ({}, {"sample_format": [1]}, UnsupportedError, r"sample_format is \[1\]; expected one of"),
    "texts": ({"texts": 0, "binary": {"Texts": -1}}, {}, UnsupportedError, "-1 extended textual headers"),
    "section": ({"binary": {"SortingCode": 4}}, {}, DataError, r"is a section: .* use open_segy\(stacked=False\)"),
    "no bool": ({}, {"stacked": 1}, OptionError, "stacked is 1; expected True or False"),
    "lengths": ({"change": lambda n: {"Samples": 64 + n % 3}}, {}, DataError, "traces state 3 different sample counts"),
}  # fmt: skip


@pytest.mark.parametrize(("file", "options", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_files_and_arguments_are_refused(write, tmp_path, file, options, kind, message):
    path = tmp_path / "none.sgy" if file.get("path") else write(**file)
    header = {name: options[name] for name in ("unit", "sample_format", "stacked") if name in options}
    others = {name: value for name, value in options.items() if name not in header}
    with pytest.raises(kind, match=message):
        read_segy(open_segy(path, **header), **{"dh": 12.5} | others)


def test_an_unknown_revision_is_noted(write):
    (note,) = open_segy(write(revision=69)).notes
    assert "states revision 69 of the format, which does not exist: read as revision 0" in note
    with pytest.raises(DataError, match="traces of 64; expected a whole number|sample counts"):
        open_segy(write(revision=69, texts=1))
