"""The compiled library on NumPy arrays that stand between guards: nothing may be written beside a buffer."""

import ctypes as c

import numpy as np
import pytest
from laws import case, executors

from sweep_core import NativeError, check_call, native
from sweep_core.acquisition.rows import point_lists
from sweep_core.acquisition.shots import samples_of
from sweep_core.acquisition.sources import signals
from sweep_core.discretization.array_ops import coefficients_of
from sweep_core.execution.call_checks import driving, finished
from sweep_core.native import structs

GUARD = 4096
PATTERN, DIRT = 0xA5, 0xFF
"""What guards hold, and what outputs and scratch hold before a run: NaN, if anybody reads it."""


def cpu_library() -> native.Library:
    """The CPU library; tests are skipped where there is none, unless it was promised."""
    (param,) = executors("torch-c") or [None]
    if param is not None:
        param.values[0].executor_for(case().problem)
    try:
        return native.load("cpu")
    except NativeError as reason:
        pytest.skip(str(reason))


class Guarded:
    """An array with a guard on either side."""

    def __init__(self, shape, dtype, values=None):
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        self.whole = np.full(size + 2 * GUARD, PATTERN, np.uint8)
        inner = self.whole[GUARD : GUARD + size]
        inner[:] = DIRT
        self.array = inner.view(dtype).reshape(shape)
        if values is not None:
            self.array[...] = values

    def intact(self) -> bool:
        return bool((self.whole[:GUARD] == PATTERN).all() and (self.whole[-GUARD:] == PATTERN).all())


class Run:
    """One call of the C ABI, whose struct and arrays a test may spoil before it runs.

    `changes` go into the struct before sizes are asked for, such as first, last or chunk.
    """

    def __init__(self, made, gradient=True, threads=1, snapshots=None, **changes):
        self.made, self.problem, self.threads = made, made.problem, threads
        self.shape = check_call(self.problem, made.shots, made.models, snapshots)
        chunk = native.plan_history("cpu", self.problem, self.shape, lambda: 0, slices=False).chunk if gradient else 0
        self.call = native.compiled_call("cpu", self.problem, self.shape, chunk)
        self.library = self.call.library
        self.struct = structs.SweepProblem.from_buffer_copy(self.call.struct)
        for name, value in changes.items():
            setattr(self.struct, name, value)
        self.needs = {operation: self.library.buffers(operation, self.struct) for operation in structs.OPERATIONS}
        self.buffers = {}
        for name, buffer in self.call.named().items():
            opaque = buffer.dtype == "uint8"
            shape = (max(self.bytes_of(name)),) if opaque else buffer.shape
            self.buffers[name] = Guarded(shape, buffer.dtype)
            assert opaque or {self[name].nbytes} == set(self.bytes_of(name)), f"Python and the library differ on {name}"
        self.cells, lists = point_lists(self.problem, self.shape, made.shots, np, self.shape.dtype)
        for name, values in lists.items():
            self[name][...] = values
        self["tables"][:] = native.tables(self.problem)
        self["coefficients"][:], self["wavelet"][:] = self._arrays(made.models, self._driving(made.shots.wavelet))
        self["tangent_coefficients"][:], self["tangent_wavelet"][:] = 0, 0

    def bytes_of(self, name) -> list[int]:
        """What each operation that is handed a buffer needs of it."""
        return [n.bytes for needs in self.needs.values() for n in needs if n.name.decode() == name]

    def _driving(self, wavelet):
        return driving(np, self.problem, samples_of(wavelet, self.shape))

    def _arrays(self, models, samples):
        """What the library takes for models and the samples of a wavelet, real or complex."""
        problem = self.problem
        coefficients = np.stack(coefficients_of(problem, models, self.shape.earths, np, np.real), axis=1)
        return coefficients, signals(problem, self.shape, np, samples, self.cells, coefficients)

    def vary(self, models, wavelet=None):
        """Sets the tangents to those of a direction, by complex step."""
        h, samples = 1e-30j, self._driving(self.made.shots.wavelet)
        moved = [m + h * d for m, d in zip(self.made.models, models, strict=True)]
        made = self._arrays(moved, samples if wavelet is None else samples + h * self._driving(wavelet))
        self["tangent_coefficients"][:], self["tangent_wavelet"][:] = (x.imag / h.imag for x in made)

    def __getitem__(self, name) -> np.ndarray:
        return self.buffers[name].array

    def addresses(self, operation) -> list:
        """(address, bytes) in the order of the library."""
        arrays = [self[need.name.decode()] for need in self.needs[operation]]
        return [(a.ctypes.data, a.nbytes) for a in arrays]

    def run(self, operation, buffers=None, **options):
        """Runs it and looks at the guards."""
        buffers = self.addresses(operation) if buffers is None else buffers
        try:
            self.library.call(operation, self.struct, buffers, **({"threads": self.threads} | options))
        finally:
            touched = [name for name, buffer in self.buffers.items() if not buffer.intact()]
            assert not touched, f"written beside {touched}"

    def record(self, operation) -> np.ndarray:
        """Of ``'forward'`` or ``'born'``, as a user gets it."""
        self.run(operation)
        return finished(np, self.problem, self.shape, self.made.shots.mask, self["record"])

    def forward(self) -> np.ndarray:
        return self.record("forward")

    def seen(self) -> dict:
        """The snapshots of the last forward run, by field."""
        return native.seen_fields(self.problem, self.shape, self["snapshots"])

    def born(self, models, wavelet=None) -> np.ndarray:
        self.vary(models, wavelet)
        return self.record("born")

    def adjoint(self, cotangent) -> tuple[np.ndarray, np.ndarray]:
        """Gradients of (coefficients, wavelet)."""
        self["cotangent"][:] = cotangent
        self.run("adjoint")
        return self["gradient_coefficients"], self["gradient_wavelet"]


def raw_status(run: Run, operation="forward", count=None, **context) -> tuple[int, str]:
    """The status and text of a call that goes past the Python of SWEEP; `context` changes the context's members."""
    buffers = run.addresses(operation)
    array = (structs.SweepBuffer * len(buffers))(*buffers)
    text = c.create_string_buffer(512)
    given = {"bytes": c.sizeof(structs.SweepContext), "threads": 1, "error": c.cast(text, c.c_char_p)}
    made = structs.SweepContext(**(given | {"error_bytes": len(text)} | context))
    number, count = structs.OPERATIONS.index(operation), len(buffers) if count is None else count
    status = run.library.dll.sweep_run(c.byref(run.struct), number, array, count, c.byref(made))
    return status, text.value.decode()
