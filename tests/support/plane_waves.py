"""Reflection and transmission of plane waves: measured in records of a point source, and closed forms."""

import numpy as np
from waves import shoot

from sweep_core import ricker

DH, DT, NT, FREQ = 5.0, 1e-3, 1300, 20.0
NX, ROW, DEPTH, DAMPING = 801, 30, 15, 12.0
"""Columns; the row of source and receivers; cells from there to the last one above the interface."""


def measured_coefficients(equation, upper, lower, angles, source_type, receiver_type) -> tuple[np.ndarray, np.ndarray]:
    """Return (reflection, transmission) of pressure at each angle and frequency, (nangles, nfreq).

    The reflected wave is compared with the direct wave after an equally long path in the upper medium. The transmitted
    wave is compared with the direct wave at the last row above. All are slant stacks over receivers along x.
    """
    last = ROW + DEPTH
    rows = {"here": ROW, "as far": ROW + 2 * DEPTH + 1, "above": last, "below": last + 1}
    layers = [
        np.where(np.arange(ROW + 2 * DEPTH + 10)[:, None] <= last, a, b) for a, b in zip(upper, lower, strict=True)
    ]
    shape = (len(layers[0]), NX)
    receivers = np.array([(x, z) for z in rows.values() for x in range(NX)])
    arguments = {
        **{"equation": equation, "shape": shape, "dh": DH, "dt": DT, "pml_width": 20},
        **{"source_type": source_type, "receiver_type": receiver_type},
    }
    record = []
    for models in (upper, layers):
        traces = shoot(ricker(FREQ, NT, DT), (NX // 2, ROW), receivers, models, **arguments)[..., 0]
        record.append(dict(zip(rows, traces.reshape(NT, len(rows), NX).swapaxes(0, 1), strict=True)))
    direct, layered = record
    x = (np.arange(NX) - NX // 2) * DH
    taper = np.cos(np.pi / 2 * np.clip((np.abs(x) / x.max() - 0.5) / 0.5, 0, 1)) ** 2
    bins = np.arange(*np.searchsorted(np.fft.rfftfreq(NT, DT), [0.6 * FREQ, 1.6 * FREQ]))
    omega = 2 * np.pi * np.fft.rfftfreq(NT, DT)[bins] - 1j * DAMPING
    numerical_omega = 2 / DT * np.sin(omega * DT / 2)  # angular frequencies of the leapfrog

    def slant_stack(traces):
        spectrum = np.fft.rfft(traces * np.exp(-DAMPING * DT * np.arange(NT))[:, None], axis=0)[bins] * taper
        k = numerical_omega * np.sin(np.radians(angles))[:, None] / upper[0]
        return np.einsum("fx,afx->af", spectrum, np.exp(1j * k[..., None] * x))

    reflection = slant_stack(layered["here"] - direct["here"]) / slant_stack(direct["as far"])
    nu = [vertical(numerical_omega, angles, upper[0], speed) for speed in (upper[0], lower[0])]
    transmission = slant_stack(layered["below"]) / slant_stack(direct["above"]) * np.exp(0.5j * DH * (nu[0] + nu[1]))
    return reflection, transmission


def vertical(omega, angles, upper, speed):
    """Return the vertical wavenumber in a medium of `speed` for a wave at an angle in a medium of speed `upper`."""
    return omega * np.sqrt(1 / speed**2 - (np.sin(np.radians(angles)) / upper) ** 2 + 0j)[:, None].conj()


def fluids(upper, lower, angles):
    """Return (reflection, transmission) of pressure between fluids (vp, rho) (Rayleigh 1896, section 270)."""
    admittance = [
        np.sqrt(1 / vp**2 - (np.sin(np.radians(angles)) / upper[0]) ** 2 + 0j).conj() / rho
        for vp, rho in (upper, lower)
    ]
    reflection = (admittance[0] - admittance[1]) / (admittance[0] + admittance[1])
    return reflection, 1 + reflection


def seafloor(water, solid, angles):
    """Return the reflection of pressure by a solid (vp, vs, rho) under water (vp, 0, rho).

    Brekhovskikh 1960, section 4.
    """
    slow = np.sin(np.radians(angles)) / water[0]
    vp, vs, rho = solid
    q_water, q_p, q_s = (np.sqrt(1 / speed**2 - slow**2 + 0j).conj() for speed in (water[0], vp, vs))
    stiffness = rho * vs**4 * ((1 / vs**2 - 2 * slow**2) ** 2 + 4 * slow**2 * q_p * q_s) / q_p
    return (stiffness - water[2] / q_water) / (stiffness + water[2] / q_water)
