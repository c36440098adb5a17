"""The compiled code under AddressSanitizer and UndefinedBehaviorSanitizer: good problems and bad input."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "native"
BUILDS = """
#define SWEEP_EVERY_VARIANT(X) X(portable)
#define SWEEP_TABLES_OF_portable(X) {tables}
#define SWEEP_EVERY_TABLE(X) SWEEP_TABLES_OF_portable(X)
"""
SANITIZERS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -g0"
FLAGS = f"-std=c++17 -O0 -fPIC -fopenmp -fvisibility=hidden {SANITIZERS}".split()

SCRIPT = """
import itertools, sys
sys.path.append({support!r})
import numpy as np
from abi import Run
from laws import VARIANTS, case, variant
from sweep_core import Acoustic, AcousticVariableDensity, Elastic, MemoryOptions, Snapshots, SweepError

def sound(made, chunk, threads, boundary=0, **kept):
    every = min(2, made.shots.wavelet.shape[-1])
    seen = Snapshots([made.problem.fields[0].name], every)
    run = Run(made, threads=threads, chunk=chunk, boundary=boundary, snapshots=seen, **kept)
    assert np.isfinite(run.forward()).all() and np.isfinite(run["snapshots"]).all()
    if chunk:
        assert all(np.isfinite(g).all() for g in run.adjoint(np.ones(run["cotangent"].shape)))
    else:
        assert np.isfinite(run.born(made.direction())).all()

shapes = [(10, 11), (13, 37), (31, 16), (12, 64)]
layers = [0, 1, 20, (3, 0, 0, 5), (0, 17, 1, 0)]
for order, shape, pml in itertools.product((2, 4, 6, 8, 10, 12), shapes, layers):
    if min(shape) < order:
        continue
    made = case.__wrapped__(Acoustic, order, shape, 6, pml)
    for chunk in (0, 2, 5):
        sound(made, chunk, 1)
        sound(made.typed(np.float32), chunk, 1)
    for boundary in (1, 2):
        sound(made.typed(np.float32), 2, 1, boundary)
        sound(made.typed(np.float32), 2, 1, boundary, stored=4)
    for stored, interval in ((0, 1), (2, 1), (3, 1), (4, 2), (1, 3)):
        sound(made, 4, 1, stored=stored, interval=interval)
sound(case.__wrapped__(shape=(90, 201), nt=4, pml=(9, 0, 3, 20), nshots=5), 2, 3)
for name, order, chunk in itertools.product(VARIANTS, (2, 6, 8), (0, 3, 100)):
    sound(variant(name, order=order, nt=8), chunk, 1 + chunk)
for nt in (1, 2, 3):
    sound(case.__wrapped__(nt=nt), 1, 1)
for equation, shape, chunk in itertools.product(
    (AcousticVariableDensity, Elastic), ((13, 37), (90, 21), (9, 10, 11)), (0, 3, 100)
):
    made = case.__wrapped__(equation, 4, shape, 6, 2)
    sound(made, chunk, 2)
    sound(made.typed(np.float32), chunk, 2)
    sound(made, 3, 2, 2)
    sound(made, 3, 2, stored=3)
    if chunk:
        some = made.remembering(MemoryOptions(known_above=7)).typed(np.float32)
        sound(some, chunk, 2, stored=0 if chunk == 3 else 4)

refused = 0
listed = [
    (operation, need.name.decode())
    for operation, needs in Run(case()).needs.items()
    for need in needs
    if need.name.endswith((b"_cell", b"_column"))
]
for (operation, name), at, bad in itertools.product(listed, ((0, 0), (2, -1)), (-1, -(2**31), 10**6, 2**31 - 1)):
    run = Run(case(), chunk=7)
    run[name][at] = bad
    try:
        run.run(operation)
    except SweepError:
        refused += 1
for spoil in (np.nan, -1.0, 0.0, np.inf, 1e30):
    run = Run(case())
    run["coefficients"].reshape(-1)[-1] = spoil
    try:
        run.forward()
    except SweepError:
        refused += 1
print("refused", refused)
"""


def tool(name):
    result = shutil.which(name)
    if not result:
        pytest.skip(f"there is no {name}")
    return result


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory):
    """(folder of a library with sanitizers, what must be preloaded)."""
    if not NATIVE.is_dir() or sys.platform != "linux":
        pytest.skip("needs a source tree on Linux")
    compiler, folder = tool("g++"), tmp_path_factory.mktemp("sanitized")
    runtime = subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(runtime):
        pytest.skip("g++ has no libasan")
    equations = sorted(p.stem for p in (NATIVE / "include/sweep/physics").glob("*.h"))
    tables = " ".join(f"X(portable, {name})" for name in equations)
    (folder / "sweep_builds.h").write_text(BUILDS.format(tables=tables))
    common = [compiler, *FLAGS, f"-I{NATIVE / 'include'}", f"-I{folder}", "-DSWEEP_VARIANT=portable"]
    # Loops of their own for all orders would take this build ten minutes.
    orders = {name: [f"-DSWEEP_MOST_ORDERS={int(name == 'acoustic')}"] for name in equations}
    sources = [("kernels", [f"-DSWEEP_EQUATION={name}", *orders[name]], name) for name in equations]
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
    """Return the output of Python with the sanitized library, which found nothing to report."""
    folder, runtime = sanitized
    environment = os.environ | {
        "LD_PRELOAD": runtime,
        "ASAN_OPTIONS": "detect_leaks=0,abort_on_error=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "SWEEP_NATIVE_DIR": str(folder),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0 and not done.stderr, done.stdout[-200:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(2400)  # mostly of compilers, which others may slow down
def test_nothing_is_read_or_written_out_of_bounds(sanitized):
    printed = run(sanitized, "-c", SCRIPT.format(support=str(ROOT / "tests/support")))
    assert int(printed.split()[-1]) == 7 * 2 * 2 * 4 + 5


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_random_structs_overflow_nowhere(sanitized):
    """As in test_fuzzing.py, where a number that wraps may do no harm by chance."""
    assert "done" in run(sanitized, str(ROOT / "tests/support/fuzz.py"), "7", "1000")
