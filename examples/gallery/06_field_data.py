"""
Field data: SEG-Y in and out
============================

You go from a SEG-Y file to the arguments of a solver, estimate the wavelet of the source, and compare observed with
modelled traces. The first step makes the file, as a recording crew might leave it.
"""

import attrs
import numpy as np
import torch

from sweep_core import Acoustic, ricker
from sweep_core.io import Gathers, Line, open_segy, read_segy, write_segy, write_segy_section
from sweep_core.plot import plot_comparison, plot_geometry, plot_traces, plot_wavelet
from sweep_core.processing import bandpass, estimate_wavelet, mute_offset, mute_time
from sweep_torch import PropTorch

# sphinx_gallery_thumbnail_number = 4

# %%
# Eight shots cross a basin, and the receivers are towed behind the source. The data have noise and three dead traces,
# and the later steps do not use the true wavelet.

dh, dt, nt = 10.0, 0.001, 1200  # m, s
z, x = np.ogrid[:100, :240]
vp = np.full((100, 240), 1500.0, np.float32)
vp[z > 40 + 8 * np.sin(x / 35)] = 1900.0
vp[z > 65 + 0.05 * x] = 2500.0
sources = np.stack([np.linspace(20, 90, 8), np.full(8, 1.5)], axis=1)
receivers = sources[:, None] + np.stack([np.arange(10, 140, 2.5), np.full(52, 0.5)], axis=1)
true = (ricker(14.0, nt, dt) + 0.5 * ricker(22.0, nt, dt, delay=0.14)).astype(np.float32)

solver = PropTorch(Acoustic(spatial_order=8), shape=vp.shape, dh=dh, dt=dt)
record = solver(torch.tensor(true), sources, receivers, models=[torch.tensor(vp)]).numpy()
record += 0.03 * record.std() * np.random.default_rng(0).standard_normal(record.shape).astype(np.float32)
record[2, :, 11], record[5, :, 30:32] = 0.0, 0.0
write_segy("crew.sgy", Gathers(sources, receivers, record, dt=dt, dh=dh, name="crew"))

# %%
# ``open_segy`` reads the headers of a segy file, and ``read_segy`` reads its samples. Positions become cells along the
# line of the model, which is x of the file here. Dead traces are masked.

print(open_segy("crew.sgy"))
observed = read_segy("crew.sgy", dh=dh, line=Line())
print(observed)
plot_geometry(observed)

# %%
# The picture shows one gather, with amplitudes multiplied by time.

plot_traces(observed, shot=2, solver=solver, gain=1)

# %%
# Least squares estimate the wavelet from the direct wave. The solver models the direct wave with any other wavelet, and
# only the speed of the water must be known.

first = ricker(20.0, nt, dt).astype(np.float32)
survey = observed.sources, observed.receivers
alive = torch.tensor(observed.receiver_mask)
water = torch.full(vp.shape, 1500.0)
modelled = solver(torch.tensor(first), *survey, models=[water], receiver_mask=alive)
end = np.abs(observed.offsets) / 1500.0 + 0.28
direct = mute_time(observed, end=end, taper=0.03) * mute_offset(observed, farthest=250.0) * observed.weights()
estimate = estimate_wavelet(observed.observed, modelled, first, weights=direct)

figure = plot_wavelet(estimate.wavelet, dt, freq=16.0, title="estimated, and dashed the true one")
figure.axes[0].plot(np.arange(250) * dt, true[:250], "--", color="tab:orange")
figure

# %%
# In the true earth this wavelet also explains the reflections, which the estimate did not use. Both records pass the
# same zero-phase filter.

wavelet = torch.tensor(estimate.wavelet, dtype=torch.float32)
synthetic = solver(wavelet, *survey, models=[torch.tensor(vp)], receiver_mask=alive)
filtered = attrs.evolve(observed, observed=bandpass(observed.observed, dt, 3.0, 30.0))
plot_comparison(filtered, bandpass(synthetic, dt, 3.0, 30.0), shot=2, solver=solver, gain=1)

# %%
# ``write_segy`` writes records with the positions of their traces. ``write_segy_section`` writes models as sections.

write_segy("synthetic.sgy", attrs.evolve(observed, observed=synthetic.numpy()), text=["SYNTHETIC"])
write_segy_section("vp.sgy", vp, dh=dh, text=["VP IN M/S"])
print(open_segy("synthetic.sgy"))
