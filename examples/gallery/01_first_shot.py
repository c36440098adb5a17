"""
A first shot
============

A source just below the surface of a faulted earth sends waves. You record them at 200 receivers, and film them.
"""

import numpy as np
import torch

from sweep_core import Acoustic, Snapshots, ricker
from sweep_core.io import faulted_model
from sweep_core.plot import movie, plot_gather, plot_model, plot_snapshots
from sweep_torch import PropTorch

# sphinx_gallery_thumbnail_number = 3

# %%
# The earth is an array of speeds in m/s, with depth as its first axis. The function ``faulted_model`` makes one on a
# grid of 10 m. Positions count grid cells, and their columns are (x, z).

dh, dt, nt = 10.0, 0.001, 1600  # m, s
vp = torch.as_tensor(faulted_model((200, 400), dh, seed=1).true)  # (nz, nx)
sources = np.array([[200, 2]])
receivers = np.stack([np.arange(0, 400, 2), np.full(200, 2)], axis=1)
plot_model(vp, dh, sources, receivers, title="faulted model, one shot")

# %%
# The solver knows the equation, the grid and the time step. It runs compiled code if a library for this problem is
# installed. The method ``explain`` says which code runs, and why.

solver = PropTorch(Acoustic(spatial_order=8), shape=vp.shape, dh=dh, dt=dt)
print(solver.explain())

# %%
# A call models all shots. The record has the axes (shot, time, receiver, field); the field is the pressure ``h1``. With
# ``snapshots=`` the call also returns the wavefield at every 50th time step.

wavelet = torch.tensor(ricker(12.0, nt, dt), dtype=vp.dtype)
every = Snapshots(fields=["h1"], every=50)
record, snaps = solver(wavelet, sources, receivers, models=[vp], snapshots=every)
print(tuple(record.shape), tuple(snaps["h1"].shape))

# %%
# ``gain=1`` multiplies amplitudes by time, so that late reflections are visible beside the direct wave. The solver
# supplies the name and the unit of the field.

plot_gather(record, dt, receivers[:, 0] * dh, "shot at 2 km", solver=solver, gain=1)

# %%
# The snapshots show the waves at four times.

waves, times = snaps["h1"][0], every.times(nt, dt)
plot_snapshots(waves[4:20:4], times[4:20:4], dh, vp, solver=solver)

# %%
# ``movie`` writes all snapshots as a film.

movie("waves.gif", waves, times, dh, vp, solver=solver)
