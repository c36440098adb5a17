"""Small rough problems, and the answers of the reference."""

from .layered import layered_case
from .problems import DH as DH
from .problems import (
    Case,
    born_of_cell,
    default_shape,
    of_another_wavelet,
    random_cells,
    reference_born,
    reference_record,
    stable_dt,
)
from .rough import ONE_AXIS as ONE_AXIS
from .rough import VARIANTS as VARIANTS
from .rough import case, ricker_case, variant
from .strategies import INEXACT as INEXACT
from .strategies import STRATEGIES as STRATEGIES

__all__ = [
    "Case",
    "born_of_cell",
    "case",
    "default_shape",
    "layered_case",
    "of_another_wavelet",
    "random_cells",
    "reference_born",
    "reference_record",
    "ricker_case",
    "stable_dt",
    "variant",
]
