"""The check of words finds each of its faults and flags no plain text."""

import runpy
from pathlib import Path

import pytest

WORDS = runpy.run_path(str(Path(__file__).parents[1] / "words.py"))
LONG = " ".join(["word"] * 36) + "."

FAULTS = {
    "What it costs.": "begins with What",
    "A sentence. Of the last step.": "begins with Of",
    "- That is an item.": "begins with That",
    "Whoever reads it.": "begins with Whoever",
    "# What is new": "begins with What",
    LONG: "36 words",
}


@pytest.mark.parametrize("text", FAULTS)
def test_a_sentence_is_flagged_in_every_kind_of_file(text):
    rule = FAULTS[text]
    assert [fault[1] for fault in WORDS["faults_of_prose"](text)] == [rule]
    if not text.startswith("#"):
        assert [fault[1] for fault in WORDS["faults_of_python"](f'"""{text}"""\nx = 1  # {text}\n')] == [rule] * 2
        assert [fault[1] for fault in WORDS["faults_of_cpp"](f"int x;  // {text}\n/* {text} */\n")] == [rule] * 2


@pytest.mark.parametrize(
    "code", ["found = 1", "def f(given): ...", "def told(): ...", "for kept in x: ...", "class Taken: ..."]
)
def test_a_name_is_flagged(code):
    assert len([*WORDS["faults_of_python"](code)]) == 1


def test_plain_text_and_code_are_not_flagged():
    page = f"Return the record.\n\n```python\nfound = {{}}  # {LONG}\n```\n\n    What a formula.\n\n| Of | a table |\n"
    assert not [*WORDS["faults_of_prose"](page)]
    code = f'def f(x):\n    """Return x, e.g. 3. See https://a.b/{"c" * 40}.\n\n    Parameters\n    ----------\n    x : int\n    """\n    x.found = f(found=2)\n'
    assert not [*WORDS["faults_of_python"](code)]
    assert not [*WORDS["faults_of_python"](f"'''{'Nine words are in this plain sentence of prose. ' * 9}'''")]


def test_a_fault_has_the_line_of_its_sentence():
    text = "One line.\nAnother line,\nwhich goes on. What is wrong?\n"
    assert [line for line, *_ in WORDS["faults_of_prose"](text)] == [2]
