"""Formulas as MathML, which browsers draw without a script or a network."""

from docutils.nodes import SkipNode
from latex2mathml.converter import convert


def mathml(formula: str, display: str) -> str:
    """Return the MathML of a formula in LaTeX; `display` is ``'block'`` or ``'inline'``."""
    return convert(formula.replace("{aligned}", "{split}"), display=display)  # the converter's word for it


def visit_inline(translator, node):
    translator.body.append(f'<span class="math">{mathml(node.astext(), "inline")}</span>')
    raise SkipNode


def visit_block(translator, node):
    translator.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>\n')
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
