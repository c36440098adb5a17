"""The compiled code under AddressSanitizer and UndefinedBehaviorSanitizer: good problems and bad input."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sweep_core.native.codegen import list_of_builds, shipped, write_headers

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "native"
SANITIZERS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -g0"
FLAGS = f"-std=c++17 -O0 -fPIC -fopenmp -fvisibility=hidden {SANITIZERS}".split()

SCRIPT = """
import itertools, sys
sys.path.append({support!r})
import numpy as np
from abi import Run
from laws import VARIANTS, case, variant
from sweep_core import Acoustic, AcousticVariableDensity, Elastic, MemoryOptions, Snapshots, SweepError

def assert_finite(example, chunk, threads, boundary=0, **storage):
    every = min(2, example.shots.wavelet.shape[-1])
    request = Snapshots([example.problem.fields[0].name], every)
    example = example.typed(DTYPES[type(example.problem.equation)])
    run = Run(example, threads=threads, chunk=chunk, boundary=boundary, snapshots=request, **storage)
    assert np.isfinite(run.forward()).all() and np.isfinite(run["snapshots"]).all()
    if chunk:
        assert all(np.isfinite(g).all() for g in run.adjoint(np.ones(run["cotangent"].shape)))
    else:
        assert np.isfinite(run.born(example.direction())).all()

DTYPES = {{Acoustic: np.float32, AcousticVariableDensity: np.float32, Elastic: np.float64}}
shapes = [(12, 13), (13, 37), (31, 16), (12, 64)]
layers = [0, 1, 20, (3, 0, 0, 5), (0, 17, 1, 0)]
for (i, order), (j, pml) in itertools.product(enumerate((2, 4, 6, 8, 10, 12)), enumerate(layers)):
    # Each pair of order, shape and layers.
    example = case.__wrapped__(Acoustic, order, shapes[(i + j) % len(shapes)], 6, pml)
    for chunk in (0, 2, 5):
        assert_finite(example, chunk, 1)
    for boundary in (1, 2):
        assert_finite(example, 2, 1, boundary)
        assert_finite(example, 2, 1, boundary, stored=4)
    for stored, interval in ((0, 1), (2, 1), (3, 1), (4, 2), (0, 3)):
        assert_finite(example, 4, 1, stored=stored, interval=interval)
assert_finite(case.__wrapped__(shape=(90, 201), nt=4, pml=(9, 0, 3, 20), nshots=5), 2, 3)
for name, order, chunk in itertools.product(VARIANTS, (2, 4, 8), (0, 3, 100)):
    assert_finite(variant(name, order=order, nt=8), chunk, 1 + chunk)
for nt in (1, 2, 3):
    assert_finite(case.__wrapped__(nt=nt), 1, 1)
for equation, shape, chunk in itertools.product(
    (AcousticVariableDensity, Elastic), ((13, 37), (90, 21), (9, 10, 11)), (0, 3, 100)
):
    example = case.__wrapped__(equation, 4, shape, 6, 2)
    assert_finite(example, chunk, 2)
    assert_finite(example, 3, 2, 2)
    assert_finite(example, 3, 2, stored=3)
    if chunk:
        rows = example.remembering(MemoryOptions(known_above=7))
        assert_finite(rows, chunk, 2, stored=int(equation is Elastic) if chunk == 3 else 4)

refusals, example = 0, case().typed(np.float32)
index_buffers = [
    (operation, need.name.decode())
    for operation, needs in Run(example).needs.items()
    for need in needs
    if need.name.endswith((b"_cell", b"_column"))
]
for (operation, name), at, bad in itertools.product(index_buffers, ((0, 0), (2, -1)), (-1, -(2**31), 10**6, 2**31 - 1)):
    run = Run(example, chunk=7)
    run[name][at] = bad
    try:
        run.run(operation)
    except SweepError:
        refusals += 1
for spoil in (np.nan, -1.0, 0.0, np.inf, 1e30):
    run = Run(example)
    run["coefficients"].reshape(-1)[-1] = spoil
    try:
        run.forward()
    except SweepError:
        refusals += 1
print("refused", refusals)
"""


def tool(name):
    path = shutil.which(name)
    if not path:
        pytest.skip(f"there is no {name}")
    return path


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory):
    """Return (folder of a library with sanitizers, the runtime library to preload)."""
    if not NATIVE.is_dir() or sys.platform != "linux":
        pytest.skip("needs a source tree on Linux")
    compiler, folder = tool("g++"), tmp_path_factory.mktemp("sanitized")
    runtime = subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(runtime):
        pytest.skip("g++ has no libasan")
    write_headers(folder, shipped())
    equations = sorted(equation.name for equation in shipped())
    (folder / "sweep_builds.h").write_text(list_of_builds("portable", equations))
    common = [compiler, *FLAGS, f"-I{NATIVE / 'include'}", f"-I{folder}", "-DSWEEP_VARIANT=portable"]
    # With separate loops for all orders and both dtypes of each equation this build would take ten minutes.
    loops = {
        "acoustic": ["-DSWEEP_MOST_ORDERS=1", "-DSWEEP_DTYPES=1"],  # float32
        "acoustic_variable_density": ["-DSWEEP_MOST_ORDERS=0", "-DSWEEP_DTYPES=1"],
        "elastic": ["-DSWEEP_MOST_ORDERS=0", "-DSWEEP_DTYPES=2"],  # float64
    }
    sources = [("kernels", [f"-DSWEEP_EQUATION={name}", *loops[name]], name) for name in equations]
    jobs = [
        subprocess.Popen(
            [*common, *defines, "-c", str(NATIVE / f"src/cpu/{source}.cpp"), "-o", str(folder / f"{name}.o")]
        )
        for source, defines, name in [*sources, ("builds", [], "builds")]
    ]
    library = [*common, '-DSWEEP_BUILD_ID="sanitized"', "-c", str(NATIVE / "src/abi/library.cpp")]
    jobs.append(subprocess.Popen([*library, "-o", str(folder / "library.o")]))
    assert not any([job.wait() for job in jobs])
    objects = map(str, folder.glob("*.o"))
    subprocess.run([compiler, *FLAGS, "-shared", "-o", str(folder / "libsweep_cpu.so"), *objects], check=True)
    return folder, runtime


def run(sanitized, *arguments):
    """Run Python with the sanitized library, check that the sanitizers report nothing, and return the output."""
    folder, runtime = sanitized
    environment = os.environ | {
        "LD_PRELOAD": runtime,
        "ASAN_OPTIONS": "detect_leaks=0,abort_on_error=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "SWEEP_NATIVE_DIR": str(folder),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    process = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=500)
    assert process.returncode == 0 and not process.stderr, process.stdout[-200:] + process.stderr[-4000:]
    return process.stdout


@pytest.mark.slow
@pytest.mark.timeout(2400)  # most of it for compilers, which other processes may slow down
def test_sanitizers_find_no_access_out_of_bounds(sanitized):
    printed = run(sanitized, "-c", SCRIPT.format(support=str(ROOT / "tests/support")))
    assert int(printed.split()[-1]) == 7 * 2 * 2 * 4 + 5


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_sanitizers_find_no_overflow_for_random_structs(sanitized):
    """The sanitizers detect an overflow that may do no harm by chance in test_fuzzing.py."""
    assert "done" in run(sanitized, str(ROOT / "tests/support/fuzz.py"), "7", "2000")
