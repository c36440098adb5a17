"""The options and the tables of equations whose moduli relax: memory variables of standard linear solids."""

from collections.abc import Mapping, Sequence
from math import pi
from typing import Any

import attrs

from .._util.validators import amount, check_whole
from ..errors import OptionError
from ..numerics.relaxation import LEAST_Q, Relaxation, relaxation
from .equation import Field, Parameter
from .first_order import StaggeredEquation


def quality(name: str) -> Parameter:
    """Return the parameter of a quality factor.

    Parameters
    ----------
    name : str
        Name of the model, such as ``"Q"``.

    Returns
    -------
    Parameter
        The parameter, with the values for which fractions of mechanisms are fitted.
    """
    return Parameter(name, "1", low=LEAST_Q, typical=(20.0, 60.0))


def _count(value: Any) -> int:
    return check_whole(value, "mechanisms", 1)


def _check_band(instance: Any, attribute: Any, value: Any) -> None:
    if value is None:
        return
    numbers = isinstance(value, tuple) and len(value) == 2 and all(isinstance(f, int | float) for f in value)
    if not numbers or not 0 < value[0] <= value[1] < float("inf"):
        raise OptionError(f"{type(instance).__name__}: band is {value!r}; expected (low, high) in Hz, or None")
    if value[0] == value[1] and instance.mechanisms > 1:
        raise OptionError(
            f"{type(instance).__name__}: band is {value!r}; expected low < high for {instance.mechanisms} mechanisms"
        )


@attrs.frozen
class RelaxingEquation(StaggeredEquation):
    r"""Base of systems whose moduli relax by the same L mechanisms everywhere, with fractions that follow Q.

    A stress s grows by moduli M times rates e, and each mechanism takes away a part of it:

        s_t = M e - sum over l of Y_l r_l,    r_l' = w_l (e - r_l),    Y_l = M y_l(Q),

    which is the modulus M m(w) of :class:`sweep_core.numerics.relaxation.Relaxation`. M is unrelaxed. The memory
    variables r_l are rates too, so neither they nor w_l depend on the earth (Kristek and Moczo 2003, BSSA 93). The
    equation of r_l is stepped by central differences, and s takes the mean of r_l before and after. With
    a_l = w_l dt / 2, and e and r_l times dt,

        r_l <- r_l + loss_l (e - r_l),                                    loss_l = 2 a_l / (1 + a_l),
        s <- s + (M - sum over l of Y_l a_l / (1 + a_l)) e - sum over l of keep_l r_l,    keep_l = Y_l / (1 + a_l).

    The relaxation frequencies are those of :func:`sweep_core.numerics.relaxation.relaxation` for `band`.

    Parameters
    ----------
    spatial_order, device
        See every equation.
    mechanisms : int
        Number L of standard linear solids.
    reference_frequency : float
        Frequency (Hz) at which the speeds of the models are phase speeds.
    band : (low, high), optional
        Frequencies (Hz) between which Q is constant. By default a decade about the reference frequency; for one
        mechanism the reference frequency alone.

    Raises
    ------
    OptionError
        For other values, or more mechanisms than the band has room for.
    """

    mechanisms: int = attrs.field(default=3, converter=_count)
    reference_frequency: float = attrs.field(default=10.0, validator=amount("a frequency in Hz, above zero"))
    band: tuple[float, float] | None = attrs.field(default=None, validator=_check_band)

    def __attrs_post_init__(self) -> None:
        self.relaxation  # noqa: B018  too many mechanisms are refused at once

    @property
    def relaxation(self) -> Relaxation:
        """The relaxation frequencies, and the fractions of the mechanisms by Q."""
        around = 10**0.5 if self.mechanisms > 1 else 1.0
        low, high = self.band or (self.reference_frequency / around, self.reference_frequency * around)
        return relaxation(self.mechanisms, low, high)

    @property
    def numbers(self) -> range:
        """The numbers of the mechanisms, from 1 on."""
        return range(1, self.mechanisms + 1)

    def losses(self, dt: float) -> list[float]:
        """Return loss_l of each mechanism."""
        return [2 * a / (1 + a) for a in (pi * f * dt for f in self.relaxation.frequencies)]

    def stepped(self, dt: float, modulus: Any, relaxing: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Return (factor of e, keep_l of each mechanism) from M and the Y_l of each mechanism."""
        keeps = [(1 - loss / 2) * y for loss, y in zip(self.losses(dt), relaxing, strict=True)]
        return modulus - sum(loss / 2 * y for loss, y in zip(self.losses(dt), relaxing, strict=True)), keeps

    def memory_fields(self, driven: Mapping[str, Field]) -> tuple[Field, ...]:
        """Return r_l of each rate; `driven` has, by the name of the rate without its e, a field at its nodes."""
        return tuple(
            attrs.evolve(field, name=f"r{number}{name and '_' + name}", unit="1", source_sign=1)
            for number in self.numbers
            for name, field in driven.items()
        )
