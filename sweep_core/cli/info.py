"""``seismic-sweep info``, and ``python -m sweep_core``: installed backends, equations and libraries."""

import argparse

from ..native import library
from ..plugins import backends, equation_failures, equations, registry


def add(commands) -> None:
    commands.add_parser("info", help="installed backends, equations and libraries").set_defaults(run=run)


def run(parsed: argparse.Namespace | None = None) -> int:
    from .. import __version__

    print(f"SWEEP {__version__}")
    print("\nbackends")
    for status in backends():
        devices = f" ({', '.join(status.record.devices)})" if status.record else ""
        print(f"  {status.name + devices:25s} {'ready' if status.available else status.reason}")
    print("\ndistributors")
    for status in registry().distributors:
        print(f"  {status.name:25s} {'ready' if status.available else status.reason}")
    print("\nequations")
    failed = equation_failures()
    for record in registry().equations:
        reason = f"   {failed[record.name]}" if record.name in failed else ""
        print(f"  {record.name:25s} {record.target}{reason}")
    print("\nobservers" if registry().observers else "\nno observers")
    for observer in registry().observers:
        where = f"{getattr(observer.call, '__module__', '')}:{getattr(observer.call, '__qualname__', observer.call)}"
        print(f"  {f'{observer.name} ({observer.event})':25s} {where}")
    print("\ncompiled libraries")
    for kind in ("cpu", "cuda", "xla"):
        print(f"  {kind:25s} {library.status(kind)}")
    packages = {getattr(cls, "library", library.OWN) for cls in equations().values()}
    for package in sorted(packages - {library.OWN}):
        for kind in ("cpu", "cuda"):
            print(f"  {f'{kind} of {package}':25s} {library.status(kind, package)}")
    return 0
