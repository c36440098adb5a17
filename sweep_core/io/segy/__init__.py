"""SEG-Y files: field records in, records, models and images out. segyio is imported with the first of them."""

from .index import SegyFile, open_segy
from .reading import read_segy
from .writing import write_segy, write_segy_section

__all__ = ["SegyFile", "open_segy", "read_segy", "write_segy", "write_segy_section"]
