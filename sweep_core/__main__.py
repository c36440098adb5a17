"""``python -m sweep_core``: what is installed, what is not, and why."""

from .command.info import run

if __name__ == "__main__":
    run()
