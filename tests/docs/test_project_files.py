"""Files beside the README name existing paths, and the hooks of a commit run the commands of `make lint`."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "CHANGELOG.md"])
def test_paths_and_links_exist(page):
    text = (ROOT / page).read_text()
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    paths = re.findall(r"(?<![\w/.])((?:sweep_\w+|native|tests|docs)/[\w/.-]*[\w/])", text)
    assert not [path for path in [*links, *paths] if not (ROOT / path).exists()]


def test_every_room_has_its_line():
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("## Layers")[2].partition("\n## ")[0]
    named = set(re.findall(r"sweep_core/(\w+)", table)) | set(
        re.search(r"sweep_core/\{([\w,]+)\}", table)[1].split(",")
    )
    rooms = {p.parent.name for p in (ROOT / "sweep_core").glob("*/__init__.py")}
    assert rooms <= named


def test_hooks_run_the_commands_of_lint():
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].strip()
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    entries = re.findall(r"entry: (.*)", hooks)
    assert [e.partition(" -m ")[2] for e in entries if " -m " in e] == re.findall(r"\$\(run\) (.*)", lint)
    assert "clang_format" in entries[3] and entries[3].endswith(re.search(r"\$\(clang_format\) (.*)", lint)[1])
    assert [e.partition("python ")[2] for e in entries[4:]] == re.findall(r"\$\(python\) (.*)", lint)
    assert len(entries) == len(lint.splitlines()) and re.findall(r"repo: (.*)", hooks) == ["local"]


def test_a_citation_names_the_version_and_the_authors():
    text = (ROOT / "CITATION.cff").read_text()
    assert f"version: {PROJECT['version']}\n" in text and PROJECT["authors"][0]["name"] in text
    assert PROJECT["version"] in (ROOT / "CHANGELOG.md").read_text()
