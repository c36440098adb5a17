"""Options are immutable values and are refused by name."""

from pathlib import Path

import attrs
import numpy as np
import pytest

from sweep_core import (
    Acoustic,
    BoundaryOptions,
    CkptOptions,
    CUDAOptions,
    MemoryOptions,
    OptionError,
    UnsupportedError,
    make_problem,
)
from sweep_core.errors import UnknownOptionError
from sweep_core.inversion import LBFGS, Settings, Stage
from sweep_core.memory.options import resolve_memory

WRONG = {
    "strategy": (
        MemoryOptions,
        {"strategy": "magic"},
        "strategy is 'magic'; expected one of 'auto', 'full'.* A plugin cannot add a strategy yet",
    ),
    "storage": (BoundaryOptions, {"storage": "tape"}, "storage is 'tape'; expected one of 'gpu', 'cpu', 'disk'"),
    "mode": (CkptOptions, {"mode": "random"}, "mode is 'random'; expected one of 'chunk', 'recursive'"),
    "modes": (
        CkptOptions,
        {"mode": np.array(["chunk", "full"])},
        "mode is array.*; expected one of 'chunk', 'recursive'",
    ),
    "ckpt storage": (CkptOptions, {"storage": "tape"}, "storage is 'tape'"),
    "chunks 0": (CkptOptions, {"chunks": 0}, "chunks is 0; expected a whole number from 1 on"),
    "chunks float": (CkptOptions, {"chunks": 4.0}, "chunks is 4.0"),
    "chunks bool": (CkptOptions, {"chunks": True}, "chunks is True"),
    "count": (CkptOptions, {"count": -3}, "count is -3"),
    "count of chunks": (CkptOptions, {"count": 3}, "count=... does not apply to mode 'chunk'; use 'recursive'"),
    "chunks of states": (
        CkptOptions,
        {"mode": "recursive", "chunks": 3},
        "chunks=... does not apply to mode 'recursive'",
    ),
    "a folder of no files": (CkptOptions, {"directory": "/tmp"}, "directory='/tmp' does not apply to storage 'gpu'"),
    "a folder of strips": (BoundaryOptions, {"storage": "cpu", "directory": "/tmp"}, "does not apply to storage 'cpu'"),
    "a number for a folder": (CkptOptions, {"storage": "disk", "directory": 3}, "directory is 3; expected the path"),
    "a folder of two names": (CkptOptions, {"storage": "disk", "directory": "a\0b"}, "directory is 'a.*; expected the"),
    "interval": (MemoryOptions, {"interval": 0}, "interval is 0"),
    "no interval": (MemoryOptions, {"interval": None}, "interval is None; expected a whole number from 1 on"),
    "no iterations": (Stage, {"iterations": None}, "Stage: iterations is None; expected a whole number from 1 on"),
    "no epochs": (Settings, {"epochs": None}, "Settings: epochs is None; expected a whole number from 1 on"),
    "no pairs": (LBFGS, {"memory": None}, "LBFGS: memory is None; expected a whole number from 1 on"),
    "budget": (MemoryOptions, {"budget": -1}, "budget is -1"),
    "known rows": (MemoryOptions, {"known_above": -1}, "known_above is -1; expected a row of the models"),
    "a fraction of known rows": (MemoryOptions, {"known_above": 4.5}, "known_above is 4.5; expected a row"),
    "known rows as a mask": (
        MemoryOptions,
        {"known_above": [True]},
        r"known_above is \[True\]; .* first row that has a free",
    ),
    "dtype": (MemoryOptions, {"dtype": "float8"}, "dtype is 'float8'; expected one of None, 'float64'"),
    "ckpt of another kind": (MemoryOptions, {"strategy": "ckpt", "ckpt": {"chunks": 3}}, "expected CkptOptions"),
    "ckpt with full": (MemoryOptions, {"strategy": "full", "ckpt": CkptOptions()}, "ckpt=... does not apply to"),
    "budget with full": (
        MemoryOptions,
        {"strategy": "full", "budget": 1},
        "budget=... does not apply to strategy 'full'",
    ),
    "ckpt with auto": (MemoryOptions, {"ckpt": CkptOptions()}, "ckpt=... does not apply to strategy 'auto'"),
    "boundary with full": (
        MemoryOptions,
        {"strategy": "full", "boundary": BoundaryOptions()},
        "boundary=... does not apply to strategy 'full'",
    ),
    "precision of ckpt": (
        MemoryOptions,
        {"strategy": "ckpt", "dtype": "int8"},
        r"dtype='int8' does not apply to strategy 'ckpt'; use 'full', or .*BoundaryOptions",
    ),
    "interval of auto": (
        MemoryOptions,
        {"interval": 2},
        "interval=2 does not apply to strategy 'auto'; use 'full'",
    ),
    "cuda": (CUDAOptions, {"memory": 3}, "memory is 3; expected MemoryOptions"),
    "a strategy by name": (CUDAOptions, {"memory": "magic"}, "strategy is 'magic'; expected one of 'auto'"),
    "a budget in words": (
        MemoryOptions,
        {"budget": "400 apples"},
        "budget is '400 apples'; expected bytes, .*'400 MB'",
    ),
    "no budget": (MemoryOptions, {"budget": "0 MB"}, "budget is 0; expected bytes"),
    "a budget of a float": (MemoryOptions, {"budget": 4e8}, "budget is 400000000.0; expected bytes"),
}


@pytest.mark.parametrize(("kind", "arguments", "message"), WRONG.values(), ids=WRONG)
def test_wrong_options_are_refused_by_name(kind, arguments, message):
    with pytest.raises(OptionError, match=message):
        kind(**arguments)


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        (CkptOptions, "chunk_size", "chunks is the number of chunks; sweep-solver counts the steps of one chunk"),
        (BoundaryOptions, "disk_dir", "is directory here"),
        (BoundaryOptions, "storage_dtype", "is dtype here"),
        *((BoundaryOptions, name, "SWEEP chooses transfers itself") for name in ("pinned_memory", "ring_buffers")),
        *(
            (BoundaryOptions, name, "leave this option of sweep-solver out")
            for name in ("transfer_interval", "disk_async_read", "tail_steps")
        ),
        (MemoryOptions, "stratgy", "'interval', 'budget', 'known_above'"),
    ],
)
def test_unknown_options_are_refused_with_a_hint(kind, name, hint):
    with pytest.raises(UnknownOptionError, match=f"{kind.__name__} has no option '{name}'; it has .*{hint}") as refusal:
        kind(**{name: 1})
    assert isinstance(refusal.value, OptionError) and isinstance(refusal.value, TypeError)


def test_options_print_as_their_own_constructor_call():
    for options in (
        MemoryOptions(),
        MemoryOptions("ckpt", ckpt=CkptOptions("recursive", count=3)),
        MemoryOptions(budget=5, known_above=3),
    ):
        assert eval(str(options)) == options
    assert str(MemoryOptions("ckpt", ckpt=CkptOptions())) == "MemoryOptions(strategy='ckpt', ckpt=CkptOptions())"
    assert str(MemoryOptions("full", interval=np.int64(3))) == "MemoryOptions(strategy='full', interval=3)"


@pytest.mark.parametrize(
    ("stated", "size"),
    [
        ("400 MB", 400_000_000),
        ("400MB", 400_000_000),
        ("1.5 GiB", 3 << 29),
        ("64 kB", 64_000),
        ("8 KiB", 8192),
        ("9 B", 9),
    ],
)
def test_bytes_are_stated_with_a_unit(stated, size):
    assert MemoryOptions(budget=stated) == MemoryOptions(budget=size)


def test_a_strategy_may_be_stated_by_its_name():
    assert resolve_memory("ckpt", None) == MemoryOptions("ckpt") == resolve_memory(None, CUDAOptions("ckpt"))
    assert make_problem(Acoustic(), (9, 9), 10.0, 1e-3, memory="full").memory == MemoryOptions("full")


def test_a_folder_may_be_a_path():
    assert CkptOptions(storage="disk", directory=Path("/a")) == CkptOptions(storage="disk", directory="/a")


STRIPS = MemoryOptions("boundary", boundary=BoundaryOptions(dtype="int8"))


@pytest.mark.parametrize(
    ("memory", "models", "refused"),
    [
        (MemoryOptions(), "float32", False),
        (MemoryOptions("ckpt", dtype="float32"), "float32", False),
        (MemoryOptions("ckpt", dtype="float32"), "float64", True),
        (MemoryOptions("full", dtype="float32"), "float64", False),
        (MemoryOptions("full", dtype="float64"), "float32", True),
        (MemoryOptions("full", dtype="int8"), "float32", False),
        (STRIPS, "float64", False),
        (MemoryOptions("boundary", dtype="float32", boundary=STRIPS.boundary), "float64", True),
    ],
    ids=str,
)
def test_a_history_has_at_most_the_precision_of_the_models(memory, models, refused):
    for packs in (True, False):
        lower = (memory.dtype or (memory.boundary and memory.boundary.dtype)) not in (None, models)
        if refused or (lower and not packs):
            with pytest.raises(
                UnsupportedError, match=rf"Options\(dtype=.* of models in {models}, .*; leave dtype=None"
            ):
                memory.check_dtype(models, packs)
        else:
            memory.check_dtype(models, packs)


@pytest.mark.parametrize("kind", [BoundaryOptions, CkptOptions, MemoryOptions, CUDAOptions])
def test_options_are_immutable_values(kind):
    assert kind() == kind() and hash(kind()) == hash(kind())
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(kind(), attrs.fields(kind)[0].name, None)


def test_memory_may_be_stated_in_either_place():
    full = MemoryOptions("full")
    assert resolve_memory(full, None) is full
    assert resolve_memory(None, CUDAOptions(memory=full)) is full
    assert resolve_memory(full, CUDAOptions()) is full
    assert resolve_memory(None, None) == resolve_memory(None, CUDAOptions()) == MemoryOptions("auto")


@pytest.mark.parametrize(
    ("memory", "cuda_options", "message"),
    [
        (MemoryOptions(), CUDAOptions(memory=MemoryOptions()), "both state the strategy; pass only one of them"),
        (3, None, r"memory is 3; expected MemoryOptions\(...\), or the name of a strategy"),
        (None, MemoryOptions(), "expected CUDAOptions"),
        (None, {"memory": MemoryOptions()}, "expected CUDAOptions"),
    ],
    ids=["both", "number", "wrong class", "dict"],
)
def test_contradictory_memory_is_refused(memory, cuda_options, message):
    with pytest.raises(OptionError, match=message):
        resolve_memory(memory, cuda_options)
