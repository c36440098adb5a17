"""
Full-waveform inversion in scales
=================================

A smooth start, low frequencies first: each stage hands a better model to the next, so that waves are never more than
half a period off.
"""

import numpy as np
import torch

from sweep_core import Acoustic, ricker
from sweep_core.inversion import Stage, invert
from sweep_core.io import faulted_model
from sweep_core.plot import plot_epoch, plot_gather
from sweep_torch import PropTorch

# %%
# A marine survey: 8 shots in the water, receivers all along the line. `start` is the earth smoothed, with the water as
# it is.

dh, dt, nt = 30.0, 0.003, 620  # m, s
earth = faulted_model((52, 120), dh, seed=4)
sources = np.stack([np.linspace(5, 114, 8).round().astype(int), np.full(8, 1)], axis=1)
receivers = np.stack([np.arange(0, 120, 2), np.full(60, 2)], axis=1)
wavelet = ricker(5.0, nt, dt).astype(np.float32)

solver = PropTorch(Acoustic(spatial_order=8), shape=earth.true.shape, dh=dh, dt=dt)
with torch.no_grad():
    observed = solver(torch.tensor(wavelet), sources, receivers, models=[torch.tensor(earth.true)])

# %%
# Three stages, up to 3 Hz, up to 5 Hz, all there is. ``coarsen=2`` computes the first on every second node and time
# step, which low frequencies can do with; the larger the model, the more that saves. L-BFGS needs no step length, and
# the water stays what it is. Whoever observes is told of each iteration, here for the sake of the last gradient.

stages = [Stage(6, high=3.0, coarsen=2), Stage(6, high=5.0), Stage(6)]
water, told = earth.water, []
found = invert(
    solver, wavelet, sources, receivers, observed, [earth.initial], stages,
    bounds={"vp": (1450.0, 4700.0)}, fixed=water, observers=[told.append], progress=False,
)  # fmt: skip
print(found)

# %%
# What it came to. Below the middle of the line, where rays cross, beds and faults are found; at the edges they are lit
# from one side only.

vps = {"true": earth.true, "start": earth.initial, "inverted": found.models[0]}
for name in ("start", "inverted"):
    away = np.sqrt(np.mean((vps[name] - earth.true)[~water] ** 2))
    print(f"{name}: {away:.0f} m/s rms off")
plot_epoch(
    found.models, dh, start=earth.initial, true=earth.true, gradient=np.where(water, 0, told[-1].gradient),
    history=found.history, fixed=water, sources=sources, receivers=receivers,
)  # fmt: skip

# %%
# And the gathers of a shot in the middle.

with torch.no_grad():
    records = [solver(torch.tensor(wavelet), sources, receivers, models=[torch.tensor(vp)]) for vp in vps.values()]
middle = torch.stack([record[4] for record in records])
plot_gather(middle, dt, receivers[:, 0] * dh, ["observed", "start", "inverted"], solver=solver, gain=1, percentile=95)
