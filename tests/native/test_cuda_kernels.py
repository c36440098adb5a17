"""The CUDA path equals the CPU: on a GPU if there is one, and emulated by loops on every machine.

SWEEP_EMULATE compiles native/src/cuda with a plain C++ compiler. The bodies of the kernels are the same. Threads run one
by one, in an order that changes from launch to launch: forwards, backwards, even ones before odd ones.
SWEEP_SANITIZE=address,undefined adds sanitizers (preload their libraries).
"""

import ctypes as c
import math
import os
import subprocess

import numpy as np
import pytest
from building import COMPILER, EMULATED, NATIVE, build

from sweep_core import Acoustic
from sweep_core.errors import NativeError
from sweep_core.native import structs
from sweep_core.native.library import find
from sweep_core.numerics.free_surface import rows_under_surface
from sweep_core.numerics.stencils import Stencil, second_derivative_root

PARTS = ("cell", "column", "weight")


class Machine:
    """A library and the memory of its buffers."""

    exact = True

    def __init__(self, dll):
        self.dll = dll

    def run(self, operation, problem, arrays, control=None):
        """Run an operation on host arrays, which receive the outputs; return the status and its text."""
        return self.call(operation, problem, [(a.ctypes.data, a.nbytes) for a in arrays], control)

    def call(self, operation, problem, buffers, control=None, stream=0):
        array = (structs.SweepBuffer * len(buffers))(*buffers)
        return self._call(self.dll.sweep_run, operation, problem, (array, len(buffers)), control, stream)

    def needs(self, operation, problem) -> dict:
        """Return the bytes of the buffers of an operation by name, in the order of the ABI."""
        needs = structs.SweepNeeds(bytes=c.sizeof(structs.SweepNeeds))
        answer = self._call(self.dll.sweep_buffers, operation, problem, (c.byref(needs),))
        assert answer == (structs.OK, ""), answer
        return {need.name.decode(): need.bytes for need in needs.buffer[: needs.count]}

    def _call(self, function, operation, problem, arguments, control=None, stream=0):
        text = c.create_string_buffer(512)
        context = structs.SweepContext(
            bytes=c.sizeof(structs.SweepContext),
            threads=1,
            stream=stream,
            control=c.pointer(control) if control else None,
            error=c.cast(text, c.c_char_p),
            error_bytes=len(text),
        )
        number = structs.OPERATIONS.index(operation)
        return function(c.byref(problem), number, *arguments, c.byref(context)), text.value.decode()


class Gpu(Machine):
    exact = False

    def run(self, operation, problem, arrays, control=None):
        import torch

        tensors = [torch.from_numpy(a).cuda() for a in arrays]
        buffers = [(t.data_ptr(), t.nbytes) for t in tensors]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        result = self.call(operation, problem, buffers, control, stream.cuda_stream)
        stream.synchronize()
        for array, tensor in zip(arrays, tensors, strict=True):
            array[...] = tensor.cpu().numpy()
        return result


def cuda_library() -> c.CDLL:
    try:
        return c.CDLL(str(find("cuda")))
    except NativeError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def cpu(tmp_path_factory):
    if not COMPILER:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("reference") / "portable"
    # One loop for all orders is quick to compile and adds in the same order as the emulation.
    flags = ["-fopenmp", "-DSWEEP_MOST_ORDERS=0"]
    return Machine(build(folder, "portable", "cpu/kernels.cpp", "cpu/builds.cpp", *flags))


@pytest.fixture(scope="module", params=["emulated", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request, tmp_path_factory):
    if request.param == "gpu":
        return Gpu(cuda_library())
    if not COMPILER:
        pytest.skip("no C++ compiler")
    sanitize = os.environ.get("SWEEP_SANITIZE")
    flags = [f"-fsanitize={sanitize}", "-fno-sanitize-recover", "-g"] if sanitize else []
    folder = tmp_path_factory.mktemp("emulated") / "cuda"
    return Machine(build(folder, "cuda", "cuda/kernels.cu", "cuda/builds.cu", *EMULATED, *flags))


def weights(half):
    """Return the weights of D, D1, D2, the mean and the root of D2; the acoustic equation uses only D2 and its root."""
    f = math.factorial
    common = [(-1) ** (k + 1) * f(half) ** 2 / (f(half - k) * f(half + k)) for k in range(1, half + 1)]
    second = [2 * w / k**2 for k, w in enumerate(common, 1)]
    never = [math.nan] * half
    return never, never, [-2 * sum(second), *second], never, second_derivative_root(2 * half)


def point_list(rng, shots, cells, traces, taps, dtype):
    """Return random points, trace by trace; the first two traces of a shot share their cells."""
    cell = rng.integers(0, cells, (shots, traces, taps)).astype(np.int32)
    cell[:, 1] = cell[:, 0]
    column = np.broadcast_to(np.arange(traces, dtype=np.int32)[:, None], cell.shape)
    weight = rng.standard_normal(cell.shape).astype(dtype)
    return [np.ascontiguousarray(x).reshape(shots, -1) for x in (cell, column, weight)]


def sorted_by_cell(points):
    order = np.argsort(points[0], axis=1, kind="stable")
    return [np.take_along_axis(x, order, 1) for x in points]


class Case:
    """A random problem: earth, PML, wavelets, sources and receivers of several taps, snapshots."""

    def __init__(self, dtype="float64", order=4, shots=3, earths=1, steps=40, chunk=0, surface=False, taps=2, **grid):
        rng = np.random.default_rng(order)
        shape = grid.get("shape", (41, 53))
        pml = grid.get("pml", ((5, 7), (6, 4), (2, 3))[: len(shape)])
        self.dtype, sources, receivers = dtype, 3, 5
        self.problem = p = structs.SweepProblem(
            bytes=c.sizeof(structs.SweepProblem), dtype=structs.DTYPES[dtype], ndim=len(shape), order=order, shots=shots
        )
        p.earths, p.steps, p.first, p.last, p.chunk = earths, steps, 0, steps, chunk
        p.boundary, p.interval = grid.get("boundary", structs.NO_STRIPS), grid.get("interval", 1)
        p.stored, p.imaged_from = structs.DTYPES[grid.get("stored", dtype)], grid.get("imaged_from", 0)
        p.source_traces, p.receiver_traces = p.source_columns, p.receiver_columns = sources, receivers
        p.source_points[0], p.receiver_points[0] = sources * taps, receivers * taps
        p.coefficient_limit, p.equation = 0.4, b"acoustic"
        p.face_low[0], p.snapshot_every, p.snapshot_fields = surface, 7, 1
        tables = []
        for axis, (n, (low, high)) in enumerate(zip(shape, pml, strict=True)):
            low = 0 if surface and axis == 0 else low
            p.shape[axis], p.pml_low[axis], p.pml_high[axis] = n, low, high
            p.snapshot_low[axis], p.snapshot_high[axis] = axis, n - 2
            unused = np.full(n, math.nan)
            for further in range(2):  # at nodes, then between them
                decay, rim = np.zeros(n), np.r_[0:low, n - high - (further if high else 0) : n]
                decay[rim] = rng.uniform(0.5, 0.95, len(rim))
                tables += [decay, np.where(decay > 0, decay - 1, 0), unused]
            p.weights[axis][: 5 * order // 2 + 1] = np.concatenate(weights(order // 2)).tolist()
        if surface:
            centre, *sides = weights(order // 2)[2]
            stencil = Stencil(centre, sides, sign=1, back=0, ahead=0)
            rows = rows_under_surface(stencil, Acoustic.fields[0], order)[: order // 2]
            tables += [rows.ravel()] * 2  # the operator equals its transpose
        self.tables = np.concatenate(tables).astype(dtype)
        self.coefficients, self.tangent_coefficients = (
            rng.uniform(0.1, 0.3, (2, earths, 1, *shape)) / len(shape)
        ).astype(dtype)
        self.wavelet, self.tangent_wavelet = rng.standard_normal((2, shots, steps, sources)).astype(dtype)
        self.cotangent = rng.standard_normal((shots, steps, receivers)).astype(dtype)
        self.sources = point_list(rng, shots, math.prod(shape), sources, taps, dtype)
        self.receivers = point_list(rng, shots, math.prod(shape), receivers, taps, dtype)
        self.sources_sorted, self.receivers_sorted = sorted_by_cell(self.sources), sorted_by_cell(self.receivers)
        region = [n - 2 - axis for axis, n in enumerate(shape)]
        self.snapshots = np.empty((shots, (steps - 1) // 7 + 1, 1, *region), dtype)
        self.flag, self.record, self.state = np.full(1, -7, np.int32), None, None

    def arrays(self, machine, operation):
        """Return the arrays of a call, in the order of the ABI; new opaque buffers are full of NaN."""
        needs, item = machine.needs(operation, self.problem), np.dtype(self.dtype).itemsize
        points = {
            "source_inject": self.sources_sorted,
            "source_gather": self.sources,
            "receiver_inject": self.receivers_sorted,
            "receiver_gather": self.receivers,
        }
        named = {f"{n}_{part}": x for n, xs in points.items() for part, x in zip(PARTS, xs, strict=True)}
        new_buffers = {
            "forward": ("workspace", "history", "checkpoints"),
            "adjoint": ("workspace",),
            "born": ("workspace",),
        }
        for name in (*new_buffers[operation], *(["state"] if self.state is None else [])):
            named[name] = np.full(-(-needs[name] // item), np.nan, self.dtype)
        return {name: named[name] if name in named else getattr(self, name) for name in needs}

    def forward(self, machine, control=None):
        """Run steps [first, last); a run that begins at 0 gets NaN in every output, another gets the outputs of the last."""
        if self.problem.first == 0:
            self.record, self.snapshots[...] = np.full_like(self.cotangent, np.nan), np.nan
            self.state = None
        return self.run(machine, "forward", control)

    def adjoint(self, machine):
        if self.problem.last == self.problem.steps:
            self.gradient_coefficients = np.full_like(self.coefficients, 7)
            self.gradient_wavelet, self.state = np.full_like(self.wavelet, 7), None
        return self.run(machine, "adjoint")

    def born(self, machine):
        record, self.record, self.state = self.record, np.full_like(self.cotangent, np.nan), None
        answer = self.run(machine, "born")
        self.scattered, self.record = self.record, record
        return answer

    def run(self, machine, operation, control=None):
        arrays = self.arrays(machine, operation)
        for name in ("state", "history", "checkpoints") if operation == "forward" else ("state",):
            setattr(self, name, arrays[name])
        return machine.run(operation, self.problem, [*arrays.values()], control)

    def inside(self):
        """Return the index of the cells outside the PML."""
        p = self.problem
        bounds = zip(p.pml_low[: p.ndim], p.shape[: p.ndim], p.pml_high[: p.ndim], strict=True)
        return (..., *(slice(low, n - high) for low, n, high in bounds))

    def results(self, machine):
        """Return the outputs of all operations, by name."""
        results = {}
        for operation, outputs in {
            "forward": ("record", "snapshots"),
            "adjoint": ("gradient_coefficients", "gradient_wavelet"),
            "born": ("scattered",),
        }.items():
            if operation != "adjoint" or self.problem.chunk:
                assert getattr(self, operation)(machine) == (structs.OK, "")
                assert self.flag[0] == structs.OK
                results |= {name: getattr(self, name) for name in outputs}
        return results


def assert_same(device, actual, expected, dtype):
    assert actual.keys() == expected.keys()
    for name, b in expected.items():
        largest = np.abs(b).max()
        assert np.isfinite(b).all() and largest > 1e-5
        # The CPU flushes denormal numbers to zero, and the first motion of a wave in single precision may be denormal.
        tolerance = {"float32": (1e-24, 1e-5), "float64": (1e-30, 1e-12)}[dtype][0 if device.exact else 1]
        np.testing.assert_allclose(actual[name], b, rtol=0, atol=tolerance * largest, err_msg=name)


@pytest.mark.parametrize("chunk", [0, 7, 100])
@pytest.mark.parametrize("shots, earths", [(1, 1), (3, 1), (5, 5)])
@pytest.mark.parametrize("order", [2, 4, 6, 8, 12])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cuda_equals_the_cpu(cpu, device, dtype, order, shots, earths, chunk):
    arguments = (dtype, order, shots, earths, 40, chunk)
    assert_same(device, Case(*arguments).results(device), Case(*arguments).results(cpu), dtype)


@pytest.mark.parametrize("pml", [((0, 0), (0, 0)), ((0, 6), (3, 0)), ((20, 3), (5, 21))])
def test_cuda_equals_the_cpu_for_any_pml(cpu, device, pml):
    assert_same(device, Case(chunk=9, pml=pml).results(device), Case(chunk=9, pml=pml).results(cpu), "float64")


@pytest.mark.parametrize("chunk", [0, 7, 100])
@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize(
    "dtype, order, shape", [("float32", 4, (17, 16, 19)), ("float64", 8, (21, 19, 20)), ("float64", 10, (39, 41))]
)
def test_cuda_equals_the_cpu_in_3d_and_under_a_free_surface(cpu, device, dtype, order, shape, surface, chunk):
    cases = [Case(dtype, order, 3, 3, 24, chunk, surface, shape=shape) for _ in range(2)]
    assert_same(device, cases[0].results(device), cases[1].results(cpu), dtype)


@pytest.mark.parametrize("boundary", [structs.INTERIOR, structs.EXACT])
@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("order, shape", [(4, (41, 53)), (8, (37, 41)), (4, (17, 16, 19))])
def test_cuda_runs_backward_from_strips_like_the_cpu(cpu, device, order, shape, surface, boundary):
    arguments = {"order": order, "shape": shape, "surface": surface, "steps": 24, "chunk": 7}
    actual, full = Case(boundary=boundary, **arguments).results(device), Case(**arguments).results(cpu)
    # Not bit for bit: a CPU omits cells that no wave has reached, where a run backward leaves rounding errors.
    for name, b in Case(boundary=boundary, **arguments).results(cpu).items():
        np.testing.assert_allclose(actual[name], b, rtol=0, atol=1e-12 * np.abs(b).max(), err_msg=name)
    name = "gradient_coefficients"
    inside = (...,) if boundary == structs.EXACT else Case(**arguments).inside()
    np.testing.assert_allclose(actual[name][inside], full[name][inside], rtol=0, atol=1e-11 * np.abs(full[name]).max())


@pytest.mark.parametrize(
    "storage",
    [
        {"stored": "bfloat16"},
        {"stored": "int8"},
        {"stored": "float16", "boundary": structs.EXACT},
        {"interval": 3},
        {"imaged_from": 17},
        {"imaged_from": 9, "interval": 2},
    ],
    ids=str,
)
def test_smaller_histories_equal_those_of_the_cpu(cpu, device, storage):
    """Blocks are equal up to rounding, which may turn one stored value into its neighbour."""
    arguments = {"order": 4, "steps": 24, "chunk": 7}
    actual, expected = (Case(**arguments, **storage).results(machine) for machine in (device, cpu))
    for name, b in expected.items():
        atol = 1e-12 if name == "record" or "stored" not in storage else 1e-4
        np.testing.assert_allclose(actual[name], b, rtol=0, atol=atol * np.abs(b).max(), err_msg=name)


@pytest.mark.parametrize("taps", [8, 9, 64])
def test_a_warp_adds_many_points_of_a_trace(cpu, device, taps):
    actual, expected = (Case(chunk=7, taps=taps).results(machine) for machine in (device, cpu))
    for name, b in expected.items():
        np.testing.assert_allclose(actual[name], b, rtol=0, atol=1e-12 * np.abs(b).max(), err_msg=name)


def test_a_step_takes_four_launches(device):
    """The launches are for memory variables, cells in the PML, other cells, and sources and receivers."""
    if not device.exact:
        pytest.skip("only the emulation counts launches")
    device.dll.emulated_launches.restype = c.c_int64

    def launches(operation, steps, **more):
        case = Case(steps=steps, chunk=100, **more)
        case.problem.snapshot_every = 0
        case.snapshots, start = np.empty((case.problem.shots, 0)), device.dll.emulated_launches(0)
        if operation == "adjoint":
            case.forward(device)
            start = device.dll.emulated_launches(0)
        assert getattr(case, operation)(device) == (structs.OK, "")
        return device.dll.emulated_launches(0) - start

    for operation in ("forward", "adjoint", "born"):
        assert launches(operation, 32) - launches(operation, 22) == 4 * 10, operation
        assert launches(operation, 32, pml=((0, 0), (0, 0))) - launches(operation, 22, pml=((0, 0), (0, 0))) == 2 * 10


DIVISOR = """
#define SWEEP_VARIANT test
#include "cuda/launch.cuh"
#include <random>
int main() {
  std::mt19937 draw;
  const unsigned most = 0x7fffffff;
  for (int i = 0; i < 300000; ++i) {
    const unsigned n = i < 3000 ? i + 1 : (draw() & most) >> draw() % 31 | 1, x = (draw() & most) >> draw() % 31;
    for (const unsigned at : {x, most, n - 1, n, x / n * n})
      if (sweep::Divisor(n).quotient(at) != at / n) return 1;
  }
}
"""


@pytest.mark.skipif(not COMPILER, reason="no C++ compiler")
def test_divisor_equals_a_division(tmp_path):
    source, program = tmp_path / "divisor.cpp", tmp_path / "divisor"
    source.write_text(DIVISOR)
    folders = [f"-I{NATIVE / folder}" for folder in ("include", "src")]
    subprocess.run([COMPILER, "-std=c++17", "-O1", *EMULATED, *folders, str(source), "-o", str(program)], check=True)
    subprocess.run([str(program)], check=True)


@pytest.mark.parametrize("steps, chunk", [(1, 0), (1, 1), (1, 7), (2, 1), (3, 2)])
def test_short_runs_equal_the_cpu(cpu, device, steps, chunk):
    actual, expected = (Case(steps=steps, chunk=chunk).results(m) for m in (device, cpu))
    for name, b in expected.items():
        np.testing.assert_allclose(actual[name], b, rtol=1e-12, atol=0, err_msg=name)


def test_two_runs_are_bit_identical(device):
    first, second = (Case("float32", chunk=7).results(device) for _ in range(2))
    assert all(second[name].tobytes() == a.tobytes() for name, a in first.items())


@pytest.mark.parametrize("chunk", [0, 7, 100])
def test_a_run_in_slices_equals_one_call(device, chunk):
    whole, parts = Case(chunk=chunk).results(device), Case(chunk=chunk)
    slices, histories = ((0, 1), (1, 17), (17, 40)), {}
    for parts.problem.first, parts.problem.last in slices:
        assert parts.forward(device) == (structs.OK, "")
        histories[parts.problem.first] = parts.history, parts.checkpoints
    assert parts.record.tobytes() == whole["record"].tobytes()
    assert parts.snapshots.tobytes() == whole["snapshots"].tobytes()
    for parts.problem.first, parts.problem.last in slices[::-1] if chunk else ():
        parts.history, parts.checkpoints = histories[parts.problem.first]
        assert parts.adjoint(device) == (structs.OK, "")
    for name in ("gradient_coefficients", "gradient_wavelet") if chunk else ():
        assert getattr(parts, name).tobytes() == whole[name].tobytes()


def test_shots_may_exceed_the_rows_of_a_launch(device):
    shots = 7 if device.exact else 65540
    few, many = (Case("float32", shots=n, steps=2, shape=(12, 13), pml=((2, 1), (1, 3))) for n in (3, shots))
    few.coefficients[...] = many.coefficients[...] = 0.1
    few.wavelet[...] = many.wavelet[-3:]
    for small, large in zip(few.sources_sorted + few.receivers, many.sources_sorted + many.receivers, strict=True):
        small[...] = large[-3:]
    assert few.forward(device) == many.forward(device) == (structs.OK, "")
    assert few.record.tobytes() == many.record[-3:].tobytes()


def spoil_coefficient(case, value):
    case.coefficients[0, 0, 17, 23] = value


def spoil_cell(case, value):
    case.sources_sorted[0][1, -1] = value


def spoil_receiver(case, value):
    case.receivers[0][2, 3] = case.receivers_sorted[0][2, 0 if value < 0 else -1] = value


def spoil_column(case, value):
    case.sources_sorted[1][0, 2] = case.receivers[1][0, 4] = value


def spoil_order(case, _):
    case.sources_sorted[0][1] = case.sources_sorted[0][1][::-1]


BAD = [
    (spoil_coefficient, math.nan, structs.BAD_VALUE),
    (spoil_coefficient, math.inf, structs.BAD_VALUE),
    (spoil_coefficient, 0.0, structs.BAD_VALUE),
    (spoil_coefficient, -0.1, structs.BAD_VALUE),
    (spoil_coefficient, 0.41, structs.UNSTABLE),
    (spoil_cell, 41 * 53, structs.BAD_VALUE),
    (spoil_cell, 2**31 - 1, structs.BAD_VALUE),
    (spoil_receiver, -1, structs.BAD_VALUE),
    (spoil_receiver, 2**31 - 1, structs.BAD_VALUE),
    (spoil_column, 5, structs.BAD_VALUE),
    (spoil_column, -(2**31), structs.BAD_VALUE),
    (spoil_order, None, structs.BAD_CALL),
]


@pytest.mark.parametrize("chunk", [7, 100])
@pytest.mark.parametrize("spoil, value, status", BAD)
def test_bad_values_raise_the_flag_and_give_nan(cpu, device, spoil, value, status, chunk):
    case = Case(chunk=chunk)
    spoil(case, value)
    assert case.forward(cpu)[0] == status
    assert case.forward(device) == (structs.OK, "")
    assert case.flag[0] == status and np.isnan(case.record).all() and np.isnan(case.snapshots).all()
    assert case.adjoint(device) == (structs.OK, "")
    assert (
        case.flag[0] == status and np.isnan(case.gradient_coefficients).all() and np.isnan(case.gradient_wavelet).all()
    )
    assert case.born(device) == (structs.OK, "")
    assert case.flag[0] == status and np.isnan(case.scattered).all()


def test_the_flag_lasts_until_the_end_of_the_run(device):
    case = Case()
    case.coefficients[0, 0, 3, 4] = 0.41
    for case.problem.first, case.problem.last in ((0, 20), (20, 40)):
        assert case.forward(device) == (structs.OK, "")
        assert case.flag[0] == structs.UNSTABLE and np.isnan(case.record).all()
    case.coefficients[0, 0, 3, 4] = 0.1
    case.problem.first = 0
    assert case.forward(device) == (structs.OK, "")
    assert case.flag[0] == structs.OK and np.isfinite(case.record).all()


def test_a_run_reports_progress_and_can_be_cancelled(device):
    control = structs.SweepControl()
    assert Case().forward(device, control) == (structs.OK, "")
    assert control.progress == 39
    control.cancel = 1
    assert Case().forward(device, control)[0] == structs.CANCELLED
    assert control.progress == 0


def test_a_call_computes_on_the_card_of_its_buffers(device):
    """The current card of the calling thread is the first one, and stays so after the call."""
    if not device.exact:
        pytest.skip("one card is enough for the other tests; this one is emulated")
    case, dll = Case(chunk=7), device.dll
    dll.emulated_launches.restype = c.c_int64
    start = [dll.emulated_launches(card) for card in (0, 1)]
    case.results(device)
    first = dll.emulated_launches(0)
    assert first > start[0]
    dll.emulated_second_card(c.c_void_p(case.flag.ctypes.data), c.c_int64(case.flag.nbytes))
    try:
        case.results(device)
    finally:
        dll.emulated_second_card(None, c.c_int64(0))
    assert dll.emulated_launches(0) == first and dll.emulated_launches(1) - start[1] == first - start[0]
    assert dll.emulated_current() == 0


@pytest.mark.gpu
def test_a_call_can_be_captured():
    """A call never synchronises or allocates, so a CUDA graph may replay it on other values."""
    import torch

    machine = Gpu(cuda_library())
    case = Case()
    expected = case.results(machine)["record"].copy()
    case.record[...] = 0
    named = {name: torch.from_numpy(a).cuda() for name, a in case.arrays(machine, "forward").items()}
    tensors, record, wavelet = [*named.values()], named["record"], named["wavelet"]
    wavelet.zero_()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        stream = torch.cuda.current_stream().cuda_stream
        buffers = [(t.data_ptr(), t.nbytes) for t in tensors]
        assert machine.call("forward", case.problem, buffers, None, stream) == (structs.OK, "")
    wavelet.copy_(torch.from_numpy(case.wavelet))
    graph.replay()
    assert record.cpu().numpy().tobytes() == expected.tobytes()


def test_the_library_loads_and_refuses_calls_without_a_device():
    """The library contains the CUDA runtime, needs no driver to load, and refuses every call with a message."""
    machine = Machine(cuda_library())
    if machine.dll.sweep_isa_default() >= 0:
        pytest.skip("there is a device")
    status, text = machine.call("forward", Case().problem, [])
    assert status == structs.DEVICE and "runs on this machine" in text
