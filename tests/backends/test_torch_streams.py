"""Streams and threads of a call on a GPU, with stand-ins for torch.cuda on every machine."""

import contextlib
import threading
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
from sweep_core.memory import NO_HISTORY  # noqa: E402
from sweep_core.native.call import LONG_CALL, Buffer, CompiledCall  # noqa: E402
from sweep_core.native.structs import OPERATIONS  # noqa: E402
from sweep_torch.operators import Task  # noqa: E402


class Cached:
    """A stand-in for a GPU tensor in a call."""

    nbytes, is_cuda = 4, True

    def __init__(self):
        self.streams = []

    def data_ptr(self):
        return id(self)

    def record_stream(self, stream):
        self.streams.append(stream)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_long_call_is_queued_by_its_caller_and_keeps_cached_arrays(monkeypatch, operation):
    """The current card of a helper thread is always the first one. Cached arrays belong to another stream;
    their memory returns to it as soon as they are dropped."""
    calls = []

    def call(name, struct, buffers, threads, stream, control):
        calls.append((name, stream, threading.current_thread()))

    library = SimpleNamespace(kind="cuda", call=call)
    stream, device = SimpleNamespace(cuda_stream=0), torch.device("cuda", 1)
    within = []
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: stream)
    monkeypatch.setattr(torch.cuda, "device", lambda d: contextlib.nullcontext(within.append(d)))
    monkeypatch.setattr(Task, "empty", lambda self, name: Cached())
    cached, cells = {name: Cached() for name in ("tables", "wavelet")}, [Cached(), Cached()]
    buffers = *(Buffer(name, (1,), "float32", "in") for name in cached), Buffer("record", (1,), "float32", "out")
    monkeypatch.setattr(CompiledCall, "library_of", lambda self, operation: self.library)
    compiled = CompiledCall(library, None, None, None, {operation: buffers}, int(10 * LONG_CALL))
    plan = SimpleNamespace(history=NO_HISTORY, whole=lambda: compiled)
    Task(plan, cells, device, cached).run(operation)
    assert calls == [(operation, 0, threading.current_thread())] and within == [device]
    assert all(x.streams == [stream] for x in (*cells, *cached.values()))
