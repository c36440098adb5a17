"""One shot through a faulted earth: the model, the gather, the waves on their way, and a film of them.

    python examples/short/wavefield.py

Pictures lie beside it, in wavefield/, unless --out names another folder.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from sweep_core import Acoustic, Snapshots, ricker
from sweep_core.io import faulted_model
from sweep_core.plot import movie, plot_gather, plot_model, plot_shot, plot_snapshots
from sweep_torch import PropTorch

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--out", type=Path, default=Path(__file__).parent / "wavefield", help="folder of the pictures")
out = parser.parse_args().out

dh, dt, nt = 10.0, 0.001, 1600  # m, s
vp = torch.as_tensor(faulted_model((200, 400), dh, seed=1).true)  # (nz, nx), m/s
sources = np.array([[200, 2]])  # (x, z) in cells
receivers = np.stack([np.arange(0, 400, 2), np.full(200, 2)], axis=1)
wavelet = torch.tensor(ricker(12.0, nt, dt), dtype=vp.dtype)

solver = PropTorch(Acoustic(spatial_order=8), shape=vp.shape, dh=dh, dt=dt)
every = Snapshots(fields=["h1"], every=25)
record, snaps = solver(wavelet, sources, receivers, models=[vp], snapshots=every)
waves, times = snaps["h1"][0], every.times(nt, dt)  # those of the first shot, (nsnap, nz, nx)

plot_model(out / "model.png", vp, dh, sources, receivers, title="faulted model, one shot")
plot_gather(out / "gather.png", record, dt, receivers[:, 0] * dh, "shot at 2 km", style="both", gain=1)
plot_snapshots(out / "snapshots.png", waves, times, dh, model=vp)
movie(out / "wavefield.gif", waves, times, dh, model=vp)
survey = {"sources": sources, "receivers": receivers}
plot_shot(out / "shot.png", vp, dh, dt, **survey, record=record, snapshots=waves, times=times)
print(f"pictures in {out}")
