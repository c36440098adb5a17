"""Calls that run at once, each in a thread of its own."""

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

POLL = 0.1
"""Seconds between two looks of a waiting thread, which hears Ctrl-C only between them."""


class _Call(threading.Thread):
    """A thread that keeps the result or the error of its call."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__(name="sweep")
        self.ended, self.result, self.error = threading.Event(), None, None  # type: Any, Any, BaseException | None
        self._call = call

    def run(self) -> None:
        try:
            self.result = self._call()
        except BaseException as error:
            self.error = error
        finally:
            self.ended.set()

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the call; compiled code that runs there is cancelled."""
        if self.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident), ctypes.py_object(KeyboardInterrupt))


def run_in_threads(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run calls at once; return their results in the order of the calls.

    The function returns after all calls have ended, and raises the error of the first call that failed. An exception in
    this thread meanwhile, such as KeyboardInterrupt, interrupts the calls.
    """
    threads = [_Call(call) for call in calls]
    failure: BaseException | None = None
    for thread in threads:
        thread.start()
    for thread in threads:
        # Not Thread.join: interrupted before Python 3.13, it takes the thread for ended.
        while True:
            try:
                if thread.ended.wait(POLL):
                    break
            except BaseException as error:
                failure = error
                for each in threads:
                    each.interrupt()
    try:
        for thread in threads:
            failure = failure or thread.error
        if failure is not None:
            raise failure
        return [thread.result for thread in threads]
    finally:
        del failure  # an exception holds its frames, and this one
