"""
Three dimensions
================

The same code with a third axis: models are (nz, ny, nx), positions (x, y, z).
"""

import numpy as np
import torch

from sweep_core import Acoustic, Snapshots, ricker
from sweep_core.plot import field_label, plot_gather, plot_image, plot_model
from sweep_torch import PropTorch

# sphinx_gallery_thumbnail_number = 2

# %%
# Two layers, their border dipping along x, and a fast ball to the right of the source; receivers on a carpet.

nz, ny, nx, dh, dt, nt = 50, 60, 80, 20.0, 0.002, 350  # m, s
z, y, x = np.ogrid[:nz, :ny, :nx]
vp = np.where(z < 22 + 0.1 * x, 2000.0, 2600.0).astype(np.float32) * np.ones((1, ny, 1), np.float32)
vp[(x - 58) ** 2 + (y - 30) ** 2 + (z - 16) ** 2 < 100] = 3200.0
sources = np.array([[40, 30, 2]])
carpet = np.stack(np.meshgrid(np.arange(2, nx, 4), np.arange(2, ny, 4), [2], indexing="ij"), axis=-1).reshape(-1, 3)
plot_model(vp, dh, sources, carpet, point=(40, 30, 16), title="slices through the cube")

# %%
# One shot, with the wavefield every 50 ms.

solver = PropTorch(Acoustic(spatial_order=4), shape=vp.shape, dh=dh, dt=dt)
wavelet = torch.tensor(ricker(10.0, nt, dt), dtype=torch.float32)
line = np.stack([np.arange(nx), np.full(nx, 30), np.full(nx, 2)], axis=1)
every = Snapshots(fields=["h1"], every=25)
receivers = np.concatenate([line, carpet])
record, snaps = solver(wavelet, sources, receivers, models=[torch.tensor(vp)], snapshots=every)
print(tuple(record.shape), tuple(snaps["h1"].shape))

# %%
# The waves at 0.4 s in three slices: on the right they are ahead, in the ball.

title, label = f"waves at {every.times(nt, dt)[8]:.2f} s", field_label(solver, "h1")
plot_image(snaps["h1"][0, 8], dh, sources, point=(40, 30, 16), title=title, label=label, cmap="RdBu_r")

# %%
# The receivers along x through the source.

plot_gather(record[:, :, :nx], dt, line[:, 0] * dh, "line over the source", solver=solver, gain=2)
