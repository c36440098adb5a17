"""Law 7: bad options build no solver. Each kind of option has its own error; the message states the value."""

import numpy as np
import pytest

from sweep_core import (
    Acoustic,
    CkptOptions,
    CUDAOptions,
    DeviceError,
    DomainError,
    DtypeError,
    MemoryOptions,
    OptionError,
    ShapeError,
    StabilityError,
    SweepError,
    UnsupportedError,
)
from sweep_core.errors import UnknownOptionError

VP = np.full((30, 40), 2000.0)
FULL = MemoryOptions("full")
SOLVERS = {
    "order 3": ({"equation": lambda: Acoustic(3)}, OptionError, "spatial_order is 3; expected an even number of 2 to 64"),
    "order 0": ({"equation": lambda: Acoustic(0)}, OptionError, "spatial_order is 0"),
    "order -2": ({"equation": lambda: Acoustic(-2)}, OptionError, "spatial_order is -2"),
    "order 4.0": ({"equation": lambda: Acoustic(4.0)}, OptionError, "spatial_order is 4.0"),
    "order True": ({"equation": lambda: Acoustic(True)}, OptionError, "spatial_order is True"),
    "not an equation": ({"equation": "acoustic"}, OptionError, "equation is 'acoustic'; expected an equation such as"),
    "an equation's class": ({"equation": lambda: Acoustic}, OptionError, "expected an equation such as Acoustic"),
    "no axis": ({"shape": ()}, ShapeError, r"shape is \(\); expected \(nz,\), \(nz, nx\) or \(nz, ny, nx\)"),
    "a number": ({"shape": 40}, ShapeError, "shape is 40; expected"),
    "four axes": ({"shape": (9, 9, 9, 9)}, ShapeError, r"shape is \(9, 9, 9, 9\)"),
    "float cells": ({"shape": (30.0, 40)}, ShapeError, r"shape is \(30.0, 40\); .* positive whole numbers"),
    "no cells": ({"shape": (0, 40)}, ShapeError, r"shape is \(0, 40\)"),
    "negative cells": ({"shape": (-30, 40)}, ShapeError, r"shape is \(-30, 40\)"),
    "faces of two dimensions": ({"shape": (9, 9, 9), "pml_width": (5,) * 4}, ShapeError, "pml_width has 4 values"),
    "spacings of two dimensions": ({"shape": (9, 9, 9), "dh": (9.0, 9.0)}, ShapeError, r"dh has 2 values; expected one, or one for each"),
    "too thin": ({"shape": (9, 3, 9)}, DomainError, "the model has 3 cells along y; expected at least 4, as spatial_order"),
    "too small": ({"shape": (30, 3)}, DomainError, "the model has 3 cells along x; expected at least 4, as spatial_order"),
    "dh 0": ({"dh": 0}, DomainError, "dh is 0; expected positive, finite spacings"),
    "dh negative": ({"dh": (10.0, -5.0)}, DomainError, r"dh is \(10.0, -5.0\)"),
    "dh nan": ({"dh": float("nan")}, DomainError, "dh is nan"),
    "dh inf": ({"dh": float("inf")}, DomainError, "dh is inf"),
    "dh None": ({"dh": None}, DomainError, "dh is None; expected metres"),
    "three spacings": ({"dh": (1.0, 2.0, 3.0)}, ShapeError, r"dh has 3 values; expected one, or .* axes \('z', 'x'\)"),
    "dt 0": ({"dt": 0}, DomainError, "dt is 0; expected a positive time step in seconds"),
    "dt negative": ({"dt": -1e-3}, DomainError, "dt is -0.001"),
    "dt nan": ({"dt": float("nan")}, DomainError, "dt is nan"),
    "dt text": ({"dt": "0.001"}, DomainError, "dt is '0.001'"),
    "dt None": ({"dt": None}, DomainError, "dt is None"),
    "dt True": ({"dt": True}, DomainError, "dt is True"),
    "unknown source": ({"source_type": ["p"]}, OptionError, r"source_type names 'p', .*; its fields are \['h1'\]; its pressure is 'h1'"),
    "a pressure in words": ({"receiver_type": ["pressure"]}, OptionError, "names 'pressure', .*; its pressure is 'h1'"),
    "unknown receiver": ({"receiver_type": ["h1", "vx"]}, OptionError, "receiver_type names 'vx'"),
    "no fields": ({"receiver_type": []}, OptionError, r"receiver_type is \[\]; expected a list of fields of acoustic"),
    "fields as text": ({"source_type": "h1"}, OptionError, r"source_type is 'h1'; .* such as \['h1'\]"),
    "a field twice": ({"receiver_type": ["h1", "h1"]}, OptionError, r"receiver_type is \['h1', 'h1'\]; each field may"),
    "pml_type": ({"pml_type": "cpmls"}, UnsupportedError, "pml_type is 'cpmls'; expected 'cpmlr' for acoustic"),
    "pml negative": ({"pml_width": -5}, DomainError, "pml_width is -5; expected whole numbers of cells from 0 on"),
    "pml float": ({"pml_width": 5.0}, OptionError, "pml_width is 5.0; expected a number of cells"),
    "three faces": ({"pml_width": (5, 5, 5)}, ShapeError, "pml_width has 3 values; expected one, or one per face"),
    "pml_velocity 0": ({"pml_velocity": 0}, DomainError, "pml_velocity is 0.0; expected a positive number"),
    "pml_velocity text": ({"pml_velocity": "fast"}, OptionError, "pml_velocity is 'fast'; expected a number"),
    "pml_velocity next to nothing": ({"pml_velocity": 5e-324}, DomainError, "pml_velocity is 5e-324; expected .*1e-12"),
    "a list of layers": ({"pml_type": np.array(["cpmlr", "pml"])}, UnsupportedError, "pml_type is array.*'cpmlr'"),
    "pml_freq nan": ({"pml_freq": float("nan")}, DomainError, "pml_freq is nan"),
    "free surface text": ({"free_surface": "yes"}, OptionError, r"free_surface is 'yes'; expected True \(on top\) or"),
    "free surface 1": ({"free_surface": 1}, OptionError, "free_surface is 1; expected True"),
    "free surface None": ({"free_surface": None}, OptionError, "free_surface is None"),
    "free surface in a layer": ({"free_surface": True, "pml_width": (5, 5, 5, 5)}, OptionError, "on top; expected 0"),
    "scaling": ({"source_scaling": "loud"}, OptionError, r"source_scaling is 'loud'; expected .*'physical', 'inc"),
    "scaling None": ({"source_scaling": None}, OptionError, "source_scaling is None"),
    "edge": ({"edge_gradient": "none"}, OptionError, r"edge_gradient is 'none'; expected .*'exact', 'interior'"),
    "edge True": ({"edge_gradient": True}, OptionError, "edge_gradient is True"),
    "dispersion": ({"time_dispersion": "yes"}, OptionError, r"time_dispersion is 'yes'; expected .*'uncorrected', "),
    "dispersion True": ({"time_dispersion": True}, OptionError, "time_dispersion is True"),
    "a list of scalings": ({"source_scaling": ["physical"]}, OptionError, r"source_scaling is \['physical'\]"),
    "impl": ({"impl": "cuda"}, OptionError, "impl is 'cuda'; expected one of 'auto', 'c', 'eager'"),
    "a list of impls": ({"impl": np.array(["c", "eager"])}, OptionError, "impl is array.*; expected one of 'auto', "),
    "impl None": ({"impl": None}, OptionError, "impl is None"),
    "memory twice": ({"memory": FULL, "cuda_options": CUDAOptions(memory=FULL)}, OptionError, "both state the strategy"),
    "memory text": ({"memory": "fool"}, OptionError, "strategy is 'fool'; expected one of 'auto', 'full'"),
    "memory of another class": ({"memory": CkptOptions()}, OptionError, "memory is CkptOptions.*; expected"),
    "cuda_options of another class": ({"cuda_options": FULL}, OptionError, r"expected CUDAOptions\(...\)"),
    "strategy": ({"memory": lambda: MemoryOptions("magic")}, OptionError, "strategy is 'magic'; expected one of 'auto"),
    "ckpt with full": ({"memory": lambda: MemoryOptions("full", ckpt=CkptOptions())}, OptionError, "ckpt=... does not"),
    "all rows known": (
        {"memory": MemoryOptions(known_above=30)},
        DomainError,
        "known_above is 30; expected less than 30, the number of rows",
    ),
    "int8 with eager": (
        {"impl": "eager", "memory": MemoryOptions("full", dtype="int8")},
        UnsupportedError,
        r"MemoryOptions\(dtype='int8'\) needs impl='c'",
    ),
    "boundary with eager": (
        {"impl": "eager", "memory": MemoryOptions("boundary")},
        UnsupportedError,
        "strategy='boundary'.* needs impl='c'.*; use strategy='ckpt'",
    ),
    "eager_options": ({"eager_options": None}, UnknownOptionError, "impl='eager' has no options; impl='c' is compiled"),
    "missing device": ({"dev": "cuda:7"}, DeviceError, "device 'cuda:7' cannot be used"),
    "a device of no number": ({"dev": 10**30}, DeviceError, "device 10+ cannot be used"),
    "nonsense device": ({"dev": "abacus"}, DeviceError, "device 'abacus' cannot be used"),
    "the equation's device": ({"equation": Acoustic(4, device="cuda:7")}, DeviceError, "device 'cuda:7' cannot be"),
    "models": ({"models": VP}, DtypeError, r"models is a .*; expected a list or tuple, models=\[vp\]"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "kind", "message"), SOLVERS.values(), ids=SOLVERS)
def test_law7_a_bad_solver_is_refused(front, options, kind, message):
    with pytest.raises(SweepError, match=message) as refusal:
        products = {k: v() if callable(v) else v for k, v in options.items()}
        front.solver(products)
    assert type(refusal.value) is kind


def test_law7_refusals_are_builtin_exceptions_too():
    kinds = {DomainError: ValueError, ShapeError: ValueError, DtypeError: TypeError, OptionError: ValueError}
    kinds |= {StabilityError: ValueError, UnsupportedError: NotImplementedError, DeviceError: RuntimeError}
    assert all(issubclass(kind, SweepError) and issubclass(kind, builtin) for kind, builtin in kinds.items())
