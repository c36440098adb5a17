"""
An image from a gradient
========================

You compute the gradient of the misfit in a smooth model, and remove its smooth part. The result is an image of the
reflectors. This is reverse time migration, and takes one backward pass.
"""

import numpy as np
import torch
from scipy.ndimage import binary_dilation, laplace

from sweep_core import Acoustic, ricker
from sweep_core.io import faulted_model
from sweep_core.plot import plot_gather, plot_image, plot_model
from sweep_torch import PropTorch

# sphinx_gallery_thumbnail_number = 2

# %%
# The data come from the true earth, and only a smooth model of it is known. ``edge_gradient="interior"`` avoids a
# bright rim of the image.

dh, dt, nt = 12.5, 0.0015, 1100  # m, s
earth = faulted_model((120, 280), dh, seed=7)
true, smooth = torch.tensor(earth.true), torch.tensor(earth.initial)
sources = np.stack([np.linspace(10, 270, 14).round().astype(int), np.full(14, 2)], axis=1)
receivers = np.stack([np.arange(0, 280, 2), np.full(140, 2)], axis=1)
wavelet = torch.tensor(ricker(12.0, nt, dt), dtype=true.dtype)
solver = PropTorch(Acoustic(spatial_order=8), shape=true.shape, dh=dh, dt=dt, edge_gradient="interior")

# %%
# Reflections are the part of the data that the smooth model does not explain.

smooth.requires_grad_()
modelled = solver(wavelet, sources, receivers, models=[smooth])
with torch.no_grad():
    observed = solver(wavelet, sources, receivers, models=[true])
    reflections = observed - modelled
x = receivers[:, 0] * dh
pair = torch.stack([observed[7], reflections[7]])
plot_gather(pair, dt, x, ["observed", "reflections"], solver=solver, gain=1)

# %%
# One backward pass migrates all shots. The Laplacian removes the smooth part of the gradient. A factor that grows with
# depth balances the amplitudes.

(0.5 * (modelled - observed).square().sum()).backward()
image = -laplace(smooth.grad.numpy())
image *= np.arange(len(image))[:, None] ** 1.5
image[binary_dilation(earth.water, iterations=3)] = 0.0
plot_image(image, dh, sources, title="reverse time migration", fixed=earth.water)

# %%
# Compare the image with the true earth.

plot_model(earth.true, dh, title="true earth", fixed=earth.water)
