"""Equations with large tables, compiled on first use: the Lebedev grid in 3-D, and a long chain of local fields."""

from itertools import pairwise
from typing import ClassVar

import attrs
import dispersion_relation
import numpy as np
import pytest
from building import COMPILER
from christoffel import ROCK, SHALE, christoffel, stiffness
from laws import TABLE
from lebedev import LebedevTTI

from sweep_core import Elastic, ElasticVTI, make_problem
from sweep_core.equations.equation import Field
from sweep_core.equations.first_order import Contribution, DerivativeSum
from sweep_core.equations.sh import SH
from sweep_core.execution.answers import record_error
from sweep_core.testing.cases import case, reference_born, reference_record

pytest.importorskip("torch")
(COMPILED,) = [entry for entry in TABLE if entry.name == "torch-c"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.further,
    pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler"),
]


def matches_the_reference(example):
    """Check record, Born and the transposed Jacobian of compiled code."""
    assert record_error(COMPILED.forward(example), reference_record(example)) < 1e-12
    direction, noise, born = example.direction(), example.noise(), reference_born(example)
    assert record_error(COMPILED.born(example), born) < 1e-12
    terms = [d * g for d, g in zip(direction, COMPILED.jacobian_transposed(example, noise), strict=True)]
    assert abs((born * noise).sum() - sum(t.sum() for t in terms)) < 1e-12 * sum(abs(t).sum() for t in terms)


def test_phase_speeds_of_the_lebedev_grid_are_those_of_christoffel(monkeypatch):
    """The four grids have other modes too, without a counterpart in the solid."""
    monkeypatch.setattr(dispersion_relation, "AT", 6)
    theta, phi, angle, k = 0.4, 0.7, 2.2, 0.002
    tilt = np.array([[np.cos(theta), 0, np.sin(theta)], [0, 1, 0], [-np.sin(theta), 0, np.cos(theta)]])
    turn = np.array([[np.cos(phi), -np.sin(phi), 0], [np.sin(phi), np.cos(phi), 0], [0, 0, 1]])
    direction = (turn @ tilt).T @ np.array([np.sin(angle), 0.0, np.cos(angle)])
    speeds = (
        dispersion_relation.frequencies(LebedevTTI(8), (*ROCK, *SHALE[ElasticVTI], theta, phi), k, angle, 3).real / k
    )
    for expected in christoffel(stiffness(ElasticVTI), ROCK[2], direction):
        assert np.abs(speeds / expected - 1).min() < 1e-6


def test_compiled_code_runs_the_lebedev_grid_in_three_dimensions():
    """It has 36 fields, 88 coefficients and 156 moduli."""
    tables = LebedevTTI.fields, LebedevTTI.coefficient_names, LebedevTTI.moduli
    assert [*map(len, tables)] == [36, 88, 156]
    example = case(LebedevTTI, pml=(3, 4, 3, 3, 4, 3), shape=(9, 10, 11), nt=20, nshots=2)
    fields = {"source_type": ["szz_", "sxz_xz", "vy_xyz"], "receiver_type": ["vx_x", "vz_xyz", "syy_xy", "syz_yz"]}
    matches_the_reference(attrs.evolve(example, arguments=example.arguments | fields))


def test_a_uniform_isotropic_solid_on_the_lebedev_grid_has_the_record_of_elastic():
    """Without anisotropy the four grids are independent, and each is that of Elastic."""
    plain = case(Elastic, shape=(9, 10, 11), pml=(3, 4, 3, 3, 4, 3), nt=30)
    shape = plain.models[0].shape
    plain = attrs.evolve(plain, models=[np.full(shape, value) for value in ROCK])
    fields = {"source_type": ["sxx", "syy", "szz"], "receiver_type": ["vx", "vy", "vz", "sxz"], "pml_type": "sponge"}
    plain = attrs.evolve(plain, arguments=plain.arguments | fields)
    renamed = {"source_type": ["sxx_", "syy_", "szz_"], "receiver_type": ["vx_x", "vy_y", "vz_z", "sxz_xz"]}
    problem = make_problem(**plain.arguments | renamed | {"equation": LebedevTTI()})
    models = [*plain.models, *(np.full(shape, value) for value in (0.0, 0.0, 0.0, 0.7, 0.3))]
    record = COMPILED.make().forward(problem, plain.shots, models).numpy()
    assert record_error(record, reference_record(plain)) < 1e-12


LINKS = tuple(f"link_{n}" for n in range(16))


@attrs.frozen
class Chained(SH):
    """SH waves whose velocity grows by the last of a chain of fields that exist within a step."""

    name: ClassVar[str] = "chained"
    fields: ClassVar[tuple[Field, ...]] = (
        *SH.fields,
        *(Field(link, "1", parity=0, mirrored=False, order=0) for link in LINKS),
    )
    rates: ClassVar[tuple[DerivativeSum, ...]] = (
        *SH.rates,
        *(DerivativeSum(f"same_{link}", (("", link),), operator="same") for link in LINKS),
    )
    moduli: ClassVar[tuple[Contribution, ...]] = (
        Contribution(LINKS[0], "ay"),
        *(Contribution(after, f"same_{before}") for before, after in pairwise(LINKS)),
        Contribution("vy", f"same_{LINKS[-1]}", "b"),
        *SH.moduli[1:],
    )


def test_a_long_chain_of_local_fields_compiles_and_runs():
    matches_the_reference(case(Chained, nt=20))
