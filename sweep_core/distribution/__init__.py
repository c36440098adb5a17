"""Shots over ranks or devices: plans, and the verbs that a backend's distributor speaks."""

from .distributor import Distributor, SerialDistributor, on_root
from .shot_plan import ShotPlan, check_plan

__all__ = ["Distributor", "SerialDistributor", "ShotPlan", "check_plan", "on_root"]
