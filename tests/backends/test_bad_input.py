"""Law 7: a call with bad input computes nothing. Each kind of input has its own error; the message states the value."""

import re

import attrs
import numpy as np
import pytest

from sweep_core import (
    DomainError,
    DtypeError,
    MemoryOptions,
    OptionError,
    ShapeError,
    Snapshots,
    StabilityError,
    SweepError,
    UnsupportedError,
    ricker,
)

NZ, NX, NT = 30, 40, 16
VP = np.full((NZ, NX), 2000.0)
CALL = {
    "wavelet": ricker(30, NT, 0.001),
    "sources": np.array([[3, 4], [10, 12]]),
    "receivers": np.array([[5, 6], [7, 8], [39, 29]]),
    "models": [VP],
}


@attrs.frozen(eq=False)
class Raw:
    """A value that reaches the solver unchanged."""

    value: object


def convert(front, value):
    """Convert NumPy arrays to arrays of the framework, and replace functions by their values."""
    if isinstance(value, Raw):
        return value.value
    if callable(value):
        return value()
    if isinstance(value, list):
        return [convert(front, v) for v in value]
    return front.convert(value) if isinstance(value, np.ndarray) else value


def call(front, solver=None, **changes):
    arguments = {name: convert(front, value) for name, value in (CALL | changes).items()}
    return (solver or front.solver({}))(**arguments)


def test_good_input_computes(front):
    assert tuple(call(front).shape) == (2, NT, 3, 1)


# --- refusals of a call -----------------------------------------------------------------------------------------------


def at(*positions, dtype=None):
    return np.array(positions, dtype=dtype)


def model_with(value, cell=(3, 4)):
    model = VP.copy()
    model[cell] = value
    return [model]


W, MASK = CALL["wavelet"], np.ones((2, 3), bool)
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
    "half a cell outside": ({"sources": at([39.5, 4])}, DomainError, r"source 0 is at x = 39.5 \(cells\), outside 0.."),
    "a little above": ({"receivers": at([3, -1e-9])}, DomainError, r"receiver 0 of shot 0 is at z = -1e-09 \(cells\)"),
    "nan sources": ({"sources": at([3, 4], [1, np.nan])}, DomainError, r"source 1 is at z = nan \(cells\), outside 0."),
    "inf receivers": ({"receivers": at([np.inf, 4])}, DomainError, r"receiver 0 of shot 0 is at x = inf \(cells\)"),
    "half sources": ({"sources": at([3, 4], dtype=np.float16)}, DtypeError, r"float16; expected integers \(nodes\) or"),
    "bool sources": ({"sources": at([1, 0], [1, 1], dtype=bool)}, DtypeError, "sources are of dtype .*bool; expected"),
    "complex sources": ({"sources": at([1, 0], dtype=complex)}, DtypeError, "sources are of dtype .*complex128"),
    "sources a list": ({"sources": Raw([[3, 4]])}, DtypeError, "sources are a list; expected an array of grid cells"),
    "sources None": ({"sources": None}, DtypeError, "sources are a NoneType"),
    "three columns": ({"sources": at([3, 4, 5])}, ShapeError, r"sources have shape \(1, 3\); expected \(nshots, 2\)"),
    "receivers of three columns": ({"receivers": at([3, 4, 5])}, ShapeError, r"shape \(1, 3\); expected \(nrec, 2\)"),
    "one position": ({"sources": at(3, 4)}, ShapeError, r"sources have shape \(2,\)"),
    "four axes": ({"receivers": at([[[3, 4]]], dtype=int)[None]}, ShapeError, r"receivers have shape \(1, 1, 1, 1, 2\)|"
                  r"receivers have shape \(1, 1, 1, 2\)"),
    "receivers of other shots": (
        {"receivers": np.ones((3, 4, 2), int)},
        ShapeError,
        r"receivers have shape .* for 2 shots; expected \(2, nrec, 2\), or \(nrec, 2\)",
    ),
    "no receivers": ({"receivers": np.ones((0, 2), int)}, ShapeError, "no receivers and no snapshots"),
    "no sources": ({"sources": np.ones((2, 0, 2), int)}, ShapeError, r"shape \(2, 0, 2\); expected at least one source"),
    # models
    "vp nan": ({"models": model_with(np.nan)}, DomainError, "vp is nan m/s at z = 3, x = 4; expected finite values above"),
    "vp inf": ({"models": model_with(np.inf)}, DomainError, "vp is inf m/s at z = 3, x = 4"),
    "vp zero": ({"models": model_with(0.0)}, DomainError, "vp is 0.0 m/s at z = 3, x = 4"),
    "vp negative": ({"models": model_with(-2e3, (29, 39))}, DomainError, "vp is -2000.0 m/s at z = 29, x = 39"),
    "too fast": ({"models": model_with(9e3)}, StabilityError, "dt = 0.001 s is unstable in these models at dh ="),
    "bare array": ({"models": VP}, DtypeError, r"models is a .*; expected a list or tuple, models=\[vp\]"),
    "no models": ({"models": []}, ShapeError, r"models holds 0 arrays; expected models=\[vp\] for"),
    "models missing": ({"models": None}, OptionError, r"models are missing; pass models=\[...\]"),
    "two models": ({"models": [VP, VP]}, ShapeError, "models holds 2 arrays"),
    "transposed": ({"models": [VP.T]}, ShapeError, r"shape \(40, 30\); expected \(30, 40\); it looks"),
    "another shape": ({"models": [VP[1:]]}, ShapeError, r"model vp has shape \(29, 40\); expected \(30, 40\)$"),
    "one axis": ({"models": [VP.ravel()]}, ShapeError, r"model vp has shape \(1200,\)"),
    "earths of other shots": ({"models": [np.stack([VP] * 3)]}, ShapeError, "models hold 3 earths for 2 shots"),
    "two earths for three shots": (
        {"models": [np.stack([VP, VP])], "sources": at([3, 4], [5, 6], [7, 8])},
        ShapeError,
        "models hold 2 earths for 3 shots; expected one for all, or one for each",
    ),
    "no earths": ({"models": [np.ones((0, NZ, NX))]}, ShapeError, "models hold 0 earths for 2 shots"),
    "transposed earths": ({"models": [np.stack([VP.T] * 2)]}, ShapeError, r"shape \(2, 40, 30\); expected \(30"),
    "earths of sources": ({"models": [VP[None, None]]}, ShapeError, r"model vp has shape \(1, 1, 30, 40\)"),
    "nan in one earth": (
        {"models": [np.stack([VP, model_with(np.nan)[0]])]}, DomainError, "vp is nan m/s at shot = 1, z = 3, x = 4"
    ),
    "half models": ({"models": [VP.astype(np.float16)]}, DtypeError, r"models are \['float16'\]; expected all float32"),
    "integer models": ({"models": [VP.astype(np.int32)]}, DtypeError, r"models are \['int32'\]"),
    "complex models": ({"models": [VP.astype(complex)]}, DtypeError, r"models are \['complex128'\]"),
    "a model of text": ({"models": ["vp.npy"]}, DtypeError, "model .* is a str; expected a"),
    # wavelets
    "mixed dtypes": ({"wavelet": W.astype(np.float32)}, DtypeError, "wavelet is float32 and the models are float64"),
    "complex wavelet": ({"wavelet": W.astype(complex)}, DtypeError, "wavelet is complex128"),
    "integer wavelet": ({"wavelet": np.ones(NT, int)}, DtypeError, "wavelet is int64"),
    "wavelet a list": ({"wavelet": Raw([0.0, 1.0])}, DtypeError, "wavelet is a list; expected a"),
    "nan in the wavelet": ({"wavelet": np.where(W == W[3], np.nan, W)}, DomainError, "the wavelet holds NaN or"),
    "inf in the wavelet": ({"wavelet": np.where(W == W[3], np.inf, W)}, DomainError, "the wavelet holds NaN or"),
    "wavelets of other shots": ({"wavelet": np.ones((3, NT))}, ShapeError, r"shape \(3, 16\) for 2 shots of 1 sources"),
    "wavelets of other sources": ({"wavelet": np.ones((2, 2, NT))}, ShapeError, r"expected \(nt,\), \(2, nt\) or \(2,"),
    "time first": ({"wavelet": np.ones((NT, 2))}, ShapeError, r"wavelet has shape \(16, 2\)"),
    "no samples": ({"wavelet": np.ones(0)}, ShapeError, r"wavelet has shape \(0,\)"),
    "no axes": ({"wavelet": np.array(1.0)}, ShapeError, r"wavelet has shape \(\)"),
    # masks
    "a mask of other receivers": ({"receiver_mask": MASK[:, :2]}, ShapeError, r"shape \(2, 2\); .* \(nshots, nrec\) ="),
    "a mask of other shots": ({"receiver_mask": MASK[:1]}, ShapeError, r"receiver_mask has shape \(1, 3\); expected"),
    "one mask for all shots": ({"receiver_mask": MASK[0]}, ShapeError, r"receiver_mask has shape \(3,\); expected"),
    "a mask of numbers": ({"receiver_mask": MASK.astype(int)}, DtypeError, "receiver_mask is .*int64; expected an"),
    "a mask of weights": ({"receiver_mask": MASK.astype(float)}, DtypeError, "receiver_mask is .*float64; expected an"),
    "a mask that is a list": ({"receiver_mask": Raw(MASK.tolist())}, DtypeError, "receiver_mask is list; expected an"),
    "a mask that hides another": (
        {"receivers": at([5, 6], [99, 8], [39, 99]), "receiver_mask": at([True, False, True], [True, False, False])},
        DomainError,
        "receiver 2 of shot 0 is at z = 99",
    ),
    "a mask of sources": ({"sources": at([3, 4], [3, 99]), "receiver_mask": MASK}, DomainError, "source 1 is at z"),
    # snapshots
    "snapshots": ({"snapshots": 10}, OptionError, r"snapshots is 10; expected Snapshots\(fields=\[...\], every=...\)"),
    "an unknown field": ({"snapshots": Snapshots(["p"])}, OptionError, r"name 'p', which acoustic .*; its fields are .*; its pressure is 'h1'"),
    "fields as text": ({"snapshots": lambda: Snapshots("h1")}, OptionError, r"fields is 'h1'; expected a list of"),
    "no fields": ({"snapshots": lambda: Snapshots([])}, OptionError, r"Snapshots: fields is \(\); expected a list"),
    "a field twice": ({"snapshots": lambda: Snapshots(["h1", "h1"])}, OptionError, "each field may be named once"),
    "every 0": ({"snapshots": lambda: Snapshots(["h1"], every=0)}, OptionError, "every is 0; expected a whole number of"),
    "every 2.5": ({"snapshots": lambda: Snapshots(["h1"], every=2.5)}, OptionError, "every is 2.5"),
    "every beyond the steps": (
        {"snapshots": Snapshots(["h1"], every=2**31 - 1)},
        DomainError,
        "every is 2147483647; expected 1 to [0-9]+, the samples of the wavelet",
    ),
    "every of 33 bits": ({"snapshots": Snapshots(["h1"], every=2**32)}, DomainError, "every is 4294967296; expected 1"),
    "every True": ({"snapshots": lambda: Snapshots(["h1"], every=True)}, OptionError, "every is True"),
    "region below": (
        {"snapshots": Snapshots(["h1"], region=((0, 31), (0, 40)))}, DomainError, "region along z is 0..31; expected a part of 0..30"
    ),
    "region left": ({"snapshots": Snapshots(["h1"], region=((0, 30), (-1, 9)))}, DomainError, "region along x is -1..9"),
    "empty region": ({"snapshots": Snapshots(["h1"], region=((4, 4), (0, 9)))}, DomainError, "region along z is 4..4"),
    "region of one axis": ({"snapshots": Snapshots(["h1"], region=((0, 9),))}, ShapeError, r"\(low, high\) for each"),
    "region of steps": ({"snapshots": Snapshots(["h1"], region=((0, 9, 2), (0, 9)))}, ShapeError, "for each axis"),
    "region of fractions": (
        {"snapshots": lambda: Snapshots(["h1"], region=((2.7, 9), (0, 9)))}, OptionError, "for each axis, in whole cells"
    ),
    "region of flags": (
        {"snapshots": lambda: Snapshots(["h1"], region=((True, 9), (0, 9)))}, OptionError, "for each axis, in whole"
    ),
    "region of text": ({"snapshots": lambda: Snapshots(["h1"], region=("12", "34"))}, OptionError, "in whole cells"),
    "region of nothing": ({"snapshots": lambda: Snapshots(["h1"], region=())}, OptionError, r"region is \(\);"),
    "region of numbers": ({"snapshots": lambda: Snapshots(["h1"], region=(0, 9))}, OptionError, r"region is \(0, 9\);"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "kind", "message"), CALLS.values(), ids=CALLS)
def test_law7_a_bad_call_is_refused(front, changes, kind, message):
    with pytest.raises(SweepError, match=message) as refusal:
        call(front, **changes)
    assert type(refusal.value) is kind


THIN = {"pml_width": (5, 5, 2, 2)}
SURFACE = {"free_surface": True, "pml_width": (0, 5, 5, 5)}
PROBLEMS = {
    # options, changes of the call
    "taps left of the layer": (
        *(THIN, {"sources": at([0.5, 4])}),
        r"source 0 is at x = 0.5 \(cells\), and its interpolation needs 4 nodes .* \(2 and 2 cells wide along x\); "
        "widen the PML or use a node",
    ),
    "taps right of the layer": (THIN, {"receivers": at([5, 6.5], [38.5, 6])}, "receiver 1 of shot 0 is at x = 38.5"),
    "taps below no layer": ({"pml_width": 0}, {"sources": at([9, 26.01])}, r"source 0 is at z = 26.01 .*; widen"),
    "a source on the surface": (SURFACE, {"sources": at([3, 0])}, r"source 0 is at z = 0 .*, on the free surface"),
    "a receiver on the surface": (SURFACE, {"receivers": at([3, 4], [3, 0])}, "receiver 1 of .* is zero; move it"),
    "a true position on the surface": (SURFACE, {"receivers": at([3.5, 0.0])}, "z = 0.0 .*, on the free surface"),
    "a source above the surface": (SURFACE, {"sources": at([3.0, -0.5])}, "source 0 is at z = -0.5 .*, outside 0..29"),
}


@pytest.mark.parametrize(("options", "changes", "message"), PROBLEMS.values(), ids=PROBLEMS)
def test_law7_positions_without_taps_or_on_the_surface_are_refused(front, options, changes, message):
    with pytest.raises(DomainError, match=message):
        call(front, front.solver(options), **changes)


def test_law7_positions_just_inside_compute(front):
    """A node needs no taps, folded taps need no nodes above the surface, a masked receiver needs no valid position."""
    inside = {"sources": at([2.0, 4.5], [1.5, 26.0]), "receivers": at([0.0, 4], [39, 29], [38.0, 28.5])}
    assert tuple(call(front, front.solver(THIN), **inside).shape) == (2, NT, 3, 1)
    above = {"sources": at([3, 1], [4, 1]), "receivers": at([np.nan, -7.0], [3.5, 0.01], [5.5, 1.0])}
    mask = at([False, True, True], [False, True, True])
    record = np.asarray(call(front, front.solver(SURFACE), **above, receiver_mask=mask))
    assert np.isfinite(record).all() and record[:, :, 1].any() and not record[:, :, 0].any()


BORN = {
    "a bare array": ({"perturbations": VP}, ShapeError, r"perturbations are .*; expected one for each of \[vp\]"),
    "nothing": ({"perturbations": None}, ShapeError, "perturbations are NoneType; expected one for each of"),
    "two": ({"perturbations": [VP, VP]}, ShapeError, "perturbations are list; expected one for each of"),
    "another shape": ({"perturbations": [VP[1:]]}, ShapeError, r"perturbation 0 has shape \(29, 40\); expected \(30,"),
    "an earth each": ({"perturbations": [np.stack([VP] * 2)]}, ShapeError, r"perturbation 0 has shape \(2, 30, 40\)"),
    "a number": ({"perturbations": [1.0]}, ShapeError, "perturbation 0 has shape None"),
    "single": ({"perturbations": [VP.astype(np.float32)]}, DtypeError, "perturbation 0 is float32; expected float64"),
    "samples": ({"d_wavelet": W[1:]}, ShapeError, r"the wavelet's perturbation has shape \(15,\); expected \(16,\)"),
    "a wavelet each": ({"d_wavelet": np.stack([W, W])}, ShapeError, "the wavelet's perturbation has shape"),
    "single samples": ({"d_wavelet": W.astype(np.float32)}, DtypeError, "the wavelet's perturbation is float32"),
    "a source outside": ({"sources": at([40, 4])}, DomainError, "source 0 is at x = 40"),
    "no receivers": ({"receivers": np.ones((0, 2), int)}, ShapeError, "no receivers and no snapshots"),
    "a bare model": ({"models": VP}, DtypeError, r"models is a .*; expected a list or tuple, models=\[vp\]"),
    "no models": ({"models": None}, OptionError, r"models are missing; pass models=\[...\]"),
    "a model of text": ({"models": ["vp.npy"]}, DtypeError, "model .* is a str; expected a"),
    "a wavelet of text": ({"wavelet": "ricker"}, DtypeError, "wavelet is a str; expected a"),
    "a negative model": ({"models": model_with(-2e3)}, DomainError, "vp is -2000.0 m/s at z = 3, x = 4"),
    "too fast": ({"models": model_with(9e3)}, StabilityError, "the largest stable dt is"),
    "a mask": ({"receiver_mask": MASK[:1]}, ShapeError, "receiver_mask has shape"),
}


@pytest.mark.parametrize(("changes", "kind", "message"), BORN.values(), ids=BORN)
def test_law7_a_bad_born_call_is_refused(front, changes, kind, message):
    with pytest.raises(SweepError, match=message) as refusal:
        call(front, front.solver({}).born, **({"perturbations": [VP]} | changes))
    assert type(refusal.value) is kind


def test_law7_only_eager_code_differentiates_positions(front):
    """Compiled code refuses these derivatives by name; it never returns a silent zero."""
    solver, products = front.solver({}), {"sources": at([3.5, 4.5], [10.5, 12]), "receivers": at([5.5, 6], [7, 8.5])}
    for which in products:
        if front.framework == "jax":
            import jax

            def derivative(which=which):
                return jax.grad(lambda x: (call(front, solver, **(products | {which: x})) ** 2).sum())(products[which])

        else:
            import torch

            def derivative(which=which):
                leaf = torch.tensor(products[which], requires_grad=True)
                return torch.autograd.grad((call(front, solver, **(products | {which: leaf})) ** 2).sum(), leaf)[0]

        if front.impl == "c":
            with pytest.raises(UnsupportedError, match="impl='c' has no derivative in positions.*use impl='eager'"):
                derivative()
        else:
            assert np.asarray(derivative()).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_law7_the_stated_stable_step_works(front, dtype):
    model, wavelet = [(VP * 1.37).astype(dtype)], W.astype(dtype)
    with pytest.raises(StabilityError) as refusal:
        call(front, front.solver({"dt": 0.004}), models=model, wavelet=wavelet)
    stated = float(re.search(r"the largest stable dt is (\S+) s", str(refusal.value))[1])
    assert stated == pytest.approx(0.612372 * 10 / 2740, rel=1e-4)
    assert tuple(call(front, front.solver({"dt": stated}), models=model, wavelet=wavelet).shape) == (2, NT, 3, 1)


def test_law7_torch_refuses_numpy_wavelets_and_models(front):
    """JAX accepts NumPy arrays."""
    if front.framework == "jax":
        assert tuple(call(front, wavelet=Raw(W), models=Raw([VP])).shape) == (2, NT, 3, 1)
        return
    with pytest.raises(DtypeError, match=r"wavelet is a ndarray; expected a torch.Tensor"):
        call(front, wavelet=Raw(W))
    with pytest.raises(DtypeError, match=r"model .* is a ndarray; expected a torch.Tensor"):
        call(front, models=Raw([VP]))


def test_law7_positions_may_be_numpy_arrays(front):
    assert tuple(call(front, sources=Raw(CALL["sources"]), receivers=Raw(CALL["receivers"])).shape) == (2, NT, 3, 1)


def test_law7_a_history_dtype_other_than_the_models_is_refused(front):
    solver = front.solver({"memory": MemoryOptions(dtype="float32")})
    with pytest.raises(
        UnsupportedError,
        match=r"MemoryOptions\(dtype='float32'\) of models in float64, strategy 'auto' .* leave dtype=None",
    ):
        call(front, solver)
    single = {"wavelet": W.astype(np.float32), "models": [VP.astype(np.float32)]}
    assert tuple(call(front, solver, **single).shape) == (2, NT, 3, 1)


# --- traced values ----------------------------------------------------------------------------------------------------

TRACED = {
    "vp nan": {"models": model_with(np.nan)},
    "vp inf": {"models": model_with(np.inf)},
    "vp zero": {"models": model_with(0.0)},
    "vp negative": {"models": model_with(-2e3)},
    "too fast": {"models": model_with(9e3)},
    "source outside": {"sources": at([3, 4], [40, 4])},
    "source negative": {"sources": at([3, 4], [3, -1])},
    "receiver outside": {"receivers": at([5, 6], [5, 30])},
    "nan source": {"sources": at([3, 4], [np.nan, 4])},
    "inf receiver": {"receivers": at([5, 6], [5, -np.inf])},
    "far receiver": {"receivers": at([5, 6], [5, 1e300])},
    "between, outside": {"receivers": at([5, 6], [5, 29.001])},
    "one earth": {"models": [np.stack([VP, model_with(np.nan)[0]])]},
    "beyond the layer": {"sources": at([3, 4], [3, 0.5])} | {"options": {"pml_width": 2}},
    "on the surface": {"sources": at([3, 4], [3, 0])} | {"options": SURFACE},
    "a true position on the surface": {"receivers": at([3, 4], [3, 0.0])} | {"options": SURFACE},
}


@pytest.mark.parametrize("changes", TRACED.values(), ids=TRACED)
def test_law7_bad_traced_values_never_compute(jax_front, changes):
    """Values are unreadable under jit: compiled code refuses them at run time; eager code returns a record of NaN."""
    import jax

    front = jax_front

    changes = dict(changes)
    solver = front.solver(changes.pop("options", {}))
    arguments = {name: convert(front, value) for name, value in (CALL | changes).items()}
    if front.impl == "eager":
        assert np.isnan(np.asarray(jax.jit(solver)(**arguments))).all()
        return
    with pytest.raises(Exception, match=r"(vp|position|stable)"):
        jax.block_until_ready(jax.jit(solver)(**arguments))
