"""Wave equations of second order in time, on a regular grid."""

from typing import Any, ClassVar

import numpy as np

from .errors import OptionError
from .grid import AXES
from .surface import rows_of_second
from .tables import TableEquation


class SecondOrderEquation(TableEquation):
    r"""Base of wave equations, stepped by leapfrog on a regular grid with a symmetric second-order CPML.

    For each field u, whose rate is e = sum over its terms, one along each axis, of S D2 u,

    psi <- b psi + a D1 u;      t = D2 u + D1 psi;      zeta <- b zeta + a t;      S D2 u = t + zeta

    u[k+1] = u[k-1] + 2 d (u[k] - u[k-1]) + c e + source

    with D1 and D2 the central first and second differences along an axis, scaled by dt / dh each, c the coefficient of
    its modulus, and d = 1, unless `drift` names a coefficient: where du/dt is damped by gamma, d = 1 / (1 + gamma dt).
    The CPML follows Komatitsch and Martin (2007), eqs. 22 to 27; this form of it makes e symmetric up to factors that
    commute, so that the exact discrete adjoint is the same step run on the reversed record (docs/theory/acoustic.md).

    A subclass states `rates`, `moduli` and `source_coefficients`. Each field grows by a rate of its own, through one
    modulus, whose coefficient multiplies its sources too, or the first use raises an OptionError.
    """

    levels: ClassVar[int] = 2
    pml_type: ClassVar[str] = "cpmlr"
    drift: ClassVar[dict[str, str]] = {}

    @classmethod
    def check_modulus(cls, modulus, terms, stagger):
        """Which fields are symmetric, so that the adjoint is the step itself."""
        target = modulus.target
        others = [m for m in cls.moduli if m is not modulus and (m.target == target or m.rate == modulus.rate)]
        wrong = [field for _, field in terms if field != target]
        if others or wrong:
            raise OptionError(
                f"{cls.name}: {modulus} {f'is not alone: {others[0]}' if others else f'differentiates {wrong[0]!r}'}; "
                "of second order in time, a field grows by second derivatives of its own, through one modulus"
            )
        field = next(f for f in cls.fields if f.name == target)
        if field.stagger or field.parity != -1 or not field.mirrored:
            raise OptionError(f"{cls.name}: {field}; of second order in time, fields lie at nodes, odd about a surface")
        if cls.source_coefficients.get(target) != modulus.coefficient:
            raise OptionError(
                f"{cls.name}: sources into {target} are multiplied with {cls.source_coefficients.get(target)!r}; "
                f"expected {modulus.coefficient!r}, as what it grows by"
            )
        if (drift := cls.drift.get(target)) is not None and drift not in cls.coefficient_names:
            raise OptionError(f"{cls.name}: drift names {drift!r}; there are the coefficients {cls.coefficient_names}")

    def coefficient_names_in(self, ndim):
        used = {m.coefficient for m in self.moduli_in(ndim)} | {self.drift.get(f.name) for f in self.fields_in(ndim)}
        return tuple(name for name in self.coefficient_names if name in used)

    def state_names(self, ndim):
        fields = [f.name for f in self.fields_in(ndim)]
        memories = [f"{m}_{f}_{axis}" for m in ("psi", "zeta") for f in fields for axis in AXES[ndim]]
        return (*fields, *(f"{f}_old" for f in fields), *memories)

    def step(self, ops, state, coefficients, inject):
        value = dict(zip(self.coefficient_names_in(ops.ndim), coefficients, strict=True))
        rates = {r.name: r for r in self.rates_in(ops.ndim)}
        new: dict[str, Any] = {}
        for modulus in self.moduli_in(ops.ndim):
            name, rate = modulus.target, rates[modulus.rate]
            u, old = state[name], state[f"{name}_old"]
            e, made = self._rate(ops, state, rate)
            new |= made
            twice = 2 * u - old if name not in self.drift else old + value[self.drift[name]] * 2 * (u - old)
            new |= {name: inject(name, twice + value[modulus.coefficient] * e), f"{name}_old": u}
        return new

    @staticmethod
    def _rate(ops, state, rate):
        """A rate, and what the PML remembers of it."""
        total: Any = 0
        made: dict[str, Any] = {}
        for axis_name, field in rate.terms:
            axis, u = AXES[ops.ndim].index(axis_name), state[field]
            decay, gain, of = ops.decay[axis], ops.gain[axis], f"{field}_{axis_name}"
            psi = decay * state[f"psi_{of}"] + gain * ops.d1(u, axis)
            t = ops.d2(u, axis) + ops.d1(psi, axis)
            zeta = decay * state[f"zeta_{of}"] + gain * t
            total = total + t + zeta
            made |= {f"psi_{of}": psi, f"zeta_{of}": zeta}
        return rate.sign * total, made

    def source_weight(self, field, dt, cell_volume):
        return dt**2 / cell_volume

    def tables(self, problem):
        axes = [problem.axis_tables(axis) for axis in range(problem.grid.ndim)]
        parts = [np.concatenate([np.ravel(part) for part in table]) for table in axes]
        if problem.free_surface:
            rows = rows_of_second(axes[0].d2)
            parts += [part.ravel() for _ in problem.fields for part in (rows, rows)]  # symmetric: its own transpose
        return np.concatenate(parts)
