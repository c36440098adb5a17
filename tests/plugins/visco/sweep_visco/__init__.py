"""Acoustic waves in an absorbing medium: the equation, and the hook that registers it."""

from typing import ClassVar

import attrs
import numpy as np

from sweep_core import EquationRecord, Field, Parameter, impl
from sweep_core.equations.first_order import Contribution, DerivativeSum, StaggeredEquation


@attrs.frozen
class ViscoAcoustic(StaggeredEquation):
    """rho v_t = -grad p, p_t = -M (1 + tau) div v - r, r_t = -(r + M tau div v) / T: one standard linear solid.

    T = 1 / (2 pi `frequency`). At that frequency the quality factor is Q = 1 + 2 / tau and the phase speed is vp
    (Blanch, Robertsson and Symes 1995, Geophysics 60, eqs. 6 to 9, one mechanism). Time differences are central, so
    that r is the mean of its values before and after: with a = dt / 2 T and R = dt r,

    R <- R - loss (R + M tau dt div v),      p <- p - stiff dt div v - keep R (the old R),

    loss = 2 a / (1 + a), keep = 1 / (1 + a), stiff = M (1 + tau / (1 + a)).

    Parameters
    ----------
    spatial_order, device
        See every equation.
    frequency : float
        Frequency (Hz) of Q and vp.
    """

    name: ClassVar[str] = "standard_solid"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("vp", "m/s"),
        Parameter("rho", "kg/m3"),
        Parameter("q", "1", low=2.0, typical=(20.0, 60.0)),
    )
    fields: ClassVar[tuple[Field, ...]] = (
        Field("p", "Pa"),
        Field("vx", "m/s", ("x", "t")),
        Field("vy", "m/s", ("y", "t"), ndims=(3,)),
        Field("vz", "m/s", ("z", "t"), parity=1),
        Field("r", "Pa"),
    )
    coefficient_names: ClassVar[tuple[str, ...]] = ("stiff", "bx", "by", "bz", "keep", "feed", "loss")
    coefficient_ranges: ClassVar[dict[str, str]] = dict.fromkeys(coefficient_names, "positive")
    rates: ClassVar[tuple[DerivativeSum, ...]] = (
        *(DerivativeSum(f"a{axis}", ((axis, "p"),), -1) for axis in "xyz"),
        DerivativeSum("e", (("x", "vx"), ("y", "vy"), ("z", "vz")), -1),
        DerivativeSum("m", (("", "r"),), -1, operator="same"),
    )
    moduli: ClassVar[tuple[Contribution, ...]] = (
        *(Contribution(f"v{axis}", f"a{axis}", f"b{axis}") for axis in "xyz"),
        Contribution("p", "e", "stiff"),
        Contribution("p", "m", "keep"),
        Contribution("r", "e", "feed"),
        Contribution("r", "m", "loss"),
    )
    source_coefficients: ClassVar[dict[str, str]] = {f"v{axis}": f"b{axis}" for axis in "xyz"}

    frequency: float = attrs.field(default=10.0, validator=attrs.validators.gt(0))

    def coefficients(self, node_averages, vp, rho, q):
        tau, a = 2 / (q - 1), np.pi * self.frequency * node_averages.dt
        relaxed, loss = self._relaxed(vp, q) * rho, 2 * a / (1 + a)
        buoyancies = (1 / node_averages.mean(rho, axis) for axis in "xyz" if axis in node_averages.axes)
        one = 0 * vp + 1
        return relaxed * (1 + tau / (1 + a)), *buoyancies, one / (1 + a), loss * tau * relaxed, loss * one

    @staticmethod
    def _relaxed(vp, q):
        """Return M / rho: vp^2 times the square of the real part of 1 / sqrt(1 + tau / 2 + i tau / 2)."""
        real, imaginary = 1 + 1 / (q - 1), 1 / (q - 1)
        size = (real**2 + imaginary**2) ** 0.5
        return vp**2 * (size + real) / (2 * size**2)

    def speed(self, vp, rho, q):
        return (self._relaxed(vp, q) * (1 + 2 / (q - 1))) ** 0.5


@impl
def sweep_equations():
    return [EquationRecord("standard_solid", "sweep_visco:ViscoAcoustic")]
