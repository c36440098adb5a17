"""Signals of schedulers: SIGUSR1 requests a checkpoint, and SIGTERM ends a run after one."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from .journal import Journal


class Terminated(KeyboardInterrupt):
    """SIGTERM, which stops a run as Ctrl-C does: compiled code ends within a second and then writes to no buffer."""


@contextmanager
def checkpoint_on_signals(journal: Journal) -> Iterator[None]:
    """Handle SIGUSR1 and SIGTERM in a block, if the run has a folder.

    SIGUSR1, by which SLURM warns of the time limit (``--signal=USR1@300``), requests a checkpoint at the end of the
    current step. SIGTERM stops the current step. However the block ends, it first writes the last step that is
    complete. Handlers that a script installed before stay, and threads that are not the main thread handle no signals.

    Parameters
    ----------
    journal : Journal
        The journal of the run.

    Returns
    -------
    context manager
        It yields None.

    Raises
    ------
    SystemExit
        At the end of the block after SIGTERM, with the status 143.
    """

    def request(number: int, frame: FrameType | None) -> None:
        journal.is_requested = True

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # a second SIGTERM must not stop the checkpoint
        raise Terminated

    own = {signal.SIGUSR1: request, signal.SIGTERM: stop}
    is_main = threading.current_thread() is threading.main_thread()
    free = [number for number in own if journal.folder and is_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in free:
        signal.signal(number, own[number])
    try:
        yield
    except Terminated:
        if not journal.group.rank:
            print(f"ended by SIGTERM; the same call continues the run in {journal.folder}", file=sys.stderr, flush=True)
        raise SystemExit(128 + signal.SIGTERM) from None
    finally:
        journal.write_last()
        for number in free:
            signal.signal(number, signal.SIG_DFL)
