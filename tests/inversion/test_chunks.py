"""The number of shots at once follows from the memory budget of the solver."""

import numpy as np
import pytest
from inverting import DH, DT, SHAPE, SOURCES, call, earth, observed, on_ranks, solver, survey
from shot_tasks import LocalTasks

from sweep_core import Acoustic, MemoryLimitError, MemoryOptions, OptionError
from sweep_core.inversion import Solver, Stage, invert

torch = pytest.importorskip("torch")
pytest.importorskip("tqdm")
from sweep_torch import PropTorch, Torch  # noqa: E402

pytestmark = pytest.mark.skipif(solver().impl != "c", reason="only compiled code computes its memory use")


@pytest.fixture(scope="module")
def data():
    return observed(solver(), [torch.from_numpy(earth()[0])])


def memory_of(count):
    """Return the bytes of a gradient of `count` shots at once, with all steps in memory."""
    full = PropTorch(Acoustic(), SHAPE, DH, DT, pml_width=8, memory=MemoryOptions("full"))
    return full.estimate(count, survey().wavelet.size, 1, 18, "float32").current.use.on_device


class Counting:
    """A solver with a budget that counts the shots of each gradient."""

    def __init__(self, budget):
        self._solver, self.counts = solver(memory=MemoryOptions(budget=budget)), []
        self.problem, self.estimate = self._solver.problem, self._solver.estimate
        inner = self.executor = self._solver.executor
        plain = inner.misfit_and_gradient

        def counting(problem, shots, *rest):
            self.counts.append(len(shots))
            return plain(problem, shots, *rest)

        inner.misfit_and_gradient = counting


@pytest.mark.parametrize("fits, counts", [(1, [1, 1, 1]), (2, [2, 1]), (3, [3])])
def test_the_largest_number_of_shots_that_fits_is_modelled_at_once(fits, counts, data):
    limited = Counting(memory_of(fits))
    result = call(data, Stage(1), make=lambda: limited, precondition=False)
    assert limited.counts[: len(counts)] == counts
    np.testing.assert_allclose(result.models[0], call(data, Stage(1), precondition=False).models[0], rtol=1e-6)


def test_more_shots_at_once_never_recompute_more_steps(data):
    """Below the memory of all steps the strategy recomputes; more shots would make it recompute more."""
    limited = Counting(memory_of(1) // 2)
    one, two = (limited.estimate(n, survey().wavelet.size, 1, 18, "float32").current.time for n in (1, 2))
    call(data, Stage(1), make=lambda: limited, precondition=False)
    assert one > 1 and limited.counts[0] == (2 if two == one else 1)


def test_all_ranks_choose_the_same_number(data):
    """Two ranks of three shots have two shots at most."""
    adam = Torch(torch.optim.Adam, shots=3, lr=0.3)
    solvers = {}

    def work(group):
        solvers[group.rank] = Counting(memory_of(3))
        return call(data, Stage(2), make=lambda: solvers[group.rank], group=group, optimiser=adam)

    results = on_ranks(2, work)
    assert [sorted(set(solvers[rank].counts)) for rank in (0, 1)] == [[1], [2]]
    np.testing.assert_array_equal(*(result.models[0] for result in results))
    np.testing.assert_allclose(results[0].models[0], call(data, Stage(2), optimiser=adam).models[0], rtol=1e-6)


def test_an_ordered_sum_keeps_its_bits(data):
    plain = call(data, Stage(2), reduction="ordered")
    for count in (1, 3):
        limited = call(data, Stage(2), make=lambda count=count: Counting(memory_of(count)), reduction="ordered")
        np.testing.assert_array_equal(limited.models[0], plain.models[0])


def test_a_number_that_is_stated_is_used(data):
    limited = Counting(memory_of(3))
    call(data, Stage(1), make=lambda: limited, batch=1, precondition=False)
    assert set(limited.counts) == {1}


def test_a_budget_below_one_shot_is_refused(data):
    with pytest.raises(MemoryLimitError, match="budget is 9000 bytes; expected"):
        call(data, Stage(1), make=lambda: Counting(9000))


def test_a_solver_that_cannot_estimate_is_refused_by_name(data):
    limited = solver(memory=MemoryOptions(budget=memory_of(3)))
    plain = Solver(limited.executor, limited.problem)
    with pytest.raises(OptionError, match="batch is None and .* Solver cannot estimate; .* state batch"):
        call(data, Stage(1), make=lambda: plain)
    call(data, Stage(1), make=lambda: plain, batch=2)
    call(data, Stage(1), make=lambda: plain, group=LocalTasks())


def test_summed_shots_have_the_sources_of_all(data):
    """One sum of three shots has three sources, which the estimate counts."""
    asked = []

    def estimate(nshots, nt, nsources, *rest):
        asked.append(nsources)
        return limited._solver.estimate(nshots, nt, nsources, *rest)

    limited = Counting(memory_of(3))
    limited.estimate = estimate
    shots = survey()
    invert(
        limited, shots.wavelet, SOURCES, shots.receivers, data, [earth()[1]], Stage(1, encoded=1), fixed=earth()[2],
        progress=False,
    )  # fmt: skip
    assert set(asked) == {3}
