"""Plant bugs, one at a time, in a copy of the tree, and report which of them the tests detect: ``make mutants``.

    python tests/mutants/run.py [--area core] [--only 3,7] [-- arguments of pytest]

A mutant of *.toml replaces a text that occurs once in a file; `breaks` describes the bug. The tests in `nearest` of its
area run first, then those of ``make test``. The output line is ``caught``, with the first failing test, or ``MISSED``.
The exit status is the number of missed mutants.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TIMEOUT = 3600
# Tests name the portable variant, so that it must be built; alone it needs a third of the build time of all variants.
CHEAP = "-DSWEEP_ISAS=portable", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG"
# All tests except those of files, which every mutant would fail.
ALL = [
    "--fast",
    "--numprocesses=auto",
    "--dist=loadscope",
    "--ignore=tests/mutants",
    "--ignore=tests/native/test_build.py",
]
# An editable install finds its own tree before PYTHONPATH. Every process runs this code first and removes its finder.
FORGET_INSTALLED = """import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_editable")]
"""
FIRST = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


def mutants(area: str = "*") -> list[dict[str, str]]:
    """Return every mutant of the areas with its number (from 1 in its area) and its nearest tests, its own first."""
    results = []
    for path in sorted(HERE.glob(f"{area}.toml")):
        table = tomllib.loads(path.read_text())
        for number, mutant in enumerate(table["mutant"], start=1):
            nearest = [*mutant.get("nearest", []), *table["nearest"]]
            results.append(mutant | {"name": f"{path.stem} {number}", "nearest": nearest})
    return results


def mutated_text(mutant: dict[str, str], text: str) -> str:
    """Return the text of the mutant's file with the bug; raise ValueError if the mutant does not fit the file."""
    count = text.count(mutant["old"])
    if count != 1 or mutant["old"] == mutant["new"]:
        raise ValueError(
            f"{mutant['name']} ({mutant['breaks']}): {mutant['file']} holds its text {count} times; expected 1"
        )
    return text.replace(mutant["old"], mutant["new"])


def copy_tree(into: Path) -> None:
    """Copy the files that git tracks, with their current contents."""
    for name in subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0"):
        if name and (ROOT / name).exists():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, into / name)
    for path in (into / "native").iterdir():  # third-party libraries are built from the copy too
        (into / "sweep_core/native" / path.name).symlink_to(path)
    (into / "sitecustomize.py").write_text(FORGET_INSTALLED)


def build(tree: Path, libraries: Path, file: str) -> Path:
    """Build the tree's library that contains the file, copy the other libraries beside it, and return their folder."""
    kind = "xla" if Path(file).name.startswith("xla") else "cpu"
    into, options = tree / "build" / f"mutant_{kind}", CHEAP
    if kind == "xla":
        headers = subprocess.check_output([sys.executable, tree / "cmake/xla_headers.py"], text=True)
        options = (f"-DSWEEP_JAXLIB={headers.strip()}",)
    options = (f"-DSWEEP_LIBRARY={kind}", f"-DPython_EXECUTABLE={sys.executable}", *options)
    configure = ["cmake", "-S", tree / "native", "-B", into, *options]
    for command in (configure, ["cmake", "--build", into, "--parallel", str(os.cpu_count())]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{command} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    for other in libraries.iterdir():
        if not (into / other.name).exists() and (other.name.startswith("libsweep") or other.suffix == ".txt"):
            shutil.copy2(other, into)
    return into


def judge(mutant: dict, tree: Path, libraries: Path, runs: list[list[str]]) -> str | None:
    """Return the first test that detects the mutant in several runs of pytest, or None."""
    file = tree / mutant["file"]
    whole = file.read_text()
    rewrite(file, mutated_text(mutant, whole))
    try:
        result = build(tree, libraries, mutant["file"]) if mutant["file"].startswith("native/") else libraries
        return next(filter(None, (failure(tree, result, arguments) for arguments in runs)), None)
    finally:
        rewrite(file, whole)


def rewrite(file: Path, text: str) -> None:
    """Write the file with a time later than any build of its old text, and at least two seconds after its old time.

    Otherwise Python's cache takes a text of the same length and second for the old one.
    """
    stamp = max(time.time(), file.stat().st_mtime + 2)
    file.write_text(text)
    os.utime(file, (stamp, stamp))


def environment(tree: Path, libraries: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(tree), "SWEEP_NATIVE_DIR": str(libraries)}


def imported_folder(tree: Path, libraries: Path) -> Path:
    """Return the folder from which a process of the tests imports sweep_core."""
    command = [sys.executable, "-c", "import sweep_core; print(sweep_core.__file__)"]
    result = subprocess.check_output(command, cwd=tree.parent, env=environment(tree, libraries), text=True)
    return Path(result.strip()).parents[1]


def failure(tree: Path, libraries: Path, arguments: list[str]) -> str | None:
    """Return the first test that fails, or None."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *arguments]
    variables = environment(tree, libraries)
    try:
        done = subprocess.run(command, cwd=tree, env=variables, capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return "a test without an end"
    if done.returncode == 0:
        return None
    if done.returncode not in (1, 2):
        raise RuntimeError(f"pytest ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return (FIRST.search(done.stdout) or ["", "the collection of tests"])[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--area", default="*", help="the name of a .toml beside this script; all by default")
    parser.add_argument("--only", help="numbers of mutants in their area, with commas")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest, such as tests to run")
    inputs = parser.parse_args()
    selection = mutants(inputs.area)
    if inputs.only:
        selection = [m for m in selection if m["name"].split()[1] in inputs.only.split(",")]
    if not selection:
        parser.error(f"there is no mutant {inputs.only or ''} in area {inputs.area!r}")
    from sweep_core.native import library

    libraries, missed = library.find("cpu").parent, 0
    with tempfile.TemporaryDirectory() as folder:
        copy_tree(Path(folder))
        if (other := imported_folder(Path(folder), libraries)) != Path(folder):
            parser.error(f"the tests would import {other} and not the copy in {folder}, which receives the bugs")
        clean = libraries
        if built := next((m["file"] for m in selection if m["file"].startswith("native/")), ""):
            clean = build(Path(folder), libraries, built)  # the build without a bug must pass all tests
        if not inputs.pytest and (fails := failure(Path(folder), clean, ALL)):
            parser.error(f"{fails} fails without a bug")
        for mutant in selection:
            begin = time.perf_counter()
            runs = [inputs.pytest] if inputs.pytest else [[*ALL[:3], *mutant["nearest"]], ALL]
            output = judge(mutant, Path(folder), libraries, runs)
            missed += output is None
            answer = f"caught by {output}" if output else "MISSED"
            seconds = time.perf_counter() - begin
            print(f"{mutant['name']:12s} {seconds:6.0f} s  {mutant['breaks']}: {answer}", flush=True)
    print(f"{len(selection) - missed} of {len(selection)} caught")
    return missed


if __name__ == "__main__":
    sys.exit(main())
