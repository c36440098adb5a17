"""The base of PropTorch and PropJax of this package: a constructor and a call of sweep-solver, translated to ours.

A step of sweep-solver computes the fields, then adds the wavelet as it is, then records. So its sample t of pressure
and stress is our sample t + 1, at the time (t + 1) dt. Its sample t of a velocity is our sample t. A wavelet that it
adds to a velocity acts one step later than a force of ours.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from array_api_compat import is_torch_array

from sweep_core._util.validators import named_arguments
from sweep_core.errors import DtypeError, OptionError, ShapeError, UnsupportedError

from ..equations import BACKENDS, Acoustic, Acoustic1st, AcousticLSRTM
from .options import Ckpt, CUDAOptions, EagerOptions, resolved

FACES = {2: ("top", "bottom", "left", "right"), 3: ("top", "bottom", "front", "back", "left", "right")}
LEGACY: dict[str | None, str] = {"eager": "eager", "cuda": "c"}
"""Values of `backend` in older scripts, and the `impl` of each."""
UNMET: dict[str, tuple[Any, str]] = {
    "topography": (None, "SWEEP has only a flat free surface: free_surface=True"),
    "topo_method": ("auto", "SWEEP has only a flat free surface: free_surface=True"),
    "nt": (-1, "a call has as many steps as the wavelet has samples"),
    "B": (1, "a call has as many shots as its sources"),
    "allow_growth": (True, "sweep_core.MemoryOptions(budget=...) limits the memory of a gradient"),
    "boundary_buffer": (None, "boundary saving needs no cells between model and PML here"),
    "scan_unroll": (1, "compiled code has no scan to unroll"),
}
"""Arguments without a counterpart: the neutral value, and the advice in the error for any other value."""


def free_faces(free_surface: Any, faces: tuple[str, ...]) -> list[bool]:
    """Return for each face whether it is free; `free_surface` may have any of its forms."""
    if isinstance(free_surface, bool):
        return [free_surface, *(False for _ in faces[1:])]
    values = [free_surface] if isinstance(free_surface, str) else free_surface
    if isinstance(free_surface, Mapping):
        values = [name for name, free in free_surface.items() if free]
    values = list(values) if isinstance(values, list | tuple | set) else None
    if values is not None and all(isinstance(v, str) for v in values) and set(values) <= set(faces):
        return [face in values for face in faces]
    if values is not None and len(values) == len(faces) and all(v in (0, 1) for v in values):
        return [bool(v) for v in values]
    raise OptionError(
        f"free_surface is {free_surface!r}; expected True, names of faces ({', '.join(faces)}) or one for each"
    )


def grid_shape(shape: Any) -> tuple[int, ...]:
    """Return the cells of the model as a tuple."""
    try:
        return tuple(shape)
    except TypeError:
        raise ShapeError(f"shape is {shape!r}; expected (nz, nx) or (nz, ny, nx)") from None


def fields(names: Any, default: Any, aliases: Mapping[str, str], name: str) -> list[str]:
    """Return fields by our names."""
    if isinstance(names, str):
        raise OptionError(f"{name} is {names!r}; expected a list of fields such as [{names!r}]")
    return [aliases.get(field, field) for field in names or default]


def cells(name: str, positions: Any) -> Any:
    """Return positions as whole cells; traced positions must have an integer dtype."""
    if is_torch_array(positions):  # on any device
        positions = positions.detach().cpu()
    dtype = getattr(positions, "dtype", None)
    if dtype is not None and "int" in str(dtype):
        return positions
    try:
        values = np.asarray(positions)
    except Exception:  # JAX raises one for a tracer, which has no values
        raise DtypeError(f"{name} are traced and of dtype {dtype}; expected integers, which name cells") from None
    if values.dtype.kind not in "fiu":
        raise DtypeError(f"{name} are {type(positions).__name__}; expected an array of cells, (nshots, n, ndim)")
    if not np.array_equal(values, np.trunc(values)):
        raise DtypeError(
            f"{name} are not whole numbers of cells; pass {name}.astype(int) to truncate them as sweep-solver does, or "
            "use sweep_torch or sweep_jax, which interpolate positions of a float dtype"
        )
    return values.astype(np.int64)


class Translated:
    """A propagator of sweep-solver. A subclass has `_kind`, our solver, and `_xp`, the framework's module."""

    _kind: Any
    _xp: Any
    _backend: str

    @named_arguments({"pml_width": "sweep-solver calls it abcn", "spatial_order": "it is an argument of the equation"})
    def __init__(
        self,
        equation: Any,
        shape: Any,
        source_type: Sequence[str] | None = None,
        receiver_type: Sequence[str] | None = None,
        abcn: int | Sequence[int] = 50,
        free_surface: Any = False,
        topography: Any = None,
        topo_method: str = "auto",
        dh: float | Sequence[float] = 10.0,
        dt: float = 0.002,
        dev: Any = None,
        device: Any = None,
        use_ckpt: bool | None = None,
        ckpt_chunks: int = 100,
        ckpt_mode: str = "chunk",
        ckpt_num: int = 0,
        ckpt_storage: str = "gpu",
        ckpt_pinned_memory: bool | None = None,
        pml_type: str | None = None,
        nt: int = -1,
        B: int = 1,
        allow_growth: bool = True,
        boundary_saving_config: Any = None,
        boundary_buffer: Any = None,
        backend: str | None = None,
        impl: str | None = None,
        backend_options: Any = None,
        eager_options: Any = None,
        cuda_options: Any = None,
        memory: Any = None,
        scan_unroll: int = 1,
    ) -> None:
        super().__init__()  # for torch.nn.Module, say
        arguments = locals()
        shape = grid_shape(shape)
        for name, (neutral, instead) in UNMET.items():
            if isinstance(arguments[name], np.ndarray) or arguments[name] != neutral:
                raise UnsupportedError(f"{name}={arguments[name]!r} is not supported; {instead}")
        self.equation = equation
        self._scattered = isinstance(equation, AcousticLSRTM)
        self._check_equation(shape, backend)
        sources = fields(source_type, equation.source_type, equation.aliases, "source_type")
        receivers = fields(receiver_type, equation.receiver_type, equation.aliases, "receiver_type")
        self._sources, self._receivers = sources, receivers
        only = {AcousticLSRTM: ["sh1"], Acoustic1st: ["p"]}
        for kind, recorded in only.items():
            if isinstance(equation, kind) and receivers != recorded:
                raise UnsupportedError(
                    f"receiver_type is {receivers}; expected {recorded} for {type(equation).__name__}. "
                    "sweep_core.Acoustic and AcousticVariableDensity record other fields"
                )
        options = backend_options if backend_options is not None else (eager_options or cuda_options)
        if options is not None and not isinstance(options, EagerOptions | CUDAOptions):
            raise OptionError(f"options are {options!r}; expected EagerOptions(...) or CUDAOptions(...)")
        legacy = Ckpt(ckpt_mode, ckpt_chunks, ckpt_num, ckpt_storage, ckpt_pinned_memory)
        self._memory = resolved(memory, options, use_ckpt, legacy, boundary_saving_config)
        self._arguments = {
            "equation": equation,
            "shape": shape,
            "dh": dh,
            "dt": dt,
            "dev": dev if device is None else device,
            "source_type": sources,
            "receiver_type": ["h1"] if self._scattered else receivers,
            "pml_type": pml_type,
            "pml_width": self._widths(abcn, free_surface, len(shape)),
            "source_scaling": "increment",
            "edge_gradient": "interior",
            "impl": impl or LEGACY.get(backend, "auto"),
        }
        self._solvers: dict[Any, Any] = {}
        self._solver(1)

    @staticmethod
    def _wave(wavelet: Any, like: Any) -> Any:
        """Return the wavelet as an array of the framework, with the dtype and device of `like`."""
        raise NotImplementedError

    @staticmethod
    def _like(x: Any, like: Any) -> Any:
        """Return an array in the dtype of another."""
        raise NotImplementedError

    def _check_equation(self, shape: Any, backend: str | None) -> None:
        equation = self.equation
        if isinstance(equation, type) or not hasattr(equation, "aliases"):
            raise OptionError(f"equation is {equation!r}; expected one of sweep_compat.equations, such as Acoustic()")
        if len(shape) != equation.dim:
            raise ShapeError(f"shape is {shape}; expected {equation.dim} dimensions for {type(equation).__name__}")
        framework = self._backend if backend in LEGACY else backend or equation.backend
        if framework not in BACKENDS or framework != self._backend:
            raise OptionError(f"backend is {framework!r}; expected {self._backend!r} for {type(self).__name__}")

    def _widths(self, abcn: int | Sequence[int], free_surface: Any, ndim: int) -> Any:
        """Return PML widths in cells; 0 at a free face, which in sweep-solver is a wall behind the first cell."""
        free = free_faces(free_surface, FACES[ndim])
        if not any(free):
            return abcn
        if not isinstance(self.equation, Acoustic):
            raise UnsupportedError(
                f"free_surface={free_surface!r} of {type(self.equation).__name__} would differ from sweep-solver's. "
                "sweep_torch.PropTorch(sweep_core.Elastic(), free_surface=True) has one on z = 0 that conserves energy"
            )
        each = list(abcn) if isinstance(abcn, list | tuple) else [abcn] * len(free)
        if len(each) != len(free):
            raise ShapeError(f"abcn is {abcn!r}; expected one number, or one for each face: {', '.join(FACES[ndim])}")
        return tuple(0 if wall else width for wall, width in zip(free, each, strict=True))

    def _solver(self, nt: int) -> Any:
        """Return our solver for runs of `nt` steps."""
        memory = None if self._memory is None else self._memory.ours(nt)
        if memory not in self._solvers:
            self._solvers[memory] = self._kind(**self._arguments, memory=memory)
        return self._solvers[memory]

    def _delayed(self, field: str) -> bool:
        """Return whether a field is staggered in time: a velocity."""
        return any(f.name == field and "t" in f.stagger for f in self.equation.fields)

    def _propagate(
        self, wavelet: Any, sources: Any, receivers: Any, models: Any, adj: bool, return_wavefield: bool
    ) -> Any:
        for name, value, instead in (
            ("adj", adj, "the gradient is that of the framework: backward(), or jax.grad"),
            ("return_wavefield", return_wavefield, "use sweep_torch or sweep_jax, with snapshots=Snapshots(...)"),
        ):
            if value:
                raise UnsupportedError(f"{name}={value!r} is not supported; {instead}")
        if not isinstance(models, list | tuple) or len(models) != len(self.equation.models):
            raise ShapeError(f"models are {type(models).__name__}; expected a list of {self.equation.models}")
        sources, receivers = cells("sources", sources), cells("receivers", receivers)
        try:
            wave = self._wave(wavelet, models[0])
        except (TypeError, ValueError, RuntimeError):
            raise DtypeError(
                f"wavelet is {type(wavelet).__name__} and model {self.equation.models[0]} is "
                f"{type(models[0]).__name__}; expected numbers, and models that are arrays of the framework"
            ) from None
        nt = wave.shape[-1]
        if len(sources.shape) == 3 and len(wave.shape) == 2:  # one wavelet for each source of one shot
            wave = wave[None]
        solver, driven = self._solver(nt + 1), self._driven(wave)
        if self._scattered:
            background, reflectivity = models
            perturbation = reflectivity * background / 2
            record = solver.born(driven, sources, receivers, [perturbation], models=[background])
        else:
            record = solver(driven, sources, receivers, models=list(models))
        return self._recorded(record, wave, sources, receivers)

    def _driven(self, wave: Any) -> Any:
        """Return the wavelet for our solver: one sample longer, so that our record covers all their samples.

        Wavelets of velocities are one step later.
        """
        none = self._xp.zeros_like(wave[..., :1])
        shifts = [self._delayed(field) for field in self._sources]
        wavelets = [self._xp.concatenate((none, wave) if is_late else (wave, none), -1) for is_late in shifts]
        return wavelets[0] if len(set(shifts)) == 1 else self._xp.stack(wavelets, -1)

    def _recorded(self, record: Any, wave: Any, sources: Any, receivers: Any) -> Any:
        """Return our record with the samples of sweep-solver."""
        nt, parts = wave.shape[-1], []
        for i, field in enumerate(self._receivers):
            late = self._delayed(field)
            part = record[:, :nt, :, i] if late else record[:, 1:, :, i]
            if late and field in self._sources:  # sweep-solver records after it adds the wavelet
                part = part + self._added(part, wave, sources, receivers)
            parts.append(part)
        return self._xp.stack(parts, -1)

    def _added(self, part: Any, wave: Any, sources: Any, receivers: Any) -> Any:
        """Return the wavelet for receivers in the cells of sources, zero for others."""
        sources, receivers = (self._xp.asarray(x) for x in (sources, receivers))
        sources = sources if len(sources.shape) == 3 else sources[:, None]
        receivers = receivers if len(receivers.shape) == 3 else receivers[None]
        here = (receivers[:, :, None] == sources[:, None]).all(-1)
        wave = wave if len(wave.shape) == 3 else wave[..., None, :]
        waves = self._xp.broadcast_to(wave, (sources.shape[0], sources.shape[1], wave.shape[-1]))
        return (self._like(here, part) @ waves).swapaxes(1, 2)
