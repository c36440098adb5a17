"""docs/reference/conventions.md and conventions-run.md: the options of a problem beside its grid."""

import numpy as np
import pytest
from laws import case, error, executors
from small import DT, NT, NX, NZ, VP, problem, reference

from sweep_core import Acoustic, Shots, Snapshots, ricker
from sweep_core.errors import DomainError, OptionError


def run(sources=((8, 8),), receivers=((12, 9),), models=(VP,), mask=None, **arguments):
    shots = Shots(ricker(20, NT, DT), np.asarray(sources), np.asarray(receivers), mask)
    return reference.forward(problem(**arguments), shots, list(models))


@pytest.mark.parametrize("kind", ["nsrc", "nrec"])
@pytest.mark.parametrize("entry", executors("torch-c", "torch-eager", "jax-eager"))
def test_many_points_in_one_cell_keep_the_stated_precision(entry, kind):
    """The record of 1000 sources and the gradient of 1000 receivers equal float64 to the page's tolerance."""
    n, nt = 1000, 20
    subject = case.__wrapped__(shape=(12, 14), nt=nt, nshots=1, **{kind: n})
    (subject.shots.sources if kind == "nsrc" else subject.shots.receivers)[...] = 7
    subject.shots.wavelet[...] = np.abs(subject.shots.wavelet[:, :1])  # of one sign, so that rounding does not cancel
    results = []
    for dtype in (np.float32, np.float64):
        typed = subject.typed(dtype)
        record = entry.forward(typed)
        results.append([record, *entry.misfit_and_gradient(typed, np.zeros_like(record) - 1)[1]])
    bound = Acoustic.float32_error if entry.name.endswith("-c") else n * nt * 2**-24
    assert max(error(a, b) for a, b in zip(*results, strict=True)) < bound


def test_pressure_is_zero_on_a_free_surface_and_odd_about_it():
    waves = Snapshots(["h1"], every=NT - 1)
    shots = Shots(ricker(20, NT, DT), np.array([[8, 3]]), np.array([[12, 9]]))
    subject = problem(free_surface=True)
    field = reference.snapshots(subject, shots, [VP], waves)["h1"][0, -1]
    assert not field[0].any() and field[1].any()
    with pytest.raises(DomainError, match="free surface"):
        run(sources=[[8, 0]], free_surface=True)
    with pytest.raises(OptionError, match="expected 0 as its first value"):
        problem(free_surface=True, pml_width=(5, 5, 5, 5))


def test_a_free_surface_equals_an_image_source():
    """A free surface at z = 0 equals a source of the other sign at -z."""
    depth, shape = 6, (NZ + 40, NX)
    earth = np.full(shape, 2000.0)
    free = run(sources=[[8, depth]], receivers=[[12, 9]], free_surface=True, models=[np.full((NZ, NX), 2000.0)])
    both = Shots(
        np.stack([[ricker(20, NT, DT), -ricker(20, NT, DT)]]),
        np.array([[[8, 40 + depth], [8, 40 - depth]]]),
        np.array([[12, 49]]),
    )
    images = reference.forward(problem(shape), both, [earth])
    np.testing.assert_allclose(free, images, rtol=0, atol=1e-6 * np.abs(images).max())


def test_floats_are_true_positions_and_whole_ones_are_nodes():
    np.testing.assert_allclose(run(sources=[[8.0, 8.0]]), run(), rtol=0, atol=1e-12 * np.abs(run()).max())
    between = run(sources=[[8.5, 8.0]])
    middle = 0.5 * (run() + run(sources=[[9, 8]]))
    assert 1e-4 < np.abs(between - middle).max() / np.abs(middle).max() < 0.2


def test_an_interpolation_never_reaches_beyond_the_pml():
    assert run(sources=[[0.5, 8.0]], pml_width=3).any()
    with pytest.raises(DomainError, match="widen the PML or use a node"):
        run(sources=[[0.5, 8.0]], pml_width=2)


def test_a_masked_receiver_records_zero_at_any_position():
    pair = run(receivers=[[12, 9], [999, -5]], mask=np.array([[True, False]]))
    np.testing.assert_array_equal(pair[:, :, :1], run())
    assert not pair[:, :, 1].any()


def test_each_shot_may_have_its_own_earth():
    other = 1.1 * VP
    both = run(sources=[[8, 8], [8, 8]], models=[np.stack([VP, other])])
    np.testing.assert_allclose(both[:1], run(), rtol=1e-12)
    np.testing.assert_allclose(both[1:], run(models=[other]), rtol=1e-12)


def test_an_increment_adds_the_unscaled_wavelet():
    at_source = run(receivers=[[8, 8]], source_scaling="increment")[0, 1, 0, 0]
    assert at_source == ricker(20, NT, DT)[0]


def test_snapshots_are_the_field_without_the_pml():
    request = Snapshots(["h1"], every=10, region=((2, 9), (3, 13)))
    shots = Shots(ricker(20, NT, DT), np.array([[8, 8]]), np.array([[12, 8]]))
    waves = reference.snapshots(problem(), shots, [VP], request)["h1"]
    assert waves.shape == (1, len(request.times(NT, DT)), 7, 10)
    np.testing.assert_allclose(request.times(NT, DT)[:3], [0, 10 * DT, 20 * DT])
    np.testing.assert_array_equal(waves[0, :, 6, 9], run(receivers=[[12, 8]])[0, ::10, 0, 0])
