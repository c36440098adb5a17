"""The CUDA path of staggered equations, emulated by loops: forward, Born and Jacobian equal the reference's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from building import COMPILER, EMULATED, build
from laws import has

SUPPORT = Path(__file__).parents[1] / "support"
EQUATIONS = ("acoustic_variable_density", pytest.param("elastic", marks=pytest.mark.slow))
SCRIPT = f"""
import attrs, ctypes, os, sys
sys.path[:0] = [{str(SUPPORT)!r}]
from columns import columns_add
from laws import TABLE, case, error, record_error, reference_born, reference_record, variant
from sweep_core.testing.laws import known_rows_have_no_gradient, strategies_agree
from sweep_core import equations

(entry,) = [e for e in TABLE if e.name == "torch-c"]
equation = equations()[sys.argv[1]]
made = [case(equation, order) for order in (2, 8)] + [case(equation).remembering("ckpt-7")]
strips = [case(equation).remembering("boundary")]
made += [case(equation, shape=(11, 12, 13), pml=(5, 4, 7, 6, 4, 5), nt=30).remembering("ckpt-7")]
made += [variant(v, equation) for v in ("free surface, between nodes", "increments between nodes, an earth each")]
strips += [variant("free surface", equation).remembering("boundary")]
made += [variant("3-D, free surface, between nodes", equation)]

dll = ctypes.CDLL(os.environ["SWEEP_NATIVE_DIR"] + "/libsweep_cpu.so")
dll.emulated_launches.restype = ctypes.c_int64

def launches(nt, *heard):
    one, start = case(equation, nt=nt), dll.emulated_launches(0)
    driven = ["p"] if "p" in [f.name for f in equation.fields] else ["szz"]
    more = {{"source_type": driven, "receiver_type": heard}}
    entry.forward(attrs.evolve(one, arguments=one.arguments | more))
    return dll.emulated_launches(0) - start

# Two stages have cells inside of the PML and others each, and one launch is for sources and receivers.
assert launches(40, "vx", "vz") - launches(30, "vx", "vz") == 10 * 5
# But what sources have acted on can be heard after that only.
assert launches(40, "vx", "p") - launches(30, "vx", "p") == 10 * 6

for name in ("an earth each", "free surface, between nodes", "3-D"):
    columns_add(variant(name, equation))
for one in strips:
    strategies_agree(entry, one, "boundary")
strategies_agree(entry, case(equation), "float16")
known_rows_have_no_gradient(entry, case(equation))
known_rows_have_no_gradient(entry, case(equation), "ckpt-7", 2)
for one in made:
    y = one.noise()
    assert record_error(entry.forward(one), reference_record(one)) < 1e-12
    assert record_error(entry.born(one), reference_born(one)) < 1e-12
    terms = [d * g for d, g in zip(one.direction(), entry.jacobian_transposed(one, y), strict=True)]
    gap = (reference_born(one) * y).sum() - sum(t.sum() for t in terms)
    assert abs(gap) < 1e-12 * sum(abs(t).sum() for t in terms)
"""


@pytest.mark.skipif(not COMPILER, reason="no C++ compiler")
@pytest.mark.skipif(not has("torch"), reason="needs torch, through which the library is called")
@pytest.mark.parametrize("equation", EQUATIONS)
def test_equals_the_reference(tmp_path, equation):
    flags = *EMULATED, "-DSWEEP_MOST_ORDERS=0"  # as nvcc builds them
    built = build(tmp_path / "cuda", "cuda", "cuda/kernels.cu", "cuda/builds.cu", *flags, equations=(equation,))
    Path(built._name).rename(tmp_path / "cuda/libsweep_cpu.so")
    environment = os.environ | {"SWEEP_NATIVE_DIR": str(tmp_path / "cuda")}
    subprocess.run([sys.executable, "-c", SCRIPT, equation], check=True, env=environment)
