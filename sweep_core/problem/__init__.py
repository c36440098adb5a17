"""The physics on a grid with its boundaries, as one immutable value."""

from .make import make_problem
from .problem import Problem

__all__ = ["Problem", "make_problem"]
