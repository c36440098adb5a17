"""The physics on a grid with its boundaries, as one immutable value."""

from .make import check_cells, make_problem
from .problem import Problem, absent

__all__ = ["Problem", "absent", "check_cells", "make_problem"]
