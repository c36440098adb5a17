"""The physics on a grid with its boundaries, as one immutable value."""

from .make import CHOICES, check_cells, make_problem
from .problem import Problem, absent

__all__ = ["CHOICES", "Problem", "absent", "check_cells", "make_problem"]
