"""Optimisers of torch, for :func:`sweep_core.inversion.invert`."""

import io
from typing import Any

import numpy as np
import torch

from sweep_core.errors import OptionError
from sweep_core.inversion import Stepwise


class Torch(Stepwise):
    """An optimiser of torch.optim.

    Parameters
    ----------
    make : type
        Such as ``torch.optim.Adam``.
    shots : int
        Of a step.
    options
        Of the optimiser: with ``lr=0.5`` Adam moves a cell by half a percent a step.
    """

    def __init__(self, make: type, shots: int = 4, **options: Any):
        super().__init__(shots)
        if not (isinstance(make, type) and issubclass(make, torch.optim.Optimizer)):
            raise OptionError(f"make is {make!r}; expected a class of torch.optim, such as torch.optim.Adam")
        self.make, self.options = make, options
        try:  # of what it refuses now, an inversion would learn after its first gradient
            self.begin(np.ones(1))
            self.step(np.ones(1), np.ones(1))
        except (TypeError, ValueError, RuntimeError) as error:
            raise OptionError(f"{self!r} cannot step: {error}") from error

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"Torch({self.make.__name__}, shots={self.shots}{options})"

    def begin(self, x: np.ndarray) -> None:
        self._x = torch.nn.Parameter(torch.from_numpy(x.copy()))
        self._optimiser = self.make([self._x], **self.options)

    def step(self, x: np.ndarray, slope: np.ndarray) -> np.ndarray:
        self._x.data.copy_(torch.from_numpy(x))
        self._x.grad = torch.from_numpy(slope)
        self._optimiser.step()
        return self._x.detach().numpy()

    def state(self) -> list[np.ndarray]:
        """Return the bytes of the optimiser's state and options, which a schedule of its own may change."""
        packed, (group,) = io.BytesIO(), self._optimiser.param_groups
        options = {name: value for name, value in group.items() if name != "params"}
        torch.save((dict(self._optimiser.state[self._x]), options), packed)
        return [np.frombuffer(packed.getbuffer(), np.uint8)]

    def restore(self, state: list[np.ndarray]) -> None:
        # Not by load_state_dict, which changes dtypes. No code is unpickled.
        remembered, options = torch.load(io.BytesIO(state[0].tobytes()), weights_only=True)
        self._optimiser.state[self._x] = remembered
        self._optimiser.param_groups[0].update(options)
