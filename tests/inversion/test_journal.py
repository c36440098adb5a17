"""An interrupted inversion continues to the same bits, and a folder of another run is refused."""

import re
from functools import cache, partial
from threading import Lock

import attrs
import numpy as np
import pytest
from inverting import call, earth, observed, solver

from sweep_core import (
    Acoustic,
    CheckpointError,
    DistributedError,
    MemoryOptions,
    SerialDistributor,
    SweepError,
    SweepWarning,
)
from sweep_core.inversion import LBFGS, Stage, TotalVariation
from sweep_core.inversion.identity import identity
from sweep_core.inversion.journal import Journal
from sweep_core.misfit import least_squares

torch = pytest.importorskip("torch")
from sweep_torch import Torch  # noqa: E402

PLAN = [Stage(2, high=12.0), Stage(3, shots=2), Stage(2)]
OPTIMISERS = {"L-BFGS": LBFGS(), "Adam": Torch(torch.optim.Adam, shots=2, lr=0.3)}
if pytest.importorskip("jax"):
    import optax

    from sweep_jax import Optax

    OPTIMISERS["optax"] = Optax(optax.adam(0.3), shots=2)


@pytest.fixture(scope="module")
def data():
    return observed(solver(), [torch.from_numpy(earth()[0])])


class CallCounter:
    """Least squares with a counter of calls; call `limit` + 1 interrupts the process."""

    def __init__(self, limit=10**9):
        self.limit, self.calls = limit, 0

    def __repr__(self):
        return "Counted"

    def __call__(self, synthetic, aim):
        if self.calls == self.limit:
            raise KeyboardInterrupt
        self.calls += 1
        return least_squares(synthetic, aim)


@pytest.mark.parametrize("optimiser", OPTIMISERS.values(), ids=OPTIMISERS)
def test_a_killed_inversion_goes_on_to_the_same_bits(data, tmp_path, optimiser):
    whole, calls = CallCounter(), 0
    expected = call(data, PLAN, misfit=whole, optimiser=optimiser)
    for limit in (1, 2, 3, 1):
        part = CallCounter(limit)
        with pytest.raises(KeyboardInterrupt):
            call(data, PLAN, misfit=part, optimiser=optimiser, folder=tmp_path)
        calls += part.calls
    rest = CallCounter()
    result = call(data, PLAN, misfit=rest, optimiser=optimiser, folder=tmp_path)
    assert np.array_equal(result.models[0], expected.models[0])
    timeless = [[{**line, "seconds": 0} for line in run.history] for run in (result, expected)]
    assert timeless[0] == timeless[1]
    assert calls == 7 and rest.calls + calls == whole.calls, "no call is repeated"
    repeated = CallCounter()
    assert np.array_equal(
        call(data, PLAN, misfit=repeated, folder=tmp_path, optimiser=optimiser).models[0], result.models[0]
    )
    assert repeated.calls == 0 and {path.name[:10] for path in tmp_path.glob("stage_*_*")} == {"stage_0003"}


LONGER = [Stage(2, high=12.0), Stage(5, shots=2)]


@pytest.mark.parametrize("optimiser", OPTIMISERS.values(), ids=OPTIMISERS)
@pytest.mark.parametrize("limit", [4, 10**9])
def test_a_run_gets_more_iterations_and_further_stages(data, tmp_path, optimiser, limit):
    """The bits equal those of one run with all stages, whether the last stage has ended or not."""
    plans = [PLAN[:1], PLAN[:2], LONGER, [*LONGER, Stage(2, low=5.0)]]
    whole, calls = CallCounter(), 0
    expected = call(data, plans[-1], misfit=whole, optimiser=optimiser)
    for plan in plans[:-1]:
        part = CallCounter(limit)
        try:
            call(data, plan, misfit=part, optimiser=optimiser, folder=tmp_path)
        except KeyboardInterrupt:
            assert limit == 4
        calls += part.calls
    rest = CallCounter()
    result = call(data, plans[-1], misfit=rest, optimiser=optimiser, folder=tmp_path)
    assert np.array_equal(result.models[0], expected.models[0])
    assert [line["misfit"] for line in result.history] == [line["misfit"] for line in expected.history]
    assert calls + rest.calls == whole.calls, "no call is repeated"


@pytest.mark.parametrize("optimiser", [o for o in OPTIMISERS.values() if o.shots], ids=["Adam", "optax"])
def test_steps_are_stored_in_two_files_of_constant_size(data, tmp_path, optimiser):
    sizes = []

    def measure(event):
        if event.iteration > 1:
            sizes.append(sum(path.stat().st_size for path in tmp_path.glob("*.npz")))

    call(data, Stage(8), folder=tmp_path, optimiser=optimiser, observers=[measure])
    assert len(sizes) == 7 and max(sizes[1:]) - min(sizes[1:]) < 2 * 6 * 400, "only the history grows, a line per step"
    assert {path.name for path in tmp_path.iterdir()} == {
        *("run.json", "run.lock", "checkpoint.npz", "checkpoint_previous.npz", "stage_0001.npz"),
        *(f"stage_0001_{n:06d}.npz" for n in (1, 2)),  # the gradient at the start, and the illumination
    }


@pytest.mark.parametrize("encoded", [None, 1])
def test_fewer_iterations_equal_a_shorter_run(data, tmp_path, encoded):
    def plan(iterations):
        return Stage(iterations, encoded=encoded, optimiser=OPTIMISERS["Adam"])

    call(data, plan(5), folder=tmp_path)
    for iterations in (3, 6):
        result = call(data, plan(iterations), folder=tmp_path)
        assert np.array_equal(result.models[0], call(data, plan(iterations)).models[0])


@pytest.mark.parametrize("optimiser", OPTIMISERS.values(), ids=OPTIMISERS)
def test_values_that_are_not_finite_are_not_stored(data, tmp_path, optimiser):
    """The run ends with an error. Without the cause it continues from the step before."""

    class Breaks(CallCounter):
        def __call__(self, synthetic, aim):
            value, slope = least_squares(synthetic, aim)
            self.calls += 1
            return (float("nan"), slope) if self.calls == 4 else (value, slope)

    with pytest.raises(SweepError, match="the misfit is nan, .* shorter steps"):
        call(data, PLAN[1], misfit=Breaks(), folder=tmp_path, optimiser=optimiser)
    result = call(data, PLAN[1], misfit=Breaks(-9), folder=tmp_path, optimiser=optimiser)
    assert np.array_equal(result.models[0], call(data, PLAN[1], optimiser=optimiser).models[0])


def test_a_checkpoint_of_another_run_is_refused(data, tmp_path):
    for name, lr in (("one", 0.3), ("other", 0.2)):
        with pytest.raises(KeyboardInterrupt):
            call(
                data, Stage(3), misfit=CallCounter(3), folder=tmp_path / name, optimiser=Torch(torch.optim.Adam, lr=lr)
            )
    content = (tmp_path / "one/checkpoint.npz").read_bytes()
    (tmp_path / "other/checkpoint.npz").write_bytes(content)
    with pytest.raises(CheckpointError, match="checkpoint.npz cannot be read .*another run.*; remove it"):
        call(data, Stage(3), misfit=CallCounter(), folder=tmp_path / "other", optimiser=Torch(torch.optim.Adam, lr=0.2))
    for damaged in (content[:-40], content[:200] + bytes([content[200] ^ 255]) + content[201:], b""):
        (tmp_path / "one/checkpoint.npz").write_bytes(damaged)
        with pytest.raises(CheckpointError, match="checkpoint.npz cannot be read .* remove it"):
            call(
                data, Stage(3), misfit=CallCounter(), folder=tmp_path / "one", optimiser=Torch(torch.optim.Adam, lr=0.3)
            )


@pytest.mark.parametrize("name", ["Adam", "NAdam", "Rprop", "SGD", "ASGD", "Adagrad", "RAdam"])
def test_any_optimiser_of_torch_goes_on_to_the_same_bits(name):
    result, slopes = Torch(getattr(torch.optim, name), lr=0.1), np.random.default_rng(0).normal(size=(9, 5))
    x = np.zeros(5)
    result.begin(x)
    for slope in slopes:
        state, previous = result.state(), x.copy()
        x = result.step(x, slope).copy()
        other = Torch(getattr(torch.optim, name), lr=0.1)
        other.begin(np.zeros(5))
        other.restore(state)
        assert np.array_equal(other.step(previous, slope), x)


def test_stages_with_results_cannot_change(data, tmp_path):
    call(data, PLAN[:2], misfit=CallCounter(), folder=tmp_path)
    for plan in ([Stage(3, high=12.0), PLAN[1]], PLAN[:1], [PLAN[0], Stage(3, shots=3)], PLAN[1:]):
        with pytest.raises(CheckpointError, match="stages was .* the iterations of the last stage that it began"):
            call(data, plan, misfit=CallCounter(), folder=tmp_path)
    repeated = CallCounter()
    call(data, PLAN[:2], misfit=repeated, folder=tmp_path)
    assert not repeated.calls, "a refusal does not change the folder"


def test_a_resumed_run_adds_to_the_time_and_repeats_observations(data, tmp_path):
    messages = []
    with pytest.raises(KeyboardInterrupt):
        call(data, PLAN, misfit=CallCounter(5), folder=tmp_path)
    result = call(
        data, PLAN, misfit=CallCounter(), folder=tmp_path, observers=[lambda event: messages.append(event.iteration)]
    )
    seconds = [line["seconds"] for line in result.history]
    assert (
        seconds == sorted(seconds)
        and messages[-1] == 7
        and messages == list(range(messages[0], 8))
        and messages[0] in (1, 3)
    )


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"batch": 2}, "batch was '4' and is now '2'"),
        ({"optimiser": LBFGS(memory=3)}, "memory=3"),
        ({"regularise": TotalVariation(1.0)}, "regularise"),
        ({"fixed": np.zeros((24, 36), bool)}, "free"),
        ({"bounds": {"vp": (1000.0, 3500.0)}}, "low"),
        ({"weights": np.ones((3, 1, 1, 1), np.float32)}, "weights"),
        ({"start": [earth()[1] * np.float32(1.001)]}, "start"),
        ({"stages": [Stage(2, high=11.0)]}, r"stages was \[{'high': '12.0'}\] and is now \[{'high': '11.0'}\]"),
        ({"misfit": least_squares}, "misfit"),
        ({"make": lambda: solver(free_surface=True)}, "problem"),
        ({"make": lambda: solver(impl="eager")}, "backend was .*'c'.* and is now .*'eager'"),
        ({"steps": {"vp": 0.5}}, "steps"),
    ],
)
def test_another_run_is_refused_with_the_changed_argument(data, tmp_path, change, names):
    with pytest.raises(KeyboardInterrupt):
        call(data, PLAN, misfit=CallCounter(1), folder=tmp_path)
    options = {"stages": PLAN, "misfit": CallCounter(), **change}
    with pytest.raises(CheckpointError, match="holds another run") as refusal:
        call(data, **options, folder=tmp_path)
    assert re.search(names, str(refusal.value))


def test_another_version_of_sweep_is_refused(data, tmp_path, monkeypatch):
    call(data, Stage(1), folder=tmp_path)
    monkeypatch.setattr("sweep_core.__version__", "0.0.9")
    with pytest.raises(CheckpointError, match=r"version was .*SWEEP 0\.1.*Python 3.* and is now .*SWEEP 0\.0\.9"):
        call(data, Stage(1), folder=tmp_path)


POWER = 2


def powered(synthetic, aim):
    residual = synthetic - aim
    return (abs(residual) ** POWER).sum(), POWER * residual


def test_a_changed_global_of_a_misfit_is_refused(data, tmp_path, monkeypatch):
    call(data, Stage(1), misfit=powered, folder=tmp_path)
    call(data, Stage(1), misfit=powered, folder=tmp_path)
    monkeypatch.setitem(globals(), "POWER", 1.5)
    with pytest.raises(CheckpointError, match=r"misfit was .*'POWER': 2.* and is now .*'POWER': 1\.5"):
        call(data, Stage(1), misfit=powered, folder=tmp_path)


def test_user_files_stay_and_temporary_files_are_removed(data, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        call(data, PLAN, misfit=CallCounter(3), folder=tmp_path)
    user_files = ["stage_0001_best_by_me.npz", "stage_1.npz", ".notes.0123456789abcdef.part"]
    parts = [f".{name}.0123456789abcdef.part" for name in ("run.json", "stage_0001.npz", "stage_0001_000002.npz")]
    for name in user_files + parts:
        (tmp_path / name).write_bytes(b"mine")
    call(data, PLAN, misfit=CallCounter(), folder=tmp_path)
    call(data, Stage(1), folder=tmp_path, overwrite=True)
    names = {path.name for path in tmp_path.iterdir()}
    gradients = {name for name in names if re.fullmatch(r"stage_0001_\d{6}\.npz", name)}  # the stage may continue
    assert gradients and names - gradients == {*user_files, "run.json", "run.lock", "stage_0001.npz"}


def test_another_memory_strategy_is_the_same_run(data, tmp_path):
    expected = call(data, Stage(2), folder=tmp_path)
    assert np.array_equal(
        call(data, Stage(2), make=lambda: solver(memory=MemoryOptions("ckpt")), folder=tmp_path).models, expected.models
    )


def test_damaged_and_foreign_files_are_refused(data, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        call(data, PLAN, misfit=CallCounter(2), folder=tmp_path)
    path = sorted(tmp_path.glob("stage_0001_*"))[1]
    whole = path.read_bytes()
    for damaged in (whole[:-30], whole[:200] + bytes([whole[200] ^ 255]) + whole[201:], b""):
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=f"{path.name} cannot be read .* remove it"):
            call(data, PLAN, misfit=CallCounter(), folder=tmp_path)
    path.unlink()
    expected = call(data, PLAN)
    assert np.array_equal(call(data, PLAN, misfit=CallCounter(), folder=tmp_path).models, expected.models)

    (tmp_path / "run.json").write_text("[1]")
    with pytest.raises(CheckpointError, match=r"run\.json cannot be read"):
        call(data, PLAN, folder=tmp_path)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/chapter.txt").write_text("all I have")
    with pytest.raises(CheckpointError, match=r"holds chapter\.txt but no run"):
        call(data, PLAN, folder=tmp_path / "thesis")
    (tmp_path / "file").write_text("")
    with pytest.raises(SweepError, match="file"):
        call(data, PLAN, folder=tmp_path / "file")


def test_two_processes_do_not_share_a_folder(data, tmp_path):
    journal = Journal(tmp_path, {}, [earth()[1]], SerialDistributor())
    with pytest.raises(CheckpointError, match="in use by process"):
        call(data, PLAN, folder=tmp_path)
    journal.begin()
    journal.end([], [earth()[1]])
    journal.close()
    with pytest.raises(CheckpointError, match="another run"):
        call(data, PLAN, folder=tmp_path)


def test_a_folder_missing_on_some_ranks_is_refused(tmp_path):
    @attrs.frozen
    class Two(SerialDistributor):
        size: int = 2

        def all_reduce(self, x):
            return x  # the other rank has nothing

    journal = Journal(tmp_path, {}, [np.zeros(3)], Two())
    assert journal.begin() is None
    journal.end([], [np.zeros(3)])
    journal.stage = 0
    with pytest.raises(DistributedError, match="1 of 2 ranks"):
        journal.begin()


def test_identity_distinguishes_arrays_and_functions():
    one, other = (identity(x=np.arange(3) + k, f=f, g=[1, None]) for k, f in ((0, max), (1, min)))
    assert one["x"] != other["x"] and one["f"] != other["f"] and one["g"] == other["g"]
    assert identity(w=[None, torch.ones(2)])["w"].startswith("(None, float32 array (2,) ")
    assert identity(f=lambda: 0) == identity(f=lambda: 0), "the address must not count"


def test_identity_distinguishes_functions_of_equal_name():
    def scaled(by):
        def misfit(s, d, power=2):
            return (by * abs(s - d) ** power).sum(), None

        return misfit

    def repeated(s, d):
        return repeated(s, d)

    long = np.zeros(5000)
    pairs = [
        (scaled(1.0), scaled(2.0)),
        (partial(least_squares, normalise="trace"), partial(least_squares, normalise="shot")),
        (partial(scaled(1.0), 1, power=long), partial(scaled(1.0), 1, power=long + (np.arange(5000) == 2500))),
        (lambda s: s, lambda s: -s),
        ({"a": long}, {"a": long + (np.arange(5000) == 2500)}),
        (CallCounter(1).__call__, CallCounter(1).__init__),
    ]
    for one, other in pairs:
        assert identity(f=one) == identity(f=one) != identity(f=other)
    assert identity(f=scaled(1.0)) == identity(f=scaled(1.0))
    assert "itself" in identity(f=repeated)["f"]


def test_identity_of_a_set_does_not_depend_on_its_order():
    """The order of a set follows hashes; those of strings differ between processes."""
    one, other, third = (eval(f"lambda x: x in {{{values}}}") for values in ("0, 8", "8, 0", "0, 7"))
    assert [str(f.__code__.co_consts[-1]) for f in (one, other)] == ["frozenset({0, 8})", "frozenset({8, 0})"]
    assert identity(f=one) == identity(f=other) != identity(f=third)
    assert identity(f={0, 8}) == identity(f={8, 0}) != identity(f={0, 7})


class Weighed:
    def __init__(self, by):
        self.by = by

    def __call__(self, s, d):
        return self.by * s, d


@attrs.frozen
class Versioned:
    version = 3
    lock: object


def test_identity_of_user_classes_and_functions_uses_their_content():
    import optax

    assert identity(f=Weighed(1)) == identity(f=Weighed(1)) != identity(f=Weighed(2))
    assert (
        identity(f=Optax(optax.adam(0.3))) == identity(f=Optax(optax.adam(0.3))) != identity(f=Optax(optax.adam(0.5)))
    )
    one, other, third = (type("Own", (), {"power": power, "__call__": Weighed.__call__}) for power in (1, 1, 2))
    assert identity(f=one()) == identity(f=other()) != identity(f=third())
    assert identity(f="look at 0x1") != identity(f="look at 0x2")
    cached = [cache(lambda s, d, by=by: by * s) for by in (1, 1, 2)]
    assert identity(f=cached[0]) == identity(f=cached[1]) != identity(f=cached[2])
    lock = Lock()

    def misfit(s, d):
        with lock:
            return s, d

    with pytest.warns(SweepWarning, match=r"cannot compare lock of f \(a lock\) with the run .* misfit.version = 2"):
        assert identity(f=misfit) == identity(f=misfit)
    misfit.version = 1
    one = identity(f=misfit)
    misfit.version = 2
    assert one != identity(f=misfit) and identity(f=Versioned(lock)) == identity(f=Versioned(Lock()))


def test_identity_of_a_user_equation_uses_its_source():
    """The code may differ although the name and the attributes are equal."""

    def example(power):
        class Mine(Acoustic):
            def coefficients(self, node_averages, vp):
                return ((node_averages.dt * vp) ** power,)

        return Mine

    one, same, other = (identity(equation=example(power)) for power in (2, 2, 3))
    assert one == same != other and identity(equation=Acoustic) == identity(equation=Acoustic)
