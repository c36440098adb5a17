"""Elastic waves in other parameters: Lame parameters, impedances, and logarithms, on the compiled code of `Elastic`."""

from math import e, inf, log
from typing import Any, ClassVar

import attrs

from .._util.peer_names import EQUATION
from .._util.validators import named
from .elastic import Elastic
from .equation import Parameter


class _OtherParameters(Elastic):
    """Base of `Elastic` in other parameters: a subclass states `parameters` and `isotropic`.

    The framework differentiates `isotropic`, so gradients follow from those of `Elastic` by the chain rule.
    """

    @property
    def rule(self) -> str:
        return "lam + 2/3 mu > 0, without which the solid has no resistance to compression"

    def speed(self, *parameters: Any) -> Any:
        _, pi, rho = self.isotropic(*parameters)
        return (pi / rho) ** 0.5

    def fits(self, *parameters: Any) -> Any:
        mu, pi, _ = self.isotropic(*parameters)
        return 3 * pi > 4 * mu

    def solid(self, *parameters: Any) -> Any:
        return self.isotropic(*parameters)[0] > 0


@named(**EQUATION)
@attrs.frozen
class ElasticLame(_OtherParameters):
    """:class:`sweep_core.Elastic` in Lame's parameters: vp^2 = (lam + 2 mu) / rho, vs^2 = mu / rho.

    A change of rho at constant lam and mu changes both speeds. In a fluid mu is zero.

    Parameters
    ----------
    spatial_order : int
        Order of the differences, even, 2 to 64.
    device : str, optional
        Default device of the solvers of this equation.

    Raises
    ------
    OptionError
        For another order, or an argument that does not exist.
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("lam", "Pa", low=-inf, typical=(3e9, 5e9)),
        Parameter("mu", "Pa", closed=True, typical=(1.5e9, 2.5e9)),
        Parameter("rho", "kg/m3"),
    )

    def isotropic(self, *parameters: Any) -> tuple[Any, Any, Any]:
        lam, mu, rho = parameters
        return mu, lam + 2 * mu, rho


@named(**EQUATION)
@attrs.frozen
class ElasticImpedance(_OtherParameters):
    """:class:`sweep_core.Elastic` in impedances: zp = rho vp, zs = rho vs.

    Small angles of reflection depend on the impedances alone. In a fluid zs is zero.

    Parameters
    ----------
    spatial_order : int
        Order of the differences, even, 2 to 64.
    device : str, optional
        Default device of the solvers of this equation.

    Raises
    ------
    OptionError
        For another order, or an argument that does not exist.
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("zp", "kg/(m2 s)", typical=(4e6, 5e6)),
        Parameter("zs", "kg/(m2 s)", closed=True, typical=(1.6e6, 2.2e6)),
        Parameter("rho", "kg/m3"),
    )

    def isotropic(self, *parameters: Any) -> tuple[Any, Any, Any]:
        zp, zs, rho = parameters
        return zs**2 / rho, zp**2 / rho, rho


@named(**EQUATION)
@attrs.frozen
class ElasticLogarithm(_OtherParameters):
    """:class:`sweep_core.Elastic` in natural logarithms of vp, vs (m/s) and rho (kg/m3): relative changes are additive.

    All cells are solid, because vs is positive.

    Parameters
    ----------
    spatial_order : int
        Order of the differences, even, 2 to 64.
    device : str, optional
        Default device of the solvers of this equation.

    Raises
    ------
    OptionError
        For another order, or an argument that does not exist.
    """

    parameters: ClassVar[tuple[Parameter, ...]] = tuple(
        Parameter(f"log_{name}", "1", low=-inf, typical=(log(low), log(high)))
        for name, low, high in (("vp", 1700, 2500), ("vs", 800, 1200), ("rho", 1800, 2300))
    )

    def isotropic(self, *parameters: Any) -> tuple[Any, Any, Any]:
        return super().isotropic(*(e**x for x in parameters))
