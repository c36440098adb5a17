"""The documentation site: the pages of docs/ as they stand, the docstrings, and the gallery. `make site` builds it.

Sphinx begins in an empty folder. `_lay_out` copies the pages there, in the layout of the tree, so that links between
files work. Generated pages lie beside them; the tree itself does not change.
"""

import re
import shutil
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE), *map(str, ROOT.glob("plugins/*"))]

from docutils import nodes  # noqa: E402
from reference import pages, write_reference  # noqa: E402
from sphinx import addnodes  # noqa: E402
from sphinx.ext.napoleon import NumpyDocstring  # noqa: E402

import sweep_core  # noqa: E402
from sweep_core import typing  # noqa: E402

NAMES = {name: f"{page.module}.{name}" for page in reversed(pages()) for name in page.own}

project, author, release = "SWEEP", "The SWEEP authors", sweep_core.__version__
copyright = "The SWEEP authors, MIT licence"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathematics",
]
include_patterns = ["*.md", "docs/**", "gallery/**", "reference/**"]
exclude_patterns = ["README.md"]  # the landing page and the page of the set-up show parts of it
highlight_language = "text"  # indented blocks are commands
default_role = "name"
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]  # as GitHub has formulas
html_math_renderer = "mathml"

html_theme = "furo"
html_title = f"SWEEP {release}"
html_logo = html_favicon = str(HERE / "static/logo.svg")
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_copy_source, html_domain_indices = False, False
html_theme_options = {"source_edit_link": "", "source_view_link": ""}
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"].get("urls", {})
html_theme_options["footer_icons"] = [
    {"name": name, "url": url, "html": name, "class": ""} for name, url in URLS.items()
]

autosummary_generate = False  # reference.py writes the pages
autodoc_typehints_format = "short"
autodoc_type_aliases = {name: f"~sweep_core.typing.{name}" for name in typing.__all__}
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
python_maximum_signature_line_length = 100
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False
napoleon_custom_sections = [("Attributes", "params_style")]  # as parameters are shown

sphinx_gallery_conf = {
    "examples_dirs": "scripts",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib", "pictures.pictures"),
    "capture_repr": (),
    "thumbnail_size": (640, 448),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}


FOLDERS = {
    "tutorials": "Tutorials",
    "howto": "How-to guides",
    "reference": "Reference",
    "explanation": "Explanation",
    "benchmarks": "Benchmarks",
}


def _sidebar() -> str:
    """Return the tables of contents of the landing page: a folder of docs/ each, in the order of docs/README.md."""
    docs = ROOT / "docs"
    order = re.findall(r"\]\(([\w/.-]+)\.md[#)]", (docs / "README.md").read_text())
    pages = [str(page.relative_to(docs).with_suffix("")) for page in sorted(docs.rglob("*.md"))]
    pages = [page for page in pages if not page.startswith("site/") and page != "README"]
    pages.sort(key=lambda page: order.index(page) if page in order else len(order))
    captions: dict[str, list[str]] = {caption: [] for caption in FOLDERS.values()}
    for page in pages:
        captions.setdefault(FOLDERS.get(page.split("/")[0], "Guides"), []).append(f"docs/{page}")
    captions["Reference"].insert(0, "reference/index")
    start = {"Start": ["setup", "gallery/index", "All pages <docs/README>"]}
    blocks = [
        "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *entries, "```"])
        for caption, entries in (start | captions).items()
        if entries
    ]
    return "\n\n".join(blocks)


def _write_start(source: Path) -> None:
    """Write the pages that show parts of the README: its first block of code, and its section on the installation."""
    readme = (ROOT / "README.md").read_text()
    example = re.search(r"^```python\n.*?^```$", readme, re.MULTILINE | re.DOTALL)
    install = re.search(r"^## [^\n]*Install[^\n]*\n(.*?)(?=^## )", readme, re.MULTILINE | re.DOTALL)
    assert example and install, "README.md has no block of Python, or no section on the installation"
    for name, parts in (("index", {"EXAMPLE": example[0], "SIDEBAR": _sidebar()}), ("setup", {"INSTALL": install[1]})):
        text = (HERE / f"{name}.md").read_text()
        for mark, part in parts.items():
            text = text.replace(f"{{{{{mark}}}}}", part)
        (source / f"{name}.md").write_text(text)


def _lay_out(app, config):
    """Lay out the source folder: the pages as they are today, links into the tree, and the API reference."""
    source = Path(app.srcdir)
    for folder in ("docs", "scripts"):
        shutil.rmtree(source / folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source / "docs", ignore=shutil.ignore_patterns(HERE.name))
    shutil.copytree(ROOT / "examples/gallery", source / "scripts", ignore=shutil.ignore_patterns("*.pyc"))
    shutil.copy2(ROOT / "README.md", source)
    _write_start(source)
    if not (source / "examples").exists():
        (source / "examples").symlink_to(ROOT / "examples")
    write_reference(source / "reference")


def _name(role, rawtext, text, lineno, inliner, options=None, content=()):
    """Return the node of a text between single backquotes: a link if it is a public name, otherwise a literal."""
    shown = nodes.literal(text, text)
    if text not in NAMES:
        return [shown], []
    where = {"refdoc": inliner.document.settings.env.docname, "refdomain": "py", "reftype": "obj", "refwarn": True}
    return [addnodes.pending_xref("", shown, reftarget=NAMES[text], refexplicit=True, **where)], []


def _plain_aliases(app, what, name, obj, options, signature, result):
    """Return a signature whose aliases of :mod:`sweep_core.typing` are links; Sphinx wraps those inside a union."""
    return tuple(text and re.sub(r"TypeAliasForwardRef\('([\w.~]+)'\)", r"\1", text) for text in (signature, result))


def _plain_lines(docstring: NumpyDocstring) -> list[str]:
    """Return the lines of the docstring of a value or a property as they are."""
    lines = list(docstring._lines)
    docstring._lines.clear()
    return lines


def setup(app):
    NumpyDocstring._parse_attribute_docstring = _plain_lines  # it takes the words before a colon for a type
    app.connect("autodoc-process-signature", _plain_aliases)
    app.connect("config-inited", _lay_out, priority=1)
    app.add_role("name", _name)
