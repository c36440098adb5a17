"""A solver of a framework as functions of models and wavelet, for tests of derivatives."""

from laws import case


class Setting:
    """A solver and its operators as functions of models and wavelet. A subclass has the attributes below and `jvp`."""

    solver_class = None
    """PropTorch or PropJax."""
    framework = None
    """The module of the framework with the function `stack`."""
    array = None
    """The function that copies a NumPy array to the framework."""

    def __init__(self, entry, example=None):
        self.example = example = example or case()
        self.solver = self.solver_class(**example.arguments, impl=entry.executor_for(example.problem).impl)
        self.survey = {name: getattr(example.shots, name) for name in ("sources", "receivers")}
        self.survey |= {"receiver_mask": example.shots.mask}
        self.vp, self.dvp = self.array(example.models[0]), self.array(example.direction()[0])
        self.wavelet, self.weights = self.array(example.shots.wavelet), self.array(example.noise())

    def record(self, vp, wavelet=None):
        return self.solver(self.wavelet if wavelet is None else wavelet, **self.survey, models=[vp])

    def born(self, dvp, vp=None, **more):
        models = [self.vp if vp is None else vp]
        return self.solver.born(self.wavelet, **self.survey, perturbations=[dvp], models=models, **more)

    def misfit(self, vp):
        return 0.5 * (self.record(vp) ** 2).sum()

    def weighted(self, vp):
        return (self.record(vp) * self.weights).sum()

    @property
    def two(self):
        return self.framework.stack([2 * self.dvp, self.dvp])
