"""A rank with no shots: its record is empty and its gradient zero, so that ranks can add their gradients."""

import attrs
import numpy as np
import pytest
from laws import VARIANTS, Case, case, executors, numpy_of, shipped_equations, variant

from sweep_core import Acoustic, ShapeError, Snapshots, UnsupportedError

CASES = {"case": case, **{name: (lambda equation, name=name: variant(name, equation)) for name in VARIANTS}}
SHARED = {"wavelet": lambda w: w[0, 0], "receivers": lambda r: r[0]}


def without_shots(example: Case, **shared) -> Case:
    """Return the case without shots and without their earths; `shared` replaces arrays of its shots."""
    shots = example.shots.take([])
    ndim = example.problem.grid.ndim
    return attrs.evolve(
        example, shots=attrs.evolve(shots, **shared), models=[m if m.ndim == ndim else m[:0] for m in example.models]
    )


def assert_empty(entry, example):
    none = without_shots(example)
    shape = (0, none.shots.wavelet.shape[-1], none.shots.receivers.shape[-2], len(example.problem.receiver_type))
    assert entry.forward(none).shape == shape and entry.born(none).shape == shape
    misfit, gradients = entry.misfit_and_gradient(none, np.zeros(shape))
    assert misfit == 0
    for gradient, model in zip(gradients, none.models, strict=True):
        assert gradient.shape == model.shape and gradient.dtype == model.dtype and not gradient.any()


OURS = "torch-c", "torch-eager", "jax-c", "jax-eager"


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value encountered")
@pytest.mark.parametrize("entry", executors(*OURS))
@pytest.mark.parametrize("equation", shipped_equations())
@pytest.mark.parametrize("kind", CASES)
def test_the_record_is_empty_and_the_gradient_zero(kind, equation, entry):
    result = CASES[kind](equation)
    try:
        assert_empty(entry, result)
    except UnsupportedError as reason:
        if "time_dispersion" not in str(reason):
            raise
        pytest.skip(str(reason))


@pytest.mark.parametrize("entry", executors(*OURS, pullback=True))
def test_the_gradient_of_the_wavelet_is_zero(entry):
    """This holds for a wavelet for each shot and for a shared one."""
    setup = case()
    for shared in ({}, {name: take(getattr(setup.shots, name)) for name, take in SHARED.items()}):
        none = without_shots(setup, **shared)
        wavelet, models = entry.pulled_back(none, np.zeros((0, 48, 5, 1)))
        assert wavelet.shape == none.shots.wavelet.shape and not wavelet.any()
        assert not models[0].any() and models[0].shape == (19, 23)


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value encountered")
def test_the_record_of_the_reference_is_empty():
    (entry,) = (p.values[0] for p in executors("reference"))
    for name in CASES:
        none = without_shots(CASES[name](Acoustic))
        shape = 0, none.shots.wavelet.shape[-1], none.shots.receivers.shape[-2], len(none.problem.receiver_type)
        assert entry.forward(none).shape == entry.born(none).shape == shape


def test_snapshots_of_no_shots_are_empty(front):
    solver = front.solver({})
    wavelet, sources, receivers, model = (
        front.convert(x) for x in (np.ones(9), np.ones((0, 2), int), np.ones((4, 2), int), np.full((30, 40), 2000.0))
    )
    record, snapshots = solver(wavelet, sources, receivers, [model], snapshots=Snapshots(["h1"], every=4))
    assert numpy_of(record).shape == (0, 9, 4, 1) and numpy_of(snapshots["h1"]).shape == (0, 3, 30, 40)
    with pytest.raises(ShapeError, match="receivers have shape .* for 0 shots"):
        solver(wavelet, sources, front.convert(np.ones((3, 4, 2), int)), [model])


def test_a_bad_model_is_refused_by_every_rank(front):
    """A rank with shots does not wait for a rank that went on without shots."""
    none, bad = front.convert(np.ones((0, 2), int)), front.convert(np.full((30, 40), np.nan))
    with pytest.raises(ValueError, match="vp is nan"):
        front.solver({})(front.convert(np.ones(9)), none, front.convert(np.ones((4, 2), int)), [bad])
