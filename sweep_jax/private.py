"""Private names of JAX, which may change: all uses are in this file. They were tried with jax 0.10.2."""

from typing import Any

from jax.core import ShapedArray, Tracer
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

# ShapedArray: shape and dtype of a traced value; the shape rule of a primitive returns it.
# Tracer: the class of traced values.
# Primitive: a custom operation.
# ad: its derivative and its transpose; batching: its rule under vmap; mlir: how it is lowered to XLA.
__all__ = ["Primitive", "ShapedArray", "Tracer", "ad", "batching", "device_count", "mlir", "varies_over_devices"]


def device_count(context: Any) -> int:
    """Return how many devices run the program of a lowering together: pmap, shard_map, sharded arrays."""
    axes = context.module_context.axis_context
    return axes.num_devices if isinstance(axes, mlir.ShardingContext) else axes.mesh.size


def varies_over_devices(kind: Any) -> bool:
    """Return whether the type of a traced value varies over devices, as in a jax.shard_map that checks this."""
    return bool(getattr(kind, "vma", None)) or "{V:" in str(kind)
