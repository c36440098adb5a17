"""Low frequencies on a coarser grid: exact derivatives, and results close to those of the finer grid."""

from functools import partial

import attrs
import numpy as np
import pytest
from inverting import DH, DT, NT, SHAPE, call, earth, observed, solver, survey
from scipy.ndimage import gaussian_filter

from sweep_core import (
    Acoustic,
    AcousticVariableDensity,
    DomainError,
    MemoryOptions,
    OptionError,
    SerialDistributor,
    Shots,
    UnsupportedError,
    backend,
    make_problem,
    ricker,
)
from sweep_core.inversion import Coarse, Objective, Stage, illumination
from sweep_core.inversion.coarse import averages, coarser, interpolation, on_coarser_grid
from sweep_core.processing import bandpass

torch = pytest.importorskip("torch")
from sweep_torch import PropTorch  # noqa: E402

EXECUTORS = ("torch", "jax", "reference")


def objective(executor="torch", equation=None, shots=None, models=None, high=5.0, shape=SHAPE, factor=0, **options):
    """Return a solver, on the coarse grid if there is a factor."""
    executor = backend(executor)
    problem = make_problem(equation or Acoustic(8), shape, DH, DT, **{"pml_width": 10, **options})
    shots = shots or survey(np.float64)
    aim = np.asarray(executor.forward(problem, shots, models or [earth()[0].astype(np.float64)]))
    return Objective(Coarse(executor, factor) if factor else executor, problem, shots, aim, high=high)


@pytest.mark.parametrize(("cells", "factor"), [(24, 2), (25, 2), (24, 3), (7, 5)])
def test_averages_around_coarse_nodes_keep_lines(cells, factor):
    """Averages keep lines between the edges and constants everywhere. Every cell has a weight."""
    rows = averages(cells, factor)
    assert np.allclose(rows.sum(axis=1), 1) and (rows.sum(axis=0) > 0).all() and len(rows) * factor >= cells
    line = rows @ np.arange(cells)
    inner = slice(1, (cells - factor) // factor)
    assert np.allclose(line[inner], factor * np.arange(len(rows))[inner])


def test_interpolation_in_time_is_accurate():
    """Five samples per period are enough; the samples themselves do not change."""
    coarse, fine = np.arange(100.0), np.arange(15.0, 80.0, 0.37)

    def wave(t):
        return np.sin(2 * np.pi * t / 5 + 0.3)

    assert np.abs(interpolation(fine, 100) @ wave(coarse) - wave(fine)).max() < 1e-4
    assert np.allclose((interpolation(coarse, 100) @ wave(coarse)), wave(coarse), atol=1e-15)


def test_the_record_is_close_to_that_of_the_finer_grid():
    """The records agree in the band of the misfit, but not above it or near a source."""
    fine, coarse = objective(), objective(factor=2)
    model = [earth()[0].astype(np.float64)]
    coarse_record, fine_record = (each.apply_filter(each.record(model)) for each in (coarse, fine))
    assert coarse_record.shape == fine_record.shape and np.linalg.norm(
        coarse_record - fine_record
    ) < 0.06 * np.linalg.norm(fine_record), "measured 0.041"
    silent = coarse.record([np.full(SHAPE, 1500.0)])
    assert not np.array_equal(silent, coarse.record(model))


CASES = {
    "acoustic": {},
    "by three": {"factor": 3},
    "free surface": {"free_surface": True},
    "an earth of a few cells": {"shape": (17, 18)},
    "two source fields": {
        "equation": AcousticVariableDensity(4), "source_type": ["p", "vz"], "receiver_type": ["p", "vx"],
    },
}  # fmt: skip


@pytest.mark.parametrize("executor", EXECUTORS[:2])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_gradient_equals_finite_differences_on_the_coarse_grid(case, executor):
    """Central differences along a direction over all cells, edges included."""
    case = {"equation": Acoustic(4), "factor": 2, **case}
    equation, shape = case["equation"], case.setdefault("shape", SHAPE)
    shots = attrs.evolve(survey(np.float64), sources=np.array([[4.0, 4.5], [10.5, 5.0], [12.0, 4.25]]))
    shots = attrs.evolve(shots, receivers=np.array([[3.0, 6.0], [9.5, 6.25], [14.0, 7.0]]))
    if len(case.get("source_type", [1])) == 2:
        shots = attrs.evolve(shots, wavelet=np.stack([shots.wavelet, 1e6 * shots.wavelet], -1))
    rng = np.random.default_rng(3)
    means = {"vp": 1800.0, "rho": 1500.0}
    full, models, directions = (
        [means[p.name] * (1 + size * rng.normal(size=shape)) for p in equation.parameters] for size in (0.02, 0.02, 1)
    )
    coarse = objective(executor, shots=shots, models=full, high=6.0, **case)
    _, slopes = coarse(models)
    sides = [
        coarse([m + sign * 1e-6 * direction for m, direction in zip(models, directions, strict=True)])[0]
        for sign in (1, -1)
    ]
    result = sum((g * direction).sum() for g, direction in zip(slopes, directions, strict=True))
    assert result == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-5)


def test_plain_least_squares_equals_the_pullback():
    """Without a filter an Objective calls misfit_and_gradient of the executor."""
    coarse = attrs.evolve(objective(factor=2), high=None)
    record, pull = coarse.executor.pullback(coarse.problem, coarse.shots, [earth()[1].astype(np.float64)])
    residual = record - coarse.observed
    misfit, (slope,) = coarse([earth()[1].astype(np.float64)])
    assert misfit == pytest.approx(0.5 * (residual**2).sum()) and np.allclose(slope, pull(residual)[0])


def test_fields_at_half_steps_have_no_delay_on_the_coarse_grid():
    """vx of variable density is sampled at (k + 1/2) dt, and on the coarse grid at (k + 1/2) 2 dt."""
    equation, executor = AcousticVariableDensity(4), backend("torch")
    problem = make_problem(equation, (40, 40), DH, DT, receiver_type=["p", "vx"], pml_width=20)
    shots = Shots(ricker(6.0, NT, DT), np.array([[10, 20]]), np.array([[25.0, 22.0], [30.0, 20.0]]))
    model = [np.full((40, 40), 1800.0), np.full((40, 40), 1500.0)]
    coarse_record, fine_record = (
        bandpass(np.asarray(e.forward(problem, shots, model)), DT, None, 5.0) for e in (Coarse(executor, 2), executor)
    )
    for field in range(2):
        correlations = [
            np.vdot(np.roll(coarse_record, k, axis=1)[..., field], fine_record[..., field]) for k in (-1, 0, 1)
        ]
        delay = (correlations[2] - correlations[0]) / (
            2 * (2 * correlations[1] - correlations[0] - correlations[2])
        )  # vertex of a parabola through three values, in samples
        assert abs(delay) < 0.25, "an error of half a step of the coarse grid would be half a sample"
        assert np.linalg.norm((coarse_record - fine_record)[..., field]) < 0.05 * np.linalg.norm(
            fine_record[..., field]
        ), "measured 0.035"


def test_illumination_has_the_shape_of_the_model():
    model = [earth()[1].astype(np.float64)]
    light, fine = (illumination(objective(factor=factor), model)[0] for factor in (2, 0))
    assert light.shape == SHAPE and np.corrcoef(np.log(light[6:]).ravel(), np.log(fine[6:]).ravel())[0, 1] > 0.8


def test_known_rows_do_not_reduce_the_illumination_below():
    """The means use only cells that have a derivative, and their weights."""
    model, known = [earth()[1].astype(np.float64)], 6
    result = illumination(objective(memory=MemoryOptions(known_above=known)), model)[0]
    free = np.arange(SHAPE[0])[:, None] >= np.full(SHAPE, known)
    lit = free * illumination(objective(), model, smooth=1e-6)[0]
    sums, weights = (gaussian_filter(x.astype(float), 4.0, mode="nearest") for x in (lit, free))
    assert not result[:known].any() and np.allclose(result[known:], (sums / weights)[known:], rtol=1e-9, atol=0)


@pytest.mark.parametrize("known", [4, 5])
def test_known_rows_have_no_derivative_and_other_rows_do(known):
    model = [earth()[1].astype(np.float64)]
    (whole,), (result,) = (objective(factor=3, memory=MemoryOptions(known_above=row))(model)[1] for row in (0, known))
    assert not result[:known].any() and np.array_equal(result[known:], whole[known:])


def test_the_first_residual_equals_that_of_the_finer_grid():
    fine, model = objective(), [earth()[1].astype(np.float64)]
    selection = np.array([0, 2])
    coarse = on_coarser_grid(fine, 2, model, selection)
    assert coarse(model, selection)[0] == pytest.approx(fine(model, selection)[0], rel=1e-9)
    assert np.array_equal(coarse.observed[1], fine.observed[1]) and not np.array_equal(coarse.observed, fine.observed)


def test_every_rank_receives_the_corrected_data_of_all_shots():
    fine, model = objective(), [earth()[1].astype(np.float64)]
    whole, parts, sent = on_coarser_grid(fine, 2, model, np.arange(3)), [], []

    @attrs.frozen
    class Two(SerialDistributor):
        rank: int = 0
        size: int = 2

        def all_gather(self, plan, part):
            parts.append(part)
            return np.concatenate(sent) if sent else np.zeros((3, *part.shape[1:]))

    for rank in (0, 1):
        on_coarser_grid(attrs.evolve(fine, group=Two(rank=rank)), 2, model, np.arange(3))
    sent += parts
    assert [len(part) for part in parts] == [1, 2]
    for rank in (0, 1):
        result = on_coarser_grid(attrs.evolve(fine, group=Two(rank=rank)), 2, model, np.arange(3))
        assert np.abs(result.observed - whole.observed).max() < 1e-12 * np.abs(whole.observed).max()


@pytest.fixture(scope="module")
def data():
    return observed(solver(), [torch.from_numpy(earth()[0])])


def test_a_stage_on_a_coarser_grid_reduces_the_error_like_the_finer_one(data):
    start = np.linalg.norm(earth()[1] - earth()[0])
    for high in (4.0, 6.0):
        results = [call(data, Stage(6, high=high, coarsen=coarsen)) for coarsen in (None, 2)]
        errors = [np.linalg.norm(each.models[0] - earth()[0]) for each in results]
        assert np.array_equal(results[1].models[0][:5], earth()[1][:5])
        assert errors[0] < 0.87 * start and errors[1] < errors[0] + 0.06 * start
        assert results[1].history[0]["misfit"] == pytest.approx(results[0].history[0]["misfit"], rel=1e-3)


def test_unsupported_coarse_grids_are_refused(data):
    with pytest.raises(OptionError, match="coarsen is 2 and high is None; set high"):
        Stage(1, coarsen=2)
    with pytest.raises(OptionError, match="coarsen is 0"):
        Stage(1, high=3.0, coarsen=0)
    with pytest.raises(UnsupportedError, match="ties amplitudes to the grid"):
        call(data, Stage(1, high=5.0, coarsen=2), make=lambda: solver(source_scaling="increment"))
    equation, rho = AcousticVariableDensity(4), np.full(SHAPE, 1500.0)
    coarse = objective(equation=equation, models=[earth()[0].astype(float), rho], receiver_type=["vx"], factor=2)
    with pytest.raises(UnsupportedError, match="receivers are whole numbers: nodes of vx"):
        coarse([earth()[1].astype(float), rho])
    with pytest.raises(DomainError, match="cells along"):
        call(data, Stage(1, high=5.0, coarsen=12))


def test_three_dimensions():
    shape, model = (18, 16, 20), np.full((18, 16, 20), 1700.0)
    shots = Shots(ricker(8.0, 120, DT), np.array([[6, 5, 2]]), np.array([[3, 3, 3], [12, 8, 3]]))
    coarse = objective(shots=shots, models=[model + 100], shape=shape, high=6.0, factor=2)
    assert coarser(coarse.problem, 2).grid.shape == (10, 9, 11)
    direction = np.random.default_rng(0).normal(size=shape)
    sides = [coarse([model + sign * 1e-3 * direction])[0] for sign in (1, -1)]
    assert (coarse([model])[1][0] * direction).sum() == pytest.approx((sides[0] - sides[1]) / 2e-3, rel=1e-5)


def test_bad_positions_on_the_coarser_grid_are_refused_before_the_first_stage():
    """Without a PML, cell 31 is a node of the fine grid, but 15.5 is too close to the edge for interpolation."""
    entries, without = [], partial(PropTorch, Acoustic(), SHAPE, DH, DT, pml_width=0)
    data = observed(solver(), [torch.from_numpy(earth()[0])])
    stages = [Stage(1, misfit=lambda s, d: entries.append(s)), Stage(1, high=5.0, coarsen=2)]
    words = "stage 2: on a grid coarser by 2, in its cells: source 2 is at x = 15.5"
    with pytest.raises(DomainError, match=words):
        call(data, stages, make=without)
    assert not entries
