"""The CUDA path of staggered equations, emulated by loops: forward, Born and Jacobian equal the reference's."""

import subprocess
import sys
from pathlib import Path

import pytest
from building import COMPILER, emulated_cuda
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
examples = [case(equation, order) for order in (2, 8)] + [case(equation).remembering("ckpt-7")]
strips = [case(equation).remembering("boundary")]
examples += [case(equation, shape=(11, 12, 13), pml=(5, 4, 7, 6, 4, 5), nt=30).remembering("ckpt-7")]
examples += [variant(v, equation) for v in ("free surface, between nodes", "increments between nodes, an earth each")]
strips += [variant("free surface", equation).remembering("boundary")]
examples += [variant("3-D, free surface, between nodes", equation)]

dll = ctypes.CDLL(os.environ["SWEEP_NATIVE_DIR"] + "/libsweep_cpu.so")
dll.emulated_launches.restype = ctypes.c_int64

def launches(nt, *receivers):
    example, start = case(equation, nt=nt), dll.emulated_launches(0)
    source_type = ["p"] if "p" in [f.name for f in equation.fields] else ["szz"]
    arguments = {{"source_type": source_type, "receiver_type": receivers}}
    entry.forward(attrs.evolve(example, arguments=example.arguments | arguments))
    return dll.emulated_launches(0) - start

# Each of two stages launches cells inside and outside the PML; one more launch is for sources and receivers.
assert launches(40, "vx", "vz") - launches(30, "vx", "vz") == 10 * 5
# Receivers can gather a field with sources only after the injection.
assert launches(40, "vx", "p") - launches(30, "vx", "p") == 10 * 6

for name in ("an earth each", "free surface, between nodes", "3-D"):
    columns_add(variant(name, equation))
for example in strips:
    strategies_agree(entry, example, "boundary")
strategies_agree(entry, case(equation), "float16")
known_rows_have_no_gradient(entry, case(equation))
known_rows_have_no_gradient(entry, case(equation), "ckpt-7", 2)
for example in examples:
    y = example.noise()
    assert record_error(entry.forward(example), reference_record(example)) < 1e-12
    assert record_error(entry.born(example), reference_born(example)) < 1e-12
    terms = [d * g for d, g in zip(example.direction(), entry.jacobian_transposed(example, y), strict=True)]
    gap = (reference_born(example) * y).sum() - sum(t.sum() for t in terms)
    assert abs(gap) < 1e-12 * sum(abs(t).sum() for t in terms)
"""


@pytest.mark.skipif(not COMPILER, reason="no C++ compiler")
@pytest.mark.skipif(not has("torch"), reason="needs torch, through which the library is called")
@pytest.mark.parametrize("equation", EQUATIONS)
def test_staggered_cuda_equals_the_reference(tmp_path, equation):
    environment = emulated_cuda(tmp_path / "cuda", equation)
    subprocess.run([sys.executable, "-c", SCRIPT, equation], check=True, env=environment)
