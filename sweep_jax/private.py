"""What JAX does not promise to keep: each such name stands here, as tried with jax 0.10.2, and nowhere else."""

from typing import Any

from jax.core import ShapedArray, Tracer
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

# ShapedArray: shape and dtype of a value that is traced, which a rule of a primitive answers.
# Tracer: the class of such values.
# Primitive: an operation of one's own.
# ad: its derivative and its transpose; batching: its rule under vmap; mlir: how it is lowered to XLA.
__all__ = ["Primitive", "ShapedArray", "Tracer", "ad", "batching", "device_count", "mlir", "varies_over_devices"]


def device_count(context: Any) -> int:
    """Devices that run the program of a lowering together: pmap, shard_map, sharded arrays."""
    axes = context.module_context.axis_context
    return axes.num_devices if isinstance(axes, mlir.ShardingContext) else axes.mesh.size


def varies_over_devices(kind: Any) -> bool:
    """Whether the type of a traced value says so, as in a jax.shard_map that checks it."""
    return bool(getattr(kind, "vma", None)) or "{V:" in str(kind)
