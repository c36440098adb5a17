"""Acoustic waves that lose energy: the equation, and the hook that registers it."""

from typing import ClassVar

import attrs

from sweep_core import Equation, EquationRecord, Field, Parameter, impl


@attrs.frozen
class Damped(Equation):
    """(1 / vp^2) (u_tt + 2 gamma u_t) - lap u = s(t) delta(x - xs): amplitudes fall as exp(-gamma t).

    u_tt and u_t are central differences: with g = gamma dt,

    (1 + g) u[k+1] - 2 u[k] + (1 - g) u[k-1] = dt^2 vp^2 (lap u[k] + s[k] / cell volume).
    """

    name: ClassVar[str] = "damped"
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("vp", "m/s"), Parameter("gamma", "1/s", closed=True))
    fields: ClassVar[tuple[Field, ...]] = (Field("h1", "Pa"),)
    coefficient_names: ClassVar[tuple[str, ...]] = ("kick", "drift")
    levels: ClassVar[int] = 2
    memories: ClassVar[tuple[str, ...]] = ("psi", "zeta")
    pml_type: ClassVar[str] = "cpmlr"
    ndims: ClassVar[tuple[int, ...]] = (2, 3)
    library: ClassVar[str] = "sweep_damped"

    def coefficients(self, medium, vp, gamma):
        drift = 1 / (1 + medium.dt * gamma)
        return drift * vp**2, drift

    def step(self, ops, state, coefficients, inject):
        kick, drift = coefficients
        u, old, new, laplacian = state["h1"], state["h1_old"], {}, 0
        for axis in ops.axes:
            psi = ops.decay[axis] * state[f"psi_{axis}"] + ops.gain[axis] * ops.d1(u, axis)
            t = ops.d2(u, axis) + ops.d1(psi, axis)
            zeta = ops.decay[axis] * state[f"zeta_{axis}"] + ops.gain[axis] * t
            laplacian = laplacian + t + zeta
            new |= {f"psi_{axis}": psi, f"zeta_{axis}": zeta}
        return new | {"h1": inject("h1", old + kick * laplacian + drift * 2 * (u - old)), "h1_old": u}

    def source_coefficient(self, field):
        return "kick"

    def source_weight(self, field, dt, cell_volume):
        return dt**2 / cell_volume

    def speed(self, vp, gamma):
        return vp


@impl
def sweep_equations():
    return [EquationRecord("damped", "sweep_damped:Damped")]
