"""Plants bugs, one at a time, in a copy of the tree, and tells which of them the tests see: ``make mutants``.

    python tests/mutants/run.py [--area core] [--only 3,7] [-- arguments of pytest]

A mutant of *.toml replaces text that stands once in a file by text that breaks something, and says what. The tests that
are `nearest` to its area run first, then those of ``make test``. Its line here is ``caught``, with the test that failed
first, or ``MISSED``. The exit status is the number of those that were missed.
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
# Tests ask for the portable variant by its name, so no other may stand alone; it takes a third of their time, too.
CHEAP = "-DSWEEP_ISAS=portable", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG"
# All but what looks at files and not at what they do.
ALL = [
    "--fast",
    "--numprocesses=auto",
    "--dist=loadscope",
    "--ignore=tests/mutants",
    "--ignore=tests/native/test_build.py",
]
# An editable install finds its own tree before any of PYTHONPATH: read at the start of every process, this forgets it.
FORGET_INSTALLED = """import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_editable")]
"""
FIRST = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


def mutants(area: str = "*") -> list[dict[str, str]]:
    """Every mutant of the areas, each with its number, from 1 on in its area, and the tests nearest to it: its own first."""
    results = []
    for path in sorted(HERE.glob(f"{area}.toml")):
        table = tomllib.loads(path.read_text())
        for number, mutant in enumerate(table["mutant"], start=1):
            nearest = [*mutant.get("nearest", []), *table["nearest"]]
            results.append(mutant | {"name": f"{path.stem} {number}", "nearest": nearest})
    return results


def mutated(mutant: dict[str, str], text: str) -> str:
    """The text of its file with the bug; ValueError where the mutant fits no more."""
    count = text.count(mutant["old"])
    if count != 1 or mutant["old"] == mutant["new"]:
        raise ValueError(
            f"{mutant['name']} ({mutant['breaks']}): {mutant['file']} holds its text {count} times; expected 1"
        )
    return text.replace(mutant["old"], mutant["new"])


def copy_tree(into: Path) -> None:
    """The files that git knows, as they stand here."""
    for name in subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0"):
        if name and (ROOT / name).exists():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, into / name)
    for path in (into / "native").iterdir():  # a stranger's library is built of the copy as well
        (into / "sweep_core/native" / path.name).symlink_to(path)
    (into / "sitecustomize.py").write_text(FORGET_INSTALLED)


def build(tree: Path, libraries: Path, file: str) -> Path:
    """The library of the tree that the file is compiled into, beside the other libraries; the folder of all."""
    kind = "xla" if Path(file).name.startswith("xla") else "cpu"
    into, options = tree / "build" / f"mutant_{kind}", CHEAP
    if kind == "xla":
        headers = subprocess.check_output([sys.executable, tree / "cmake/xla_headers.py"], text=True)
        options = (f"-DSWEEP_JAXLIB={headers.strip()}",)
    configure = ["cmake", "-S", tree / "native", "-B", into, f"-DSWEEP_LIBRARY={kind}", *options]
    for command in (configure, ["cmake", "--build", into, "--parallel", str(os.cpu_count())]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{command} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    for other in libraries.iterdir():
        if not (into / other.name).exists() and (other.name.startswith("libsweep") or other.suffix == ".txt"):
            shutil.copy2(other, into)
    return into


def judge(mutant: dict, tree: Path, libraries: Path, runs: list[list[str]]) -> str | None:
    """The first test that sees it, of so many runs of pytest; None where none does."""
    file = tree / mutant["file"]
    whole = file.read_text()
    rewrite(file, mutated(mutant, whole))
    try:
        result = build(tree, libraries, mutant["file"]) if mutant["file"].startswith("native/") else libraries
        return next(filter(None, (failure(tree, result, arguments) for arguments in runs)), None)
    finally:
        rewrite(file, whole)


def rewrite(file: Path, text: str) -> None:
    """Later than what was built of another text; and by two seconds than it was, or a text of the same length and second
    would be taken for the one in Python's cache.
    """
    stamp = max(time.time(), file.stat().st_mtime + 2)
    file.write_text(text)
    os.utime(file, (stamp, stamp))


def environment(tree: Path, libraries: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(tree), "SWEEP_NATIVE_DIR": str(libraries)}


def imported(tree: Path, libraries: Path) -> Path:
    """The folder whose sweep_core a process of the tests imports."""
    command = [sys.executable, "-c", "import sweep_core; print(sweep_core.__file__)"]
    result = subprocess.check_output(command, cwd=tree.parent, env=environment(tree, libraries), text=True)
    return Path(result.strip()).parents[1]


def failure(tree: Path, libraries: Path, arguments: list[str]) -> str | None:
    """The first test that fails; None where all pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *arguments]
    where = environment(tree, libraries)
    try:
        done = subprocess.run(command, cwd=tree, env=where, capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return "a test that does not end"
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
        if (other := imported(Path(folder), libraries)) != Path(folder):
            parser.error(f"the tests would import {other} and not the copy in {folder}, where bugs are planted")
        clean = libraries
        if built := next((m["file"] for m in selection if m["file"].startswith("native/")), ""):
            clean = build(Path(folder), libraries, built)  # what is built here must fail no test of itself
        if not inputs.pytest and (fails := failure(Path(folder), clean, ALL)):
            parser.error(f"{fails} fails where nothing is planted")
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
