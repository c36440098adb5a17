"""What the solvers of all frameworks share: how one is made, how it is documented, and what it tells of itself."""

from collections.abc import Callable
from inspect import cleandoc
from typing import Any

import numpy as np

from .._util import peer_names
from .._util.arrays import dtype_name
from .._util.validators import named_arguments
from ..acquisition.call_shape import call_shape
from ..acquisition.shots import Shots, samples_of
from ..discretization.node_averages import rows_before
from ..errors import DeviceError, DomainError, OptionError, UnsupportedError
from ..memory import Estimate
from ..memory.options import resolve_memory
from ..problem import make_problem
from .call_checks import check_call
from .input_warnings import caution

PARAMETERS = """
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
dev : <device>
source_type, receiver_type : list of str, optional
    Fields that sources act on and receivers record; the equation's first by default.
pml_type : str or tuple of str, optional
    Absorbing layers, one type or one for each axis, depth first: ``'cpmlr'`` on the regular grid; on a staggered one
    ``'cpmls'``, or ``'mpmls'``, a multi-axial layer in which guided waves do not grow, but which reflects more. The
    equation's own by default: of `Elastic` under a free surface ``'mpmls'`` at the sides.
pml_width : int or tuple of int
    Cells of the absorbing layer, one number or one per face (top, bottom, [front, back,] left, right). Where it
    is 0 the field is zero outside.
pml_velocity, pml_freq : float, optional
    Design speed (3000 m/s) and frequency (5 Hz) of the layer; see :class:`sweep_core.numerics.cpml.CPML`.
free_surface : bool
    The top of the model, z = 0, is free: pressure or traction is zero there, and there is no PML above.
source_scaling : {'physical', 'increment'}
    s(t) delta(x - xs), with delta = 1 / cell volume; or the wavelet is added to the field as it is at each step.
edge_gradient : {'exact', 'interior'}
    An edge cell also answers for the PML cells that continue it; or the earth under the PML is taken as given.
time_dispersion : {'uncorrected', 'corrected'}
    Whether the error of the time step is removed from the record, by maps of wavelet and record outside the run,
    which is a few steps longer for it; see
    :mod:`sweep_core.numerics.time_dispersion`. Gradients are those of the result.
models : <models>
impl : {'auto', 'c', 'eager'}
    Compiled, <framework> operations, or compiled where it can be; the choice is `impl`, the reason :meth:`explain`.
memory : MemoryOptions or str, optional
    Or the name of a strategy, such as ``'ckpt'``.
cuda_options : CUDAOptions, optional
    ``CUDAOptions(memory=...)`` says the same as `memory`, on every device.
device : optional
    Another name of `dev`.
check_finite : bool, optional
    Whether a record with NaN or infinite numbers raises a :class:`sweep_core.NotFiniteError` that says why. By default
    that is so where the record can be read at no cost: on a CPU, outside of transforms. True also waits for a GPU, and
    refuses transforms, in which no record can be read; False returns such a record.

Raises
------
SweepError
    A subclass that names the argument, what was given and what was expected.
"""
"""Of the constructor."""

CALL = """
Parameters
----------
wavelet : (nt,), (nshots, nt) or (nshots, nsrc, nt) <array>
    Of the dtype<placed> of the models. A trailing ``nfield`` where each source field has its own.
sources : (nshots, ndim) or (nshots, nsrc, ndim) <positions>
    Grid cells, columns (x, z) or (x, y, z). Integers name nodes; other positions are interpolated by a windowed
    sinc (8 cells along each axis), and differentiable with ``impl='eager'``.
receivers : (nrec, ndim) or (nshots, nrec, ndim) <positions>
    The same.
models : list of (nz, nx) or (nshots, nz, nx) <array>s, optional
    In the order of ``equation.parameters``; those of the constructor by default.
receiver_mask : (nshots, nrec) bool <array>, optional
    A receiver that is False records zero and sends back nothing, wherever it is said to be.
snapshots : Snapshots, optional
    Wavefields to hand out as well.

Returns
-------
(nshots, nt, nrec, nfield) <array>
    record[:, k] is the field at time k dt, before wavelet[k] acts. With `snapshots` a pair of it and a
    dictionary of fields, (nshots, nsnap, nz, nx) each.

Raises
------
SweepError
    DomainError, StabilityError, ShapeError, DtypeError, DeviceError: what was given and what was expected.
    NotFiniteError: where a record begins to be NaN or infinite; see `check_finite`.
"""
"""Of a call."""

BORN = """
(1 / vp^2) du_tt - lap du = (2 dvp / vp^3) u_tt + ds, for u of the unperturbed earth; that of the discrete
steps, exact to rounding. Linear and differentiable in its directions: its transpose is the gradient of a call.

Parameters
----------
perturbations : list of (nz, nx) <array>s
    One for each model, of its shape and dtype.
d_wavelet : <array>, optional
    Of the wavelet's shape.
wavelet, sources, receivers, models, receiver_mask
    As for a call.

Returns
-------
(nshots, nt, nrec, nfield) <array>
"""
"""Of a Born run."""


def documented(text: str, **words: str) -> Callable[[Any], Any]:
    """A decorator that adds `text` to a docstring, before its notes if it has any, with the `words` of a framework in
    place of their names in angle brackets.
    """
    for name, word in words.items():
        text = text.replace(f"<{name}>", word)

    def complete(bearer):
        own, title, notes = cleandoc(bearer.__doc__ or "").partition("Notes\n-----")
        bearer.__doc__ = "\n\n".join(filter(None, (own.strip(), text.strip(), title + notes))) + "\n"
        return bearer

    return complete


def stated_device(dev, equation, check_device: Callable[[Any], Any]) -> Any:
    """The device that `dev` or the equation states, as `check_device` finds it; None where neither does.

    Raises
    ------
    DeviceError
        Where they contradict each other, or it is not there.
    """
    stated = [check_device(d) for d in (dev, equation.device) if d is not None]
    if len(stated) == 2 and stated[0] != stated[1]:
        raise DeviceError(f"dev is {dev!r} and the equation's device is {equation.device!r}; give one, or the same")
    return stated[0] if stated else None


def _plain(values) -> Any:
    """One number where all are the same."""
    return values[0] if len(set(values)) == 1 else tuple(values)


class Propagator:
    """One problem as a solver of some framework.

    A subclass has `_start`, which the constructor ends with, `_choice`, `_place`, `_own_models`, `_check_call`
    and `executor`; what a GPU finds out about the values of a call it leaves in `_flag`, an array of one number.
    """

    @named_arguments(peer_names.SOLVER)
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
        device=None,
        check_finite=None,
    ):
        super().__init__()  # of torch.nn.Module, say
        memory = resolve_memory(memory, cuda_options)
        self.problem = make_problem(
            equation, shape, dh, dt, source_type, receiver_type, pml_type, pml_width, pml_velocity, pml_freq,
            free_surface, source_scaling, edge_gradient, time_dispersion, memory, check_finite,
        )  # fmt: skip
        self._requested, self._flag, self._cautioned = impl, None, False
        if dev is not None and device is not None:
            raise OptionError(f"dev is {dev!r} and device is {device!r}; give one of them")
        self._start(device if dev is None else dev, models)

    def _start(self, dev, models) -> None:
        """Takes what is the framework's own: device and models."""
        raise NotImplementedError

    def _choice(self) -> tuple[str, str]:
        """The implementation in use, and why; see :func:`sweep_core.plugins.executor.choose_impl`."""
        raise NotImplementedError

    def _place(self) -> tuple[str, Callable[[], int | None], dict]:
        """The kind of the compiled library, what tells the bytes left there, and more for
        :func:`sweep_core.native.sizes.history_request`.
        """
        raise NotImplementedError

    def _check_call(self, shots, models) -> None:
        """Raises what a call would, before anything is computed."""
        raise NotImplementedError

    def _own_models(self) -> Any:
        """The models that the constructor was given, or None."""
        raise NotImplementedError

    @property
    def executor(self) -> Any:
        """The backend, as this solver uses it, behind the protocol that all backends speak: see
        :class:`sweep_core.Executor`.
        """
        raise NotImplementedError

    @property
    def impl(self) -> str:
        """The implementation in use, ``'c'`` or ``'eager'``."""
        return self._choice()[0]

    def __repr__(self) -> str:
        problem, equation = self.problem, self.problem.equation
        faces = [n for pair in problem.pml for n in pair]
        told = {
            "shape": problem.grid.shape, "dh": _plain(problem.grid.spacing), "dt": problem.dt,
            "source_type": list(problem.source_type), "receiver_type": list(problem.receiver_type),
            "pml_width": _plain(faces), "free_surface": problem.free_surface, "impl": self.impl,
            "memory": problem.memory.strategy,
        }  # fmt: skip
        name = f"{type(equation).__name__}(spatial_order={equation.spatial_order})"
        return f"{type(self).__name__}({name}, {', '.join(f'{key}={value!r}' for key, value in told.items())})"

    def explain(self) -> str:
        """Why this implementation is in use, and how gradients remember the forward run."""
        impl, reason = self._choice()
        told = ", of which estimate(nshots, nt) tells what they take" if impl == "c" else ""
        if impl == "c" and self.problem.memory.known_above and rows_before(self.problem) is None:
            told += f"; all rows are kept, as {self.problem.equation.name} makes no coefficients of a few of them alone"
        return f"impl={impl!r}: {reason}; gradients with {self.problem.memory}{told}"

    def estimate(self, nshots, nt, nsources=1, nreceivers=None, dtype=None) -> Estimate:
        """Bytes that a gradient takes on the device, at the host and on disk, by purpose, and relative time, for each
        memory strategy and for the one in use, before anything is computed. ``print`` shows a table.

        Parameters
        ----------
        nshots, nt, nsources, nreceivers : int
            Shots of a call, time steps, and sources and receivers of a shot: at each cell of the top by default.
        dtype : {'float32', 'float64'}, optional
            Of the models: by default of those of the constructor, or float32.

        Returns
        -------
        Estimate

        Raises
        ------
        UnsupportedError
            With ``impl='eager'``, whose memory is the framework's.
        """
        from .. import native

        impl, reason = self._choice()
        if impl != "c":
            raise UnsupportedError(
                f"an estimate is what compiled code says that it takes; this is impl={impl!r} ({reason}); use impl='c'"
            )
        models = self._own_models()
        if dtype is None:
            dtype = dtype_name(models[0]) if models else "float32"
        shape = call_shape(self.problem, nshots, nt, nsources, nreceivers, dtype)
        kind, left, run = self._place()
        return native.estimate(kind, self.problem, shape, left, **run)

    def time(self, field: str, nt: int) -> np.ndarray:
        """Times (s) of the samples of a recorded field."""
        return self.problem.time(field, nt)

    def source_time(self, field: str, nt: int) -> np.ndarray:
        """Times (s) at which the samples of a wavelet act on a source field."""
        return self.problem.source_time(field, nt)

    def check(self) -> None:
        """Raises what a GPU found wrong with the values of the last call (it cannot stop to say so)."""
        status = 0 if self._flag is None else int(self._flag[0])
        if status:
            raise DomainError(f"the last call was given values that it cannot use (status {status}); its record is NaN")

    def _caution(self, read: Callable[..., list[np.ndarray] | None], models, shots) -> None:
        """Warns of what is hardly meant in the values of models and wavelet, the first time that they can be `read`."""
        if not self._cautioned and (values := read(*models, shots.wavelet)) is not None:
            self._cautioned = True
            shape = check_call(self.problem, shots, models)
            caution(self.problem, values[:-1], samples_of(values[-1], shape))

    def certify(
        self, wavelet, sources, receivers, models=None, observed=None, receiver_mask=None, *, budget=None, seed=0
    ):
        """What goes wrong silently, said aloud: a call looked at from all sides, in seconds.

        Units, cells a wavelength and steps a period, the wavelet, the survey, who hears anything; waves beside those of
        NumPy, the dot product and the Taylor test of this solver, on a cut-out; how much of the gradient single
        precision holds and optimisers see; and with `observed` its shape, energy, sign, delay, and cycle skipping.
        docs/certify.md has the list, and what is taken where the whole would take long.

        Parameters
        ----------
        wavelet, sources, receivers, models, receiver_mask
            As for a call.
        observed : (nshots, nt, nrec, nfield) array, optional
            Data of all shots.
        budget : float, optional
            Cells times steps of a forward run; by default 3e8, or 3e7 with ``impl='eager'``.
        seed : int
            Of random perturbations.

        Returns
        -------
        sweep_core.certify.Certificate
            True where nothing is wrong; ``print`` shows a table, `doubts` are the findings that are not good.

        Raises
        ------
        SweepError
            As a call; an UnsupportedError inside jit, grad or vmap, where there are no values.
        """
        from ..certify import certify

        shots, models = Shots(wavelet, sources, receivers, receiver_mask), self._given(models)
        self._check_call(shots, models)
        if budget is None:
            budget = 3e8 if self.impl == "c" else 3e7
        return certify(self.executor, self.problem, shots, models, observed, budget, seed)

    def _given(self, models):
        """The models of a call: its own, or those of the constructor."""
        models = self._own_models() if models is None else models
        if models is None:
            raise OptionError("no models: give models=[...] to the call or to the constructor")
        return models

    def __getstate__(self):
        return {**self.__dict__, "_flag": None}
