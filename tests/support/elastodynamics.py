"""Exact records of point sources in 2-D elastic media: the whole space, and a half space under a free surface.

Spectra are evaluated at complex frequencies omega - i eps, which damps the wrap-around in time; the traces are divided
by exp(-eps t) at the end. Waves are exp(i omega t - i k x), z points down.
"""

from collections.abc import Callable

import attrs
import numpy as np
from scipy.special import hankel2


@attrs.frozen
class Solid:
    """Speeds (m/s) and density (kg/m3)."""

    vp: float
    vs: float
    rho: float

    @property
    def models(self):
        """The parameters in the order of the equation."""
        return self.vp, self.vs, self.rho


@attrs.frozen
class Clock:
    """Sample times of a wavelet and its record; `stepped` gives the dispersion of a leapfrog in time.

    The response of a leapfrog with exact space at omega is the exact response at 2 / dt sin(omega dt / 2). The
    difference to such a record is the error of the differences in space.
    """

    wavelet: np.ndarray
    dt: float
    stepped: bool = False
    windows: int = 2

    @property
    def samples(self) -> int:
        return self.windows * len(self.wavelet)

    @property
    def damping(self) -> float:
        return np.log(1e7) / (self.samples * self.dt)

    @property
    def omega(self) -> np.ndarray:
        """Complex frequencies of the transform."""
        return 2 * np.pi * np.fft.rfftfreq(self.samples, self.dt) - 1j * self.damping

    def used(self, spectrum) -> np.ndarray:
        """Return the mask of frequencies with significant amplitude of the wavelet."""
        return np.abs(spectrum) > 1e-9 * np.abs(spectrum).max()

    def record(self, response: Callable, act: float, event: float) -> np.ndarray:
        """Return traces (nt, ...) of a response (omega) -> (nomega, ...).

        Sample k of the wavelet acts at k dt + `act`, that of the record is at k dt + `event`.
        """
        k = np.arange(len(self.wavelet))
        spectrum = np.fft.rfft(self.wavelet * np.exp(-self.damping * k * self.dt), self.samples)
        used = self.used(spectrum)
        omega = self.omega[used]
        numerical_omega = 2 / self.dt * np.sin(omega * self.dt / 2) if self.stepped else omega
        answer = response(numerical_omega)
        answer = answer * (spectrum[used] * np.exp(1j * omega * (event - act))).reshape(-1, *[1] * (answer.ndim - 1))
        whole = np.zeros((len(used), *answer.shape[1:]), complex)
        whole[used] = answer
        traces = np.fft.irfft(whole, self.samples, axis=0)[: len(k)]
        return traces * np.exp(self.damping * k * self.dt).reshape(-1, *[1] * (answer.ndim - 1))


# --- whole space ------------------------------------------------------------------------------------------------------


def line(omega, speed, x, z):
    """Return g of (lap + omega^2 / speed^2) g = -delta, its gradient (2, ..) and its second derivatives (2, 2, ..)."""
    r, k = np.hypot(x, z), omega / speed
    g, slope = -0.25j * hankel2(0, k * r), 0.25j * k * hankel2(1, k * r)
    n = np.array([x, z]) / r
    bend = -slope / r - k**2 * g
    second = [[n[i] * n[j] * (bend - slope / r) + (i == j) * slope / r for j in range(2)] for i in range(2)]
    return g, np.array([n[0] * slope, n[1] * slope]), np.array(second)


def whole_space(solid: Solid, source: str, receiver: str, x: float, z: float) -> Callable:
    """Return the response of vx, vz or p at (x, z) from the source: a force 'vx' or 'vz', or an explosion 'p'.

    rho v_t = div sigma + f delta, sigma_t = C:e - m delta 1, p minus the mean of the two normal stresses (Achenbach
    1973, ch. 3): u of a force is (k_s^2 g_s + grad grad (g_s - g_p)) f / (rho omega^2), v of an explosion
    -grad g_p m / (lam + 2 mu).
    """
    stiff, bulk = solid.rho * solid.vp**2, solid.rho * (solid.vp**2 - solid.vs**2)
    i, j = (("vx", "vz", "p").index(name) for name in (receiver, source))

    def response(omega):
        g_p, grad_p, second_p = line(omega, solid.vp, x, z)
        k_p, k_s, inertia = omega / solid.vp, omega / solid.vs, solid.rho * omega**2
        if source == "p":
            return -bulk / stiff * k_p**2 / (1j * omega) * g_p if receiver == "p" else -grad_p[i] / stiff
        if receiver == "p":
            return -bulk * k_p**2 * grad_p[j] / inertia
        g_s, _, second_s = line(omega, solid.vs, x, z)
        return 1j * omega * ((i == j) * k_s**2 * g_s + second_s[i, j] - second_p[i, j]) / inertia

    return response


# --- half space -------------------------------------------------------------------------------------------------------


def half_space(solid: Solid, source: str, depth: float, receivers, lossy: Callable | None = None) -> Callable:
    """Return the response (nomega, nrec) at receivers (name, x, z) to a source at x = 0 and `depth`; z = 0 is free.

    A solid that attenuates is about as fast as `solid`, and `lossy` gives it at each omega: a Solid of complex speeds.

    The direct wave has a closed form. The reflection of the surface is a sum over wavenumbers (Bouchon and Aki 1977),
    so dense that its spatial period is out of reach. It consists of up-going waves of the source (Lamb 1904; Garvin 1956)
    and two down-going waves that cancel their tractions.
    """

    def at(omega):
        return lossy(omega) if lossy else solid

    def response(omega):
        direct = [whole_space(at(omega), source, name, x, z - depth) for name, x, z in receivers]
        reach = 1.2 * solid.vp * 2 * np.pi / np.diff(omega.real).min() + 2 * max(abs(x) for _, x, _ in receivers)
        shallow = depth + min(z for _, _, z in receivers)
        last = 1.5 * omega.real.max() / solid.vs + 20 / shallow
        k = 2 * np.pi / reach * np.arange(-int(last * reach / 2 / np.pi), int(last * reach / 2 / np.pi) + 1)
        answer = np.stack([d(omega) for d in direct], -1)
        for row, w in zip(answer, omega, strict=True):
            down_amplitudes = down_going_amplitudes(at(w), source, depth, w, k)
            for n, (name, x, z) in enumerate(receivers):
                waves = field_of_waves(at(w), name, w, k, z, *down_amplitudes)
                row[n] += (waves * np.exp(-1j * k * x)).sum() / reach
        return answer

    return response


def vertical(omega, speed, k):
    """Return the vertical wavenumber of waves that decay downwards."""
    nu = np.sqrt((omega / speed) ** 2 - k**2 + 0j)
    return np.where(nu.imag > 0, -nu, nu)


def down_going_amplitudes(solid, source, depth, omega, k):
    """Return amplitudes at z = 0 of the down-going P and S displacements (k, nu_p) and (nu_s, -k), both times -i."""
    nu_p, nu_s = (vertical(omega, speed, k) for speed in (solid.vp, solid.vs))
    g_p, g_s = (np.exp(-1j * nu * depth) / (2j * nu) for nu in (nu_p, nu_s))
    inertia = solid.rho * omega**2
    if source == "p":
        up_p, up_s = -g_p / (solid.rho * solid.vp**2) / (1j * omega), 0 * g_s
    elif source == "vx":
        up_p, up_s = 1j * k * g_p / inertia, -1j * nu_s * g_s / inertia
    else:
        up_p, up_s = -1j * nu_p * g_p / inertia, -1j * k * g_s / inertia
    # Tractions (xz, zz) over mu of u = (-i k, i s nu_p) and u = (i s nu_s, i k); s = -1 for down-going waves.
    bend = nu_s**2 - k**2

    def shear(p, s, sign):
        return sign * 2 * k * nu_p * p + (k**2 - nu_s**2) * s

    def normal(p, s, sign):
        return -bend * p - sign * 2 * k * nu_s * s

    a, b = -shear(up_p, up_s, 1), -normal(up_p, up_s, 1)
    (m11, m12), (m21, m22) = ((f(1, 0, -1), f(0, 1, -1)) for f in (shear, normal))
    det = m11 * m22 - m12 * m21
    return (m22 * a - m12 * b) / det, (m11 * b - m21 * a) / det


def field_of_waves(solid, name, omega, k, z, p, s):
    """Return vx, vz or p of down-going waves at depth z."""
    nu_p, nu_s = (vertical(omega, speed, k) for speed in (solid.vp, solid.vs))
    p, s = p * np.exp(-1j * nu_p * z), s * np.exp(-1j * nu_s * z)
    if name == "p":
        return solid.rho * (solid.vp**2 - solid.vs**2) * (omega / solid.vp) ** 2 * p
    return 1j * omega * (-1j * k * p - 1j * nu_s * s if name == "vx" else -1j * nu_p * p + 1j * k * s)
