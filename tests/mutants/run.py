"""Plants bugs, one at a time, in a copy of the tree, and tells which of them the tests see: ``make mutants``.

    python tests/mutants/run.py [--area core] [--only 3,7] [-- arguments of pytest]

A mutant of *.toml replaces text that stands once in a file by text that breaks something, and says what. Its line here is
``caught``, with the test that failed first, or ``MISSED``. The exit status is the number of those that were missed.
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
ISA = "avx2"
FIRST = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


def mutants(area: str = "*") -> list[dict[str, str]]:
    """Every mutant of the areas, each with its number, from 1 on in its area."""
    found = []
    for path in sorted(HERE.glob(f"{area}.toml")):
        for number, mutant in enumerate(tomllib.loads(path.read_text())["mutant"], start=1):
            found.append(mutant | {"name": f"{path.stem} {number}"})
    return found


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


def build(tree: Path, libraries: Path) -> Path:
    """libsweep_cpu of the tree, for one instruction set, beside the other libraries; the folder of all."""
    into = tree / "build" / "mutant"
    configure = ["cmake", "-S", tree / "native", "-B", into, "-DSWEEP_LIBRARY=cpu", f"-DSWEEP_ISAS={ISA}"]
    for command in (configure, ["cmake", "--build", into, "--parallel", str(os.cpu_count())]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{command} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    for other in libraries.iterdir():
        if not (into / other.name).exists() and (other.name.startswith("libsweep") or other.suffix == ".txt"):
            shutil.copy2(other, into)
    return into


def judge(mutant: dict[str, str], tree: Path, libraries: Path, pytest: list[str]) -> str | None:
    """The first test that sees it; None where none does."""
    file = tree / mutant["file"]
    whole = file.read_text()
    file.write_text(mutated(mutant, whole))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *pytest]
    try:
        found = build(tree, libraries) if mutant["file"].startswith("native/") else libraries
        environment = os.environ | {"PYTHONPATH": str(tree), "SWEEP_NATIVE_DIR": str(found)}
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return "a test that does not end"
    finally:
        file.write_text(whole)
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
    given = parser.parse_args()
    chosen = mutants(given.area)
    if given.only:
        chosen = [m for m in chosen if m["name"].split()[1] in given.only.split(",")]
    if not chosen:
        parser.error(f"there is no mutant {given.only or ''} in area {given.area!r}")
    from sweep_core.native import library

    libraries, missed = library.find("cpu").parent, 0
    with tempfile.TemporaryDirectory() as folder:
        copy_tree(Path(folder))
        for mutant in chosen:
            begin = time.perf_counter()
            seen = judge(mutant, Path(folder), libraries, given.pytest or ["-n", "auto", "--dist", "loadscope"])
            missed += seen is None
            told = f"caught by {seen}" if seen else "MISSED"
            seconds = time.perf_counter() - begin
            print(f"{mutant['name']:12s} {seconds:6.0f} s  {mutant['breaks']}: {told}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} caught")
    return missed


if __name__ == "__main__":
    sys.exit(main())
