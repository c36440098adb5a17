"""SEG-Y written and read by the letter of the standard, byte by byte: the reference of the tests."""

import struct

import numpy as np

TRACE_FIELDS = {
    "FieldRecord": (9, "i"), "TraceIdentificationCode": (29, "h"), "offset": (37, "i"), "ReceiverGroupElevation": (41, "i"),
    "SourceSurfaceElevation": (45, "i"), "SourceDepth": (49, "i"), "ElevationScalar": (69, "h"), "SourceGroupScalar": (71, "h"),
    "SourceX": (73, "i"), "SourceY": (77, "i"), "GroupX": (81, "i"), "GroupY": (85, "i"), "CoordinateUnits": (89, "h"),
    "DelayRecordingTime": (109, "h"), "Samples": (115, "H"), "Interval": (117, "H"), "TraceWeightingFactor": (169, "h"),
    "TimeScalar": (215, "h"), "CDP_X": (181, "i"), "CDP_Y": (185, "i"),
}  # fmt: skip
BINARY_FIELDS = {
    "Interval": (3217, "H"),
    "Samples": (3221, "H"),
    "Format": (3225, "h"),
    "Unit": (3255, "h"),
    "SortingCode": (3229, "h"),
    "ExtendedInterval": (3273, "d"),
    "Texts": (3505, "h"),
}
KINDS = {1: "u4", 2: "i4", 3: "i2", 5: "f4", 6: "f8", 8: "i1", 10: "u4", 11: "u2", 16: "u1"}


def to_ibm(values):
    """Return IBM floats by their definition: the sign, 16^(exponent - 64), a fraction from 1/16 to 1."""
    words = []
    for value in np.ravel(values).astype(float):
        sign, size, exponent = int(value < 0), abs(value), 64
        while size >= 1:
            size, exponent = size / 16, exponent + 1
        while 0 < size < 1 / 16:
            size, exponent = size * 16, exponent - 1
        words.append(sign << 31 | (exponent << 24 | int(size * 2**24) if size else 0))
    return np.array(words, np.uint32).reshape(np.shape(values))


def from_ibm(words):
    words = words.astype(np.int64)
    return (-1.0) ** (words >> 31) * 16.0 ** ((words >> 24 & 127) - 64) * (words & 0xFFFFFF) / 2**24


def encode(traces, headers, *, order=">", format=5, interval=4000, binary=None, texts=0, revision=1):
    """Return the bytes of a file with traces (n, nt) and a dict of header fields for each."""
    traces = np.asarray(traces)
    head = bytearray(3600)
    head[:3200] = "".join(f"C{n:2d} A TEST".ljust(80) for n in range(1, 41)).encode("cp037")
    fields = {"Interval": interval, "Samples": traces.shape[1], "Format": format, "Unit": 1, "Texts": texts}
    for name, value in (fields | (binary or {})).items():
        at, kind = BINARY_FIELDS[name]
        struct.pack_into(order + kind, head, at - 1, value)
    head[3500] = revision
    whole = bytes(head) + bytes(3200 * texts)
    samples = (to_ibm(traces) if format == 1 else traces).astype(order + KINDS[format])
    for row, header in zip(samples, headers, strict=True):
        block = bytearray(240)
        for name, value in (
            {"TraceIdentificationCode": 1, "Samples": traces.shape[1], "Interval": interval} | header
        ).items():
            at, kind = TRACE_FIELDS[name]
            struct.pack_into(order + kind, block, at - 1, value)
        whole += bytes(block) + row.tobytes()
    return whole


def trace_header(content, trace, nt):
    """Return the header fields of one trace of a big-endian file of 4-byte samples without extended textual headers."""
    begin = 3600 + trace * (240 + 4 * nt)
    return {
        name: struct.unpack_from(">" + kind, content, begin + at - 1)[0] for name, (at, kind) in TRACE_FIELDS.items()
    }


def trace_samples(content, trace, nt, format=5, order=">"):
    kind = np.dtype(order + KINDS[format])
    begin = 3600 + trace * (240 + kind.itemsize * nt) + 240
    result = np.frombuffer(content, kind, nt, begin)
    return from_ibm(result) if format == 1 else result.astype(float)


def scaled(value, scalar):
    return value * scalar if scalar > 0 else value / -scalar if scalar else value


def survey(nt=64, seed=0):
    """Return (traces, headers) of three shots of 5, 4 and 5 receivers on a line; noise that decays by five decades."""
    rng, headers = np.random.default_rng(seed), []
    for shot, count in enumerate((5, 4, 5)):
        for receiver in range(count):
            sx, gx = 100.0 + 25 * shot, 12.5 * receiver
            headers.append(
                {"FieldRecord": 101 + shot, "SourceX": round(100 * sx), "GroupX": round(100 * gx), "SourceGroupScalar": -100,
                 "SourceDepth": 60, "ReceiverGroupElevation": -100, "ElevationScalar": -10, "CoordinateUnits": 1,
                 "offset": round(gx - sx)}
            )  # fmt: skip
    traces = rng.standard_normal((len(headers), nt)) * 10.0 ** np.linspace(3, -2, nt)
    return traces.astype(np.float32), headers
