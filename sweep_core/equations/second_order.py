"""Wave equations of second order in time, on a regular grid."""

from typing import ClassVar

from ..errors import OptionError
from .coupling import check_coupled_rate, check_symmetry
from .equation import Field
from .terms import Contribution, DerivativeSum, TableEquation

__all__ = ["SecondOrderEquation"]


class SecondOrderEquation(TableEquation):
    r"""Base of wave equations, stepped by leapfrog on a regular grid with a symmetric second-order CPML.

    For each field u, whose rate is e = sum over its terms, one along each axis, of S D2 u,

    psi <- b psi + a R u;      t = D2 u - R^T psi;      zeta <- b zeta + a t;      S D2 u = t + zeta

    u[k+1] = 2 u[k] - u[k-1] + c e + source

    with D2 the central second difference along an axis, scaled by (dt / dh)^2, R the first difference with R^T R = -D2,
    and c the coefficient of its modulus. Psi lies between the nodes, where R takes the derivative. A damping gamma of
    du/dt adds c' 2 (u[k] - u[k-1]) with c' = -gamma dt / (1 + gamma dt). The CPML follows Komatitsch and Martin (2007),
    eqs. 22 to 27. This form makes e symmetric up to factors that commute, so the exact discrete adjoint is the same
    step on the reversed record (docs/explanation/adjoint.md).

    A subclass states `rates`, `moduli` and `source_coefficients`. Each field grows by its own second differences,
    through one modulus, whose coefficient multiplies its sources too, and by its own change; or the first use raises an
    OptionError.

    Fields may be coupled: the rate of field f changes field g by the coefficient C_gf, a symmetric matrix in each cell.
    A source then adds to the rate of its field, u_g[k+1] = 2 u_g[k] - u_g[k-1] + sum over f of C_gf (e_f + source_f). C
    need not have an inverse.
    """

    levels: ClassVar[int] = 2
    pml_type: ClassVar[str] = "cpmlr"
    pml_power: ClassVar[int] = 3

    def check_modulus(self, modulus: Contribution, rate: DerivativeSum, fields: dict[str, Field]) -> None:
        """Check that the step is symmetric, so that the adjoint is the step itself."""
        if self.drives_rates:
            check_coupled_rate(self, rate)
        else:
            self._check_own_rate(modulus, rate)
        field = fields[modulus.target]
        if field.stagger or field.parity != -1 or not field.mirrored or field.order != 2:
            raise OptionError(
                f"{self.name}: field is {field}; expected order 2, no stagger and parity -1 (odd about a surface), "
                "because the equation is of second order in time"
            )
        if modulus.coefficient not in self.coefficient_names:
            raise OptionError(
                f"{self.name}: the coefficient of {modulus} is {modulus.coefficient!r}; expected one of "
                f"{list(self.coefficient_names)}, because the equation is of second order in time"
            )
        if self.drives_rates:
            check_symmetry(self, modulus, rate)
        else:
            self._check_source(modulus, rate)

    def _check_own_rate(self, modulus, rate):
        target = modulus.target
        others = [m for m in self.moduli if m is not modulus and m.rate == modulus.rate]
        wrong = [name for _, name in rate.terms if name != target]
        if others or wrong or rate.operator not in ("D2", "change"):
            fault = f"has the rate of {others[0]}" if others else f"adds {rate.operator} of {(wrong or [target])[0]!r}"
            raise OptionError(
                f"{self.name}: {modulus} {fault}; expected a rate for one contribution, D2 or change of the field "
                "itself, because the equation is of second order in time"
            )

    def _check_source(self, modulus, rate):
        source = self.source_coefficients.get(modulus.target)
        if (rate.operator == "D2") != (source == modulus.coefficient) or source is None:
            raise OptionError(
                f"{self.name}: source_coefficients[{modulus.target!r}] is {source!r}; expected the coefficient of its "
                "D2 and of no other rate"
            )

    @property
    def drives_rates(self) -> bool:
        """True if fields are coupled: second differences of one change another."""
        read = {rate.name: {field for _, field in rate.terms} for rate in self.rates if rate.operator == "D2"}
        return any(read.get(m.rate, {m.target}) - {m.target} for m in self.moduli)

    @property
    def pml_decades(self) -> float:
        """8.5 at all orders: R^T R is the second difference, so a layer reflects little more at a low order."""
        return 8.5

    def source_weight(self, field: str, dt: float, cell_volume: float) -> float:
        return dt**2 / cell_volume
