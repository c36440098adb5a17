"""Messages name no file that an installation lacks."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
OF_THE_TREE = ("docs/", "examples/", "tests/", "benchmarks/", ".md")


def sentences(path):
    """Yield (line, text) of the strings of a module, except docstrings."""
    tree = ast.parse(path.read_text())
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def test_messages_name_no_file_of_the_source_tree():
    faults = [
        f"{path.relative_to(ROOT)}:{line}: {text!r}"
        for package in ("sweep_core", "sweep_torch", "sweep_jax", "sweep_compat")
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, text in sentences(path)
        if any(part in text for part in OF_THE_TREE)
    ]
    assert not faults
