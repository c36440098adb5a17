"""Least-squares migration: scattered waves of a smooth model, and one step of its reflectivity."""

import sys

import numpy as np
import torch
from sweep.equations import Acoustic, AcousticLSRTM
from sweep.propagator.torch import PropTorch
from sweep.signal import ricker

shape, dh, dt, nt = (60, 90), 10.0, 0.001, 300
smooth = np.full(shape, 2000.0, dtype=np.float32)
true = smooth.copy()
true[24:34, 15:75] = 2800.0

settings = {"shape": shape, "dh": dh, "dt": dt, "dev": "cpu", "abcn": 20, "pml_type": "cpmlr"}
wavelet = ricker(np.arange(nt) * dt - 0.06, f=18.0).astype(np.float32)
sources = np.array([[30, 5], [60, 5]])
receivers = np.broadcast_to(np.stack([np.arange(5, 85, 4), np.full(20, 5)], axis=-1), (2, 20, 2)).copy()

acoustic = PropTorch(Acoustic(spatial_order=8), source_type=["h1"], receiver_type=["h1"], **settings)
lsrtm = PropTorch(AcousticLSRTM(spatial_order=8), source_type=["h1"], receiver_type=["sh1"], **settings)

background = torch.tensor(smooth)
with torch.no_grad():
    observed, direct = (acoustic(wavelet, sources, receivers, models=[torch.tensor(m)]) for m in (true, smooth))
    observed = observed - direct

reflectivity = torch.zeros(shape, requires_grad=True)
image = torch.zeros(shape)  # below the sources, and not at the edges
image[12:-6, 6:-6] = 1
for _ in range(2):
    predicted = lsrtm(wavelet, sources, receivers, models=[background, reflectivity])
    reflectivity.grad = None
    (0.5 * (predicted - observed).pow(2).sum()).backward()
    gradient = reflectivity.grad.clone()
    with torch.no_grad():
        reflectivity -= 0.1 * image * gradient / (image * gradient).abs().max()
record = np.stack([observed.numpy(), predicted.detach().numpy()])
np.savez(sys.argv[1], record=record, gradient=gradient.numpy())
