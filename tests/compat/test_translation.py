"""sweep_compat translates arguments to those of SWEEP and refuses with the names of sweep-solver."""

import importlib
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import sweep_compat
import sweep_core
from sweep_compat import equations
from sweep_compat.propagator import (
    BoundaryOptions,
    BoundarySaving,
    Ckpt,
    CkptOptions,
    CUDAOptions,
    EagerOptions,
    Full,
    MemoryOptions,
)
from sweep_compat.signal import ricker
from sweep_core import OptionError, ShapeError, SweepError, UnsupportedError
from sweep_core.errors import DtypeError, UnknownOptionError

torch = pytest.importorskip("torch")
from sweep_compat.propagator.torch import PropTorch  # noqa: E402
from sweep_torch import PropTorch as Ours  # noqa: E402

SHAPE, DH, DT, NT = (24, 30), 10.0, 0.001, 60
GRID = {"shape": SHAPE, "dh": DH, "dt": DT, "abcn": 8}
WAVE = ricker(np.arange(NT) * DT - 0.03, f=25.0)
SOURCES, RECEIVERS = np.array([[12, 10], [18, 9]]), np.array([[[12, 10], [16, 12], [9, 8]]] * 2)
EXPLOSION = {"source_type": ["sxx", "szz"], "receiver_type": ["vx", "vz", "sxx"]}


def earth(*values):
    return [torch.full(SHAPE, v, dtype=torch.float64) for v in values]


def ours(equation, wave, models, **arguments):
    arguments = {"pml_width": 8, "source_scaling": "increment", "edge_gradient": "interior"} | arguments
    solver = Ours(equation, SHAPE, DH, DT, **arguments)
    return solver(torch.as_tensor(wave), SOURCES, RECEIVERS, models=models)


def test_pressure_is_the_next_sample_of_sweep():
    record = PropTorch(equations.Acoustic(), **GRID)(WAVE, SOURCES, RECEIVERS, models=earth(2000.0))
    expected = ours(sweep_core.Acoustic(), np.append(WAVE, 0), earth(2000.0))
    assert record.shape == (2, NT, 3, 1) and record.is_contiguous()
    assert torch.equal(record, expected[:, 1:]) and record[0, 0, 0, 0] == WAVE[0]


def test_the_gradient_of_an_edge_cell_excludes_the_layer():
    theirs, interior = (m.requires_grad_() for m in (*earth(3000.0), *earth(3000.0)))
    wave = np.append(WAVE, np.zeros(60))
    PropTorch(equations.Acoustic(), **GRID)(wave, SOURCES, RECEIVERS, models=[theirs]).pow(2).sum().backward()
    ours(sweep_core.Acoustic(), np.append(wave, 0), [interior])[:, 1:].pow(2).sum().backward()
    exact = interior.detach().clone().requires_grad_()
    ours(sweep_core.Acoustic(), np.append(wave, 0), [exact], edge_gradient="exact")[:, 1:].pow(2).sum().backward()
    assert (theirs.grad - interior.grad).abs().max() < 1e-12 * interior.grad.abs().max()
    assert (exact.grad - theirs.grad)[-1].abs().max() > 0.1 * theirs.grad[-1].abs().max()


@pytest.mark.parametrize("axes", ["zx", "zyx"])
def test_elastic_coefficients_are_those_of_the_cell(axes):
    vp, vs, rho = np.random.default_rng(0).uniform([[3000], [1000], [2000]], [[4000], [1500], [2500]], (3, 5))
    result = equations.Elastic().coefficients(SimpleNamespace(axes=axes), vp, vs, rho)
    n, mu = len(axes), rho * vs**2
    expected = [*[1 / rho] * n, rho * vp**2, rho * vp**2 - 2 * mu, *[mu] * (1 if n == 2 else 3)]
    assert np.allclose(result, expected, rtol=1e-14)


def test_velocities_are_the_same_sample_and_stresses_the_next():
    record = PropTorch(equations.Elastic(), **GRID, **EXPLOSION)(
        WAVE, SOURCES, RECEIVERS, models=earth(2000.0, 1100.0, 2100.0)
    )
    expected = ours(sweep_core.Elastic(), np.append(WAVE, 0), earth(2000.0, 1100.0, 2100.0), **EXPLOSION)
    for i, begin in enumerate((0, 0, 1)):
        assert torch.allclose(record[..., i], expected[:, begin : begin + NT, :, i], rtol=1e-10, atol=1e-16)


def test_a_force_acts_one_step_later_and_is_recorded_at_once():
    force = {"source_type": ["vz"], "receiver_type": ["vz"]}
    models = earth(2000.0, 1100.0, 2100.0)
    record = PropTorch(equations.Elastic(), **GRID, **force)(WAVE, SOURCES, RECEIVERS, models=models)[..., 0]
    expected = ours(sweep_core.Elastic(), np.append(0, WAVE), models, **force)[:, :NT, :, 0]
    expected[0, :, 0] += torch.as_tensor(WAVE)  # the first receiver is at the first source
    assert torch.allclose(record, expected, rtol=1e-10, atol=1e-13)


def test_stresses_and_forces_may_act_together():
    models = earth(2000.0, 1100.0, 2100.0)

    def record(*driven):
        solver = PropTorch(equations.Elastic(), **GRID, source_type=[*driven], receiver_type=["vx"])
        return solver(WAVE, SOURCES, RECEIVERS, models=models)

    assert torch.allclose(record("szz", "vz"), record("szz") + record("vz"), rtol=1e-9, atol=1e-14)


def test_scattered_waves_are_the_born_record_of_half_the_reflectivity_times_the_speed():
    (vp,) = earth(2000.0)
    mp = torch.zeros_like(vp)
    mp[15, 6:20] = 0.1
    solver = PropTorch(equations.AcousticLSRTM(), **GRID)
    mp.requires_grad_()
    record = solver(WAVE, SOURCES, RECEIVERS, models=[vp, mp])
    born = Ours(sweep_core.Acoustic(), SHAPE, DH, DT, pml_width=8, source_scaling="increment", edge_gradient="interior")
    wave = torch.as_tensor(np.append(WAVE, 0))
    expected = born.born(wave, SOURCES, RECEIVERS, [mp.detach() * vp / 2], models=[vp])[:, 1:]
    assert record.abs().max() > 0 and torch.equal(record, expected)
    record.sum().backward()
    assert mp.grad.abs().max() > 0
    with pytest.raises(UnsupportedError, match="use impl='eager'"):
        solver(WAVE, SOURCES, RECEIVERS, models=[vp.requires_grad_(), mp]).sum().backward()


WALLS = {
    "top": (True, (0, 8, 8, 8)),
    "left": ("left", (8, 8, 0, 8)),
    "bottom": ({"bottom": 1, "top": 0}, (8, 0, 8, 8)),
    "two": ((1, 0, 0, 1), (0, 8, 8, 0)),
}


@pytest.mark.parametrize(("free", "width"), WALLS.values(), ids=WALLS)
def test_a_free_surface_of_pressure_is_a_wall(free, width):
    wave = np.append(WAVE, np.zeros(80))
    record = PropTorch(equations.Acoustic(), **GRID, free_surface=free)(wave, SOURCES, RECEIVERS, models=earth(3000.0))
    reflected, absorbed = (
        ours(sweep_core.Acoustic(), np.append(wave, 0), earth(3000.0), pml_width=w)[:, 1:] for w in (width, 8)
    )
    assert torch.equal(record, reflected) and (record - absorbed).abs().max() > 0.01 * record.abs().max()


def test_several_sources_of_one_shot_have_a_wavelet_each():
    solver, models = PropTorch(equations.Acoustic(), **GRID), earth(2000.0)
    at, to = SOURCES[None], RECEIVERS[:1]
    record = solver(np.stack([WAVE, 2 * WAVE]), at, to, models=models)
    parts = solver(WAVE, SOURCES, RECEIVERS, models=models)
    assert torch.allclose(record[0], parts[0] + 2 * parts[1], atol=1e-12)
    assert torch.allclose(solver(WAVE, at, to, models=models)[0], parts[0] + parts[1], atol=1e-12)


@pytest.mark.parametrize("equation", ["Acoustic", "Elastic", "AcousticLSRTM"])
def test_both_frameworks_agree(equation):
    pytest.importorskip("jax")
    from sweep_compat.propagator.jax import PropJax

    values = {"Acoustic": (2000.0,), "Elastic": (2000.0, 1100.0, 2100.0), "AcousticLSRTM": (2000.0, 0.1)}[equation]
    kind = getattr(equations, equation)
    force = {"source_type": ["vz", "szz"], "receiver_type": ["vz", "szz"]} if equation == "Elastic" else {}
    by_torch = PropTorch(kind(), **GRID, **force)(WAVE, SOURCES, RECEIVERS, models=earth(*values))
    models = [m.numpy() for m in earth(*values)]
    by_jax = PropJax(kind(backend="jax"), **GRID, **force)(WAVE, SOURCES, RECEIVERS, models=models)
    assert np.allclose(by_jax, by_torch, rtol=1e-9, atol=1e-12 * abs(by_torch.numpy()).max())


def test_positions_and_wavelets_may_be_arrays_of_any_kind():
    solver, models = PropTorch(equations.Acoustic(), **GRID), [m.float() for m in earth(2000.0)]
    expected = solver(WAVE, SOURCES, RECEIVERS, models=models)
    assert expected.dtype == torch.float32
    for change in (torch.as_tensor, np.float32, lambda x: x.tolist()):
        assert torch.equal(solver(change(WAVE), change(SOURCES), change(RECEIVERS), models=models), expected)


MEMORY = {
    "nothing": ({}, "MemoryOptions()"),
    "use_ckpt": ({"use_ckpt": True}, "MemoryOptions(strategy='ckpt', ckpt=CkptOptions(chunks=3))"),
    "ckpt_chunks": (
        {"use_ckpt": True, "ckpt_chunks": 50},
        "MemoryOptions(strategy='ckpt', ckpt=CkptOptions(chunks=5))",
    ),
    "use_ckpt=False": ({"use_ckpt": False}, "MemoryOptions(strategy='full')"),
    "Full": ({"memory": Full()}, "MemoryOptions(strategy='full')"),
    "Ckpt": ({"memory": Ckpt(chunks=250)}, "MemoryOptions(strategy='ckpt', ckpt=CkptOptions(chunks=1))"),
    "recursive": (
        {"memory": CkptOptions("recursive", count=9)},
        "MemoryOptions(strategy='ckpt', ckpt=CkptOptions(mode='recursive', count=9))",
    ),
    "boundary": (
        {"memory": BoundarySaving(storage_dtype="int8", pinned_memory=True)},
        "MemoryOptions(strategy='boundary', boundary=BoundaryOptions(dtype='int8'))",
    ),
    "cuda_options": (
        {"cuda_options": CUDAOptions(MemoryOptions("boundary", BoundaryOptions("cpu"))), "impl": "c"},
        "MemoryOptions(strategy='boundary', boundary=BoundaryOptions(storage='cpu'))",
    ),
    "a dictionary": (
        {"boundary_saving_config": {"enabled": True, "storage_dtype": "bf16"}},
        "MemoryOptions(strategy='boundary', boundary=BoundaryOptions(dtype='bfloat16'))",
    ),
    "both agree": (
        {"use_ckpt": False, "memory": BoundarySaving()},
        "MemoryOptions(strategy='boundary', boundary=BoundaryOptions())",
    ),
}


@pytest.mark.parametrize(("inputs", "expected"), MEMORY.values(), ids=MEMORY)
def test_memory_options_are_translated(inputs, expected):
    solver = PropTorch(equations.Acoustic(), **GRID, **inputs)
    assert str(solver._solver(201).problem.memory) == expected


REFUSED = {
    "a misspelling": ({"abnc": 20}, UnknownOptionError, "did you mean 'abcn'"),
    "our name": ({"pml_width": 20}, UnknownOptionError, "sweep-solver calls it abcn"),
    "a number": ({"shape": 24}, ShapeError, "shape is 24; expected .nz, nx."),
    "a switch": (
        {"boundary_saving_config": True},
        OptionError,
        "boundary_saving_config is True; expected a dictionary",
    ),
    "a surface": ({"topography": np.zeros(30)}, UnsupportedError, "flat free surface"),
    "topography": ({"topography": [1] * 30}, UnsupportedError, "topography=.* flat free surface"),
    "nt": ({"nt": 100}, UnsupportedError, "nt=100 is not supported; a call has as many steps as"),
    "boundary_buffer": ({"boundary_buffer": 3}, UnsupportedError, "boundary_buffer=3"),
    "a backend": ({"backend": "jax"}, OptionError, "backend is 'jax'; expected 'torch' for PropTorch"),
    "an equation's backend": ({"equation": equations.Acoustic(backend="jax")}, OptionError, "backend is 'jax'"),
    "an equation of ours": ({"equation": sweep_core.Acoustic()}, OptionError, "expected one of sweep_compat.equations"),
    "a class": (
        {"equation": equations.Acoustic},
        OptionError,
        r"expected one of sweep_compat.equations, .* Acoustic\(\)",
    ),
    "dimensions": ({"shape": (20, 20, 20)}, ShapeError, "expected 2 dimensions for Acoustic"),
    "a face": ({"free_surface": "front"}, OptionError, "free_surface is 'front'; expected True, names of faces"),
    "widths": ({"abcn": (8, 8), "free_surface": True}, ShapeError, "abcn is .*one for each face: top, bottom"),
    "a free solid": ({"equation": equations.Elastic(), "free_surface": True}, UnsupportedError, "sweep_core.Elastic"),
    "a string of fields": ({"receiver_type": "h1"}, OptionError, r"receiver_type is 'h1'; expected a list"),
    "a field": ({"receiver_type": ["vx"]}, SweepError, "vx"),
    "a PML": ({"pml_type": "spml"}, UnsupportedError, "spml"),
    "contradictions": ({"use_ckpt": True, "memory": Full()}, OptionError, "contradict each other"),
    "contradictions too": ({"use_ckpt": False, "memory": Ckpt()}, OptionError, "contradict each other"),
    "memory": ({"memory": "full"}, OptionError, "memory is 'full'; expected Full"),
    "memory of CUDA": ({"cuda_options": CUDAOptions("full")}, OptionError, "cuda_options is 'full'; expected Full"),
    "options": ({"eager_options": {"use_compile": True}}, OptionError, "options are .*expected EagerOptions"),
    "velocities": (
        {"equation": equations.Acoustic1st(backend="torch"), "receiver_type": ["vx"]},
        UnsupportedError,
        "receiver_type is .'vx'.; expected .'p'. for Acoustic1st",
    ),
}


@pytest.mark.parametrize(("inputs", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_a_propagator_names_the_bad_argument(inputs, error, message):
    with pytest.raises(error, match=message):
        PropTorch(**{"equation": equations.Acoustic(), **GRID} | inputs)


OPTIONS = {
    "transfer_interval": (BoundarySaving, {"transfer_interval": 64}, UnsupportedError, "SWEEP itself chooses"),
    "pinned_memory": (Ckpt, {"pinned_memory": False}, UnsupportedError, "always pinned"),
    "tail_steps": (BoundarySaving, {"tail_steps": 5}, UnsupportedError, "exact gradient"),
    "storage_dtype": (BoundarySaving, {"storage_dtype": "float16"}, OptionError, "expected one of 'fp32'"),
    "chunks": (Ckpt, {"chunks": 0}, OptionError, "chunks is 0; expected a whole number from 1 on"),
    "count": (Ckpt, {"count": 4}, OptionError, "does not apply to mode 'chunk'"),
    "recursive": (Ckpt, {"mode": "recursive"}, OptionError, "count is 0; expected a whole number from 1 on"),
    "a strategy": (MemoryOptions, {"ckpt": Ckpt()}, OptionError, "does not apply to strategy None"),
    "use_compile": (EagerOptions, {"use_compile": True}, UnsupportedError, "impl='c' is compiled code"),
    "an order": (equations.Acoustic, {"space_order": 8}, UnknownOptionError, "'spatial_order'"),
    "a dimension": (equations.Acoustic, {"dim": 3}, OptionError, "dim is 3"),
    "a wavelet": (ricker, {"t": 0.0, "freq": 3}, UnknownOptionError, "is f in sweep-solver"),
    "a frequency": (ricker, {"t": 0.0, "f": "3"}, DtypeError, "f is '3'; expected one number, Hz"),
}


@pytest.mark.parametrize(("kind", "inputs", "error", "message"), OPTIONS.values(), ids=OPTIONS)
def test_options_name_the_bad_argument(kind, inputs, error, message):
    with pytest.raises(error, match=message):
        kind(**inputs)


CALLS = {
    "adj": ({"adj": True}, UnsupportedError, "adj=True.*backward"),
    "return_wavefield": ({"return_wavefield": True}, UnsupportedError, "Snapshots"),
    "a name": ({"src": 1}, UnknownOptionError, "a call of PropTorch has no argument 'src'"),
    "no models": ({"models": None}, ShapeError, r"expected a list of \['vp'\]"),
    "a bare model": ({"models": torch.ones(SHAPE)}, ShapeError, "models are Tensor; expected a list"),
    "a NumPy model": ({"models": [np.ones(SHAPE)]}, DtypeError, "model vp is ndarray; expected numbers, and models"),
    "a word": ({"wavelet": "ricker"}, DtypeError, "wavelet is str"),
    "no receivers": ({"receivers": None}, DtypeError, "receivers are NoneType; expected an array of cells"),
    "between cells": ({"sources": SOURCES + 0.5}, DtypeError, "sources are not whole numbers of cells"),
    "outside": ({"sources": SOURCES + 50}, sweep_core.DomainError, "source 0"),
}


@pytest.mark.parametrize(("inputs", "error", "message"), CALLS.values(), ids=CALLS)
def test_a_call_names_the_bad_argument(inputs, error, message):
    call = {"wavelet": WAVE, "sources": SOURCES, "receivers": RECEIVERS, "models": earth(2000.0)}
    with pytest.raises(error, match=message):
        PropTorch(equations.Acoustic(), **GRID)(**call | inputs)


def test_a_missing_name_points_to_an_existing_one():
    with pytest.raises(UnsupportedError, match="'AcousticVTI': SWEEP has no anisotropic"):
        equations.AcousticVTI  # noqa: B018
    with pytest.raises(ImportError, match="Akustic"):
        from sweep_compat.equations import Akustic  # noqa: F401
    with pytest.raises(UnsupportedError, match="'viz': sweep_core.plot"):
        sweep_compat.viz  # noqa: B018
    with pytest.raises(AttributeError, match="has no 'colour'"):
        sweep_compat.colour  # noqa: B018
    with pytest.raises(AttributeError, match="PropTorch, PropJax"):
        sweep_compat.propagator.PropTensorflow  # noqa: B018


def test_only_the_requested_framework_is_imported():
    for code, absent in (
        ("import sweep_compat, sweep_compat.equations, sweep_compat.propagator.options", {"torch", "jax", "sweep"}),
        ("from sweep_compat.propagator import PropTorch", {"jax", "sweep"}),
    ):
        process = subprocess.run(
            [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True
        )
        assert process.returncode == 0 and not absent & set(process.stdout.split()), process.stderr
    assert importlib.import_module("sweep_compat").propagator.PropTorch is PropTorch
