"""
Three dimensions
================

The same code models three dimensions. Models then have the shape (nz, ny, nx), and positions the columns (x, y, z).
"""

import numpy as np
import torch

from sweep_core import Acoustic, Snapshots, ricker
from sweep_core.plot import field_label, plot_gather, plot_image, plot_model
from sweep_torch import PropTorch

# sphinx_gallery_thumbnail_number = 2

# %%
# The earth has two layers, whose border dips along x, and a fast ball to the right of the source. The receivers form a
# carpet just below the surface.

nz, ny, nx, dh, dt, nt = 50, 60, 80, 20.0, 0.002, 350  # m, s
z, y, x = np.ogrid[:nz, :ny, :nx]
vp = np.where(z < 22 + 0.1 * x, 2000.0, 2600.0).astype(np.float32) * np.ones((1, ny, 1), np.float32)
vp[(x - 58) ** 2 + (y - 30) ** 2 + (z - 16) ** 2 < 100] = 3200.0
sources = np.array([[40, 30, 2]])
carpet = np.stack(np.meshgrid(np.arange(2, nx, 4), np.arange(2, ny, 4), [2], indexing="ij"), axis=-1).reshape(-1, 3)
plot_model(vp, dh, sources, carpet, point=(40, 30, 16), title="slices through the cube")

# %%
# A call models one shot, and returns the wavefield every 50 ms. A line of receivers through the source is added to the
# carpet.

solver = PropTorch(Acoustic(spatial_order=4), shape=vp.shape, dh=dh, dt=dt)
wavelet = torch.tensor(ricker(10.0, nt, dt), dtype=torch.float32)
line = np.stack([np.arange(nx), np.full(nx, 30), np.full(nx, 2)], axis=1)
every = Snapshots(fields=["h1"], every=25)
receivers = np.concatenate([line, carpet])
record, snaps = solver(wavelet, sources, receivers, models=[torch.tensor(vp)], snapshots=every)
print(tuple(record.shape), tuple(snaps["h1"].shape))

# %%
# The picture shows the waves at 0.4 s in three slices. On the right, in the fast ball, the waves are ahead.

title, label = f"waves at {every.times(nt, dt)[8]:.2f} s", field_label(solver, "h1")
plot_image(snaps["h1"][0, 8], dh, sources, point=(40, 30, 16), title=title, label=label, cmap="RdBu_r")

# %%
# The gather shows the line of receivers through the source.

plot_gather(record[:, :, :nx], dt, line[:, 0] * dh, "line over the source", solver=solver, gain=2)
