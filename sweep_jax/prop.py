"""PropJax: one problem as a function of JAX arrays."""

import jax
import jax.numpy as jnp
import numpy as np

from sweep_core.call import check_models
from sweep_core.errors import DeviceError, DomainError, OptionError
from sweep_core.options import check_eager_options, resolve_memory
from sweep_core.problem import make_problem
from sweep_core.survey import Shots

from .executor import born, check_device, choose_impl, committed_device, default_device, device_name, place, run


class PropJax:
    """Wave propagation in JAX, differentiable in the models and the wavelet.

    A solver is a function without state: it may be closed over by what is transformed with jit, grad, vmap, pmap,
    shard_map, scan and checkpoint.

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
    dev : str or jax.Device, optional
        Where to compute: by default the equation's device, the one that the arrays of a call are committed to, or the
        one that JAX prefers.
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
    models : list of arrays, optional
        Used by calls without `models`.
    impl : {'auto', 'c', 'eager'}
        Compiled, JAX operations, or compiled where it can be; the choice is `impl`, the reason :meth:`explain`.
    memory : MemoryOptions, optional
    cuda_options : CUDAOptions, optional
        ``CUDAOptions(memory=...)`` says the same as `memory`, on every device.
    eager_options : EagerOptions, optional
        Only with ``impl='eager'``; JAX compiles the step whatever it says.

    Raises
    ------
    SweepError
        A subclass that names the argument, what was given and what was expected.
    """

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
        memory = resolve_memory(memory, cuda_options)
        self.problem = make_problem(
            equation, shape, dh, dt, source_type, receiver_type, pml_type, pml_width, pml_velocity, pml_freq,
            free_surface, source_scaling, edge_gradient, time_dispersion, memory,
        )  # fmt: skip
        check_eager_options(eager_options, impl)
        device = _device(dev, equation.device, models)
        self._device = None if device is None else device_name(device)
        self._requested = impl
        self._flag = None
        self._models = None if models is None else self._checked(models)
        choose_impl(self.problem, impl, self.device or default_device())

    def _checked(self, models):
        check_models(self.problem, models)
        parameters = self.problem.equation.parameters
        placed = [place(f"model {p.name}", m, self.device) for p, m in zip(parameters, models, strict=True)]
        return [jnp.asarray(m) for m in placed]

    @property
    def device(self) -> jax.Device | None:
        """Where this solver was told to compute, if it was."""
        return None if self._device is None else check_device(self._device)

    @property
    def impl(self) -> str:
        """The implementation in use, ``'c'`` or ``'eager'``."""
        return choose_impl(self.problem, self._requested, self.device or default_device())[0]

    def explain(self) -> str:
        """Why this implementation is in use."""
        reason = choose_impl(self.problem, self._requested, self.device or default_device())[1]
        return f"impl={self.impl!r}: {reason}"

    def time(self, field: str, nt: int) -> np.ndarray:
        """Times (s) of the samples of a recorded field."""
        return self.problem.time(field, nt)

    def source_time(self, field: str, nt: int) -> np.ndarray:
        """Times (s) at which the samples of a wavelet act on a source field."""
        return self.problem.source_time(field, nt)

    def __call__(self, wavelet, sources, receivers, models=None, receiver_mask=None, snapshots=None):
        """Models some shots.

        Parameters
        ----------
        wavelet : (nt,), (nshots, nt) or (nshots, nsrc, nt) array
            Of the dtype of the models.
        sources : (nshots, ndim) or (nshots, nsrc, ndim) array
            Grid cells, columns (x, z) or (x, y, z). Integers name nodes; other positions are interpolated by a windowed
            sinc (8 cells along each axis), and differentiable with ``impl='eager'``.
        receivers : (nrec, ndim) or (nshots, nrec, ndim) array
            The same.
        models : list of (nz, nx) or (nshots, nz, nx) arrays, optional
            In the order of ``equation.parameters``; those of the constructor by default.

        receiver_mask : (nshots, nrec) bool array, optional
            A receiver that is False records zero and sends back nothing, wherever it is said to be.
        snapshots : Snapshots, optional
            Wavefields to hand out as well.

        Returns
        -------
        (nshots, nt, nrec, nfield) array
            record[:, k] is the field at time k dt, before wavelet[k] acts. With `snapshots` a pair of it and a
            dictionary of fields, (nshots, nsnap, nz, nx) each.

        Raises
        ------
        SweepError
            DomainError, StabilityError, ShapeError, DtypeError, DeviceError: what was given and what was expected.

        Notes
        -----
        What becomes of NumPy arrays after the call does not matter. Those that a transform is given, such as
        ``jax.vjp`` of a function that calls this one, JAX may read later, where they are.

        Values that are traced are checked when the program runs. What is compiled then raises a
        ``jax.errors.JaxRuntimeError`` with the same text; the record is NaN on a GPU, under pmap and shard_map, where
        one device must not leave the others waiting, and with ``impl='eager'``.
        """
        shots = Shots(wavelet, sources, receivers, receiver_mask)
        record, seen, self._flag = run(
            self.problem, self._requested, shots, self._given(models), self.device, snapshots
        )
        if snapshots is None:
            return record
        return record, {field: seen[field] for field in snapshots.fields}  # jit sorts what it returns

    def born(self, wavelet, sources, receivers, perturbations, models=None, receiver_mask=None, d_wavelet=None):
        """The derivative of the record in a direction: waves that a perturbed earth scatters once.

        (1 / vp^2) du_tt - lap du = (2 dvp / vp^3) u_tt + ds, for u of the unperturbed earth; that of the discrete
        steps, exact to rounding. Linear and differentiable in its directions: its transpose is that of :meth:`forward`.

        Parameters
        ----------
        perturbations : list of (nz, nx) arrays
            One for each model, of its shape and dtype.
        d_wavelet : array, optional
            Of the wavelet's shape.
        wavelet, sources, receivers, models, receiver_mask
            As for a call.

        Returns
        -------
        (nshots, nt, nrec, nfield) array
        """
        shots = Shots(wavelet, sources, receivers, receiver_mask)
        return born(self.problem, self._requested, shots, self._given(models), perturbations, self.device, d_wavelet)

    def _given(self, models):
        if models is not None:
            return models
        if self._models is None:
            raise OptionError("no models: give models=[...] to the call or to the constructor")
        return self._models

    def check(self) -> None:
        """Raises what a GPU found wrong with the values of the last call (it cannot stop to say so)."""
        status = 0 if self._flag is None else int(self._flag[0])
        if status:
            raise DomainError(f"the last call was given values that it cannot use (status {status}); its record is NaN")

    def __getstate__(self):
        return {**self.__dict__, "_flag": None}


def _device(dev, default, models):
    stated = [d for d in (dev, default) if d is not None]
    if len(stated) == 2 and check_device(dev) != check_device(default):
        raise DeviceError(f"dev is {dev!r} and the equation's device is {default!r}; give one, or the same")
    if stated:
        return check_device(stated[0])
    return committed_device(models) if isinstance(models, list | tuple) else None
