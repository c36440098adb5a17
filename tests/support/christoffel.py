"""Stiffnesses of a rock, and the speeds of plane waves that follow by Christoffel's equation."""

import numpy as np

from sweep_core import ElasticOrthorhombic, ElasticVTI

ROCK = (3000.0, 1500.0, 2200.0)
SHALE = {ElasticVTI: (0.2, 0.1, 0.15), ElasticOrthorhombic: (0.2, 0.25, 0.1, -0.05, 0.08, 0.15, 0.05)}
VOIGT = {"xx": 0, "yy": 1, "zz": 2, "yz": 3, "zy": 3, "xz": 4, "zx": 4, "xy": 5, "yx": 5}


def stiffness(equation) -> np.ndarray:
    """Return the stiffnesses (6, 6) of `ROCK` with the anisotropy `SHALE`, from the definitions of the parameters."""
    vp, vs, rho = ROCK
    c33, c55 = rho * vp**2, rho * vs**2
    if equation is ElasticVTI:
        epsilon, delta, gamma = SHALE[equation]
        e1 = e2 = epsilon
        d1 = d2 = delta
        c66 = c55 * (1 + 2 * gamma)
        c44 = c55
    else:
        e1, e2, d1, d2, d3, g1, g2 = SHALE[equation]
        c66 = c55 * (1 + 2 * g1)
        c44 = c66 / (1 + 2 * g2)
    c11, c22 = c33 * (1 + 2 * e2), c33 * (1 + 2 * e1)
    c13 = np.sqrt((c33 - c55) ** 2 + 2 * d2 * c33 * (c33 - c55)) - c55
    c23 = np.sqrt((c33 - c44) ** 2 + 2 * d1 * c33 * (c33 - c44)) - c44
    c12 = c11 - 2 * c66 if equation is ElasticVTI else np.sqrt((c11 - c66) ** 2 + 2 * d3 * c11 * (c11 - c66)) - c66
    result = np.diag([c11, c22, c33, c44, c55, c66])
    result[0, 1] = result[1, 0] = c12
    result[0, 2] = result[2, 0] = c13
    result[1, 2] = result[2, 1] = c23
    return result


def christoffel(c: np.ndarray, rho: float, direction) -> np.ndarray:
    """Return the phase speeds (m/s) along a direction (x, y, z), the fastest first: v^2 of c_ijkl n_j n_l / rho.

    Stiffnesses may be complex, and speeds too.
    """
    axes = "xyz"
    gamma = np.array([
        [sum(c[VOIGT[i + j], VOIGT[k + m]] * direction[axes.index(j)] * direction[axes.index(m)]
             for j in axes for m in axes) for k in axes]
        for i in axes
    ])  # fmt: skip
    squares = np.linalg.eigvals(gamma) if np.iscomplexobj(c) else np.linalg.eigvalsh(gamma)
    return np.sqrt(np.sort(squares)[::-1] / rho)
