"""
A first shot
============

A source just below the surface of a faulted earth, 200 receivers beside it, and the waves on their way.
"""

import numpy as np
import torch

from sweep_core import Acoustic, Snapshots, ricker
from sweep_core.io import faulted_model
from sweep_core.plot import movie, plot_gather, plot_model, plot_snapshots
from sweep_torch import PropTorch

# sphinx_gallery_thumbnail_number = 3

# %%
# The earth is an array of speeds in m/s, depth first; here a generator makes it, on a grid of 10 m. Positions have the
# columns (x, z) and count cells.

dh, dt, nt = 10.0, 0.001, 1600  # m, s
vp = torch.as_tensor(faulted_model((200, 400), dh, seed=1).true)  # (nz, nx)
sources = np.array([[200, 2]])
receivers = np.stack([np.arange(0, 400, 2), np.full(200, 2)], axis=1)
plot_model(vp, dh, sources, receivers, title="faulted model, one shot")

# %%
# The solver holds equation, grid and time step. It chooses compiled code if possible, and ``explain`` gives the reason.

solver = PropTorch(Acoustic(spatial_order=8), shape=vp.shape, dh=dh, dt=dt)
print(solver.explain())

# %%
# A call models shots. The record is (nshots, nt, nrec, nfield), its field the pressure ``h1``. With ``snapshots=`` the
# call also returns wavefields.

wavelet = torch.tensor(ricker(12.0, nt, dt), dtype=vp.dtype)
every = Snapshots(fields=["h1"], every=50)
record, snaps = solver(wavelet, sources, receivers, models=[vp], snapshots=every)
print(tuple(record.shape), tuple(snaps["h1"].shape))

# %%
# The picture multiplies amplitudes by time, so that late reflections show beside the direct wave. The solver supplies
# the name and unit of the field.

plot_gather(record, dt, receivers[:, 0] * dh, "shot at 2 km", solver=solver, gain=1)

# %%
# The waves themselves, at four times,

waves, times = snaps["h1"][0], every.times(nt, dt)
plot_snapshots(waves[4:20:4], times[4:20:4], dh, vp, solver=solver)

# %%
# and as a film.

movie("waves.gif", waves, times, dh, vp, solver=solver)
