"""A process that draws figures while the caller computes."""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Queue
from typing import Any, BinaryIO

WAITING = 8
"""Largest number of figures that wait to be drawn; the next call waits."""
NICENESS = 10
"""The process yields the processors to the computation."""


class FigureProcess:
    """A process that draws figures one after the other, while the caller computes.

    The process starts with the first figure. It also completes its figures if the caller is killed. The caller waits if
    8 figures wait to be drawn.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def draw(self, path: str | os.PathLike[str], plot: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        """Draw a figure into a file, completely or not at all, and return before it is drawn.

        Parameters
        ----------
        path : path-like
            The file, whose suffix names the format.
        plot : callable
            A function of a module that returns a figure of matplotlib, such as :func:`sweep_core.plot.plot_epoch`.
        *arguments, **options
            Arguments of `plot`. They are pickled, so later changes of arrays have no effect.

        Raises
        ------
        Exception
            The error of an earlier figure, after which the process draws no more.
        """
        request = pickle.dumps((Path(path), plot, arguments, options))
        process = self._process or self._start()
        assert process.stdin
        try:
            pickle.dump(request, process.stdin)  # as bytes, which the process reads without an import
            process.stdin.flush()
        except BrokenPipeError:
            self.close()

    def close(self) -> None:
        """Wait until all figures are drawn, and end the process.

        Raises
        ------
        Exception
            The error of a figure.
        """
        process, self._process = self._process, None
        if process:
            answer, _ = process.communicate()
            if answer:
                raise pickle.loads(answer)
            if process.returncode:
                raise RuntimeError(f"the process that draws figures ended with status {process.returncode}")

    def _start(self) -> subprocess.Popen[bytes]:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        # A session of its own: Ctrl-C does not reach it, and it ends when the pipe of its caller closes.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", f"from {__name__} import main; main()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True, env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        return self._process


def _receive(stream: BinaryIO, requests: Queue[bytes | None]) -> None:
    """Put the requests of a stream into a queue, and None at its end."""
    try:
        while True:
            requests.put(pickle.load(stream))
    except (EOFError, pickle.UnpicklingError):  # the caller has ended, perhaps in the middle of a request
        requests.put(None)


def _picklable(error: Exception) -> Exception:
    """Return an error that the caller can load."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def main() -> None:
    """Draw the figures that standard input requests; the first error goes to standard output, pickled."""
    os.nice(NICENESS)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever matplotlib prints is no answer
    requests: Queue[bytes | None] = Queue(WAITING)
    threading.Thread(target=_receive, args=(sys.stdin.buffer, requests), daemon=True).start()
    try:
        while (request := requests.get()) is not None:
            from .canvas import save

            path, plot, arguments, options = pickle.loads(request)
            save(plot(*arguments, **options), path)
    except Exception as error:
        with answers:
            pickle.dump(_picklable(error), answers)
