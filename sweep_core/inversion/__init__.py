"""Full-waveform inversion, whatever backend computes: `invert` and its parts, and the experiment, settings, folder and
report that scripts share.
"""

from .adam import AdamState, first_scale
from .checkpoint import Checkpoint
from .coarse import Coarse
from .elastic import elastic_experiment, make_elastic_parser, read_elastic_settings
from .encoding import Encoding
from .engine import ExecutorEngine, separate
from .experiment import Experiment, marine_experiment
from .fwi import Inverted, invert
from .illumination import illumination
from .imaging import least_squares_migrate, migrate
from .lbfgs import LBFGS
from .objective import Objective
from .observers import Observers, StopInversion
from .regularisers import Tikhonov, TotalVariation
from .report import Report
from .run import RunFolder
from .settings import Settings, make_parser, read_settings
from .stage import Stage
from .stepwise import Stepwise

__all__ = [
    "LBFGS",
    "AdamState",
    "Checkpoint",
    "Coarse",
    "Encoding",
    "ExecutorEngine",
    "Experiment",
    "Inverted",
    "Objective",
    "Observers",
    "Report",
    "RunFolder",
    "Settings",
    "Stage",
    "Stepwise",
    "StopInversion",
    "Tikhonov",
    "TotalVariation",
    "elastic_experiment",
    "first_scale",
    "illumination",
    "invert",
    "least_squares_migrate",
    "make_elastic_parser",
    "make_parser",
    "marine_experiment",
    "migrate",
    "read_elastic_settings",
    "read_settings",
    "separate",
]
