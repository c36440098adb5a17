"""The C ABI: it describes itself, refuses what does not fit, and never leaves the buffers that it is given."""

import ctypes as c
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from abi import Run, raw_status
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import ORDERS, case, error, executors, reference_record

from sweep_core import (
    Acoustic,
    DeviceError,
    DomainError,
    NativeError,
    StabilityError,
    UnsupportedError,
    equations,
    native,
)
from sweep_core.native import structs

HEADERS = Path(__file__).parents[2] / "native/include/sweep"


@pytest.fixture(scope="module", autouse=True)
def library():
    """The CPU library; tests are skipped where there is none, unless it was promised."""
    (param,) = [p for p in executors("torch-c")] or [None]
    if param is not None:
        param.values[0].executor_for(case().problem)
    try:
        return native.load("cpu")
    except NativeError as reason:
        pytest.skip(str(reason))


# --- description ------------------------------------------------------------------------------------------------------


def names(array, count):
    return tuple(array[i].value.decode() for i in range(count))


def test_each_header_says_what_its_python_class_says(library):
    described = {e.name.decode(): e for e in library.describe()}
    assert "acoustic" in described
    for name, header in described.items():
        stated = equations()[name]
        assert names(header.field, header.fields) == tuple(f.name for f in stated.fields)
        assert names(header.coefficient, header.coefficients) == stated.coefficient_names
        assert (header.levels, header.memories) == (stated.levels, len(stated.memories))
        assert [n for n in range(32) if header.ndim_mask >> n & 1] == sorted(stated.ndims)


@pytest.mark.skipif(not HEADERS.is_dir(), reason="not a source tree")
def test_every_header_is_compiled_in(library):
    assert {e.name.decode() for e in library.describe()} == {p.stem for p in (HEADERS / "physics").glob("*.h")}


def test_the_layout_probe_never_writes_past_its_count(library):
    expected = structs.layout()
    for count in range(len(expected) + 3):
        values = (c.c_int64 * (len(expected) + 3))(*[-7] * (len(expected) + 3))
        assert library.dll.sweep_layout(values, count) == len(expected)
        filled = min(count, len(expected))
        assert list(values) == expected[:filled] + [-7] * (len(values) - filled)


def test_the_version_and_the_builds(library):
    assert library.dll.sweep_abi_version() == structs.ABI_VERSION
    assert library.builds[0] == "portable" and library.isa in library.builds
    assert library.dll.sweep_isa(-1) is None and library.dll.sweep_isa(99) is None
    assert library.dll.sweep_describe(-1, c.byref(structs.SweepEquation(bytes=c.sizeof(structs.SweepEquation)))) == (
        structs.UNSUPPORTED
    )


@pytest.mark.parametrize("order", ORDERS)
def test_python_and_compiled_code_agree_on_sizes(order):
    """Tables have one size, which Run compares; the others are whole numbers of elements."""
    run = Run(case(order=order))
    assert all(run[name].nbytes % 8 == 0 for name in ("history", "checkpoints", "state", "workspace"))


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bytes_given", [0, 4, c.sizeof(structs.SweepProblem) - 4, 10**6])
def test_a_problem_of_another_size_is_refused(bytes_given):
    run = Run(case())
    run.struct.bytes = bytes_given
    with pytest.raises(NativeError, match="sweep_problem is not the struct of ABI"):
        run.forward()


@pytest.mark.parametrize("changes", [{"bytes": 0}, {"bytes": 12}, {"threads": 0}, {"threads": -4}], ids=str)
@pytest.mark.parametrize("operation", ["forward", "adjoint"])
def test_a_context_that_does_not_fit_is_refused(operation, changes):
    assert raw_status(Run(case()), operation, **changes)[0] == structs.BAD_CALL


def test_other_structs_of_another_size_are_refused(library):
    run = Run(case())
    context = structs.SweepContext(bytes=c.sizeof(structs.SweepContext), threads=1)
    sizes = structs.SweepSizes(bytes=3)
    assert library.dll.sweep_query(c.byref(run.struct), c.byref(sizes), c.byref(context)) == structs.BAD_CALL
    assert library.dll.sweep_describe(0, c.byref(structs.SweepEquation(bytes=3))) == structs.BAD_CALL


def test_null_pointers_are_refused(library):
    run = Run(case())
    context = structs.SweepContext(bytes=c.sizeof(structs.SweepContext), threads=1)
    dll = library.dll
    assert dll.sweep_forward(None, None, 14, c.byref(context)) == structs.BAD_CALL
    assert dll.sweep_forward(c.byref(run.struct), None, len(native.FORWARD_BUFFERS), c.byref(context)) != structs.OK
    assert dll.sweep_forward(c.byref(run.struct), None, 14, None) == structs.BAD_CALL
    assert dll.sweep_query(c.byref(run.struct), None, c.byref(context)) == structs.BAD_CALL
    assert dll.sweep_describe(0, None) == structs.BAD_CALL


def test_an_error_text_fits_the_buffer_that_it_is_given():
    run = Run(case())
    run.struct.order = 3
    text = c.create_string_buffer(b"#" * 63, 64)
    for room in (0, 1, 8, 20):
        c.memset(text, ord("#"), 63)
        status, _ = raw_status(run, error=c.cast(text, c.c_char_p), error_bytes=room)
        assert status == structs.BAD_CALL and text.raw[room:63] == b"#" * (63 - room)
        assert not room or b"\0" in text.raw[:room]
    assert raw_status(run, error=None)[0] == structs.BAD_CALL


@pytest.mark.parametrize("operation", ["forward", "adjoint"])
@pytest.mark.parametrize("change", [-1, 1])
def test_another_number_of_buffers_is_refused(operation, change):
    run = Run(case())
    expected = len(run.addresses(operation))
    status, text = raw_status(run, operation, count=expected + change)
    assert status == structs.BAD_CALL and text == f"{expected + change} buffers were given, {expected} are expected"


@pytest.mark.parametrize("chunk", [0, 7, 47])
@pytest.mark.parametrize("operation", ["forward", "adjoint"])
def test_a_buffer_that_is_too_small_or_missing_is_refused(operation, chunk):
    run = Run(case(), chunk=max(chunk, operation == "adjoint"))
    order = native.FORWARD_BUFFERS if operation == "forward" else native.ADJOINT_BUFFERS
    for i, (address, size) in enumerate(run.addresses(operation)):
        if size == 0:
            continue
        for spoiled in ((address, size - 1), (address, 0), (address, -1), (None, size)):
            buffers = run.addresses(operation)
            buffers[i] = spoiled
            with pytest.raises(NativeError, match=rf"buffer {i} has {spoiled[1]} bytes, the problem needs {size}"):
                run.run(operation, buffers)
            assert order[i]


CONTRADICTIONS = {
    "order": [3, 0, -2, 2**30, -(2**31)],
    "shots": [0, -1, -(2**31)],
    "steps": [0, -5],
    "chunk": [-1],
    "earths": [0, 2, -1],
    "first": [-1, 48, 47],
    "last": [49, 0, -1],
    "source_columns": [-1],
    "receiver_columns": [-3],
    "coefficient_limit": [0.0, -1.0, float("nan")],
}


@pytest.mark.parametrize(("name", "value"), [(k, v) for k, values in CONTRADICTIONS.items() for v in values])
def test_a_problem_that_contradicts_itself_is_refused(name, value):
    run = Run(case(nt=48))
    if (name, value) == ("first", 47):
        run.struct.last = 47
    setattr(run.struct, name, value)
    for operation in ("forward", "adjoint"):
        with pytest.raises(NativeError):
            run.run(operation)


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
        ({"equation": b"elastic-of-mars"}, "equation elastic-of-mars is not compiled"),
        ({"equation": b"x" * 31}, "equation x{31} is not compiled"),
        ({"equation": b""}, "is not compiled"),
        ({"ndim": 1}, "not compiled for 1 dimensions"),
        ({"ndim": 4}, "not compiled for 4 dimensions"),
        ({"dtype": 7}, "dtype 7"),
    ],
    ids=str,
)
def test_what_is_not_compiled_is_refused_by_name(changes, message):
    run = Run(case())
    for name, value in changes.items():
        setattr(run.struct, name, value)
    with pytest.raises(UnsupportedError, match=message):
        run.forward()


def test_a_build_that_is_not_there_is_refused(monkeypatch):
    run = Run(case())
    for isa in (-1, 99):
        status, text = raw_status(run, isa=isa)
        assert status == structs.DEVICE and "no build of this library" in text
    monkeypatch.setenv("SWEEP_ISA", "abacus")
    with pytest.raises(NativeError, match=r"SWEEP_ISA is 'abacus'; .* has \['portable'"):
        run.forward()


@pytest.mark.parametrize("points", ["source_points", "receiver_points"])
@pytest.mark.parametrize(("field", "count"), [(1, 1), (11, 3), (0, -1), (5, -2)])
def test_points_of_fields_that_are_not_there_are_refused(points, field, count):
    run = Run(case())
    getattr(run.struct, points)[field] = count
    with pytest.raises(NativeError, match=f"points are given for field {field} of equation acoustic, which has 1"):
        run.forward()


def test_a_kept_history_is_run_in_one_call():
    run = Run(case(nt=48), chunk=47)
    run.struct.last = 20
    with pytest.raises(NativeError):
        run.forward()


@pytest.mark.parametrize("changes", [{"chunk": 0}, {"first": 3}, {"last": 40}], ids=str)
def test_an_adjoint_run_needs_a_history_and_is_run_in_one_call(changes):
    run = Run(case(nt=48), chunk=7)
    for name, value in changes.items():
        setattr(run.struct, name, value)
    with pytest.raises(NativeError):
        run.run("adjoint")


# --- values -----------------------------------------------------------------------------------------------------------

LISTS = {
    "forward": ("forward inject", "forward gather"),
    "adjoint": ("adjoint source", "adjoint inject", "adjoint gather"),
}
EACH_LIST = [(operation, prefix) for operation, prefixes in LISTS.items() for prefix in prefixes]


@pytest.mark.parametrize(("operation", "prefix"), EACH_LIST, ids=[p for _, p in EACH_LIST])
@pytest.mark.parametrize("part", ["cell", "column"])
@pytest.mark.parametrize("bad", [-1, -(2**31), 10**6, 2**31 - 1])
def test_points_outside_are_refused(operation, prefix, part, bad):
    """At either end of the list and for any shot; sorted or not, nothing is read or written there."""
    for at in ((0, 0), (2, -1), (1, 1)):
        run = Run(case(), chunk=7)
        run.buffers[f"{prefix}_{part}"].array[at] = bad
        with pytest.raises((DomainError, NativeError), match=r"position of shot|not sorted"):
            run.run(operation)


@pytest.mark.parametrize("prefix", ["forward inject", "adjoint source", "adjoint inject"])
def test_points_to_inject_at_are_sorted(prefix):
    run = Run(case(nsrc=3), chunk=7)
    cells = run.buffers[f"{prefix}_cell"].array
    cells[1] = np.sort(cells[1])[::-1]
    assert (np.diff(cells[1]) < 0).any()
    with pytest.raises(NativeError, match=r"not sorted by cell \(shot 1\)"):
        run.run(prefix.split()[0])


def test_the_first_cell_outside_is_the_number_of_cells():
    run = Run(case())
    run["forward gather_cell"][0, 0] = np.prod(run.problem.padded_shape)
    with pytest.raises(DomainError):
        run.forward()
    run["forward gather_cell"][0, 0] -= 1
    run.forward()


@pytest.mark.parametrize(
    ("bad", "kind", "message"),
    [
        (np.nan, DomainError, "vp2 is -?nan at cell"),
        (0.0, DomainError, "vp2 is 0 at cell"),
        (-4e6, DomainError, r"vp2 is -4e\+06 at cell"),
        (np.inf, DomainError, "vp2 is inf at cell"),
        (1e9, StabilityError, r"vp2 is 1e\+09 at cell .* dt is stable up to"),
    ],
    ids=str,
)
@pytest.mark.parametrize("cell", [0, 17, -1])
@pytest.mark.parametrize("operation", ["forward", "adjoint"])
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
made, draw = case(nt=6), random.Random(0)
names = ("shots", "steps", "source_columns", "receiver_columns", "last", "earths")
most = 2**31 - 1
trials = [{{"steps": most, "last": most, "source_columns": most, "receiver_columns": most}}]  # 8 times it is negative
trials += [{{name: draw.choice((most, 2**30, 2**24 + 1)) for name in draw.sample(names, 3)}} for _ in range(300)]
for changes in trials:
    for operation in ("forward", "adjoint"):
        run = Run(made, **({{}} if operation == "forward" else {{"chunk": 2}}))
        for name, value in changes.items():
            setattr(run.struct, name, value)
        print(operation, changes, flush=True)
        assert raw_status(run, operation)[0] != 0
print("done")
"""


def test_numbers_whose_products_overflow_are_refused():
    """Sizes of more than 2^63 bytes, for which there is no buffer; in a process of its own, which may crash."""
    code = HUGE.format(support=str(Path(__file__).parents[1] / "support"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.endswith("done\n"), f"status {done.returncode}: {done.stdout[-200:]}{done.stderr[-500:]}"


# --- what is computed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [0, 7, 100])
def test_it_computes_what_the_reference_computes(chunk):
    made = case()
    assert error(Run(made, chunk=chunk).forward(), reference_record(made)) < 1e-12


SHARED = (60, 90)
"""Large enough, with five shots, that threads share it."""


@pytest.mark.parametrize("chunk", [0, 5, 11])
@pytest.mark.parametrize("cuts", [(1,), (47,), (5, 6, 7, 30), tuple(range(1, 48))], ids=len)
@pytest.mark.parametrize("threads", [1, 3])
def test_a_run_in_slices_is_the_whole_run(cuts, chunk, threads):
    """[first, last) of a forward run, whose state the caller keeps: bit for bit, checkpoints included."""
    made = case(nt=48, nshots=5, shape=SHARED)
    whole = Run(made, chunk=chunk).forward()
    sliced = Run(made, chunk=chunk, threads=threads, first=0, last=1)
    for first, last in zip((0, *cuts), (*cuts, 48), strict=True):
        sliced.struct.first, sliced.struct.last = first, last
        sliced.run("forward")
        assert np.isnan(sliced["record"][:, last:]).all(), "what is not run yet is not written"
    np.testing.assert_array_equal(sliced["record"].reshape(whole.shape), whole)
    if chunk:
        y, expected = made.noise(), Run(made, chunk=chunk)
        expected.forward()
        sliced.struct.first, sliced.struct.last = 0, 48
        again = Run(made, chunk=chunk)
        again["checkpoints"][:] = sliced["checkpoints"]
        for a, b in zip(again.adjoint(y), expected.adjoint(y), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("chunk", [1, 2, 46, 47, 48, 10**6])
def test_any_chunk_gives_the_same_gradient(chunk):
    made, expected = case(nt=48), Run(case(nt=48), chunk=7)
    expected.forward()
    run = Run(made, chunk=chunk)
    run.forward()
    for a, b in zip(run.adjoint(made.noise()), expected.adjoint(made.noise()), strict=True):
        np.testing.assert_array_equal(a, b)


def test_arguments_are_only_read():
    made, run = case(), Run(case(), chunk=7)
    outputs = {*native.call.FORWARD_OUTPUTS, *native.call.ADJOINT_OUTPUTS, "cotangent"}
    before = {name: buffer.array.copy() for name, buffer in run.buffers.items() if name not in outputs}
    run.forward()
    history, checkpoints = run["history"].copy(), run["checkpoints"].copy()
    run.adjoint(made.noise())
    assert all(np.array_equal(run.buffers[name].array, kept) for name, kept in before.items())
    np.testing.assert_array_equal(run["history"], history)
    np.testing.assert_array_equal(run["checkpoints"], checkpoints)


@pytest.mark.parametrize("chunk", [0, 7, 47])
def test_every_output_is_written(chunk):
    """Buffers come uninitialised, here full of NaN, and none is left in what is returned."""
    made, run = case(nt=48), Run(case(nt=48), chunk=chunk)
    assert np.isfinite(run.forward()).all() and run["flag"] == 0
    if chunk:
        assert all(np.isfinite(g).all() for g in run.adjoint(made.noise()))


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    half=st.integers(1, 7),
    extra=st.tuples(st.integers(0, 40), st.integers(0, 70)),
    pml=st.tuples(*[st.sampled_from([0, 0, 1, 2, 3, 8, 13, 20, 37])] * 4),
    counts=st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(3, 7)),
    nt=st.integers(1, 8),
    chunk=st.integers(1, 9),
    threads=st.integers(1, 3),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_any_problem_stays_inside_its_buffers(half, extra, pml, counts, nt, chunk, threads, dtype):
    """The guards of every buffer are looked at after each call."""
    shape = tuple(2 * half + n for n in extra)
    sizes = dict(zip(("nshots", "nsrc", "nrec"), counts, strict=True))
    made = case.__wrapped__(Acoustic, 2 * half, shape, nt, pml, **sizes).typed(dtype)
    run = Run(made, chunk=chunk, threads=threads)
    expected = reference_record.__wrapped__(made)
    np.testing.assert_allclose(
        run.forward(), expected, rtol=0, atol=(1e-12 if dtype == np.float64 else 1e-5) * np.abs(expected).max()
    )
    assert all(np.isfinite(g).all() for g in run.adjoint(made.noise()))


def test_calls_may_run_at_once():
    made = case(nt=60, shape=SHARED)
    y, expected = made.noise(), Run(made, chunk=20)
    record, failed = expected.forward().copy(), []
    gradients = [g.copy() for g in expected.adjoint(y)]

    def work():
        try:
            for _ in range(5):
                run = Run(made, chunk=20, threads=2)
                np.testing.assert_array_equal(run.forward(), record)
                for a, b in zip(run.adjoint(y), gradients, strict=True):
                    np.testing.assert_array_equal(a, b)
        except BaseException as reason:
            failed.append(reason)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failed


# --- cancelling -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("operation", ["forward", "adjoint"])
def test_a_run_that_is_cancelled_before_it_begins_stops_at_once(operation, threads):
    run = Run(case(nt=48, shape=SHARED), chunk=7, threads=threads)
    control = structs.SweepControl(cancel=1, progress=-1)
    with pytest.raises(KeyboardInterrupt):
        run.run(operation, control=control)
    assert 0 <= control.progress <= 47
    assert run.forward() is not None and np.isfinite(run["record"]).all(), "the next call works"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("operation", ["forward", "adjoint"])
def test_a_run_can_be_cancelled_from_another_thread(operation, threads):
    made = case.__wrapped__(shape=(200, 200), nt=20000, nshots=1)
    run = Run(made, chunk=50, threads=threads)
    control, caught = structs.SweepControl(), []

    def work():
        try:
            run.run(operation, control=control)
        except BaseException as reason:
            caught.append(reason)

    worker = threading.Thread(target=work)
    worker.start()
    while control.progress == 0 and worker.is_alive():
        time.sleep(0.001)
    progress = control.progress
    control.cancel, start = 1, time.perf_counter()
    worker.join(10)
    assert not worker.is_alive() and time.perf_counter() - start < 1
    assert [type(reason) for reason in caught] == [KeyboardInterrupt] and progress > 0


CANCEL_LATE = """
import sys, threading
sys.path.append({support!r})
from abi import Run
from laws import case
from sweep_core.native import structs
run = Run(case.__wrapped__(shape=(160, 200), nt=3, nshots=1), chunk=0, first=0, last=2)
run.run("forward")
run.struct.first, run.struct.last = 2, 3  # the last step alone, which no other follows
for trial in range(1000):
    try:
        control = structs.SweepControl(cancel=1)
        run.library.call("forward", run.struct, run.addresses("forward"), threads=4, control=control)
    except KeyboardInterrupt:
        pass
print("done")
"""


def test_a_run_that_is_cancelled_at_its_last_step_ends():
    """All threads of a team leave together, also where no step follows; in a process of its own, which may hang."""
    code = CANCEL_LATE.format(support=str(Path(__file__).parents[1] / "support"))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.communicate(timeout=30)[0] == "done\n"
        except subprocess.TimeoutExpired:
            pytest.fail("the threads of a run that was cancelled at its last step wait for each other")
        finally:
            process.kill()


def test_statuses_become_exceptions():
    kinds = {structs.BAD_CALL: NativeError, structs.BAD_VALUE: DomainError, structs.UNSTABLE: StabilityError}
    kinds |= {structs.UNSUPPORTED: UnsupportedError, structs.DEVICE: DeviceError, 99: NativeError}
    for status, kind in kinds.items():
        with pytest.raises(kind, match="because"):
            native.library.raise_for(status, "because")
    native.library.raise_for(structs.OK, "")
