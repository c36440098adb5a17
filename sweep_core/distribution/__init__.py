"""Shots over ranks or devices: plans, and the verbs that a backend's distributor speaks."""

from .costs import shot_costs
from .distributor import Distributor, SerialDistributor, check_same, on_root
from .launcher import Launch, find_launch
from .ordered import ordered_sum
from .sampler import ShotSampler
from .shot_plan import ShotPlan, check_plan

__all__ = [
    "Distributor",
    "Launch",
    "SerialDistributor",
    "ShotPlan",
    "ShotSampler",
    "check_plan",
    "check_same",
    "find_launch",
    "on_root",
    "ordered_sum",
    "shot_costs",
]
