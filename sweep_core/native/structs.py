"""The structs of native/include/sweep/sweep.h; the layout probe of the library is compared with them at load."""

import ctypes as c

from ..errors import DomainError
from ..numerics.stencils import HIGHEST_ORDER

ABI_VERSION = 7
MAX_AXES, MAX_FIELDS, MAX_COEFFICIENTS, MAX_TERMS, MAX_BUFFERS = 3, 62, 128, 256, 32
NAME_BYTES, STATEMENT_BYTES = 32, 65
MAX_STEPS = 1 << 30
MAX_WEIGHTS = 5 * HIGHEST_ORDER // 2 + 1
OK, BAD_CALL, BAD_VALUE, UNSTABLE, UNSUPPORTED, CANCELLED, DEVICE = range(7)
DTYPES = {"float32": 0, "float64": 1, "bfloat16": 2, "float16": 3, "int8": 4}
"""Those after the first two are of histories alone."""
ZERO, SURFACE, EXCHANGE = range(3)
OPERATIONS = ("forward", "adjoint", "born")
ROLES = ("none", "in", "out", "state", "scratch")
VALUES, INDICES, BYTES = range(3)
NO_STRIPS, INTERIOR, EXACT = range(3)

_axes, _fields, _name = c.c_int32 * MAX_AXES, c.c_int32 * MAX_FIELDS, c.c_char * NAME_BYTES


class Checked(c.Structure):
    """A struct that refuses values which its members cannot hold; ctypes would cut integers to fit."""

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        stored = getattr(self, name)
        many = isinstance(stored, c.Array)
        for number, member in zip(value, stored, strict=False) if many else [(value, stored)]:
            if isinstance(member, int) and member != number:
                bits = 8 * type(self).__dict__[name].size // (len(stored) if many else 1)
                raise DomainError(
                    f"{name} is {number}; expected a number of {bits} bits, as the compiled code holds it"
                )


class SweepProblem(Checked):
    _fields_ = [
        ("bytes", c.c_uint32),
        ("dtype", c.c_int32),
        ("ndim", c.c_int32),
        ("order", c.c_int32),
        ("shape", _axes),
        ("pml_low", _axes),
        ("pml_high", _axes),
        ("shots", c.c_int32),
        ("earths", c.c_int32),
        ("steps", c.c_int32),
        ("first", c.c_int32),
        ("last", c.c_int32),
        ("chunk", c.c_int32),
        ("source_traces", c.c_int32),
        ("receiver_traces", c.c_int32),
        ("source_columns", c.c_int32),
        ("receiver_columns", c.c_int32),
        ("source_points", _fields),
        ("receiver_points", _fields),
        ("face_low", _axes),
        ("face_high", _axes),
        ("snapshot_every", c.c_int32),
        ("snapshot_low", _axes),
        ("snapshot_high", _axes),
        ("boundary", c.c_int32),
        ("stored", c.c_int32),
        ("interval", c.c_int32),
        ("imaged_from", c.c_int32),
        ("snapshot_fields", c.c_int64),
        ("coefficient_limit", c.c_double),
        ("dt", c.c_double),
        ("spacing", c.c_double * MAX_AXES),
        ("weights", (c.c_double * MAX_WEIGHTS) * MAX_AXES),
        ("equation", _name),
    ]


class SweepBuffer(c.Structure):
    _fields_ = [("data", c.c_void_p), ("bytes", c.c_int64)]


class SweepControl(Checked):
    _fields_ = [("cancel", c.c_int32), ("progress", c.c_int32)]


class SweepContext(c.Structure):
    _fields_ = [
        ("bytes", c.c_uint32),
        ("threads", c.c_int32),
        ("isa", c.c_int32),
        ("everywhere", c.c_int32),
        ("stream", c.c_void_p),
        ("control", c.POINTER(SweepControl)),
        ("error", c.c_char_p),
        ("error_bytes", c.c_int64),
    ]


class SweepNeed(c.Structure):
    _fields_ = [("bytes", c.c_int64), ("role", c.c_int32), ("type", c.c_int32), ("name", _name)]


class SweepNeeds(c.Structure):
    _fields_ = [("bytes", c.c_uint32), ("count", c.c_int32), ("buffer", SweepNeed * MAX_BUFFERS)]


class SweepEquation(Checked):
    _fields_ = [
        ("bytes", c.c_uint32),
        ("fields", c.c_int32),
        ("coefficients", c.c_int32),
        ("levels", c.c_int32),
        ("memories", c.c_int32),
        ("ndim_mask", c.c_int32),
        ("reversible", c.c_int32),
        ("name", _name),
        ("statement", c.c_char * STATEMENT_BYTES),
    ]


STRUCTS = (SweepProblem, SweepBuffer, SweepControl, SweepContext, SweepNeed, SweepNeeds, SweepEquation)


def layout() -> list[int]:
    """Return the expected answer of sweep_layout: sizes, then offsets of the last members."""
    offsets = [getattr(s, s._fields_[-1][0]).offset for s in STRUCTS]
    return [c.sizeof(s) for s in STRUCTS] + offsets
