"""Optimisers of optax, for :func:`sweep_core.inversion.invert`."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sweep_core.errors import OptionError
from sweep_core.inversion import LinearScaling, Stepwise


class Optax(Stepwise):
    """A gradient transformation of optax.

    Parameters
    ----------
    transformation : optax.GradientTransformation
        A transformation such as ``optax.adam(0.5)``, which moves a cell by half a percent a step.
    shots : int
        Number of shots per step.
    scaling : LinearScaling, optional
        Scaling of the learning rate by the shots of a step, with a warm-up.
    """

    def __init__(self, transformation: Any, shots: int = 4, scaling: LinearScaling | None = None):
        super().__init__(shots, scaling)
        if not (hasattr(transformation, "init") and hasattr(transformation, "update")):
            raise OptionError(f"transformation is {transformation!r}; expected one of optax, such as optax.adam(0.5)")
        self.transformation = transformation

    def __repr__(self) -> str:
        scaling = f", scaling={self.scaling!r}" if self.scaling else ""
        return f"Optax({self.transformation}, shots={self.shots}{scaling})"

    def begin(self, x: np.ndarray) -> None:
        self._state = self.transformation.init(jnp.asarray(x))

    def step(self, x: np.ndarray, slope: np.ndarray) -> np.ndarray:
        moved, self._state = self.transformation.update(jnp.asarray(slope), self._state, jnp.asarray(x))
        return x + np.asarray(moved)

    def state(self) -> list[np.ndarray]:
        """Return the leaves of the transformation's state."""
        return [np.asarray(leaf) for leaf in jax.tree.leaves(self._state)]

    def restore(self, state: list[np.ndarray]) -> None:
        self._state = jax.tree.unflatten(jax.tree.structure(self._state), [jnp.asarray(leaf) for leaf in state])
