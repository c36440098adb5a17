"""In docs/ and the README, code runs and prints the stated output, shown files are up to date, links exist."""

import inspect
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path

import attrs
import pytest
from strangers import install

import sweep_core
from sweep_core import Acoustic, native
from sweep_core.execution import propagator

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Pages of docs/site are parts of the site of Sphinx: tests/docs/test_site.py.
PAGES = [ROOT / "README.md", *sorted(p for p in DOCS.rglob("*.md") if not {"benchmarks", "site"} & set(p.parts))]
pages = pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
STRANGERS = ("tiny", "damped")

RUNNER = """
import contextlib, io, json, sys
names = {"__name__": "page"}
for line, code, expected in json.load(sys.stdin):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\\n" * line + code, sys.argv[1], "exec"), names)
    if expected is not None and printed.getvalue() != expected:
        sys.exit(f"{sys.argv[1]}, the block at line {line} printed\\n{printed.getvalue()}and should print\\n{expected}")
"""


@attrs.frozen
class Block:
    """A fenced block: its language, the file that it shows (in part), its text and its place."""

    language: str
    file: str
    text: str
    line: int
    begin: int
    end: int


def blocks(page: Path) -> list[Block]:
    text, outcome = page.read_text(), []
    for m in re.finditer(r"^```(\w*)(?: file=(\S+))?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        outcome.append(Block(m[1], m[2] or "", m[3], text[: m.start(3)].count("\n"), m.start(), m.end()))
    assert 2 * len(outcome) == len(re.findall("^```", text, re.MULTILINE)), "a block of an unknown form"
    return outcome


def examples(page: Path) -> list[tuple[int, str, str | None]]:
    """Return (line, code, output or None) of each Python block that is no file; a text block after it is its output."""
    outcome, text = blocks(page), page.read_text()
    result = []
    for block, after in zip_longest(outcome, outcome[1:]):
        if block.language == "python" and not block.file:
            output = after is not None and after.language == "text" and not text[block.end : after.begin].strip()
            result.append((block.line, block.text, after.text if output else None))
    return result


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """Return a folder with the packages of tests/plugins."""
    target = tmp_path_factory.mktemp("packages")
    install(target, STRANGERS)
    return target


@pytest.mark.parametrize("page", [p for p in PAGES if examples(p)], ids=lambda p: str(p.relative_to(ROOT)))
def test_code_runs_and_prints_the_stated_output(page, request, tmp_path):
    code = examples(page)
    text = "".join(c for _, c, _ in code)
    for framework in ("torch", "jax"):
        if re.search(rf"(import|from) (sweep_)?{framework}\b", text) and not find_spec(framework):
            pytest.skip(f"{framework} is not installed")
    if "sweep_dask" in text and not (find_spec("sweep_dask") and find_spec("distributed")):
        pytest.skip("sweep-dask is not installed: pip install plugins/dask")
    if "segy(" in text and not find_spec("segyio"):
        pytest.skip("segyio is not installed")
    compiled = native.supports(Acoustic(), 2, "cpu")
    if re.search('native|"tiny"', text) and not compiled and not os.environ.get("SWEEP_REQUIRE_NATIVE"):
        pytest.skip(compiled.reason)
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    if any(f'"{name}"' in text for name in STRANGERS):
        paths.insert(0, str(request.getfixturevalue("packages")))
    run(page, tmp_path, PYTHONPATH=os.pathsep.join(paths))


def run(page: Path, folder: Path, **environment: str) -> None:
    """Run the examples of a page in a process of their own, and compare their output with the page."""
    process = subprocess.run(
        [sys.executable, "-c", RUNNER, str(page.relative_to(ROOT))],
        input=json.dumps(examples(page)),
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr


@pytest.mark.slow
@pytest.mark.parametrize("isa", ["portable", "avx2", "avx512"])
def test_a_certificate_has_the_same_lines_for_each_instruction_set(isa, tmp_path):
    """Rounding differs, and decides the decade of an error that is near its bound."""
    if not native.supports(Acoustic(), 2, "cpu"):
        pytest.skip("Acoustic is not compiled here")
    library = native.load("cpu")
    if isa not in library.builds or library.builds.index(isa) > library.builds.index(library.isa):
        pytest.skip(f"{isa} is not built, or this processor lacks it")
    run(DOCS / "howto/certify.md", tmp_path, PYTHONPATH=str(ROOT), SWEEP_ISA=isa)


@pages
def test_blocks_of_a_file_equal_the_file(page):
    """The parts of a file that a page shows, in their order, are the whole file; blank lines do not count."""
    shown: dict[str, list[str]] = {}
    for block in blocks(page):
        if block.file:
            shown.setdefault(block.file, []).append(block.text.strip("\n"))
    for file, parts in shown.items():
        text = (ROOT / file).read_text().strip("\n")
        assert re.sub(r"\n{2,}", "\n\n", "\n\n".join(parts)) == re.sub(r"\n{2,}", "\n\n", text), file


@pages
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#\s]+)(#[^)]*)?\)", page.read_text())
    missing = [t for t, _ in targets if "://" not in t and not (page.parent / t).exists()]
    assert not missing


@pages
def test_anchors_exist(page):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)]*)\)", page.read_text()):
        headings = re.findall(r"^#+ (.*)$", (page.parent / target if target else page).read_text(), re.MULTILINE)
        assert anchor in {re.sub(r"[^\w-]", "", h.lower().replace(" ", "-")) for h in headings}


def test_the_index_names_every_page():
    index = (DOCS / "README.md").read_text()
    listed = {(DOCS / target).resolve() for target in re.findall(r"\]\(([^)#]+)\)", index)}
    assert {p for p in PAGES[1:] if p.name != "README.md"} <= listed


def test_no_page_is_long():
    """A page has at most 1,500 words; the log of the benchmarks may have any number."""
    words = {
        str(p.relative_to(DOCS).with_suffix("")): len(re.findall(r"\S*\w\S*", p.read_text()))
        for p in DOCS.rglob("*.md")
    }
    assert {name for name, count in words.items() if count > 1500} <= {"benchmarks/log"}


def test_links_of_the_benchmarks_lead_somewhere():
    """The code of these pages is not run."""
    for page in (DOCS / "benchmarks").glob("*.md"):
        test_links_lead_somewhere(page)
        test_anchors_exist(page)


def test_the_page_of_options_has_the_arguments():
    """Names, order and defaults, of the solver, a call and the memory; defaults of classes that a cell shows."""
    page = (DOCS / "reference/options.md").read_text()
    tables = [re.findall(r"^\| `(\w+)` \| (?:`(.*?)`)? ?\|", part, re.MULTILINE) for part in page.split("\n## ")[1:]]
    solver = propagator.Propagator
    for table, function in zip(tables, (solver.__init__, solver.forward, sweep_core.MemoryOptions), strict=True):
        arguments = [a for name, a in inspect.signature(function).parameters.items() if name != "self"]
        defaults = ["" if a.default is a.empty else json.dumps(a.default) for a in arguments]
        python = [{"null": "None", "false": "False"}.get(text, text) for text in defaults]
        assert table == list(zip([a.name for a in arguments], python, strict=True))
    for name in ("Snapshots", "BoundaryOptions", "CkptOptions"):
        signature = re.search(rf"`{name}\((.*?)\)`", page)[1]
        parameters = inspect.signature(getattr(sweep_core, name)).parameters.values()
        shown = [p.name if p.default is p.empty else f"{p.name}={p.default!r}".replace("'", '"') for p in parameters]
        assert signature == ", ".join(shown)


def test_a_search_for_segy_finds_the_guide():
    """The search of the site splits text at everything but letters, digits and underscores: SEG-Y is two words."""
    prose = re.sub(r"^```.*?^```$", "", (DOCS / "howto/read-segy.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    assert "segy" in re.findall(r"\w+", prose)
