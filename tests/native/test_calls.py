"""The operations of the C ABI, with guarded buffers: they equal the reference for every option, and can be cancelled."""

import mmap
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from abi import Run, cpu_library
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import VARIANTS, case, error, record_error, reference_born, reference_record, variant

from sweep_core import Acoustic, AcousticVariableDensity, Elastic, Snapshots, check_call
from sweep_core.execution.reference import ReferenceExecutor
from sweep_core.native import structs


@pytest.fixture(scope="module", autouse=True)
def library():
    return cpu_library()


@pytest.mark.parametrize("chunk", [0, 7, 100])
def test_forward_equals_the_reference(chunk):
    example = case()
    assert record_error(Run(example, chunk=chunk).forward(), reference_record(example)) < 1e-12


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", VARIANTS)
def test_each_variant_equals_the_reference(name, threads):
    """The record, its derivative and the wavefields equal those of the reference."""
    example, request = (
        variant(name),
        Snapshots(["h1"], every=7, region=((1, 9), (0, 11), (3, 4))[: 2 + ("3-D" in name)]),
    )
    run = Run(example, threads=threads, snapshots=request)
    assert record_error(run.forward(), reference_record(example)) < 1e-12
    wavefields = ReferenceExecutor().snapshots(example.problem, example.shots, example.models, request)
    assert error(run.event()["h1"][:, : len(wavefields["h1"][0])], wavefields["h1"]) < 1e-12
    assert error(run.born(example.direction()), reference_born(example)) < 1e-12


def transpose_error(run, y, wavelet) -> float:
    """Return |<J x, y> - <x, J' y>| / (|J x| |y|), where x is a direction of the models and the wavelet."""
    run.vary(run.example.direction(), wavelet)
    run.run("born")
    record, gradient = run["record"].astype(float), run.adjoint(y)
    x = run["tangent_coefficients"], run["tangent_wavelet"]
    product = sum(float(np.sum(a.astype(float) * b)) for a, b in zip(x, gradient, strict=True))
    scale = np.linalg.norm(record) * np.linalg.norm(y)
    return abs(float(np.sum(record * run["cotangent"])) - product) / (scale or 1)


@pytest.mark.parametrize(("chunk", "boundary"), [(7, 0), (1000, 0), (7, structs.EXACT)])
@pytest.mark.parametrize("name", VARIANTS)
def test_born_is_the_transpose_of_the_adjoint(name, chunk, boundary):
    example = variant(name)
    run = Run(example, chunk=chunk, boundary=boundary)
    run.forward()
    y = np.random.default_rng(4).standard_normal(run["cotangent"].shape)
    assert transpose_error(run, y, example.shots.wavelet[..., ::-1]) < 1e-12


def test_born_of_the_wavelet_is_a_forward_run():
    """The record is linear in the wavelet."""
    example = variant("free surface, between nodes")
    run, still = Run(example), [np.zeros_like(m) for m in example.models]
    assert error(run.born(still, example.shots.wavelet), Run(example).forward()) < 1e-12
    assert not run.born(still).any()


SHARED = (60, 90)
"""A shape that is large enough, with five shots, for threads to share it."""


def merge_parts(parts) -> np.ndarray:
    """Merge the parts that calls wrote to arrays full of NaN; no element may be written twice."""
    is_written = np.stack([~np.isnan(part) for part in parts])
    assert (is_written.sum(axis=0) == 1).all()
    return np.nansum(np.stack(parts), axis=0)


def assert_same(actual, expected):
    assert actual.keys() == expected.keys()
    for name, x in expected.items():
        np.testing.assert_array_equal(actual[name], x, err_msg=name)


def steps_of(example) -> int:
    return check_call(example.problem, example.shots, example.models).steps


def in_slices(example, cuts, **options) -> dict:
    """Return the outputs of all operations. Each call runs from one cut to the next; adjoint calls go backward."""
    request = Snapshots([example.problem.equation.fields[0].name], every=4)
    bounds = zip((0, *cuts), (*cuts, steps_of(example)), strict=True)
    runs = [Run(example, snapshots=request, first=first, last=last, **options) for first, last in bounds]
    y = np.random.default_rng(4).standard_normal(runs[0]["cotangent"].shape)

    def go(operation, order):
        for run, before in zip(order, (None, *order), strict=False):
            if before is not None:
                run["state"][:], run["flag"][:] = before["state"], before["flag"]
            run.run(operation)

    go("forward", runs)
    outputs = {name: merge_parts([run[name] for run in runs]) for name in ("record", "snapshots")}
    if options["chunk"]:
        for run in runs:
            run["cotangent"][:] = y
        go("adjoint", runs[::-1])
        outputs["coefficients"] = runs[0]["gradient_coefficients"]
        assert all(np.isnan(run["gradient_coefficients"]).all() for run in runs[1:]), "only the last call writes it"
        outputs["wavelet"] = merge_parts([run["gradient_wavelet"] for run in runs])
    for run in runs:
        run.vary(example.direction())
        run["record"][:] = np.nan
    go("born", runs)
    return outputs | {"born": merge_parts([run["record"] for run in runs])}


@pytest.mark.parametrize("cuts", [(1,), (17,), (5, 6, 7, 20), range(1, 24)], ids=len)
@pytest.mark.parametrize("chunk", [0, 1, 5, 100])
@pytest.mark.parametrize("equation", [Acoustic, AcousticVariableDensity, Elastic])
def test_runs_in_slices_equal_one_call(equation, chunk, cuts):
    """Calls of [first, last) that pass on the state have the bits of one call, with any number of threads."""
    example = case(equation, nt=24, nshots=5, shape=SHARED)
    assert_same(in_slices(example, cuts, chunk=chunk, threads=3), in_slices(example, (), chunk=chunk))


def test_slices_of_many_shots_equal_one_call():
    """Slices do not change the order in which the images of shots are added."""
    example = case(nt=24, nshots=37)
    assert_same(in_slices(example, (9, 20), chunk=5, threads=2), in_slices(example, (), chunk=100))


@pytest.mark.parametrize("equation", [Acoustic, AcousticVariableDensity, Elastic])
@pytest.mark.parametrize("name", VARIANTS)
def test_variants_in_slices_equal_one_call(name, equation):
    example = variant(name, equation)
    if example.arguments.get("time_dispersion") == "corrected" and equation is not Acoustic:
        pytest.skip("time dispersion of equations staggered in time is not corrected yet")
    cuts = 3, steps_of(example) // 3, steps_of(example) - 2
    assert_same(in_slices(example, cuts, chunk=4), in_slices(example, (), chunk=1000))


@pytest.mark.parametrize("chunk", [1, 2, 46, 47, 48, 10**6])
def test_any_chunk_gives_the_same_gradient(chunk):
    example, expected = case(nt=48), Run(case(nt=48), chunk=7)
    expected.forward()
    run = Run(example, chunk=chunk)
    run.forward()
    for a, b in zip(run.adjoint(example.noise()), expected.adjoint(example.noise()), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", ["receivers", "sources"])
@pytest.mark.parametrize("equation", [Acoustic, AcousticVariableDensity, Elastic])
def test_points_that_share_a_cell_are_summed_in_double(equation, kind):
    """Record, Born and gradient in float32 equal those in float64, with 100 000 receivers or sources in one cell."""
    example = case.__wrapped__(equation, nt=20, nshots=1, **{"nrec" if kind == "receivers" else "nsrc": 10**5})
    getattr(example.shots, kind)[...] = 7
    example.shots.wavelet[...] = example.shots.wavelet[:, :1]
    runs = [Run(example.typed(dtype), chunk=100) for dtype in (np.float32, np.float64)]
    y = np.linspace(0.5, 1, 20, dtype=np.float32)[:, None, None]  # of one sign, so that rounding does not cancel
    outputs = [[run.forward(), *run.adjoint(y), run.born(example.direction())] for run in runs]
    assert max(error(a, b) for a, b in zip(*outputs, strict=True)) < 5e-6


def test_inputs_do_not_change():
    example, run = case(), Run(case(), chunk=7)
    outputs = {"cotangent", *(b.name for operation in run.call.buffers for b in run.call.outputs(operation))}
    before = {name: buffer.array.copy() for name, buffer in run.buffers.items() if name not in outputs}
    run.forward()
    history, checkpoints = run["history"].copy(), run["checkpoints"].copy()
    run.adjoint(example.noise())
    run.run("born")
    assert all(np.array_equal(run.buffers[name].array, copy) for name, copy in before.items())
    np.testing.assert_array_equal(run["history"], history)
    np.testing.assert_array_equal(run["checkpoints"], checkpoints)


@pytest.mark.parametrize("chunk", [0, 7, 47])
def test_every_output_is_written(chunk):
    """Buffers are full of NaN before a call, and no NaN remains in an output."""
    example, run = case(nt=48), Run(case(nt=48), chunk=chunk)
    assert np.isfinite(run.forward()).all() and run["flag"] == 0
    if chunk:
        assert all(np.isfinite(g).all() for g in run.adjoint(example.noise()))


def flags_of(address) -> list[str]:
    """Return the flags of the memory mapping that holds an address of this process."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if bounds := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            low, high = (int(bound, 16) for bound in bounds.groups())
            inside = low <= address < high
        elif inside and line.startswith("VmFlags:"):
            return line.split()[1:]
    raise AssertionError(f"no mapping holds address {address:#x}")


@pytest.mark.skipif(not Path("/sys/kernel/mm/transparent_hugepage").is_dir(), reason="this system has no large pages")
def test_large_arrays_ask_for_large_pages():
    """The array is not allocated by NumPy, because NumPy asks for large pages itself."""
    run = Run(case(shape=(1200, 1300), nt=3), gradient=False)
    memory = mmap.mmap(-1, run["workspace"].nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    run.buffers["workspace"].array = np.frombuffer(memory, np.uint8)
    inside = run["workspace"].ctypes.data + (4 << 20)
    assert "hg" not in flags_of(inside)
    run.forward()
    assert "hg" in flags_of(inside)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    ndim=st.sampled_from([2, 2, 3]),
    half=st.integers(1, 7),
    extra=st.tuples(st.integers(0, 40), st.integers(0, 70), st.integers(0, 40)),
    pml=st.tuples(*[st.sampled_from([0, 0, 1, 2, 3, 8, 13, 20, 37])] * 6),
    surface=st.booleans(),
    counts=st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(3, 7)),
    nt=st.integers(1, 8),
    chunk=st.integers(1, 9),
    boundary=st.sampled_from([structs.NO_STRIPS, structs.EXACT]),
    packed=st.booleans(),
    threads=st.integers(1, 3),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_any_problem_stays_inside_its_buffers(
    ndim, half, extra, pml, surface, counts, nt, chunk, boundary, packed, threads, dtype
):
    """Each call checks the guards of every buffer after it."""
    if ndim == 3:
        extra, pml = (n % 7 for n in extra), (min(n, 8) for n in pml)
    shape, pml = tuple(2 * half + n for n in extra)[:ndim], tuple(pml)[: 2 * ndim]
    sizes = dict(zip(("nshots", "nsrc", "nrec"), counts, strict=True))
    example = case.__wrapped__(Acoustic, 2 * half, shape, nt, pml, **sizes).typed(dtype)
    if surface:
        example.arguments.update(free_surface=True, pml_width=(0, *pml[1:]))
        for positions in (example.shots.sources, example.shots.receivers):
            positions[..., -1] = np.maximum(positions[..., -1], 1)
    stored = structs.DTYPES["float16" if packed else np.dtype(dtype).name]
    request = Snapshots(["h1"], min(nt, 3))
    run = Run(example, chunk=chunk, boundary=boundary, stored=stored, threads=threads, snapshots=request)
    expected = reference_record.__wrapped__(example)
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(run.forward(), expected, rtol=0, atol=tolerance * np.abs(expected).max())
    assert np.isfinite(run["snapshots"]).all()
    assert transpose_error(run, example.noise(), example.shots.wavelet) < (5e-3 if packed else 10 * tolerance)


def test_calls_may_run_at_the_same_time():
    example = case(nt=60, shape=SHARED)
    y, expected = example.noise(), Run(example, chunk=20)
    record, errors = expected.forward().copy(), []
    gradients = [g.copy() for g in expected.adjoint(y)]

    def work():
        try:
            for _ in range(5):
                run = Run(example, chunk=20, threads=2)
                np.testing.assert_array_equal(run.forward(), record)
                for a, b in zip(run.adjoint(y), gradients, strict=True):
                    np.testing.assert_array_equal(a, b)
        except BaseException as reason:
            errors.append(reason)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not errors


# --- cancelling -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("operation", structs.OPERATIONS)
def test_a_run_cancelled_before_its_start_stops_at_once(operation, threads):
    run = Run(case(nt=48, shape=SHARED), chunk=7, threads=threads)
    control = structs.SweepControl(cancel=1, progress=-1)
    with pytest.raises(KeyboardInterrupt):
        run.run(operation, control=control)
    assert 0 <= control.progress <= 47
    assert run.forward() is not None and np.isfinite(run["record"]).all(), "the next call works"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("operation", structs.OPERATIONS)
def test_a_run_can_be_cancelled_from_another_thread(operation, threads):
    example = case.__wrapped__(shape=(200, 200), nt=20000, nshots=1)
    run = Run(example, chunk=50, threads=threads)
    control, errors = structs.SweepControl(), []

    def work():
        try:
            run.run(operation, control=control)
        except BaseException as reason:
            errors.append(reason)

    worker = threading.Thread(target=work)
    worker.start()
    while control.progress == 0 and worker.is_alive():
        time.sleep(0.001)
    progress = control.progress
    control.cancel, start = 1, time.perf_counter()
    worker.join(10)
    assert not worker.is_alive() and time.perf_counter() - start < 1
    assert [type(reason) for reason in errors] == [KeyboardInterrupt] and progress > 0


CANCEL_LATE = """
import sys, threading
sys.path.append({support!r})
from abi import Run
from laws import case
from sweep_core import Acoustic, Elastic
from sweep_core.native import structs
run = Run(case.__wrapped__({equation}, 4, {shape}, 3, pml=2, nshots=1), chunk=0, first=0, last=2)
run.run("forward")
run.struct.first, run.struct.last = 2, 3  # only the last step
for trial in range(1000):
    try:
        control = structs.SweepControl(cancel=1)
        run.library.call("forward", run.struct, run.addresses("forward"), threads=4, control=control)
    except KeyboardInterrupt:
        pass
print("done")
"""


@pytest.mark.parametrize(
    ("equation", "shape"), [("Acoustic", (160, 200)), ("Elastic", (160, 200)), ("Elastic", (20, 30, 40))]
)
def test_a_run_cancelled_at_its_last_step_ends(equation, shape):
    """All threads of a launcher stop together, also if no step follows. The run has its own process, which may hang."""
    support = str(Path(__file__).parents[1] / "support")
    code = CANCEL_LATE.format(support=support, equation=equation, shape=shape)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.communicate(timeout=30)[0] == "done\n"
        except subprocess.TimeoutExpired:
            pytest.fail("the threads of a run that was cancelled at its last step wait for each other")
        finally:
            process.kill()
