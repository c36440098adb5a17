"""The largest time step of a model, beside eigenvalues of operators assembled from their definitions."""

import attrs
import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import LinearOperator, eigs, eigsh

from sweep_core import Acoustic, AcousticVariableDensity, Elastic, StabilityError, check_values, make_problem
from sweep_core.discretization.array_ops import NumpyOps, coefficients_of

DH = 10.0
WATER, ROCK, AIR = (1500.0, 1000.0), (3000.0, 2700.0), (340.0, 1.2)
"""vp, rho."""


def difference(order, n):
    """Return the staggered difference, at 1/2..n-1/2, of values at cells 0..n-1 and zero outside.

    The weights are exact for odd powers of x.
    """
    half = order // 2
    x = np.arange(1, half + 1) - 0.5
    powers = 2 * np.arange(half) + 1
    weights = np.linalg.solve(2 * x ** powers[:, None], (powers == 1).astype(float)) / DH
    bands = {k: w for i, w in enumerate(weights) for k, w in ((i + 1, w), (-i, -w))}
    return sparse.diags([np.full(n - abs(k), w) for k, w in bands.items()], [*bands], shape=(n, n))


def along(matrix, axis, shape):
    """Return the operator that applies a matrix along one axis of arrays of a shape."""
    parts = [matrix if a == axis else sparse.identity(n) for a, n in enumerate(shape)]
    result = parts[0]
    for part in parts[1:]:
        result = sparse.kron(result, part)
    return result.tocsr()


def next_cell(x, axis):
    """Return the values of the next cells; the last one is repeated."""
    return np.take(x, [*range(1, x.shape[axis]), x.shape[axis] - 1], axis)


def diagonal(x):
    return sparse.diags(np.ravel(x))


def limit(symmetric):
    """Return the largest stable dt from the largest eigenvalue of C^(1/2) D B D^T C^(1/2)."""
    return 2 / np.sqrt(eigsh(symmetric, k=1, which="LA", tol=1e-9, return_eigenvectors=False)[0])


def acoustic_limit(order, vp, rho):
    root = diagonal(np.sqrt(rho) * vp)
    parts = []
    for axis, n in enumerate(vp.shape):
        d, b = along(difference(order, n), axis, vp.shape), diagonal(2 / (rho + next_cell(rho, axis)))
        parts.append(root @ d.T @ b @ d @ root)
    return limit(sum(parts))


def elastic_limit(order, vp, vs, rho):
    """Return the limit in 2-D; the operator maps (z, x) velocities to the strains (exx, ezz, exz)."""
    mu, pi = rho * vs**2, rho * vp**2
    lam, corner = pi - 2 * mu, 0.0
    for part in (mu, next_cell(mu, 0), next_cell(mu, 1), next_cell(next_cell(mu, 0), 1)):
        with np.errstate(divide="ignore"):
            corner = corner + 1 / part
    dz, dx = (along(difference(order, n), axis, vp.shape) for axis, n in enumerate(vp.shape))
    strain = sparse.bmat([[None, -dx.T], [-dz.T, None], [dx, dz]])
    stiffness = sparse.bmat(
        [[diagonal(pi), diagonal(lam), None], [diagonal(lam), diagonal(pi), None], [None, None, diagonal(4 / corner)]]
    )
    root = diagonal(np.sqrt([2 / (rho + next_cell(rho, 0)), 2 / (rho + next_cell(rho, 1))]))
    return limit(root @ strain.T @ stiffness @ strain @ root)


def step_limit(problem, models):
    """Return the limit by Arnoldi iterations of the equation's own step, in any dimension, with a free surface.

    An iteration advances a state, whose only nonzero fields are velocities, by two steps.
    """
    problem, ops = attrs.evolve(problem, dt=1e-6), NumpyOps(attrs.evolve(problem, dt=1e-6), np.float64)
    coefficients = coefficients_of(problem, models, 1, np, np.real)
    velocities = [f.name for f in problem.fields if "t" in f.stagger]
    shape = (1, *problem.padded_shape)

    def change_in_a_step(values):
        state = {name: np.zeros(shape) for name in problem.equation.state_names(ops.ndim)}
        state |= zip(velocities, values.reshape(-1, *shape), strict=True)
        first = problem.equation.step(ops, state, coefficients, lambda field, x: x)
        second = problem.equation.step(ops, first, coefficients, lambda field, x: x)
        return np.ravel([first[name] - second[name] for name in velocities])

    size = len(velocities) * int(np.prod(shape))
    result = eigs(
        LinearOperator((size, size), change_in_a_step, dtype=float), 1, which="LM", tol=1e-5, return_eigenvectors=False
    )
    return 2e-6 / np.sqrt(np.abs(result[0]))


def problem_of(equation, shape, **options):
    return make_problem(equation, shape, DH, 1e-3, pml_width=0, **options)


def layers(shape, over, under):
    """Return (vp, rho) of two half spaces."""
    products = [np.full(shape, value) for value in under]
    for model, value in zip(products, over, strict=True):
        model[: shape[0] // 2] = value
    return products


@pytest.mark.parametrize(
    ("order", "under", "expected"),
    [(4, WATER, 3.935e-3), (8, WATER, 3.214e-3), (16, WATER, 2.740e-3), (8, ROCK, 1.302e-3), (2, WATER, 4.714e-3)],
)
def test_the_largest_dt_under_air_equals_the_eigenvalue_limit(order, under, expected):
    """For orders above 2 the limit of a wide model, from its eigenvalues, is below that of the fastest medium."""
    vp, rho = layers((40, 50), AIR, under)
    exact = acoustic_limit(order, vp, rho)
    assert exact == pytest.approx(expected, rel=3e-3)
    stated = problem_of(AcousticVariableDensity(order), vp.shape).largest_dt(vp, rho)
    assert 0.97 * exact < stated <= exact
    elastic = problem_of(Elastic(order), vp.shape).largest_dt(vp, 0 * vp, rho)
    assert 0.97 * exact < elastic <= exact, "Elastic in a fluid has the same limit"


@pytest.mark.parametrize("order", [2, 4, 8, 16])
@pytest.mark.parametrize("ratio", [2, 50, 2000])
def test_the_largest_dt_of_rough_models_is_stable(order, ratio):
    rng, shape = np.random.default_rng(order), (24, 26)
    vp, rho = np.full(shape, 2000.0), np.exp(rng.uniform(0, np.log(ratio), shape))
    solid = vp * rng.uniform(0, 1 / np.sqrt(2), shape)
    for equation, models, exact in (
        (AcousticVariableDensity(order), (vp, rho), acoustic_limit(order, vp, rho)),
        (Elastic(order), (vp, solid, rho), elastic_limit(order, vp, np.maximum(solid, 1e-3), rho)),
    ):
        stated = problem_of(equation, shape).largest_dt(*models)
        assert stated <= exact
        if ratio == 2:
            assert stated > 0.95 * exact or equation.name == "elastic"


@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize(("order", "shape"), [(2, (7, 6, 6)), (4, (9, 8, 7)), (8, (20, 21))])
@pytest.mark.parametrize("kind", [AcousticVariableDensity, Elastic])
def test_the_largest_dt_is_stable_under_a_free_surface_and_in_3d(kind, order, shape, surface):
    rng, equation = np.random.default_rng(order), kind(order)
    problem = problem_of(equation, shape, free_surface=surface)
    for ratio in (1, 2000):
        models = equation.example(shape, rng)
        models[-1] = np.exp(rng.uniform(0, np.log(ratio), shape))
        assert problem.largest_dt(*models) <= step_limit(problem, models)


@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("order", [2, 4, 16])
def test_mild_contrasts_reduce_the_stated_dt_by_less_than_five_percent(order, surface):
    vp, rho = layers((26, 26), (2000.0, 1000.0), (2000.0, 2000.0))
    for equation, models in ((AcousticVariableDensity(order), (vp, rho)), (Elastic(order), (vp, vp / 2, rho))):
        problem = problem_of(equation, vp.shape, free_surface=surface)
        exact = step_limit(problem, models)
        assert 0.95 * exact < problem.largest_dt(*models) <= exact


@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("order", [2, 4, 6, 8, 16, 64])
def test_uniform_media_are_stable_up_to_the_limit_of_their_speed(order, surface):
    """float32 models too. One-sided differences at a surface lose 0.3 %, with a negative Lame parameter up to 20 %."""
    shape = (order + 12,) * 2
    vp = np.full(shape, 2000.0)
    for equation, models, least in (
        (Acoustic(order), (vp,), 1),
        (AcousticVariableDensity(order), (vp, vp), 1),
        (Elastic(order), (vp, vp / 2, vp), 0.997 if surface else 1),
        (Elastic(order), (vp, vp / 1.2, vp), 0.8 if surface else 1),
    ):
        problem = problem_of(equation, shape, free_surface=surface)
        for dtype in (np.float64, np.float32):
            stated = problem.largest_dt(*(m.astype(dtype) for m in models))
            assert least * (1 - 1e-6) <= stated / (1e-3 * problem.largest_speed / 2000.0) <= 1 + 1e-6


def test_a_negative_lame_parameter_beside_fluids_is_stable():
    rng, shape = np.random.default_rng(5), (16, 17)
    for order, ratio in ((2, 1.5), (4, 2000), (8, 1.5)):
        vp, rho = rng.uniform(1000, 2000, shape), np.exp(rng.uniform(0, np.log(ratio), shape))
        vs = np.where(rng.uniform(size=shape) < 0.5, 0, vp / 1.16)
        problem = problem_of(Elastic(order), shape)
        assert problem.largest_dt(vp, vs, rho) <= step_limit(problem, (vp, vs, rho))


def test_check_values_refuses_an_unstable_dt_and_states_the_largest():
    models = layers((40, 50), AIR, WATER)
    problem = attrs.evolve(problem_of(AcousticVariableDensity(8), (40, 50)), dt=3.6e-3)
    assert np.max(problem.equation.speed(*models)) < problem.largest_speed
    with pytest.raises(
        StabilityError, match=r"dt = 0.0036 s is unstable in these models at dh = \(10, 10\) m"
    ) as refusal:
        check_values(problem, models, np.zeros(4))
    stated = float(str(refusal.value).split("the largest stable dt is ")[1].split()[0])
    check_values(attrs.evolve(problem, dt=stated), models, np.zeros(4))
    with pytest.raises(StabilityError):
        check_values(attrs.evolve(problem, dt=1.0001 * stated), models, np.zeros(4))


def test_the_largest_dt_of_many_earth_models_is_the_smallest():
    shape = (24, 20)
    light, heavy = layers(shape, AIR, WATER), layers(shape, WATER, WATER)
    problem = problem_of(AcousticVariableDensity(8), shape)
    both = [np.stack(pair) for pair in zip(heavy, light, strict=True)]
    assert problem.largest_dt(*both) == pytest.approx(problem.largest_dt(*light))
