"""docs/reference/conventions.md and conventions-run.md, sentence by sentence."""

import re
from pathlib import Path

import numpy as np
import pytest
from small import DT, NT, NX, NZ, VP, jax_solver, problem, record, reference, torch_solver

import sweep_core as sweep
from sweep_core import (
    Acoustic,
    BoundaryOptions,
    CkptOptions,
    Elastic,
    MemoryOptions,
    Shots,
    Snapshots,
    make_problem,
    ricker,
)
from sweep_core.errors import (
    DeviceError,
    DomainError,
    DtypeError,
    OptionError,
    ShapeError,
    StabilityError,
    UnsupportedError,
)
from sweep_core.memory import make_strategy
from sweep_core.numerics.cpml import widths

PAGE = Path(__file__).parents[2] / "docs/reference/conventions-run.md"
POINTS = {"sources": np.array([[3, 2]]), "receivers": np.array([[9, 9]])}


# --- arrays -----------------------------------------------------------------------------------------------------------


def test_the_record_has_axes_shot_time_receiver_and_field():
    """(nshots, nt, nrec, nfield)"""
    assert record(problem(), ricker(20, NT, DT), [[3, 2], [5, 6], [7, 7]], [[0, 0], [39, 29]]).shape == (3, NT, 2, 1)


def test_models_are_depth_first():
    """Cell (x, z) is model[z, x]: a fast column at x = 20 changes the trace below the source, not the one aside."""
    faster = VP.copy()
    faster[:, 20] = 2500.0
    places = [[20, 25], [36, 15]]
    plain, other = (record(problem(), ricker(30, 60, DT), [[20, 5]], places, [m]) for m in (VP, faster))
    change = np.abs(other - plain).max(axis=(0, 1, 3)) / np.abs(plain).max(axis=(0, 1, 3))
    assert change[0] > 2 * change[1]


def test_a_bare_array_is_refused():
    with pytest.raises(DtypeError, match="expected a list or tuple"):
        sweep.check_call(problem(), Shots(ricker(20, NT, DT), **POINTS), VP)


def test_a_transposed_model_is_refused():
    with pytest.raises(ShapeError, match="looks transposed: depth comes first"):
        record(problem(), ricker(20, NT, DT), [[3, 2]], [[0, 0]], [VP.T])


def test_spacing_is_in_the_order_of_the_axes():
    """(dz, dx): the wave needs longer for ten cells of 12 m than of 8 m."""
    wavelet = ricker(40, 150, DT)
    traces = record(problem(dh=(12.0, 8.0)), wavelet, [[20, 15]], [[20, 25], [30, 15]])[0, :, :, 0]
    down, aside = np.argmax(np.abs(traces), axis=0)
    assert down > aside + 10


def test_the_stated_largest_dt_is_the_stability_limit():
    with pytest.raises(StabilityError) as refusal:
        record(problem(dt=0.01), ricker(5, NT, 0.01), [[3, 2]], [[0, 0]])
    stable = float(re.search(r"largest stable dt is ([\d.e-]+)", str(refusal.value))[1])
    record(problem(dt=stable * 0.9999), ricker(5, NT, stable), [[3, 2]], [[0, 0]])
    with pytest.raises(StabilityError):
        record(problem(dt=stable * 1.0001), ricker(5, NT, stable), [[3, 2]], [[0, 0]])


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_a_parameter_is_finite_and_positive(value):
    wrong = VP.copy()
    wrong[4, 7] = value
    with pytest.raises(DomainError, match="vp is .* at z = 4, x = 7"):
        record(problem(), ricker(20, NT, DT), [[3, 2]], [[0, 0]], [wrong])


def test_spatial_order_is_even_and_fits():
    for order in (0, 3, 4.0):
        with pytest.raises(OptionError, match="spatial_order"):
            Acoustic(spatial_order=order)
    problem(shape=(8, 9), order=8)
    with pytest.raises(DomainError, match="7 cells along z"):
        problem(shape=(7, 9), order=8)


def test_equivalent_wavelets_give_the_same_record():
    """The shapes are (nt,), (nshots, nt) and (nshots, nsrc, nt)."""
    one, sources = ricker(20, NT, DT), [[[3, 2], [5, 6]], [[7, 7], [8, 9]]]
    whole = [one, np.stack([one] * 2), np.stack([np.stack([one] * 2)] * 2)]
    answers = [record(problem(), w, sources, [[0, 0]]) for w in whole]
    assert all(np.array_equal(a, answers[0]) for a in answers)
    with pytest.raises(ShapeError, match="wavelet has shape"):
        record(problem(), np.stack([one] * 3), sources, [[0, 0]])


def test_the_default_field_is_h1():
    subject = problem()
    assert subject.source_type == subject.receiver_type == ("h1",)
    with pytest.raises(OptionError, match="names 'vx', which acoustic does not have"):
        problem(receiver_type=["vx"])


# --- positions --------------------------------------------------------------------------------------------------------


def test_columns_are_x_z():
    """A source at (x, z) = (30, 4) is seen first by the receiver at (30, 4)."""
    traces = record(problem(), ricker(20, NT, DT), [[30, 4]], [[30, 4], [4, 29]])[0, :, :, 0]
    assert traces[1, 0] != 0 and traces[1, 1] == 0


def test_positions_count_from_the_corner_of_the_model():
    """They do not count from the corner of the PML: corners are inside, one cell further is outside."""
    corners = [[0, 0], [NX - 1, NZ - 1]]
    for width in (0, 20):
        traces = record(problem(pml_width=width), ricker(20, 5, DT), [[0, 0]], corners)
        assert traces[0, 1, 0] == pytest.approx(DT**2 * 2000**2 / 100 * ricker(20, 5, DT)[0])
    with pytest.raises(DomainError, match=r"source 0 is at x = 40 \(cells\), outside 0..39"):
        record(problem(), ricker(20, 5, DT), [[NX, 0]], corners)
    with pytest.raises(DomainError, match=r"receiver 1 of shot 0 is at z = -1 \(cells\), outside 0..29"):
        record(problem(), ricker(20, 5, DT), [[0, 0]], [[0, 0], [0, -1]])


def test_equivalent_positions_give_the_same_record():
    wavelet, points = ricker(20, NT, DT), [[3, 2], [5, 6]]
    plain = record(problem(), wavelet, points, points)
    assert np.array_equal(record(problem(), wavelet, [[p] for p in points], points), plain)
    assert np.array_equal(record(problem(), wavelet, points, [points, points]), plain)


def test_sources_in_one_cell_add_up():
    wavelet = ricker(20, NT, DT)
    twice = record(problem(), wavelet, [[[3, 2], [3, 2]]], [[9, 9], [9, 9]])
    assert np.allclose(twice[0, :, 0], 2 * record(problem(), wavelet, [[3, 2]], [[9, 9]])[0, :, 0], rtol=1e-12)
    assert np.array_equal(twice[:, :, 0], twice[:, :, 1])


# --- time and source --------------------------------------------------------------------------------------------------


def test_pressure_samples_are_dt_apart():
    subject = problem()
    assert np.array_equal(subject.time("h1", 5), np.arange(5) * DT)


def test_the_record_begins_at_rest():
    """record[0] is zero, wavelet[0] acts on record[1], the last sample acts on no record."""
    wavelet = np.random.default_rng(0).standard_normal(NT)
    plain = record(problem(), wavelet, [[3, 2]], [[3, 2]])
    assert not plain[:, 0].any() and plain[0, 1, 0, 0] == pytest.approx(DT**2 * 2000**2 * wavelet[0] / 100)
    for k in (0, 40, NT - 1):
        other = wavelet.copy()
        other[k] += 1
        same = np.argmax(np.append(record(problem(), other, [[3, 2]], [[3, 2]])[0, :, 0, 0] != plain[0, :, 0, 0], True))
        assert same == k + 1


def at_400_m(dh, dt):
    """Return the trace at 400 m from a source in the middle of 1200 m, every 8 ms."""
    n = round(1200 / dh) + 1
    subject = problem((n, n), dh, dt, order=8)
    wavelet = ricker(10, round(0.56 / dt), dt)
    middle = n // 2
    trace = record(
        subject, wavelet, [[middle, middle]], [[middle + round(400 / dh), middle]], [np.full((n, n), 2000.0)]
    )
    return trace[0, :: round(0.008 / dt), 0, 0]


def test_amplitudes_depend_on_neither_dh_nor_dt():
    coarse, fine, short = at_400_m(20.0, 0.002), at_400_m(10.0, 0.002), at_400_m(20.0, 0.001)
    assert np.abs(fine - coarse).max() < 0.02 * np.abs(coarse).max()
    assert np.abs(short - coarse).max() < 0.02 * np.abs(coarse).max()


def test_delta_is_one_over_the_volume_of_a_cell():
    for dh in ((10.0, 10.0), (5.0, 20.0), (10.0, 20.0)):
        first = record(problem(dh=dh), np.ones(2), [[20, 15]], [[20, 15]])[0, 1, 0, 0]
        assert first == pytest.approx(DT**2 * 2000**2 / (dh[0] * dh[1]), rel=1e-12)


# --- boundaries -------------------------------------------------------------------------------------------------------


def test_a_wall_without_a_pml_reflects_with_minus_one():
    """In a strip with walls far left and right, the trace is that of an open strip minus that of an image source.

    At order 2, the first zero lies one cell outside: the image of z = 6 is at z = -8.
    """
    nz, nx, wavelet = 60, 161, ricker(25, 220, DT)
    wall = problem((nz, nx), order=2, pml_width=(0, 20, 0, 0))
    wide = problem((nz + 60, nx), order=2, pml_width=(0, 20, 0, 0))
    vp = np.full((nz, nx), 2000.0)
    walled = record(wall, wavelet, [[80, 6]], [[80, 16]], [vp])
    open_, image = (
        record(wide, wavelet, [[80, 60 + z]], [[80, 76]], [np.full((nz + 60, nx), 2000.0)]) for z in (6, -8)
    )
    scale = np.abs(open_).max()
    assert np.abs(image).max() > 0.3 * scale
    assert np.abs(walled - (open_ - image)).max() < 1e-6 * scale


def test_pml_widths_are_one_number_or_one_per_face():
    assert problem().pml == ((20, 20), (20, 20))
    subject = problem(pml_width=(1, 2, 3, 4))
    assert subject.pml == ((1, 2), (3, 4)) and subject.padded_shape == (NZ + 3, NX + 7)
    assert widths((1, 2, 3, 4, 5, 6), ndim=3) == ((1, 2), (3, 4), (5, 6))


def test_the_pml_absorbs():
    """With walls the energy stays; the same box with layers is nearly silent after 0.5 s."""
    wavelet = ricker(25, 500, DT)
    walled, layered = (record(problem(pml_width=w), wavelet, [[20, 15]], [[10, 10]])[0, :, 0, 0] for w in (0, 20))
    assert np.abs(walled[-100:]).max() > 1e-1 * np.abs(layered).max()
    assert np.abs(layered[-100:]).max() < 1e-2 * np.abs(walled[-100:]).max()


def test_the_pml_is_a_value_of_the_problem():
    cpml = problem().cpml
    assert (cpml.velocity, cpml.freq) == (3000.0, 5.0)
    assert [cpml.reflection(w) for w in (20, 20 * 16, 5)] == pytest.approx([10**-8.5, 1e-16, 10 ** -(8.5 / 4**0.75)])
    staggered = make_problem(Elastic(6), (20, 20), 10.0, 1e-3).cpml
    assert staggered.reflection(20) == pytest.approx(1e-11)
    assert problem(pml_velocity=2000.0) != problem() == problem()


def test_the_earth_under_the_pml_continues_the_edge():
    """A model padded by its edge cells, with farther walls, gives the same record until the walls reflect."""
    vp = np.random.default_rng(0).uniform(1800, 2200, (NZ, NX))
    wavelet, n = ricker(60, 30, DT), 12
    far = problem((NZ + 2 * n, NX + 2 * n), pml_width=0)
    inner = record(problem(pml_width=20, pml_velocity=1e-9), wavelet, [[0, 0]], [[2, 1]], [vp])
    outer = record(far, wavelet, [[n, n]], [[n + 2, n + 1]], [np.pad(vp, n, mode="edge")])
    assert np.abs(inner - outer).max() < 1e-6 * np.abs(outer).max()


# --- gradient, dtype, device ------------------------------------------------------------------------------------------


def test_the_gradient_of_an_edge_cell_includes_the_pml():
    torch = pytest.importorskip("torch")
    subject = problem(shape=(12, 14))
    vp, shots = np.full((12, 14), 2000.0), Shots(ricker(30, 200, DT), np.array([[7, 6]]), np.array([[2, 2], [11, 9]]))
    executor = sweep_torch_executor()
    _, (gradient,) = executor.misfit_and_gradient(subject, shots, [vp], np.zeros((1, 200, 2, 1)))
    for cell in ((0, 7), (11, 13), (6, 6)):
        misfits = []
        for h in (0.1, -0.1):
            perturbed = vp.copy()
            perturbed[cell] += h
            misfits.append(0.5 * (reference.forward(subject, shots, [perturbed]) ** 2).sum())
        assert torch.as_tensor(gradient)[cell].item() == pytest.approx((misfits[0] - misfits[1]) / 0.2, rel=1e-5)


def sweep_torch_executor():
    from sweep_torch import TorchExecutor

    return TorchExecutor()


def test_the_misfit_is_a_sum():
    pytest.importorskip("torch")
    subject, shots = problem(), Shots(ricker(20, NT, DT), np.array([[3, 2], [5, 6]]), np.array([[9, 9]]))
    expected = record(subject, shots.wavelet, shots.sources, shots.receivers)
    misfit, _ = sweep_torch_executor().misfit_and_gradient(subject, shots, [VP], np.zeros(expected.shape))
    assert float(misfit) == pytest.approx(0.5 * (expected**2).sum(), rel=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_record_has_the_dtype_of_the_models(dtype):
    solver = torch_solver()
    import torch

    vp = torch.full((NZ, NX), 2000.0, dtype=getattr(torch, dtype))
    wavelet = torch.tensor(ricker(20, NT, DT))
    assert solver(wavelet.to(vp.dtype), np.array([[3, 2]]), np.array([[9, 9]]), models=[vp]).dtype == vp.dtype
    other = torch.float32 if vp.dtype == torch.float64 else torch.float64
    with pytest.raises(DtypeError, match="give both in one dtype"):
        solver(wavelet.to(other), np.array([[3, 2]]), np.array([[9, 9]]), models=[vp])


def test_other_dtypes_are_refused():
    with pytest.raises(DtypeError, match="expected all float32 or all float64"):
        sweep.check_call(problem(), Shots(np.zeros(3, np.float16), **POINTS), [VP.astype(np.float16)])


def test_the_reference_computes_in_double():
    single = record(problem(), ricker(20, NT, DT).astype("f4"), [[3, 2]], [[9, 9]], [VP.astype("f4")])
    assert single.dtype == np.float64


def test_nothing_is_moved_silently():
    solver = torch_solver()
    import torch

    meta = torch.empty((NZ, NX), device="meta")
    with pytest.raises(DeviceError, match="nothing is moved silently"):
        solver(torch.zeros(NT), np.array([[3, 2]]), np.array([[9, 9]]), models=[meta])


def test_jax_without_x64_refuses_float64():
    jax = pytest.importorskip("jax")
    from sweep_jax import PropJax

    solver = PropJax(Acoustic(), shape=(NZ, NX), dh=10.0, dt=DT, impl="eager")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(DtypeError, match="jax_enable_x64"):
            solver(ricker(20, NT, DT), sources=np.array([[3, 2]]), receivers=np.array([[9, 9]]), models=[VP])
    finally:
        jax.config.update("jax_enable_x64", before)


# --- not yet ----------------------------------------------------------------------------------------------------------


def torch_run(positions=False, **more):
    """Return (compiled record, vp); positions between nodes, or wavelet and vp, require a gradient."""
    solver = torch_solver(impl="c")
    import torch

    if solver.impl != "c":
        pytest.skip(solver.explain())
    wavelet = torch.tensor(ricker(20, NT, DT), requires_grad=not positions)
    sources = torch.tensor([[8.5, 8.5]], requires_grad=positions)
    vp = torch.tensor(VP, requires_grad=not positions)
    return solver(wavelet, sources, POINTS["receivers"], models=[vp], **more), vp


def second_derivative():
    import torch

    record, vp = torch_run()
    (first,) = torch.autograd.grad(record.pow(2).sum(), vp, create_graph=True)
    torch.autograd.grad(first.sum(), vp)


def torch_program(by):
    """Trace or export a compiled solver as a program of torch."""
    solver = torch_solver(impl="c")
    import torch

    if solver.impl != "c":
        pytest.skip(solver.explain())
    arrays = ricker(20, NT, DT), *(np.asarray(POINTS[name]) for name in ("sources", "receivers"))
    wavelet, sources, receivers = map(torch.tensor, arrays)
    if by == "jit":
        torch.jit.trace(lambda w: solver(w, sources, receivers, models=[torch.tensor(VP)]), wavelet)
    else:
        torch.export.export(solver, (wavelet, sources, receivers, [torch.tensor(VP)]), strict=False)


def snapshots_derivative():
    (_, values), _ = torch_run(snapshots=Snapshots(["h1"], every=NT))
    values["h1"].sum().backward()


def compiled_for(kind, memory):
    """Raise the refusal of a solver on such a device; the device need not exist here."""
    if refusal := make_strategy(memory).refusal_of(kind, Acoustic.levels):
        raise UnsupportedError(refusal)


REFUSED = {
    'a derivative in positions with `impl="c"`': lambda: torch_run(positions=True),
    'second derivatives with `impl="c"`': second_derivative,
    'a derivative of snapshots with `impl="c"`': snapshots_derivative,
    "another `pml_type`": lambda: problem(pml_type="cpmls"),
    '`time_dispersion="corrected"` on a staggered grid': lambda: make_problem(
        Elastic(), (NZ, NX), 10.0, DT, time_dispersion="corrected"
    ),
    '`MemoryOptions("boundary")` with `impl="eager"`': lambda: torch_solver(
        impl="eager", memory=MemoryOptions("boundary")
    ),
    '`BoundaryOptions(storage="cpu")` or `"disk"` with JAX': lambda: jax_solver(
        impl="c", memory=MemoryOptions("boundary", boundary=BoundaryOptions("cpu"))
    ),
    '`BoundaryOptions(storage="disk")` on a GPU': lambda: compiled_for(
        "cuda", MemoryOptions("boundary", boundary=BoundaryOptions("disk"))
    ),
    '`MemoryOptions("full", dtype="int8")` or lower than the models with `impl="eager"`': lambda: torch_solver(
        impl="eager", memory=MemoryOptions("full", dtype="int8")
    ),
    '`MemoryOptions(dtype="float64")` for models in float32': lambda: sweep.check_call(
        problem(memory=MemoryOptions("full", dtype="float64")),
        Shots(ricker(20, NT, DT).astype("float32"), **POINTS),
        [VP.astype("float32")],
    ),
    '`MemoryOptions("full", interval=2)` on a staggered grid, or with `impl="eager"`': lambda: torch_solver(
        impl="eager", memory=MemoryOptions("full", interval=2)
    ),
    '`MemoryOptions(budget=...)` with `impl="eager"`': lambda: torch_solver(
        impl="eager", memory=MemoryOptions(budget=1 << 30)
    ),
    '`CkptOptions(mode="recursive")`, `storage="cpu"` or `"disk"` with `impl="eager"`': lambda: torch_solver(
        impl="eager", memory=MemoryOptions("ckpt", ckpt=CkptOptions(mode="recursive"))
    ),
    '`CkptOptions(storage="cpu")` or `"disk"` with JAX': lambda: jax_solver(
        impl="c", memory=MemoryOptions("ckpt", ckpt=CkptOptions(storage="disk"))
    ),
    "`torch.export` of a solver": lambda: torch_program("export"),
    '`torch.jit.trace` with `impl="c"`': lambda: torch_program("jit"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("feature", REFUSED)
def test_missing_features_are_refused_by_name(feature):
    with pytest.raises(UnsupportedError):
        REFUSED[feature]()


def test_the_page_lists_all_missing_features():
    table = PAGE.read_text().split("## Not yet")[1]
    rows = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")][1:]
    assert rows == list(REFUSED)


def test_staggered_fields_are_half_a_step_apart():
    """A force is seen half a step after its sample, an explosion a whole step after; p is minus the mean of stresses."""
    arguments = {"shape": (NZ, NX), "dh": 10.0, "dt": DT, "receiver_type": ["p", "sxx", "szz", "vz"]}
    models, wavelet = [VP, VP / 2, VP], np.eye(1, 20)[0]
    for fields, first in ((["vz"], 0), (["sxx", "szz"], 1)):
        subject = make_problem(Elastic(), source_type=fields, **arguments)
        shots = Shots(wavelet, np.array([[20, 15]]), np.array([[20, 15]]))
        values = reference.forward(subject, shots, models)[0, :, 0]
        np.testing.assert_array_equal(values[:, 0], -(values[:, 1] + values[:, 2]) / 2)
        assert np.flatnonzero(np.abs(values).sum(axis=1))[0] == first
        np.testing.assert_allclose(subject.source_time(fields[0], 3), (np.arange(3) + first / 2) * DT)
    np.testing.assert_allclose(subject.time("vz", 3), (np.arange(3) + 0.5) * DT)
    np.testing.assert_allclose(subject.time("p", 3), np.arange(3) * DT)
