"""``seismic-sweep cache``: the libraries that were compiled on first use."""

import argparse
import time

from ..native import on_demand


def add(commands) -> None:
    parser = commands.add_parser("cache", help="libraries that were compiled on first use")
    parser.add_argument("--clear", action="store_true", help="remove them; the next use compiles again")
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    entries = on_demand.clear() if parsed.clear else on_demand.entries()
    size = sum(entry.size for entry in entries) / 2**20
    for entry in entries:
        order = f"order {entry.order}" if entry.order else "every order"
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
        print(
            f"{entry.equation:28s} {entry.kind:5s} {entry.ndim}-D {entry.dtype:8s} {order:12s}"
            f"{', '.join(entry.operations):24s}"
            f"{entry.size / 2**20:6.1f} MiB  compiled in {entry.seconds:.1f} s, used {used}"
        )
    word = "libraries" if len(entries) != 1 else "library"
    print(f"{'removed ' * parsed.clear}{len(entries)} {word}, {size:.1f} MiB in {on_demand.cache_folder()}")
    return 0
