"""The documentation site: it builds without a warning or a network, holds every page and every public name, and leads on."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import attrs
import pytest
from serving import Quiet, serve

from sweep_core import Acoustic, native

ROOT = Path(__file__).parents[2]
NEEDED = "sphinx", "furo", "latex2mathml", "myst_parser", "sphinx_gallery", "sphinx_copybutton"
NEEDED += "torch", "jax", "optax", "segyio", "sweep_dask", "distributed"
pytestmark = pytest.mark.slow

# Sphinx, to which whoever connects to another machine is told on.
OFFLINE = """
import socket, sys
from sphinx.cmd.build import main
connect = socket.socket.connect
def local(self, address):
    if isinstance(address, tuple) and address[0] not in ("localhost", "127.0.0.1", "::1", socket.gethostname()):
        raise RuntimeError(f"the site asked {address} for something")
    return connect(self, address)
socket.socket.connect = local
sys.exit(main(sys.argv[1:]))
"""

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--enable-logging=stderr",
    "--virtual-time-budget=300000",
    "--dump-dom",
]

# A page that opens each of `pages` in a frame, then searches for each of `words`, and writes what it saw.
VISIT = """<!doctype html><meta charset="utf-8"><body><script>
const pages = %s, words = %s;
const frame = document.body.appendChild(document.createElement("iframe"));
const open = address => new Promise(done => { frame.onload = () => done(frame.contentDocument); frame.src = address; });
const seen = { pictures: 0, broken: [], found: {} };
(async () => {
  for (const page of pages) {
    for (const picture of (await open(page)).images) {
      picture.loading = "eager";
      seen.pictures++;
      if (!picture.complete) await new Promise(done => { picture.onload = picture.onerror = done; });
      if (!picture.naturalWidth) seen.broken.push(page + ": " + picture.src);
    }
  }
  for (const word of words) {
    const shown = await open("search.html?q=" + word);
    for (let i = 0; i < 100 && !/found/.test(shown.getElementById("search-results").innerText); i++)
      await new Promise(done => setTimeout(done, 50));
    const hits = shown.querySelectorAll("#search-results ul.search > li > a");
    seen.found[word] = [...hits].map(hit => hit.pathname.slice(1));
  }
  document.body.innerText = JSON.stringify(seen);
})();
</script></body>"""


@attrs.define
class Html(HTMLParser):
    """Where a page leads, what it shows and what one may lead to in it."""

    links: list[str]
    ids: set[str]
    classes: set[str]

    def __attrs_post_init__(self):
        super().__init__()

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.links += [values[key] for key in ("href", "src") if values.get(key)]
        self.links += [one.split()[0] for one in (values.get("srcset") or "").split(",") if one.strip()]
        self.ids |= {values[key] for key in ("id", "name") if values.get(key)}
        self.classes |= set((values.get("class") or "").split())


def tree() -> set[Path]:
    """The files that the site is made of."""
    files = {p for folder in ("docs", "examples/gallery") for p in (ROOT / folder).rglob("*")}
    return {p for p in files if "__pycache__" not in p.parts}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built as `make site` does but offline; its pages are read once."""
    if missing := [name for name in NEEDED if not find_spec(name)]:
        pytest.skip(f"{', '.join(missing)} not installed")
    compiled = native.supports(Acoustic(), 2, "cpu")
    if not compiled and not os.environ.get("SWEEP_REQUIRE_NATIVE"):
        pytest.skip(compiled.reason)
    folder = tmp_path_factory.mktemp("site")
    (folder / "pages").mkdir()
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    }
    command = [sys.executable, "-c", OFFLINE, "-q", "-W", "--keep-going", "-c", ROOT / "docs/site", folder / "pages"]
    before = tree()
    done = subprocess.run([*command, folder / "html"], env=environment, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert tree() == before, "the build changes the tree"
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site):
    parsed = {}
    for path in site.rglob("*.html"):
        parsed[path] = Html([], set(), set())
        parsed[path].feed(path.read_text())
    return parsed


def test_every_page_is_there(site):
    expected = [
        p.relative_to(ROOT).with_suffix(".html")
        for p in (ROOT / "docs").rglob("*.md")
        if "site" not in p.relative_to(ROOT).parts
    ]
    expected += [Path("gallery", p.name).with_suffix(".html") for p in (ROOT / "examples/gallery").glob("*.py")]
    assert len(expected) > 20
    assert not [str(p) for p in expected if not (site / p).exists()]


def test_the_sidebar_leads_to_every_page(site, pages):
    index = site / "index.html"
    reached, new = set(), {index}
    while new:
        page = new.pop()
        reached.add(page)
        targets = {(page.parent / unquote(urlsplit(x).path)).resolve() for x in pages[page].links if "://" not in x}
        new |= {t for t in targets if t in pages} - reached
    assert set(pages) == reached


def test_every_link_and_picture_resolves(site, pages):
    dead = []
    for page, html in pages.items():
        for link in html.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not target.is_file() or (parts.fragment and target in pages and parts.fragment not in pages[target].ids):
                dead.append(f"{page.relative_to(site)}: {link}")
    assert not dead


def test_nothing_is_fetched_from_elsewhere(site, pages):
    fetched = re.compile(r"""<(?:script|img|link|iframe|source)\b[^>]*?(?:src|href)=["'](?:https?:)?//[^"']*""")
    assert not [m for page in pages for m in fetched.findall(page.read_text())]


def test_each_example_shows_pictures_and_can_be_had(site, pages):
    for script in (ROOT / "examples/gallery").glob("*.py"):
        html = pages[site / "gallery" / f"{script.stem}.html"]
        names = {Path(unquote(urlsplit(link).path)).name for link in html.links}
        assert {script.name, f"{script.stem}.ipynb"} <= names
        pictures = {name for name in names if name.startswith(f"sphx_glr_{script.stem}_") and name.endswith("png")}
        (notebook,) = site.rglob(f"{script.stem}.ipynb")
        cells = ["".join(cell["source"]) for cell in json.loads(notebook.read_text())["cells"]]
        assert "import numpy as np" in "".join(cells)
        drawn = [cell for cell in cells if re.search(r"^(plot_\w+\(|figure$|figure, axes = plt)", cell, re.MULTILINE)]
        assert len(pictures) == len(drawn) >= 1, script.name


@pytest.mark.parametrize("word", ("pml", "ricker", "segi", "hessian", "checkpoint", "scholt", "toml"))
def test_search_finds(site, word):
    """Words as the index has them, by their stems; in terms or titles."""
    index = (site / "searchindex.js").read_text()
    stems = json.loads(index[index.index("(") + 1 : index.rindex(")")])
    assert word in stems["terms"] or word in stems["titleterms"]


@pytest.mark.skipif(not BROWSER, reason="no Chromium or Chrome to open the site in")
def test_a_browser_shows_the_pictures_and_finds_pages(site, pages, tmp_path):
    """Scripts run without an error, ask for nothing that is not there, and a search leads to the page about its word."""
    sought = {"checkpoint": "docs/explanation/memory.html", "install": "setup.html"}
    sought |= {"segy": "docs/howto/read-segy.html", "envelope": "reference/inversion.html"}
    missing = []

    class Handler(Quiet):
        def send_error(self, code, *_):
            if self.path != "/favicon.ico":  # which every browser asks for
                missing.append(f"{code} {self.path}")
            super().send_error(code)

    addresses = [str(page.relative_to(site)) for page in pages]
    (site / "visit.html").write_text(VISIT % (json.dumps(addresses), json.dumps(list(sought))))
    with serve(partial(Handler, directory=site)) as address:
        command = [BROWSER, *FLAGS, f"--user-data-dir={tmp_path}", f"{address}/visit.html"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        finally:
            (site / "visit.html").unlink()
    body = re.search(r"<body>({.*})</body>", done.stdout, re.DOTALL)
    assert body, done.stdout[-2000:] + done.stderr[-2000:]
    report = json.loads(body[1])
    assert report["pictures"] > 20 and not report["broken"] and not missing
    assert not re.findall(r"CONSOLE.*Uncaught.*", done.stderr)
    hits = report["found"]
    assert not {word: hits[word] for word, page in sought.items() if page not in hits[word]}


def test_every_public_name_has_an_entry(site, pages):
    """Every export of a public module, found here by the files, and not by the import that the site uses."""
    missing, modules = [], []
    for package in [*ROOT.glob("sweep_*"), *ROOT.glob("plugins/*/sweep_*")]:
        for path in package.rglob("*.py"):
            if "__all__ = " in path.read_text() and path.stem not in ("private", "__main__"):
                module = ".".join(path.relative_to(package.parent).with_suffix("").parts)
                modules.append(module.removesuffix(".__init__"))
    ids = set().union(*(html.ids for page, html in pages.items() if page.parent.name == "reference"))
    homes = {}
    for module in modules:
        for name in importlib.import_module(module).__all__:
            homes.setdefault(id(getattr(importlib.import_module(module), name)), set()).add(f"{module}.{name}")
    missing = [sorted(names) for names in homes.values() if not names & ids]
    assert len(modules) > 20 and not missing


def test_user_pages_import_public_names(pages):
    """Pages for users import public names alone. Pages for authors go deeper, because their readers read the sources."""
    ids = set().union(*(html.ids for page, html in pages.items() if page.parent.name == "reference"))
    names = {name.split(".")[-1] for name in ids if name.startswith("sweep_")}
    guides = [p for folder in ("tutorials", "howto") for p in (ROOT / "docs" / folder).glob("*.md")]
    guides = [
        p for p in guides if p.stem not in ("own-equation", "write-backend", "write-equation", "compile-equation")
    ]
    users = "reference/conventions", "explanation/memory"
    for page in ("README.md", *(f"docs/{name}.md" for name in users), *guides):
        for line in re.findall(r"^from sweep_\S+ import (.*)$", (ROOT / page).read_text(), re.MULTILINE):
            assert {n.split(" as ")[0].strip() for n in line.split(",")} - {"plot"} <= names, (page, line)
