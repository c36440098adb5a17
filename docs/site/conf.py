"""The documentation site: the pages of docs/ as they stand, the docstrings, and the gallery. `make site` builds it.

Sphinx begins in an empty folder, into which the pages are taken, laid out as in the tree so that links between files
lead on. Whatever is generated lies beside them, and nothing in the tree.
"""

import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE)]

from docutils import nodes  # noqa: E402
from reference import pages, write_reference  # noqa: E402
from sphinx import addnodes  # noqa: E402

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
]
include_patterns = ["*.md", "docs/**", "gallery/**", "reference/**"]
exclude_patterns = ["README.md"]  # the landing page and set-up include its parts
highlight_language = "text"  # indented blocks are formulas and commands
default_role = "name"
myst_heading_anchors = 3

html_theme = "furo"
html_title = "SWEEP"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_copy_source, html_domain_indices = False, False
html_theme_options = {"source_edit_link": "", "source_view_link": ""}

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
    "thumbnail_size": (480, 336),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}


def _lay_out(app, config):
    """The source folder: the pages as they are today, links into the tree, and what is made of the docstrings."""
    source = Path(app.srcdir)
    for folder in ("docs", "scripts"):
        shutil.rmtree(source / folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source / "docs", ignore=shutil.ignore_patterns(HERE.name))
    shutil.copytree(ROOT / "examples/gallery", source / "scripts", ignore=shutil.ignore_patterns("*.pyc"))
    for page in (ROOT / "README.md", *HERE.glob("*.md")):
        shutil.copy2(page, source)
    if not (source / "examples").exists():
        (source / "examples").symlink_to(ROOT / "examples")
    write_reference(source / "reference")


def _name(role, rawtext, text, lineno, inliner, options=None, content=()):
    """What a docstring puts between single backquotes: a link where it is a public name, else as it stands."""
    shown = nodes.literal(text, text)
    if text not in NAMES:
        return [shown], []
    where = {"refdoc": inliner.document.settings.env.docname, "refdomain": "py", "reftype": "obj", "refwarn": True}
    return [addnodes.pending_xref("", shown, reftarget=NAMES[text], refexplicit=True, **where)], []


def _plain_aliases(app, what, name, obj, options, signature, result):
    """Aliases of :mod:`sweep_core.typing` as links, which Sphinx wraps where they are part of a union."""
    return tuple(text and re.sub(r"TypeAliasForwardRef\('([\w.~]+)'\)", r"\1", text) for text in (signature, result))


def setup(app):
    app.connect("autodoc-process-signature", _plain_aliases)
    app.connect("config-inited", _lay_out, priority=1)
    app.add_role("name", _name)
