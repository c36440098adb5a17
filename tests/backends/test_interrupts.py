"""Ctrl-C while compiled code computes: the run stops within a second and then writes to no buffer."""

import gc
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import pytest
from laws import case, executors

from sweep_core.native import structs
from sweep_core.native.library import interruptible

BEGIN = """
    import signal, time
    import numpy as np
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore SIGINT
    from sweep_core import Acoustic
    receivers = np.stack([np.arange(1200) % 700, 3 + np.arange(1200) // 700], 1)

    def interrupted(long):
        print("long", flush=True)
        try:
            long()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        else:
            print("ended", flush=True)
"""
TORCH = """
    import torch
    from sweep_torch import PropTorch
    prop = PropTorch(Acoustic(4), (700, 700), 10.0, 1e-3, impl="c")
    model = torch.full((700, 700), 2000.0, requires_grad=True)

    def record(nt):
        return prop(torch.ones(nt), torch.tensor([[350, 5]]), torch.tensor(receivers), models=[model])

    def gradient(nt):
        return torch.autograd.grad(record(nt).sum(), model)[0]

    def backward():
        misfit = record(10_000).sum()  # of 48 MB
        return lambda: torch.autograd.grad(misfit, model)

    expected = gradient(40)
    for long in (lambda: record(10_000), backward(), lambda: record(10_000), backward()):
        interrupted(long)
        fresh = [torch.full((1 << 20,), float(i)) for i in range(40)]  # reuse the memory of the call's buffers
        again = gradient(40)
        time.sleep(0.2)
        assert all(bool((x == i).all()) for i, x in enumerate(fresh)), "a kernel wrote into memory of others"
        assert torch.equal(gradient(40), expected) and torch.equal(again, expected)
    print("right", flush=True)
"""
JAX = """
    import jax, jax.numpy as jnp
    from sweep_jax import PropJax
    prop = PropJax(Acoustic(4), (700, 700), 10.0, 1e-3, impl="c")
    model = jnp.full((700, 700), 2000.0, "float32")

    def record(model, nt):
        return prop(np.ones(nt, "float32"), np.array([[350, 5]]), receivers, models=[model])

    def gradient(nt):
        return jax.grad(lambda m: record(m, nt).sum())(model)

    expected = np.asarray(gradient(40))
    for long in (lambda: np.asarray(record(model, 10_000)), lambda: np.asarray(gradient(3_000))):
        interrupted(long)
        fresh = [np.full(1 << 20, i, "float32") for i in range(40)]
        again = np.asarray(gradient(40))
        assert all((x == i).all() for i, x in enumerate(fresh)), "a kernel wrote into memory of others"
        assert (again == expected).all()
    print("right", flush=True)
"""


def press(body: str, within: float | None):
    """Run `body` and send SIGINT into each of its long calls; each must stop `within` so many seconds."""
    code = textwrap.dedent(BEGIN) + textwrap.dedent(body)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stdout:
                if line == "right\n":
                    break
                assert line == "long\n"
                time.sleep(0.7)
                process.send_signal(signal.SIGINT)
                start = time.perf_counter()
                answer = process.stdout.readline()
                if within is not None:
                    assert answer == "interrupted\n" and time.perf_counter() - start < within
                assert answer in ("interrupted\n", "ended\n")
            else:
                raise AssertionError(f"the process ended with status {process.wait()} before its calls were right")
            assert process.wait(30) == 0
        finally:
            process.kill()


@pytest.mark.parametrize("entry", executors("torch-c"))
def test_ctrl_c_stops_torch_and_corrupts_no_memory(entry):
    """Four runs are interrupted, forward and backward; new arrays then reuse the memory of their buffers."""
    entry.executor_for(case().problem)
    press(TORCH, within=1.0)


@pytest.mark.parametrize("entry", executors("jax-c"))
def test_ctrl_c_during_a_run_of_jax_corrupts_no_memory(entry):
    """XLA handles the signal when the call has ended."""
    entry.executor_for(case().problem)
    press(JAX, within=None)


def test_an_interrupt_waits_for_the_call_and_raises_its_own_exception():
    class Stop(Exception):
        """The exception of a signal handler."""

    def handler(*_):
        raise Stop

    control, events = structs.SweepControl(), []

    def call():
        for _ in range(2):  # two presses
            time.sleep(0.05)
            signal.raise_signal(signal.SIGUSR1)
        while not control.cancel:
            time.sleep(0.01)
        time.sleep(0.3)
        events.append("ended")
        raise KeyboardInterrupt  # as a cancelled call does

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(Stop):
            interruptible(call, control)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert events == ["ended"]


@pytest.mark.parametrize("wrong", [KeyboardInterrupt, ZeroDivisionError, None])
def test_buffers_are_freed_with_the_exception(wrong):
    """They do not wait for the garbage collector: a history may be half of the memory."""

    class Buffers:
        pass

    def call():
        if wrong is KeyboardInterrupt:
            signal.raise_signal(signal.SIGUSR1)
        time.sleep(0.3)
        if wrong:
            raise wrong

    def handler(*_):
        raise KeyboardInterrupt

    buffers = Buffers()
    alive, before = weakref.ref(buffers), signal.signal(signal.SIGUSR1, handler)
    gc.disable()
    try:
        interruptible(call, structs.SweepControl(), buffers)
    except (KeyboardInterrupt, ZeroDivisionError):
        pass
    finally:
        signal.signal(signal.SIGUSR1, before)
        del buffers
        time.sleep(0.1)  # the thread ends
        left = alive()
        gc.enable()
    assert left is None


def test_an_exception_of_the_call_is_raised():
    def call():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interruptible(call, structs.SweepControl())


def test_buffers_of_a_call_outlive_an_interrupted_wait(monkeypatch):
    """An exception may strike outside of every `try`: then only the thread holds the buffers."""

    class Buffers:
        alive = True

        def __del__(self):
            Buffers.alive = False

    go, done, entries = threading.Event(), threading.Event(), []

    def call():
        go.wait(10)
        entries.append(Buffers.alive)
        done.set()

    class Struck(Exception):
        pass

    class Thread(threading.Thread):
        ident = None

        def start(self):
            super().start()
            raise Struck

    monkeypatch.setattr("sweep_core.native.library.threading.Thread", Thread)
    with pytest.raises(Struck):
        interruptible(call, structs.SweepControl(), Buffers())
    assert Buffers.alive
    go.set()
    assert done.wait(10) and entries == [True]
