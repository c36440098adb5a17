"""Equations with attenuation: quality, dispersion and decay against moduli of standard linear solids in closed form."""

import attrs
import numpy as np
import pytest
from christoffel import christoffel
from dispersion_relation import frequencies
from elastodynamics import Clock, Solid, half_space, line
from laws import has
from waves import misfit

from sweep_core import (
    AcousticVariableDensity,
    DomainError,
    Elastic,
    ElasticVTI,
    OptionError,
    Shots,
    ViscoAcoustic,
    ViscoElastic,
    ViscoElasticVTI,
    backend,
    check_values,
    make_problem,
    ricker,
)
from sweep_core.discretization.node_averages import NodeAverages
from sweep_core.execution.answers import record_error
from sweep_core.numerics.relaxation import relaxation
from sweep_core.testing.cases import variant

VP, VS, RHO = 2000.0, 1100.0, 2200.0
QP, QS = 40.0, 20.0


def relaxed(equation, quality, omega):
    """Return M(w) over the unrelaxed modulus."""
    solids = equation.relaxation
    rates = 2 * np.pi * np.asarray(solids.frequencies)
    return 1 - sum(y * r / (r + 1j * omega) for r, y in zip(rates, solids.fractions(quality), strict=True))


def relative_modulus(equation, quality, omega):
    """Return M(w) over rho c^2, with c the phase speed at the reference frequency."""
    speed = 1 / np.real(1 / np.sqrt(relaxed(equation, quality, 2 * np.pi * equation.reference_frequency)))
    return relaxed(equation, quality, omega) / speed**2


# --- the fit ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mechanisms", "largest"), [(2, 0.05), (3, 0.012), (5, 0.003)])
@pytest.mark.parametrize("quality", [5.0, 10.0, 30.0, 100.0, 1000.0])
def test_the_quality_is_constant_over_a_decade(mechanisms, largest, quality):
    m = relative_modulus(ViscoAcoustic(mechanisms=mechanisms), quality, 2 * np.pi * np.geomspace(10**0.5, 10**1.5))
    assert np.abs(m.real / m.imag / quality - 1).max() < largest


@pytest.mark.parametrize("quality", [5.0, 30.0])
def test_one_mechanism_has_the_quality_at_its_reference_frequency(quality):
    m = relative_modulus(ViscoAcoustic(mechanisms=1, reference_frequency=7.0), quality, 2 * np.pi * 7.0)
    assert m.real / m.imag == pytest.approx(quality, rel=1e-4)


@pytest.mark.parametrize("quality", [10.0, 30.0, 100.0])
def test_phase_speeds_are_those_of_constant_quality(quality):
    """Kjartansson 1979, J. Geophys. Res. 84: c = c0 (f / f0)^gamma, gamma = arctan(1 / Q) / pi. The bound is 2 % of their dispersion."""
    equation, f = ViscoAcoustic(mechanisms=5), np.geomspace(4, 25)
    speed = 1 / np.real(1 / np.sqrt(relative_modulus(equation, quality, 2 * np.pi * f)))
    assert np.abs(speed / (f / 10) ** (np.arctan(1 / quality) / np.pi) - 1).max() < 0.007 / quality


def test_mechanisms_take_energy_at_every_quality_and_the_relaxed_modulus_is_positive():
    for mechanisms in range(2, 7):
        fractions = np.array(relaxation(mechanisms, 2.0, 40.0).fractions(np.geomspace(4.0, 1e6, 200)))
        assert fractions.min() > 0 and fractions.sum(0).max() < 0.8


def test_other_options_are_refused():
    for options in ({"mechanisms": 0}, {"reference_frequency": -1.0}, {"band": (5.0, 2.0)}, {"band": (5.0, 5.0)}):
        with pytest.raises(OptionError, match=f"{next(iter(options))} is .*; expected"):
            ViscoAcoustic(**options)
    with pytest.raises(
        OptionError, match="mechanisms is 9; expected fewer, .* choose fewer mechanisms or a wider band"
    ):
        ViscoAcoustic(mechanisms=9, band=(9.0, 11.0))


# --- acoustic waves ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize(("mechanisms", "quality"), [(1, 30.0), (3, 30.0), (3, 5.0)])
def test_acoustic_plane_waves_obey_the_modulus(mechanisms, quality, ndim):
    """rho w^2 = k^2 M(w) for complex frequencies w of real wavenumbers k, up to the error of the differences."""
    equation, k = ViscoAcoustic(8, mechanisms=mechanisms, reference_frequency=0.7), 0.02 / 10.0
    omega = frequencies(equation, (VP, RHO, quality), k, 0.4, ndim)[0]
    assert omega**2 == pytest.approx((k * VP) ** 2 * relative_modulus(equation, quality, omega), rel=1e-6)
    assert omega.imag / omega.real == pytest.approx(0.5 / quality, rel=0.1)


@pytest.mark.parametrize("name", ["between nodes", "free surface", "3-D"])
def test_without_absorption_acoustic_records_are_lossless(name):
    plain = variant(name, AcousticVariableDensity)
    result, expected = (
        backend("reference").forward(make_problem(**plain.arguments | {"equation": equation}), plain.shots, models)
        for equation, models in (
            (ViscoAcoustic(), [*plain.models, np.full_like(plain.models[0], 1e14)]),
            (AcousticVariableDensity(), plain.models),
        )
    )
    assert record_error(result, expected) < 1e-12


def forward(executor, problem, shots, models):
    """Return the record of NumPy arrays by an executor of torch or the reference."""
    if executor.name == "reference":
        return executor.forward(problem, shots, models)
    import torch

    shots = Shots(torch.tensor(shots.wavelet), shots.sources, shots.receivers)
    return np.asarray(executor.forward(problem, shots, [torch.tensor(m) for m in models]))


def shoot(equation, models, shape, dt, nt, freq, receivers, source=(5, 12), **arguments):
    """Return traces (nt, nrec, nfield) in a uniform medium; cells are 10 m wide."""
    executor = backend("torch", impl="eager") if has("torch") else backend("reference")
    problem = make_problem(equation, shape, 10.0, dt, **arguments)
    shots = Shots(ricker(freq, nt, dt), np.array([source]), np.array(receivers))
    return forward(executor, problem, shots, [np.full(problem.grid.shape, m) for m in models])[0]


VOLUME = {"source_type": ["p", "r1", "r2", "r3"], "receiver_type": ["p"]}


def relaxing(omega, dt):
    """Return the frequency that mechanisms see, 2 / dt tan(w dt / 2), at omega = 2 / dt sin(w dt / 2) of a leapfrog."""
    return omega / np.sqrt(1 - (omega * dt / 2) ** 2)


def test_acoustic_records_equal_the_closed_form():
    """The source injects volume, p = i w rho g q with (lap + w^2 rho / M) g = -delta."""
    equation, dt, nt, quality = ViscoAcoustic(8, reference_frequency=15.0), 1e-3, 900, 20.0
    trace = shoot(equation, (VP, RHO, quality), (24, 90), dt, nt, 15.0, [(60, 12)], **VOLUME)[:, 0, 0]

    def response(omega):
        speed = VP * np.sqrt(relative_modulus(equation, quality, relaxing(omega, dt)))
        return 1j * omega * RHO * line(omega, speed, 550.0, 0.0)[0]

    assert misfit(trace, Clock(ricker(15.0, nt, dt), dt, stepped=True).record(response, 0.5 * dt, 0.0)) < 1e-3


def curl(record):
    """Return the curl of v, which P waves have not, from (vx, vz) at three receivers per place."""
    vx, vz = np.moveaxis(record, -1, 0)
    return (vz[:, 2::3] - vz[:, ::3]) - (vx[:, 1::3] - vx[:, ::3])


@pytest.mark.parametrize(
    ("equation", "source", "receiver", "models", "dt"),
    [
        pytest.param(ViscoAcoustic(8), ["p"], ["p"], (VP, RHO), 2e-3, id="acoustic"),
        pytest.param(ViscoElastic(8), ["sxx", "szz"], ["p"], (VP, VS, RHO), 2e-3, id="P", marks=pytest.mark.slow),
        pytest.param(ViscoElastic(8), ["vz"], ["vx", "vz"], (3200.0, VP, RHO), 1.4e-3, id="S", marks=pytest.mark.slow),
    ],
)
def test_the_quality_by_spectral_ratio(equation, source, receiver, models, dt):
    """Q = pi f t / ln(ratio of amplitudes) over a decade; a run without loss takes out geometry."""
    quality, nt, places = 30.0, round(1.4 / dt), (60, 130)
    at = [(x + dx, 12 + dz) for x in places for dx, dz in ((0, 0), (0, 1), (1, 0))]
    lost = len(equation.parameters) - len(models)
    traces = []
    for q in (quality, 1e9):
        earth, fields = (*models, *[q] * lost), {"source_type": source, "receiver_type": receiver}
        record = shoot(equation, earth, (24, 140), dt, nt, 12.0, at, **fields)
        traces.append(curl(record) if len(receiver) == 2 else record[:, ::3, 0])
    f = np.fft.rfftfreq(4 * nt, dt)
    used = (f > 10**0.5) & (f < 10**1.5)
    ratio = np.abs(np.divide(*np.fft.rfft(traces, 4 * nt, axis=1)))[used]
    decay = np.log(ratio[:, 0] / ratio[:, 1]) / (10.0 * (places[1] - places[0]))
    speed = VP * (f[used] / 10.0) ** (np.arctan(1 / quality) / np.pi)
    assert np.abs(np.pi * f[used] / speed / decay / quality - 1).max() < 0.03


# --- elastic waves ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize(("mechanisms", "qp", "qs"), [(1, QP, QS), (3, QP, QS), (3, 6.0, 5.0)])
def test_elastic_plane_waves_obey_their_moduli(mechanisms, qp, qs, ndim):
    """P and S: rho w^2 = k^2 M(w)."""
    equation, k = ViscoElastic(8, mechanisms=mechanisms, reference_frequency=0.5), 0.02 / 10.0
    omega = frequencies(equation, (VP, VS, RHO, qp, qs), k, 0.4, ndim)
    for w, speed, quality in ((omega[0], VP, qp), (omega[1], VS, qs)):
        assert w**2 == pytest.approx((k * speed) ** 2 * relative_modulus(equation, quality, w), rel=1e-6)
        assert w.imag / w.real == pytest.approx(0.5 / quality, rel=0.15)


@pytest.mark.parametrize("name", ["between nodes", "free surface", "3-D", "3-D, free surface, between nodes"])
def test_without_absorption_elastic_records_are_lossless(name):
    plain = variant(name, Elastic)
    vp, vs, rho = plain.models
    models = [vp, np.where(vs < vs.mean(), 0.0, vs), rho]  # about half of the cells are fluid
    result, expected = (
        backend("reference").forward(make_problem(**plain.arguments | {"equation": equation}), plain.shots, earth)
        for equation, earth in (
            (ViscoElastic(), [*models, *[np.full_like(vp, 1e14)] * 2]),
            (Elastic(), models),
        )
    )
    assert record_error(result, expected) < 1e-12


def test_equal_qualities_relax_the_free_surface_exactly():
    """All moduli of one earth then have the same m(w); a fraction of Elastic's coefficients relaxes, in each cell."""
    problem = make_problem(ViscoElastic(), (12, 12, 12), 10.0, 1e-3, free_surface=True, pml_width=0)
    shape, rng = problem.grid.shape, np.random.default_rng(0)
    vp, vs, rho = Elastic().example(shape, rng)
    values = dict(
        zip(
            problem.coefficient_names,
            problem.equation.coefficients(NodeAverages(problem, np), vp, vs, rho, *[np.full(shape, 15.0)] * 2),
            strict=True,
        )
    )
    ratios = [values[f"{name}_2"] / values[name] for name in ("pi", "lam", "mu_xy", "mu_xz", "mu_yz")]
    assert np.ptp(ratios) < 1e-12 * np.mean(ratios)


def test_an_earth_that_gains_energy_is_refused():
    problem, ones = make_problem(ViscoElastic(), (24, 24), 10.0, 1e-3), np.ones((24, 24))
    for qp, qs in ((50.0, 11.0), (1e9, 100.0)):
        with pytest.raises(DomainError, match=r"about Qp < 3/4 \(vp / vs\)\^2 Qs"):
            check_values(problem, [VP * ones, VS * ones, RHO * ones, qp * ones, qs * ones], np.ones((1, 9)))
    check_values(problem, [VP * ones, 0 * ones, RHO * ones, 50.0 * ones, 5.0 * ones], np.ones((1, 9)))


# --- anisotropic elastic waves ----------------------------------------------------------------------------------------

THOMSEN = (0.15, 0.05, 0.1)


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("theta", [0.0, 0.4, np.pi / 2])
def test_anisotropic_plane_waves_obey_christoffel_with_relaxing_stiffnesses(theta, ndim):
    """rho w^2 is an eigenvalue of k C(w) k. The derivative of c13 is a central difference here."""
    equation, k = ViscoElasticVTI(8, reference_frequency=0.5), 0.02 / 10.0
    omega = frequencies(equation, (VP, VS, RHO, *THOMSEN, QP, QS), k, theta, ndim)
    direction = np.array([np.sin(theta), 0.0, np.cos(theta)])

    def stiffness(w):
        """Return the 6 x 6 matrix at frequency w: each modulus loses what it loses by itself."""
        now = np.array([relative_modulus(equation, q, w) for q in (QP, QS)]) * RHO * np.square([VP, VS])
        c33, c44 = unrelaxed = now / [relaxed(equation, q, w) for q in (QP, QS)]

        def c13(a, b):
            return np.sqrt((a - b) * ((1 + 2 * THOMSEN[1]) * a - b)) - b

        h = 1e-4 * c33
        slopes = (c13(c33 + h, c44) - c13(c33 - h, c44)) / (2 * h), (c13(c33, c44 + h) - c13(c33, c44 - h)) / (2 * h)
        mixed, (c33, c44) = c13(c33, c44) + np.dot(slopes, now - unrelaxed), now
        c11, c66 = (1 + 2 * THOMSEN[0]) * c33, (1 + 2 * THOMSEN[2]) * c44
        matrix = np.diag([c11, c11, c33, c44, c44, c66])
        matrix[0, 1] = matrix[1, 0] = c11 - 2 * c66
        matrix[:2, 2] = matrix[2, :2] = mixed
        return matrix

    for w in omega[:ndim]:
        assert np.abs(k * christoffel(stiffness(w), RHO, direction) / w - 1).min() < 1e-6


@pytest.mark.parametrize("name", ["between nodes", "free surface", "3-D, free surface, between nodes"])
@pytest.mark.parametrize("limit", ["isotropic", "lossless"])
def test_anisotropic_records_have_the_limits_of_simpler_equations(name, limit):
    plain = variant(name, ViscoElastic if limit == "isotropic" else ElasticVTI)
    vp, vs, rho, *others = plain.models
    vs = np.where(vs < vs.mean(), 0.0, vs)  # about half of the cells are fluid
    if limit == "isotropic":
        earth, expected = [vp, vs, rho, *[0 * vp] * 3, *others], [vp, vs, rho, *others]
    else:
        others[0] = np.maximum(others[0], others[1])  # a fluid has epsilon >= delta
        earth, expected = [vp, vs, rho, *others, *[np.full_like(vp, 1e14)] * 2], [vp, vs, rho, *others]
    executor, options = backend("reference"), plain.arguments | {"equation": ViscoElasticVTI()}
    result = executor.forward(make_problem(**options), plain.shots, earth)
    assert record_error(result, executor.forward(make_problem(**plain.arguments), plain.shots, expected)) < 1e-12


def test_an_anisotropic_earth_that_gains_energy_is_refused():
    problem, ones = make_problem(ViscoElasticVTI(), (24, 24), 10.0, 1e-3), np.ones((24, 24))
    elastic = [value * ones for value in (VP, VS, RHO, *THOMSEN)]
    with pytest.raises(DomainError, match="Qp that is small enough beside Qs"):
        check_values(problem, [*elastic, 1e9 * ones, 100.0 * ones], np.ones((1, 9)))
    elastic[1] = 0 * ones
    check_values(problem, [*elastic, 50.0 * ones, 5.0 * ones], np.ones((1, 9)))


@pytest.mark.parametrize("qs", [20.0, 40.0])
def test_elastic_records_under_a_free_surface_equal_the_closed_form(qs):
    """Garvin's problem in a solid that attenuates: P, S and Rayleigh waves."""
    equation, dt, nt = ViscoElastic(8, reference_frequency=10.0), 0.8e-3, 750
    names, shape = ("vx", "vz"), (90, 230)
    record = shoot(
        equation, (3000.0, 1700.0, 2000.0, QP, qs), shape, dt, nt, 10.0, [(130, 0)], (90, 10),
        source_type=["sxx", "szz"], receiver_type=names, free_surface=True,
    )[:, 0]  # fmt: skip

    def lossy(omega):
        moduli = (relative_modulus(equation, q, relaxing(omega, dt)) for q in (QP, qs))
        return Solid(*(speed * np.sqrt(m) for speed, m in zip((3000.0, 1700.0), moduli, strict=True)), 2000.0)

    response = half_space(Solid(3000.0, 1700.0, 2000.0), "p", 100.0, [("vx", 405.0, 0.0), ("vz", 400.0, 5.0)], lossy)
    exact = Clock(ricker(10.0, nt, dt), dt, stepped=True).record(response, 0.5 * dt, 0.5 * dt)
    assert max(misfit(a, b) for a, b in zip(record.T, exact.T, strict=True)) < 0.01


# --- stability --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reference_frequency", [10.0, 100.0])
def test_the_largest_dt_is_that_of_the_unrelaxed_moduli(reference_frequency):
    """Density contrasts bound dt. Factors of a step that relaxes in this step alone would admit a dt of 1.03 times."""
    rho = np.where(np.arange(24)[:, None] < 12, 1.2, 1000.0) * np.ones(20)
    quality = np.full_like(rho, 5.0)
    for relaxing, lossless in ((ViscoAcoustic, AcousticVariableDensity), (ViscoElastic, Elastic)):
        equation = relaxing(8, mechanisms=1, reference_frequency=reference_frequency)
        speeds = [np.full_like(rho, v) for v in (VP, VS)[: len(lossless.parameters) - 1]]
        faster = [v * equation.relaxation.stiffening(reference_frequency, 5.0) ** 0.5 for v in speeds]
        stated, expected = (
            make_problem(e, rho.shape, 10.0, 2e-3, pml_width=0).largest_dt(*models)
            for e, models in (
                (equation, [*speeds, rho, *[quality] * len(speeds)]),
                (lossless(8), [*faster, rho]),
            )
        )
        assert stated == pytest.approx(expected, rel=1e-3)
        assert stated < 0.9 * 2e-3 * problem_speed(lossless(8), rho.shape) / faster[0].max()


def problem_speed(equation, shape):
    return make_problem(equation, shape, 10.0, 2e-3, pml_width=0).largest_speed


def layered(equation, shape, rng, thickness=4):
    """Return random layers that the equation admits, of Q from 5 to 40."""
    ranges = {p.name: (5.0, 40.0) for p in equation.parameters if p.name.startswith("Q")}
    if "vs" in [p.name for p in equation.parameters]:
        ranges |= {"vp": (1500.0, 4000.0), "vs": (200.0, 2000.0)}
    columns = equation.example((shape[0] // thickness + 1, 1), rng, **ranges)
    return [np.repeat(c, thickness, 0)[: shape[0]] * np.ones(shape) for c in columns]


@pytest.mark.parametrize(("impl", "steps"), [("eager", 2000), pytest.param("c", 20000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("equation", [ViscoAcoustic(4), ViscoElastic(4), ViscoElasticVTI(4)], ids=lambda e: e.name)
def test_nothing_grows_in_random_layers_under_a_free_surface(equation, impl, steps):
    rng = np.random.default_rng(7)
    problem = make_problem(equation, (24, 26), 10.0, 1e-3, free_surface=True, pml_width=8, receiver_type=["vx", "vz"])
    models = layered(equation, problem.grid.shape, rng)
    problem = attrs.evolve(problem, dt=0.99 * problem.largest_dt(*models))
    executor = backend("torch", impl=impl) if has("torch") else backend("reference")
    shots = Shots(ricker(15.0, steps, problem.dt), np.array([[13, 6]]), np.array([[3, 3], [13, 1], [22, 20]]))
    record = np.abs(forward(executor, problem, shots, models))[0]
    assert record[-500:].max() < 1e-3 * record.max() and record[-500:].max() <= record[-1000:-500].max()
