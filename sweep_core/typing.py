"""Names for the arrays of the public API. Each name states shape and unit; a type checker sees :class:`Array`.

An array is a NumPy array, a torch tensor or a JAX array: each backend takes and returns arrays of its own framework.
Letters in shapes: `nshots` shots, `nsrc` sources and `nrec` receivers of a shot, `nt` time samples, `nfield` fields,
`ndim` axes (1 to 3), and cells `nz`, `ny`, `nx` along each axis, depth first. A shape with (nz, nx) stands for
(nz,) and (nz, ny, nx) as well.
"""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

__all__ = ["Array", "Device", "Mask", "Model", "Models", "Positions", "Record", "Wavefield", "Wavelet"]


class Array(Protocol):
    """An array of any framework."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""

    @property
    def dtype(self) -> Any:
        """Type of the elements, of the framework's own."""

    def __getitem__(self, key: Any, /) -> Any:
        """Return a part of the array."""

    def __sub__(self, other: Any, /) -> Any: ...

    def __mul__(self, other: Any, /) -> Any: ...

    def __rmul__(self, other: Any, /) -> Any: ...


Model: TypeAlias = Array
"""``(nz, nx)``, or ``(nshots, nz, nx)`` with one earth for each shot; float32 or float64, in the unit of its parameter
(vp and vs in m/s, rho in kg/m3).
"""

Models: TypeAlias = Sequence[Model]
"""A list or tuple of models of one dtype, in the order of ``equation.parameters``."""

Wavelet: TypeAlias = Array
"""``(nt,)``, ``(nshots, nt)`` or ``(nshots, nsrc, nt)``, with a trailing ``nfield`` if each source field has its own;
of the dtype of the models, in the unit of the source field, one sample each dt.
"""

Positions: TypeAlias = Array
"""``(nshots, ndim)`` or ``(nshots, nsrc, ndim)`` of sources, ``(nrec, ndim)`` or ``(nshots, nrec, ndim)`` of receivers;
columns (z), (x, z) or (x, y, z), in grid cells. Integers name nodes, floating-point positions are interpolated.
"""

Mask: TypeAlias = Array
"""``(nshots, nrec)``, bool: a receiver that is False records zero and sends back nothing."""

Record: TypeAlias = Array
"""``(nshots, nt, nrec, nfield)``, fields in the order of ``receiver_type``; of the dtype of the models, in the unit of
each field.
"""

Wavefield: TypeAlias = Array
"""``(nshots, nsnap, nz, nx)``, the snapshots of one field, in the unit of the field."""

Device: TypeAlias = Any
"""A string such as ``'cpu'`` or ``'cuda:0'``, a ``torch.device`` or a ``jax.Device``."""
