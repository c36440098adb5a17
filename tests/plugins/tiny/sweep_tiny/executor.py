"""NumPy arrays in, NumPy arrays out; between them the compiled time loop."""

import numpy as np

from sweep_core import UnsupportedError, check_call, check_survey, check_values, native
from sweep_core.misfit import least_squares
from sweep_core.ops import extend
from sweep_core.survey import cells_of, samples_of


class TinyExecutor:
    """Runs on the CPU what libsweep_cpu holds, in the dtype of the models."""

    name = "tiny"

    def supports(self, problem):
        return native.supports(problem.equation.name, problem.grid.ndim, "cpu")

    def forward(self, problem, shots, models):
        return Run(problem, shots, models, gradient=False).forward()

    def misfit_and_gradient(self, problem, shots, models, observed):
        run = Run(problem, shots, models, gradient=True)
        misfit, residual = least_squares(run.forward(), observed)
        return misfit, run.gradient(residual)

    def born(self, problem, shots, models, perturbations):
        raise UnsupportedError("backend 'tiny' has no Born modelling; backend 'reference' has it")


class Run:
    """One checked call and its buffers; with `gradient` the forward run leaves the history that the adjoint reads."""

    def __init__(self, problem, shots, models, gradient):
        shape = check_call(problem, shots, models)
        check_survey(problem, shots)
        check_values(problem, models, shots.wavelet)
        self.problem, self.models = problem, models
        self.call = native.compiled_call("cpu", problem, shape, gradient)
        self.buffers = {n: np.empty(s, self.call.dtype(n)) for n, s in self.call.shapes.items()}
        coefficients = problem.equation.coefficients(*models)
        self.buffers["coefficients"][0] = [extend(problem, c, np.concatenate) for c in coefficients]
        samples = np.broadcast_to(samples_of(shots.wavelet), (shape.shots, shape.sources, shape.steps))
        self.buffers["wavelet"][:] = samples.swapaxes(1, 2)
        self.buffers["tables"][:] = problem.tables()
        receivers = shots.receivers if shots.receivers.ndim == 3 else shots.receivers[None]
        self.cells = {
            "sources": cells_of(problem, shots.sources.astype(np.int64), shape.shots),
            "receivers": cells_of(problem, receivers.astype(np.int64), shape.shots),
        }

    def forward(self):
        self._run(native.FORWARD_BUFFERS, inject=self._sorted("sources"), gather=self._by_trace("receivers"))
        return self.buffers["record"].reshape(self.call.shape.record(self.problem))

    def gradient(self, cotangent):
        """The derivative in each model of what `cotangent` is the derivative of in the record."""
        self.buffers["cotangent"][:] = cotangent.reshape(self.buffers["cotangent"].shape)
        sources, receivers = self._sorted("sources"), self._sorted("receivers")
        self._run(native.ADJOINT_BUFFERS, source=sources, inject=receivers, gather=self._by_trace("sources"))
        cells = [fold(self.problem, g) for g in self.buffers["gradient_coefficients"][0]]
        return [self._in_model(i, cells) for i in range(len(self.models))]

    def _in_model(self, i, cells):
        """Chain rule by complex step: coefficients are arithmetic on parameters, cell by cell."""
        h = 1e-20
        stepped = [m + 1j * h if j == i else m + 0j for j, m in enumerate(self.models)]
        coefficients = self.problem.equation.coefficients(*stepped)
        return sum(g * (c.imag / h) for g, c in zip(cells, coefficients, strict=True))

    def _sorted(self, kind):
        return native.inject_list(self.problem, kind, self.cells[kind], np, self.call.shape.dtype)

    def _by_trace(self, kind):
        return native.gather_list(self.problem, kind, self.cells[kind], np, self.call.shape.dtype)

    def _run(self, order, **lists):
        arrays = dict(self.buffers)
        for role, points in lists.items():
            for part, values in zip(("cell", "column", "weight"), points, strict=True):
                arrays[f"{role}_{part}"] = np.ascontiguousarray(values)
        operation = "forward" if order is native.FORWARD_BUFFERS else "adjoint"
        buffers = [(arrays[name].ctypes.data, arrays[name].nbytes) for name in order]
        self.call.run(operation, buffers, threads=native.thread_count())


def fold(problem, padded):
    """The transpose of extend: an edge cell receives the sum over itself and the PML cells that copy it."""
    for axis, (low, _) in enumerate(problem.pml):
        first_of_each = np.r_[0, low + 1 : low + problem.grid.shape[axis]]
        padded = np.add.reduceat(padded, first_of_each, axis=axis)
    return padded
