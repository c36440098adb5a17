"""Observed data of an objective: an array, or shots of a store that are read when they are needed."""

from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from .._util.arrays import numpy_of
from ..errors import DataError, DomainError, DtypeError, UnsupportedError
from ..io import ObservedStore


class StoredData:
    """The observed data of an objective, in a store.

    ``data[shots]`` reads, checks and masks these shots alone. A thread reads the next batch that :meth:`expect`
    announced while the current one computes, so that two batches are in memory at most.

    Parameters
    ----------
    store : ObservedStore
        The store.
    dtype : dtype
        Dtype of the models.
    mask : (nshots, nrec) bool array, optional
        Live receivers.
    """

    def __init__(self, store: ObservedStore, dtype: Any, mask: np.ndarray | None = None):
        self.store, self.dtype, self._mask = store, np.dtype(dtype), mask
        self.shape = store.shape
        self._next: deque[np.ndarray] = deque()
        self._thread: ThreadPoolExecutor | None = None
        self._reading: tuple[np.ndarray, Future[np.ndarray]] | None = None
        self._first_of_next_step: list[np.ndarray] = []

    def __reduce__(self) -> Any:
        return StoredData, (self.store, self.dtype, self._mask)  # a thread cannot travel to another process

    @property
    def version(self) -> str:
        """Checksum of the store, by which runs and ranks are compared."""
        return self.store.version

    def __getitem__(self, some: np.ndarray) -> np.ndarray:
        """Return the record of some shots. Errors name the shot."""
        if self._reading and np.array_equal(self._reading[0], some):
            reading, self._reading = self._reading[1], None
            self._read_ahead()
            return reading.result()
        return self._read(some)

    def expect(self, batches: Iterable[np.ndarray]) -> None:
        """Announce the batches of shots that are read next, in their order."""
        self._next = deque([*batches, *self._first_of_next_step])
        self._first_of_next_step = []
        if self._reading and self._next and np.array_equal(self._reading[0], self._next[0]):
            self._next.popleft()
        else:
            self._reading = None
            self._read_ahead()

    def expect_step(self, batches: Iterable[np.ndarray]) -> None:
        """Announce the batches of the step after the current one. The first of them is read in advance."""
        self._first_of_next_step = [*batches][:1]

    def _read_ahead(self) -> None:
        if self._next:
            self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="sweep-observed")
            some = self._next.popleft()
            self._reading = some, self._thread.submit(self._read, some)

    def _read(self, some: np.ndarray) -> np.ndarray:
        record = self.store[some].astype(self.dtype, copy=False)
        if self._mask is not None:
            record.swapaxes(1, 2)[~self._mask[some]] = 0
        for shot, gather in zip(some, record, strict=True):
            if not np.isfinite(gather).all():
                raise DataError(
                    f"observed holds NaN or infinite values in shot {shot} of {self.store.path}; set them to zero, "
                    "with weights of zero"
                )
        return record


class SummedData:
    """Sums of the shots of a store with the signs of an :class:`Encoding`, which are read when they are used."""

    def __init__(self, data: StoredData, parts: list[np.ndarray], signs: np.ndarray):
        self._data, self._parts, self._signs = data, parts, signs
        self.shape, self.dtype = (len(parts), *data.shape[1:]), data.dtype

    def __getitem__(self, some: np.ndarray) -> np.ndarray:
        sums = np.zeros((len(some), *self.shape[1:]), self.dtype)
        for total, number in zip(sums, some, strict=True):
            for shot in self._parts[number]:
                total += self.dtype.type(self._signs[shot]) * self._data[np.array([shot])][0]
        return sums


ObservedData = np.ndarray | StoredData | SummedData


def observed_of(observed: Any, dtype: Any, mask: np.ndarray | None) -> Any:
    """Return an array of any library as a NumPy array of a dtype, and a store as the data of an objective."""
    if isinstance(observed, ObservedStore):
        return StoredData(observed, dtype, None if mask is None else numpy_of(mask).astype(bool))
    observed = numpy_of(observed)
    if observed.dtype.kind not in "fiub":
        raise DtypeError(f"observed is of {observed.dtype}; expected an array of real numbers")
    return observed.astype(dtype, copy=False)


def check_observed(observed: Any, mask: np.ndarray | None, dt: float) -> ObservedData:
    """Return checked observed data. An array is checked now, and the shots of a store when they are read."""
    if isinstance(observed, ObservedStore):
        observed = observed_of(observed, observed.dtype, mask)
    if isinstance(observed, SummedData):
        return observed
    if isinstance(observed, StoredData):
        if not np.isclose(observed.store.dt, dt, rtol=1e-6, atol=0):
            raise DomainError(
                f"dt of {observed.store.path} is {observed.store.dt:g} s; expected {dt:g} s, that of the solver: "
                "resample the data"
            )
        return observed
    if mask is not None:
        is_used = numpy_of(mask)[:, None, :, None]
        observed = np.where(is_used, observed, np.zeros_like(observed))
    if not np.isfinite(observed).all():
        raise DomainError("observed holds NaN or infinite values; set them to zero, with weights of zero")
    if not np.any(observed):
        raise DomainError("observed is zero throughout; expected the observed record")
    array: np.ndarray = observed
    return array


def check_used(observed: Any, shots: np.ndarray) -> None:
    """Check at the start that a store has the shots that are used; the errors of an array came before."""
    if isinstance(observed, StoredData):
        observed.store.check_written(shots)


def check_in_memory(observed: Any) -> None:
    """Raise an UnsupportedError for a store, whose shots cannot be corrected in place."""
    if isinstance(observed, StoredData):
        raise UnsupportedError(
            f"observed is the store {observed.store.path}, but a stage with coarsen corrects all shots in memory; "
            "leave coarsen out, or pass store[:] if the data fit into the memory of every rank"
        )
