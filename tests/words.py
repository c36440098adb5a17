"""Flag sentences and names that the style of the project forbids: ``python tests/words.py [path ...]``.

A sentence of a docstring, a comment or a page begins with its subject and has at most 35 words. A name is a noun or a
verb, not a participle alone. The script prints ``path:line: rule: text`` and exits with 1 if it finds anything.
"""

import ast
import inspect
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_WORDS = 35
OPENINGS = {"What", "Of", "That", "Whoever"}
PARTICIPLES = re.compile("made|given|found|kept|told|taken|held|seen|chosen|listening|driving|finished")
REPLACED = re.compile("Kept|Taken|Medium|Parts|Rind|Ghosted|At|Given|Needs|Recall|strengths")
"""Names of classes and functions that have a word of the field instead."""
FOLDERS = "sweep_core sweep_torch sweep_jax sweep_compat plugins native tests benchmarks examples docs"
HISTORY = ("docs/benchmarks/log.md", "CHANGELOG.md")
"""Files that tell of the past, and may."""

ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|et al|cf|vs|Eq|Eqs|Fig|Figs|Sec|No|pp|approx)\.", re.IGNORECASE)
SENTENCE_END = re.compile(r"(?<=[.!?:;])[\"')\]]*\s+(?=[\"'(\[`*]*[A-Z0-9`])")
WORD = re.compile(r"[A-Za-z][\w'’.-]*")


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line within the text, sentence) of prose; blank lines, list items and table rows separate sentences."""
    block: list[str] = []
    first, code, previous, shown = 0, False, "", False
    for number, line in enumerate([*text.splitlines(), ""]):
        bare = line.strip()
        shown = bool(bare) and line.startswith("  ") and (shown or not previous)  # a formula or code of its own
        previous = bare
        if bare.startswith(("```", "~~~")):
            code = not code
            bare = ""
        skipped = (
            shown
            or code
            or bare.startswith((">>>", "...", "|", "#include", "$$", "<", ".. "))
            or set(bare) <= set("-=*~ ")
        )
        skipped |= bool(re.match(r"[\w*][\w*, .]* : \S", bare))  # a parameter and its type
        starts = bool(re.match(r"([-*+]|\d+\.)\s|#+\s|>", bare))
        if skipped or not bare or starts:
            yield from _split(first, block)
            block = []
        if bare and not skipped:
            if not block:
                first = number
            block.append(re.sub(r"^([-*+>]|\d+\.|#+)\s+", "", bare))


def _split(first: int, block: list[str]) -> Iterator[tuple[int, str]]:
    text = " ".join(block)
    text = re.sub(r"``.*?``|`[^`]*`|\$[^$]*\$|\S*://\S*|\[([^\]]*)\]\([^)]*\)", lambda m: m[1] or "Code", text)
    text = ABBREVIATIONS.sub(lambda m: m[1], text)
    begin = 0
    for piece in SENTENCE_END.split(text):
        at = text.find(piece, begin)
        begin = at + len(piece)
        position, line = 0, first
        for row in block:
            if position + len(row) >= at:
                break
            position, line = position + len(row) + 1, line + 1
        yield line, piece


def faults_of_prose(text: str) -> Iterator[tuple[int, str, str]]:
    for line, sentence in sentences(text):
        words = WORD.findall(sentence)
        plain = re.sub(r"^[^A-Za-z]*", "", sentence)
        if words and words[0] in OPENINGS and plain.startswith(words[0]):
            yield line, f"begins with {words[0]}", sentence
        if len(words) > MOST_WORDS:
            yield line, f"{len(words)} words", sentence


def faults_of_python(source: str) -> Iterator[tuple[int, str, str]]:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for line, rule, text in faults_of_prose(inspect.cleandoc(node.value.value)):
                yield node.lineno + line, rule, text
        for line, name in _names(node):
            if PARTICIPLES.fullmatch(name):
                yield line, "participle as a name", name
            elif REPLACED.fullmatch(name):
                yield line, "replaced name", name
    for line, comment in _comments(source):
        for offset, rule, text in faults_of_prose(comment):
            yield line + offset, rule, text


def _names(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield (line, name) of a definition, an assignment or a parameter."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        yield node.lineno, node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.lineno, node.id
    elif isinstance(node, ast.arg):
        yield node.lineno, node.arg


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of each run of comment lines."""
    last, run = 0, []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not re.match(r"#\s*(type:|noqa|fmt:|!)", token.string):
            if token.start[0] != last + 1 and run:
                yield run[0][0], "\n".join(text for _, text in run)
                run = []
            last = token.start[0]
            run.append((last, re.sub(r"\s*# (noqa|fmt:|type:).*", "", token.string.lstrip("# "))))
    if run:
        yield run[0][0], "\n".join(text for _, text in run)


def faults_of_cpp(source: str) -> Iterator[tuple[int, str, str]]:
    text = re.sub(r"\"(\\.|[^\"\\\n])*\"", '""', source)
    for match in re.finditer(r"/\*(.*?)\*/|(?:^[ \t]*//[^\n]*\n?)+|//[^\n]*", text, re.DOTALL | re.MULTILINE):
        comment = re.sub(r"^[ \t]*(//[/!]*<?|\*|/\*+!?)[ ]?|\*/$", "", match[0], flags=re.MULTILINE)
        start = text.count("\n", 0, match.start()) + 1
        for line, rule, sentence in faults_of_prose(comment):
            yield start + line, rule, sentence
    for match in re.finditer(r"\b(?:struct|class|enum class)\s+(\w+)", text):
        if REPLACED.fullmatch(match[1]):
            yield text.count("\n", 0, match.start()) + 1, "replaced name", match[1]


CHECKS = {
    ".py": faults_of_python, ".md": faults_of_prose,
    **dict.fromkeys((".h", ".hpp", ".cpp", ".cu", ".cuh"), faults_of_cpp),
}  # fmt: skip


def files(paths: list[str]) -> Iterator[Path]:
    for path in map(Path, paths):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.suffix in CHECKS and not file.as_posix().endswith(HISTORY):
                yield file


def main(arguments: list[str]) -> int:
    count = 0
    for file in files(arguments or [*(str(ROOT / f) for f in FOLDERS.split()), *map(str, ROOT.glob("*.md"))]):
        for line, rule, text in sorted(CHECKS[file.suffix](file.read_text())):
            print(f"{file}:{line}: {rule}: {text[:120]}")
            count += 1
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
