"""Optimisers of torch, for :func:`sweep_core.inversion.invert`."""

import json
from typing import Any

import numpy as np
import torch

from sweep_core.errors import OptionError
from sweep_core.inversion import LinearScaling, Stepwise


class Torch(Stepwise):
    """An optimiser of torch.optim.

    Parameters
    ----------
    make : type
        A class such as ``torch.optim.Adam``.
    shots : int
        Number of shots per step.
    scaling : LinearScaling, optional
        Scaling of the learning rate by the shots of a step, with a warm-up.
    options
        Arguments of the optimiser: with ``lr=0.5`` Adam moves a cell by half a percent a step.
    """

    def __init__(self, make: type, shots: int = 4, scaling: LinearScaling | None = None, **options: Any):
        super().__init__(shots, scaling)
        if not (isinstance(make, type) and issubclass(make, torch.optim.Optimizer)):
            raise OptionError(f"make is {make!r}; expected a class of torch.optim, such as torch.optim.Adam")
        self.make, self.options = make, options
        try:  # without this step an inversion would fail only after its first gradient
            self.begin(np.ones(1))
            self.step(np.ones(1), np.ones(1))
            self.state()
        except (TypeError, ValueError, RuntimeError) as error:
            raise OptionError(f"{self!r} cannot step: {error}") from error

    def __repr__(self) -> str:
        named = {"scaling": self.scaling} if self.scaling else {}
        options = "".join(f", {name}={value!r}" for name, value in {**named, **self.options}.items())
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
        """Return the optimiser's state and options, which its own schedule may change: a text, then tensors."""
        tensors: list[np.ndarray] = []
        (group,) = self._optimiser.param_groups
        options = {name: value for name, value in group.items() if name != "params"}
        text = json.dumps(_without_tensors([dict(self._optimiser.state[self._x]), options], tensors))
        return [np.frombuffer(text.encode(), np.uint8), *tensors]

    def restore(self, state: list[np.ndarray]) -> None:
        # load_state_dict would change dtypes.
        text, *tensors = state
        optimiser_state, options = _with_tensors(json.loads(text.tobytes()), tensors)
        self._optimiser.state[self._x] = optimiser_state
        self._optimiser.param_groups[0].update(options)


def _without_tensors(value: Any, tensors: list[np.ndarray]) -> Any:
    """Return the value for JSON: tensors move to the list, and tuples carry a mark."""
    if isinstance(value, torch.Tensor):
        tensors.append(value.detach().cpu().numpy().copy())
        return {"tensor": len(tensors) - 1}
    if isinstance(value, dict):
        return {"dict": {name: _without_tensors(part, tensors) for name, part in value.items()}}
    if isinstance(value, tuple | list):
        return {type(value).__name__: [_without_tensors(part, tensors) for part in value]}
    return value


def _with_tensors(value: Any, tensors: list[np.ndarray]) -> Any:
    """Return the value that :func:`_without_tensors` took apart."""
    if not isinstance(value, dict):
        return value
    ((kind, part),) = value.items()
    if kind == "tensor":
        return torch.from_numpy(np.array(tensors[part]))
    if kind == "dict":
        return {name: _with_tensors(each, tensors) for name, each in part.items()}
    return {"tuple": tuple, "list": list}[kind](_with_tensors(each, tensors) for each in part)
