"""The compiled library on NumPy arrays between guards: a call may not write outside a buffer."""

import ctypes as c

import numpy as np
import pytest
from laws import case, executors

from sweep_core import NativeError, check_call, native
from sweep_core.acquisition.receivers import finalise_record
from sweep_core.native import structs
from sweep_core.native.prepare import model_buffers, survey_buffers

GUARD = 4096
PATTERN, DIRT = 0xA5, 0xFF
"""Bytes of guards, and of outputs and scratch before a run (NaN as floating-point values)."""


def cpu_library() -> native.Library:
    """Return the CPU library; without it skip the test, or fail if SWEEP_REQUIRE_NATIVE is set."""
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
    """One call of the C ABI; a test may change its struct and arrays before the call.

    `changes`, such as first, last or chunk, enter the struct before the library computes sizes.
    """

    def __init__(self, example, gradient=True, threads=1, snapshots=None, **changes):
        self.example, self.problem, self.threads = example, example.problem, threads
        self.shape = check_call(self.problem, example.shots, example.models, snapshots)
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
        self.cells, fixed = survey_buffers(self.problem, self.shape, example.shots)
        for name, values in (fixed | self._inputs(example.shots.wavelet, example.models)).items():
            self[name][...] = values
        self["tangent_coefficients"][:], self["tangent_wavelet"][:] = 0, 0

    def bytes_of(self, name) -> list[int]:
        """Return the bytes of a buffer that each operation needs."""
        return [n.bytes for needs in self.needs.values() for n in needs if n.name.decode() == name]

    def _inputs(self, wavelet, models):
        """Return the buffers of a wavelet and of models, real or complex."""
        return model_buffers(self.problem, self.shape, self.cells, wavelet, models)

    def vary(self, models, wavelet=None):
        """Set the tangents of a direction: by complex step in the models, linearly in the wavelet."""
        h = 1e-30j
        moved = [m + h * d for m, d in zip(self.example.models, models, strict=True)]
        for name, values in self._inputs(self.example.shots.wavelet, moved).items():
            self[f"tangent_{name}"][:] = values.imag / h.imag
        if wavelet is not None:
            self["tangent_wavelet"][:] += self._inputs(wavelet, self.example.models)["wavelet"]

    def __getitem__(self, name) -> np.ndarray:
        return self.buffers[name].array

    def addresses(self, operation) -> list:
        """Return (address, bytes) of each buffer, in the order of the library."""
        arrays = [self[need.name.decode()] for need in self.needs[operation]]
        return [(a.ctypes.data, a.nbytes) for a in arrays]

    def run(self, operation, buffers=None, **options):
        """Run an operation and check the guards."""
        buffers = self.addresses(operation) if buffers is None else buffers
        try:
            library = self.call.library_of(operation)
            library.call(operation, self.struct, buffers, **({"threads": self.threads} | options))
        finally:
            touched = [name for name, buffer in self.buffers.items() if not buffer.intact()]
            assert not touched, f"the call wrote outside {touched}"

    def record(self, operation) -> np.ndarray:
        """Return the record of ``'forward'`` or ``'born'`` in the form for users."""
        self.run(operation)
        return finalise_record(np, self.problem, self.shape, self.example.shots.mask, self["record"])

    def forward(self) -> np.ndarray:
        return self.record("forward")

    def event(self) -> dict:
        """Return the snapshots of the last forward run, by field."""
        return native.snapshots_of(self.problem, self.shape, self["snapshots"])

    def born(self, models, wavelet=None) -> np.ndarray:
        self.vary(models, wavelet)
        return self.record("born")

    def adjoint(self, cotangent) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradients in (coefficients, wavelet)."""
        self["cotangent"][:] = cotangent
        self.run("adjoint")
        return self["gradient_coefficients"], self["gradient_wavelet"]


def raw_status(run: Run, operation="forward", count=None, **context) -> tuple[int, str]:
    """Return status and text of a direct call of the library; `context` changes members of the context."""
    buffers = run.addresses(operation)
    array = (structs.SweepBuffer * len(buffers))(*buffers)
    text = c.create_string_buffer(512)
    arguments = {"bytes": c.sizeof(structs.SweepContext), "threads": 1, "error": c.cast(text, c.c_char_p)}
    result = structs.SweepContext(**(arguments | {"error_bytes": len(text)} | context))
    number, count = structs.OPERATIONS.index(operation), len(buffers) if count is None else count
    status = run.library.dll.sweep_run(c.byref(run.struct), number, array, count, c.byref(result))
    return status, text.value.decode()
