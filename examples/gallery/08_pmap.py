"""
Many devices with JAX
=====================

One process uses all its devices. Each device holds the model and a part of the shots, and the compiled program sums the
gradients. Without GPUs, JAX makes virtual devices on a CPU.
"""

import jax
import numpy as np
import optax

from sweep_core import Acoustic, ShotPlan, ricker
from sweep_core.io import faulted_model
from sweep_core.plot import plot_epoch, plot_model
from sweep_jax import PropJax
from sweep_jax.distribution import local_devices, make_misfit_and_gradient, set_virtual_cpu_devices, shard_shots

# sphinx_gallery_thumbnail_number = 1

# %%
# Make two devices before anything else uses JAX.

jax.config.update("jax_platforms", "cpu")
set_virtual_cpu_devices(2)
devices = local_devices(2)
print(devices)

# %%
# The survey has seven shots. All devices need parts of the same length, so ``shard_shots`` fills them up with shots of
# weight zero. The gradient is therefore exact for any number of shots and devices.

dh, dt, nt = 30.0, 0.003, 500  # m, s
earth = faulted_model((44, 100), dh, seed=11)
sources = np.stack([np.linspace(8, 92, 7).round().astype(int), np.full(7, 1)], axis=1)
receivers = np.stack([np.arange(0, 100, 2), np.full(50, 2)], axis=1)
wavelet = ricker(4.0, nt, dt).astype(np.float32)

solver = PropJax(Acoustic(spatial_order=8), shape=earth.true.shape, dh=dh, dt=dt)
observed = solver(wavelet, sources, receivers, models=[earth.true])
plan = ShotPlan(count=len(sources), size=len(devices))
placed, weights = shard_shots(plan, sources, devices)
data, _ = shard_shots(plan, observed, devices)
print("shots by device:", [list(plan.part(n)) for n in range(plan.size)], "weights:", weights.tolist())

# %%
# Any optimiser of optax works with the misfit and the gradient. Adam takes steps of about 20 m/s.

misfit_and_gradient = make_misfit_and_gradient(solver, devices)
optimiser = optax.adam(20.0, eps=1e-20)
vp, history = earth.initial, []
state = optimiser.init(vp)
for step in range(14):
    misfit, (gradient,) = misfit_and_gradient([vp], wavelet, placed, receivers, data, weights)
    history.append({"epoch": step, "misfit": float(misfit)})
    gradient = np.where(earth.water, 0.0, np.asarray(gradient))
    change, state = optimiser.update(gradient, state)
    vp = np.asarray(optax.apply_updates(vp, change))
plot_model(vp, dh, sources, receivers, title="inverted model after 14 steps", fixed=earth.water)

# %%
# The next picture compares the inverted model with the true earth and the start. It also shows the last gradient, and
# the misfit.

plot_epoch(
    vp, dh, start=earth.initial, true=earth.true, gradient=gradient, history=history, fixed=earth.water,
    sources=sources, receivers=receivers, title="after 14 steps",
)  # fmt: skip
