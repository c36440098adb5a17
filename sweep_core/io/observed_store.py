"""Observed data on disk, one compressed chunk for each shot, which many processes read and write at once."""

import hashlib
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import attrs
import numpy as np
from numpy.typing import NDArray

from .._util.arrays import numpy_of
from .._util.validators import as_path, check_positive, check_whole, shot_numbers
from ..errors import CheckpointError, DataError, DtypeError, OptionError, ShapeError, StorageError, UnsupportedError
from .replacing import storing

FORMAT = "seismic-sweep observed data"
VERSION = 1
CHECKSUM = 16  # bytes
LARGEST_CHUNK = 1 << 30  # bytes; the compressor admits 2 GiB
DTYPES = "float32", "float64"
INSTALL = "pip install 'seismic-sweep[data]'"


def load_zarr() -> Any:
    """Return the module zarr, or raise an UnsupportedError that says how to install it."""
    try:
        import zarr
    except ImportError as error:
        raise UnsupportedError(f"a store of observed data needs zarr, which cannot be imported: {INSTALL}") from error
    return zarr


@attrs.frozen(eq=False, repr=False)
class ObservedStore:
    """Observed data of a survey in a folder, of which each process reads and writes some shots.

    The folder is a Zarr group with two arrays of one chunk for each shot, ``record`` and ``checksum``. The checksum is
    written last, and a shot without checksum does not count as written. Each shot that is read is compared with its
    checksum. Several processes may write at once if no two of them write the same shot.

    Use :meth:`create` or :meth:`open`.

    Attributes
    ----------
    path : Path
        The folder.
    group : zarr.Group
        The group.
    dt : float
        Sampling interval (s).
    metadata : mapping
        Values of the user.
    record, checksum : zarr.Array
        The arrays of the group.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from sweep_core.io import ObservedStore
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = ObservedStore.create(f"{folder.name}/line.zarr", shape=(1000, 500, 40, 1), dt=0.002)
    >>> store.write([7], np.ones((1, 500, 40, 1), np.float32))
    >>> store[[7]].shape, len(store.missing())
    ((1, 500, 40, 1), 999)
    """

    path: Path
    group: Any
    dt: float
    metadata: Mapping[str, Any]
    record: Any
    checksum: Any

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], shape: tuple[int, int, int, int], dt: float, dtype: Any = np.float32,
        metadata: Mapping[str, Any] = MappingProxyType({}), overwrite: bool = False,
    ) -> Self:  # fmt: skip
        """Create a store without shots.

        Parameters
        ----------
        path : path-like
            The folder.
        shape : (nshots, nt, nrec, nfield)
            Shape of the record of all shots.
        dt : float
            Sampling interval (s).
        dtype : float32 or float64
            Type of the samples.
        metadata : mapping
            Values by name, which JSON can express.
        overwrite : bool
            Remove an earlier store at `path`.

        Returns
        -------
        ObservedStore
            The store.

        Raises
        ------
        CheckpointError
            `path` exists.
        ShapeError, DtypeError, DomainError, OptionError
            Another argument has a wrong value.
        UnsupportedError
            zarr is not installed.
        StorageError
            The disk is full, or the system refuses to write.
        """
        zarr, path = load_zarr(), Path(os.path.abspath(as_path(path)))
        if len(shape) != 4:
            raise ShapeError(f"shape is {shape!r}; expected (nshots, nt, nrec, nfield)")
        shape = tuple(check_whole(n, "shape", 1) for n in shape)  # type: ignore[assignment]
        dt, kind = check_positive(dt, "dt", "the sampling interval in seconds"), _dtype(dtype)
        _, nt, nrec, nfield = shape
        receivers = max(1, min(nrec, LARGEST_CHUNK // (nt * nfield * kind.itemsize)))
        if path.exists():
            if not overwrite:
                raise CheckpointError(f"{path} exists; open it, or name another folder")
            cls.open(path)  # only a store may be removed
        part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
        attributes = {"format": FORMAT, "version": VERSION, "dt": dt, "metadata": dict(metadata)}
        with storing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                group = zarr.create_group(part, attributes=attributes)
                codec = zarr.codecs.BloscCodec(cname="lz4", clevel=5, shuffle="shuffle")
                group.create_array(
                    "record", shape=shape, chunks=(1, nt, receivers, nfield), dtype=kind, fill_value=0,
                    compressors=codec, dimension_names=("shot", "time", "receiver", "field"),
                )  # fmt: skip
                group.create_array(
                    "checksum", shape=(shape[0], CHECKSUM), chunks=(1, CHECKSUM), dtype="uint8", fill_value=0,
                    compressors=None, dimension_names=("shot", "byte"),
                )  # fmt: skip
                if path.exists():
                    shutil.rmtree(path)
                os.rename(part, path)
            finally:
                shutil.rmtree(part, ignore_errors=True)
        return cls.open(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open a store to read and write.

        Parameters
        ----------
        path : path-like
            The folder.

        Returns
        -------
        ObservedStore
            The store.

        Raises
        ------
        CheckpointError
            The folder holds no store, or one of another version of the format.
        UnsupportedError
            zarr is not installed.
        """
        zarr, path = load_zarr(), Path(os.path.abspath(as_path(path)))
        try:
            group = zarr.open_group(path, mode="r+")
            attributes = dict(group.attrs)
            if attributes.get("format") != FORMAT:
                raise ValueError("it is another Zarr group")
            if attributes["version"] != VERSION:
                raise ValueError(f"its format has version {attributes['version']}, and this SWEEP reads {VERSION}")
            return cls(path, group, attributes["dt"], attributes["metadata"], group["record"], group["checksum"])
        except Exception as error:  # zarr raises different kinds from version to version
            reason = " ".join(str(error).split())
            raise CheckpointError(
                f"{path} is no store of observed data ({type(error).__name__}: {reason}); create one by "
                "ObservedStore.create"
            ) from error

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Shape of the record of all shots: (nshots, nt, nrec, nfield)."""
        shape: tuple[int, int, int, int] = self.record.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the samples."""
        return np.dtype(self.record.dtype)

    @property
    def nbytes(self) -> int:
        """Size of the record of all shots in memory (bytes)."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"ObservedStore({str(self.path)!r}, shape={self.shape}, dtype={self.dtype}, dt={self.dt:g})"

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        raise OptionError(
            f"{self.path} holds {self.nbytes / 1e9:.3g} GB, which are not loaded unasked; take shots, such as "
            "store[[0, 5]], or all of them by store[:]"
        )

    def __getitem__(self, shots: Any) -> NDArray[Any]:
        """Return the record of some shots.

        Parameters
        ----------
        shots : sequence of int, slice or int
            Shots, counted from 0.

        Returns
        -------
        (n, nt, nrec, nfield) array
            Their record, without the first axis for an int.

        Raises
        ------
        DomainError
            There is no such shot.
        DataError
            A shot was not written, or is damaged.
        """
        if isinstance(shots, int | np.integer):
            return self[[shots]][0]
        numbers = shot_numbers(range(len(self))[shots] if isinstance(shots, slice) else shots, len(self))
        result = np.empty((len(numbers), *self.shape[1:]), self.dtype)
        for row, shot in zip(result, numbers.tolist(), strict=True):
            row[...] = self._read(shot)
        return result

    def _read(self, shot: int) -> NDArray[Any]:
        try:
            digest, gather = self.checksum[shot], self.record[shot]
        except Exception as error:  # of the compressor, or of the system
            raise DataError(f"shot {shot} of {self.path} cannot be read ({error}); write it again") from error
        if not digest.any():
            raise DataError(f"shot {shot} of {self.path} was not written; expected its record: write it first")
        if bytes(digest) != _digest(gather):
            raise DataError(f"shot {shot} of {self.path} is damaged: its checksum differs; write it again")
        return gather

    def write(self, shots: Any, record: Any) -> None:
        """Write the record of some shots.

        Parameters
        ----------
        shots : sequence of int
            Shots, counted from 0, each once.
        record : (n, nt, nrec, nfield) array
            Their record, of the dtype of the store.

        Raises
        ------
        DomainError
            There is no such shot, or one is named twice.
        ShapeError, DtypeError
            The record does not fit the store.
        StorageError
            The disk is full, or the system refuses to write. The shot then does not count as written.
        """
        numbers, array = shot_numbers(shots, len(self)).tolist(), numpy_of(record)
        if len(set(numbers)) < len(numbers):
            raise OptionError(f"shots are {numbers}; expected each shot once")
        if array.shape != (len(numbers), *self.shape[1:]):
            expected = ", ".join(map(str, (len(numbers), *self.shape[1:])))
            raise ShapeError(f"record has shape {array.shape}; expected ({expected}), as in {self.path}")
        if array.dtype != self.dtype:
            raise DtypeError(f"record is of {array.dtype}; expected {self.dtype}, as in {self.path}")
        with storing(self.path):
            for shot, gather in zip(numbers, array, strict=True):
                if self.checksum[shot].any():
                    self.checksum[shot] = 0
                self.record[shot] = gather
                self.checksum[shot] = np.frombuffer(_digest(gather), np.uint8)

    def checksums(self) -> NDArray[np.uint8]:
        """Return the checksum (nshots, 16) of each shot; zeros for a shot that was not written."""
        try:
            checksums: NDArray[np.uint8] = self.checksum[:]
        except Exception as error:
            raise StorageError(f"the checksums of {self.path} cannot be read ({error})") from error
        return checksums

    def missing(self) -> NDArray[np.int64]:
        """Return the shots that were not written, in ascending order."""
        return np.flatnonzero(~self.checksums().any(axis=1))

    @property
    def version(self) -> str:
        """Checksum of the shape, the dtype and all shots, from the checksums of the shots."""
        whole = hashlib.blake2b(repr((self.shape, self.dtype.str)).encode(), digest_size=CHECKSUM)
        whole.update(self.checksums().tobytes())
        return whole.hexdigest()

    def check_written(self, shots: Any = None) -> None:
        """Check that some shots were written, and that not all of them are zero throughout.

        Parameters
        ----------
        shots : sequence of int, optional
            Shots, counted from 0; all by default.

        Raises
        ------
        DataError
            With the numbers of the shots that were not written, or if all shots are zero.
        """
        numbers = np.arange(len(self)) if shots is None else shot_numbers(shots, len(self))
        checksums = self.checksums()[numbers]
        if (missing := numbers[~checksums.any(axis=1)]).size:
            more = f", ... ({missing.size} in all)" if missing.size > 9 else ""
            raise DataError(
                f"{self.path} lacks shots {', '.join(map(str, missing[:9]))}{more}; expected all shots that are used: "
                "write them first"
            )
        silent = np.frombuffer(_digest(np.zeros(self.shape[1:], self.dtype)), np.uint8)
        if numbers.size and (checksums == silent).all():
            raise DataError(f"{self.path} is zero throughout in the shots that are used; expected the observed record")


def _dtype(dtype: Any) -> np.dtype[Any]:
    try:
        if (kind := np.dtype(dtype)).name in DTYPES:
            return kind
    except TypeError:
        pass
    raise DtypeError(f"dtype is {dtype!r}; expected {' or '.join(DTYPES)}")


def _digest(gather: NDArray[Any]) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(gather).data, digest_size=CHECKSUM).digest()
