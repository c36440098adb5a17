"""One shot through a faulted earth: the model, the gather, the waves on their way, and a film of them.

    python examples/short/wavefield.py

Pictures go to wavefield/ beside the script; --out names another folder.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from sweep_core import Acoustic, Snapshots, ricker
from sweep_core.io import faulted_model
from sweep_core.plot import movie, plot_gather, plot_model, plot_shot, plot_snapshots, save
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
waves, times = snaps["h1"][0], every.times(nt, dt)  # of the first shot, (nsnap, nz, nx)

survey = {"sources": sources, "receivers": receivers}
recorded = {"solver": solver, "field": "h1"}  # component and unit, for the colour bars
save(plot_model(vp, dh, **survey, title="faulted model, one shot"), out / "model.png")
gather = plot_gather(record, dt, receivers[:, 0] * dh, "shot at 2 km", style="both", gain=1, **recorded)
save(gather, out / "gather.png")
save(plot_snapshots(waves, times, dh, vp, **recorded), out / "snapshots.png")
movie(out / "wavefield.gif", waves, times, dh, vp, **recorded)
page = plot_shot(vp, dh, dt, **survey, record=record, snapshots=waves, times=times, gain="agc", **recorded)
save(page, out / "shot.png", dpi=100)
print(f"pictures in {out}")
