"""The compiled library on NumPy arrays that stand between guards: nothing may be written beside a buffer."""

import ctypes as c

import numpy as np

from sweep_core import check_call, native
from sweep_core.native import structs
from sweep_core.ops import extend
from sweep_core.survey import cells_of, samples_of

GUARD = 4096
PATTERN, DIRT = 0xA5, 0xFF
"""What guards hold, and what outputs and scratch hold before a run: NaN, if anybody reads it."""


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

    def __init__(self, made, gradient=True, threads=1, **changes):
        problem, shots = made.problem, made.shots
        shape = check_call(problem, shots, made.models)
        self.call = native.compiled_call("cpu", problem, shape, gradient)
        self.library, self.threads = self.call.library, threads
        self.problem, self.shape = problem, shape
        self.struct = structs.SweepProblem.from_buffer_copy(self.call.struct)
        for name, value in changes.items():
            setattr(self.struct, name, value)
        sizes, itemsize = self.library.query(self.struct), np.dtype(shape.dtype).itemsize
        shapes = self.call.shapes | {n: (getattr(sizes, n),) for n in ("history", "checkpoints", "state", "workspace")}
        assert sizes.tables == itemsize * len(problem.tables())
        self.buffers = {name: Guarded(s, self.call.dtype(name)) for name, s in shapes.items()}
        coefficients = problem.equation.coefficients(*made.models)
        self["coefficients"][0] = [extend(problem, x, np.concatenate) for x in coefficients]
        wavelet = np.broadcast_to(samples_of(shots.wavelet), (shape.shots, shape.sources, shape.steps))
        self["wavelet"][:] = wavelet.swapaxes(1, 2)
        self["tables"][:] = problem.tables()
        self._lists(shots)

    def _lists(self, shots):
        receivers = shots.receivers if shots.receivers.ndim == 3 else shots.receivers[None]
        lists = {"sources": shots.sources, "receivers": receivers}
        cells = {k: cells_of(self.problem, p.astype(np.int64), self.shape.shots) for k, p in lists.items()}
        for name, make, kind in (
            ("forward inject", native.inject_list, "sources"),
            ("forward gather", native.gather_list, "receivers"),
            ("adjoint source", native.inject_list, "sources"),
            ("adjoint inject", native.inject_list, "receivers"),
            ("adjoint gather", native.gather_list, "sources"),
        ):
            points = make(self.problem, kind, cells[kind], np, self.shape.dtype)
            for part, values in zip(("cell", "column", "weight"), points, strict=True):
                self.buffers[f"{name}_{part}"] = Guarded(values.shape, values.dtype, values)

    def __getitem__(self, name) -> np.ndarray:
        return self._find("", name).array

    def _find(self, operation, name) -> Guarded:
        return self.buffers.get(f"{operation} {name}") or self.buffers[name]

    def addresses(self, operation) -> list:
        """(address, bytes) in the order of the header."""
        names = native.FORWARD_BUFFERS if operation == "forward" else native.ADJOINT_BUFFERS
        arrays = [self._find(operation, name).array for name in names]
        return [(a.ctypes.data, a.nbytes) for a in arrays]

    def run(self, operation, buffers=None, **options):
        """Runs it and looks at the guards."""
        buffers = self.addresses(operation) if buffers is None else buffers
        try:
            self.library.call(operation, self.struct, buffers, **({"threads": self.threads} | options))
        finally:
            touched = [name for name, buffer in self.buffers.items() if not buffer.intact()]
            assert not touched, f"written beside {touched}"

    def forward(self) -> np.ndarray:
        self.run("forward")
        return self["record"].reshape(self.shape.record(self.problem))

    def adjoint(self, cotangent) -> tuple[np.ndarray, np.ndarray]:
        """Gradients of (coefficients, wavelet)."""
        self["cotangent"][:] = cotangent.reshape(self["cotangent"].shape)
        self.run("adjoint")
        return self["gradient_coefficients"], self["gradient_wavelet"]


def raw_status(run: Run, operation="forward", count=None, **context) -> tuple[int, str]:
    """The status and text of a call that goes past the Python of SWEEP; `context` changes the context's members."""
    buffers = run.addresses(operation)
    array = (structs.SweepBuffer * len(buffers))(*buffers)
    text = c.create_string_buffer(512)
    given = {"bytes": c.sizeof(structs.SweepContext), "threads": 1, "error": c.cast(text, c.c_char_p)}
    made = structs.SweepContext(**(given | {"error_bytes": len(text)} | context))
    function = getattr(run.library.dll, f"sweep_{operation}")
    status = function(c.byref(run.struct), array, len(buffers) if count is None else count, c.byref(made))
    return status, text.value.decode()
