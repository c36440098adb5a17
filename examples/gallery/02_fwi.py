"""
Full-waveform inversion in scales
=================================

You invert the records of eight shots for the earth. The inversion begins with a smooth model and low frequencies. Each
stage passes a better model to the next one, so that modelled waves stay within half a period of the observed waves.
"""

import numpy as np
import torch

from sweep_core import Acoustic, ricker
from sweep_core.inversion import Stage, invert
from sweep_core.io import faulted_model
from sweep_core.plot import plot_epoch, plot_gather, plot_model
from sweep_torch import PropTorch

# sphinx_gallery_thumbnail_number = 1

# %%
# The survey is marine: 8 shots in the water, and receivers along the whole line. The initial model, called the start,
# is the smoothed earth with the true water.

dh, dt, nt = 30.0, 0.003, 620  # m, s
earth = faulted_model((52, 120), dh, seed=4)
sources = np.stack([np.linspace(5, 114, 8).round().astype(int), np.full(8, 1)], axis=1)
receivers = np.stack([np.arange(0, 120, 2), np.full(60, 2)], axis=1)
wavelet = ricker(5.0, nt, dt).astype(np.float32)

solver = PropTorch(Acoustic(spatial_order=8), shape=earth.true.shape, dh=dh, dt=dt)
with torch.no_grad():
    observed = solver(torch.tensor(wavelet), sources, receivers, models=[torch.tensor(earth.true)])

# %%
# Three stages use frequencies up to 3 Hz, up to 5 Hz, and all frequencies. ``coarsen=2`` computes the first stage on
# every second node and time step. This is enough for low frequencies, and saves more time the larger the model is. The
# optimiser L-BFGS needs no step length. The water stays fixed. The observer stores each iteration for the pictures.

stages = [Stage(6, high=3.0, coarsen=2), Stage(6, high=5.0), Stage(6)]
water, iterations = earth.water, []
inversion = invert(
    solver, wavelet, sources, receivers, observed, [earth.initial], stages,
    bounds={"vp": (1450.0, 4700.0)}, fixed=water, observers=[iterations.append], progress=False,
)  # fmt: skip
print(inversion)

# %%
# Below the middle of the line, where rays cross, the inverted model has the beds and the faults of the earth. At the
# edges waves reach them from one side only.

plot_model(inversion.models[0], dh, sources, receivers, title="inverted model", fixed=water)

# %%
# The next picture compares the inverted model with the true earth and the start. It also shows the last gradient, and
# the misfit of each stage.

vps = {"true": earth.true, "start": earth.initial, "inverted": inversion.models[0]}
for name in ("start", "inverted"):
    away = np.sqrt(np.mean((vps[name] - earth.true)[~water] ** 2))
    print(f"{name}: {away:.0f} m/s rms off")
plot_epoch(
    inversion.models, dh, start=earth.initial, true=earth.true, gradient=np.where(water, 0, iterations[-1].gradient),
    history=inversion.history, fixed=water, sources=sources, receivers=receivers,
)  # fmt: skip

# %%
# The gathers of a shot in the middle: the inverted model explains reflections that the start does not.

with torch.no_grad():
    records = [solver(torch.tensor(wavelet), sources, receivers, models=[torch.tensor(vp)]) for vp in vps.values()]
middle = torch.stack([record[4] for record in records])
plot_gather(middle, dt, receivers[:, 0] * dh, ["observed", "start", "inverted"], solver=solver, gain=1, percentile=95)
