"""The mutants fit the current code, and run.py distinguishes caught from missed mutants."""

import importlib.util
import os
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("planted_bugs", Path(__file__).with_name("run.py"))
runner = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(runner)
judge, mutants, mutated_text = runner.judge, runner.mutants, runner.mutated_text


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant["name"])
def test_a_mutant_fits_its_file(mutant):
    assert set(mutant) == {"name", "breaks", "file", "old", "new", "nearest"}
    files = [test.partition("::")[0] for test in mutant["nearest"] if test.startswith("tests")]
    assert all((runner.ROOT / file).exists() for file in files)
    text = (runner.ROOT / mutant["file"]).read_text()
    assert mutated_text(mutant, text) != text


def test_every_mutant_has_its_own_description():
    descriptions = [mutant["breaks"] for mutant in mutants()]
    assert len(set(descriptions)) == len(descriptions) > 0


def test_a_rewritten_file_is_newer_than_earlier_builds(tmp_path):
    """Files of a clone or a copy are older than a library, so that nothing would be compiled again."""
    file = tmp_path / "old.h"
    file.write_text("first")
    os.utime(file, (1.0, 1.0))
    built = tmp_path / "built"
    built.touch()
    runner.rewrite(file, "other")
    assert file.read_text() == "other" and file.stat().st_mtime >= built.stat().st_mtime


def test_judge_reports_the_test_and_restores_the_file(tmp_path):
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


def test_tests_import_the_copy_of_the_tree(tmp_path):
    runner.copy_tree(tmp_path)
    assert runner.imported_folder(tmp_path, tmp_path) == tmp_path
