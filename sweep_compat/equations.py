"""Equations with the names and arguments of sweep-solver, and its coefficients: cell by cell."""

from typing import Any, ClassVar, NoReturn

import attrs

import sweep_core as core
from sweep_core._util.validators import named, one_of
from sweep_core.errors import UnsupportedError

__all__ = ["Acoustic", "Acoustic1st", "Acoustic3D", "AcousticLSRTM", "AcousticLSRTM3D", "Elastic", "Elastic3D"]

BACKENDS = "torch", "jax"

ABSENT: dict[str, str] = {
    **dict.fromkeys(
        (
            *("AcousticAniso", "AcousticTTI", "AcousticTTIAlkhalifah", "AcousticTTILiang", "AcousticTariq"),
            *("AcousticVTI", "AcousticVTI1st", "AcousticVTI1st3D", "AcousticVTIAlkhalifah", "AcousticVTIDefault"),
            *("AcousticVTIDefault3D", "AcousticVTIDuveneck", "AcousticVTIDuveneck3D", "AcousticVTILiang"),
            *("ElasticTTI", "ElasticTTI2nd", "ElasticTTISG", "ElasticTTISG3D"),
        ),
        "SWEEP has no anisotropic equation yet; see howto/write-equation in the documentation",
    ),
    **dict.fromkeys(
        ("ViscoAcoustic", "ViscoElastic"),
        "use sweep_core.ViscoAcoustic (vp, rho, Q) or ViscoElastic (vp, vs, rho, Qp, Qs)",
    ),
    **dict.fromkeys(
        ("AcousticVRR", "AcousticVRZ", "AcousticVRZ3D", "ElasticVRR"),
        "use sweep_core.AcousticVariableDensity or Elastic, and compute vp, vs and rho from your parameters first",
    ),
    **dict.fromkeys(
        ("AcousticCurvilinear", "ElasticAPM", "ElasticCurvilinear"),
        "SWEEP has a flat free surface: free_surface=True of sweep_torch.PropTorch",
    ),
    **dict.fromkeys(
        ("DAS", "DASElastic", "DASElastic3D", "DASModeler", "DASMu", "DASMu3D", "DASZhao", "DASZhao3D"),
        "strain along a fibre is a difference of records of vx or vz of Elastic",
    ),
}
"""Equations of sweep-solver that are refused, and their substitutes."""


def _backend(default: str = "torch") -> Any:
    return attrs.field(default=default, validator=one_of(*BACKENDS), kw_only=False)


def _of(dim: int) -> Any:
    return attrs.field(default=dim, validator=one_of(dim))


@named()
@attrs.frozen
class Acoustic(core.Acoustic):
    """Acoustic waves of constant density, in two dimensions; see :class:`sweep_core.Acoustic`."""

    source_type: ClassVar[tuple[str, ...]] = ("h1",)
    receiver_type: ClassVar[tuple[str, ...]] = ("h1",)
    aliases: ClassVar[dict[str, str]] = {"pressure": "h1", "p": "h1"}

    backend: str = _backend()
    dim: int = _of(2)

    @property
    def models(self) -> list[str]:
        """Names of the models, in their order."""
        return [p.name for p in self.parameters]


@named()
@attrs.frozen
class Acoustic3D(Acoustic):
    """The same equation in three dimensions."""

    dim: int = _of(3)


@named()
@attrs.frozen
class AcousticLSRTM(Acoustic):
    """Waves that are scattered once: models are vp and the reflectivity mp.

    The source term mp vp^2 lap u drives the scattered field sh1. The record equals that of
    :meth:`sweep_torch.PropTorch.born` with a perturbation dvp = mp vp / 2 of the speed.
    """

    receiver_type: ClassVar[tuple[str, ...]] = ("sh1",)
    aliases: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("pressure", "p", "background"), "h1"),
        **dict.fromkeys(("scattered", "scattered_pressure", "data"), "sh1"),
    }

    @property
    def models(self) -> list[str]:
        return ["vp", "mp"]


@named()
@attrs.frozen
class AcousticLSRTM3D(AcousticLSRTM):
    """The same equation in three dimensions."""

    dim: int = _of(3)


STAGGERED = {
    "pressure": "p",
    **{f"velocity_{a}": f"v{a}" for a in "xyz"},
    **{f"stress_{a}{b}": f"s{a}{b}" for a in "xyz" for b in "xyz" if a <= b},
    **{f"shear_{ab}": f"s{ab}" for ab in ("xy", "xz", "yz")},
}


@named()
@attrs.frozen
class Acoustic1st(core.AcousticVariableDensity):
    """Acoustic waves of variable density, in two dimensions; only the pressure can be recorded.

    Its velocities have other nodes than ours, with the density of one cell each; see
    :class:`sweep_core.AcousticVariableDensity`.
    """

    source_type: ClassVar[tuple[str, ...]] = ("p",)
    receiver_type: ClassVar[tuple[str, ...]] = ("p",)
    aliases: ClassVar[dict[str, str]] = STAGGERED

    backend: str = _backend("jax")
    dim: int = _of(2)

    @property
    def models(self) -> list[str]:
        """Names of the models, in their order."""
        return [p.name for p in self.parameters]

    def coefficients(self, node_averages: Any, vp: Any, rho: Any) -> Any:
        # The velocities of sweep-solver lie half a cell before the pressure of their index, so take 1 / rho of the next
        # cell, which is twice the mean minus the own value.
        return (rho * vp * vp, *(2 * node_averages.mean(1 / rho, axis) - 1 / rho for axis in "xz"))


@named()
@attrs.frozen
class Elastic(core.Elastic):
    """Elastic waves in two dimensions; all nodes of a cell have the cell's density and shear modulus.

    :class:`sweep_core.Elastic` averages both across cell borders, and has water and a free surface.
    """

    source_type: ClassVar[tuple[str, ...]] = ("sxx", "szz")
    receiver_type: ClassVar[tuple[str, ...]] = ("vx", "vz")
    aliases: ClassVar[dict[str, str]] = STAGGERED

    backend: str = _backend()
    dim: int = _of(2)

    @property
    def models(self) -> list[str]:
        """Names of the models, in their order."""
        return [p.name for p in self.parameters]

    def coefficients(self, node_averages: Any, vp: Any, vs: Any, rho: Any) -> Any:
        mu, pi, n = rho * vs**2, rho * vp**2, len(node_averages.axes)
        return (*(1 / rho for _ in range(n)), pi, pi - 2 * mu, *(mu for _ in range(n * (n - 1) // 2)))


@named()
@attrs.frozen
class Elastic3D(Elastic):
    """The same equation in three dimensions."""

    source_type: ClassVar[tuple[str, ...]] = ("sxx", "syy", "szz")
    receiver_type: ClassVar[tuple[str, ...]] = ("vx", "vy", "vz")

    dim: int = _of(3)


def __getattr__(name: str) -> NoReturn:
    if name in ABSENT:
        raise UnsupportedError(f"sweep_compat has no equation {name!r}: {ABSENT[name]}")
    raise AttributeError(f"sweep_compat.equations has no {name!r}")
