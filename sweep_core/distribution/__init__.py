"""Shots over ranks or devices: plans, and the verbs that a backend's distributor speaks."""

from .._util.launcher import Launch, find_launch
from .costs import shot_costs
from .distributor import Distributor, SerialDistributor, check_same, on_root
from .elastic import ElasticDistributor, add_results, is_elastic, tree_sum
from .ordered import ordered_sum, ordered_tasks
from .prediction import Link, PredictedStep, Prediction, predict
from .profile import Interval, Profile, Recorder, record_interval
from .sampler import ShotSampler
from .sharing import raise_on_all, share_texts
from .shot_plan import ShotPlan, check_plan
from .timed import TimedDistributor, wait_for
from .trace import chrome_trace, read_profile

__all__ = [
    "Distributor",
    "ElasticDistributor",
    "Interval",
    "Launch",
    "Link",
    "PredictedStep",
    "Prediction",
    "Profile",
    "Recorder",
    "SerialDistributor",
    "ShotPlan",
    "ShotSampler",
    "TimedDistributor",
    "add_results",
    "check_plan",
    "check_same",
    "chrome_trace",
    "find_launch",
    "is_elastic",
    "on_root",
    "ordered_sum",
    "ordered_tasks",
    "predict",
    "raise_on_all",
    "read_profile",
    "record_interval",
    "share_texts",
    "shot_costs",
    "tree_sum",
    "wait_for",
]
