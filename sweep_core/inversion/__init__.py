"""What inversion scripts share, whatever backend computes: experiment, settings, the run's folder, its report."""

from .engine import ExecutorEngine, separate
from .experiment import Experiment, marine_experiment
from .report import Report
from .run import RunFolder
from .settings import Settings, make_parser, read_settings

__all__ = [
    "ExecutorEngine",
    "Experiment",
    "Report",
    "RunFolder",
    "Settings",
    "make_parser",
    "marine_experiment",
    "read_settings",
    "separate",
]
