"""The CUDA path of further equations, emulated by loops: forward, Born and Jacobian equal the reference's."""

import subprocess
import sys
from pathlib import Path

import pytest
from building import COMPILER, emulated_cuda
from laws import has

SUPPORT = Path(__file__).parents[1] / "support"
EQUATIONS = ("acoustic_born", "acoustic_vti", "acoustic_vti_second_order", "elastic_vti", "viscoacoustic")
SCRIPT = f"""
import sys
sys.path[:0] = [{str(SUPPORT)!r}]
from laws import TABLE, case, record_error, reference_born, reference_record, variant
from sweep_core import equations

(entry,) = [e for e in TABLE if e.name == "torch-c"]
equation = equations()[sys.argv[1]]
three = case(equation, shape=(11, 12, 13), pml=(5, 4, 7, 6, 4, 5), nt=30)
surface = variant("free surface", equation)
for example in (case(equation, 4), case(equation, 8).remembering("ckpt-7"), three.remembering("ckpt-7"), surface):
    assert record_error(entry.forward(example), reference_record(example)) < 1e-12
    assert record_error(entry.born(example), reference_born(example)) < 1e-12
    y = example.noise()
    terms = [d * g for d, g in zip(example.direction(), entry.jacobian_transposed(example, y), strict=True)]
    gap = (reference_born(example) * y).sum() - sum(t.sum() for t in terms)
    assert abs(gap) < 1e-12 * sum(abs(t).sum() for t in terms)
"""


@pytest.mark.slow
@pytest.mark.skipif(not COMPILER, reason="no C++ compiler")
@pytest.mark.skipif(not has("torch"), reason="needs torch, through which the library is called")
@pytest.mark.parametrize("equation", EQUATIONS)
def test_emulated_cuda_equals_the_reference(tmp_path, equation):
    environment = emulated_cuda(tmp_path / "cuda", equation) | {"CXX": "no-other-library"}
    subprocess.run([sys.executable, "-c", SCRIPT, equation], check=True, env=environment)
