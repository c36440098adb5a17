"""Arguments that commands share."""

import argparse
import sys
from pathlib import Path
from textwrap import fill
from typing import Any, get_args, get_origin, get_type_hints

import attrs

from .._util.config import add_options, named_values
from ..errors import OptionError, UnsupportedError
from ..plugins import backend, check_support, first_backend
from ..problem import Problem
from .config import Config, Execution, read_config, stated


def add_configured(commands: Any, name: str, about: str) -> argparse.ArgumentParser:
    """Add a command that reads a configuration; its help lists the tables."""
    lines = []
    for table, annotation in get_type_hints(Config).items():
        for cls in filter(attrs.has, (annotation, *get_args(annotation))):
            title = f"[[{table}]]" if get_origin(annotation) is list else f"[{table}]"
            options = ", ".join(field.name for field in attrs.fields(cls))
            lines.append(fill(f"{title:13s}{options}", 100, subsequent_indent=13 * " "))
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=about, epilog="\n".join(["tables of the TOML file and their options:", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("config", type=Path, help="TOML file with the tables below")
    add_options(parser, Execution)
    return parser


def read_configured(parsed: argparse.Namespace) -> Config:
    """Return the configuration of a command; options of its command line override [execution]."""
    names = [field.name for field in attrs.fields(Execution)]
    return read_config(parsed.config, **{name: value for name, value in vars(parsed).items() if name in names})


def make_executor(config: Config) -> Any:
    """Return the executor that [execution] asks for."""
    name = first_backend() if config.execution.backend is None else config.execution.backend
    if name is None:
        name = "reference"
        print("neither torch nor jax is installed: the NumPy reference computes, slowly", file=sys.stderr)
    further = named_values(config.execution.backend_options or "", "--backend-options")
    return backend(name, **stated(config.execution, "backend", "backend_options") | further)


def check_problem(executor: Any, problem: Problem) -> None:
    """UnsupportedError unless the backend runs the problem, which is two-dimensional."""
    if problem.grid.ndim != 2:
        raise UnsupportedError(f"the model has shape {problem.grid.shape}; expected (nz, nx); use Python for 3-D")
    print(f"backend {executor.name!r}: {check_support(executor.name, executor, problem).reason or 'ready'}")


def check_new(path: Path, overwrite: bool) -> None:
    """OptionError if the file to be written exists and `overwrite` is False, or if it has no name."""
    if not path.name:
        raise OptionError(f"--out is {str(path)!r}; expected the name of a file")
    if path.exists() and not overwrite:
        raise OptionError(f"{path} is there already; give --overwrite to replace it, or another name by --out")
