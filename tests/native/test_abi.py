"""The C ABI: it describes itself, refuses invalid arguments, and never reads or writes outside its buffers."""

import ctypes as c
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from abi import Run, cpu_library, raw_status
from laws import ORDERS, case, variant

from sweep_core import (
    AcousticVariableDensity,
    DeviceError,
    DomainError,
    NativeError,
    Snapshots,
    StabilityError,
    UnsupportedError,
    native,
)
from sweep_core.native import structs
from sweep_core.native.codegen import shipped, statement

HEADERS = Path(__file__).parents[2] / "native/include/sweep"
OWN = shipped()


@pytest.fixture(scope="module", autouse=True)
def library():
    return cpu_library()


# --- description ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ndim", [2, 3])
def test_the_library_holds_the_shipped_equations_as_their_classes_state_them(library, ndim):
    compiled = {e.name.decode(): e for e in library.describe(ndim)}
    assert compiled.keys() == {equation.name for equation in OWN}
    for equation in OWN:
        there = compiled[equation.name]
        assert there.statement.decode() == statement(equation)
        assert [n for n in range(32) if there.ndim_mask >> n & 1] == [n for n in equation.ndims if n > 1]
        assert there.fields == len(equation.fields_in(ndim)) and there.levels == equation.levels
        assert there.coefficients == len(equation.coefficient_names_in(ndim))


def test_the_layout_probe_never_writes_past_its_count(library):
    expected = structs.layout()
    for count in range(len(expected) + 3):
        values = (c.c_int64 * (len(expected) + 3))(*[-7] * (len(expected) + 3))
        assert library.dll.sweep_layout(values, count) == len(expected)
        filled = min(count, len(expected))
        assert list(values) == expected[:filled] + [-7] * (len(values) - filled)


@pytest.mark.skipif(not HEADERS.is_dir(), reason="not a source tree")
def test_abi_md_states_the_version_and_the_limits_of_the_header():
    header = (HEADERS / "sweep.h").read_text()
    page = (Path(__file__).parents[2] / "docs/reference/abi.md").read_text()
    limits = {name: int(value) for name, value in re.findall(r"#define SWEEP_(\w+) (\d+)", header)}
    assert f"The version is {structs.ABI_VERSION}:" in page and limits["ABI_VERSION"] == structs.ABI_VERSION
    assert limits["MAX_STEPS"] == 2**30 and "`SWEEP_MAX_STEPS` = 2^30" in page


def test_the_library_reports_its_version_and_builds(library):
    assert library.dll.sweep_abi_version() == structs.ABI_VERSION
    assert library.builds[0] == "portable" and library.isa in library.builds
    assert library.dll.sweep_isa(-1) is None and library.dll.sweep_isa(99) is None
    assert library.dll.sweep_describe(-1, 2, c.byref(structs.SweepEquation(bytes=c.sizeof(structs.SweepEquation)))) == (
        structs.UNSUPPORTED
    )


@pytest.mark.parametrize("order", ORDERS)
def test_python_and_compiled_code_agree_on_sizes(order):
    """Run compares the arrays that Python fills and reads; opaque buffers are whole numbers of elements."""
    run = Run(case(order=order))
    opaque = [b.name for b in run.call.named().values() if b.dtype == "uint8"]
    assert sorted(opaque) == ["checkpoints", "history", "state", "workspace"]
    assert all(run[name].nbytes % 8 == 0 for name in opaque)


def test_abi_buffers_md_lists_every_buffer_with_its_roles():
    """docs/reference/abi-buffers.md has one table of the buffers, in the order of the ABI."""
    page = (Path(__file__).parents[2] / "docs/reference/abi-buffers.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| *(\w*) *\| *(\w*) *\| *(\w*) *\|", page, re.MULTILINE)
    call, named = Run(case()).call, {}
    for operation, buffers in call.buffers.items():
        for b in buffers:
            named.setdefault(b.name, dict.fromkeys(call.buffers, ""))[operation] = b.role
    kinds = {"uint8": "bytes", "int32": "int32", call.shape.dtype: "values"}
    expected = {name: (kinds[call.named()[name].dtype], *roles.values()) for name, roles in named.items()}
    assert {name: tuple(rest) for name, *rest in rows} == expected
    order = [name for name, *_ in rows]
    for buffers in call.buffers.values():
        assert [b.name for b in buffers] == [name for name in order if name in {b.name for b in buffers}]


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 4, c.sizeof(structs.SweepProblem) - 4, 10**6])
def test_a_problem_of_another_size_is_refused(size):
    run = Run(case())
    run.struct.bytes = size
    with pytest.raises(NativeError, match="sweep_problem is not the struct of ABI"):
        run.forward()


@pytest.mark.parametrize("changes", [{"bytes": 0}, {"bytes": 12}, {"threads": 0}, {"threads": -4}], ids=str)
@pytest.mark.parametrize("operation", structs.OPERATIONS)
def test_a_context_with_a_bad_size_or_thread_count_is_refused(operation, changes):
    assert raw_status(Run(case()), operation, **changes)[0] == structs.BAD_CALL


def test_other_structs_of_another_size_are_refused(library):
    run = Run(case())
    context = structs.SweepContext(bytes=c.sizeof(structs.SweepContext), threads=1)
    needs = structs.SweepNeeds(bytes=3)
    assert library.dll.sweep_buffers(c.byref(run.struct), 0, c.byref(needs), c.byref(context)) == structs.BAD_CALL
    assert library.dll.sweep_describe(0, 2, c.byref(structs.SweepEquation(bytes=3))) == structs.BAD_CALL


def test_null_pointers_are_refused(library):
    run = Run(case())
    context = structs.SweepContext(bytes=c.sizeof(structs.SweepContext), threads=1)
    dll = library.dll
    for number, needs in enumerate(run.needs.values()):
        count = len(needs)
        assert dll.sweep_run(None, number, None, count, c.byref(context)) == structs.BAD_CALL
        assert dll.sweep_run(c.byref(run.struct), number, None, count, c.byref(context)) == structs.BAD_CALL
        assert dll.sweep_run(c.byref(run.struct), number, None, count, None) == structs.BAD_CALL
        assert dll.sweep_buffers(c.byref(run.struct), number, None, c.byref(context)) == structs.BAD_CALL
    assert dll.sweep_describe(0, 2, None) == structs.BAD_CALL


@pytest.mark.parametrize("number", [-1, 3, 2**31 - 1, -(2**31)])
def test_an_unknown_operation_is_refused(library, number):
    run, text = Run(case()), c.create_string_buffer(100)
    context = structs.SweepContext(bytes=c.sizeof(structs.SweepContext), threads=1, error_bytes=100)
    context.error = c.cast(text, c.c_char_p)
    needs = structs.SweepNeeds(bytes=c.sizeof(structs.SweepNeeds))
    for function, arguments in ((library.dll.sweep_buffers, [c.byref(needs)]), (library.dll.sweep_run, [None, 0])):
        assert function(c.byref(run.struct), number, *arguments, c.byref(context)) == structs.BAD_CALL
        assert text.value.decode() == f"operation is {number}; expected 0 to 2"


def test_an_error_text_fits_its_buffer():
    run = Run(case())
    run.struct.order = 3
    text = c.create_string_buffer(b"#" * 63, 64)
    for room in (0, 1, 8, 20):
        c.memset(text, ord("#"), 63)
        status, _ = raw_status(run, error=c.cast(text, c.c_char_p), error_bytes=room)
        assert status == structs.BAD_CALL and text.raw[room:63] == b"#" * (63 - room)
        assert not room or b"\0" in text.raw[:room]
    assert raw_status(run, error=None)[0] == structs.BAD_CALL


@pytest.mark.parametrize("operation", structs.OPERATIONS)
@pytest.mark.parametrize("change", [-1, 1])
def test_another_number_of_buffers_is_refused(operation, change):
    run = Run(case())
    expected = len(run.addresses(operation))
    status, text = raw_status(run, operation, count=expected + change)
    assert status == structs.BAD_CALL and text == f"count is {expected + change}; expected {expected} buffers"


@pytest.mark.parametrize("chunk", [0, 7, 47])
@pytest.mark.parametrize("operation", structs.OPERATIONS)
def test_a_buffer_that_is_too_small_or_missing_is_refused(operation, chunk):
    run = Run(case(), chunk=max(chunk, operation == "adjoint"), snapshots=Snapshots(["h1"], 9))
    for i, need in enumerate(run.needs[operation]):
        size, (address, _) = need.bytes, run.addresses(operation)[i]
        if size == 0:
            continue
        for spoiled in ((address, size - 1), (address, 0), (address, -1), (None, size)):
            buffers = run.addresses(operation)
            buffers[i] = spoiled
            with pytest.raises(
                NativeError, match=rf"buffer {need.name.decode()} has {spoiled[1]} bytes; .* needs {size}"
            ):
                run.run(operation, buffers)


def test_empty_buffers_may_have_a_null_address():
    """Buffers of zero bytes, also of a missing history or checkpoints, may have a null address."""
    run = Run(case(), chunk=0)
    empty = [need.name for need in run.needs["forward"] if need.bytes == 0]
    assert empty == [b"history", b"checkpoints", b"snapshots"]
    buffers = zip(run.needs["forward"], run.addresses("forward"), strict=True)
    run.run("forward", [(None, 0) if need.name in empty else at for need, at in buffers])
    assert np.isfinite(run["record"]).all()


CONTRADICTIONS = {
    "order": [3, 0, -2, 2**30, -(2**31)],
    "shots": [0, -1, -(2**31)],
    "steps": [0, -5, 2**30 + 1, 2**31 - 1],
    "chunk": [-1],
    "boundary": [-1, 3, 2**31 - 1],
    "stored": [-1, 5, 2**31 - 1],
    "interval": [0, -1, 2**30 + 1],
    "imaged_from": [-1, 24, 2**31 - 1],  # the grid has 19 rows and a PML of 5 above
    "earths": [0, 2, -1],
    "first": [-1, 48, 47],
    "last": [49, 0, -1],
    "source_traces": [-1],
    "receiver_traces": [-3],
    "source_columns": [-1],
    "receiver_columns": [-3],
    "coefficient_limit": [0.0, -1.0, float("nan")],
    "face_low": [(-1, 0, 0), (3, 0, 0), (0, 2**31 - 1, 0), (1, 0, 0)],  # that face has a PML
    "face_high": [(-1, 0, 0), (0, 3, 0), (0, -(2**31), 0)],
    "snapshot_every": [-1, -(2**31)],
    "snapshot_fields": [-1, 2, 3, 2**30, 2**40, -(2**63)],
}


@pytest.mark.parametrize(("name", "value"), [(k, v) for k, values in CONTRADICTIONS.items() for v in values])
def test_a_problem_that_contradicts_itself_is_refused(name, value):
    run = Run(case(nt=48))
    if (name, value) == ("first", 47):
        run.struct.last = 47
    setattr(run.struct, name, value)
    for operation in structs.OPERATIONS:
        with pytest.raises(NativeError):
            run.run(operation)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"chunk": 0}, "boundary is 1 and chunk is 0"),
        ({"first": 3}, "first is 3 and last is 48; boundary strips, less precision"),
        ({"last": 40}, "first is 0 and last is 40; boundary strips, less precision"),
    ],
)
def test_boundary_strips_need_a_whole_run_and_a_chunk(changes, message):
    run = Run(case(nt=48), chunk=7)
    for name, value in {"boundary": structs.INTERIOR, **changes}.items():
        setattr(run.struct, name, value)
    for operation in structs.OPERATIONS:
        with pytest.raises((NativeError, UnsupportedError), match=message):
            run.run(operation)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"stored": 4, "first": 3},
            "first is 3 and last is 48; .* less precision and intervals need one call of all 48",
        ),
        ({"interval": 2, "last": 40}, "first is 0 and last is 40; .* less precision and intervals need one call"),
        ({"dtype": 0, "stored": 1}, r"stored is 1; expected dtype \(0\) or a sweep_dtype of less precision"),
        (
            {"interval": 2, "boundary": structs.EXACT},
            "interval is 2; equation acoustic must image each step",
        ),
    ],
    ids=str,
)
def test_smaller_histories_need_a_whole_run(changes, message):
    run = Run(case(nt=48), chunk=7)
    for name, value in changes.items():
        setattr(run.struct, name, value)
    for operation in structs.OPERATIONS:
        with pytest.raises((NativeError, UnsupportedError), match=message):
            run.run(operation)


def test_a_surface_with_a_pml_is_refused():
    run = Run(variant("free surface"))
    run.struct.pml_low[0] = 1
    with pytest.raises(NativeError, match="face_low of axis 0 is SWEEP_SURFACE with a PML of 1 cells"):
        run.forward()
    run.struct.pml_low[0] = 0
    run.forward()


@pytest.mark.parametrize("axis", range(structs.MAX_AXES))
@pytest.mark.parametrize("face", ["face_low", "face_high"])
def test_unsupported_roles_of_a_face_are_refused_by_name(face, axis):
    """A free surface is allowed on top only, and cells of a neighbour nowhere."""
    run = Run(case())
    roles = {structs.EXCHANGE: "SWEEP_EXCHANGE"}
    if (face, axis) != ("face_low", 0):
        roles[structs.SURFACE] = "SWEEP_SURFACE"
    for role, name in roles.items():
        getattr(run.struct, face)[axis] = role
        for operation in structs.OPERATIONS:
            with pytest.raises(UnsupportedError, match=f"{face} of axis {axis} is {name}"):
                run.run(operation)
    for role in (-1, 3):
        getattr(run.struct, face)[axis] = role
        with pytest.raises(NativeError, match=f"{face} of axis {axis} is {role}; expected a sweep_face"):
            run.forward()
    getattr(run.struct, face)[axis] = structs.ZERO
    run.forward()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("low", "high"), [(-1, 4), (0, 0), (5, 5), (7, 3), (0, 1000), (2**31 - 1, 2**31 - 1), (-(2**31), 4)]
)
def test_snapshots_outside_the_grid_are_refused(axis, low, high):
    run = Run(case(), snapshots=Snapshots(["h1"], 9))
    run.struct.snapshot_low[axis], run.struct.snapshot_high[axis] = low, high
    for operation in structs.OPERATIONS:
        with pytest.raises(NativeError, match=f"the snapshots have cells {low} to {high} of axis {axis}"):
            run.run(operation)
    run.struct.snapshot_every = 0
    assert np.isfinite(run.forward()).all(), "without snapshots their region is ignored"


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("name", "value"), [("shape", 0), ("shape", -9), ("shape", 12), ("pml_low", -1), ("pml_high", 2**31 - 1)]
)
def test_a_grid_that_contradicts_itself_is_refused(axis, name, value):
    run = Run(case(shape=(9, 9), pml=5))
    getattr(run.struct, name)[axis] = value
    with pytest.raises(NativeError, match=f"axis {axis} has -?[0-9]+ cells inside its PML; order 4 needs at least 4"):
        run.forward()


def test_a_grid_that_int32_cannot_count_is_refused():
    run = Run(case())
    run.struct.shape[0] = run.struct.shape[1] = 2**17
    with pytest.raises(NativeError, match=r"more than 2\^31 - 1 cells"):
        run.forward()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"equation": b"elastic-of-mars"}, "equation is elastic-of-mars, which is not compiled"),
        ({"equation": b"x" * 31}, "equation is x{31}, which is not compiled"),
        ({"equation": b""}, "is not compiled"),
        ({"ndim": 1}, "not compiled for 1 dimensions"),
        ({"ndim": 2**31 - 1}, "not compiled for 2147483647 dimensions"),
        ({"ndim": 4}, "not compiled for 4 dimensions"),
        ({"dtype": 7}, "dtype 7"),
    ],
    ids=str,
)
def test_missing_equations_dimensions_and_dtypes_are_refused_by_name(changes, message):
    run = Run(case())
    for name, value in changes.items():
        setattr(run.struct, name, value)
    with pytest.raises(UnsupportedError, match=message):
        run.forward()


def test_a_missing_build_is_refused(monkeypatch):
    run = Run(case())
    for isa in (-1, 99):
        status, text = raw_status(run, isa=isa)
        assert status == structs.DEVICE and "no such build of this library" in text
    monkeypatch.setenv("SWEEP_ISA", "abacus")
    with pytest.raises(NativeError, match=r"SWEEP_ISA is 'abacus'; expected one of \['portable'"):
        run.forward()


@pytest.mark.parametrize("steps", [2**30 + 1, 2**31 - 1])
def test_too_many_steps_are_refused(steps):
    run = Run(case())
    run.struct.steps = run.struct.last = steps
    with pytest.raises(NativeError, match="contradicts itself"):
        run.forward()


UNEQUAL_TRACES = {
    "no points": {"points": (0, 0)},
    "a point and a half per trace": {"points": (4, 3)},
    "more points than can be counted": {"points": (2**31 - 2, 2)},
    "a column and a half per trace": {"columns": 3},
    "no columns": {"columns": 0},
    "no traces": {"traces": 0},
    "points of no trace": {"traces": 0, "columns": 0},
    "fewer traces than none": {"traces": -2},
}


@pytest.mark.parametrize("kind", ["source", "receiver"])
@pytest.mark.parametrize("changes", UNEQUAL_TRACES.values(), ids=UNEQUAL_TRACES)
def test_traces_need_equal_numbers_of_points_and_columns(changes, kind):
    """The remainder would not be written, or would lie in another trace."""
    run = Run(case.__wrapped__(AcousticVariableDensity, nt=4))
    for name, value in ({"traces": 2, "columns": 2, "points": (2, 2)} | changes).items():
        setattr(run.struct, f"{kind}_{name}", value)
    message = r"cannot be divided equally among \d traces|expected at most 2\^31 - 1|contradicts itself"
    with pytest.raises(NativeError, match=message):
        run.forward()


@pytest.mark.parametrize("operation", structs.OPERATIONS)
def test_a_huge_number_of_threads_gives_the_same_result(operation):
    """The result is the same with any number of threads."""
    example = case.__wrapped__(shape=(60, 90), nshots=5, nt=6)
    runs = [Run(example, chunk=7, threads=threads) for threads in (1, 2**31 - 1)]
    for run in runs:
        run.forward()
        run["cotangent"][:] = 1
        run.run(operation)
    for buffer in run.call.outputs(operation):
        if buffer.dtype != "uint8":
            np.testing.assert_array_equal(runs[0][buffer.name], runs[1][buffer.name])


@pytest.mark.parametrize(
    ("name", "value"),
    [("steps", 2**33), ("shots", -(2**31) - 1), ("bytes", -1), ("shape", (9, 2**32)), ("order", 2**63)],
)
def test_numbers_beyond_32_bits_are_refused(name, value):
    with pytest.raises(DomainError, match=rf"{name} is -?\d+; expected a number of 32 bits"):
        structs.SweepProblem(**{name: value})
    with pytest.raises(DomainError, match="expected a number of 32 bits"):
        setattr(Run(case()).struct, name, value)


@pytest.mark.parametrize("points", ["source_points", "receiver_points"])
@pytest.mark.parametrize(("field", "count"), [(1, 1), (11, 3), (0, -1), (5, -2)])
def test_points_of_missing_fields_are_refused(points, field, count):
    run = Run(case())
    getattr(run.struct, points)[field] = count
    with pytest.raises(NativeError, match=f"field {field} has {count} points; equation acoustic has 1 fields"):
        run.forward()


def test_an_adjoint_needs_a_history():
    with pytest.raises(NativeError, match=r"chunk is 0; an adjoint run needs a history \(chunk >= 1\)"):
        Run(case(nt=48), chunk=0).run("adjoint")


# --- values -----------------------------------------------------------------------------------------------------------

LISTS = {
    "forward": ("source_inject", "receiver_gather"),
    "adjoint": ("source_inject", "receiver_inject", "source_gather"),
    "born": ("source_inject", "receiver_gather"),
}
EACH_LIST = [(operation, prefix) for operation, prefixes in LISTS.items() for prefix in prefixes]


@pytest.mark.parametrize(("operation", "prefix"), EACH_LIST)
@pytest.mark.parametrize("part", ["cell", "column"])
@pytest.mark.parametrize("bad", [-1, -(2**31), 10**6, 2**31 - 1])
def test_points_outside_are_refused(operation, prefix, part, bad):
    """The bad point lies at either end of a list, of any shot. Nothing is read or written there, sorted or not."""
    for at in ((0, 0), (2, -1), (1, 1)):
        run = Run(case(), chunk=7)
        run.buffers[f"{prefix}_{part}"].array[at] = bad
        with pytest.raises((DomainError, NativeError), match=r"position of shot|not sorted"):
            run.run(operation)


@pytest.mark.parametrize(("operation", "prefix"), [each for each in EACH_LIST if "inject" in each[1]])
def test_unsorted_points_to_inject_at_are_refused(operation, prefix):
    run = Run(case(nsrc=3), chunk=7)
    cells = run.buffers[f"{prefix}_cell"].array
    cells[1] = np.sort(cells[1])[::-1]
    assert (np.diff(cells[1]) < 0).any()
    with pytest.raises(NativeError, match=r"not sorted by cell \(shot 1\)"):
        run.run(operation)


def test_the_last_cell_is_accepted_and_the_next_is_refused():
    run = Run(case())
    run["receiver_gather_cell"][0, 0] = np.prod(run.problem.padded_shape)
    with pytest.raises(DomainError):
        run.forward()
    run["receiver_gather_cell"][0, 0] -= 1
    run.forward()


@pytest.mark.parametrize(
    ("bad", "kind", "message"),
    [
        (np.nan, DomainError, "vp2 is -?nan at cell"),
        (0.0, DomainError, "vp2 is 0 at cell"),
        (-4e6, DomainError, r"vp2 is -4e\+06 at cell"),
        (np.inf, DomainError, "vp2 is inf at cell"),
        (1e9, StabilityError, r"dt = \S+ s is unstable in these models at dh = .* the largest stable dt is"),
    ],
    ids=str,
)
@pytest.mark.parametrize("cell", [0, 17, -1])
@pytest.mark.parametrize("operation", structs.OPERATIONS)
def test_bad_coefficients_are_refused(operation, cell, bad, kind, message):
    run = Run(case(), chunk=7)
    run["coefficients"].reshape(-1)[cell] = bad
    with pytest.raises(kind, match=message):
        run.run(operation)


HUGE = """
import random, sys
sys.path.append({support!r})
from abi import Run, raw_status
from laws import case
example, draw = case(nt=6), random.Random(0)
names = ("shots", "steps", "source_columns", "receiver_columns", "last", "earths", "snapshot_every")
most = 2**31 - 1
trials = [{{"steps": most, "last": most, "source_columns": most, "receiver_columns": most}}]  # 8 times it is negative
trials += [{{name: draw.choice((most, 2**30, 2**24 + 1)) for name in draw.sample(names, 3)}} for _ in range(300)]
for changes in trials:
    for operation in ("forward", "adjoint", "born"):
        run = Run(example, chunk=2 * (operation == "adjoint"))
        for name, value in changes.items():
            setattr(run.struct, name, value)
        print(operation, changes, flush=True)
        assert raw_status(run, operation)[0] != 0
print("done")
"""


def test_numbers_whose_products_overflow_are_refused():
    """The sizes exceed 2^63 bytes, so no buffer is passed. The calls have their own process, which may crash."""
    code = HUGE.format(support=str(Path(__file__).parents[1] / "support"))
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert process.stdout.endswith("done\n"), (
        f"status {process.returncode}: {process.stdout[-200:]}{process.stderr[-500:]}"
    )


def test_statuses_become_exceptions():
    kinds = {structs.BAD_CALL: NativeError, structs.BAD_VALUE: DomainError, structs.UNSTABLE: StabilityError}
    kinds |= {structs.UNSUPPORTED: UnsupportedError, structs.DEVICE: DeviceError, 99: NativeError}
    for status, kind in kinds.items():
        with pytest.raises(kind, match="because"):
            native.library.raise_for(status, "because")
    native.library.raise_for(structs.OK, "")
