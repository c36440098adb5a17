"""Small rough problems, and the answers of the reference."""

from .layered import layered_case
from .problems import (
    DH,
    OF_LIMIT,
    SHAPES,
    Case,
    born_of_cell,
    default_shape,
    of_another_wavelet,
    random_cells,
    reference_born,
    reference_record,
    stable_dt,
)
from .rough import ONE_AXIS, VARIANTS, case, ricker_case, variant
from .strategies import INEXACT, STRATEGIES

__all__ = [
    "DH",
    "INEXACT",
    "OF_LIMIT",
    "ONE_AXIS",
    "SHAPES",
    "STRATEGIES",
    "VARIANTS",
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
