"""Waves in media with a vertical axis of symmetry (Thomsen 1986, Geophysics 51): two equations, and their hook."""

from sweep_core import EquationRecord, impl


@impl
def sweep_equations():
    return [
        EquationRecord("vti_acoustic", "sweep_vti.acoustic:VTIAcoustic"),
        EquationRecord("vti_elastic", "sweep_vti.elastic:VTIElastic"),
    ]
