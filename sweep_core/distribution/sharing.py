"""Texts and errors of single ranks that every rank gets to know."""

from collections.abc import Mapping

import numpy as np

from .. import errors
from .._util.arrays import numpy_of
from ..errors import SweepError
from .distributor import Distributor


def share_texts(group: Distributor, own: Mapping[int, str], count: int) -> dict[int, str]:
    """Return the texts of all ranks, on every rank.

    Parameters
    ----------
    group : Distributor
        The ranks.
    own : mapping of int to str
        Texts of this rank by their numbers, which are below `count` and differ from those of other ranks.
    count : int
        Number of numbers.

    Returns
    -------
    dict of int to str
        The texts in the order of their numbers. An empty text is left out.
    """
    codes = {number: np.frombuffer(text.encode(), np.uint8) for number, text in own.items()}
    lengths = np.zeros(count)
    for number, code in codes.items():
        lengths[number] = len(code)
    ends = np.cumsum(numpy_of(group.all_reduce(lengths)).astype(np.int64))
    if not count or not ends[-1]:
        return {}
    whole = np.zeros(ends[-1])
    for number, code in codes.items():
        whole[ends[number] - len(code) : ends[number]] = code
    parts = np.split(numpy_of(group.all_reduce(whole)).astype(np.uint8), ends[:-1])
    return {number: part.tobytes().decode() for number, part in enumerate(parts) if part.size}


def raise_on_all(group: Distributor, error: SweepError | None) -> None:
    """Raise the errors of single ranks on every rank; every rank calls this.

    Parameters
    ----------
    group : Distributor
        The ranks.
    error : SweepError, optional
        The error of this rank, if it has one.

    Raises
    ------
    SweepError
        The error of this rank.
        On a rank without an error, one of the kind of the first rank that has one, with the messages of all.
    """
    own = {} if error is None else {group.rank: f"{type(error).__name__}: {error}"}
    texts = share_texts(group, own, group.size)
    if texts:
        kind = getattr(errors, next(iter(texts.values())).partition(":")[0], errors.DistributedError)
        raise error or kind("; ".join(f"rank {rank} of {group.size}: {text}" for rank, text in texts.items()))
