"""Propagator: the constructor of the solvers of all frameworks, and questions to a solver before a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._util import peer_names
from .._util.arrays import dtype_name
from .._util.validators import named_arguments
from ..acquisition.call_shape import call_shape, wavelet_layout
from ..acquisition.shots import Shots, samples_of
from ..discretization.node_averages import rows_before
from ..equations.equation import Equation
from ..errors import DeviceError, OptionError, UnsupportedError
from ..memory import Estimate, MemoryOptions
from ..memory.options import CUDAOptions, resolve_memory
from ..numerics.pml_width import described
from ..problem import make_problem
from ..typing import Device, Mask, Models, Positions, Record, Wavelet
from .input_warnings import caution
from .wave_solver import A, WaveSolver

if TYPE_CHECKING:
    from ..certify import Certificate


def stated_device(dev: Device, equation: Equation, check_device: Callable[[Any], Any]) -> Any:
    """Return the device that `dev` or the equation states, as `check_device` returns it; None if neither states one.

    Raises
    ------
    DeviceError
        If they contradict each other, or the device does not exist.
    """
    stated = [check_device(d) for d in (dev, equation.device) if d is not None]
    if len(stated) == 2 and stated[0] != stated[1]:
        raise DeviceError(f"dev is {dev!r} and the equation's device is {equation.device!r}; give one, or the same")
    return stated[0] if stated else None


def _plain(values: Sequence[Any]) -> Any:
    """Return one number if all are the same."""
    return values[0] if len(set(values)) == 1 else tuple(values)


class Propagator(WaveSolver[A]):
    """One problem as a solver of some framework, whose arrays are of type A.

    A subclass has `_start`, which the constructor ends with, `_choice`, `_place` and `_check_call` beside the methods
    that :class:`WaveSolver` names.
    """

    @named_arguments(peer_names.SOLVER)
    def __init__(
        self,
        equation: Equation,
        shape: Sequence[int],
        dh: float | Sequence[float],
        dt: float,
        dev: Device = None,
        source_type: Sequence[str] | None = None,
        receiver_type: Sequence[str] | None = None,
        pml_type: str | Sequence[str] | None = None,
        pml_width: int | Sequence[int] | None = None,
        pml_target_db: float | None = None,
        pml_velocity: float | None = None,
        pml_freq: float | None = None,
        free_surface: bool = False,
        source_scaling: Literal["physical", "increment"] = "physical",
        edge_gradient: Literal["exact", "interior"] = "exact",
        time_dispersion: Literal["uncorrected", "corrected"] = "uncorrected",
        models: Models | None = None,
        impl: str = "auto",
        memory: MemoryOptions | str | None = None,
        cuda_options: CUDAOptions | None = None,
        device: Device = None,
        check_finite: bool | None = None,
    ) -> None:
        """State a problem, and where and how to compute it.

        Parameters
        ----------
        equation : Equation
            The wave equation, such as ``Acoustic(spatial_order=8)``.
        shape : tuple of int
            Cells of the model, ``(nz,)``, ``(nz, nx)`` or ``(nz, ny, nx)``.
        dh : float or tuple of float
            Cell size (m): one number, or ``(dz, dx)`` or ``(dz, dy, dx)``.
        dt : float
            Time step (s). A call refuses a time step above the stability limit of its models and states the limit.
        dev : str, torch.device or jax.Device, optional
            Device of the computation. By default PropTorch takes the device of the equation, that of `models`, or the
            CPU; PropJax the device of the equation, the one that the arrays of a call are committed to, or the one
            that JAX prefers.
        source_type : list of str, optional
            Fields that the sources act on; by default those that the equation states, or its first field.
        receiver_type : list of str, optional
            Fields that the receivers record; by default those that the equation states, or its first field.
        pml_type : str or tuple of str, optional
            Type of the absorbing layers, one for all axes or one for each axis, depth first. A regular grid has
            ``'cpmlr'``. A staggered grid has ``'cpmls'``, ``'mpmls'``, a multi-axial layer that reflects more, but in
            which guided waves do not grow, or ``'sponge'``, in which no wave grows. By default the equation chooses:
            `Elastic` under a free surface has ``'mpmls'`` at the sides, `AcousticTTI` has ``'sponge'``.
        pml_width : int or tuple of int, optional
            Cells of the absorbing layer: one number, or one for each face (top, bottom, [front, back,] left, right).
            Outside a face of width 0 the field is zero. By default 20, or as many as `pml_target_db` needs.
        pml_target_db : float, optional
            Largest echo of the layers, in decibels of the direct wave, such as -60; instead of `pml_width`. The layers
            have the fewest cells whose measured echo is below the target; see :mod:`sweep_core.numerics.pml_width` for
            the waves that the measurement covers.
        pml_velocity : float, optional
            Design speed of the absorbing layer (m/s), by default 3000; see :class:`sweep_core.numerics.cpml.CPML`.
        pml_freq : float, optional
            Design frequency of the absorbing layer (Hz), by default 5.
        free_surface : bool
            True if the top of the model, z = 0, is free: pressure or traction is zero there, and no absorbing layer
            lies above.
        source_scaling : {'physical', 'increment'}
            ``'physical'`` scales the wavelet as s(t) delta(x - xs), with delta = 1 / cell volume; ``'increment'`` adds
            the wavelet to the field as it is, at each step.
        edge_gradient : {'exact', 'interior'}
            Gradient of an edge cell: ``'exact'`` includes the cells of the absorbing layer that continue the edge cell;
            ``'interior'`` takes the earth under the layer as given.
        time_dispersion : {'uncorrected', 'corrected'}
            ``'corrected'`` removes the error of the time step from the record, by a filter of the wavelet before the
            run and of the record after it. The run is a few steps longer; see
            :mod:`sweep_core.numerics.time_dispersion`. Gradients are those of the corrected record.
        models : list of (nz, nx) arrays, optional
            Models for calls without `models`, in the order of ``equation.parameters``. PropTorch registers them as
            parameters of the module.
        impl : {'auto', 'c', 'eager'}
            ``'c'`` runs compiled code, ``'eager'`` operations of the framework, and ``'auto'`` compiled code if it can
            run the problem. The attribute `impl` holds the choice; :meth:`explain` returns the reason.
        memory : MemoryOptions or str, optional
            How a gradient remembers the forward run; a string names a strategy, such as ``'ckpt'``.
        cuda_options : CUDAOptions, optional
            ``CUDAOptions(memory=...)`` means the same as `memory`, on every device.
        device : str, torch.device or jax.Device, optional
            Another name of `dev`.
        check_finite : bool, optional
            True raises a :class:`sweep_core.NotFiniteError` with a reason if the record holds NaN or infinite numbers;
            it waits for a GPU, and refuses transforms, in which no record can be read. False returns such a record.
            By default the check runs if it costs nothing: on a CPU, outside of transforms.

        Raises
        ------
        SweepError
            A subclass, such as OptionError, ShapeError, DomainError or DeviceError, that names the argument, its value
            and the expected values.

        Examples
        --------
        >>> from sweep_core import Acoustic
        >>> from sweep_torch import PropTorch
        >>> PropTorch(Acoustic(spatial_order=8), shape=(60, 80), dh=10.0, dt=0.001, impl="eager").explain()
        "impl='eager': impl='eager' was asked for; gradients with MemoryOptions()"
        """
        super().__init__()  # of torch.nn.Module, say
        memory = resolve_memory(memory, cuda_options)
        self.problem = make_problem(
            equation, shape, dh, dt, source_type, receiver_type, pml_type, pml_width, pml_target_db, pml_velocity,
            pml_freq, free_surface, source_scaling, edge_gradient, time_dispersion, memory, check_finite,
        )  # fmt: skip
        self._requested, self._cautioned = impl, False
        if dev is not None and device is not None:
            raise OptionError(f"dev is {dev!r} and device is {device!r}; give one of them")
        self._start(device if dev is None else dev, models)

    def _start(self, dev: Device, models: Models | None) -> None:
        """Take the device and the models, which belong to the framework."""
        raise NotImplementedError

    def _choice(self) -> tuple[str, str]:
        """Return the implementation in use, and the reason; see :func:`sweep_core.plugins.executor.choose_impl`."""
        raise NotImplementedError

    def _place(self) -> tuple[str, Callable[[], int | None], dict[str, Any]]:
        """Return the kind of the compiled library, a function that returns the bytes left there, and more arguments of
        :func:`sweep_core.native.sizes.history_request`.
        """
        raise NotImplementedError

    def _check_call(self, shots: Shots, models: Models) -> None:
        """Raise the errors of a call, before anything is computed."""
        raise NotImplementedError

    @property
    def impl(self) -> str:
        """The implementation in use, ``'c'`` or ``'eager'``."""
        return self._choice()[0]

    def __repr__(self) -> str:
        problem, equation = self.problem, self.problem.equation
        faces = [n for pair in problem.pml for n in pair]
        arguments = {
            "shape": problem.grid.shape, "dh": _plain(problem.grid.spacing), "dt": problem.dt,
            "source_type": list(problem.source_type), "receiver_type": list(problem.receiver_type),
            "pml_width": _plain(faces), "free_surface": problem.free_surface, "impl": self.impl,
            "memory": problem.memory.strategy,
        }  # fmt: skip
        if problem.pml_target_db is not None:
            arguments["pml_target_db"] = problem.pml_target_db
        name = f"{type(equation).__name__}(spatial_order={equation.spatial_order})"
        return f"{type(self).__name__}({name}, {', '.join(f'{key}={value!r}' for key, value in arguments.items())})"

    def explain(self) -> str:
        """Return a sentence: why this implementation is in use, and how gradients remember the forward run.

        It ends with the widths of the absorbing layers if `pml_target_db` chose them.
        """
        impl, reason = self._choice()
        details = "; estimate(nshots, nt) computes their memory" if impl == "c" else ""
        if impl == "c" and self.problem.memory.known_above and rows_before(self.problem) is None:
            name = self.problem.equation.name
            details += f"; all rows are kept: {name} cannot compute coefficients for a subset of rows"
        if self.problem.pml_target_db is not None:
            order, target = self.problem.equation.spatial_order, self.problem.pml_target_db
            details += f"; {described(self.problem.pml, target, self.problem.cpml.types, order)}"
        return f"impl={impl!r}: {reason}; gradients with {self.problem.memory}{details}"

    def estimate(
        self,
        nshots: int,
        nt: int,
        nsources: int = 1,
        nreceivers: int | None = None,
        dtype: str | None = None,
    ) -> Estimate:
        """Compute the memory and the relative time of a gradient before a run, for each memory strategy.

        Memory is in bytes on the device, at the host and on disk, by purpose. ``print`` shows a table.

        Parameters
        ----------
        nshots : int
            Shots of a call.
        nt : int
            Samples of the wavelet.
        nsources : int
            Sources of a shot.
        nreceivers : int, optional
            Receivers of a shot; by default one at each cell of the top.
        dtype : {'float32', 'float64'}, optional
            Dtype of the models; by default that of the constructor's models, or float32.

        Returns
        -------
        Estimate

        Raises
        ------
        UnsupportedError
            With ``impl='eager'``, whose memory the framework manages.
        DomainError, DtypeError
            A number is not positive and whole, or the dtype is unknown.

        Examples
        --------
        >>> print(solver.estimate(nshots=4, nt=2000))  # doctest: +SKIP
        """
        from .. import native

        impl, reason = self._choice()
        if impl != "c":
            raise UnsupportedError(
                f"impl is {impl!r} ({reason}); expected 'c', because only compiled code computes its memory use"
            )
        models = self._own_models()
        if dtype is None:
            dtype = dtype_name(models[0]) if models else "float32"
        shape = call_shape(self.problem, nshots, nt, nsources, nreceivers, dtype)
        kind, left, run = self._place()
        return native.estimate(kind, self.problem, shape, left, **run)

    def _caution(self, read: Callable[..., list[np.ndarray] | None], models: Models, shots: Shots) -> None:
        """Warn of unlikely values of models and wavelet, the first time that they can be `read`."""
        if not self._cautioned and (values := read(*models, shots.wavelet)) is not None:
            self._cautioned = True
            _, by_field = wavelet_layout(self.problem, shots.wavelet, shots.sources)
            caution(self.problem, values[:-1], samples_of(values[-1], by_field))

    def certify(
        self,
        wavelet: Wavelet,
        sources: Positions,
        receivers: Positions,
        models: Models | None = None,
        observed: Record | None = None,
        receiver_mask: Mask | None = None,
        *,
        budget: float | None = None,
        seed: int = 0,
    ) -> Certificate:
        """Look for silent errors in a call, in seconds.

        The checks cover units, cells a wavelength and steps a period, the wavelet and the survey. They compare waves
        with those of NumPy and run the dot-product test and the Taylor test of this solver, on a part of the problem.
        They measure the share of the gradient that single precision holds and that optimisers see. Given `observed`,
        they compare shape, energy, sign and delay, and look for cycle skipping.
        docs/reference/certificate.md lists the checks.

        Parameters
        ----------
        wavelet, sources, receivers, models, receiver_mask
            As for a call.
        observed : (nshots, nt, nrec, nfield) array, optional
            Observed data of all shots.
        budget : float, optional
            Cells times steps of a forward run; by default 3e8, or 3e7 with ``impl='eager'``.
        seed : int
            Seed of the random perturbations.

        Returns
        -------
        sweep_core.certify.Certificate
            True if nothing is wrong. ``print`` shows a table; `doubts` holds the findings that are not good.

        Raises
        ------
        SweepError
            As a call; an UnsupportedError inside jit, grad or vmap, where there are no values.

        Examples
        --------
        >>> certificate = solver.certify(wavelet, sources, receivers, models=[vp])  # doctest: +SKIP
        >>> print(certificate)  # doctest: +SKIP
        """
        from ..certify import certify

        shots, models = Shots(wavelet, sources, receivers, receiver_mask), self._given(models)
        self._check_call(shots, models)
        if budget is None:
            budget = 3e8 if self.impl == "c" else 3e7
        return certify(self.executor, self.problem, shots, models, observed, budget, seed)
