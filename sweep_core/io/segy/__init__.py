"""Reading of field records from SEG-Y, and writing of records, models and images. segyio is imported on first use."""

from .index import SegyFile, open_segy
from .reading import read_segy
from .writing import write_segy, write_segy_section

__all__ = ["SegyFile", "open_segy", "read_segy", "write_segy", "write_segy_section"]
