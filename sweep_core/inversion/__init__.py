"""Full-waveform inversion with any backend: `invert`, its parts, and helpers of inversion scripts."""

from .._util.config import option
from .coarse import Coarse
from .elastic import elastic_experiment
from .encoding import Encoding
from .experiment import Experiment, marine_experiment, separate
from .fwi import Inverted, invert
from .illumination import illumination
from .imaging import least_squares_migrate, migrate
from .job import arguments_of, check_out, conclude, make_solver, observe
from .lbfgs import LBFGS
from .objective import Objective
from .observers import Observers, StopInversion
from .regularisers import Tikhonov, TotalVariation
from .scaling import LinearScaling
from .settings import Settings
from .solver import Solver
from .stage import Stage
from .stepwise import Stepwise
from .survey_model import model_survey

__all__ = [
    "LBFGS",
    "Coarse",
    "Encoding",
    "Experiment",
    "Inverted",
    "LinearScaling",
    "Objective",
    "Observers",
    "Settings",
    "Solver",
    "Stage",
    "Stepwise",
    "StopInversion",
    "Tikhonov",
    "TotalVariation",
    "arguments_of",
    "check_out",
    "conclude",
    "elastic_experiment",
    "illumination",
    "invert",
    "least_squares_migrate",
    "make_solver",
    "marine_experiment",
    "migrate",
    "model_survey",
    "observe",
    "option",
    "separate",
]
