"""A shot gather and the gradient of its energy, in two dimensions."""

import sys

import numpy as np
import torch
from sweep.equations import Acoustic
from sweep.propagator.torch import PropTorch
from sweep.signal import ricker

shape, dh, dt, nt = (60, 90), 10.0, 0.001, 300
device = torch.device("cpu")
vp = np.full(shape, 1800.0, dtype=np.float32)
vp[30:] = 2400.0

solver = PropTorch(
    Acoustic(spatial_order=8, device=device, backend="torch"),
    shape=shape,
    dh=dh,
    dt=dt,
    dev=device,
    abcn=20,
    pml_type="cpmlr",
    source_type=["h1"],
    receiver_type=["h1"],
    use_ckpt=True,
    ckpt_chunks=50,
)
wavelet = ricker(np.arange(nt) * dt - 0.06, f=18.0).astype(np.float32)
sources = np.array([[20, 2], [70, 4]])
receivers = np.broadcast_to(np.stack([np.arange(0, 90, 3), np.full(30, 1)], axis=-1), (2, 30, 2)).copy()

inverted = torch.tensor(vp, device=device, requires_grad=True)
record = solver(wavelet, sources, receivers, models=[inverted])
(0.5 * record.pow(2).sum()).backward()
np.savez(sys.argv[1], record=record.detach().numpy(), gradient=inverted.grad.numpy())
