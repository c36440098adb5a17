"""The planted bugs fit the code as it is, and who plants them tells caught from missed."""

import importlib.util
import os
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("planted_bugs", Path(__file__).with_name("run.py"))
planted = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(planted)
judge, mutants, mutated = planted.judge, planted.mutants, planted.mutated


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant["name"])
def test_it_fits(mutant):
    assert set(mutant) == {"name", "breaks", "file", "old", "new", "nearest"}
    files = [test.partition("::")[0] for test in mutant["nearest"] if test.startswith("tests")]
    assert all((planted.ROOT / file).exists() for file in files)
    text = (planted.ROOT / mutant["file"]).read_text()
    assert mutated(mutant, text) != text


def test_each_breaks_something_of_its_own():
    said = [mutant["breaks"] for mutant in mutants()]
    assert len(set(said)) == len(said) > 0


def test_a_file_is_newer_than_what_was_built_of_another_text(tmp_path):
    """Files of a clone or a copy are older than a library: nothing would be compiled again."""
    file = tmp_path / "old.h"
    file.write_text("first")
    os.utime(file, (1.0, 1.0))
    built = tmp_path / "built"
    built.touch()
    planted.rewrite(file, "other")
    assert file.read_text() == "other" and file.stat().st_mtime >= built.stat().st_mtime


def test_caught_missed_and_put_back(tmp_path):
    module = tmp_path / "sums.py"
    module.write_text("def add(a, b):\n    return a + b\n")
    (tmp_path / "test_sums.py").write_text("import sums\n\ndef test_add():\n    assert sums.add(2, 2) == 4\n")
    mutant = {"name": "sums 1", "breaks": "sums", "file": "sums.py", "old": "a + b"}
    whole = module.read_text()
    assert judge(mutant | {"new": "a - b"}, tmp_path, tmp_path, [[]]) == "test_sums.py::test_add"
    assert judge(mutant | {"new": "a * b"}, tmp_path, tmp_path, [[]]) is None
    assert module.read_text() == whole
    with pytest.raises(ValueError, match="sums.py holds its text 0 times"):
        judge(mutant | {"old": "a / b", "new": "b"}, tmp_path, tmp_path, [[]])


def test_the_tests_import_the_copy(tmp_path):
    planted.copy_tree(tmp_path)
    assert planted.imported(tmp_path, tmp_path) == tmp_path
