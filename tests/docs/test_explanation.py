"""Pages of explanation and reference: their length, and their formulas, which the site draws without a network."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page for folder in ("explanation", "reference") for page in (DOCS / folder).glob("*.md"))
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@pages
def test_a_page_has_at_most_1500_words(page):
    assert len(page.read_text().split()) <= 1500


@pages
def test_formulas_are_mathematics(page):
    """Each formula converts to MathML without a command left over; none is an indented block of plain characters."""
    converter = pytest.importorskip("latex2mathml.converter")
    text = page.read_text()
    formulas = re.findall(r"^```math\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^```.*?^```$|`[^`]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    assert prose.count("$") % 2 == 0
    formulas += re.findall(r"\$([^$]*)\$", prose)
    for formula in formulas:
        shown = converter.convert(formula.replace("{aligned}", "{split}"))
        assert "\\" not in shown and "&</mi>" not in shown, formula
    assert not re.findall(r"^    \S.* = .*$", prose, re.MULTILINE)
