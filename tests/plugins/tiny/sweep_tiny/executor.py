"""An executor for NumPy arrays that runs the compiled time loop."""

from sweep_core import NumpyRun, check_arrays, check_like_record, check_record, compiled_support, least_squares


class TinyExecutor:
    """Executor of the equations in libsweep_cpu, in the dtype of the models."""

    name = "tiny"

    def supports(self, problem):
        return compiled_support(problem, "cpu")

    def forward(self, problem, shots, models):
        run = NumpyRun(problem, check_arrays(problem, shots, models), shots, models)
        return self._checked(problem, run.forward())

    def misfit_and_gradient(self, problem, shots, models, observed):
        record, pull = self.pullback(problem, shots, models)
        misfit, residual = least_squares(record, observed)
        return misfit, pull(residual)

    def pullback(self, problem, shots, models):
        run = NumpyRun(problem, check_arrays(problem, shots, models), shots, models, gradient=True)
        record = self._checked(problem, run.forward())

        def pull(cotangent):
            check_like_record("the cotangent", cotangent, record)
            return run.gradient(cotangent)

        return record, pull

    def born(self, problem, shots, models, perturbations):
        run = NumpyRun(problem, check_arrays(problem, shots, models, perturbations), shots, models)
        return self._checked(problem, run.born(perturbations))

    @staticmethod
    def _checked(problem, record):
        check_record(problem, record)
        return record
