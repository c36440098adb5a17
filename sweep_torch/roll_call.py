"""Each rank states its work in the store of the process group, so that the others can name a rank that is missing."""

import json
import threading
from contextlib import suppress
from typing import Any

import torch.distributed as dist

from . import private

PATIENCE = 5.0
"""Seconds to wait for the store, which may have ended with its rank."""
_own: dict[str, Any] = {"count": 0, "work": ""}
"""Number of collective operations that this rank has begun, and its work."""


def state_work(work: str) -> None:
    """State the work of this rank, such as ``"iteration 3, shots 4, 5"``."""
    _own["work"] = work
    _publish()


def arrive() -> None:
    """State that this rank begins its next collective operation."""
    _own["count"] = _own["count"] + 1
    _publish()


def _key(rank: int) -> str:
    return f"work of rank {rank}"


def _publish() -> None:
    if dist.is_initialized() and dist.get_world_size() > 1:
        with suppress(dist.DistError):  # the collective operation fails, too, and reports it
            private.default_store().set(_key(dist.get_rank()), json.dumps(_own))


def missing_ranks() -> str:
    """Return a sentence about the ranks that have not begun the collective operation of this rank."""
    lines: list[str] = []

    def read() -> None:
        store = private.default_store()
        for rank in set(range(dist.get_world_size())) - {dist.get_rank()}:
            stated = json.loads(store.get(_key(rank))) if store.check([_key(rank)]) else {"count": 0, "work": ""}
            if stated["count"] < _own["count"]:
                lines.append(f"rank {rank} is missing" + (f": {stated['work']}" if stated["work"] else ""))

    def ask() -> None:
        try:
            read()
        except (dist.DistError, RuntimeError):
            lines.append("the store of the group does not answer, so its rank, usually rank 0, has ended")

    reader = threading.Thread(target=ask, daemon=True)
    reader.start()
    reader.join(PATIENCE)
    if reader.is_alive():
        return "the store of the group does not answer, so its rank, usually rank 0, hangs"
    return "; ".join(lines) or "another rank has ended or does not answer"
