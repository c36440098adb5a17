"""A damaged SEG-Y file is read as the standard defines its bytes, or refused by name; never read as garbage.

The format has no checksum: a damaged position in a trace header is another position. Redundant values (sample count,
interval, sample format by its bits) are known, and must be right if the file is read.
"""

import os
import struct

import numpy as np
import pytest
import segy as standard

from sweep_core import SweepError, sampled
from sweep_core.io import Line, read_segy

pytest.importorskip("segyio", reason="segyio is not installed")
ROUNDS = int(os.environ.get("SWEEP_FUZZ", 150))
"""Mutations of each of two files; set SWEEP_FUZZ to try more."""
NT, DT, COUNT = 64, 0.004, 14
BLOCK = 240 + 4 * NT
ABSURD = (0, 1, -1, 2, 3, 7, 63, 65, 255, 256, 1024, 32767, -32768, 12336)


def cut(content, rng):
    return content[: rng.integers(0, len(content))]


def cut_at_a_trace(content, rng):
    return content[: 3600 + BLOCK * rng.integers(0, COUNT)]


def grow(content, rng):
    return content + rng.bytes(int(rng.choice([1, 80, 240, 256, BLOCK])))


def binary_field(content, rng):
    names = sorted(standard.BINARY_FIELDS)
    at = standard.BINARY_FIELDS[names[rng.integers(len(names))]][0]
    struct.pack_into(">h", content, at - 1, int(rng.choice(ABSURD)))
    return content


def binary_bytes(content, rng):
    for at in rng.integers(3200, 3600, int(rng.integers(1, 30))):
        content[at] = rng.integers(256)
    return content


def trace_field(content, rng):
    names = sorted(standard.TRACE_FIELDS)
    at, kind = standard.TRACE_FIELDS[names[rng.integers(len(names))]]
    for trace in rng.choice(COUNT, int(rng.choice([1, 3, COUNT])), replace=False):
        struct.pack_into(">" + kind.lower(), content, 3600 + trace * BLOCK + at - 1, int(rng.choice(ABSURD)))
    return content


def trace_bytes(content, rng):
    for at in rng.integers(0, 240, int(rng.integers(1, 5))):
        content[3600 + rng.integers(COUNT) * BLOCK + at] ^= 1 << int(rng.integers(8))
    return content


def sample(content, rng):
    word = int(
        rng.choice([0x7FC00000, 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0x00000001, 0x80000000, rng.integers(2**32)])
    )
    struct.pack_into(">I", content, 3840 + rng.integers(COUNT) * BLOCK + 4 * rng.integers(NT), word)
    return content


def hole(content, rng):
    begin = int(rng.integers(0, len(content)))
    content[begin : begin + 512] = bytes(len(content[begin : begin + 512]))
    return content


def remove_bytes(content, rng):
    at = int(rng.integers(3200, len(content)))
    return content[:at] + content[at + int(rng.integers(1, 9)) :]


def format_code(content, rng):
    struct.pack_into(">h", content, 3224, int(rng.choice([*range(-1, 18), 256, 1280])))
    return content


MUTATIONS = (
    cut,
    cut_at_a_trace,
    grow,
    binary_field,
    binary_bytes,
    trace_field,
    trace_bytes,
    sample,
    hole,
    remove_bytes,
    format_code,
)


def check(result, content, format):
    """Check that the result equals the bytes; the sample count and format of `content` are the original ones."""
    assert result.dt == DT
    entries = set()
    for shot, row in enumerate(result.traces):
        for column, trace in enumerate(row):
            if trace < 0:
                assert not result.receiver_mask[shot, column] and not result.observed[shot, :, column].any()
                continue
            entries.add(int(trace))
            header = standard.trace_header(content, trace, NT)
            xs = [standard.scaled(header[name], header["SourceGroupScalar"]) for name in ("SourceX", "GroupX")]
            source_depth = header["SourceDepth"] - header["SourceSurfaceElevation"]
            zs = [
                standard.scaled(z, header["ElevationScalar"]) for z in (source_depth, -header["ReceiverGroupElevation"])
            ]
            feet = 0.3048 if struct.unpack_from(">h", content, 3254)[0] == 2 else 1.0
            positions = feet * np.array([[xs[0], zs[0]], [xs[1], zs[1]]])
            samples = standard.trace_samples(content, trace, NT, format).astype(np.float32)
            dead = header["TraceIdentificationCode"] in (2, 3) or np.ptp(samples) == 0
            assert result.receiver_mask[shot, column] == (not dead)
            np.testing.assert_allclose(result.sources[shot], positions[0], rtol=1e-12, atol=1e-9)
            if dead:  # the position of a dead trace is not checked
                assert not result.observed[shot, :, column].any()
                continue
            np.testing.assert_allclose(result.receivers[shot, column], positions[1], rtol=1e-12, atol=1e-9)
            delay = 1e-3 * standard.scaled(header["DelayRecordingTime"], header["TimeScalar"])
            samples = sampled(samples, DT, result.nt, DT, start=delay)
            atol = 1e-5 * np.abs(samples).max()
            np.testing.assert_allclose(result.observed[shot, :, column, 0], samples, rtol=1e-5, atol=atol)
    count = (len(content) - 3600) // BLOCK
    codes = [standard.trace_header(content, trace, NT)["TraceIdentificationCode"] for trace in range(count)]
    seismic = {trace for trace, code in enumerate(codes) if code in (0, 1, *range(11, 18))}
    assert seismic <= entries <= seismic | {trace for trace, code in enumerate(codes) if code in (2, 3)}


@pytest.mark.parametrize("format", [1, 5])
def test_a_mutated_file_is_read_correctly_or_refused_by_name(format, tmp_path):
    traces, headers = standard.survey(NT)
    good, rng, path = (
        standard.encode(traces, headers, format=format),
        np.random.default_rng(format),
        tmp_path / "shots.sgy",
    )
    refused, reasons = 0, set()
    for n in range(ROUNDS):
        mutate = MUTATIONS[n % len(MUTATIONS)]
        content = bytes(mutate(bytearray(good), rng))
        path.write_bytes(content)
        try:
            result = read_segy(path, dh=1.0, line=Line())
        except SweepError as error:
            assert "shots.sgy" in str(error) and "\n" not in str(error), mutate.__name__
            refused, _ = refused + 1, reasons.add(str(error)[-30:])
            continue
        except BaseException as error:
            raise AssertionError(f"mutation {n}, {mutate.__name__}: {error!r}") from error
        assert np.isfinite(result.observed).all() and str(result)
        try:
            check(result, content, format)
        except AssertionError as error:
            raise AssertionError(f"mutation {n}, {mutate.__name__} was read as garbage") from error
    print(f"{refused} of {ROUNDS} refused, for {len(reasons)} reasons")
    assert 0.25 * ROUNDS < refused < 0.9 * ROUNDS
