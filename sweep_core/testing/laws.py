"""The laws that an executor keeps, on one case each: functions that return the figure, or raise AssertionError."""

from itertools import product
from unittest import SkipTest

import attrs
import numpy as np

from .._util.arrays import numpy_of
from ..acquisition.shots import Shots
from ..errors import SweepError, UnsupportedError
from ..execution.answers import error, record_error, relative, unequal
from ..execution.reference import ReferenceExecutor
from .cases import INEXACT, STRATEGIES, born_of_cell, reference_born, reference_record

__all__ = [
    "Broken",
    "Figure",
    "bad_input_is_refused",
    "born_equals_reference",
    "everything",
    "fades",
    "forward_equals_reference",
    "gradient_equals_finite_difference",
    "gradient_in_every_region",
    "gradient_in_single_precision",
    "half_the_sum_of_squares",
    "held",
    "jacobian_and_adjoint",
    "known_rows_have_no_gradient",
    "known_rows_scatter_nothing",
    "no_shots",
    "pullback_is_the_gradient",
    "reciprocity",
    "regions",
    "shots_add_up",
    "single_precision",
    "strategies_agree",
    "taylor_remainder",
    "two_runs_are_identical",
    "worst",
]

ROUNDING = 1e-12


@attrs.frozen
class Figure:
    """An error and its bound."""

    value: float
    bound: float


class Broken(AssertionError):
    """A law that does not hold: what was found, and what was expected."""


def held(value: float, bound: float, what: str) -> Figure:
    """The figure, if it is within its bound; NaN is not."""
    if not value <= bound:
        raise Broken(f"{what}: {value:.3g}; expected at most {bound:.3g}")
    return Figure(float(value), bound)


def worst(found, bound: float) -> Figure:
    """The figure of the largest of (value, what); NaN is larger than all."""
    value, what = max(found, key=lambda f: np.nan_to_num(f[0], nan=np.inf))
    return held(value, bound, what)


def _same_shape(record, expected):
    if record.shape != expected.shape:
        raise Broken(f"the record has shape {record.shape}; expected {expected.shape}")


def forward_equals_reference(entry, made, bound=ROUNDING) -> Figure:
    """The record equals the reference's, and is zero where receivers are masked."""
    record, expected = entry.forward(made), reference_record(made)
    _same_shape(record, expected)
    if record.dtype != np.float64:
        raise Broken(f"the record is {record.dtype} for models of float64")
    if made.shots.mask is not None and record.swapaxes(1, 2)[~made.shots.mask].any():
        raise Broken("masked receivers record something")
    return held(record_error(record, expected), bound, "largest difference of a field's record, over its maximum")


def born_equals_reference(entry, made, bound=ROUNDING) -> Figure:
    """Born's record is the derivative of the record, by complex step."""
    return held(record_error(entry.born(made), reference_born(made)), bound, "difference of a field, over its maximum")


def single_precision(entry, made) -> Figure:
    """A record of float32, within what the equation states for 2000 steps of at least half the largest stable dt."""
    problem, single = made.problem, made.typed(np.float32)
    if np.max(problem.equation.speed(*made.models)) < 0.5 * problem.largest_speed:
        raise Broken("dt is less than half the largest stable one, for which the bound does not hold")
    record = entry.forward(single)
    if record.dtype != np.float32 and entry.name != "reference":
        raise Broken(f"the record is {record.dtype} for models of float32")
    bound = problem.equation.float32_error
    return held(error(record, reference_record(made)), bound, "error over the record's maximum")


def gradient_in_single_precision(entry, made) -> Figure:
    """A gradient of float32 is that of float64, within the same."""
    y = made.noise()
    double, single = (entry.jacobian_transposed(c, y) for c in (made, made.typed(np.float32)))
    if any(g.dtype != np.float32 for g in single):
        raise Broken(f"gradients are {[str(g.dtype) for g in single]} for models of float32")
    worst = np.max([error(s, d) for s, d in zip(single, double, strict=True)])
    return held(worst, made.problem.equation.float32_error, "error over the gradient's maximum")


def jacobian_and_adjoint(entry, made) -> Figure:
    """<J d, y> = <d, J^T y>."""
    y, directions = made.noise(), made.direction()
    terms = [d * g for d, g in zip(directions, entry.jacobian_transposed(made, y), strict=True)]
    pushed, pulled = float((reference_born(made) * y).sum()), float(sum(t.sum() for t in terms))
    return held(unequal(pushed, pulled, terms), ROUNDING, f"<J d, y> = {pushed:.17g}, <d, J^T y> = {pulled:.17g}")


def pullback_is_the_gradient(entry, made) -> Figure:
    """J^T y by `pullback` is that of `misfit_and_gradient`, and of the arguments as they were when it was called."""
    pullback, y = entry.having(made.problem, "pullback").pullback, made.noise()
    expected = entry.jacobian_transposed(made, y)
    shots = attrs.evolve(made.shots, wavelet=made.shots.wavelet.copy())
    models = [m.copy() for m in made.models]
    record, pull = pullback(made.problem, shots, models)
    at_once = [numpy_of(g).copy() for g in pull(y)]
    for given in (*models, shots.wavelet):
        given *= 1.01
    found = [(record_error(numpy_of(record), entry.forward(made)), "record, error over its maximum")]
    later = [numpy_of(g) for g in pull(y)]
    for when, gradient in (("", at_once), (" after the arguments were written into", later)):
        pairs = zip(made.problem.equation.parameters, gradient, expected, strict=True)
        found += [(error(g, e), f"gradient in {p.name}{when}, error over its maximum") for p, g, e in pairs]
    return worst(found, ROUNDING)


def no_shots(entry, made) -> Figure:
    """Of no shots the record is empty, the misfit zero and so is the gradient; or they are refused by name."""
    misfit_and_gradient = entry.having(made.problem, "misfit_and_gradient").misfit_and_gradient
    executor, none = entry.executor_for(made.problem), attrs.evolve(made, shots=made.shots.take([]))
    expected = made.noise()[:0]
    try:
        record = numpy_of(executor.forward(none.problem, none.shots, none.models))
        misfit, gradient = misfit_and_gradient(none.problem, none.shots, none.models, expected)
    except UnsupportedError as refusal:
        raise SkipTest(f"{entry.name}: {refusal}") from refusal
    if record.shape != expected.shape:
        raise Broken(f"the record of no shots has shape {record.shape}; expected {expected.shape}")
    if [numpy_of(g).shape for g in gradient] != [m.shape for m in made.models]:
        raise Broken(f"gradients have shapes {[numpy_of(g).shape for g in gradient]}; expected those of the models")
    largest = max(abs(float(misfit)), *(float(np.abs(numpy_of(g)).max()) for g in gradient))
    return held(largest, 0, "misfit or gradient of no shots")


def half_the_sum_of_squares(entry, made) -> Figure:
    """The misfit is half the sum of the squared residuals."""
    y = made.noise()
    misfit, _ = entry.misfit_and_gradient(made, entry.forward(made) - y)
    return held(unequal(misfit, 0.5 * float((y**2).sum())), ROUNDING, f"the misfit is {misfit:.17g}; relative error")


def taylor_remainder(entry, made) -> Figure:
    """What is left of the misfit beside its derivative falls with the square of the step."""
    observed = entry.forward(made) - made.noise()
    misfit, gradient = entry.misfit_and_gradient(made, observed)
    slope = sum((d * g).sum() for d, g in zip(made.direction(), gradient, strict=True))
    steps, remainders = 1e-3 * 0.5 ** np.arange(5), []
    for h in steps:
        moved = [m + h * d for m, d in zip(made.models, made.direction(), strict=True)]
        away, _ = entry.misfit_and_gradient(attrs.evolve(made, models=moved), observed)
        remainders.append(abs(away - misfit - h * slope))
    order = np.polyfit(np.log(steps), np.log(remainders), 1)[0]
    return held(abs(order / 2 - 1), 0.05, f"the remainder falls with the power {order:.3f} of the step; error of that")


def regions(made) -> dict[str, tuple[int, ...]]:
    """A cell in the interior, on each face, in each corner, of a source and of a receiver."""
    shape = made.problem.grid.shape
    middle = tuple(n // 2 for n in shape)
    cells = {
        "interior": middle,
        "a source": made.shots.sources[0, 1][::-1],
        "a receiver": made.shots.receivers[1, 3][::-1],
    }
    for axis, n in enumerate(shape):
        for end in (0, n - 1):
            cells[f"face {'zyx'[axis - len(shape)]}{end}"] = (*middle[:axis], end, *middle[axis + 1 :])
    for corner in product(*((0, n - 1) for n in shape)):
        cells[f"corner {corner}"] = corner
    return {name: tuple(int(i) for i in cell) for name, cell in cells.items()}


def gradient_in_every_region(entry, made) -> Figure:
    """The derivative in single cells by complex step; edge cells answer for the PML cells that copy them."""
    y, found = made.noise(), []
    gradient = entry.jacobian_transposed(made, y)
    for region, cell in regions(made).items():
        for i, (g, parameter) in enumerate(zip(gradient, made.problem.equation.parameters, strict=True)):
            expected = (born_of_cell(made, cell, i) * y).sum()
            wrong = relative(g[cell], expected, np.abs(g).mean())
            found.append((wrong, f"derivative in {parameter.name} at {region}, relative error"))
    return worst(found, 1e-11)


def gradient_equals_finite_difference(entry, made) -> Figure:
    """Of what the executor itself computes, without the reference."""
    observed, found = entry.forward(made) - made.noise(), []
    _, gradient = entry.misfit_and_gradient(made, observed)
    for region, cell in regions(made).items():
        for i, (g, parameter) in enumerate(zip(gradient, made.problem.equation.parameters, strict=True)):
            h, values = 1e-4 * abs(made.models[i]).mean(), []
            for step in (h, -h):
                moved = [m.copy() for m in made.models]
                moved[i][cell] += step
                values.append(entry.misfit_and_gradient(attrs.evolve(made, models=moved), observed)[0])
            wrong = relative((values[0] - values[1]) / (2 * h), g[cell], np.abs(g).mean())
            found.append((wrong, f"derivative in {parameter.name} at {region}, relative error"))
    return worst(found, 1e-4)


def strategies_agree(entry, made, strategy) -> Figure:
    """A memory strategy gives the gradient of 'full', a lossless one bit for bit unless a framework orders it anew."""
    y, full = made.noise(), made.remembering("full")
    pairs = zip(*(entry.jacobian_transposed(c, y) for c in (made.remembering(strategy), full)), strict=True)
    bound = max(entry.rounding, INEXACT.get(strategy, 0.0))
    return held(np.max([error(a, b) for a, b in pairs]), bound, f"gradients of {strategy!r} and 'full'")


def known_rows_have_no_gradient(entry, made, strategy="full", row=8) -> Figure:
    """Above MemoryOptions(known_above=row); others have that of a run in which none are known, bit for bit as above."""
    y, found, memory = made.noise(), [], STRATEGIES[strategy]
    known = made.remembering(attrs.evolve(memory, known_above=row))
    for g, whole in zip(*(entry.jacobian_transposed(c, y) for c in (known, made.remembering(memory))), strict=True):
        expected = whole.copy()
        expected[(..., slice(0, row), *(slice(None),) * (made.problem.grid.ndim - 1))] = 0
        found.append(relative(np.abs(g - expected).max(), 0.0, np.abs(whole).max()))
    return held(np.max(found), max(entry.rounding, INEXACT.get(strategy, 0.0)), f"gradient known above row {row}")


def fades(entry, made) -> Figure:
    """Waves of a long run fade: the energy of each shot's record falls from the second third of the run to the last."""
    thirds = np.array_split(entry.forward(made), 3, axis=1)
    power = np.array([(part**2).mean((1, 2)) for part in thirds])  # (3, shots, fields)
    _, second, third = np.sqrt((power / power[0]).mean(-1))
    ratio = np.where(third < 1e-9, 0.0, third / second)  # of rounding
    return held(np.max(ratio), 1.0, "the last third of a shot's record over the second")


def known_rows_scatter_nothing(entry, made, strategy="full", row=8) -> Figure:
    """Born's record with MemoryOptions(known_above=row) is that of a direction which is zero in the known rows."""
    known, direction = made.remembering(attrs.evolve(STRATEGIES[strategy], known_above=row)), made.direction()
    for d in direction:
        d[(..., slice(0, row), *(slice(None),) * (made.problem.grid.ndim - 1))] = 0
    expected = ReferenceExecutor().born(made.problem, made.shots, made.models, direction)
    return held(record_error(entry.born(known), expected), ROUNDING, f"Born known above row {row}, error of a field")


def everything(entry, made) -> list:
    """The record and, where there are any, the gradients."""
    record = entry.forward(made)
    return [record, *entry.jacobian_transposed(made, made.noise())] if entry.differentiates else [record]


def two_runs_are_identical(entry, made) -> Figure:
    """Bit for bit."""
    pairs = zip(everything(entry, made), everything(entry, made), strict=True)
    return held(sum(int((a != b).sum()) for a, b in pairs), 0, "numbers that differ between two runs")


def shots_add_up(entry, made) -> Figure:
    """Records of some shots are those of single runs, and their gradient is the sum of single gradients."""
    y, (record, *together), worst = made.noise(), everything(entry, made), [0.0]
    one_by_one = [0.0 for _ in together]
    for shot in range(len(made.shots.sources)):
        single = attrs.evolve(made, shots=made.shots.take([shot]))
        worst.append(record_error(entry.forward(single), record[[shot]]))
        gradients = entry.jacobian_transposed(single, y[[shot]]) if together else []
        one_by_one = [s + g for s, g in zip(one_by_one, gradients, strict=True)]
    worst += [error(a, b) for a, b in zip(together, one_by_one, strict=True)]
    return held(np.max(worst), 1e-13, "difference between all shots and the sum of single ones")


def reciprocity(entry, made, field) -> Figure:
    """A source and a receiver of one field change places in a rough earth."""
    shape = made.problem.grid.shape
    here, there = (tuple(n * part // 6 for n in shape) for part in (1, 4))
    asked = attrs.evolve(made, arguments=made.arguments | {"source_type": [field], "receiver_type": [field]})
    wavelet, traces = made.shots.wavelet[0, 0], []
    for source, receiver in ((here, there), (there, here)):
        shots = Shots(wavelet, *(np.array([cell[::-1]]) for cell in (source, receiver)))
        traces.append(entry.forward(attrs.evolve(asked, shots=shots)))
    if not traces[0].any():
        raise Broken(f"nothing of {field} arrives")
    return held(error(*traces), ROUNDING, f"traces of {field} that should be equal, difference over maximum")


def bad_input_is_refused(entry, made) -> Figure:
    """By one of SWEEP's errors, whatever is wrong."""
    executor, problem = entry.executor_for(made.problem), made.problem
    shots, models, first = made.shots, made.models, made.models[0]
    n, speed = problem.grid.shape[-1], problem.equation.speed(*models).max()
    dt = 1.02 * problem.dt * problem.largest_speed / speed
    far = attrs.evolve(made, arguments=made.arguments | {"dt": dt}).problem
    wrong: dict[str, tuple] = {
        "a source outside": (problem, attrs.evolve(shots, sources=shots.sources + n), models),
        "a receiver outside": (problem, attrs.evolve(shots, receivers=shots.receivers - n), models),
        "an unstable dt": (far, shots, models),
        "NaN in a model": (problem, shots, [first * np.nan, *models[1:]]),
        "infinity in a model": (problem, shots, [first + np.inf, *models[1:]]),
        "NaN in the wavelet": (problem, attrs.evolve(shots, wavelet=shots.wavelet * np.nan), models),
        "a bare array of models": (problem, shots, first),
        "a model too few": (problem, shots, models[:-1]),
        "a model of another shape": (problem, shots, [first[1:], *models[1:]]),
    }
    if entry.differentiates:  # the reference computes in float64, whatever it is given, and has no gradient
        wrong["models and a wavelet of two types"] = problem, shots, [m.astype(np.float32) for m in models]
        wrong["an observed record of another shape"] = problem, shots, models, made.noise()[:, :1]
    for i, p in enumerate(problem.equation.parameters):
        for bound in (p.low - (abs(p.low) + 1) * p.closed, p.high):
            if np.isfinite(bound):
                changed = [*models[:i], np.full_like(first, bound), *models[i + 1 :]]
                wrong[f"{p.name} = {bound:g}"] = problem, shots, changed
    taken = [what for what, arguments in wrong.items() if not _refuses(executor, *arguments)]
    return held(len(taken), 0, f"input that was not refused by an error of SWEEP: {', '.join(taken) or 'none'}")


def _refuses(executor, *arguments) -> bool:
    """Whether a call, with observed data or without, raises a SweepError."""
    try:
        (executor.forward if len(arguments) == 3 else executor.misfit_and_gradient)(*arguments)
    except SweepError:
        return True
    except Exception:
        return False
    return False
