"""Arguments that commands share."""

import argparse
import sys
from pathlib import Path
from textwrap import fill
from typing import Any

from ..errors import OptionError, UnsupportedError
from ..plugins import IMPLS, backend, backends, check_support
from ..problem import Problem
from .config import TABLES


def add_backend(parser: argparse.ArgumentParser) -> None:
    """--backend, --impl and --device."""
    names = ", ".join(status.name for status in backends())
    parser.add_argument("--backend", help=f"who computes: {names}; by default the first of torch and jax that is there")
    parser.add_argument("--impl", choices=IMPLS, help="compiled code, the framework's own operations, or either")
    parser.add_argument("--device", help="such as cpu, cuda or cuda:1; the backend's own by default")


def add_configured(commands: Any, name: str, about: str) -> argparse.ArgumentParser:
    """Add a command that reads a configuration, whose tables its help lists."""
    names = {table: f"[[{table}]]" if table == "stage" else f"[{table}]" for table in TABLES}
    lines = (fill(f"{names[table]:13s}{', '.join(known)}", 100, subsequent_indent=13 * " ")
             for table, known in TABLES.items())  # fmt: skip
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=about, epilog="\n".join(["tables of the TOML file, and what they may hold:", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("config", type=Path, help="a TOML file, with the tables below")
    return parser


def chosen_backend(given: argparse.Namespace) -> Any:
    """The executor that is asked for."""
    name = given.backend
    if name is None:
        there = [status.name for status in backends() if status.available and status.name in ("torch", "jax")]
        name = next(iter(there), "reference")
        if not there:
            print("neither torch nor jax is installed: the NumPy reference computes, slowly", file=sys.stderr)
    options = {key: value for key in ("impl", "device") if (value := getattr(given, key)) is not None}
    return backend(name, **options)


def check_problem(executor: Any, problem: Problem) -> None:
    """UnsupportedError unless the backend runs the problem, which is two-dimensional."""
    if problem.grid.ndim != 2:
        raise UnsupportedError(f"the model has shape {problem.grid.shape}; expected (nz, nx); use Python for 3-D")
    print(f"backend {executor.name!r}: {check_support(executor.name, executor, problem).reason or 'ready'}")


def check_new(path: Path, overwrite: bool) -> None:
    """OptionError where a file that would be written is there, or has no name."""
    if not path.name:
        raise OptionError(f"--out is {str(path)!r}; expected the name of a file")
    if path.exists() and not overwrite:
        raise OptionError(f"{path} is there already; give --overwrite to replace it, or another name by --out")
