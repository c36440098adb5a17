"""Law 5: accuracy against closed forms, weak reflections from the PML, and stability of long runs."""

import attrs
import numpy as np
import pytest
from laws import case, error, executors
from scipy.special import hankel2
from waves import misfit, shoot, slopes

from sweep_core import Acoustic, Shots, make_problem, ricker
from sweep_core.numerics.stencils import largest_speed
from sweep_core.numerics.time_dispersion import disperse, overrun, undisperse

VELOCITY, FREQ = 2000.0, 15.0


def compute(models=None, wavelet=None, sources=None, receivers=None, **arguments):
    """Return the traces (nt, nrec) of one shot."""
    return shoot(wavelet, sources, receivers, models, **arguments)[..., 0]


def green(distance, nt, dt, stepped=False):
    """Return the field of a Ricker point source in an unbounded plane: s convolved with -i/4 H0(2)(omega r / v).

    With `stepped`, return the exact solution of a leapfrog in time with exact derivatives in space: 2 / dt
    sin(omega dt / 2) replaces omega. The misfit is then the error of the differences in space alone.
    """
    count = 128 * nt  # the tail of a plane wraps around: 1e-6 of the norm at 16
    spectrum = np.fft.rfft(ricker(FREQ, nt, dt), count)
    omega = 2 * np.pi * np.fft.rfftfreq(count, dt)
    omega = 2 / dt * np.sin(omega * dt / 2) if stepped else omega
    response = np.zeros(len(omega), complex)
    response[1:] = -0.25j * hankel2(0, omega[1:] * distance / VELOCITY)
    return np.fft.irfft(spectrum * response, count)[:nt]


def trace(order, dh, dt, distance, duration, wavelet=None):
    """Return a trace along x (default: a Ricker wavelet); reflections from the edges arrive after its end."""
    cells, nt, path = round(distance / dh), round(duration / dt), VELOCITY * duration
    z, x = int(np.sqrt(path**2 - distance**2) / 2 / dh) + 2, int((path - distance) / 2 / dh) + 2
    shape = (2 * z + 1, 2 * x + 1 + cells)
    at = [(x, z), (x + cells, z)]
    return compute(
        equation=Acoustic(order), shape=shape, dh=dh, dt=dt, pml_width=0, models=[np.full(shape, VELOCITY)],
        wavelet=ricker(FREQ, nt, dt) if wavelet is None else wavelet, sources=at[0], receivers=[at[1]],
    )[:, 0]  # fmt: skip


# --- accuracy ---------------------------------------------------------------------------------------------------------


def test_law5_green_function_in_2d():
    """Relative L2 error below 1e-3 at dx 5 m, dt 0.25 ms, order 8, 400 m away, 0.6 s."""
    assert misfit(trace(8, 5.0, 0.25e-3, 400.0, 0.6), green(400.0, 2400, 0.25e-3)) < 1e-3


@pytest.mark.parametrize("dt", [1e-3, 0.5e-3])
def test_law5_green_function_without_time_dispersion(dt):
    """With a time step four times as long, only the end of the trace has an error; more steps remove it."""
    nt = round(0.6 / dt)
    longer, exact = nt + overrun(nt), green(400.0, nt, dt)

    def corrected(count):
        raw = trace(8, 5.0, dt, 400.0, count * dt, disperse(np, ricker(FREQ, count, dt)))
        return undisperse(np, raw)[:nt]

    assert misfit(trace(8, 5.0, dt, 400.0, 0.6), exact) > 2e-3
    assert misfit(corrected(nt), exact) < 5e-4
    assert misfit(corrected(longer), exact) < 5e-6


def test_law5_order_of_convergence_in_time():
    steps = [1e-3, 0.5e-3, 0.25e-3]
    errors = [misfit(trace(10, 5.0, dt, 240.0, 0.36), green(240.0, round(0.36 / dt), dt)) for dt in steps]
    assert slopes(errors, steps) == pytest.approx([2, 2], rel=0.05)


@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_law5_order_of_convergence_in_space(order):
    """The expected trace is the exact solution of the leapfrog in time, so that dt adds no error."""
    dt, spacings = 0.5e-3, [8.0, 6.0, 5.0, 4.0]
    errors = [misfit(trace(order, dh, dt, 240.0, 0.36), green(240.0, 720, dt, stepped=True)) for dh in spacings]
    assert slopes(errors, spacings) == pytest.approx([order] * 3, rel=0.05)


def test_law5_amplitudes_do_not_change_with_the_grid():
    """A source is s(t) delta(x - xs) for any dh and dt."""
    coarse, fine = trace(8, 8.0, 1e-3, 240.0, 0.36), trace(8, 4.0, 0.5e-3, 240.0, 0.36)
    assert misfit(coarse, fine[::2]) < 0.02


def test_law5_green_function_with_unequal_spacings():
    shape, nt, dt = (150, 300), 720, 0.5e-3
    at = {"z": ((20, 150), (68, 150)), "x": ((75, 90), (75, 186))}
    for (z, x), (to_z, to_x) in at.values():
        record = compute(
            equation=Acoustic(10), shape=shape, dh=(5.0, 2.5), dt=dt, pml_width=20, models=[np.full(shape, VELOCITY)],
            wavelet=ricker(FREQ, nt, dt), sources=(x, z), receivers=[(to_x, to_z)],
        )  # fmt: skip
        assert misfit(record[:, 0], green(240.0, nt, dt, stepped=True)) < 2e-3


def space(distance, nt, dt):
    """Return the field of a Ricker point source in unbounded space, s(t - r / v) / (4 pi r), of a leapfrog in time."""
    count = 16 * nt
    omega = 2 / dt * np.sin(np.pi * np.fft.rfftfreq(count, dt) * dt)
    response = np.exp(-1j * omega * distance / VELOCITY) / (4 * np.pi * distance)
    return np.fft.irfft(np.fft.rfft(ricker(FREQ, nt, dt), count) * response, count)[:nt]


@pytest.mark.parametrize("dh", [8.0, (8.0, 6.0, 5.0)], ids=str)
def test_law5_green_function_in_3d(dh):
    nt, dt, shape = 240, 1e-3, (50, 50, 60)
    dz, dy, dx = (dh,) * 3 if np.ndim(dh) == 0 else dh
    receivers = [(47, 25, 24), (12, 40, 30), (12, 25, 44)]
    record = compute(
        equation=Acoustic(8), shape=shape, dh=dh, dt=dt, pml_width=20, models=[np.full(shape, VELOCITY)],
        wavelet=ricker(FREQ, nt, dt), sources=(12, 25, 24), receivers=receivers,
    )  # fmt: skip
    for trace, (x, y, z) in zip(record.T, receivers, strict=True):
        distance = np.sqrt(((x - 12) * dx) ** 2 + ((y - 25) * dy) ** 2 + ((z - 24) * dz) ** 2)
        assert misfit(trace, space(distance, nt, dt)) < 5e-3


def test_law5_green_function_between_nodes_and_under_a_free_surface():
    """Sources and receivers lie between nodes; the image of the source lies above the surface."""
    shape, nt, dt, dh = (90, 200), 500, 0.5e-3, 5.0
    source, receivers = (60.3, 7.6), [(110.45, 3.25), (100.0, 12.5), (61.7, 40.1), (120.2, 0.4)]
    record = compute(
        equation=Acoustic(8), shape=shape, dh=dh, dt=dt, pml_width=30, models=[np.full(shape, VELOCITY)],
        wavelet=ricker(FREQ, nt, dt), sources=source, receivers=receivers, free_surface=True,
    )  # fmt: skip
    for trace, (x, z) in zip(record.T, receivers, strict=True):
        direct, image = (dh * np.hypot(x - source[0], z - side * source[1]) for side in (1, -1))
        exact = green(direct, nt, dt, stepped=True) - green(image, nt, dt, stepped=True)
        assert misfit(trace, exact) < 5e-3


@pytest.mark.parametrize("entry", executors("reference", "torch-c"))
def test_law5_corrected_records_have_no_time_dispersion(entry):
    """The option `time_dispersion`, at a step four times the largest at which the raw record is as accurate."""
    nt, dt, dh = 600, 1e-3, 5.0
    shape = (201, 281)
    shots = Shots(ricker(FREQ, nt, dt), np.array([[100, 100]]), np.array([[180, 100]]))
    errors = []
    for choice in ("uncorrected", "corrected"):
        problem = make_problem(Acoustic(8), shape, dh, dt, pml_width=40, time_dispersion=choice)
        record = entry.executor_for(problem).forward(problem, shots, [np.full(shape, VELOCITY)])
        errors.append(misfit(np.asarray(record)[0, :, 0, 0], green(400.0, nt, dt)))
    assert errors[0] > 1e-2 and errors[1] < 5e-4


@pytest.mark.parametrize(("choice", "bound"), [("uncorrected", 1.32e-3), ("corrected", 1e-7)])
def test_law5_error_in_devitos_accuracy_problem(choice, bound):
    """1500 m/s, 90 Hz, 0.5 m, 0.1 ms, 85 m away: the L2 norm of the error over sqrt(nt) and over the peak."""
    nt, dt, shape, freq, speed = 1501, 1e-4, (801, 801), 90.0, 1500.0
    record = compute(
        equation=Acoustic(8), shape=shape, dh=0.5, dt=dt, pml_width=20, models=[np.full(shape, speed)],
        wavelet=ricker(freq, nt, dt), sources=(400, 400), receivers=[(520, 520)], time_dispersion=choice,
    )[:, 0]  # fmt: skip
    omega = 2 * np.pi * np.fft.rfftfreq(16 * nt, dt)
    response = np.append(0, -0.25j * hankel2(0, omega[1:] * np.hypot(60, 60) / speed))
    exact = np.fft.irfft(np.fft.rfft(ricker(freq, nt, dt), 16 * nt) * response)[:nt]
    assert np.linalg.norm(record - exact) / np.sqrt(nt) / np.abs(exact).max() < bound


# --- reciprocity, edges, long runs ------------------------------------------------------------------------------------

FACES = {"next to the PML": ((0, 0), (18, 22)), "inside": ((7, 5), (11, 16)), "on faces": ((0, 9), (12, 22))}


@pytest.mark.parametrize("order", [2, 4, 8])
@pytest.mark.parametrize("where", FACES.values(), ids=FACES)
@pytest.mark.parametrize("entry", executors("reference", "torch-c"))
def test_law5_reciprocity(entry, where, order):
    """Source and receiver may be exchanged in a rough model; the traces agree to rounding."""
    setup, (a, b) = case(order=order, nt=200), where
    traces = []
    for source, receiver in ((a, b), (b, a)):
        at = [np.array([point[::-1]]) for point in (source, receiver)]
        shots = Shots(setup.shots.wavelet[0, 0], *at)
        traces.append(entry.forward(attrs.evolve(setup, shots=shots)))
    assert np.abs(traces[0]).max() > 0
    assert error(traces[0], traces[1]) < 1e-12


def reflections(model, dh, dt, freq, depth, order, *widths) -> list[float]:
    """Return reflected over direct peak (dB) for each width of the PML: the worst receiver up to 12 depths away."""
    far = 12 * depth
    slow, fast = model.min(), model.max()
    nt = int((far * dh / slow + 3 / freq + 0.3) / dt)
    margin = int(fast * nt * dt / 2 / dh) + 2
    offsets = np.linspace(0, far, 13).round().astype(int)

    def run(earth, shift, cells):
        return compute(
            equation=Acoustic(order), shape=earth.shape, dh=dh, dt=dt, pml_width=cells, models=[earth],
            wavelet=ricker(freq, nt, dt), sources=(10 + shift, depth + shift),
            receivers=[(10 + shift + x, depth + shift) for x in offsets],
        )  # fmt: skip

    unbounded = run(np.pad(model, margin, mode="edge"), margin, 0)
    reflected = [np.abs(run(model, 0, width) - unbounded).max(0) for width in widths]
    return [20 * np.log10((peak / np.abs(unbounded).max(0)).max()) for peak in reflected]


def layered(shape):
    """Return a bumpy model whose speed increases with depth from 1500 to 4500 m/s."""
    z, x = np.meshgrid(*(np.linspace(0, 1, n) for n in shape), indexing="ij")
    return 3000 + 1500 * np.clip(2 * z - 1 + 0.3 * np.sin(9 * x) * np.sin(7 * z), -1, 1)


@pytest.mark.parametrize("order", [4, 6, 8])
@pytest.mark.parametrize(
    ("depth", "freq"), [(10, 5.0), (10, 25.0), (20, 10.0), pytest.param(40, 10.0, marks=pytest.mark.slow)]
)
def test_law5_the_pml_reflects_less_than_70_db(depth, freq, order):
    """The PML has 20 cells, offsets reach 12 times the depth."""
    model = np.full((2 * depth + 20, 12 * depth + 30), VELOCITY)
    assert reflections(model, 10.0, 2e-3, freq, depth, order, 20)[0] <= -70


@pytest.mark.parametrize(("order", "freq"), [(4, 10.0), (6, 5.0), (6, 10.0), (8, 5.0), (8, 10.0)])
def test_law5_the_pml_reflects_less_than_70_db_in_rough_models(order, freq):
    assert reflections(layered((60, 150)), 10.0, 1e-3, freq, 10, order, 20)[0] <= -70


@pytest.mark.parametrize("order", [2, 4, 6, 8])
@pytest.mark.parametrize("model", [np.full((60, 150), VELOCITY), layered((60, 150))], ids=["uniform", "rough"])
def test_law5_a_wider_pml_reflects_less(model, order):
    """50 cells reflect less than 20."""
    at_20, at_50 = reflections(model, 10.0, 1e-3, 10.0, 10, order, 20, 50)
    assert at_50 < at_20


LONG = {  # shape, seconds, options
    "a minute": ((36, 40), 60, {}),
    "a minute, free surface": ((36, 40), 60, {"free_surface": True, "pml_width": (0, 20, 20, 20)}),
    "20 s, 3-D, free surface": ((14, 12, 13), 20, {"free_surface": True, "pml_width": (0, 12, 12, 12, 12, 12)}),
}


@pytest.mark.parametrize("order", [2, 8, *(pytest.param(order, marks=pytest.mark.slow) for order in (4, 6))])
@pytest.mark.parametrize(
    ("run", "fastest"), [(run, speed) for run in LONG for speed in (1500.0, 6000.0) if "3-D" not in run or speed < 2000]
)
def test_law5_no_late_growth(order, run, fastest):
    """At 0.99 of the largest stable time step, amplitudes decay after a third of the time."""
    (shape, duration, options), dh = LONG[run], 10.0
    dt = 0.99 * largest_speed(order, (dh,) * len(shape), 1.0) / fastest
    rough = np.random.default_rng(4).uniform(0.4, 1, shape) * fastest
    rough.flat[-1] = fastest
    nt, far = int(duration / dt), np.array(shape[::-1]) - 1
    record = compute(
        equation=Acoustic(order), shape=shape, dh=dh, dt=dt, models=[rough], **({"pml_width": 20} | options),
        wavelet=ricker(0.02 / dt, nt, dt), sources=far // 2 + 1, receivers=[0 * far + [*far[:-1] * 0, 1], far // 2, far],
    )  # fmt: skip
    first, second, third = (part.max() for part in np.array_split(np.abs(record), 3))
    assert second < 1e-4 * first and third < second
