"""``python -m sweep_core``: what is installed, what is not, and why."""

from . import __version__, backends, equations
from .native import library
from .plugins import registry


def main() -> None:
    print(f"SWEEP {__version__}")
    print("\nbackends")
    for status in backends():
        devices = f" ({', '.join(status.record.devices)})" if status.record else ""
        print(f"  {status.name + devices:24s} {'ready' if status.available else status.reason}")
    print("\nequations")
    loaded = equations()
    for record in registry().equations:
        print(f"  {record.name:24s} {record.target}{'' if record.name in loaded else '   FAILED TO LOAD'}")
    print("\ncompiled libraries")
    for kind in ("cpu", "cuda", "xla"):
        print(f"  {kind:24s} {library.status(kind)}")


if __name__ == "__main__":
    main()
