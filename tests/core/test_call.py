"""Surveys and the checks of one call, for arrays of any library."""

import re

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import case, error, random_cells, reference_record, variant

from sweep_core import (
    Acoustic,
    AcousticVariableDensity,
    DomainError,
    Elastic,
    MemoryOptions,
    Shots,
    StabilityError,
    SweepError,
    check_call,
    check_survey,
    check_values,
    make_problem,
)
from sweep_core._util.arrays import dtype_name
from sweep_core.acquisition.call_shape import CallShape
from sweep_core.acquisition.positions import points_of
from sweep_core.acquisition.receivers import receiver_positions
from sweep_core.acquisition.sources import driving_wavelet
from sweep_core.execution.call_checks import check_forward_batchsize
from sweep_core.execution.reference import ReferenceExecutor
from sweep_core.io import Gathers, read_gathers, write_gathers
from sweep_core.numerics.stencils import largest_speed
from sweep_core.numerics.time_dispersion import overrun

VELOCITIES = case(AcousticVariableDensity).arguments | {"source_type": ["vx", "p"]}


def test_a_call_shape_holds_the_sizes_of_a_call():
    setup = case(nshots=3, nsrc=2, nrec=5, nt=48)
    shape = check_call(setup.problem, setup.shots, setup.models)
    assert shape == CallShape(3, 48, 2, 5, "float64", samples=48) and hash(shape) == hash(attrs.evolve(shape))
    assert shape.record_shape(setup.problem) == (3, 48, 5, 1)
    more = variant("increments between nodes, an earth each")
    shape = check_call(more.problem, more.shots, more.models)
    assert (shape.earths, shape.source_taps, shape.receiver_taps) == (3, 64, 64)
    longer = variant("no time dispersion, masked")
    assert check_call(longer.problem, longer.shots, longer.models).steps == 40 + overrun(40)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_dtype_has_the_same_name_in_any_library(dtype):
    torch = pytest.importorskip("torch")
    assert dtype_name(np.zeros(1, dtype)) == dtype_name(torch.zeros(1, dtype=getattr(torch, dtype))) == dtype


@given(st.data())
def test_positions_are_cells_inside_the_pml(data):
    """Column (x, z) is cell [z, x] of the model, inside its PML."""
    shape = data.draw(st.tuples(st.integers(4, 30), st.integers(4, 30)))
    pml = data.draw(st.tuples(*[st.integers(0, 9)] * 4))
    problem = make_problem(Acoustic(), shape, 10.0, 1e-3, pml_width=pml)
    positions = random_cells(np.random.default_rng(0), shape, 3, 4)
    marked = np.zeros(problem.padded_shape)
    (points,) = points_of(np, problem, ["h1"], positions, 3)
    assert points.cells.shape == points.weights.shape == (3, 4, 1) and (points.weights == 1).all()
    for shot, cells in enumerate(points.cells):
        marked[:] = 0
        marked.flat[cells] = 1
        inside = marked[pml[0] : pml[0] + shape[0], pml[2] : pml[2] + shape[1]]
        assert all(inside[z, x] for x, z in positions[shot]) and inside.sum() == marked.sum()


def test_shared_receivers_are_repeated_for_each_shot():
    setup = case()
    cells = points_of(np, setup.problem, ["h1"], setup.shots.receivers[:1], 3)[0].cells
    assert cells.shape == (3, 5, 1) and (cells == cells[0]).all()


def test_masked_receivers_are_moved_into_the_model():
    setup = variant("no time dispersion, masked")
    shots, mask = setup.shots, setup.shots.mask
    moved = receiver_positions(np, setup.problem, shots)
    np.testing.assert_array_equal(moved[mask], shots.receivers[mask])
    assert (moved[~mask] == (11, 9)).all() and not mask.all()
    check_survey(setup.problem, shots)
    with pytest.raises(DomainError, match="receiver . of shot . is at x = -99"):
        check_survey(setup.problem, attrs.evolve(shots, mask=None))


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        *(((7,), (1, 1, 1, 7)), ((3, 7), (3, 1, 1, 7)), ((3, 2, 7), (3, 2, 1, 7))),
        *(((7, 2), (1, 1, 2, 7)), ((3, 7, 2), (3, 1, 2, 7)), ((3, 2, 7, 2), (3, 2, 2, 7))),
    ],
    ids=str,
)
def test_a_wavelet_may_have_six_shapes(shape, expected):
    """The last three shapes have a wavelet for each of two source fields."""
    setup = attrs.evolve(case(AcousticVariableDensity), arguments=VELOCITIES)
    setup = attrs.evolve(setup, shots=attrs.evolve(setup.shots, wavelet=np.zeros(shape)))
    result = check_call(setup.problem, setup.shots, setup.models)
    assert driving_wavelet(np, setup.problem, result, setup.shots.wavelet).shape == expected and result.samples == 7


def test_an_ambiguous_wavelet_is_one_of_shots():
    """With two source fields, shape (3, 2) means two samples for each of three shots, not three for each field."""
    setup = attrs.evolve(case(AcousticVariableDensity), arguments=VELOCITIES)
    setup = attrs.evolve(setup, shots=attrs.evolve(setup.shots, wavelet=np.zeros((3, 2))))
    result = check_call(setup.problem, setup.shots, setup.models)
    assert driving_wavelet(np, setup.problem, result, setup.shots.wavelet).shape == (3, 1, 1, 2) and result.samples == 2


def test_two_samples_for_each_shot_are_checked_along_time():
    """The refusal of an interval states the frequencies of (nshots, nt), even if nt is the number of source fields."""
    setup = attrs.evolve(case(AcousticVariableDensity, nsrc=1), arguments=VELOCITIES)
    setup, refusals = setup.remembering(MemoryOptions("full", interval=9)), []
    samples = np.array([[1.0, 1.0], [2.0, 2.0], [1.0, 1.0]])
    for wavelet in (samples, samples[:, None]):
        shots = attrs.evolve(setup.shots, wavelet=wavelet)
        with pytest.raises(DomainError, match="interval is 9") as refusal:
            ReferenceExecutor().forward(setup.problem, shots, setup.models)
        refusals.append(str(refusal.value))
    assert refusals[0] == refusals[1]


def test_the_records_of_two_source_fields_add_up():
    setup = attrs.evolve(case(AcousticVariableDensity), arguments=VELOCITIES)
    wavelet = np.random.default_rng(5).standard_normal((48, 2))
    parts = [wavelet * one for one in ((1, 0), (0, 1))]
    whole, *single = (
        reference_record.__wrapped__(attrs.evolve(setup, shots=attrs.evolve(setup.shots, wavelet=w)))
        for w in (wavelet, *parts)
    )
    assert error(sum(single), whole) < 1e-12 and min(np.abs(s).max() for s in single) > 0
    np.testing.assert_array_equal(attrs.evolve(setup.shots, wavelet=wavelet).take([1]).wavelet, wavelet)


def test_taking_shots_keeps_shared_arrays():
    setup = case(nshots=4)
    some = setup.shots.take([2, 0])
    assert len(some) == 2
    np.testing.assert_array_equal(some.sources, setup.shots.sources[[2, 0]])
    np.testing.assert_array_equal(some.wavelet, setup.shots.wavelet[[2, 0]])
    np.testing.assert_array_equal(some.receivers, setup.shots.receivers[[2, 0]])
    shared = Shots(setup.shots.wavelet[0, 0], setup.shots.sources, setup.shots.receivers[0]).take(range(1, 3))
    assert shared.wavelet.shape == (48,) and shared.receivers.shape == (5, 2) and len(shared) == 2
    masked = variant("no time dispersion, masked").shots
    np.testing.assert_array_equal(masked.take([2, 0]).mask, masked.mask[[2, 0]])


NO_SHOTS = [[True, False, True], np.array([True, False, True]), [0.7], "01", 0, None, slice(0, 1)]


@pytest.mark.parametrize("odd", NO_SHOTS, ids=repr)
def test_bad_numbers_of_shots_are_refused(odd, tmp_path):
    """A mask would take shots 1 and 0."""
    gathers = Gathers(np.ones((3, 2)), np.ones((3, 2, 2)), np.ones((3, 9, 2, 1)), dt=0.002, dh=10.0)
    write_gathers(tmp_path / "g.npz", gathers)
    read = () if odd is None else (lambda shots: read_gathers(tmp_path / "g.npz", shots),)
    for take in (case(nshots=3).shots.take, gathers.take, *read):
        with pytest.raises(DomainError, match=f"{re.escape(repr(odd))}; expected numbers of shots, from 0 on"):
            take(odd)


@pytest.mark.parametrize("shot", [-1, 3])
def test_missing_shots_are_refused(shot):
    with pytest.raises(DomainError, match=rf"indices is \[0, {shot}\]; expected numbers of shots from 0 to 2"):
        case(nshots=3).shots.take([0, shot])


@given(x=st.integers(-40, 60), z=st.integers(-40, 60))
def test_positions_outside_of_the_model_are_refused(x, z):
    problem = make_problem(Acoustic(), (20, 30), 10.0, 1e-3)
    shots = Shots(np.zeros(4), np.array([[3, 3], [x, z]]), np.array([[1, 1]]))
    if 0 <= x < 30 and 0 <= z < 20:
        return check_survey(problem, shots)
    with pytest.raises(DomainError, match=rf"source 1 is at [xz] = ({x}|{z}) \(cells\), outside 0\.\.(29|19)"):
        check_survey(problem, shots)


def test_a_message_states_value_range_and_convention():
    problem = make_problem(Acoustic(), (20, 481), 10.0, 1e-3)
    sources = np.array([[0, 3], [1, 3], [2, 3], [512, 3]])
    with pytest.raises(DomainError) as refusal:
        check_survey(problem, Shots(np.zeros(4), sources, np.array([[1, 1]])))
    assert str(refusal.value) == (
        "source 3 is at x = 512 (cells), outside 0..480; positions are counted in grid cells from the model's own "
        "corner, without the PML"
    )


def test_swapped_columns_are_recognised():
    problem = make_problem(Acoustic(), (20, 100), 10.0, 1e-3)
    shots = Shots(np.zeros(4), np.array([[3, 90], [4, 80]]), np.array([[1, 1]]))
    with pytest.raises(DomainError, match=r"z = 90 .* if the columns were swapped: SWEEP expects \(x, z\)"):
        check_survey(problem, shots)


def test_a_receiver_of_one_shot_is_named():
    problem = make_problem(Acoustic(), (20, 30), 10.0, 1e-3)
    receivers = np.zeros((2, 4, 2), int)
    receivers[1, 3] = (5, 20)
    with pytest.raises(DomainError, match=r"receiver 3 of shot 1 is at z = 20 \(cells\), outside 0\.\.19"):
        check_survey(problem, Shots(np.zeros(4), np.array([[3, 3], [4, 4]]), receivers))


@given(
    order=st.sampled_from([2, 4, 8]),
    speed=st.floats(500, 8000),
    dh=st.tuples(*[st.floats(1, 50)] * 2),
    excess=st.floats(1.0001, 5),
)
def test_the_stable_step_in_a_message_is_stable(order, speed, dh, excess):
    shape, wavelet = (12, 12), np.zeros(4)
    dt = largest_speed(order, dh, 1.0) / speed
    model = np.full(shape, speed)
    with pytest.raises(StabilityError, match="the largest stable dt is") as refusal:
        check_values(make_problem(Acoustic(order), shape, dh, dt * excess), [model], wavelet)
    stated = float(str(refusal.value).split("the largest stable dt is ")[1].split(" s")[0])
    assert stated == pytest.approx(dt, rel=1e-4)
    check_values(make_problem(Acoustic(order), shape, dh, stated), [model], wavelet)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 0.0, -1500.0], ids=str)
@pytest.mark.parametrize("cell", [(0, 0), (7, 11), (19, 29)], ids=str)
def test_bad_cells_are_named(bad, cell):
    model = np.full((20, 30), 2000.0)
    model[cell] = bad
    with pytest.raises(DomainError, match=rf"vp is {bad} m/s at z = {cell[0]}, x = {cell[1]}; expected finite values"):
        check_values(make_problem(Acoustic(), (20, 30), 10.0, 1e-3), [model], np.zeros(4))


def test_a_solid_resists_compression():
    """The bulk modulus rho (vp^2 - 4/3 vs^2) is positive: vs is at most 0.866 vp."""
    problem = make_problem(Elastic(), (20, 30), 10.0, 1e-3)
    vp, vs, rho = np.full((3, 20, 30), 2000.0)
    vs[:] = 1731
    check_values(problem, [vp, vs, rho], np.zeros(4))
    vs[7, 11] = 1733
    with pytest.raises(DomainError, match="vs = 1733, rho = 2000 at z = 7, x = 11; expected"):
        check_values(problem, [vp, vs, rho], np.zeros(4))


@pytest.mark.parametrize("bad", [0, -1, True, 2.5, "4", None], ids=repr)
def test_a_batch_is_a_number_of_shots(bad):
    with pytest.raises(SweepError, match="forward_batchsize is .*; expected a whole number of shots from 1 on"):
        check_forward_batchsize(bad)
