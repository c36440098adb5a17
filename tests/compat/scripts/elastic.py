"""Particle velocities of an explosion, and the gradients in three parameters."""

import sys

import numpy as np
import torch
from sweep.equations import Elastic
from sweep.propagator import Full
from sweep.propagator.torch import PropTorch
from sweep.signal import ricker

shape, dh, dt, nt = (60, 80), 8.0, 0.001, 260
depth = np.arange(shape[0], dtype=np.float32)[:, None] + np.zeros(shape, dtype=np.float32)
vp = 2200 + 8 * depth
vs = np.where(depth > 30, 1500, 1200).astype(np.float32)
rho = 2000 + 3 * depth

solver = PropTorch(
    Elastic(spatial_order=4, device="cpu", backend="torch"),
    shape=shape,
    dh=dh,
    dt=dt,
    dev="cpu",
    abcn=20,
    source_type=["sxx", "szz"],
    receiver_type=["vx", "vz"],
    memory=Full(),
)
wavelet = 1e6 * ricker(np.arange(nt) * dt - 0.05, f=20.0)
sources = np.array([[30, 8]])
receivers = np.stack([np.arange(4, 76, 4), np.full(18, 5)], axis=-1)[None]

models = [torch.tensor(m, requires_grad=True) for m in (vp, vs, rho)]
record = solver(wavelet, sources, receivers, models=models)
(0.5 * record.pow(2).sum()).backward()
gradient = np.stack([m.grad.numpy() for m in models])
np.savez(sys.argv[1], record=record.detach().numpy(), gradient=gradient / np.abs(gradient).max((1, 2), keepdims=True))
