"""PropTorch: one problem as a torch module."""

import numpy as np
import torch

from sweep_core.call import check_models, wavelet_layout
from sweep_core.errors import DeviceError, DomainError, DtypeError, OptionError, ShapeError, UnsupportedError
from sweep_core.options import check_eager_options, resolve_memory
from sweep_core.problem import make_problem
from sweep_core.survey import Shots

from . import compiling
from .executor import born, check_device, choose_impl, run
from .private import is_replica


class PropTorch(torch.nn.Module):
    """Wave propagation in PyTorch, differentiable in the models and the wavelet.

    Parameters
    ----------
    equation : Equation
        For example ``Acoustic(spatial_order=8)``.
    shape : tuple of int
        Cells of the model, ``(nz, nx)`` or ``(nz, ny, nx)``.
    dh : float or tuple of float
        Cell size in metres, one or ``(dz, dx)``, ``(dz, dy, dx)``.
    dt : float
        Time step in seconds; one above the stability limit of the models is refused at the call, which states it.
    dev : str or torch.device, optional
        Where to compute: by default the equation's device, that of `models`, or the CPU.
    source_type, receiver_type : list of str, optional
        Fields that sources act on and receivers record; the equation's first by default.
    pml_type : str, optional
        The equation's own, ``'cpmlr'`` on the regular grid, ``'cpmls'`` on a staggered one.
    pml_width : int or tuple of int
        Cells of the absorbing layer, one number or one per face (top, bottom, [front, back,] left, right). Where it
        is 0 the field is zero outside.
    pml_velocity, pml_freq : float, optional
        Design speed (3000 m/s) and frequency (5 Hz) of the layer; see :class:`sweep_core.discretization.pml.CPML`.
    free_surface : bool
        The top of the model, z = 0, is free: pressure or traction is zero there, and there is no PML above.
    source_scaling : {'physical', 'increment'}
        s(t) delta(x - xs), with delta = 1 / cell volume; or the wavelet is added to the field as it is at each step.
    edge_gradient : {'exact', 'interior'}
        An edge cell also answers for the PML cells that continue it; or the earth under the PML is taken as given.
    time_dispersion : {'uncorrected', 'corrected'}
        Whether the error of the time step is removed from the record, by maps of wavelet and record outside the run,
        which is a few steps longer for it; see :mod:`sweep_core.dispersion`. Gradients are those of the result.
    models : list of torch.Tensor, optional
        Registered as parameters, and used by calls without `models`.
    impl : {'auto', 'c', 'eager'}
        Compiled, torch operations, or compiled where it can be; the choice is `impl`, the reason :meth:`explain`.
    memory : MemoryOptions, optional
    cuda_options : CUDAOptions, optional
        ``CUDAOptions(memory=...)`` says the same as `memory`, on every device.
    eager_options : EagerOptions, optional
        Only with ``impl='eager'``.

    Raises
    ------
    SweepError
        A subclass that names the argument, what was given and what was expected.
    """

    _anchor: torch.Tensor

    def __init__(
        self,
        equation,
        shape,
        dh,
        dt,
        dev=None,
        source_type=None,
        receiver_type=None,
        pml_type=None,
        pml_width=20,
        pml_velocity=None,
        pml_freq=None,
        free_surface=False,
        source_scaling="physical",
        edge_gradient="exact",
        time_dispersion="uncorrected",
        models=None,
        impl="auto",
        memory=None,
        cuda_options=None,
        eager_options=None,
    ):
        super().__init__()
        memory = resolve_memory(memory, cuda_options)
        self.problem = make_problem(
            equation, shape, dh, dt, source_type, receiver_type, pml_type, pml_width, pml_velocity, pml_freq,
            free_surface, source_scaling, edge_gradient, time_dispersion, memory,
        )  # fmt: skip
        check_eager_options(eager_options, impl)
        if eager_options is not None and eager_options.compile:
            raise UnsupportedError("EagerOptions(compile=True) is not supported yet")
        device = _device(dev, equation.device, models)
        self._requested = impl
        choose_impl(self.problem, impl, device)
        # What `to` moves where no model is registered.
        self.register_buffer("_anchor", torch.empty(0, device=device), persistent=False)
        self._flag = None
        self._number = compiling.register(self)
        self._names = []
        if models is not None:
            self._register(models, device)

    def _register(self, models, device):
        check_models(self.problem, models)
        for parameter, model in zip(self.problem.equation.parameters, models, strict=True):
            if not isinstance(model, torch.Tensor):
                raise DtypeError(f"model {parameter.name} is a {type(model).__name__}; expected a torch.Tensor")
            if model.device != device:
                raise DeviceError(f"model {parameter.name} is on {model.device}, the solver computes on {device}")
            value = model if isinstance(model, torch.nn.Parameter) else torch.nn.Parameter(model.detach().clone())
            self.register_parameter(parameter.name, value)
            self._names.append(parameter.name)

    @property
    def device(self) -> torch.device:
        """Where this solver computes: with its parameters, if it has any."""
        return (getattr(self, self._names[0]) if self._names else self._anchor).device

    @property
    def impl(self) -> str:
        """The implementation in use, ``'c'`` or ``'eager'``."""
        return choose_impl(self.problem, self._requested, self.device)[0]

    def explain(self) -> str:
        """Why this implementation is in use."""
        return f"impl={self.impl!r}: {choose_impl(self.problem, self._requested, self.device)[1]}"

    def time(self, field: str, nt: int) -> np.ndarray:
        """Times (s) of the samples of a recorded field."""
        return self.problem.time(field, nt)

    def source_time(self, field: str, nt: int) -> np.ndarray:
        """Times (s) at which the samples of a wavelet act on a source field."""
        return self.problem.source_time(field, nt)

    def forward(self, wavelet, sources, receivers, models=None, receiver_mask=None, snapshots=None):
        """Models some shots.

        Parameters
        ----------
        wavelet : (nt,), (nshots, nt) or (nshots, nsrc, nt) tensor
            Of the dtype and on the device of the models. A trailing ``nfield`` where each source field has its own.
        sources : (nshots, ndim) or (nshots, nsrc, ndim) tensor or array
            Grid cells, columns (x, z) or (x, y, z). Integers name nodes; other positions are interpolated by a windowed
            sinc (8 cells along each axis), and differentiable with ``impl='eager'``.
        receivers : (nrec, ndim) or (nshots, nrec, ndim) tensor or array
            The same.
        models : list of (nz, nx) or (nshots, nz, nx) tensors, optional
            In the order of ``equation.parameters``; the registered ones by default.

        receiver_mask : (nshots, nrec) bool tensor, optional
            A receiver that is False records zero and sends back nothing, wherever it is said to be.
        snapshots : Snapshots, optional
            Wavefields to hand out as well.

        Returns
        -------
        (nshots, nt, nrec, nfield) tensor
            record[:, k] is the field at time k dt, before wavelet[k] acts. With `snapshots` a pair of it and a
            dictionary of fields, (nshots, nsnap, nz, nx) each.

        Raises
        ------
        SweepError
            DomainError, StabilityError, ShapeError, DtypeError, DeviceError: what was given and what was expected.
        """
        if torch.compiler.is_compiling():
            if snapshots is not None:
                raise UnsupportedError("snapshots are not supported inside torch.compile; call the solver outside")
            positions = [torch.as_tensor(x) for x in (sources, receivers)]
            mask = None if receiver_mask is None else torch.as_tensor(receiver_mask)
            sizes = wavelet_layout(self.problem, wavelet, positions[0])[0], len(self.problem.receiver_type)
            return compiling.record(wavelet, *positions, mask, list(self._given(models)), self._number, *sizes)
        self._check_parted(wavelet, sources, receivers)
        shots = Shots(wavelet, sources, receivers, receiver_mask)
        record, seen, self._flag = run(self.problem, self.impl, shots, self._given(models), self.device, snapshots)
        return record if snapshots is None else (record, seen)

    def born(self, wavelet, sources, receivers, perturbations, models=None, receiver_mask=None, d_wavelet=None):
        """The derivative of the record in a direction: waves that a perturbed earth scatters once.

        (1 / vp^2) du_tt - lap du = (2 dvp / vp^3) u_tt + ds, for u of the unperturbed earth; that of the discrete
        steps, exact to rounding. Linear and differentiable in its directions: its transpose is that of :meth:`forward`.

        Parameters
        ----------
        perturbations : list of (nz, nx) tensors
            One for each model, of its shape and dtype.
        d_wavelet : tensor, optional
            Of the wavelet's shape.
        wavelet, sources, receivers, models, receiver_mask
            As for a call.

        Returns
        -------
        (nshots, nt, nrec, nfield) tensor
        """
        if torch.compiler.is_compiling():
            raise UnsupportedError("born is not supported inside torch.compile; call it outside")
        self._check_parted(wavelet, sources, receivers)
        shots = Shots(wavelet, sources, receivers, receiver_mask)
        return born(self.problem, self.impl, shots, self._given(models), perturbations, self.device, d_wavelet)

    def _check_parted(self, wavelet, sources, receivers) -> None:
        """ShapeError where DataParallel, which cuts each tensor along its first axis, cut another one than that of the
        shots, or could not cut.
        """
        if not is_replica(self):
            return
        if not isinstance(sources, torch.Tensor):
            raise ShapeError(
                f"sources are a {type(sources).__name__}, which DataParallel does not share out: each replica would "
                "model all shots; give a torch.Tensor"
            )
        by_field = isinstance(wavelet, torch.Tensor) and wavelet_layout(self.problem, wavelet, sources)[1]
        for name, x, ndim in (("wavelet", wavelet, 1 + by_field), ("receivers", receivers, 2)):
            if isinstance(x, torch.Tensor) and x.ndim == ndim:
                raise ShapeError(
                    f"{name} of shape {tuple(x.shape)} in a replica of DataParallel, which cuts it along its first "
                    f"axis; expected one that counts shots: give {name}.expand(nshots{', -1' * ndim}), which takes no "
                    "memory"
                )

    def _given(self, models):
        if models is not None:
            return models
        if not self._names:
            raise OptionError("no models: give models=[...] to the call or to the constructor")
        return [getattr(self, name) for name in self._names]

    def check(self) -> None:
        """Raises what a GPU found wrong with the values of the last call (it cannot stop to say so)."""
        status = 0 if self._flag is None else int(self._flag.item())
        if status:
            raise DomainError(f"the last call was given values that it cannot use (status {status}); its record is NaN")

    def __getstate__(self):
        return {**super().__getstate__(), "_flag": None}

    def __setstate__(self, state):
        super().__setstate__(state)
        self._number = compiling.register(self)


def _device(dev, default, models):
    stated = [d for d in (dev, default) if d is not None]
    if len(stated) == 2 and check_device(dev) != check_device(default):
        raise DeviceError(f"dev is {dev!r} and the equation's device is {default!r}; give one, or the same")
    if stated:
        return check_device(stated[0])
    first = models[0] if isinstance(models, list | tuple) and models else None
    return first.device if isinstance(first, torch.Tensor) else torch.device("cpu")
