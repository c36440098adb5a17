"""``seismic-sweep segy``: what a SEG-Y or Seismic Unix file holds, and other forms of it."""

import argparse
from pathlib import Path

import numpy as np

from ..errors import OptionError, SweepError
from ..io import (
    open_segy,
    read_array,
    read_gathers,
    read_segy,
    replacing,
    write_gathers,
    write_segy,
    write_segy_section,
)
from .options import check_new

FORMS = """\
a.sgy  gathers.npz   shot gathers that a solver takes (--dh, --dt); or a.segy, a.su
a.sgy  section.npy   a section or image, (nz, nx)
gathers.npz  b.sgy   shot gathers with their headers
section.npy  b.sgy   a model or an image (--dh)"""


def add(commands) -> None:
    parser = commands.add_parser("segy", help="look into a SEG-Y or Seismic Unix file, or convert it")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="inspect|convert")
    look = verbs.add_parser("inspect", help="headers, geometry, and what contradicts itself")
    look.add_argument("file", type=Path)
    look.add_argument("--text", action="store_true", help="print the text header, too")
    look.set_defaults(run=inspect)
    change = verbs.add_parser(
        "convert", help="to and from arrays", epilog=FORMS, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    change.add_argument("file", type=Path)
    change.add_argument("out", type=Path)
    change.add_argument("--dh", type=float, help="spacing of the model, metres")
    change.add_argument("--dt", type=float, help="time step of gathers, s; that of the file by default")
    change.add_argument("--source-depth", type=float, help="metres, in place of what the headers say")
    change.add_argument("--receiver-depth", type=float, help="metres, in place of what the headers say")
    change.add_argument("--overwrite", action="store_true", help="replace the file, if it is there")
    change.set_defaults(run=convert)


def inspect(given: argparse.Namespace) -> int:
    segy = open_segy(given.file)
    if given.text:
        print(segy.text)
    print(segy)
    try:
        print(read_segy(segy, dh=1.0))
    except SweepError as error:
        print(f"no shot gathers: {error}")
    return 0


def convert(given: argparse.Namespace) -> int:
    source, out = given.file, given.out
    written = (".sgy", ".segy")
    is_segy = [source.suffix.lower() in (*written, ".su"), out.suffix.lower() in written]
    array = (out if is_segy[0] else source).suffix
    if is_segy[0] == is_segy[1] or array not in (".npz", ".npy"):
        raise OptionError(f"{out.name} cannot be made of {source.name}; what can is\n{FORMS}")
    gathers, reads = array == ".npz", is_segy[0]
    options = {name: getattr(given, name) for name in ("dh", "dt", "source_depth", "receiver_depth")}
    taken = {(True, True): tuple(options), (False, False): ("dh",)}.get((gathers, reads), ())
    for name, value in options.items():
        if value is not None and name not in taken:
            raise OptionError(f"--{name.replace('_', '-')} has no meaning for {source.name} to {out.name}")
    if "dh" in taken and given.dh is None:
        raise OptionError("--dh is missing: the spacing of the model in metres")
    check_new(out, given.overwrite)
    if gathers and reads:
        found = read_segy(source, **options)
        write_gathers(out, found)
        print(found)
    elif gathers:
        write_segy(out, read_gathers(source))
    elif reads:
        section = open_segy(source).section()
        with replacing(out) as stream:
            np.save(stream, section)
        print(f"section    {section.shape[0]} x {section.shape[1]}, {section.min():g} to {section.max():g}")
    else:
        write_segy_section(out, read_array(source), dh=given.dh)
    print(f"written    {out}")
    return 0
