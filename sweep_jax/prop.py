"""PropJax: one problem as a function of JAX arrays."""

import jax
import jax.numpy as jnp
import numpy as np

from sweep_core.call import check_models
from sweep_core.errors import DeviceError, DomainError, OptionError, UnsupportedError
from sweep_core.options import check_eager_options, resolve_memory
from sweep_core.problem import make_problem
from sweep_core.survey import Shots

from .executor import check_device, choose_impl, committed_device, default_device, device_name, place, run


class PropJax:
    """Wave propagation in JAX, differentiable in the models and the wavelet.

    A solver is a function without state: it may be closed over by what is transformed with jit, grad, vmap, pmap,
    shard_map, scan and checkpoint.

    Parameters
    ----------
    equation : Equation
        For example ``Acoustic(spatial_order=8)``.
    shape : tuple of int
        Cells of the model, ``(nz, nx)``.
    dh : float or tuple of float
        Cell size in metres, one or ``(dz, dx)``.
    dt : float
        Time step in seconds; one above the stability limit of the models is refused at the call, which states it.
    dev : str or jax.Device, optional
        Where to compute: by default the equation's device, the one that the arrays of a call are committed to, or the
        one that JAX prefers.
    source_type, receiver_type : list of str, optional
        Fields that sources act on and receivers record; the equation's first by default.
    pml_type : str, optional
        The equation's own, ``'cpmlr'`` on the regular grid.
    pml_width : int or tuple of int
        Cells of the absorbing layer, one number or one per face (top, bottom, left, right); 0 is a rigid wall.
    pml_velocity, pml_freq : float, optional
        Design speed (3000 m/s) and frequency (5 Hz) of the layer; see :class:`sweep_core.boundary.CPML`.
    free_surface : bool
        Only False yet.
    source_scaling : {'physical'}
        s(t) delta(x - xs), with delta = 1 / cell volume.
    edge_gradient : {'exact'}
        An edge cell also answers for the PML cells that continue it.
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
        models=None,
        impl="auto",
        memory=None,
        cuda_options=None,
        eager_options=None,
    ):
        memory = resolve_memory(memory, cuda_options)
        self.problem = make_problem(
            equation, shape, dh, dt, source_type, receiver_type, pml_type, pml_width, pml_velocity, pml_freq,
            free_surface, source_scaling, edge_gradient, memory,
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

    def __call__(self, wavelet, sources, receivers, models=None, receiver_mask=None, snapshots=None) -> jax.Array:
        """Models some shots.

        Parameters
        ----------
        wavelet : (nt,), (nshots, nt) or (nshots, nsrc, nt) array
            Of the dtype of the models.
        sources : (nshots, 2) or (nshots, nsrc, 2) integer array
            Grid cells, columns (x, z).
        receivers : (nrec, 2) or (nshots, nrec, 2) integer array
            Grid cells, columns (x, z).
        models : list of (nz, nx) arrays, optional
            In the order of ``equation.parameters``; those of the constructor by default.

        Returns
        -------
        (nshots, nt, nrec, nfield) array
            record[:, k] is the field at time k dt, before wavelet[k] acts.

        Raises
        ------
        SweepError
            DomainError, StabilityError, ShapeError, DtypeError, DeviceError: what was given and what was expected.

        Notes
        -----
        Values that are traced are checked when the program runs. What is compiled then raises a
        ``jax.errors.JaxRuntimeError`` with the same text; the record is NaN on a GPU, under pmap and shard_map, where
        one device must not leave the others waiting, and with ``impl='eager'``.
        """
        if receiver_mask is not None:
            raise UnsupportedError("receiver_mask is not supported yet; give the same receivers to every shot")
        if snapshots is not None:
            raise UnsupportedError("snapshots are not supported yet")
        if models is None:
            if self._models is None:
                raise OptionError("no models: give models=[...] to the call or to the constructor")
            models = self._models
        record, self._flag = run(self.problem, self._requested, Shots(wavelet, sources, receivers), models, self.device)
        return record

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
