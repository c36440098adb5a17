"""Grids of one axis: d'Alembert's solution, the laws, and what is refused."""

import numpy as np
import pytest
from laws import ONE_AXIS, executors, reference_record, ricker_case, shipped_equations, variant, wavelet_and_adjoint

from sweep_core import (
    Acoustic,
    AcousticVariableDensity,
    Elastic,
    ShapeError,
    Shots,
    Snapshots,
    UnsupportedError,
    backend,
    make_problem,
)
from sweep_core.execution.answers import error
from sweep_core.native.codegen import header
from sweep_core.testing import laws
from sweep_core.testing.cases import STRATEGIES, case
from sweep_core.testing.entries import runs

reference = backend("reference")
VP, RHO, DZ, CELLS, FREQUENCY, DELAY = 2000.0, 2200.0, 5.0, 200, 10.0, 0.15
SOURCE, RECEIVER = 40, 80
FURTHER = [pytest.mark.slow, pytest.mark.further]
"""Marks of the tests that compile for seconds, or repeat others."""


def repeated(*fast):
    """Return tests of an equation and an executor; all but those of acoustic waves and `fast` executors are marked."""
    there = [p.values[0] for p in shipped_equations() if 1 in p.values[0].ndims]
    return [
        pytest.param(
            equation,
            *entry.values,
            id=f"{equation.name}-{entry.id}",
            marks=[*entry.marks, *([] if equation is Acoustic and entry.id in fast else FURTHER)],
        )
        for equation in there
        for entry in executors(gradient=True)
        if "dask" not in entry.id
    ]


everywhere = pytest.mark.parametrize(("equation", "entry"), repeated("torch-c"))
on_a_line = pytest.mark.parametrize("name", ONE_AXIS)


def some(names, *fast):
    """Return names as parameters, of which those that are not `fast` are marked."""
    return [pytest.param(name, marks=[] if name in fast else FURTHER) for name in names]


# --- analytic ---------------------------------------------------------------------------------------------------------


def ricker(times):
    a, after = (np.pi * FREQUENCY) ** 2, times - DELAY
    return (1 - 2 * a * after**2) * np.exp(-a * after**2)


def integral_of_ricker(times):
    return (times - DELAY) * np.exp(-((np.pi * FREQUENCY * (times - DELAY)) ** 2))


def survey(equation, shape=CELLS, of_limit=0.98, source=SOURCE, receivers=(RECEIVER,), pml=60, **options):
    """Return (times, a function of models that returns the traces (nt, nrec)) for 0.6 s of a pressure."""
    field, dt = equation.fields[0].name, of_limit * equation.largest_speed((DZ,), 1.0) / VP
    problem = make_problem(equation, (shape,), DZ, dt, [field], [field], pml_width=pml, **options)
    times = np.arange(int(0.6 / dt)) * dt
    shots = Shots(ricker(times), np.array([[source]]), np.array(receivers)[:, None])
    return times, lambda *models: reference.forward(problem, shots, [m + np.zeros(shape) for m in models])[0, ..., 0]


@pytest.mark.parametrize("free_surface", [False, True])
@pytest.mark.parametrize(
    ("equation", "options"), [(Acoustic(2), {}), (Acoustic(8), {"of_limit": 0.7, "time_dispersion": "corrected"})]
)
def test_law5_the_waves_of_acoustic_are_those_of_d_alembert(equation, options, free_surface):
    """u = vp / 2 integral of s(t - |z - z'| / vp), less that of the image above a free surface."""
    times, record = survey(equation, free_surface=free_surface, **options)

    def wave(cells):
        return VP / 2 * integral_of_ricker(times - cells * DZ / VP)

    expected = wave(RECEIVER - SOURCE) - free_surface * wave(RECEIVER + SOURCE)
    assert np.linalg.norm(record(VP)[:, 0] - expected) < 5e-3 * np.linalg.norm(expected)


@pytest.mark.parametrize("free_surface", [False, True])
def test_law5_the_waves_of_variable_density_are_those_of_d_alembert(free_surface):
    """p = rho vp / 2 q(t - |z - z'| / vp); the sample q[k] acts half a step after p[k]."""
    times, record = survey(AcousticVariableDensity(2), free_surface=free_surface)

    def wave(cells):
        return RHO * VP / 2 * ricker(times - times[1] / 2 - cells * DZ / VP)

    expected = wave(RECEIVER - SOURCE) - free_surface * wave(RECEIVER + SOURCE)
    assert np.linalg.norm(record(VP, RHO)[:, 0] - expected) < 5e-3 * np.linalg.norm(expected)


def test_law5_an_interface_reflects_by_the_impedances():
    """A step of the density between cells: R = (Z2 - Z1) / (Z2 + Z1), and T = 1 + R for the pressure."""
    times, record = survey(AcousticVariableDensity(2), source=100, receivers=(90, 130))
    rho = np.where(np.arange(CELLS) < 120, 1000.0, 3000.0)
    reflected = record(VP, rho)[:, 0] - record(VP, 1000.0)[:, 0]

    def wave(cells):
        return 1000.0 * VP / 2 * ricker(times - times[1] / 2 - cells * DZ / VP)

    for recorded, expected in ((reflected, 0.5 * wave(19.5 + 29.5)), (record(VP, rho)[:, 1], 1.5 * wave(30))):
        assert np.linalg.norm(recorded - expected) < 6e-3 * np.linalg.norm(expected)


@pytest.mark.parametrize("equation", [Acoustic(8), AcousticVariableDensity(8)])
def test_law5_pml_reflects_less_than_70_db(equation):
    models = [VP, RHO][: len(equation.parameters)]
    small, large = (
        survey(equation, shape, 0.7, source, [source - 20], pml=20)[1](*models)
        for shape, source in ((80, 40), (800, 400))
    )
    assert np.abs(small - large).max() < 10 ** (-70 / 20) * np.abs(large).max()


# --- laws -------------------------------------------------------------------------------------------------------------


@on_a_line
@pytest.mark.parametrize(("equation", "entry"), repeated("torch-c", "torch-eager"))
def test_laws_1_to_3_hold(equation, entry, name):
    setup = runs(variant(name, equation))
    laws.forward_equals_reference(entry, setup)
    laws.jacobian_and_adjoint(entry, setup)
    laws.born_equals_reference(entry, setup)


@on_a_line
@everywhere
def test_law2_dot_test_of_the_wavelet(equation, entry, name):
    wavelet_and_adjoint(entry, runs(variant(name, equation)))


@everywhere
def test_law3_the_gradient_equals_finite_differences_in_every_region(equation, entry):
    laws.gradient_in_every_region(entry, runs(case(equation, shape=(61,))))


@pytest.mark.parametrize("strategy", some(sorted({*STRATEGIES} - {"full", "auto"}), "ckpt-7", "boundary", "recursive"))
@on_a_line
@everywhere
def test_law4_strategies_agree_with_full(equation, entry, name, strategy):
    laws.strategies_agree(entry, runs(variant(name, equation)), strategy)


@pytest.mark.parametrize("strategy", some(["full", "ckpt-7", "boundary"], "full"))
@on_a_line
@everywhere
def test_law4_known_rows_have_no_gradient(equation, entry, name, strategy):
    laws.known_rows_have_no_gradient(entry, runs(variant(name, equation)), strategy, 9)
    laws.known_rows_scatter_nothing(entry, runs(variant(name, equation)), strategy, 9)


@pytest.mark.parametrize("order", some([2, 8, 12], 8))
@everywhere
def test_laws_1_and_2_hold_at_other_orders(equation, entry, order):
    for name in ONE_AXIS:
        setup = runs(variant(name, equation, order))
        laws.forward_equals_reference(entry, setup)
        laws.jacobian_and_adjoint(entry, setup)


@everywhere
def test_law5_reciprocity(equation, entry):
    for field in equation.reciprocal:
        if field in [f.name for f in equation().waves_in(1)]:
            laws.reciprocity(entry, runs(case(equation, shape=(61,))), field)


@pytest.mark.parametrize(("equation", "entry"), [p for p in repeated("torch-c") if p.id.endswith("-c")])
def test_law4_skipped_cells_ahead_of_the_wave_change_no_bit(equation, entry, monkeypatch):
    setup = runs(case(equation, shape=(700,), pml=12, nt=30))
    answers = []
    for skips in ("1", "0"):
        monkeypatch.setenv("SWEEP_EVERYWHERE", skips)
        answers.append([entry.forward(setup), *entry.jacobian_transposed(setup, setup.noise()), entry.born(setup)])
    for a, b in zip(*answers, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("equation", "entry"), repeated())
def test_single_precision_errs_by_a_few_times_what_the_equation_states_for_planes(equation, entry):
    """In one dimension waves keep their amplitude, and so do their rounding errors."""
    setup = runs(ricker_case(nt=2000, equation=equation, shape=(61,)))
    record = entry.forward(setup.typed(np.float32))
    assert record.dtype == np.float32
    assert error(record, reference_record(setup)) < 5 * equation.float32_error


def test_snapshots_are_records_of_every_cell():
    setup = variant("1-D")
    request = Snapshots(["h1"], every=5, region=((3, 50),))
    snapshots = reference.snapshots(setup.problem, setup.shots, setup.models, request)["h1"]
    cells = np.arange(3, 50)[:, None]
    record = reference.forward(setup.problem, Shots(setup.shots.wavelet, setup.shots.sources, cells), setup.models)
    np.testing.assert_array_equal(snapshots, record[:, ::5, :, 0])


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_an_equation_without_one_dimension_is_refused_by_name():
    with pytest.raises(UnsupportedError, match=r"of 1 dimension; elastic supports only \(2, 3\)"):
        make_problem(Elastic(), (60,), DZ, 1e-3)


def test_positions_have_one_column():
    setup = variant("1-D")
    flat = Shots(setup.shots.wavelet, setup.shots.sources[..., 0], setup.shots.receivers)
    with pytest.raises(ShapeError, match=r"expected \(nshots, 1\) or \(nshots, n, 1\) with columns \(z\)"):
        reference.forward(setup.problem, flat, setup.models)


def test_installed_libraries_hold_no_grids_of_one_axis():
    """A library for one axis is compiled on first use; the header states the dimension."""
    assert "IN_1D" in header(Acoustic()) and "IN_1D" not in header(Elastic())
    from sweep_core.native.selection import installed

    assert installed(Acoustic(), 1, "cpu")[0] is None


def test_the_record_is_not_zero():
    """Otherwise each comparison above would hold."""
    assert error(0 * reference_record(variant("1-D")), reference_record(variant("1-D"))) == 1.0
