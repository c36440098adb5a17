"""Gathers into a store of observed data."""

from typing import Any

import numpy as np

from ..errors import DomainError, ShapeError
from .gathers import Gathers, check_gathers
from .observed_store import ObservedStore


def store_gathers(store: ObservedStore, gathers: Gathers, shots: Any = None) -> None:
    """Write gathers into a store, such as the part of a SEG-Y file that one rank reads.

    Missing receivers are padded with zeros, so that shots of a ragged survey fit. The store holds the record alone;
    keep the positions and the mask, which are arguments of a call of the solver.

    Parameters
    ----------
    store : ObservedStore
        The store.
    gathers : Gathers
        The gathers. Their samples are converted to the dtype of the store.
    shots : sequence of int, optional
        Numbers of the gathers in the store, counted from 0; by default the first ones, 0, 1, ...

    Raises
    ------
    DomainError, OptionError
        The sampling interval differs from that of the store, there is no such shot, or one is named twice.
    DtypeError
        `gathers` are none.
    ShapeError
        The gathers have another number of samples or fields, or more receivers or shots than the store.
    StorageError
        The disk is full, or the system refuses to write.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from sweep_core.io import Gathers, ObservedStore, store_gathers
    >>> some = Gathers(np.zeros((2, 2)), np.zeros((2, 3, 2)), np.ones((2, 50, 3, 1)), dt=0.002, dh=10.0)
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = ObservedStore.create(f"{folder.name}/line.zarr", shape=(9, 50, 4, 1), dt=0.002)
    >>> store_gathers(store, some, [4, 5])
    >>> float(store[5].sum())
    150.0
    """
    check_gathers(gathers, ", such as those of read_segy")
    if not np.isclose(gathers.dt, store.dt, rtol=1e-6, atol=0):
        raise DomainError(
            f"dt of the gathers is {gathers.dt:g} s; expected {store.dt:g} s, that of {store.path}: read_segy(dt=...) "
            "resamples"
        )
    nshots, nt, nrec, nfield = gathers.observed.shape
    if nshots > len(store) or (nt, nfield) != (store.shape[1], store.shape[3]) or nrec > store.shape[2]:
        raise ShapeError(
            f"observed of the gathers has shape {gathers.observed.shape}; expected {store.shape}, that of "
            f"{store.path}, or fewer shots and receivers"
        )
    numbers = range(nshots) if shots is None else shots
    record = np.zeros((nshots, *store.shape[1:]), store.dtype)
    record[:, :, :nrec] = gathers.observed
    store.write(numbers, record)
