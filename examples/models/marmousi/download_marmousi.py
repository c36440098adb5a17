"""Download the Marmousi-II elastic model (AGL, University of Houston) and verify it.

The archive comes from the SEG open-data bucket into download/. Nobody publishes a checksum for it, so the
first run writes its size and SHA-256 next to it (a .json), and every later run compares. The comparison shows
damage and a change at the publisher, not whether the first copy was right. If you know the digest from
somebody whom you trust, pin it with --sha256.

Without a network, fetch the file elsewhere, put it at the path that the message names, and run this again.
"""

import argparse
import contextlib
import hashlib
import json
import sys
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

from extract_model_segy import HERE, extract_models

from sweep_core.errors import CheckpointError, OptionError, SweepError
from sweep_core.io import replacing

# This archive has only the models, not the modelled shots.
URL = "https://s3.amazonaws.com/open.source.geoscience/open_data/elastic-marmousi/elastic-marmousi-model.tar.gz"
BLOCK = 1 << 20
TIMEOUT = 60  # seconds without a byte


@contextlib.contextmanager
def progress(total: int | None, name: str) -> Iterator[Callable[[int], Any]]:
    """Yield a function that takes the number of new bytes; draws a bar if tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        print(f"{name}: {total or 'an unknown number of'} bytes (pip install tqdm for a progress bar)")
        yield lambda count: None
        return
    with tqdm(total=total, unit="B", unit_scale=True, desc=name) as bar:
        yield bar.update


def blocks(url: str, archive: Path) -> Iterator[bytes]:
    """Yield the bytes at `url`, a block at a time; an error message names `archive`, their destination."""
    size = 0
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
            length = answer.headers.get("Content-Length")
            with progress(int(length) if length else None, archive.name) as tell:
                while block := answer.read(BLOCK):
                    yield block
                    size += len(block)
                    tell(len(block))
        if length and size != int(length):
            raise OSError(f"the connection closed after {size} of {length} bytes")
    except (OSError, HTTPException, ValueError) as error:
        reason = str(error).removeprefix("<urlopen error ").removesuffix(">")
        raise CheckpointError(
            f"{archive.name} could not be fetched from {url} ({reason}). Without a network, "
            f"download that URL elsewhere, put the file at {archive} and run this again"
        ) from error


def fetch(url: str, archive: Path, verify: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Store `url` at `archive` if `verify` accepts its size and SHA-256; return both."""
    digest = hashlib.sha256()
    with replacing(archive) as stream:
        for block in blocks(url, archive):
            stream.write(block)
            digest.update(block)
        measured = {"size": stream.tell(), "sha256": digest.hexdigest()}
        verify(measured)
    return measured


def measure(path: Path) -> dict[str, Any]:
    """Return the size and SHA-256 of a file."""
    with open(path, "rb") as stream:
        return {"size": path.stat().st_size, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}


def verify(measured: dict[str, Any], archive: Path, record: Path, pinned: str | None) -> None:
    """Compare with the pinned digest and with the record of the first run."""
    again = f"delete {archive} and run again" if archive.exists() else "nothing was kept of it: run again"
    if pinned is not None and measured["sha256"] != pinned:
        raise CheckpointError(
            f"{archive.name} has SHA-256 {measured['sha256']}, --sha256 asks for {pinned}; if the digest that "
            f"you gave is right, the file is damaged or another one; {again}"
        )
    if not record.exists():
        return
    try:
        known = json.loads(record.read_text(encoding="utf-8"))
        size, sha256 = known["size"], known["sha256"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise CheckpointError(f"{record} is not a record of a download ({error}); delete it and run again") from error
    if (size, sha256) != (measured["size"], measured["sha256"]):
        raise CheckpointError(
            f"{archive.name} has {measured['size']} bytes and SHA-256 {measured['sha256']}, where {record.name} "
            f"recorded {size} bytes and {sha256}. If the file is damaged, {again}; if its publisher changed "
            f"it and you accept that, delete {record} first"
        )


def obtain(url: str, dest: Path, pinned: str | None) -> Path:
    """Return the path of the verified archive in `dest`; download it if it is not there."""
    try:
        parts = urllib.parse.urlsplit(url)
        scheme, name = parts.scheme, Path(urllib.parse.unquote(parts.path)).name
    except ValueError:  # half of an address in brackets
        scheme = name = ""
    if scheme not in ("http", "https", "file") or not name or not name.isprintable():
        raise OptionError(f"--url is {url!r}; expected an http, https or file URL that ends in the name of a file")
    archive, record = dest / name, dest / f"{name}.json"
    if archive.exists():
        print(f"{archive} is there; verifying it")
        measured = measure(archive)
        verify(measured, archive, record, pinned)
    else:
        measured = fetch(url, archive, lambda measured: verify(measured, archive, record, pinned))
    if not record.exists():
        with replacing(record) as stream:
            stream.write((json.dumps({"url": url, **measured}, indent=2) + "\n").encode())
        print(f"no published checksum is known; recorded this one in {record}")
    print(f"{archive}: {measured['size'] / 1e6:.1f} MB, SHA-256 {measured['sha256']}")
    return archive


def _sha256(text: str) -> str:
    digest = text.strip().lower()
    if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a SHA-256: expected 64 hexadecimal digits")
    return digest


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default=URL, help="another place of the same archive (%(default)s)")
    parser.add_argument("--dest", type=Path, default=HERE / "download", help="where it goes (%(default)s)")
    parser.add_argument("--sha256", type=_sha256, metavar="HEX", help="refuse an archive with another digest")
    parser.add_argument("--extract", action="store_true", help="unpack the three models to --segy afterwards")
    parser.add_argument("--segy", type=Path, default=HERE / "segy", help="where they are unpacked (%(default)s)")
    args = parser.parse_args(argv)
    try:
        obtain(args.url, args.dest, args.sha256)
        if args.extract:
            extract_models(args.dest, args.segy)
    except (SweepError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print(f"next: {'convert_segy_to_npy.py' if args.extract else 'extract_model_segy.py'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
