"""Law 5 of the staggered equations: closed forms, energy, reciprocity, the largest time step."""

import numpy as np
import pytest
from elastodynamics import Clock, Solid, whole_space
from laws import error
from plane_waves import fluids, measured_coefficients, seafloor
from waves import misfit, shoot, slopes

from sweep_core import Acoustic, AcousticVariableDensity, Elastic, make_problem, ricker
from sweep_core.discretization.array_ops import NumpyOps, coefficients_of
from sweep_core.discretization.node_averages import NodeAverages
from sweep_core.discretization.operators import heights
from sweep_core.numerics.stencils import largest_staggered_speed

ROCK = Solid(3000.0, 1700.0, 2000.0)
NODES = {"vx": (0.5, 0.0), "vz": (0.0, 0.5), "p": (0.0, 0.0)}
EQUATIONS = {
    AcousticVariableDensity: {"source_type": ["p"], "receiver_type": ["p", "vx", "vz"]},
    Elastic: {"source_type": ["vx"], "receiver_type": ["vx", "vz", "sxz"]},
}
both = pytest.mark.parametrize("equation", EQUATIONS, ids=lambda e: e.name)


# --- closed forms -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [2, 4, 8])
def test_law5_constant_density_equals_the_acoustic_equation(order):
    """The source is q with q_t = s / rho; the sum of s is exact to the order of the time step."""
    speed, rho, dt, nt, differences = 2000.0, 1300.0, 0.5e-3, 800, []
    wavelet = ricker(15.0, nt, dt)
    for dh, cells in ((10.0, 24), (5.0, 48)):
        shape = (3 * cells, 4 * cells)
        at = ((cells, cells), [(2 * cells, cells)])
        same = {"shape": shape, "dh": dh, "dt": dt, "pml_width": 40 * cells // 24}
        first = shoot(wavelet, *at, [speed], equation=Acoustic(order), **same)[:, 0, 0]
        # Sample k of q acts at (k + 1/2) dt: the sum of s up to and with k.
        q = np.cumsum(wavelet) * dt / rho
        second = shoot(q, *at, [speed, rho], equation=AcousticVariableDensity(order), **same)[:, 0, 0]
        differences.append(misfit(second, first))
    assert differences[0] < {2: 0.25, 4: 0.02, 8: 2e-3}[order]
    assert differences[1] < 1.2 * differences[0] / 2**order or differences[1] < 1e-4


def point(order, dh, dt, source, receiver, offset, duration=0.5, freq=12.0):
    """Return (trace, exact leapfrog, exact) at `offset` (x, z) metres from a source; edges reflect too late."""
    nt, (x, z) = round(duration / dt), (round(c / dh) for c in offset)
    half = int((ROCK.vp * duration + np.hypot(*offset)) / 2 / dh) + 2
    wavelet = ricker(freq, nt, dt)
    trace = shoot(
        wavelet, (half, half), [(half + x, half + z)], ROCK.models,
        equation=Elastic(order), shape=(2 * half + 1, 2 * half + 1), dh=dh, dt=dt, pml_width=0,
        source_type=["sxx", "szz"] if source == "p" else [source], receiver_type=[receiver],
    )[:, 0, 0]  # fmt: skip
    away = [(c + NODES[receiver][i] - NODES[source][i]) * dh for i, c in enumerate((x, z))]
    response, times = (
        whole_space(ROCK, source, receiver, *away),
        (0.5 * dt * (source == "p"), 0.5 * dt * (receiver != "p")),
    )
    return trace, *(Clock(wavelet, dt, stepped).record(response, *times) for stepped in (True, False))


@pytest.mark.parametrize("receiver", NODES)
@pytest.mark.parametrize("source", NODES)
def test_law5_green_functions_of_the_elastic_equation_in_2d(source, receiver):
    """Forces and an explosion, P and S: relative L2 error below 1 %, below 1e-4 without the error of the time step."""
    trace, stepped, exact = point(8, 10.0, 0.8e-3, source, receiver, (300.0, 200.0))
    assert misfit(trace, exact) < 1e-2
    assert misfit(trace, stepped) < 1e-4


def test_law5_p_and_s_waves_travel_at_their_speeds():
    """The far field of a force is P along it and S across it. Cross-correlation gives the lag between receivers."""
    dt, dh, near, far = 0.5e-3, 10.0, 300.0, 500.0
    for receiver, speed in (("vx", ROCK.vp), ("vz", ROCK.vs)):
        traces = [point(8, dh, dt, receiver, receiver, (d, 0.0), 0.5, 12.0)[0] * np.sqrt(d) for d in (near, far)]
        fine = 16 * len(traces[0])
        spectra = [np.fft.rfft(t, 2 * len(t)) for t in traces]
        lags = np.fft.irfft(spectra[1] * spectra[0].conj(), 2 * fine)
        assert (far - near) / (lags.argmax() * dt / 16) == pytest.approx(speed, rel=5e-3)


@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_law5_order_of_convergence_in_space(order):
    """The expected trace is the exact solution of the leapfrog in time, away from surfaces."""
    spacings = [12.0, 10.0, 8.0]
    errors = [misfit(*point(order, dh, 0.5e-3, "p", "p", (240.0, 0.0), 0.35)[:2]) for dh in spacings]
    assert slopes(errors, spacings) == pytest.approx([order] * 2, rel=0.06)


ANGLES = np.arange(0, 61, 10)


@pytest.mark.parametrize(
    ("lower", "bounds"),
    [((2000.0, 2000.0), (5e-3, 8e-3)), ((1800.0, 1500.0), (1e-2, 1e-2))],
    ids=["density", "impedance"],
)
def test_law5_reflection_and_transmission_of_fluids(lower, bounds):
    """The error of pressure (0 to 60 degrees) is a mean over 12 to 32 Hz, at 10 to 30 points per wavelength."""
    upper = (2000.0, 1000.0)
    result = measured_coefficients(AcousticVariableDensity(8), upper, lower, ANGLES, ["p"], ["p"])
    for coefficient, expected, bound in zip(result, fluids(upper, lower, ANGLES), bounds, strict=True):
        assert np.abs(coefficient - expected[:, None]).mean(1).max() < bound


@pytest.mark.parametrize(
    ("solid", "angles", "bound"),
    [
        ((1600.0, 400.0, 1800.0), ANGLES[:-1], 1e-2),
        ((2700.0, 1200.0, 2200.0), np.array([0, 10, 20]), 5e-3),
        ((2700.0, 1200.0, 2200.0), np.array([45, 50, 55]), 3e-2),
    ],
    ids=["soft", "hard", "hard, beyond the critical angle"],
)
def test_law5_reflection_of_the_seafloor(solid, angles, bound):
    """Water is a solid with vs = 0, and the cell border is the interface."""
    water = (1500.0, 0.0, 1000.0)
    reflection, _ = measured_coefficients(Elastic(8), water, solid, angles, ["sxx", "szz"], ["p"])
    assert np.abs(reflection - seafloor(water, solid, angles)[:, None]).mean(1).max() < bound


# --- coefficients -----------------------------------------------------------------------------------------------------


def elastic_coefficients(ndim, **options):
    """Return (coefficients by name, pi, lam, mu, rho) of a rough solid with cells of fluid."""
    rng, shape, equation = np.random.default_rng(0), (9,) * ndim, Elastic(4)
    vp, vs, rho = (rng.uniform(*ends, shape) for ends in ((1700, 2500), (800, 1200), (1800, 2300)))
    vs[rng.random(shape) < 0.1] = 0
    problem = make_problem(equation, shape, 10.0, 1e-3, pml_width=0, **options)
    values = equation.coefficients(NodeAverages(problem, np), vp, vs, rho)
    names = equation.coefficient_names_in(ndim)
    return dict(zip(names, values, strict=True)), rho * vp**2, rho * (vp**2 - 2 * vs**2), rho * vs**2, rho


@pytest.mark.parametrize("ndim", [2, 3])
def test_densities_are_averaged_between_cells_and_compliances_of_shear(ndim):
    """Thin layers then add up like masses and springs."""
    result, _, _, mu, rho = elastic_coefficients(ndim)
    axes = "zx" if ndim == 2 else "zyx"

    def around(x, names):
        cells = [np.pad(x, [(0, 1)] * ndim, "edge")]
        for name in names:
            cells += [np.roll(c, -1, axes.index(name)) for c in cells]
        return np.stack(cells)[(slice(None), *[slice(-1)] * ndim)]

    with np.errstate(divide="ignore"):
        for name, value in result.items():
            if name.startswith("b"):
                assert error(1 / value, around(rho, name[1:]).mean(0)) < 1e-13
            elif name.startswith("mu"):
                assert error(value, 1 / (1 / around(mu, name[3:])).mean(0)) < 1e-13


@pytest.mark.parametrize("ndim", [2, 3])
def test_a_free_surface_has_the_moduli_of_no_traction(ndim):
    """The condition szz = 0 eliminates the vertical strain from the moduli."""
    result, pi, lam, _, _ = elastic_coefficients(ndim, free_surface=True)
    for name, modulus in {"pi": pi, "lam": lam}.items():
        assert error(result[name][1:], modulus[1:]) < 1e-13
        if name == "pi" or ndim == 3:  # in two dimensions no stress on the surface grows by lam
            assert np.abs(result[name][0] - (modulus - lam**2 / pi)[0]).max() < 1e-13 * pi.max()


# --- energy -----------------------------------------------------------------------------------------------------------


def rough(equation, shape, seed=0):
    """Return random models: densities 1000 or 5000, every vp / vs, a fifth of the cells fluid."""
    rng = np.random.default_rng(seed)
    vp, rho = rng.uniform(1500, 4000, shape), np.where(rng.random(shape) < 0.5, 1000.0, 5000.0)
    vp.flat[len(vp)] = 4000.0
    vs = vp * rng.uniform(0, 0.85, shape) * (rng.random(shape) < 0.8)
    return [vp, rho] if equation is AcousticVariableDensity else [vp, vs, rho]


def problem_near_limit(equation, order, fraction, shape=(26, 30), **options):
    """Return a problem whose time step is `fraction` of the largest stable one of `rough`."""
    dt = fraction * largest_staggered_speed(order, (10.0, 10.0), 1.0) / 4000.0
    return make_problem(equation(order), shape, 10.0, dt, **EQUATIONS[equation] | {"pml_width": 0} | options)


def energy(problem, coefficients, old, new) -> float:
    """Return half of v[k-1/2] rho v[k+1/2] + stress[k] C^-1 stress[k], each times the height of its nodes."""
    value = dict(zip(problem.coefficient_names, coefficients, strict=True))
    node_heights = {f.name: heights(problem, f) for f in problem.fields}
    node_heights = {name: 1.0 if h is None else h[:, None] for name, h in node_heights.items()}
    total = sum((old[v] * new[v] / value[f"b{v[1]}"] * node_heights[v]).sum() for v in ("vx", "vz"))
    if "kappa" in value:
        return 0.5 * (total + (old["p"] ** 2 / value["kappa"]).sum())
    pi, lam, mu = value["pi"], value["lam"], value["mu_xz"]
    strain = quotient(2 * (0.5 * (old["sxx"] + old["szz"])) ** 2, pi + lam) + quotient(
        0.5 * (old["sxx"] - old["szz"]) ** 2, pi - lam
    )
    if problem.free_surface:
        strain[..., 0, :] = quotient(old["sxx"] ** 2, pi)[..., 0, :]
    return 0.5 * (
        total + (strain * node_heights["sxx"]).sum() + (quotient(old["sxz"] ** 2, mu) * node_heights["sxz"]).sum()
    )


def quotient(square, modulus):
    """Return square / modulus, and zero if the modulus is zero."""
    is_stiff = modulus > 0
    return np.where(is_stiff, square / np.where(is_stiff, modulus, 1), 0)


@pytest.mark.parametrize("free_surface", [False, True])
@pytest.mark.parametrize("order", [2, 4, 6, 8, 10])
@both
def test_law5_energy_is_conserved(equation, order, free_surface):
    """Energy is constant to rounding, from a random start, at 0.99 of the largest time step."""
    problem = problem_near_limit(equation, order, 0.99, (16, 18), free_surface=free_surface)
    models = rough(equation, problem.grid.shape)
    coefficients = coefficients_of(problem, models, 1, np, None)
    ops, rng = NumpyOps(problem, np.float64), np.random.default_rng(1)
    state = {name: np.zeros((1, *problem.grid.shape)) for name in equation(order).state_names(2)}
    state |= {v: rng.standard_normal((1, *problem.grid.shape)) for v in ("vx", "vz")}
    energies = []
    for _ in range(300):
        new = problem.equation.step(ops, state, coefficients, lambda field, x: x)
        energies.append(energy(problem, coefficients, state, new))
        state = new
    assert min(energies) > 0 and np.ptp(energies) < 1e-12 * energies[0]


@pytest.mark.parametrize("free_surface", [False, True])
@pytest.mark.parametrize("order", [2, 4, 8])
@both
def test_law5_bounded_for_20_s_at_099_of_the_largest_time_step(equation, order, free_surface):
    """The peaks of 20 equal parts of the run stay below four times the second one."""
    problem = problem_near_limit(equation, order, 0.99, free_surface=free_surface)
    nt, parts = int(20 / problem.dt), 20
    peaks = [np.abs(part).max((0, 1)) for part in np.array_split(records_after_pulse(problem, nt), parts)]
    assert (np.max(peaks[1:], 0) < 4 * peaks[1]).all()


def records_after_pulse(problem, nt, models=None):
    """Return records at three corners after a wavelet of all frequencies."""
    models = rough(type(problem.equation), problem.grid.shape) if models is None else models
    wavelet = np.random.default_rng(2).standard_normal(nt) * (np.arange(nt) < 50)
    arguments = {
        name: getattr(problem, name) for name in ("equation", "dt", "free_surface", "source_type", "receiver_type")
    }
    return shoot(
        wavelet,
        (9, 9),
        [(15, 15), (1, 1), (28, 24)],
        models,
        shape=problem.grid.shape,
        dh=10.0,
        pml_width=0,
        **arguments,
    )


@pytest.mark.parametrize("order", [2, 4, 8])
@both
def test_law5_the_stated_largest_time_step_is_the_stability_limit(equation, order):
    """Just below the limit a uniform medium is bounded. Just above it the call is refused, and the steps do grow."""
    problem = problem_near_limit(equation, order, 0.9999)
    uniform = [
        np.full(problem.grid.shape, v)
        for v in ((4000.0, 2000.0) if equation is AcousticVariableDensity else (4000.0, 2300.0, 2000.0))
    ]
    first, *rest = np.array_split(np.abs(records_after_pulse(problem, 4000, uniform)), 8)
    assert max(part.max() for part in rest) < 3 * first.max()
    above = problem_near_limit(equation, order, 1.003, (60, 62))
    models = [np.full(above.grid.shape, m.flat[0]) for m in uniform]
    with pytest.raises(ValueError, match="largest stable dt"):
        records_after_pulse(above, 10, models)
    coefficients, ops = coefficients_of(above, models, 1, np, None), NumpyOps(above, np.float64)
    state = {name: np.zeros((1, *above.grid.shape)) for name in equation(order).state_names(2)}
    state["vx"] = np.random.default_rng(3).standard_normal(state["vx"].shape)
    for _ in range(400):
        state = above.equation.step(ops, state, coefficients, lambda field, x: x)
    assert np.abs(state["vx"]).max() > 1e3


# --- reciprocity ------------------------------------------------------------------------------------------------------

PAIRS = [("vx", "vx"), ("vx", "vz"), ("vz", "vz"), ("p", "p"), ("vx", "p"), ("vz", "p")]


def exchanged_records(equation, order, first, second, **options):
    """Return the record of `second` at b for a source in `first` at a, and the record of the exchanged pair."""
    shape, rng = (26, 30), np.random.default_rng(4)
    dt = 0.9 * largest_staggered_speed(order, (10.0, 10.0), 1.0) / 4000.0
    wavelet, models = rng.standard_normal(150), rough(equation, shape)
    at = {first: (7, 5), second: (21, 16)} if first != second else {"a": (7, 5), "b": (21, 16)}
    (a, b), out = at.values(), []
    for source, receiver, here, there in ((first, second, a, b), (second, first, b, a)):
        named = ["sxx", "szz"] if source == "p" and equation is Elastic else [source]
        bulk = 1.0
        if equation is Elastic and receiver == "p":
            vp, vs, rho = (m[there[::-1]] for m in models)
            bulk = rho * (vp**2 - vs**2)
        out.append(
            shoot(
                wavelet, here, [there], models, equation=equation(order), shape=shape, dh=10.0, dt=dt,
                source_type=named, receiver_type=[receiver], **options,
            )[:, 0, 0] / bulk
        )  # fmt: skip
    return out


@pytest.mark.parametrize(
    "options", [{"pml_width": 0}, {"pml_width": 8}, {"pml_width": 8, "free_surface": True}], ids=str
)
@pytest.mark.parametrize("order", [2, 4, 8])
@pytest.mark.parametrize(("first", "second"), PAIRS, ids=str)
@both
def test_law5_reciprocity(equation, first, second, order, options):
    """Records agree to rounding. The effects of a force and of an injection or explosion differ in sign.

    An explosion is a strain rate times a modulus, and p is minus a mean. Half steps cancel: the delay of a wavelet that
    acts on stresses equals the delay of the recorded stresses.
    """
    one, other = exchanged_records(equation, order, first, second, **options)
    sign = -1 if first != second == "p" else 1
    assert np.abs(one).max() > 0
    assert error(sign * other, one) < 1e-12
