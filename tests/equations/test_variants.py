"""The laws over variants: free surfaces, 3-D, positions between nodes, masks, an earth model per shot, snapshots."""

from itertools import cycle

import attrs
import numpy as np
import pytest
from laws import (
    VARIANTS,
    born_of_cell,
    case,
    error,
    executors,
    executors_and_variants,
    known_equations,
    record_error,
    reference_record,
    variant,
    wavelet_and_adjoint,
)

from sweep_core import Acoustic, Shots, Snapshots
from sweep_core.discretization.array_ops import extend
from sweep_core.execution.reference import ReferenceExecutor
from sweep_core.testing import laws
from sweep_core.testing.entries import runs

equation = pytest.mark.parametrize("equation", known_equations())
any_variant = pytest.mark.parametrize("name", VARIANTS)
any_executor = pytest.mark.parametrize("entry", executors())
fast_executors = pytest.mark.parametrize("entry", [p for p in executors(gradient=True) if "jax" not in p.id])


PLACES = ("sources", "receivers")


def case_of(name, equation):
    """Return a case of a variant; in 3-D a wave crosses the model in fewer steps."""
    return runs(variant(name, equation, nt=24 if "3-D" in name else 40))


def waves_of(example):
    return example.problem.equation.waves_in(example.problem.grid.ndim)


@equation
@any_variant
@any_executor
def test_law1_forward_equals_the_reference(entry, name, equation):
    laws.forward_equals_reference(entry, case_of(name, equation))


@any_executor
def test_law1_weights_have_the_precision_of_the_models(entry):
    """Positions in float32 give the same record as the same positions in float64."""
    example = variant("between nodes", Acoustic)
    single, double = (
        attrs.evolve(
            example.shots, **{name: getattr(example.shots, name).astype("float32").astype(dtype) for name in PLACES}
        )
        for dtype in ("float32", "float64")
    )
    expected = ReferenceExecutor().forward(example.problem, double, example.models)
    assert record_error(entry.forward(attrs.evolve(example, shots=single)), expected) < 1e-12


@pytest.mark.parametrize(("entry", "name", "equation"), executors_and_variants(gradient=True))
def test_law2_dot_test_of_the_jacobian(entry, name, equation):
    """Law 3 too: complex steps in single cells on a face, on an edge and in a corner."""
    setup = case_of(name, equation)
    y = setup.noise()
    gradient = entry.jacobian_transposed(setup, y)
    laws.jacobian_and_adjoint(entry, setup)
    shape = setup.models[0].shape
    for cell in (
        (1,) * len(shape),
        (-1,) * len(shape),
        (*(n // 2 for n in shape[:-1]), -1),
        tuple(n // 2 for n in shape),
    ):
        expected = (born_of_cell(setup, cell) * y).sum()
        assert abs(gradient[0][cell] - expected) < 1e-11 * max(abs(expected), np.abs(gradient[0]).mean()), cell


@equation
@fast_executors
def test_law3_with_edges_as_given_a_cell_has_its_own_gradient(entry, equation, monkeypatch):
    """The model in the PML is given: its cells keep their values while a cell of the padded model varies."""
    setup = case_of("edges as given", equation)
    y, under = setup.noise(), [extend(setup.problem, m, np) for m in setup.models]
    gradient = entry.jacobian_transposed(setup, y)[0]
    corner = tuple(low for low, _ in setup.problem.pml)
    for cell in ((0, 0), (0, 11), (-1, -1), (9, 11)):
        varied = [m.astype(complex) for m in under]
        varied[0][tuple(low + i % n for low, i, n in zip(corner, cell, gradient.shape, strict=True))] += 1e-30j
        with monkeypatch.context() as patch:
            padded = cycle(varied)
            patch.setattr("sweep_core.discretization.array_ops.extend", lambda *_, padded=padded: next(padded))
            born = ReferenceExecutor().born(setup.problem, setup.shots, setup.models, setup.direction())
        expected = (born * y).sum()
        assert abs(gradient[cell] - expected) < 1e-11 * max(abs(expected), np.abs(gradient).mean()), cell


@pytest.mark.parametrize("entry", executors("torch-c", "torch-eager", "jax-c"))
def test_law6_more_shots_than_a_group_have_an_earth_model_each(entry):
    """Each earth model has its own gradient for any number of shots."""
    setup = variant("an earth each")
    repeated = [0, 1, 2] * 6
    many = attrs.evolve(setup, shots=setup.shots.take(repeated), models=[m[repeated] for m in setup.models])
    few_gradients, many_gradients = (
        entry.jacobian_transposed(*pair) for pair in ((setup, setup.noise()), (many, setup.noise()[repeated]))
    )
    for a, b in zip(many_gradients, few_gradients, strict=True):
        assert error(a, b[repeated]) < 1e-13


@pytest.mark.parametrize(("entry", "name", "equation"), executors_and_variants(pullback=True))
def test_law2_dot_test_of_the_wavelet(entry, name, equation):
    wavelet_and_adjoint(entry, case_of(name, equation))


@equation
@pytest.mark.parametrize("name", ["free surface", "3-D, free surface, between nodes"])
@pytest.mark.parametrize("entry", executors("torch-eager", "torch-c"))
def test_laws_1_and_2_hold_on_the_surface(entry, name, equation):
    """Sources and receivers are in fields that are not zero on the surface."""
    setup = case_of(name, equation)
    fields = [f.name for f in waves_of(setup) if not f.on_surface]
    if not fields:
        pytest.skip(f"all of {equation.name} is zero there")
    points = {which: np.rint(getattr(setup.shots, which)).astype(int) for which in ("sources", "receivers")}
    for at in points.values():
        at[:, ::2, -1] = 0
    arguments = setup.arguments | {"source_type": fields, "receiver_type": fields}
    setup = attrs.evolve(setup, arguments=arguments, shots=attrs.evolve(setup.shots, **points))
    assert record_error(entry.forward(setup), reference_record(setup)) < 1e-12
    laws.jacobian_and_adjoint(entry, setup)
    wavelet_and_adjoint(entry, setup)


@pytest.mark.parametrize(("entry", "name", "equation"), executors_and_variants(pullback=True))
def test_law2_born_is_the_derivative_of_the_record(entry, name, equation):
    laws.born_equals_reference(entry, case_of(name, equation))


@equation
@pytest.mark.parametrize("name", ["an earth each", "3-D"])
@pytest.mark.parametrize("entry", executors("torch-eager", "torch-c"))
def test_law2_born_in_the_wavelet_equals_the_record(entry, name, equation):
    """The derivative along the wavelet is the record, because the record is linear in the wavelet."""
    import torch

    setup = case_of(name, equation)
    entry.executor_for(setup.problem)
    solver, models = entry.solver(setup), [torch.tensor(m) for m in setup.models]
    wavelet = torch.tensor(setup.shots.wavelet)
    tangent = torch.func.jvp(lambda x: solver(x, models), (0.5 * wavelet,), (wavelet,))[1]
    assert error(tangent, reference_record(setup)) < 1e-12


@equation
@any_variant
@pytest.mark.parametrize("strategy", ["ckpt", "ckpt-7", "boundary"])
@fast_executors
def test_law4_strategies_agree_with_full(entry, strategy, name, equation):
    """Gradients agree bit for bit."""
    laws.strategies_agree(entry, case_of(name, equation), strategy)


@equation
@any_variant
@pytest.mark.parametrize("row", [4, 9])
@pytest.mark.parametrize("strategy", ["full", "ckpt-7", "boundary"])
@fast_executors
def test_law4_known_rows_have_no_gradient(entry, strategy, row, name, equation):
    """Gradients of the other rows agree bit for bit."""
    laws.known_rows_have_no_gradient(entry, case_of(name, equation), strategy, row)


@equation
@pytest.mark.parametrize("strategy", ["full", "ckpt-7", "boundary"])
@pytest.mark.parametrize("entry", executors(gradient=True))
def test_law4_known_rows_scatter_nothing(entry, strategy, equation):
    if "jax" in entry.name and (strategy != "full" or equation is not Acoustic):
        pytest.skip("JAX compiles for seconds whenever a problem is new")
    laws.known_rows_scatter_nothing(entry, case(equation, nt=16), strategy)


@equation
@any_variant
@fast_executors
def test_law6_two_runs_and_any_threads_are_bit_identical(entry, name, equation, threads):
    setup = case_of(name, equation)
    answers = []
    for count in (1, 2, 3):
        threads(count)
        answers.append([entry.forward(setup), *entry.jacobian_transposed(setup, setup.noise())])
    for repeated in answers[1:]:
        for a, b in zip(answers[0], repeated, strict=True):
            np.testing.assert_array_equal(a, b)


@equation
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("strategy", ["full", "ckpt"])
@pytest.mark.parametrize("entry", executors("torch-c"))
def test_law4_skipped_cells_ahead_of_the_wave_change_no_bit(entry, strategy, ndim, equation, monkeypatch):
    """The waves do not fill the grids, and other shots have used the history buffers before."""
    from sweep_torch.memory import pool

    if ndim not in equation(4).ndims:
        pytest.skip(f"{equation.name} has no {ndim} dimensions")
    shape, pml, nt = ((60, 90), 12, 14) if ndim == 2 else ((24, 25, 40), 5, 6)
    setup = case(equation, shape=shape, pml=pml, nt=nt).remembering(strategy)
    answers = []
    for everywhere in ("1", "0", "0"):
        monkeypatch.setenv("SWEEP_EVERYWHERE", everywhere)
        for buffer in pool._buffers:
            buffer.fill_(0xFF)
        answers.append([entry.forward(setup), *entry.jacobian_transposed(setup, setup.noise()), entry.born(setup)])
    for repeated in answers[1:]:
        for a, b in zip(answers[0], repeated, strict=True):
            np.testing.assert_array_equal(a, b)


@any_executor
def test_law1_surveys_may_differ_only_in_their_mask(entry):
    """The runs follow each other: the key of cached survey data must include the mask."""
    setup, mask = case(), np.arange(15).reshape(3, 5) % 2 > 0
    for mask_of_run in (mask, ~mask, mask):
        record = entry.forward(attrs.evolve(setup, shots=attrs.evolve(setup.shots, mask=mask_of_run)))
        assert error(record, np.where(mask_of_run[:, None, :, None], reference_record(setup), 0)) < 1e-12


# --- positions --------------------------------------------------------------------------------------------------------


@any_executor
def test_whole_positions_may_be_floats(entry):
    """A position on a node is that node, to rounding."""
    setup = case()
    shots = setup.shots
    floats = Shots(shots.wavelet, shots.sources.astype(np.float64), shots.receivers.astype(np.float64))
    # A corner needs no cells beyond a face without PML, because it is a node.
    assert record_error(entry.forward(attrs.evolve(setup, shots=floats)), reference_record(setup)) < 1e-12


@pytest.mark.parametrize("entry", executors("torch-eager", "jax-eager"))
@pytest.mark.parametrize("which", ["sources", "receivers"])
def test_gradients_in_positions_equal_finite_differences(entry, which):
    """One position is on a node, where the weights of other nodes are zero and their derivatives are not."""
    setup = variant("between nodes")
    at = np.round(getattr(setup.shots, which), 1)
    at[0, 0] = (9.0, 8.0)
    y = setup.noise()

    def value(positions):
        moved = attrs.evolve(setup, shots=attrs.evolve(setup.shots, **{which: positions}))
        return (ReferenceExecutor().forward(moved.problem, moved.shots, moved.models) * y).sum()

    if "torch" in entry.name:
        import torch

        from sweep_torch import PropTorch

        leaf = torch.tensor(at, requires_grad=True)
        survey = {name: torch.tensor(getattr(setup.shots, name)) for name in ("sources", "receivers")} | {which: leaf}
        record = PropTorch(**setup.arguments, impl="eager")(
            torch.tensor(setup.shots.wavelet), **survey, models=[torch.tensor(m) for m in setup.models]
        )
        (gradient,) = torch.autograd.grad(record, leaf, torch.tensor(y))
    else:
        import jax

        from sweep_jax import PropJax

        solver = PropJax(**setup.arguments, impl="eager")

        def total(positions):
            survey = {name: getattr(setup.shots, name) for name in ("sources", "receivers")} | {which: positions}
            return (solver(setup.shots.wavelet, **survey, models=setup.models) * y).sum()

        gradient = jax.grad(total)(at)
    h = 1e-5
    for index in ((0, 0, 0), (0, 0, 1), (1, 1, 0)):
        step = np.zeros_like(at)
        step[index] = h
        # On a node the window's end leaves a small kink: the gradient is the right-hand derivative.
        backward_steps = 0 if index[:2] == (0, 0) else 1
        difference = (value(at + step) - value(at - backward_steps * step)) / ((1 + backward_steps) * h)
        assert float(gradient[index]) == pytest.approx(difference, rel=1e-5 if backward_steps else 1e-3)


# --- snapshots --------------------------------------------------------------------------------------------------------


@equation
@pytest.mark.parametrize("name", ["free surface", "3-D, free surface, between nodes"])
@pytest.mark.parametrize("every", [1, 7, 39])
@pytest.mark.parametrize("entry", executors(pullback=True))
def test_snapshots_equal_the_reference(entry, every, name, equation):
    """Snapshots of every field, from the surface down."""
    if "jax" in entry.name and (every != 7 or ("3-D" in name and equation is not Acoustic)):
        pytest.skip("JAX compiles for seconds whenever a problem is new")
    setup = case_of(name, equation)
    fields = [f.name for f in waves_of(setup)]
    every = min(every, setup.shots.wavelet.shape[-1] - 1)
    request = Snapshots(fields, every=every, region=((0, 8), *((2, n - 3) for n in setup.models[0].shape[1:])))
    expected = ReferenceExecutor().snapshots(setup.problem, setup.shots, setup.models, request)
    record, snapshots = snapshots_of(entry, setup, request)
    assert list(snapshots) == list(fields)
    for field, values in expected.items():
        assert snapshots[field].shape == values.shape and values.shape[1] == len(
            request.times(setup.shots.wavelet.shape[-1], setup.problem.dt)
        )
        assert error(snapshots[field], values) < 1e-12
    assert error(record, reference_record(setup)) < 1e-12


@pytest.mark.parametrize("between", [False, True])
@pytest.mark.parametrize("entry", executors(pullback=True))
def test_snapshots_need_no_receivers(entry, between):
    setup = variant("between nodes") if between else case(nt=40)
    without_receivers = attrs.evolve(setup, shots=attrs.evolve(setup.shots, receivers=setup.shots.receivers[:, :0]))
    request = Snapshots(["h1"], every=7)
    expected = ReferenceExecutor().snapshots(setup.problem, setup.shots, setup.models, request)["h1"]
    record, snapshots = snapshots_of(entry, without_receivers, request)
    assert record.shape == (3, 40, 0, 1)
    assert error(snapshots["h1"], expected) < 1e-12


def snapshots_of(entry, example, request):
    shots = example.shots
    entry.executor_for(example.problem)
    if "torch" in entry.name:
        import torch

        from sweep_torch import PropTorch

        impl, convert, solver = entry.name.split("-")[1], torch.tensor, PropTorch
    else:
        from sweep_jax import PropJax

        impl, convert, solver = entry.name.split("-")[1], np.asarray, PropJax
    prop = solver(**example.arguments, impl=impl)
    survey = convert(shots.wavelet), shots.sources, shots.receivers
    record, snapshots = prop(*survey, models=[convert(m) for m in example.models], snapshots=request)
    return np.asarray(record), {name: np.asarray(x) for name, x in snapshots.items()}
