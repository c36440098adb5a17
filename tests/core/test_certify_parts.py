"""The excerpt of a model on which certify compares: its place, its sources and its receivers."""

from types import SimpleNamespace

import numpy as np
import pytest

from sweep_core import Acoustic, Elastic, Shots, check_survey, make_problem, ricker
from sweep_core.certify import values
from sweep_core.certify.excerpt import LISTENING, MARGIN, SIDE, cut_out, whole_call
from sweep_core.certify.skipping import skipping

SHAPE = (100, 120)


def cut(sources, receivers, **options):
    problem = make_problem(Acoustic(), SHAPE, 10.0, 1e-3, **{"pml_width": 2, **options})
    models = [np.linspace(2000, 3000, SHAPE[0])[:, None] * np.ones(SHAPE)]
    return cut_out(whole_call(problem, Shots(ricker(10.0, 400, 1e-3), *map(np.array, (sources, receivers))), models))


def test_an_excerpt_begins_at_the_free_surface():
    deep = cut([[60, 80]], [[60, 3]], free_surface=True)
    assert deep.models[0][0, 0] == 2000 and deep.problem.grid.shape == (SIDE[2],) * 2
    assert cut([[60, 80]], [[60, 3]]).models[0][0, 0] > 2400


@pytest.mark.parametrize("at", [44.2, 45.5, 60.0, 74.9, 75.3])
def test_taps_between_nodes_lie_inside_the_excerpt(at):
    """An excerpt has fewer cells around a position than the model."""
    part = cut([[60.0, 50.0]], [[at, 50.0]])
    assert part.problem.grid.shape == (SIDE[2],) * 2
    check_survey(part.problem, part.shots)
    assert ((part.shots.receivers >= MARGIN) & (part.shots.receivers <= SIDE[2] - 1 - MARGIN)).all()


def test_near_receivers_stay_and_others_move_into_the_excerpt():
    receivers = np.stack([np.arange(0, 120, 6), np.full(20, 50)], axis=1)
    part = cut([[60, 50]], receivers)
    near = [n for n, (x, _) in enumerate(receivers) if 48 <= x <= 71]
    assert len(part.receivers) == LISTENING and set(near) <= set(part.receivers.tolist())
    assert "4 of them moved into it" in part.words
    for n in near:
        position = part.shots.receivers[part.receivers.tolist().index(n)]
        assert position.tolist() == [receivers[n][0] - 44, 50 - 34]


def line(speed, offsets, weak=0.05, noise=0.0):
    """Return traces of a direct wave through water and of a refracted wave of the rock's speed, at 10 Hz."""
    t = 0.004 * np.arange(700)

    def ricker_at(arrival):
        phase = (np.pi * 10 * (t - 0.15 - arrival[:, None])) ** 2
        return (1 - 2 * phase) * np.exp(-phase)

    direct = ricker_at(offsets / 1500)
    refracted = weak * ricker_at(0.2 + offsets / speed) if speed else 0
    return direct + refracted + noise * np.random.default_rng(0).standard_normal(direct.shape)


FAR, NEAR = np.linspace(500, 3000, 40), np.linspace(50, 350, 20)


@pytest.mark.parametrize("noise", [0, 2e-3])
@pytest.mark.parametrize(
    ("speed", "offsets", "verdict"),
    [(3000, FAR, "good"), (2900, FAR, "good"), (2000, FAR, "wrong"), (5000, FAR, "wrong"), (2000, NEAR, None)],
)
def test_a_fitting_direct_wave_hides_no_skipped_cycle(speed, offsets, verdict, noise):
    """Half a period is 50 ms; refracted waves are late by at most 34 ms at 2900 m/s and 500 ms at 2000 m/s."""
    result = skipping(line(speed, offsets), line(3000, offsets, noise=noise), 0.004, 10.0)
    assert getattr(result, "verdict", None) == verdict, result
    assert verdict or "the first waves of all traces fit as they are" in result


def test_waves_without_a_counterpart_are_reported():
    data = line(3000, FAR)
    assert "has no counterpart to the first waves of the data" in skipping(0 * data, data, 0.004, 10.0)
    assert skipping(line(0, FAR), data, 0.004, 10.0).verdict == "wrong"  # only the water wave; others overtake it


def test_a_plain_layer_beside_a_free_surface_is_wrong():
    """Guided waves grow in such a layer."""

    def outcome(**options):
        problem = make_problem(Elastic(4), (40, 40), 10.0, 1e-3, **options)
        return [finding.verdict for finding in values.guided_waves(SimpleNamespace(problem=problem))]

    assert outcome(free_surface=True, pml_type="cpmls") == ["wrong"]
    assert not outcome(free_surface=True) and not outcome() and not outcome(free_surface=True, pml_type="mpmls")
