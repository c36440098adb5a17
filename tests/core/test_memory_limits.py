"""The free memory, from files of proc and of control groups, and the error if it is not enough."""

import warnings

import pytest

from sweep_core import CkptOptions, MemoryLimitError, MemoryLimitWarning, MemoryOptions, SweepError
from sweep_core.memory.limits import available, out_of_memory, warn_if_above

GIB = 1 << 30
HOST = {"proc/meminfo": f"MemTotal: {64 << 20} kB\nMemFree: 1 kB\nMemAvailable: {48 << 20} kB\n"}
V1, V2 = "sys/fs/cgroup/memory", "sys/fs/cgroup"


def group(folder, limit, used, cache=0, version=2):
    """Return the files of a control group."""
    names = ("memory.max", "memory.current", "inactive_file")
    if version == 1:
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    values = (f"{limit}\n", f"{used}\n", f"anon 5\n{names[2]} {cache}\n")
    return {f"{folder}/{name}": value for name, value in zip((*names[:2], "memory.stat"), values, strict=True)}


SYSTEMS = {
    "no files": ({}, None),
    "a host": (HOST, 48 * GIB),
    "no limit": (HOST | {"proc/self/cgroup": "0::/a\n"} | group(f"{V2}/a", "max", GIB), 48 * GIB),
    "version 2": (HOST | {"proc/self/cgroup": "0::/a/b\n"} | group(f"{V2}/a/b", 4 * GIB, GIB), 3 * GIB),
    "a parent's": (
        HOST | {"proc/self/cgroup": "0::/a/b\n"} | group(f"{V2}/a/b", "max", GIB) | group(f"{V2}/a", 9 * GIB, 2 * GIB),
        7 * GIB,
    ),
    "a container's": (HOST | {"proc/self/cgroup": "0::/../../x\n"} | group(V2, 4 * GIB, GIB), 3 * GIB),
    "another namespace": (HOST | {"proc/self/cgroup": "0::/not/here\n"} | group(V2, 4 * GIB, GIB), 3 * GIB),
    "files that are dropped first": (
        HOST | {"proc/self/cgroup": "0::/\n"} | group(V2, 4 * GIB, 4 * GIB, cache=3 * GIB),
        3 * GIB,
    ),
    "version 1": (
        HOST
        | {"proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/a\n0::/\n"}
        | group(f"{V1}/a", 2 * GIB, GIB, GIB >> 1, 1)
        | group(V1, 2**63 - 4096, 9 * GIB, 0, 1),
        3 * GIB >> 1,
    ),
    "beyond it": ({"proc/self/cgroup": "0::/\n"} | group(V2, GIB, 2 * GIB), 0),
    "unreadable": (HOST | {"proc/self/cgroup": "nonsense\n0::/a\n", f"{V2}/a/memory.max": "?"}, 48 * GIB),
}


@pytest.mark.parametrize(("files", "left"), SYSTEMS.values(), ids=SYSTEMS)
def test_the_free_memory_is_the_least_of_all_limits(tmp_path, files, left):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert available(tmp_path) == left


def test_this_machine_has_free_memory():
    left = available()
    assert left is None or 1 << 20 < left < 1 << 50


def test_only_more_than_the_free_memory_is_warned_of():
    with pytest.warns(MemoryLimitWarning, match=r"3.00 GiB of memory; 2.00 GiB are left.*strategy='ckpt'"):
        warn_if_above(3 * GIB, MemoryOptions("full"), 2 * GIB)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_above(2 * GIB, MemoryOptions("full"), 2 * GIB)


def test_the_refusal_names_a_smaller_strategy():
    with pytest.raises(MemoryLimitError, match=r"history could not be allocated.*MemoryOptions\(strategy='ckpt'\)"):
        raise out_of_memory("3.0 GiB of history", MemoryOptions())
    few = out_of_memory("it", MemoryOptions("ckpt", ckpt=CkptOptions(chunks=2)))
    assert "strategy=" not in str(few) and "CkptOptions" in str(few) and "fewer shots" in str(few)
    assert isinstance(few, SweepError) and isinstance(few, MemoryError)
