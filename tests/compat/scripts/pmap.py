"""Shots over the devices of JAX: the misfit and its gradient through pmap."""

import os
import sys

os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from sweep.equations import Acoustic
from sweep.propagator.jax import PropJax
from sweep.signal import ricker

shape, dh, dt, nt = (50, 80), 10.0, 0.001, 280
devices = jax.local_devices()
true, start = (np.full(shape, 2000.0, dtype=np.float32) for _ in range(2))
true[12:] = 2300.0
solver = PropJax(Acoustic(spatial_order=4, device="cpu", backend="jax"), shape=shape, dh=dh, dt=dt, abcn=20)
wavelet = ricker(np.arange(nt) * dt - 0.06, f=18.0).astype(np.float32)
sources = np.array([[10, 3], [30, 3], [50, 3], [70, 3]], dtype=np.int32).reshape(2, 2, 2)
receivers = np.stack([np.arange(2, 78, 4), np.full(19, 3)], axis=-1).astype(np.int32)
receivers = np.broadcast_to(receivers, (2, 2, 19, 2)).copy()


def record(vp, sources, receivers):
    return solver(wavelet, sources=sources, receivers=receivers, models=[vp])


def step(vp, sources, receivers, observed):
    def misfit(vp):
        predicted = record(vp, sources, receivers)
        return 0.5 * ((predicted - observed) ** 2).sum(), predicted

    gradient, predicted = jax.grad(misfit, has_aux=True)(vp)
    return jax.lax.psum(gradient, axis_name="devices"), predicted


def on_devices(x):
    return jax.device_put(x, NamedSharding(Mesh(np.asarray(devices), ("devices",)), PartitionSpec("devices")))


survey = on_devices(sources), on_devices(receivers)
observed = jax.pmap(record, axis_name="devices")(on_devices(np.stack([true] * 2)), *survey)
gradient, predicted = jax.pmap(step, axis_name="devices")(on_devices(np.stack([start] * 2)), *survey, observed)
predicted = np.concatenate([np.asarray(shard.data)[0] for shard in predicted.addressable_shards])
np.savez(sys.argv[1], record=predicted, gradient=np.asarray(gradient.addressable_shards[0].data)[0])
