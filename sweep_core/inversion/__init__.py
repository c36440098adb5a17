"""What inversion scripts share, whatever backend computes: experiment, settings, the run's folder, its report."""

from .adam import AdamState, first_scale
from .checkpoint import Checkpoint
from .elastic import elastic_experiment, make_elastic_parser, read_elastic_settings
from .engine import ExecutorEngine, separate
from .experiment import Experiment, marine_experiment
from .observers import Observers
from .report import Report
from .run import RunFolder
from .settings import Settings, make_parser, read_settings

__all__ = [
    "AdamState",
    "Checkpoint",
    "ExecutorEngine",
    "Experiment",
    "Observers",
    "Report",
    "RunFolder",
    "Settings",
    "elastic_experiment",
    "first_scale",
    "make_elastic_parser",
    "make_parser",
    "marine_experiment",
    "read_elastic_settings",
    "read_settings",
    "separate",
]
