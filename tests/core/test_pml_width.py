"""The width of the layers by a target of their echo: the table, the argument and its refusals."""

import itertools
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

from sweep_core import (
    Acoustic,
    AcousticTTI,
    AcousticVariableDensity,
    DomainError,
    Elastic,
    OptionError,
    SweepWarning,
    UnsupportedError,
    make_problem,
    ricker,
)
from sweep_core.inversion.coarse import coarser
from sweep_core.numerics.pml_width import ECHOES, FARTHEST, WIDTHS, echoes_of, width_for


def problem(equation=None, **arguments):
    return make_problem(equation or Acoustic(4), (40, 50), 10.0, 1e-3, **arguments)


def test_the_table_has_a_row_for_each_type_of_layer_whose_echo_falls_with_the_width():
    assert set(ECHOES) == set(FARTHEST)
    for row in itertools.chain(*(rows.values() for rows in ECHOES.values())):
        assert len(row) == len(WIDTHS) and all(a >= b for a, b in itertools.pairwise(row))


def test_an_order_between_two_measured_ones_has_the_worse_echo_of_both():
    rows = ECHOES["cpmls"]
    assert echoes_of("cpmls", 4) == list(rows[4]) and echoes_of("cpmls", 16) == list(rows[16])
    assert echoes_of("cpmls", 6) == np.maximum(rows[4], rows[8]).tolist()
    assert echoes_of("cpmls", 6) not in (list(rows[4]), list(rows[8]))
    assert echoes_of("sponge", 2) == echoes_of("sponge", 16) == list(ECHOES["sponge"][4])


@pytest.mark.parametrize("target", [-15, -20, -37.5, -60, -80])
@pytest.mark.parametrize("order", [2, 6, 8])
@pytest.mark.parametrize("layer", FARTHEST)
def test_a_target_gives_the_fewest_measured_cells_below_it(layer, order, target):
    echoes = echoes_of(layer, order)
    if target < min(echoes):
        with pytest.raises(UnsupportedError):
            width_for(target, layer, order)
        return
    at = WIDTHS.index(width_for(target, layer, order))
    assert echoes[at] <= target and all(echo > target for echo in echoes[:at])


def test_a_problem_has_the_layers_of_its_target():
    assert problem().pml == problem(pml_width=20).pml
    subject = problem(Acoustic(8), pml_target_db=-60)
    cells = width_for(-60, "cpmlr", 8)
    assert subject.pml == ((cells, cells),) * 2 and 8 < cells < 20
    assert subject.cpml == problem(Acoustic(8), pml_width=cells).cpml and subject != problem(
        Acoustic(8), pml_width=cells
    )
    assert pickle.loads(pickle.dumps(subject)) == subject
    plain, wider = (problem(AcousticVariableDensity(n), pml_target_db=np.float64(-60)).pml[0][0] for n in (4, 2))
    assert wider == width_for(-60, "cpmls", 2) > plain


def test_each_axis_has_the_width_of_its_own_type():
    """Under a free surface the sides of a solid are multi-axial, and its bottom is plain."""
    plain, sides = (width_for(-30, layer, 4) for layer in ("cpmls", "mpmls"))
    assert plain < sides
    assert problem(Elastic(4), free_surface=True, pml_target_db=-30).pml == ((0, plain), (sides, sides))


def test_sides_under_a_free_surface_reach_60_decibels_and_no_70():
    (_, bottom), sides = problem(Elastic(4), free_surface=True, pml_target_db=-60).pml
    assert bottom < 20 and 80 < sides[0] == sides[1] <= WIDTHS[-1]
    best = min(ECHOES["mpmls"][4])
    with pytest.raises(
        UnsupportedError, match=f"type 'mpmls' at spatial_order 4; expected {best} or more, the echo of"
    ):
        problem(Elastic(4), free_surface=True, pml_target_db=-70)
    assert problem(Elastic(4), free_surface=True, pml_target_db=best).pml[1] == (WIDTHS[-1], WIDTHS[-1])


def test_the_page_states_the_cells_of_the_table():
    """Each cell is the width for the target of its column, or a dash where no measured width reaches it."""
    page = (Path(__file__).parents[2] / "docs/howto/pml-width.md").read_text()
    targets = [int(n) for n in re.findall(r"(-\d+) dB", re.search(r"^\| cells for an echo of .*$", page, re.M)[0])]
    rows = re.findall(r'^\| `"(\w+)"`(?:, order (\d+))? \| (.*) \|$', page, re.M)
    assert [(layer, int(order or 4)) for layer, order, _ in rows] == [(k, n) for k, v in ECHOES.items() for n in v]
    for layer, order, cells in rows:
        best = min(ECHOES[layer][int(order or 4)])
        expected = [str(width_for(t, layer, int(order or 4))) if t >= best else "-" for t in targets]
        assert cells.split(" | ") == expected


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"pml_width": 20, "pml_target_db": -60}, OptionError, "pml_width is 20 and pml_target_db is -60; give one"),
        ({"pml_target_db": 60}, DomainError, "pml_target_db is 60; expected decibels below 0, such as -60"),
        ({"pml_target_db": 0.0}, DomainError, "pml_target_db is 0.0; expected decibels below 0"),
        ({"pml_target_db": float("nan")}, DomainError, "pml_target_db is nan; expected decibels below 0"),
        ({"pml_target_db": -float("inf")}, DomainError, "pml_target_db is -inf; expected decibels below 0"),
        ({"pml_target_db": "-60"}, OptionError, "pml_target_db is '-60'; expected decibels below 0"),
        ({"pml_target_db": True}, OptionError, "pml_target_db is True; expected decibels below 0"),
        (
            {"equation": AcousticTTI(4), "pml_target_db": -60},
            UnsupportedError,
            r"pml_target_db is -60 for layers of type 'sponge' at spatial_order 4; expected -\d+ or more, the echo of "
            "the widest measured layer, of 160 cells: pass pml_width, or another pml_type",
        ),
    ],
    ids=str,
)  # fmt: skip
def test_bad_targets_are_refused(arguments, kind, message):
    with pytest.raises(kind, match=message):
        problem(**arguments)


def test_the_best_target_that_a_refusal_states_is_accepted():
    with pytest.raises(UnsupportedError) as refusal:
        width_for(-1000, "sponge", 4)
    best = int(str(refusal.value).split("expected ")[1].split(" ")[0])
    assert width_for(best, "sponge", 4) == WIDTHS[-1]
    with pytest.raises(UnsupportedError):
        width_for(best - 1, "sponge", 4)


@pytest.mark.parametrize(("layer", "order"), [("absorber", 4), ("cpmls", 18)])
def test_a_layer_that_was_not_measured_is_refused(layer, order):
    message = (
        f"layers of type '{layer}' at spatial_order {order}, whose echo was not measured; expected cpmlr, .* 2 to 16"
    )
    with pytest.raises(UnsupportedError, match=message):
        width_for(-60, layer, order)


def test_a_solver_tells_the_widths_and_their_echo():
    pytest.importorskip("torch")
    from sweep_torch import PropTorch

    setting = {"shape": (40, 50), "dh": 10.0, "dt": 1e-3, "impl": "eager"}
    solver = PropTorch(Elastic(4), **setting, free_surface=True, pml_target_db=-30)
    (_, bottom), (side, _) = solver.problem.pml
    echoes = [ECHOES[layer][4][WIDTHS.index(n)] for layer, n in (("cpmls", bottom), ("mpmls", side))]
    assert f"pml_width=(0, {bottom}, {side}, {side})" in repr(solver) and "pml_target_db=-30" in repr(solver)
    assert solver.explain().endswith(
        f"; pml_width=(0, {bottom}, {side}, {side}) for pml_target_db=-30: {bottom} cells of 'cpmls' leave {echoes[0]:g} "
        f"dB up to 80 degrees of incidence, {side} cells of 'mpmls' leave {echoes[1]:g} dB up to 45 degrees of incidence"
    )
    plain = PropTorch(Acoustic(4), **setting)
    assert "pml_target_db" not in repr(plain) + plain.explain()


def test_a_coarser_problem_keeps_the_cells_of_a_target():
    subject, stated = problem(pml_target_db=-60), problem(pml_width=12)
    assert coarser(subject, 2).pml == subject.pml
    assert coarser(stated, 2).pml == ((6, 6), (6, 6))


@pytest.mark.parametrize(
    ("edge", "options", "text"),
    [
        (4000.5, {"pml_target_db": -60}, "pml_target_db is -60, .* at most pml_velocity, 3000 m/s; the fastest waves at the edges "
         "have 4000 m/s: pass pml_velocity=4001"),
        (4000.5, {"pml_target_db": -60, "pml_velocity": 4001.0}, None),
        (4000.5, {}, None),
        (2500.0, {"pml_target_db": -60}, None),
    ],
)  # fmt: skip
def test_a_call_warns_of_waves_that_the_target_does_not_cover(edge, options, text, recwarn):
    torch = pytest.importorskip("torch")
    from sweep_torch import PropTorch

    vp = torch.full((20, 24), 2500.0)
    vp[5:15, 6:18] = 5000.0  # inside
    vp[:, -1] = edge
    solver = PropTorch(Acoustic(4), (20, 24), 10.0, 1e-3, impl="eager", **options)
    solver(torch.tensor(ricker(10.0, 4, 1e-3)).float(), np.array([[5, 5]]), np.array([[6, 6]]), models=[vp])
    texts = [
        str(w.message) for w in recwarn if issubclass(w.category, SweepWarning) and "pml_target_db" in str(w.message)
    ]
    assert len(texts) == (text is not None)
    if text:
        assert re.search(text, texts[0])
