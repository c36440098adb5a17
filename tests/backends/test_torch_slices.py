"""A gradient computed in slices: the buffers of its graph, their users and their storage."""

import errno
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from laws import case, executors, variant

from sweep_core import Acoustic, BoundaryOptions, CkptOptions, Elastic, MemoryLimitError, MemoryOptions, Snapshots
from sweep_core.errors import StorageError
from sweep_core.memory import files

torch = pytest.importorskip("torch")
from sweep_torch import PropTorch, slices  # noqa: E402

SEGMENT = 4


@pytest.fixture(autouse=True)
def many_segments(monkeypatch):
    """Shorten segments: a short run then has many."""
    for param in executors("torch-c"):
        param.values[0].executor_for(case().problem)  # skip without the compiled library
    monkeypatch.setattr("sweep_core.memory.ckpt.SEGMENT", SEGMENT)


def ckpt(**options):
    return MemoryOptions("ckpt", ckpt=CkptOptions(**options))


RECURSIVE = ckpt(mode="recursive", count=3)
KINDS = {
    "recursive": RECURSIVE,
    "recursive on disk": ckpt(mode="recursive", count=3, storage="disk"),
    "chunks on disk": ckpt(chunks=6, storage="disk"),
    "chunks at the host": ckpt(chunks=6, storage="cpu"),
}
kinds = pytest.mark.parametrize("memory", KINDS.values(), ids=KINDS)


def on_disk(history, directory):
    """Return options that store states or boundary strips in a file of the directory."""
    storage = {"storage": "disk", "directory": str(directory)}
    if history == "states":
        return ckpt(chunks=6, **storage)
    return MemoryOptions("boundary", boundary=BoundaryOptions(**storage))


stored_on_disk = pytest.mark.parametrize("history", ["states", "strips"])


class Setting:
    """A solver, its arrays, and a record of a leaf."""

    def __init__(self, memory, example=None):
        self.example = example or case(nt=60)
        self.solver = PropTorch(**self.example.arguments | {"memory": memory}, impl="c")
        self.wavelet = torch.tensor(self.example.shots.wavelet)
        self.weights = torch.tensor(self.example.noise())
        self.leaves = [torch.tensor(m, requires_grad=True) for m in self.example.models]

    def record(self, **more):
        shots = self.example.shots
        return self.solver(self.wavelet, shots.sources, shots.receivers, self.leaves, shots.mask, **more)

    def value(self):
        return (self.record() * self.weights).sum()

    def gradient(self, value=None, **more):
        return torch.autograd.grad(self.value() if value is None else value, self.leaves, **more)


def equal(first, second):
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.fixture
def expected():
    return Setting(MemoryOptions("full")).gradient()


@kinds
def test_a_retained_graph_gives_the_gradient_many_times(memory, expected):
    this = Setting(memory)
    value = this.value()
    assert all(equal(this.gradient(value, retain_graph=True), expected) for _ in range(3))


@kinds
def test_backwards_of_one_graph_may_run_at_once(memory, expected):
    """The second backward finds the buffers of the graph in use and allocates its own."""
    this, results, ready = Setting(memory), [], threading.Barrier(3)
    value = this.value()

    def work():
        ready.wait()
        results.append(this.gradient(value, retain_graph=True))

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 3 and all(equal(g, expected) for g in results)


def test_an_inner_backward_uses_its_own_buffers(expected, monkeypatch):
    """A backward begins while another one of the same graph has just reversed a segment."""
    this, inner, entries, whole = Setting(RECURSIVE), [], [], slices.Tape.reverse
    value = this.value()

    def reverse(tape, first, last):
        whole(tape, first, last)
        entries.append(first)
        if len(entries) == 4:
            inner.append(this.gradient(value, retain_graph=True))

    monkeypatch.setattr(slices.Tape, "reverse", reverse)
    assert equal(this.gradient(value, retain_graph=True), expected) and equal(inner[0], expected)
    assert len(entries) == 2 * len(set(entries))


@kinds
@pytest.mark.parametrize("method", ["advance", "record", "reverse", "save", "restore"])
@pytest.mark.parametrize("late", [False, True])
def test_a_graph_works_after_an_exception(memory, method, late, expected, monkeypatch):
    this, whole = Setting(memory), getattr(slices.Tape, method)
    value, calls = this.value(), []

    def fail(tape, *arguments):
        calls.append(arguments)
        if len(calls) == 2 and not late:
            raise KeyboardInterrupt
        whole(tape, *arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(slices.Tape, method, fail)
        with suppress(KeyboardInterrupt):
            this.gradient(value, retain_graph=True)
    assert len(calls) == 2 or (method in ("advance", "save") and "chunks" in str(memory)), (
        "the forward run made all calls"
    )
    assert equal(this.gradient(value), expected)


@kinds
@pytest.mark.parametrize("equation", [Acoustic, Elastic])
def test_slices_do_not_change_snapshots(memory, equation):
    setup = variant("free surface", equation)
    request = Snapshots([setup.problem.fields[0].name], every=7)
    (record, snapshots), (expected, waves) = (
        Setting(m, setup).record(snapshots=request) for m in (memory, MemoryOptions("full"))
    )
    remaining = {name: x.clone() for name, x in snapshots.items()}
    assert equal([record, *snapshots.values()], [expected, *waves.values()])
    this = Setting(memory, setup)
    record, snapshots = this.record(snapshots=request)
    result = this.gradient((record * this.weights).sum())
    assert equal(result, Setting(MemoryOptions("full"), setup).gradient())
    assert equal(snapshots.values(), remaining.values()), "a replay writes no snapshots"


@kinds
def test_writing_into_the_record_does_not_change_the_gradient(memory, expected):
    """The caller may write into the record."""
    this = Setting(memory)
    record = this.record()
    value = (record * this.weights).sum()
    with torch.no_grad():
        record.zero_()
    assert equal(this.gradient(value), expected)


@pytest.mark.parametrize("transform", ["grad", "vmap of grad", "vjp of a batch"])
@kinds
def test_torch_func_gives_the_same_gradient(memory, transform, expected):
    this = Setting(memory)

    def value(vp):
        shots = this.example.shots
        return (this.solver(this.wavelet, shots.sources, shots.receivers, [vp]) * this.weights).sum()

    vp = this.leaves[0].detach()
    if transform == "grad":
        result = torch.func.grad(value)(vp)
    elif transform == "vmap of grad":
        result = torch.vmap(torch.func.grad(value))(torch.stack([0.9 * vp, vp]))[1]
    else:
        result = torch.vmap(torch.func.vjp(value, vp)[1])(torch.tensor([2.0, 1.0], dtype=vp.dtype))[0][1]
    assert equal([result], expected)


def test_born_may_be_transposed_in_slices():
    """The transpose makes a forward run with the requested memory strategy."""
    results = []
    for memory in (MemoryOptions("full"), RECURSIVE):
        this = Setting(memory)
        d = torch.tensor(this.example.direction()[0], requires_grad=True)
        shots = this.example.shots
        models = [m.detach() for m in this.leaves]
        record = this.solver.born(this.wavelet, shots.sources, shots.receivers, [d], models)
        results.append(torch.autograd.grad((record * this.weights).sum(), d))
    assert equal(*results)


def test_no_more_states_exist_than_requested(monkeypatch):
    """No slot is overwritten while its state is still needed."""
    setup, live, counts = case(nt=200), {}, []
    save, restore = slices.Tape.save, slices.Tape.restore

    def save_state(tape, slot):
        save(tape, slot)
        live[slot] = tape.arrays["state"].clone()
        counts.append(len(tape.states))

    def restore_state(tape, slot):
        restore(tape, slot)
        assert slot is None or torch.equal(tape.arrays["state"], live[slot])

    monkeypatch.setattr(slices.Tape, "save", save_state)
    monkeypatch.setattr(slices.Tape, "restore", restore_state)
    Setting(RECURSIVE, setup).gradient()
    assert set(counts) == {3} and set(live) == {0, 1, 2}


# --- on disk ----------------------------------------------------------------------------------------------------------


def mapped_files(folder):
    """Return the files of a folder that this process has mapped."""
    mapped = [
        line.split(None, 5)[5] for line in Path("/proc/self/maps").read_text().splitlines() if str(folder) in line
    ]
    return set(mapped)


linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")


@linux
def test_states_on_disk_have_no_name_and_end_with_the_graph(tmp_path, expected):
    this = Setting(ckpt(chunks=6, storage="disk", directory=tmp_path))
    value = this.value()
    assert mapped_files(tmp_path) and not list(tmp_path.iterdir())
    assert equal(this.gradient(value), expected)
    del value
    assert not mapped_files(tmp_path) and not list(tmp_path.iterdir())


@linux
def test_only_the_user_may_open_the_file(tmp_path, monkeypatch):
    modes, whole = [], os.posix_fallocate
    monkeypatch.setattr(os, "posix_fallocate", lambda f, *a: modes.append(os.fstat(f)) or whole(f, *a))
    contents = files.mapped(10_000, str(tmp_path))
    assert [(m.st_mode & 0o777, m.st_nlink) for m in modes] == [(0o600, 0)] and len(contents) == 10_000


@linux
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT], ids=["full", "quota"])
@stored_on_disk
def test_a_full_disk_is_reported(tmp_path, code, history, monkeypatch):
    def full(*_):
        raise OSError(code, os.strerror(code))

    this = Setting(on_disk(history, tmp_path))
    expected = this.gradient()
    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        with pytest.raises(MemoryLimitError, match=f"could not be stored in {tmp_path}.*directory=..."):
            this.gradient()
    assert equal(this.gradient(), expected) and not list(tmp_path.iterdir())


@linux
def test_a_really_full_disk_is_reported():
    """The test requests more than the free space of /dev/shm."""
    size = os.statvfs("/dev/shm")
    with pytest.raises(MemoryLimitError, match="could not be stored in /dev/shm"):
        files.mapped(size.f_frsize * (size.f_bavail + 1000), "/dev/shm")
    assert os.statvfs("/dev/shm").f_bavail > 0.5 * size.f_bavail, "reserved space is free again"


def test_without_fallocate_zeros_are_written(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    contents = files.mapped((1 << 20) + 5, str(tmp_path))
    assert len(contents) == (1 << 20) + 5 and not any(contents[-9:])


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(StorageError, match="nothing can be stored in .*nowhere"):
        Setting(ckpt(storage="disk", directory=tmp_path / "nowhere")).gradient()


KILLED = """
import sys
sys.path[:0] = [{folder!r}, {support!r}]
import test_torch_slices as t
from laws import case
this = t.Setting(t.on_disk({history!r}, {tmp!r}), case(nt=60))
value = this.value()
print("ready", flush=True)
while True:
    this.gradient(value, retain_graph=True)
"""


@linux
@pytest.mark.parametrize(
    ("history", "kind"), [("states", signal.SIGINT), ("strips", signal.SIGKILL)], ids=["states, Ctrl-C", "strips, kill"]
)
def test_a_killed_process_leaves_no_file(tmp_path, history, kind):
    here = Path(__file__).parent
    code = KILLED.format(folder=str(here), support=str(here.parent / "support"), history=history, tmp=str(tmp_path))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # A background process of a shell inherits an ignored SIGINT.
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        process = subprocess.Popen([sys.executable, "-c", code], **pipes)
    finally:
        signal.signal(signal.SIGINT, handler)
    with process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(kind)
        process.communicate(timeout=60)
    assert process.returncode and not list(tmp_path.iterdir())
