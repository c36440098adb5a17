"""Acoustic waves of constant density, second order in time."""

from typing import Any, ClassVar

import attrs

from ..equation import Equation, Field, Parameter


@attrs.frozen
class Acoustic(Equation):
    r"""(1 / vp^2) u_tt - lap u = s(t) delta(x - xs), with a symmetric second-order CPML.

    u[k+1] = 2 u[k] - u[k-1] + dt^2 vp^2 (sum over axes of (t + zeta) + s[k] / cell volume), and along each axis

    psi = b psi + a D1 u;  t = D2 u + D1 psi;  zeta = b zeta + a t.

    The operator is symmetric up to factors that commute, so that its exact discrete adjoint is the same step run on
    the reversed record (docs/theory/acoustic.md). The CPML follows Komatitsch and Martin (2007), eqs. 22 to 27.

    Parameters
    ----------
    spatial_order : int
        Order of the differences, even, 2 to 64.
    device : str, optional
        Where propagators of this equation compute, unless they are told otherwise.
    """

    name: ClassVar[str] = "acoustic"
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("vp", "m/s"),)
    fields: ClassVar[tuple[Field, ...]] = (Field("h1", "Pa"),)
    coefficient_names: ClassVar[tuple[str, ...]] = ("vp2",)
    levels: ClassVar[int] = 2
    memories: ClassVar[tuple[str, ...]] = ("psi", "zeta")
    pml_type: ClassVar[str] = "cpmlr"
    ndims: ClassVar[tuple[int, ...]] = (2, 3)
    reciprocal: ClassVar[tuple[str, ...]] = ("h1",)

    def coefficients(self, medium, vp):
        return (vp * vp,)

    def step(self, ops, state, coefficients, inject):
        (vp2,) = coefficients
        u, laplacian = state["h1"], 0
        new: dict[str, Any] = {}
        for axis in ops.axes:
            psi = ops.decay[axis] * state[f"psi_{axis}"] + ops.gain[axis] * ops.d1(u, axis)
            t = ops.d2(u, axis) + ops.d1(psi, axis)
            zeta = ops.decay[axis] * state[f"zeta_{axis}"] + ops.gain[axis] * t
            laplacian = laplacian + t + zeta
            new |= {f"psi_{axis}": psi, f"zeta_{axis}": zeta}
        return new | {"h1": inject("h1", 2 * u - state["h1_old"] + vp2 * laplacian), "h1_old": u}

    def source_coefficient(self, field):
        return "vp2"

    def speed(self, vp):
        return vp

    def coefficient_limit(self, speed):
        return speed**2

    def source_weight(self, field, dt, cell_volume):
        return dt**2 / cell_volume
