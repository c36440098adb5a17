"""parallel(solver, devices) of torch: any number of devices gives the record and the gradient of one."""

import signal
import threading
import time

import attrs
import numpy as np
import pytest
import torch
from laws import VARIANTS, case, error, shipped_equations, variant

from sweep_core import (
    AcousticVariableDensity,
    DeviceError,
    DomainError,
    OptionError,
    Shots,
    Snapshots,
    UnsupportedError,
)
from sweep_core._util.threads import run_in_threads
from sweep_core.errors import MemoryLimitError, UnknownOptionError
from sweep_core.inversion import Stage, invert
from sweep_torch import PropTorch, TorchExecutor, parallel, parallel_solver
from sweep_torch.distribution import DevicesExecutor
from sweep_torch.memory import Pool, left_on


def record_and_gradients(solver, example):
    """Return the record, and the gradients in the wavelet and each model for a fixed cotangent."""
    leaves = [torch.tensor(x, requires_grad=True) for x in (example.shots.wavelet, *example.models)]
    shots = example.shots
    record = solver(leaves[0], shots.sources, shots.receivers, models=leaves[1:], receiver_mask=shots.mask)
    cotangent = torch.tensor(np.random.default_rng(1).standard_normal(record.shape))
    return record.detach(), torch.autograd.grad(record, leaves, cotangent)


def assert_equal_to_serial(example, impl, count):
    """Compare devices with one; every equation supports both implementations, or skips."""
    support = TorchExecutor(impl).supports(example.problem)
    if not support:
        pytest.skip(support.reason)
    solver = PropTorch(**example.arguments, impl=impl)
    expected, gradients = record_and_gradients(solver, example)
    record, own = record_and_gradients(parallel(solver, ["cpu"] * count), example)
    assert torch.equal(record, expected)
    for a, b in zip(own, gradients, strict=True):
        assert torch.equal(a, b) or error(a, b.numpy()) <= 1e-12


@pytest.mark.parametrize("equation", shipped_equations())
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(("impl", "nshots"), [("c", 1), ("c", 2), ("c", 5), ("c", 7), ("eager", 5)])
def test_shots_on_any_number_of_devices_equal_the_serial_run(impl, nshots, count, equation):
    assert_equal_to_serial(case(equation, nshots=nshots, nt=24), impl, count)


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("impl", ["c", "eager"])
def test_variants_of_a_survey_equal_the_serial_run(impl, name):
    """Masks, positions between nodes, an earth for each shot, sources in each field."""
    assert_equal_to_serial(variant(name, nt=24), impl, 2)


def test_no_shots_give_an_empty_record_and_a_zero_gradient():
    example = case(nshots=2)
    none = attrs.evolve(example, shots=example.shots.take([]))
    record, (of_wavelet, of_model) = record_and_gradients(parallel(PropTorch(**none.arguments), ["cpu"] * 3), none)
    assert record.shape[0] == of_wavelet.numel() == 0 and of_model.abs().max() == 0


def test_a_wavelet_for_each_field_is_shared_by_all_shots():
    """The first axis of such a wavelet counts samples, so that no part takes rows of it."""
    example = case(AcousticVariableDensity, nshots=4, nsrc=1)
    solver = PropTorch(**example.arguments | {"source_type": ["p", "vz"]})
    wavelet = torch.tensor(np.random.default_rng(0).standard_normal((9, 2)))
    survey = example.shots.sources[:, 0], example.shots.receivers, [torch.tensor(m) for m in example.models]
    assert torch.equal(parallel(solver, ["cpu", "cpu"])(wavelet, *survey), solver(wavelet, *survey))


@pytest.fixture
def both():
    """Return a solver that owns its models, the same on two devices, and the arguments of a call."""
    example = case(nshots=5)
    solver = PropTorch(**example.arguments, models=[torch.tensor(m) for m in example.models])
    shots = example.shots
    return solver, parallel(solver, ["cpu", "cpu"]), (torch.tensor(shots.wavelet), shots.sources, shots.receivers)


def test_snapshots_and_born_records_equal_the_serial_run(both):
    solver, two, survey = both
    asked = Snapshots(["h1"], every=5)
    for a, b in zip(two(*survey, snapshots=asked), solver(*survey, snapshots=asked), strict=True):
        assert torch.equal(a, b) if isinstance(a, torch.Tensor) else torch.equal(a["h1"], b["h1"])
    perturbations, d_wavelet = (
        [torch.randn(solver.vp.shape, dtype=torch.float64)],
        torch.randn(survey[0].shape).double(),
    )
    for directions in ((perturbations,), (perturbations, None, None, d_wavelet)):
        assert torch.equal(two.born(*survey, *directions), solver.born(*survey, *directions))


def test_the_parameters_are_those_of_the_solver(both):
    solver, two, survey = both
    assert [p is solver.vp for p in two.parameters()] == [True]
    two(*survey).square().sum().backward()
    own, solver.vp.grad = solver.vp.grad, None
    solver(*survey).square().sum().backward()
    assert error(own, solver.vp.grad.numpy()) <= 1e-12


def test_the_gradient_mode_of_the_caller_holds_in_each_part(both):
    """Compiled code refuses receivers that ask for a gradient, unless no gradients are computed."""
    _, two, (wavelet, sources, _) = both
    receivers = torch.tensor([[9.0, 8.0]], requires_grad=True)
    with pytest.raises(UnsupportedError, match="receivers ask for one"):
        two(wavelet, sources, receivers)
    with torch.no_grad():
        assert not two(wavelet, sources, receivers).requires_grad


def test_two_runs_on_three_devices_are_bit_identical(both):
    solver, _, survey = both
    results = []
    for _ in range(2):
        solver.vp.grad = None
        parallel(solver, ["cpu"] * 3)(*survey).square().sum().backward()
        results.append(solver.vp.grad)
    assert torch.equal(*results)


def test_transforms_of_torch_func_pass_through(both):
    solver, two, survey = both
    vp, direction = solver.vp.detach(), torch.randn(solver.vp.shape, dtype=torch.float64)
    pairs = [torch.func.jvp(lambda vp, f=f: f(*survey, models=[vp]), (vp,), (direction,)) for f in (two, solver)]
    assert all(torch.equal(a, b) for a, b in zip(*pairs, strict=True))
    slopes = [torch.func.grad(lambda vp, f=f: f(*survey, models=[vp]).square().sum())(vp) for f in (two, solver)]
    assert error(slopes[0], slopes[1].numpy()) <= 1e-12


def test_parts_run_at_once_and_share_the_threads_and_the_memory(both, threads, monkeypatch):
    solver, two, survey = both
    threads(5)
    meeting, shares = threading.Barrier(2, timeout=30), []

    def watched(*arguments):
        shares.append((torch.get_num_threads(), left_on(torch.device("cpu"))))
        meeting.wait()  # breaks unless both parts are here, and neither runs before both are measured
        return run(*arguments)

    run = parallel_solver.run
    monkeypatch.setattr(parallel_solver, "run", watched)
    monkeypatch.setattr("sweep_torch.memory.available", lambda: 1000)
    pool = Pool()
    monkeypatch.setattr("sweep_torch.memory.pool", pool)
    two(*survey)
    assert shares == [(2, 500), (2, 500)]
    pool.empty()
    assert torch.get_num_threads() == run_in_threads([torch.get_num_threads])[0] == 5
    assert left_on(torch.device("cpu")) == 1000


def test_an_inversion_runs_on_devices(both):
    """The models equal those of one device to rounding, for plain least squares and for weights."""
    solver, two, survey = both
    (start,), observed = [0.99 * solver.vp.detach()], solver(*survey).detach()
    for weights in (None, np.ones(observed.shape)):
        serial, own = (
            invert(f, *survey, observed, [start], Stage(2), batch=5, weights=weights, progress=False).models[0]
            for f in (solver, two)
        )
        assert np.abs(own - start.numpy()).max() > 1 and error(own, serial) < 1e-9


def test_an_executor_over_devices_has_every_operation(both):
    solver, two, survey = both
    shots, models = Shots(*survey), [solver.vp.detach()]
    one, executor = solver.executor, two.executor
    assert isinstance(executor, DevicesExecutor) and executor.supports(solver.problem)
    observed = torch.randn_like(one.forward(solver.problem, shots, models))
    assert torch.equal(*(e.forward(solver.problem, shots, models) for e in (executor, one)))
    assert torch.equal(*(e.born(solver.problem, shots, models, models) for e in (executor, one)))
    for operation in ("misfit_and_gradient", "pulled_back"):
        results = [
            e.misfit_and_gradient(solver.problem, shots, models, observed)[1][0]
            if operation == "misfit_and_gradient"
            else e.pullback(solver.problem, shots, models)[1](observed)[0]
            for e in (executor, one)
        ]
        assert error(results[0], results[1].numpy()) <= 1e-12


def test_a_shot_that_is_refused_has_its_own_number(both):
    _, two, (wavelet, sources, receivers) = both
    bad = sources.copy()
    bad[4, 1, 0] = 99
    with pytest.raises(DomainError, match="source 1 of shot 4 is at x = 99"):
        two(wavelet, bad, receivers)


def test_an_error_of_one_part_is_raised(both, monkeypatch):
    _, two, survey = both
    run = parallel_solver.run

    def failing(problem, impl, shots, *rest):
        if len(shots) == 3:  # the second part of five shots
            raise MemoryLimitError("too large")
        return run(problem, impl, shots, *rest)

    monkeypatch.setattr(parallel_solver, "run", failing)
    with pytest.raises(MemoryLimitError, match="too large"):
        two(*survey)


def test_devices_are_described(both):
    solver, two, _ = both
    assert repr(two) == f"parallel({solver!r}, devices=['cpu', 'cpu'])"
    assert two.explain() == f"shots over 2 devices (cpu, cpu); {solver.explain()}"
    assert two.problem == solver.problem and two.impl == solver.impl and two.device == solver.device
    assert np.array_equal(two.time("h1", 5), solver.time("h1", 5))
    assert np.array_equal(two.source_time("h1", 5), solver.source_time("h1", 5))


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ([], r"devices is \[\]; expected a list of one or more devices"),
        ("cpu", "devices is 'cpu'; expected a list"),
        (["cpu", "cuda:99"], "device 'cuda:99' cannot be used"),
        (["meta", "cpu"], "the solver is on cpu; expected meta, the first of devices"),
    ],
)
def test_devices_that_cannot_be_used_are_refused(devices, message, both):
    with pytest.raises(DeviceError, match=message):
        parallel(both[0], devices)


def test_an_object_that_is_no_solver_is_refused(both):
    with pytest.raises(OptionError, match="expected a PropTorch"):
        parallel(both[1], ["cpu"])


def test_a_keyword_of_another_package_is_refused(both):
    solver, two, survey = both
    with pytest.raises(UnknownOptionError, match="a call of ParallelTorch has no argument 'nt'"):
        two(*survey, nt=3)


def test_ctrl_c_interrupts_all_calls():
    """The waiting thread is interrupted, and raises the same in each call before it goes on."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore SIGINT
    names, running = [], []  # no lock, which an interrupted call might never release

    def call():
        try:
            running.append(True)
            while True:
                time.sleep(0.01)
        except KeyboardInterrupt:
            names.append(threading.current_thread().name)
            raise

    def interrupt():
        while len(running) < 2:
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run_in_threads([call, call])
    finally:
        signal.signal(signal.SIGINT, handler)
    assert names == ["sweep", "sweep"]


def test_a_compiled_function_calls_devices_outside_the_compiler(both):
    solver, two, survey = both
    vp = solver.vp.detach()
    compiled = torch.compile(lambda vp: 2 * two(*survey, models=[vp]), backend="eager")
    assert torch.equal(compiled(vp), 2 * solver(*survey, models=[vp]))
