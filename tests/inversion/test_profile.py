"""A profile of an inversion: its parts add up to the steps, ranks tell work from waiting, and nothing changes."""

import json
import time

import numpy as np
import pytest
from inverting import call, earth, observed, on_ranks, solver
from shot_tasks import LocalTasks
from traces import check_trace

from sweep_core import UnsupportedError
from sweep_core.distribution import chrome_trace, read_profile
from sweep_core.distribution.profile import KINDS
from sweep_core.inversion import LBFGS, Stage

torch = pytest.importorskip("torch")
pytest.importorskip("tqdm")
from sweep_torch import Torch  # noqa: E402
from sweep_torch.executor import TorchExecutor  # noqa: E402

FORWARD, BACKWARD = 0.01, 0.02


class Slow(TorchExecutor):
    """An executor whose runs take a known time at least."""

    def pullback(self, problem, shots, models):
        record, pull = super().pullback(problem, shots, models)

        def slow(cotangent):
            time.sleep(BACKWARD)
            return pull(cotangent)

        time.sleep(FORWARD)
        return record, slow


class Whole:
    """An executor that separates nothing."""

    name = "whole"

    def __init__(self):
        self._inner = TorchExecutor()

    def supports(self, problem):
        return self._inner.supports(problem)

    def forward(self, *arguments):
        return self._inner.forward(*arguments)

    def misfit_and_gradient(self, *arguments):
        return self._inner.misfit_and_gradient(*arguments)


class Solver:
    def __init__(self, executor):
        self.executor, self.problem = executor, solver().problem

    def explain(self):
        return "a test"


@pytest.fixture(scope="module")
def data():
    return observed(solver(), [torch.from_numpy(earth()[0])])


def adam(shots=3):
    return Torch(torch.optim.Adam, shots=shots, lr=0.5)


@pytest.mark.parametrize("optimiser", [adam(2), LBFGS()], ids=["Adam", "LBFGS"])
@pytest.mark.parametrize("misfit", ["least_squares", "envelope"])
def test_a_profile_keeps_the_bits(data, optimiser, misfit):
    options = {"optimiser": optimiser, "misfit": misfit, "batch": 2}
    plain, timed = (call(data, Stage(3), **options, profile=profile) for profile in (False, True))
    np.testing.assert_array_equal(timed.models[0], plain.models[0])
    assert [line["misfit"] for line in timed.history] == [line["misfit"] for line in plain.history]
    assert plain.profile is None and timed.profile.is_step.sum() == 3
    kinds = dict(zip(KINDS, timed.profile.mean[0], strict=True))
    assert kinds["forward"] > 0 and kinds["backward"] > 0 and kinds["gradient"] == kinds["idle"] == 0


def test_jax_separates_forward_and_backward_too(data):
    make = pytest.importorskip("sweep_jax").PropJax
    plain, timed = (
        call(data, Stage(2), optimiser=adam(), profile=profile, make=lambda: solver(make=make))
        for profile in (False, True)
    )
    np.testing.assert_array_equal(timed.models[0], plain.models[0])
    kinds = dict(zip(KINDS, timed.profile.mean[0], strict=True))
    assert kinds["forward"] > 0 and kinds["backward"] > 0 and kinds["gradient"] == 0


class Clocked:
    """An optimiser that notes the moment of each step."""

    shots = None

    def __init__(self):
        self.moments = []

    def minimise(self, function, limits, iterations, after):
        x = np.zeros(len(limits[0]))
        for _ in range(iterations):
            self.moments.append(time.perf_counter())
            x = np.clip(x - 0.1 * function(x)[1], *limits)
            after(x)
        self.moments.append(time.perf_counter())
        return x


def test_the_parts_of_a_step_add_up_to_its_time(data):
    clocked = Clocked()
    result = call(
        data, Stage(5), optimiser=clocked, batch=2, profile=True, make=lambda: Solver(Slow()),
        observers=[lambda observation: time.sleep(0.03)],
    )  # fmt: skip
    seconds = result.profile.seconds[0, result.profile.is_step]
    np.testing.assert_allclose(seconds[1:].sum(1), np.diff(clocked.moments)[1:], rtol=0.02, atol=2e-3)
    kinds = dict(zip(KINDS, seconds.T, strict=True))
    assert (kinds["forward"][1:] > 2 * FORWARD).all() and (kinds["backward"][1:] > 2 * BACKWARD).all()
    assert (kinds["host"] > 0.03).all() and (seconds >= 0).all()
    assert {each.shots for each in result.profile.intervals[0] if each.kind == "backward"} == {1, 2}


def test_a_backend_that_separates_nothing_has_gradients(data):
    options = {"optimiser": adam(), "precondition": False, "make": lambda: Solver(Whole())}
    profile = call(data, Stage(2), **options, profile=True).profile
    kinds = dict(zip(KINDS, profile.mean[0], strict=True))
    assert kinds["gradient"] > 0 and kinds["forward"] == kinds["backward"] == 0
    assert "gradient" in str(profile).splitlines()[1]


def test_the_other_rank_waits_for_the_observers_of_rank_0(data):
    """The wait for the observer of the start, which is longer, is no part of the first step."""

    def slow(observation):
        time.sleep(0.1 if observation.event == "iteration" else 0.5)

    slow.events = "start", "iteration"

    def work(group):
        return call(data, Stage(3), optimiser=adam(), group=group, profile=True, observers=[slow])

    first, second = on_ranks(2, work)
    np.testing.assert_array_equal(first.models[0], second.models[0])
    assert second.profile is None
    host, idle = (first.profile.mean[:, KINDS.index(kind)] for kind in ("host", "idle"))
    assert host[0] > 0.1 and idle[1] > 0.08
    steps = np.diff(first.profile.starts)[:, first.profile.is_step].sum(1)
    assert steps[0] == pytest.approx(steps[1], rel=0.1)
    sums = [each.nbytes for each in first.profile.of_steps(("communication",))]
    assert max(sums) == 8 * (1 + earth()[0].size)
    assert check_trace(chrome_trace(first.profile)) == {0, 1}


def test_rank_0_writes_the_profile_to_the_folder(data, tmp_path):
    pytest.importorskip("matplotlib")
    options = {"optimiser": adam(), "folder": tmp_path}
    result = call(data, [Stage(2), Stage(1)], **options, profile=True)
    assert (tmp_path / "profile.txt").read_text() == f"{result.profile}\n"
    assert (tmp_path / "profile.png").read_bytes()[:4] == b"\x89PNG"
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert check_trace(trace) == {0}
    names = [event["name"] for event in trace["traceEvents"] if event.get("cat") == "part"]
    assert names == ["start", "step 1", "step 2", "end", "step 3", "end"]
    assert {"checkpoint", "observers", "read", "forward", "backward"} <= {e["name"] for e in trace["traceEvents"]}
    stored = read_profile(tmp_path / "trace.json")
    assert str(stored) == str(result.profile)
    again = call(data, [Stage(2), Stage(1)], **options, profile=True)
    assert str(again.profile).startswith("no step was computed"), "the run was complete"
    call(data, Stage(1), **options, overwrite=True)
    assert not {"profile.txt", "profile.png", "trace.json"} & {path.name for path in tmp_path.iterdir()}


def test_a_profile_of_shots_on_workers_is_refused(data):
    """The workers, not this process, spend the time."""
    with pytest.raises(UnsupportedError, match="workers of an elastic group compute the shots; leave it out"):
        call(data, Stage(1), profile=True, group=LocalTasks())
