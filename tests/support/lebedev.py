"""A tilted elastic solid on the Lebedev grid in 3-D: the largest tables of an equation that the field works with."""

from itertools import combinations_with_replacement, product
from typing import Any, ClassVar

import attrs

from sweep_core.equations.elastic_tti import NUMBER, ElasticTTI
from sweep_core.equations.equation import Field, Parameter
from sweep_core.equations.first_order import Contribution, DerivativeSum, StaggeredEquation

STRAINS = tuple(NUMBER)
STRESS_NODES, VELOCITY_NODES = ("", "xy", "xz", "yz"), ("x", "y", "z", "xyz")


def _beside(node: str, axis: str) -> str:
    """Return the node half a cell further along an axis."""
    return "".join(sorted(set(node) ^ {axis}))


def _strain(ab: str, node: str) -> DerivativeSum:
    a, b = ab
    terms = {(a, f"v{b}_{_beside(node, a)}"): None, (b, f"v{a}_{_beside(node, b)}"): None}
    return DerivativeSum(f"e{ab}_{node}", tuple(terms))


def _force(a: str, node: str) -> DerivativeSum:
    terms = tuple((b, f"s{''.join(sorted((a, b)))}_{_beside(node, b)}") for b in "xyz")
    return DerivativeSum(f"a{a}_{node}", terms)


def _stiffness(ab: str, cd: str, node: str) -> str:
    return "c{}{}_{}".format(*sorted((NUMBER[ab], NUMBER[cd])), node)


@attrs.frozen
class LebedevTTI(StaggeredEquation):
    """The solid of :class:`sweep_core.ElasticTTI` on four staggered grids that anisotropy couples (Lebedev 1964).

    All velocities exist at four nodes of a cell and all stresses at the four nodes between, so no stiffness needs a
    mean of fields. The names of fields end in the axes along which their nodes lie half a cell further.
    """

    name: ClassVar[str] = "lebedev_tti"
    ndims: ClassVar[tuple[int, ...]] = (3,)
    parameters: ClassVar[tuple[Parameter, ...]] = ElasticTTI.parameters
    fields: ClassVar[tuple[Field, ...]] = (
        *(Field(f"v{a}_{n}", "m/s", (*n, "t"), ndims=(3,)) for n in VELOCITY_NODES for a in "xyz"),
        *(Field(f"s{ab}_{n}", "Pa", (*n,), ndims=(3,), source_sign=-1) for n in STRESS_NODES for ab in STRAINS),
    )
    coefficient_names: ClassVar[tuple[str, ...]] = (
        *(f"b_{n}" for n in VELOCITY_NODES),
        *(_stiffness(*pair, n) for n in STRESS_NODES for pair in combinations_with_replacement(STRAINS, 2)),
    )
    coefficient_ranges: ClassVar[dict[str, str]] = dict.fromkeys((f"b_{n}" for n in VELOCITY_NODES), "positive")
    rates: ClassVar[tuple[DerivativeSum, ...]] = (
        *(_force(a, n) for n in VELOCITY_NODES for a in "xyz"),
        *(_strain(ab, n) for n in STRESS_NODES for ab in STRAINS),
    )
    moduli: ClassVar[tuple[Contribution, ...]] = (
        *(Contribution(f"v{a}_{n}", f"a{a}_{n}", f"b_{n}") for n in VELOCITY_NODES for a in "xyz"),
        *(
            Contribution(f"s{ab}_{n}", f"e{cd}_{n}", _stiffness(ab, cd, n))
            for n, ab, cd in product(STRESS_NODES, STRAINS, STRAINS)
        ),
    )
    source_coefficients: ClassVar[dict[str, str]] = {f"v{a}_{n}": f"b_{n}" for n in VELOCITY_NODES for a in "xyz"}
    default_fields: ClassVar[dict[str, tuple[str, ...]]] = {"receiver_type": tuple(f"v{a}_{a}" for a in "xyz")}

    def default_pml_type(self, ndim: int, free_surface: bool) -> str | tuple[str, ...]:
        return "sponge"

    def coefficients(self, node_averages: Any, *parameters: Any) -> tuple[Any, ...]:
        def at(node: str, x: Any) -> Any:
            for axis in node:
                x = node_averages.mean(x, axis)
            return x

        c = ElasticTTI().stiffnesses(node_averages.xp, 3, *parameters)
        return (
            *(1 / at(n, parameters[2]) for n in VELOCITY_NODES),
            *(at(n, c[pair]) for n in STRESS_NODES for pair in combinations_with_replacement(STRAINS, 2)),
        )

    def speed(self, *parameters: Any) -> Any:
        return ElasticTTI().speed(*parameters)

    def fits(self, *parameters: Any) -> Any:
        return ElasticTTI().fits(*parameters)
