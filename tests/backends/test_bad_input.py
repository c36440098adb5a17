"""Law 7: bad input never computes. Each kind has its own error, and a message that says what was given."""

import re

import attrs
import numpy as np
import pytest
from laws import has

from sweep_core import (
    Acoustic,
    BoundaryOptions,
    CkptOptions,
    CUDAOptions,
    DeviceError,
    DomainError,
    DtypeError,
    EagerOptions,
    MemoryOptions,
    OptionError,
    ShapeError,
    StabilityError,
    SweepError,
    UnsupportedError,
    ricker,
)

NZ, NX, NT, DT = 30, 40, 16, 0.001
SETTING = {"equation": Acoustic(4), "shape": (NZ, NX), "dh": 10.0, "dt": DT, "pml_width": 5}
VP = np.full((NZ, NX), 2000.0)
CALL = {
    "wavelet": ricker(30, NT, DT),
    "sources": np.array([[3, 4], [10, 12]]),
    "receivers": np.array([[5, 6], [7, 8], [39, 29]]),
    "models": [VP],
}


@attrs.frozen
class Torch:
    """How PropTorch is fed."""

    impl: str
    array = "torch.Tensor"

    def solver(self, options):
        from sweep_torch import PropTorch

        return PropTorch(**(SETTING | {"impl": self.impl} | options))

    def convert(self, x):
        import torch

        return torch.tensor(x)


@attrs.frozen
class Jax:
    """How PropJax is fed."""

    impl: str
    array = "jax.Array"

    def solver(self, options):
        from sweep_jax import PropJax

        return PropJax(**(SETTING | {"impl": self.impl} | options))

    def convert(self, x):
        import jax.numpy as jnp

        return jnp.asarray(x)


def fronts():
    found = [(name, kind) for name, kind in (("torch", Torch), ("jax", Jax)) if has(name)]
    return [pytest.param(kind(impl), id=f"{name}-{impl}") for name, kind in found for impl in ("eager", "c")]


@pytest.fixture(params=fronts())
def front(request):
    """PropTorch and PropJax, eager and compiled; skipped where there is no compiled code."""
    try:
        request.param.solver({})
    except UnsupportedError as reason:
        pytest.skip(str(reason))
    return request.param


def converted(front, value):
    """NumPy arrays as the framework's own; anything else, and what is marked Raw, as it is."""
    if isinstance(value, Raw):
        return value.value
    if isinstance(value, list):
        return [converted(front, v) for v in value]
    return front.convert(value) if isinstance(value, np.ndarray) else value


@attrs.frozen(eq=False)
class Raw:
    value: object


def call(front, solver=None, **changes):
    arguments = {name: converted(front, value) for name, value in (CALL | changes).items()}
    return (solver or front.solver({}))(**arguments)


def test_good_input_computes(front):
    assert tuple(call(front).shape) == (2, NT, 3, 1)


# --- what a call refuses ----------------------------------------------------------------------------------------------


def at(*positions, dtype=np.int64):
    return np.array(positions, dtype=dtype)


def spoiled(value, cell=(3, 4)):
    model = VP.copy()
    model[cell] = value
    return [model]


W = CALL["wavelet"]
CALLS = {
    # positions
    "source right": ({"sources": at([3, 4], [40, 4])}, DomainError, r"source 1 is at x = 40 \(cells\), outside 0..39"),
    "source below": ({"sources": at([3, 30], [3, 4])}, DomainError, r"source 0 is at z = 30 \(cells\), outside 0..29"),
    "source left": ({"sources": at([3, 4], [-1, 4])}, DomainError, r"source 1 is at x = -1 \(cells\), outside 0..39"),
    "source above": ({"sources": at([3, -2], [3, 4])}, DomainError, r"source 0 is at z = -2 \(cells\), outside 0..29"),
    "one of two sources": (
        {"sources": at([[3, 4], [3, 5]], [[3, 4], [3, 99]])},
        DomainError,
        r"source 1 of shot 1 is at z = 99 \(cells\)",
    ),
    "receiver outside": ({"receivers": at([5, 6], [40, 2])}, DomainError, "receiver 1 of shot 0 is at x = 40"),
    "receiver negative": ({"receivers": at([5, 6], [5, -6])}, DomainError, "receiver 1 of shot 0 is at z = -6"),
    "swapped": (
        {"sources": at([3, 35], [4, 38]), "receivers": at([1, 1])},
        DomainError,
        r"z = 35 .* would lie inside if the columns were swapped: SWEEP expects \(x, z\)",
    ),
    "float sources": ({"sources": at([3.5, 4.0], [1, 1], dtype=float)}, UnsupportedError, "sources are .*float64: true"),
    "float receivers": ({"receivers": at([3, 4], dtype=np.float32)}, UnsupportedError, "receivers are .*float32"),
    "bool sources": ({"sources": at([1, 0], [1, 1], dtype=bool)}, DtypeError, "sources are of dtype .*bool; expected int"),
    "complex sources": ({"sources": at([1, 0], dtype=complex)}, DtypeError, "sources are of dtype .*complex128"),
    "sources a list": ({"sources": Raw([[3, 4]])}, DtypeError, "sources are a list; expected an integer array"),
    "sources None": ({"sources": None}, DtypeError, "sources are a NoneType"),
    "three columns": ({"sources": at([3, 4, 5])}, ShapeError, r"sources have shape \(1, 3\); expected \(nshots, 2\)"),
    "receivers of three columns": ({"receivers": at([3, 4, 5])}, ShapeError, r"shape \(1, 3\); expected \(nrec, 2\)"),
    "one position": ({"sources": at(3, 4)}, ShapeError, r"sources have shape \(2,\)"),
    "four axes": ({"receivers": at([[[3, 4]]], dtype=int)[None]}, ShapeError, r"receivers have shape \(1, 1, 1, 1, 2\)|"
                  r"receivers have shape \(1, 1, 1, 2\)"),
    "receivers of other shots": (
        {"receivers": np.ones((3, 4, 2), int)},
        ShapeError,
        r"receivers are given for 3 shots and sources for 2; expected \(2, nrec, 2\), or \(nrec, 2\)",
    ),
    "no receivers": ({"receivers": np.ones((0, 2), int)}, ShapeError, "no receivers and no snapshots"),
    "no shots": ({"sources": np.ones((0, 2), int)}, ShapeError, r"shape \(0, 2\); expected at least one shot"),
    "no sources": ({"sources": np.ones((2, 0, 2), int)}, ShapeError, r"shape \(2, 0, 2\); expected at least one shot"),
    # models
    "vp nan": ({"models": spoiled(np.nan)}, DomainError, "vp is nan m/s at z = 3, x = 4; expected finite values above 0"),
    "vp inf": ({"models": spoiled(np.inf)}, DomainError, "vp is inf m/s at z = 3, x = 4"),
    "vp zero": ({"models": spoiled(0.0)}, DomainError, "vp is 0.0 m/s at z = 3, x = 4"),
    "vp negative": ({"models": spoiled(-2e3, (29, 39))}, DomainError, "vp is -2000.0 m/s at z = 29, x = 39"),
    "too fast": ({"models": spoiled(9e3)}, StabilityError, "dt = 0.001 s is unstable for a speed of 9000 m/s at dh ="),
    "bare array": ({"models": VP}, DtypeError, r"models is a .*; expected a list or tuple, models=\[vp\]"),
    "no models": ({"models": []}, ShapeError, r"models holds 0 arrays; acoustic needs models=\[vp\]"),
    "models missing": ({"models": None}, OptionError, r"no models: give models=\[...\]"),
    "two models": ({"models": [VP, VP]}, ShapeError, "models holds 2 arrays"),
    "transposed": ({"models": [VP.T]}, ShapeError, r"shape \(40, 30\); the problem has \(30, 40\); it looks transposed"),
    "another shape": ({"models": [VP[1:]]}, ShapeError, r"model vp has shape \(29, 40\); the problem has \(30, 40\)$"),
    "one axis": ({"models": [VP.ravel()]}, ShapeError, r"model vp has shape \(1200,\)"),
    "an earth per shot": ({"models": [np.stack([VP, VP])]}, UnsupportedError, r"shape \(2, 30, 40\): one earth per shot"),
    "half models": ({"models": [VP.astype(np.float16)]}, DtypeError, r"models are \['float16'\]; expected all float32"),
    "integer models": ({"models": [VP.astype(np.int32)]}, DtypeError, r"models are \['int32'\]"),
    "complex models": ({"models": [VP.astype(complex)]}, DtypeError, r"models are \['complex128'\]"),
    "a model of text": ({"models": ["vp.npy"]}, DtypeError, "model .* is a str; expected a"),
    # wavelets
    "mixed dtypes": ({"wavelet": W.astype(np.float32)}, DtypeError, "wavelet is float32 and the models are float64"),
    "complex wavelet": ({"wavelet": W.astype(complex)}, DtypeError, "wavelet is complex128"),
    "integer wavelet": ({"wavelet": np.ones(NT, int)}, DtypeError, "wavelet is int64"),
    "wavelet a list": ({"wavelet": Raw([0.0, 1.0])}, DtypeError, "wavelet is a list; expected a"),
    "nan in the wavelet": ({"wavelet": np.where(W == W[3], np.nan, W)}, DomainError, "the wavelet holds NaN or infinite"),
    "inf in the wavelet": ({"wavelet": np.where(W == W[3], np.inf, W)}, DomainError, "the wavelet holds NaN or infinite"),
    "wavelets of other shots": ({"wavelet": np.ones((3, NT))}, ShapeError, r"shape \(3, 16\) for 2 shots of 1 sources"),
    "wavelets of other sources": ({"wavelet": np.ones((2, 2, NT))}, ShapeError, r"expected \(nt,\), \(2, nt\) or \(2, 1"),
    "time first": ({"wavelet": np.ones((NT, 2))}, ShapeError, r"wavelet has shape \(16, 2\)"),
    "no samples": ({"wavelet": np.ones(0)}, ShapeError, r"wavelet has shape \(0,\)"),
    "no axes": ({"wavelet": np.array(1.0)}, ShapeError, r"wavelet has shape \(\)"),
    # what is not there yet
    "receiver_mask": ({"receiver_mask": np.ones((2, 3), bool)}, UnsupportedError, "receiver_mask is not supported yet"),
    "snapshots": ({"snapshots": 10}, UnsupportedError, "snapshots are not supported yet"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "kind", "message"), CALLS.values(), ids=CALLS)
def test_law7_a_bad_call_is_refused(front, changes, kind, message):
    with pytest.raises(SweepError, match=message) as refusal:
        call(front, **changes)
    assert type(refusal.value) is kind


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_law7_the_stable_step_that_is_stated_works(front, dtype):
    model, wavelet = [(VP * 1.37).astype(dtype)], W.astype(dtype)
    with pytest.raises(StabilityError) as refusal:
        call(front, front.solver({"dt": 0.004}), models=model, wavelet=wavelet)
    stated = float(re.search(r"the largest stable dt is (\S+) s", str(refusal.value))[1])
    assert stated == pytest.approx(0.612372 * 10 / 2740, rel=1e-4)
    assert tuple(call(front, front.solver({"dt": stated}), models=model, wavelet=wavelet).shape) == (2, NT, 3, 1)


def test_law7_numpy_wavelets_and_models_are_not_torch(front):
    """torch refuses them by name; JAX takes NumPy arrays as everywhere."""
    if isinstance(front, Jax):
        assert tuple(call(front, wavelet=Raw(W), models=Raw([VP])).shape) == (2, NT, 3, 1)
        return
    with pytest.raises(DtypeError, match=r"wavelet is a ndarray; expected a torch.Tensor"):
        call(front, wavelet=Raw(W))
    with pytest.raises(DtypeError, match=r"model .* is a ndarray; expected a torch.Tensor"):
        call(front, models=Raw([VP]))


def test_law7_positions_may_be_of_numpy(front):
    assert tuple(call(front, sources=Raw(CALL["sources"]), receivers=Raw(CALL["receivers"])).shape) == (2, NT, 3, 1)


# --- what a solver refuses --------------------------------------------------------------------------------------------

FULL = MemoryOptions("full")
SOLVERS = {
    "order 3": ({"equation": lambda: Acoustic(3)}, OptionError, "spatial_order is 3; expected an even number from 2 on"),
    "order 0": ({"equation": lambda: Acoustic(0)}, OptionError, "spatial_order is 0"),
    "order -2": ({"equation": lambda: Acoustic(-2)}, OptionError, "spatial_order is -2"),
    "order 4.0": ({"equation": lambda: Acoustic(4.0)}, OptionError, "spatial_order is 4.0"),
    "order True": ({"equation": lambda: Acoustic(True)}, OptionError, "spatial_order is True"),
    "not an equation": ({"equation": "acoustic"}, OptionError, "equation is 'acoustic'; expected an equation such as"),
    "an equation's class": ({"equation": Raw(Acoustic)}, OptionError, "expected an equation such as Acoustic"),
    "one axis": ({"shape": (40,)}, ShapeError, r"shape is \(40,\); expected \(nz, nx\)"),
    "a number": ({"shape": 40}, ShapeError, "shape is 40; expected"),
    "four axes": ({"shape": (9, 9, 9, 9)}, ShapeError, r"shape is \(9, 9, 9, 9\)"),
    "float cells": ({"shape": (30.0, 40)}, ShapeError, r"shape is \(30.0, 40\); .* positive whole numbers"),
    "no cells": ({"shape": (0, 40)}, ShapeError, r"shape is \(0, 40\)"),
    "negative cells": ({"shape": (-30, 40)}, ShapeError, r"shape is \(-30, 40\)"),
    "three dimensions": ({"shape": (9, 9, 9)}, UnsupportedError, r"acoustic is supported in \(2,\) dimensions yet, not in 3"),
    "too small": ({"shape": (30, 3)}, DomainError, "the model has 3 cells along x; spatial_order 4 needs at least as many"),
    "dh 0": ({"dh": 0}, DomainError, "dh is 0; a spacing must be positive and finite"),
    "dh negative": ({"dh": (10.0, -5.0)}, DomainError, r"dh is \(10.0, -5.0\)"),
    "dh nan": ({"dh": float("nan")}, DomainError, "dh is nan"),
    "dh inf": ({"dh": float("inf")}, DomainError, "dh is inf"),
    "dh None": ({"dh": None}, DomainError, "dh is None; expected metres"),
    "three spacings": ({"dh": (1.0, 2.0, 3.0)}, ShapeError, r"dh has 3 values for 2 axes \('z', 'x'\)"),
    "dt 0": ({"dt": 0}, DomainError, "dt is 0; expected a positive time step in seconds"),
    "dt negative": ({"dt": -1e-3}, DomainError, "dt is -0.001"),
    "dt nan": ({"dt": float("nan")}, DomainError, "dt is nan"),
    "dt text": ({"dt": "0.001"}, DomainError, "dt is '0.001'"),
    "dt None": ({"dt": None}, DomainError, "dt is None"),
    "dt True": ({"dt": True}, DomainError, "dt is True"),
    "unknown source": ({"source_type": ["p"]}, OptionError, r"source_type names 'p', .*; its fields are \['h1'\]"),
    "unknown receiver": ({"receiver_type": ["h1", "vx"]}, OptionError, "receiver_type names 'vx'"),
    "no fields": ({"receiver_type": []}, OptionError, r"receiver_type is \[\]; expected a list of fields of acoustic"),
    "fields as text": ({"source_type": "h1"}, OptionError, r"source_type is 'h1'; .* such as \['h1'\]"),
    "a field twice": ({"receiver_type": ["h1", "h1"]}, OptionError, r"receiver_type is \['h1', 'h1'\]; each field may"),
    "pml_type": ({"pml_type": "cpmls"}, UnsupportedError, "pml_type is 'cpmls'; acoustic absorbs with 'cpmlr'"),
    "pml negative": ({"pml_width": -5}, DomainError, "pml_width is -5; expected whole numbers of cells from 0 on"),
    "pml float": ({"pml_width": 5.0}, OptionError, "pml_width is 5.0; expected a number of cells"),
    "three faces": ({"pml_width": (5, 5, 5)}, ShapeError, "pml_width has 3 values; expected one, or one per face"),
    "pml_velocity 0": ({"pml_velocity": 0}, DomainError, "pml_velocity is 0.0; expected a positive number"),
    "pml_velocity text": ({"pml_velocity": "fast"}, OptionError, "pml_velocity is 'fast'; expected a number"),
    "pml_freq nan": ({"pml_freq": float("nan")}, DomainError, "pml_freq is nan"),
    "free surface": ({"free_surface": True}, UnsupportedError, "free_surface=True: only absorbing faces"),
    "free surface text": ({"free_surface": "top"}, UnsupportedError, "free_surface='top'"),
    "increment": ({"source_scaling": "increment"}, UnsupportedError, "source_scaling='increment' is not supported yet"),
    "scaling": ({"source_scaling": "loud"}, OptionError, "source_scaling is 'loud'; expected 'physical' or 'increment'"),
    "interior": ({"edge_gradient": "interior"}, UnsupportedError, "edge_gradient='interior' is not supported yet"),
    "edge": ({"edge_gradient": "none"}, OptionError, "edge_gradient is 'none'; expected 'exact' or 'interior'"),
    "impl": ({"impl": "cuda"}, OptionError, r"impl is 'cuda'; expected one of \('auto', 'c', 'eager'\)"),
    "impl None": ({"impl": None}, OptionError, "impl is None"),
    "memory twice": ({"memory": FULL, "cuda_options": CUDAOptions(memory=FULL)}, OptionError, "say the same thing"),
    "memory text": ({"memory": "full"}, OptionError, r"memory is 'full'; expected MemoryOptions\(...\)"),
    "memory of another class": ({"memory": CkptOptions()}, OptionError, "memory is CkptOptions.*; expected MemoryOptions"),
    "cuda_options of another class": ({"cuda_options": FULL}, OptionError, r"expected CUDAOptions\(...\)"),
    "strategy": ({"memory": lambda: MemoryOptions("magic")}, OptionError, "strategy is 'magic'; expected one of 'auto'"),
    "ckpt with full": (
        {"memory": lambda: MemoryOptions("full", ckpt=CkptOptions())},
        OptionError,
        "ckpt=... does not apply to strategy 'full'",
    ),
    "boundary": (
        {"cuda_options": lambda: CUDAOptions(MemoryOptions("boundary", boundary=BoundaryOptions(storage="gpu")))},
        UnsupportedError,
        "strategy 'boundary' is not supported yet",
    ),
    "eager_options with c": ({"impl": "c", "eager_options": EagerOptions()}, OptionError, "does not apply to impl='c'"),
    "eager_options of another class": ({"impl": "eager", "eager_options": True}, OptionError, "eager_options is True"),
    "missing device": ({"dev": "cuda:7"}, DeviceError, "device 'cuda:7' cannot be used"),
    "nonsense device": ({"dev": "abacus"}, DeviceError, "device 'abacus' cannot be used"),
    "the equation's device": ({"equation": Acoustic(4, device="cuda:7")}, DeviceError, "device 'cuda:7' cannot be used"),
    "models": ({"models": VP}, DtypeError, r"models is a .*; expected a list or tuple, models=\[vp\]"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "kind", "message"), SOLVERS.values(), ids=SOLVERS)
def test_law7_a_bad_solver_is_refused(front, options, kind, message):
    with pytest.raises(SweepError, match=message) as refusal:
        made = {k: v() if callable(v) else v.value if isinstance(v, Raw) else v for k, v in options.items()}
        front.solver(made)
    assert type(refusal.value) is kind


def test_law7_a_stored_precision_that_is_not_the_models_is_refused(front):
    solver = front.solver({"memory": MemoryOptions(dtype="float32")})
    with pytest.raises(UnsupportedError, match="history in float32 for models in float64 is not supported yet"):
        call(front, solver)
    single = {"wavelet": W.astype(np.float32), "models": [VP.astype(np.float32)]}
    assert tuple(call(front, solver, **single).shape) == (2, NT, 3, 1)


def test_law7_refusals_are_of_the_builtin_kind_too():
    kinds = {DomainError: ValueError, ShapeError: ValueError, DtypeError: TypeError, OptionError: ValueError}
    kinds |= {StabilityError: ValueError, UnsupportedError: NotImplementedError, DeviceError: RuntimeError}
    assert all(issubclass(kind, SweepError) and issubclass(kind, builtin) for kind, builtin in kinds.items())


# --- values that are traced -------------------------------------------------------------------------------------------

TRACED = {
    "vp nan": {"models": spoiled(np.nan)},
    "vp inf": {"models": spoiled(np.inf)},
    "vp zero": {"models": spoiled(0.0)},
    "vp negative": {"models": spoiled(-2e3)},
    "too fast": {"models": spoiled(9e3)},
    "source outside": {"sources": at([3, 4], [40, 4])},
    "source negative": {"sources": at([3, 4], [3, -1])},
    "receiver outside": {"receivers": at([5, 6], [5, 30])},
}


@pytest.mark.parametrize("changes", TRACED.values(), ids=TRACED)
@pytest.mark.parametrize("front", [p for p in fronts() if p.id.startswith("jax")], indirect=True)
def test_law7_traced_values_never_compute(front, changes):
    """Under jit they cannot be read: compiled code refuses them when it runs, eager code gives a record of NaN."""
    import jax

    solver = front.solver({})
    arguments = {name: converted(front, value) for name, value in (CALL | changes).items()}
    if front.impl == "eager":
        assert np.isnan(np.asarray(jax.jit(solver)(**arguments))).all()
        return
    with pytest.raises(Exception, match=r"(vp|position|stable)"):
        jax.block_until_ready(jax.jit(solver)(**arguments))
