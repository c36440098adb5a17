"""Skipping cells on the CPU changes no bit: results are as with all cells, in any grid, with any number of threads."""

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
    """The outputs of all operations; the last of several times."""
    for _ in range(times):
        run.forward()
        results = {"record": run["record"].copy(), "snapshots": run["snapshots"].copy()}
        if run.struct.chunk:
            y = np.random.default_rng(4).standard_normal(run["cotangent"].shape)
            results |= dict(zip(("coefficients", "wavelet"), map(np.copy, run.adjoint(y)), strict=True))
        run.vary(run.made.direction())
        run.run("born")
        results["born"] = run["record"].copy()
    return results


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("chunk", [0, 7, 1000])
@pytest.mark.parametrize("name", [*VARIANTS, "large"])
def test_computing_everywhere_changes_no_bit(monkeypatch, name, chunk, threads):
    """Where no wave can be yet nothing is computed, and whatever the buffers held there, 0xFF first, is not seen."""
    setup = case(nt=30, nshots=5, shape=(60, 90)) if name == "large" else variant(name)
    runs = [Run(setup, chunk=chunk, threads=threads, snapshots=Snapshots(["h1"], 9)) for _ in range(2)]
    near = everything(runs[0])
    monkeypatch.setenv("SWEEP_EVERYWHERE", "1")
    result = everything(runs[1])
    monkeypatch.delenv("SWEEP_EVERYWHERE")
    again = everything(runs[1], times=2)
    for output, expected in near.items():
        assert np.isfinite(expected).all()
        np.testing.assert_array_equal(result[output], expected, output)
        np.testing.assert_array_equal(again[output], expected, f"{output} after other runs")


@pytest.mark.parametrize("chunk", [7, 1000])
def test_computing_everywhere_changes_no_bit_of_sources_in_the_layers(monkeypatch, chunk):
    """Out of a PML, as into it, waves go two widths of the stencil a step. No position lies there; a caller's may."""
    setup = case(order=8, nt=12, nshots=1, nsrc=1, shape=(90, 40), pml=(30, 30, 4, 4))
    results = []
    for everywhere in ("0", "1"):
        monkeypatch.setenv("SWEEP_EVERYWHERE", everywhere)
        run = Run(setup, chunk=chunk, snapshots=Snapshots(["h1"], 1))
        width = setup.problem.padded_shape[1]
        for name in ("source_inject", "source_gather"):
            run.buffers[f"{name}_cell"].array[:] = 3 * width + 20
        results.append(everything(run))
    for output, expected in results[0].items():
        np.testing.assert_array_equal(results[1][output], expected, output)


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
    seen=st.booleans(),
)
def test_only_what_gets_from_sources_to_receivers_is_computed(
    equation, ndim, half, extra, pml, surface, places, nt, chunk, threads, seen
):
    """Two sources and two receivers that lie together, far apart or out of reach."""
    if ndim == 3:
        extra, pml = (n % 20 for n in extra), (min(n, 6) for n in pml)
    shape, pml = tuple(2 * half + 4 + n for n in extra)[:ndim], list(pml)[: 2 * ndim]
    pml[0] *= not surface
    at = np.array([[round(f * (n - 1)) for f, n in zip(place, shape, strict=False)][::-1] for place in places])
    at[:, -1] = np.maximum(at[:, -1], surface)
    setup = case.__wrapped__(equation, 2 * half, shape, nt, tuple(pml), nshots=1)
    setup.arguments["free_surface"] = surface
    setup = attrs.evolve(setup, shots=attrs.evolve(setup.shots, sources=at[None, :2], receivers=at[None, 1:]))
    asked = Snapshots([setup.problem.fields[0].name], min(nt, 3)) if seen else None
    near, everywhere = (Run(setup, chunk=chunk, threads=n, snapshots=asked) for n in (threads, 1))
    result = everything(near)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SWEEP_EVERYWHERE", "1")
        expected = everything(everywhere)
    for output, values in expected.items():
        assert np.isfinite(values).all()
        np.testing.assert_array_equal(result[output], values, output)


@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("order", [4, 8])
@pytest.mark.parametrize("equation", [Acoustic, Elastic])
def test_threads_share_out_space_in_any_way(monkeypatch, equation, order, surface):
    """Blocks in which several steps are made at once, strips of planes, and one stage after the other where there are
    more threads than strips: bit for bit."""
    pml = (0 if surface else 5, 5, 4, 6, 5, 5)
    setup = case.__wrapped__(equation, order, (46, 70, 30), 9, pml, nshots=1)
    setup.arguments["free_surface"] = surface
    for at in (setup.shots.sources, setup.shots.receivers):
        at[..., 1] = np.clip(at[..., 1], 56, 64)  # about where a block ends
        at[..., -1] = np.maximum(at[..., -1], surface)
    results = {}
    for everywhere in "01":
        monkeypatch.setenv("SWEEP_EVERYWHERE", everywhere)
        results |= {(everywhere, n): everything(Run(setup, chunk=4, threads=n)) for n in (1, 2, 3, 13)}
    for output, expected in results["1", 13].items():
        assert np.isfinite(expected).all() and (expected.any() or not expected.size)
        for run in results.values():
            np.testing.assert_array_equal(run[output], expected, output)
