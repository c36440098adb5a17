"""The cut-out on which certify compares: where it lies, and where sources and receivers are in it."""

import numpy as np
import pytest

from sweep_core import Acoustic, Shots, check_survey, make_problem, ricker
from sweep_core.certify.taken import LISTENING, MARGIN, SIDE, cut_out, whole_call

SHAPE = (100, 120)


def cut(sources, receivers, **options):
    problem = make_problem(Acoustic(), SHAPE, 10.0, 1e-3, **{"pml_width": 2, **options})
    models = [np.linspace(2000, 3000, SHAPE[0])[:, None] * np.ones(SHAPE)]
    return cut_out(whole_call(problem, Shots(ricker(10.0, 400, 1e-3), *map(np.array, (sources, receivers))), models))


def test_under_a_free_surface_it_begins_there():
    deep = cut([[60, 80]], [[60, 3]], free_surface=True)
    assert deep.models[0][0, 0] == 2000 and deep.problem.grid.shape == (SIDE[2],) * 2
    assert cut([[60, 80]], [[60, 3]]).models[0][0, 0] > 2400


@pytest.mark.parametrize("at", [44.2, 45.5, 60.0, 74.9, 75.3])
def test_between_nodes_all_taps_lie_inside(at):
    """A cut leaves fewer cells than the model had there."""
    part = cut([[60.0, 50.0]], [[at, 50.0]])
    assert part.problem.grid.shape == (SIDE[2],) * 2
    check_survey(part.problem, part.shots)
    assert ((part.shots.receivers >= MARGIN) & (part.shots.receivers <= SIDE[2] - 1 - MARGIN)).all()


def test_receivers_near_by_stay_and_others_are_moved_in():
    receivers = np.stack([np.arange(0, 120, 6), np.full(20, 50)], axis=1)
    part = cut([[60, 50]], receivers)
    near = [n for n, (x, _) in enumerate(receivers) if 48 <= x <= 71]
    assert len(part.kept) == LISTENING and set(near) <= set(part.kept.tolist())
    assert "4 of them moved into it" in part.words
    for n in near:
        where = part.shots.receivers[part.kept.tolist().index(n)]
        assert where.tolist() == [receivers[n][0] - 44, 50 - 34]
