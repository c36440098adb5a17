"""
An equation of your own
=======================

You write an equation for horizontally polarised shear waves in about twenty lines. Tables list the derivatives and the
fields that the derivatives change, and ``coefficients`` computes the factors from the earth. You then model Love waves
in a soft layer at a free surface.
"""

import numpy as np
import torch

from sweep_core import Field, Parameter, Snapshots, ricker
from sweep_core.equations.first_order import Contribution, DerivativeSum, StaggeredEquation
from sweep_core.plot import plot_gather, plot_image, plot_model, plot_snapshots
from sweep_torch import PropTorch

# sphinx_gallery_thumbnail_number = 2

# %%
# The equations are ``rho vy_t = d sxy / dx + d syz / dz + f``, ``sxy_t = mu d vy / dx``, ``syz_t = mu d vy / dz``, on
# a staggered grid. ``parity=1`` says that a field is even about the free surface: the velocity vy and the stress sxy.
# The stress syz, which vanishes on the surface, is odd.


class SH(StaggeredEquation):
    name, ndims = "sh", (2,)
    parameters = Parameter("vs", "m/s"), Parameter("rho", "kg/m3")
    fields = Field("vy", "m/s", parity=1), Field("sxy", "Pa", ("x", "t"), parity=1), Field("syz", "Pa", ("z", "t"))
    coefficient_names = "b", "mu_x", "mu_z"
    rates = (
        DerivativeSum("ay", (("x", "sxy"), ("z", "syz"))),
        DerivativeSum("exy", (("x", "vy"),)),
        DerivativeSum("eyz", (("z", "vy"),)),
    )
    moduli = Contribution("vy", "ay", "b"), Contribution("sxy", "exy", "mu_x"), Contribution("syz", "eyz", "mu_z")
    source_coefficients = {"vy": "b"}

    def coefficients(self, node_averages, vs, rho):
        return 1 / rho, *(1 / node_averages.mean(1 / (rho * vs**2), axis) for axis in "xz")

    def speed(self, vs, rho):
        return vs


# %%
# Fifty metres of soft ground lie over stiff ground. A force along y acts at the surface, beside a line of geophones.

dh, dt, nt = 5.0, 0.0035, 1000  # m, s
vs, rho = torch.full((60, 220), 800.0), torch.full((60, 220), 2000.0)
vs[:10] = 300.0
sources, receivers = np.array([[20, 0]]), np.stack([np.arange(24, 200, 2), np.zeros(88, int)], axis=1)
wavelet = torch.tensor(ricker(3.0, nt, dt), dtype=vs.dtype)
plot_model(vs, dh, sources, receivers, title="soft over stiff ground", label="vs (m/s)")

# %%
# The class works wherever ``Acoustic`` works. There is no compiled code for it, so it runs in operations of torch.

solver = PropTorch(SH(spatial_order=4), shape=vs.shape, dh=dh, dt=dt, free_surface=True)
print(solver.explain())
vs.requires_grad_()
every = Snapshots(fields=["vy"], every=100)
record, snaps = solver(wavelet, sources, receivers, models=[vs, rho], snapshots=every)

# %%
# Love waves are dispersed: low frequencies reach down into the stiff ground, and arrive earlier.

x = (receivers[:, 0] - 20) * dh
plot_gather(record, dt, x, "a force along y", solver=solver, style="wiggle", gain=0.5)

# %%
# The snapshots show that the waves stay in the soft ground.

times = every.times(nt, dt)
plot_snapshots(snaps["vy"][0][2:9:2], times[2:9:2], dh, vs, solver=solver, percentile=99)

# %%
# Any misfit has a gradient. Here the misfit is the energy recorded beyond an offset of 500 m.

(0.5 * record[:, :, x > 500].square().sum()).backward()
plot_image(vs.grad, dh, title="gradient in vs", label="d misfit / d vs (per m/s)", cmap="RdBu_r")
