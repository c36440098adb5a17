"""The control groups (cgroups) of this process, which limit its memory and its processors."""

from collections.abc import Iterator
from pathlib import Path

V1, V2 = 1, 2


def group_folders(root: Path, controller: str) -> Iterator[tuple[int, Path]]:
    """Yield the control groups of this process and their parents, for one controller.

    Parameters
    ----------
    root : Path
        Folder of proc and sys.
    controller : str
        Name of the controller in version 1, such as ``'memory'``; version 2 has one tree for all.

    Yields
    ------
    version : {1, 2}
    folder : Path
        It need not exist: a container may see the group of its host in proc, and another one in sys.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for number, controllers, path in (line.split(":", 2) for line in lines if line.count(":") > 1):
        if number == "0":
            version, base = V2, "sys/fs/cgroup"
        elif controller in controllers.split(","):
            version, base = V1, f"sys/fs/cgroup/{controller}"
        else:
            continue
        parts = Path(path.lstrip("/")).parts
        for depth in range(len(parts) + 1):
            yield version, root.joinpath(base, *parts[:depth])
