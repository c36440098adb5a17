"""The options and the tables of equations whose moduli relax: memory variables of standard linear solids."""

from abc import abstractmethod
from math import pi
from typing import Any, ClassVar

import attrs

from .._util.validators import amount, check_whole
from ..errors import OptionError
from ..numerics.relaxation import LEAST_Q, Relaxation, relaxation
from .equation import Field, Parameter
from .first_order import Contribution, DerivativeSum, StaggeredEquation


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


def _minus(memory: str) -> str:
    """Return the name of the rate that is minus a memory variable."""
    return f"m{memory[1:]}"


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

    A subclass states the equation without loss, `lossless`, whose tables it extends, and its relaxing rates e with the
    stress that each of them drives first, `strains`. Its memory variables have the nodes and the parity of that stress.
    :meth:`relaxing_moduli` gives M and Y.

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

    lossless: ClassVar[type[StaggeredEquation]]
    strains: ClassVar[dict[str, str]]

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
    def _numbers(self) -> range:
        return range(1, self.mechanisms + 1)

    def _memory(self, number: int, rate: str) -> str:
        """Return the name of r_l of a rate: r1 of e, r1_xx of exx."""
        return "_".join(filter(None, (f"r{number}", rate[1:])))

    @property
    def _relaxing(self) -> list[Contribution]:
        """The contributions whose coefficients relax."""
        return [m for m in self.lossless.moduli if m.rate in self.strains]

    @property
    def _keeps(self) -> dict[str, str]:
        """The coefficient that relaxes, by the name of its keep_l."""
        relaxing = {m.coefficient for m in self._relaxing}
        names = [name for name in self.lossless.coefficient_names if name in relaxing]
        return {f"{name}_{n}": name for n in self._numbers for name in names}

    @property
    def fields(self) -> tuple[Field, ...]:  # type: ignore[override]
        """The fields of the lossless equation, and a memory variable of each mechanism and relaxing rate."""
        waves = {f.name: f for f in self.lossless.fields}
        memories = (
            attrs.evolve(waves[stress], name=self._memory(n, rate), unit="1", source_sign=1)
            for n in self._numbers
            for rate, stress in self.strains.items()
        )
        return (*waves.values(), *memories)

    @property
    def coefficient_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the results of :meth:`coefficients` in 3-D."""
        return (*self.lossless.coefficient_names, *self._keeps)

    @property
    def constant_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the losses."""
        return tuple(f"loss_{n}" for n in self._numbers)

    def constants(self, dt: float) -> tuple[float, ...]:
        return tuple(2 * a / (1 + a) for a in (pi * f * dt for f in self.relaxation.frequencies))

    @property
    def coefficient_ranges(self) -> dict[str, str]:  # type: ignore[override]
        """The ranges of the lossless equation, for both parts of a coefficient."""
        ranges = self.lossless.coefficient_ranges
        keeps = {keep: ranges[name] for keep, name in self._keeps.items() if name in ranges}
        return {**ranges, **keeps}

    @property
    def rates(self) -> tuple[DerivativeSum, ...]:  # type: ignore[override]
        """The rates of the lossless equation, and minus each memory variable."""
        memories = [self._memory(n, rate) for n in self._numbers for rate in self.strains]
        return (*self.lossless.rates, *(DerivativeSum(_minus(r), (("", r),), -1, operator="same") for r in memories))

    @property
    def moduli(self) -> tuple[Contribution, ...]:  # type: ignore[override]
        """The contributions of the lossless equation, and those of each mechanism."""
        mechanisms: list[Contribution] = []
        for n in self._numbers:
            memory = {rate: self._memory(n, rate) for rate in self.strains}
            mechanisms += (
                Contribution(m.target, _minus(memory[m.rate]), f"{m.coefficient}_{n}") for m in self._relaxing
            )
            mechanisms += (Contribution(r, name, f"loss_{n}") for e, r in memory.items() for name in (e, _minus(r)))
        return (*self.lossless.moduli, *mechanisms)

    @property
    def source_coefficients(self) -> dict[str, str]:  # type: ignore[override]
        """The coefficient of a source, by field."""
        losses = {self._memory(n, rate): f"loss_{n}" for n in self._numbers for rate in self.strains}
        return {**self.lossless.source_coefficients, **losses}

    def unrelaxed(self, node_averages: Any, *parameters: Any) -> dict[str, Any]:
        """Return the coefficients of the lossless equation by name, for its own parameters."""
        lossless = self.lossless(self.spatial_order)
        names = lossless.coefficient_names_in(len(node_averages.axes))
        return dict(zip(names, lossless.coefficients(node_averages, *parameters), strict=True))

    @abstractmethod
    def relaxing_moduli(self, node_averages: Any, *parameters: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return the unrelaxed coefficients by name, and the Y_l of those that relax, for each mechanism."""

    def coefficients(self, node_averages: Any, *parameters: Any) -> tuple[Any, ...]:
        values, relaxing = self.relaxing_moduli(node_averages, *parameters)
        losses = self.constants(node_averages.dt)
        for loss, shares in zip(losses, relaxing, strict=True):
            values = values | {name: values[name] - loss / 2 * y for name, y in shares.items()}
        keeps = (
            (1 - loss / 2) * shares[name]
            for loss, shares in zip(losses, relaxing, strict=True)
            for name in values
            if name in shares
        )
        return *values.values(), *keeps
