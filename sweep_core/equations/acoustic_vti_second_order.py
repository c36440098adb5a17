"""Acoustic waves in a medium with a vertical axis of symmetry, of constant density and second order in time."""

from typing import Any, ClassVar

import attrs

from .._util.peer_names import EQUATION
from .._util.validators import named
from .equation import Field, Parameter
from .optional_density import SPEED
from .second_order import SecondOrderEquation
from .terms import Contribution, DerivativeSum
from .thomsen_fluid import ANISOTROPY, Thomsen


@named(**EQUATION)
@attrs.frozen
class AcousticVTISecondOrder(Thomsen, SecondOrderEquation):
    r"""Two pressures, vertical p and horizontal ph, on the grid and with the PML of :class:`sweep_core.Acoustic`:

    p_tt = vp^2 (a lap_h ph + d_zz p + s(t) delta(x - xs)),
    ph_tt = vp^2 ((1 + 2 epsilon) lap_h ph + a d_zz p + a s(t) delta(x - xs)),

    with a = sqrt(1 + 2 delta), lap_h = d_xx + d_yy (Duveneck et al. 2008, SEG Expanded Abstracts 27). These are the
    equations of :class:`sweep_core.AcousticVTI` with a constant density, without the velocities. p equals that of
    :class:`sweep_core.AcousticVTI` driven by q, q_t = s. Without anisotropy p and ph are the record of
    :class:`sweep_core.Acoustic`.

    vp is the speed along the axis; epsilon and delta are those of Thomsen 1986, Geophysics 51. Models need
    epsilon >= delta in each cell: others would set energy free. Under a free surface p and ph are odd.

    A source in ``"p"``, the default, acts on both pressures as above. A source in ``"ph"`` acts by the other column of
    the matrix: on ph by vp^2 (1 + 2 epsilon) s, on p by vp^2 a s.

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

    name: ClassVar[str] = "acoustic_vti_second_order"
    parameters: ClassVar[tuple[Parameter, ...]] = (SPEED, *ANISOTROPY)
    fields: ClassVar[tuple[Field, ...]] = (Field("p", "Pa", order=2), Field("ph", "Pa", order=2))
    coefficient_names: ClassVar[tuple[str, ...]] = ("kh", "kn", "kv")
    coefficient_ranges: ClassVar[dict[str, str]] = dict.fromkeys(coefficient_names, "positive")
    rates: ClassVar[tuple[DerivativeSum, ...]] = (
        DerivativeSum("across", (("x", "ph"), ("y", "ph")), operator="D2"),
        DerivativeSum("along", (("z", "p"),), operator="D2"),
    )
    moduli: ClassVar[tuple[Contribution, ...]] = (
        Contribution("p", "across", "kn"),
        Contribution("p", "along", "kv"),
        Contribution("ph", "across", "kh"),
        Contribution("ph", "along", "kn"),
    )
    source_coefficients: ClassVar[dict[str, str]] = {"p": "kv", "ph": "kh"}
    reciprocal: ClassVar[tuple[str, ...]] = ("p", "ph")
    float32_error: ClassVar[float] = 1e-4

    def coefficients(self, node_averages: Any, vp: Any, epsilon: Any, delta: Any) -> tuple[Any, ...]:
        kv = vp * vp
        return kv * (1 + 2 * epsilon), kv * (1 + 2 * delta) ** 0.5, kv

    def coefficient_limit(self, speed: float) -> float:
        return speed**2
