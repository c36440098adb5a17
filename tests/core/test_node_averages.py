"""The rows of coefficients that depend on a row of parameters, and the rows to image beside known rows."""

import attrs
import pytest

from sweep_core import Acoustic, AcousticVariableDensity, Elastic, MemoryOptions, make_problem
from sweep_core.discretization.node_averages import rows_before
from sweep_core.native.call import imaged_from


class TwoMeans(Acoustic):
    """An equation with means of means."""

    def coefficients(self, node_averages, vp):
        return (node_averages.dt**2 * node_averages.mean(node_averages.mean(vp, "z"), "z") ** 2,)


class WholeModel(Acoustic):
    def coefficients(self, node_averages, vp):
        return ((node_averages.dt * vp) ** 2 * vp.mean(),)


class FixedShape(Acoustic):
    def coefficients(self, node_averages, vp):
        raise ValueError("operands could not be broadcast together with shapes (90,110) (8,2)")


def problem_of(equation, ndim=2, known=9, **options):
    memory = MemoryOptions(known_above=known)
    return attrs.evolve(
        make_problem(Acoustic(4), (20, 22, 24)[:ndim], 10.0, 1e-3, memory=memory, **options), equation=equation
    )


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("free_surface", [False, True])
@pytest.mark.parametrize(
    ("equation", "rows"),
    [(Acoustic, 0), (AcousticVariableDensity, 1), (Elastic, 1), (TwoMeans, 2), (WholeModel, None), (FixedShape, None)],
)
def test_rows_before_counts_the_dependent_rows(equation, rows, free_surface, ndim):
    problem = problem_of(equation(4), ndim, free_surface=free_surface, pml_width=10)
    assert rows_before(problem) == rows
    assert imaged_from(problem) == (0 if rows is None else 9 + 10 * (not free_surface) - rows)


def test_all_rows_are_imaged_if_none_is_known():
    assert imaged_from(problem_of(Elastic(4), known=0)) == 0
    assert imaged_from(problem_of(Elastic(4), known=1, free_surface=True)) == 0
