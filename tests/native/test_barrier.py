"""The barrier of CPU threads: no thread passes early, and threads that share one processor do not hold each other up."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from abi import cpu_library

ROOT = Path(__file__).parents[2]
FLAGS = ["-std=c++17", "-O1", "-g", "-pthread", "-DSWEEP_VARIANT=portable", "-fsanitize=thread"]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Return tests/native/barrier.cpp, compiled with ThreadSanitizer."""
    compiler, source = shutil.which("g++"), ROOT / "native/src"
    if not compiler or not source.is_dir():
        pytest.skip("needs g++ and a source tree")
    path = tmp_path_factory.mktemp("barrier") / "barrier"
    command = [
        compiler,
        *FLAGS,
        f"-I{source}",
        f"-I{ROOT / 'native/include'}",
        str(Path(__file__).parent / "barrier.cpp"),
        "-o",
        str(path),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if "cannot find" in done.stderr and "tsan" in done.stderr:
        pytest.skip("g++ has no libtsan")
    assert done.returncode == 0, done.stderr
    return path


@pytest.mark.parametrize(
    ("threads", "meetings", "late"),
    [(1, 100, 0), (2, 10_000, 0), (2, 1000, 2000), (5, 500, 2000)],
    ids=["one", "two, in time", "two, late", "more than processors, late"],
)
def test_no_thread_passes_the_barrier_early(program, threads, meetings, late):
    """A thread that is 2 ms late finds the others asleep."""
    done = subprocess.run([program, *map(str, (threads, meetings, late))], capture_output=True, text=True, timeout=120)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("ThreadSanitizer cannot run on this kernel")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 wrong\n", "")


SCRIPT = """
import os, sys, time
sys.path.append({support!r})
import numpy as np
from abi import Run, cpu_library
from laws import case

cpu_library()
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
example = case.__wrapped__(shape=(150, 160), nt=150, pml=5).typed(np.float32)
records, seconds = [], []
for threads in (1, 1, 2):
    run = Run(example, threads=threads)
    begin = time.process_time()
    records.append(run.forward().tobytes())
    seconds.append(time.process_time() - begin)
print(records[1] == records[2], seconds[2] / seconds[1])
"""


def test_threads_that_share_one_processor_wait_asleep():
    """Each finds its partner late at every barrier. Bits stay the same, and little processor time goes into waiting."""
    cpu_library()
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("the system binds no threads")
    script = SCRIPT.format(support=str(ROOT / "tests/support"))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    environment.pop("OMP_WAIT_POLICY", None)  # of the tests
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    same, ratio = done.stdout.split()
    assert same == "True" and float(ratio) < 6, done.stdout
