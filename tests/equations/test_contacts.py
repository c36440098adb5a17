"""Positions between nodes beside a sea floor: fields and slopes jump there, so that interpolation uses one side."""

import attrs
import numpy as np
import pytest
from laws import executors, record_error, reference_record, variant
from waves import misfit, shoot

from sweep_core import Elastic, make_problem, ricker
from sweep_core.acquisition.contacts import points_beside
from sweep_core.acquisition.positions import points_of
from sweep_core.testing import laws

WATER, ROCK = (1500.0, 0.0, 1000.0), (2600.0, 1200.0, 2100.0)


def over_rock(dh, duration=0.33, floor=150.0, size=(270.0, 420.0)):
    """Return records (nt, nrec, field) of p, vx and vz, 7 m above and below a flat sea floor, with cells of dh.

    The times are those of a grid of 6 m. On a grid of 2 m the positions are nodes of p.
    """
    shape, rows = tuple(round(s / dh) for s in size), round(floor / dh)
    models = [np.full(shape, water) for water in WATER]
    for model, rock in zip(models, ROCK, strict=True):
        model[rows:] = rock
    stride, contact = round(6 / dh), (rows - 0.5) * dh
    at = np.array([[x, contact + z] for x in (180.0, 240.0, 300.0) for z in (-7.0, 7.0)])
    dt = 1e-3 / stride
    record = shoot(
        ricker(12.0, round(duration / dt), dt, delay=0.11), (120.0 / dh, (contact - 61.0) / dh), at / dh, models,
        equation=Elastic(8), shape=shape, dh=dh, dt=dt, source_type=["sxx", "szz"], receiver_type=["p", "vx", "vz"],
    )  # fmt: skip
    return record[::stride]


def test_law5_fields_beside_the_sea_floor_are_accurate():
    """The cells are a tenth of the peak S wavelength.

    With weights across the contact the error of p is 6 % above it, and that of vx is 10 and 19 %.
    """
    coarse, fine = over_rock(6.0), over_rock(2.0)
    errors = [[misfit(coarse[:, side::2, i], fine[:, side::2, i]) for i in range(3)] for side in (0, 1)]
    assert np.max(errors[0]) < 0.035 and np.max(errors[1]) < 0.053


def slanted(shape):
    """Return the mask of cells below a floor that dips along all other axes."""
    cells = np.indices(shape)
    return cells[0] > 8 + 0.3 * cells[1:].sum(0)


@pytest.mark.parametrize("free_surface", [False, True])
@pytest.mark.parametrize("shape", [(20, 24), (18, 14, 13)])
def test_discontinuous_fields_are_interpolated_on_one_side(shape, free_surface):
    """The field is a smooth function on either side of a dipping floor."""
    pml = (0 if free_surface else 5, *(5,) * (2 * len(shape) - 1))
    setup = make_problem(Elastic(4), shape, 10.0, 1e-3, pml_width=pml, free_surface=free_surface)
    solid, nodes = np.pad(slanted(shape), setup.pml, "edge"), np.moveaxis(np.indices(setup.padded_shape), 0, -1)
    at = np.random.default_rng(0).uniform(0.6, np.array(shape[::-1]) - 1, (1, 300, len(shape)))
    below = slanted(shape)[tuple(np.floor(at[0, :, ::-1] + 0.5).astype(int).T)]
    assert below.any() and not below.all()

    def wave(points, rock):
        """Return values at points (..., ndim), z first; odd about the surface."""
        return np.sin(0.2 * points[..., 0]) * np.cos(0.15 * points[..., 1:].sum(-1)) * np.where(rock, -3.0, 1.0)

    values = wave(nodes - [low for low, _ in setup.pml], solid).ravel()
    for field in ("sxx", "szz"):
        (result,) = points_beside(np, setup, [field], at, 1, solid[None])
        interpolated = (result.weights * values[result.cells]).sum(-1)[0]
        assert np.abs(interpolated - wave(at[0, :, ::-1], below)).max() < 0.1


@pytest.mark.parametrize("field", ["sxx", "sxz", "vx", "vz"])
def test_weights_beside_a_contact_add_up_to_one(field):
    """Nodes on the contact are included. Without a contact and at whole positions, weights are those of the sinc."""
    shape = (20, 24)
    setup = make_problem(Elastic(4), shape, 10.0, 1e-3, pml_width=5)
    solid, at = np.pad(slanted(shape), 5, "edge")[None], np.random.default_rng(0).uniform(1, 18, (1, 300, 2))
    (sinc,), (beside,) = points_of(np, setup, [field], at, 1), points_beside(np, setup, [field], at, 1, solid)
    changed = (sinc.weights != beside.weights).any(-1)
    assert changed.any() and not changed.all()
    np.testing.assert_allclose(beside.weights[changed].sum(-1), 1, rtol=1e-12)
    for positions, everywhere in ((at, solid | True), (at, solid & False), (at.astype(int), solid)):
        (alike,), (plain,) = (
            points_beside(np, setup, [field], positions, 1, everywhere),
            points_of(np, setup, [field], positions, 1),
        )
        np.testing.assert_array_equal(alike.weights, plain.weights)


@pytest.mark.parametrize("entry", executors(gradient=True))
def test_law1_and_law2_hold_beside_the_sea_floor(entry):
    setup = variant("between nodes", Elastic)
    vp, vs, rho = setup.models
    setup = attrs.evolve(setup, models=[vp, np.where(slanted(vs.shape), vs, 0), rho])
    laws.forward_equals_reference(entry, setup)
    if entry.name != "jax-eager":  # compiles for a minute
        laws.jacobian_and_adjoint(entry, setup)


@pytest.mark.parametrize("entry", executors("torch-c", "jax-c"))
def test_transforms_use_the_contact(entry):
    """The record in torch.func, and in a jitted JAX function with traced models, equals the reference."""
    setup = variant("between nodes", Elastic)
    vp, vs, rho = setup.models
    setup = attrs.evolve(setup, models=[vp, np.where(slanted(vs.shape), vs, 0), rho])
    entry.executor_for(setup.problem)
    solver = entry.solver(setup)
    if entry.name == "torch-c":
        import torch

        arrays = [torch.tensor(x) for x in (setup.shots.wavelet, *setup.models)]
        output = torch.func.vjp(lambda wavelet, *models: solver(wavelet, list(models)), *arrays)[0]
    else:
        import jax

        output = jax.jit(solver)(setup.shots.wavelet, setup.models)
    assert record_error(np.asarray(output), reference_record(setup)) < 1e-12
