"""``python -m sweep_core``: what is installed, what is not, and why."""

from .command import main

if __name__ == "__main__":
    main(["info"])
