"""``seismic-sweep segy``: inspect or convert a SEG-Y or Seismic Unix file."""

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
a.sgy  gathers.npz   shot gathers for a solver (--dh, --dt); or a.segy, a.su
a.sgy  section.npy   a section or image, (nz, nx)
gathers.npz  b.sgy   shot gathers with their headers
section.npy  b.sgy   a model or an image (--dh)"""


def add(commands) -> None:
    parser = commands.add_parser("segy", help="look into a SEG-Y or Seismic Unix file, or convert it")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="inspect|convert")
    look = verbs.add_parser("inspect", help="headers, geometry and contradictions")
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
    change.add_argument("--source-depth", type=float, help="metres, instead of the values of the headers")
    change.add_argument("--receiver-depth", type=float, help="metres, instead of the values of the headers")
    change.add_argument("--overwrite", action="store_true", help="replace the file, if it is there")
    change.set_defaults(run=convert)


def inspect(parsed: argparse.Namespace) -> int:
    segy = open_segy(parsed.file)
    if parsed.text:
        print(segy.text)
    print(segy)
    try:
        print(read_segy(segy, dh=1.0))
    except SweepError as error:
        print(f"no shot gathers: {error}")
    return 0


def convert(parsed: argparse.Namespace) -> int:
    source, out = parsed.file, parsed.out
    written = (".sgy", ".segy")
    is_segy = [source.suffix.lower() in (*written, ".su"), out.suffix.lower() in written]
    array = (out if is_segy[0] else source).suffix
    if is_segy[0] == is_segy[1] or array not in (".npz", ".npy"):
        raise OptionError(f"{source.name} cannot be converted to {out.name}; expected one of\n{FORMS}")
    gathers, reads = array == ".npz", is_segy[0]
    options = {name: getattr(parsed, name) for name in ("dh", "dt", "source_depth", "receiver_depth")}
    accepted = {(True, True): tuple(options), (False, False): ("dh",)}.get((gathers, reads), ())
    for name, value in options.items():
        if value is not None and name not in accepted:
            option = f"--{name.replace('_', '-')}"
            raise OptionError(f"{option} does not apply when {source.name} is converted to {out.name}; leave it out")
    if "dh" in accepted and parsed.dh is None:
        raise OptionError("--dh is missing; expected the spacing of the model in metres")
    check_new(out, parsed.overwrite)
    if gathers and reads:
        converted = read_segy(source, **options)
        write_gathers(out, converted)
        print(converted)
    elif gathers:
        write_segy(out, read_gathers(source))
    elif reads:
        section = open_segy(source).section()
        with replacing(out) as stream:
            np.save(stream, section)
        print(f"section    {section.shape[0]} x {section.shape[1]}, {section.min():g} to {section.max():g}")
    else:
        write_segy_section(out, read_array(source), dh=parsed.dh)
    print(f"written    {out}")
    return 0
