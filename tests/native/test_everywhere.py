"""The active region changes no bit of a result, in any grid, with any number of threads."""

import attrs
import numpy as np
import pytest
from abi import Run, cpu_library
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import VARIANTS, case, variant

from sweep_core import Acoustic, AcousticVariableDensity, Elastic, Snapshots


@pytest.fixture(scope="module", autouse=True)
def library():
    return cpu_library()


def everything(run, times=1) -> dict:
    """Return the outputs of all operations, of the last of several runs."""
    for _ in range(times):
        run.forward()
        outputs = {"record": run["record"].copy(), "snapshots": run["snapshots"].copy()}
        if run.struct.chunk:
            y = np.random.default_rng(4).standard_normal(run["cotangent"].shape)
            outputs |= dict(zip(("coefficients", "wavelet"), map(np.copy, run.adjoint(y)), strict=True))
        run.vary(run.example.direction())
        run.run("born")
        outputs["born"] = run["record"].copy()
    return outputs


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("chunk", [0, 7, 1000])
@pytest.mark.parametrize("name", [*VARIANTS, "large"])
def test_computing_everywhere_changes_no_bit(monkeypatch, name, chunk, threads):
    """Cells without a wave are not computed. The old contents of buffers there (0xFF at first) have no effect."""
    example = case(nt=30, nshots=5, shape=(60, 90)) if name == "large" else variant(name)
    runs = [Run(example, chunk=chunk, threads=threads, snapshots=Snapshots(["h1"], 9)) for _ in range(2)]
    active_only = everything(runs[0])
    monkeypatch.setenv("SWEEP_EVERYWHERE", "1")
    outputs = everything(runs[1])
    monkeypatch.delenv("SWEEP_EVERYWHERE")
    repeated = everything(runs[1], times=2)
    for output, expected in active_only.items():
        assert np.isfinite(expected).all()
        np.testing.assert_array_equal(outputs[output], expected, output)
        np.testing.assert_array_equal(repeated[output], expected, f"{output} after other runs")


@pytest.mark.parametrize("chunk", [7, 1000])
def test_computing_everywhere_changes_no_bit_for_sources_in_a_pml(monkeypatch, chunk):
    """In a PML waves cross two stencil widths per step. Positions never lie there, but points of a C caller may."""
    example = case(order=8, nt=12, nshots=1, nsrc=1, shape=(90, 40), pml=(30, 30, 4, 4))
    outputs = []
    for everywhere in ("0", "1"):
        monkeypatch.setenv("SWEEP_EVERYWHERE", everywhere)
        run = Run(example, chunk=chunk, snapshots=Snapshots(["h1"], 1))
        width = example.problem.padded_shape[1]
        for name in ("source_inject", "source_gather"):
            run.buffers[f"{name}_cell"].array[:] = 3 * width + 20
        outputs.append(everything(run))
    for output, expected in outputs[0].items():
        np.testing.assert_array_equal(outputs[1][output], expected, output)


fraction = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.8, 1.0])


@settings(deadline=None, max_examples=250, derandomize=True)
@given(
    equation=st.sampled_from([Acoustic, AcousticVariableDensity, Elastic]),
    ndim=st.sampled_from([2, 2, 2, 3]),
    half=st.sampled_from([1, 2, 2, 4, 5]),
    extra=st.tuples(st.integers(0, 120), st.integers(0, 120), st.integers(0, 40)),
    pml=st.tuples(*[st.sampled_from([0, 1, 3, 8, 20, 37])] * 6),
    surface=st.booleans(),
    places=st.tuples(*[st.tuples(fraction, fraction, fraction)] * 3),
    nt=st.integers(1, 40),
    chunk=st.integers(1, 41),
    threads=st.integers(1, 4),
    has_snapshots=st.booleans(),
)
def test_the_active_region_is_enough_for_any_positions(
    equation, ndim, half, extra, pml, surface, places, nt, chunk, threads, has_snapshots
):
    """Two sources and two receivers lie together, far apart, or out of reach of each other."""
    if ndim == 3:
        extra, pml = (n % 20 for n in extra), (min(n, 6) for n in pml)
    shape, pml = tuple(2 * half + 4 + n for n in extra)[:ndim], list(pml)[: 2 * ndim]
    pml[0] *= not surface
    at = np.array([[round(f * (n - 1)) for f, n in zip(place, shape, strict=False)][::-1] for place in places])
    at[:, -1] = np.maximum(at[:, -1], surface)
    example = case.__wrapped__(equation, 2 * half, shape, nt, tuple(pml), nshots=1)
    example.arguments["free_surface"] = surface
    example = attrs.evolve(example, shots=attrs.evolve(example.shots, sources=at[None, :2], receivers=at[None, 1:]))
    request = Snapshots([example.problem.fields[0].name], min(nt, 3)) if has_snapshots else None
    active_only, everywhere = (Run(example, chunk=chunk, threads=n, snapshots=request) for n in (threads, 1))
    outputs = everything(active_only)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SWEEP_EVERYWHERE", "1")
        expected = everything(everywhere)
    for output, values in expected.items():
        assert np.isfinite(values).all()
        np.testing.assert_array_equal(outputs[output], values, output)


@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("order", [4, 8])
@pytest.mark.parametrize("equation", [Acoustic, Elastic])
def test_threads_share_a_grid_in_any_way(monkeypatch, equation, order, surface):
    """Bits do not depend on blocks of several steps, on shares of planes, or on stages in turn (if shares are too few)."""
    pml = (0 if surface else 5, 5, 4, 6, 5, 5)
    example = case.__wrapped__(equation, order, (46, 70, 30), 9, pml, nshots=1)
    example.arguments["free_surface"] = surface
    for at in (example.shots.sources, example.shots.receivers):
        at[..., 1] = np.clip(at[..., 1], 56, 64)  # near the end of a block
        at[..., -1] = np.maximum(at[..., -1], surface)
    outputs = {}
    for everywhere in "01":
        monkeypatch.setenv("SWEEP_EVERYWHERE", everywhere)
        outputs |= {(everywhere, n): everything(Run(example, chunk=4, threads=n)) for n in (1, 2, 3, 13)}
    for output, expected in outputs["1", 13].items():
        assert np.isfinite(expected).all() and (expected.any() or not expected.size)
        for run in outputs.values():
            np.testing.assert_array_equal(run[output], expected, output)
