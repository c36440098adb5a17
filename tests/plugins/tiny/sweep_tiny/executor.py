"""NumPy arrays in, NumPy arrays out; between them the compiled time loop."""

import numpy as np

from sweep_core import Support, check_call, check_record, check_survey, check_values, native
from sweep_core.acquisition.rows import point_lists
from sweep_core.acquisition.shots import samples_of
from sweep_core.acquisition.sources import signals
from sweep_core.discretization.array_ops import coefficients_of, solid_of
from sweep_core.equations.first_order import StaggeredEquation
from sweep_core.execution.call_checks import check_perturbations, driving, finished
from sweep_core.memory import make_strategy
from sweep_core.misfit import check_like_record, least_squares
from sweep_core.numerics.time_dispersion import undisperse


class TinyExecutor:
    """Runs on the CPU what libsweep_cpu holds, in the dtype of the models."""

    name = "tiny"

    def supports(self, problem):
        if isinstance(problem.equation, StaggeredEquation):
            return Support(False, "tiny transposes coefficients cell by cell, and this equation averages between cells")
        remembers = make_strategy(problem.memory)
        if remembers.compiled_refusal:
            return Support(False, remembers.compiled_refusal)
        return native.supports(problem.equation, problem.grid.ndim, "cpu", strips=remembers.strips)

    def forward(self, problem, shots, models):
        return Run(problem, shots, models, gradient=False).record("forward")

    def misfit_and_gradient(self, problem, shots, models, observed):
        record, pull = self.pullback(problem, shots, models)
        misfit, residual = least_squares(record, observed)
        return misfit, pull(residual)

    def pullback(self, problem, shots, models):
        run = Run(problem, shots, models, gradient=True)
        record = run.record("forward").copy()

        def pull(cotangent):
            check_like_record("the cotangent", cotangent, record)
            return run.gradient(cotangent)

        return record, pull

    def born(self, problem, shots, models, perturbations):
        check_perturbations(problem, models, perturbations, shots.wavelet, None)
        run = Run(problem, shots, models, gradient=False)
        run.buffers["tangent_coefficients"][:], run.buffers["tangent_wavelet"][:] = run.tangents(perturbations)
        return run.record("born")


class Run:
    """One checked call and its buffers; with `gradient` the forward run leaves the history that the adjoint reads."""

    def __init__(self, problem, shots, models, gradient):
        self.shape = check_call(problem, shots, models)
        check_survey(problem, shots)
        check_values(problem, models, samples_of(shots.wavelet, self.shape))
        self.problem, self.shots, self.models = problem, shots, list(models)
        chunk = native.plan_history("cpu", problem, self.shape, slices=False).chunk if gradient else 0
        self.call = native.compiled_call("cpu", problem, self.shape, chunk)
        solid = solid_of(problem, models, np, np.real)
        self.cells, lists = point_lists(problem, self.shape, shots, np, self.shape.dtype, solid)
        self.buffers = {name: np.empty(b.shape, b.dtype) for name, b in self.call.named().items()}
        self.buffers["coefficients"][:], self.buffers["wavelet"][:] = self.inputs(models)
        for name, values in (lists | {"tables": native.tables(problem)}).items():
            self.buffers[name][...] = values
        if gradient:  # of what is given now, whatever is written into it before `gradient` is asked
            units = np.eye(len(models))
            self.slopes = [self.tangents(unit) for unit in units]
            self.mask = None if shots.mask is None else np.array(shots.mask)

    def inputs(self, models):
        """(coefficients, wavelet) as the library takes them; of complex models too."""
        coefficients = np.stack(coefficients_of(self.problem, models, self.shape.earths, np, np.real), axis=1)
        samples = driving(np, self.problem, samples_of(self.shots.wavelet, self.shape))
        return coefficients, signals(self.problem, self.shape, np, samples, self.cells, coefficients)

    def tangents(self, perturbations, h=1e-20):
        """The derivative of `inputs` in a direction of the models, by complex step."""
        pairs = zip(self.models, perturbations, strict=True)
        return [x.imag / h for x in self.inputs([m + 1j * h * d for m, d in pairs])]

    def record(self, operation):
        """The record of "forward", or its derivative, "born"."""
        self._run(operation)
        record = finished(np, self.problem, self.shape, self.shots.mask, self.buffers["record"])
        check_record(self.problem, record)
        return record

    def gradient(self, cotangent):
        """The derivative in each model of what `cotangent` is the derivative of in the record."""
        if self.mask is not None:
            cotangent = np.where(self.mask[:, None, :, None], cotangent, 0)
        if self.problem.time_dispersion == "corrected":  # the map of a record, transposed as the matrix that it is
            matrix = undisperse(np, np.eye(self.shape.steps, dtype=cotangent.dtype))
            cotangent = np.einsum("jk,skrf->sjrf", matrix[:, : cotangent.shape[1]], cotangent)
        self.buffers["cotangent"][:] = cotangent
        self._run("adjoint")
        return [self._in_model(i) for i in range(len(self.models))]

    def _in_model(self, i):
        """The transpose of `tangents` for one model: but for `extend`, each cell of the earth is by itself there."""
        coefficients, wavelet = self.slopes[i]
        cells = (self.buffers["gradient_coefficients"] * coefficients).sum(axis=1)
        if self.problem.source_scaling == "increment":  # the wavelet depends on the earth at the sources
            earths, signals = self.shape.earths, (self.buffers["gradient_wavelet"] * wavelet).sum(axis=1)
            rows = np.arange(earths)[:, None] if earths > 1 else 0
            np.add.at(cells.reshape(earths, -1), (rows, self.cells[0].reshape(signals.shape)), signals)
        return fold(self.problem, cells).reshape(-1, *self.models[i].shape).sum(axis=0)

    def _run(self, operation):
        arrays = [self.buffers[b.name] for b in self.call.buffers[operation]]
        buffers = [(x.ctypes.data, x.nbytes) for x in arrays]
        self.call.run(operation, buffers, threads=native.thread_count())


def fold(problem, padded):
    """The transpose of extend: an edge cell receives the sum over itself and the PML cells that copy it."""
    for axis, (low, _) in enumerate(problem.pml):
        first_of_each = np.r_[0, low + 1 : low + problem.grid.shape[axis]]
        padded = np.add.reduceat(padded, first_of_each, axis=axis - problem.grid.ndim)
    return padded
