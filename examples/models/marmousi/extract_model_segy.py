"""Find the three elastic models inside the Marmousi-II archive and unpack them to segy/.

The archive of `download_marmousi.py` holds further archives, one for each of P velocity, S velocity and
density. The script unpacks both levels, and skips files that exist already. It refuses members that would
land outside the folder, links and devices, and unpacks nothing of an archive with such a member.
"""

import argparse
import gzip
import os
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path, PurePosixPath, PureWindowsPath

from sweep_core.errors import CheckpointError, StorageError, SweepError, UnsupportedError

HERE = Path(__file__).resolve().parent
NESTED = "MODEL_*_1.25m.segy.tar.gz"
BLOCK = 1 << 20
QUANTITIES = ("P-WAVE_VELOCITY", "S-WAVE_VELOCITY", "DENSITY")


def check_member(member: tarfile.TarInfo, archive: Path) -> None:
    """Refuse a member that is no plain file or folder, or whose path leaves the target folder."""
    posix, windows = PurePosixPath(member.name), PureWindowsPath(member.name)
    if posix.is_absolute() or windows.drive or windows.root or ".." in posix.parts or ".." in windows.parts:
        reason = "its path leaves the folder"
    elif not (member.isfile() or member.isdir()):
        reason = "it is a link or a device"
    else:
        return
    raise CheckpointError(
        f"{archive} is refused: member {member.name!r} cannot be trusted, {reason}. Nothing was unpacked; "
        "delete the archive and take it from its publisher"
    )


def safe_extract(archive: Path, folder: Path) -> list[Path]:
    """Unpack a tar.gz archive of plain files into `folder`, all of it or nothing, and return the files.

    The file is read to its end, beyond the end of the tar, since gzip keeps its checksum there.
    """
    if not hasattr(tarfile, "data_filter"):
        raise UnsupportedError(f"Python {sys.version.split()[0]} has no safe tar filter; use 3.11.4 or newer")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=".", suffix=".part", dir=folder))
    except OSError as error:
        raise StorageError(f"{folder} could not be written into: {error.strerror}") from error
    try:
        with gzip.open(archive) as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
            members = tar.getmembers()
            for member in members:
                check_member(member, archive)
            tar.extractall(part, members=members, filter="data")
            while stream.read(BLOCK):
                pass
        files = [path for path in sorted(part.rglob("*")) if path.is_file()]
        targets = [folder / path.relative_to(part) for path in files]
        for path, target in zip(files, targets, strict=True):
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "rb") as stream:
                os.fsync(stream.fileno())
            os.replace(path, target)
    except SweepError:
        raise
    except Exception as error:  # tarfile, gzip and zlib raise a dozen kinds on damaged bytes
        raise CheckpointError(
            f"{archive} cannot be unpacked into {folder} ({type(error).__name__}: {error}); if the "
            "archive is damaged, delete it and run download_marmousi.py again"
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return targets


def find_nested(download: Path) -> dict[str, Path]:
    """Return the archive of each quantity under `download`; unpack the outer archive if needed."""
    archives = sorted(download.rglob(NESTED))
    if not archives:
        outer = sorted(download.glob("*.tar.gz"))
        if not outer:
            raise CheckpointError(
                f"{download} holds neither {NESTED} nor an archive *.tar.gz that may contain it; "
                "run download_marmousi.py"
            )
        for archive in outer:
            print(f"unpacking {archive}")
            safe_extract(archive, download)
        archives = sorted(download.rglob(NESTED))
    nested = {quantity: path for quantity in QUANTITIES for path in archives if quantity in path.name}
    missing = [quantity for quantity in QUANTITIES if quantity not in nested]
    if missing:
        raise CheckpointError(
            f"no MODEL_{missing[0]}_1.25m.segy.tar.gz under {download}; expected one each for "
            f"{', '.join(QUANTITIES)}: delete what was unpacked there and run this again"
        )
    return nested


def extract_models(download: Path, segy: Path) -> list[Path]:
    """Unpack the three models from `download` into `segy`; keep models that exist already."""
    models = {quantity: sorted(segy.rglob(f"MODEL_{quantity}_1.25m.segy")) for quantity in QUANTITIES}
    if not all(models.values()):
        for quantity, archive in find_nested(download).items():
            if not models[quantity]:
                print(f"unpacking {archive.name}")
                safe_extract(archive, segy)
                models[quantity] = sorted(segy.rglob(f"MODEL_{quantity}_1.25m.segy"))
            if not models[quantity]:
                raise CheckpointError(f"{archive} holds no MODEL_{quantity}_1.25m.segy; is it the Marmousi-II archive?")
    files = [paths[0] for paths in models.values()]
    for path in files:
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    return files


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--download", type=Path, default=HERE / "download", help="where the archive is (%(default)s)")
    parser.add_argument("--segy", type=Path, default=HERE / "segy", help="where the models go (%(default)s)")
    args = parser.parse_args(argv)
    try:
        extract_models(args.download, args.segy)
    except (SweepError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print("next: convert_segy_to_npy.py")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
