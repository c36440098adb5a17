"""Acoustic waves in an elliptically anisotropic earth: the equation, and the hook that registers it."""

from typing import ClassVar

import attrs

from sweep_core import Equation, EquationRecord, Field, Parameter, impl


@attrs.frozen
class Elliptic(Equation):
    """(1 / vp^2) u_tt = u_zz + (1 + 2 epsilon) (u_xx + u_yy) + s(t) delta(x - xs).

    vp is the vertical speed; waves travel horizontally at vp sqrt(1 + 2 epsilon) (Thomsen 1986, Geophysics 51, with
    delta = epsilon).
    """

    name: ClassVar[str] = "elliptic"
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("vp", "m/s"), Parameter("epsilon", "1", low=-0.5))
    fields: ClassVar[tuple[Field, ...]] = (Field("h1", "Pa"),)
    coefficient_names: ClassVar[tuple[str, ...]] = ("vertical", "horizontal")
    levels: ClassVar[int] = 2
    memories: ClassVar[tuple[str, ...]] = ("psi", "zeta")
    pml_type: ClassVar[str] = "cpmlr"
    ndims: ClassVar[tuple[int, ...]] = (2, 3)

    def coefficients(self, medium, vp, epsilon):
        return vp * vp, vp * vp * (1 + 2 * epsilon)

    def step(self, ops, state, coefficients, inject):
        vertical, horizontal = coefficients
        u, new, g = state["h1"], {}, 0
        for axis in ops.axes:
            psi = ops.decay[axis] * state[f"psi_{axis}"] + ops.gain[axis] * ops.d1(u, axis)
            t = ops.d2(u, axis) + ops.d1(psi, axis)
            zeta = ops.decay[axis] * state[f"zeta_{axis}"] + ops.gain[axis] * t
            g = g + (vertical if axis == 0 else horizontal) * (t + zeta)
            new |= {f"psi_{axis}": psi, f"zeta_{axis}": zeta}
        return new | {"h1": inject("h1", 2 * u - state["h1_old"] + g), "h1_old": u}

    def source_coefficient(self, field):
        return "vertical"

    def source_weight(self, field, dt, cell_volume):
        return dt**2 / cell_volume

    def speed(self, vp, epsilon):
        return vp * (1 + epsilon + abs(epsilon)) ** 0.5

    def coefficient_limit(self, speed):
        return speed**2


@impl
def sweep_equations():
    return [EquationRecord("elliptic", "sweep_elliptic:Elliptic")]
