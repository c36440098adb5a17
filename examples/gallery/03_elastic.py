"""
Elastic waves: water over a solid
=================================

An air gun in the water fires one shot, and nodes on the seafloor record vx, vz and pressure. P and S waves travel in
the solid, and a Scholte wave travels along the seafloor.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from sweep_core import Elastic, Snapshots, ricker
from sweep_core.plot import plot_gather, plot_model, plot_snapshots
from sweep_torch import PropTorch

# sphinx_gallery_thumbnail_number = 3

# %%
# Elastic waves need three models, in the order of ``equation.parameters``: vp, vs and density. A cell with vs = 0 is
# water. The border between water and solid needs no other input.

dh, dt, nt = 5.0, 0.0008, 1400  # m, s
vp, vs, rho = (torch.full((160, 320), value) for value in (1500.0, 0.0, 1000.0))
for top, *values in ((40, 2000.0, 900.0, 2000.0), (100, 2800.0, 1500.0, 2300.0)):
    for model, value in zip((vp, vs, rho), values, strict=True):
        model[top:] = value
sources = np.array([[100.0, 3.0]])
receivers = np.stack([np.arange(10.0, 310.0), np.full(300, 39.5)], axis=1)
plot_model(vs, dh, sources, receivers, title="water over two layers", label="vs (m/s)")

# %%
# The air gun is a source in both normal stresses: a positive wavelet is an explosion. The surface is free.
# Floating-point positions are exact, so the receivers stand on the seafloor, although each field has its own grid. On
# the border they record the fields of the solid.

solver = PropTorch(
    Elastic(spatial_order=4), shape=vp.shape, dh=dh, dt=dt, free_surface=True,
    source_type=["sxx", "szz"], receiver_type=["vx", "vz", "p"],
)  # fmt: skip
wavelet = torch.tensor(ricker(15.0, nt, dt), dtype=vp.dtype)
every = Snapshots(fields=["vx", "vz"], every=100)
record, snaps = solver(wavelet, sources, receivers, models=[vp, vs, rho], snapshots=every)

# %%
# ``plot_gather`` draws each component into axes of your own, at its own scale.

x = (receivers[:, 0] - sources[0, 0]) * dh
figure, axes = plt.subplots(1, 3, figsize=(11, 4.5), layout="constrained")
for axis, name in zip(axes, ("vx", "vz", "p"), strict=True):
    plot_gather(record, dt, x, name, solver=solver, field=name, ax=axis)

# %%
# The snapshots show the vertical velocity. In the solid an S wave, converted at the seafloor, follows the P wave.

times = every.times(nt, dt)
plot_snapshots(snaps["vz"][0][2:9:2], times[2:9:2], dh, vp, solver=solver, field="vz", percentile=95)
