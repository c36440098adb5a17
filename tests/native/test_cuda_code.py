"""The code that nvcc generates for the kernels stays small: registers, instructions and loads per cell."""

import shutil

import pytest

from benchmarks import cuda_code

pytestmark = [
    pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc"),
    pytest.mark.skipif(not cuda_code.disassembler(), reason="no nvdisasm (pip install nvidia-cuda-nvdisasm)"),
]
AT_MOST = {
    ("acoustic 2-D order 4, interior", "forward"): (48, 90, 12),
    ("acoustic 2-D order 4, interior", "adjoint"): (48, 130, 14),
    ("acoustic 3-D order 8, interior", "forward"): (48, 150, 28),
    ("acoustic 3-D order 8, interior", "adjoint"): (48, 160, 30),
    ("acoustic 3-D order 8, mean of 80^3 + 20", "forward"): (64, 230, 46),
    ("acoustic 3-D order 8, mean of 80^3 + 20", "adjoint"): (64, 320, 52),
    ("what its PML remembers, a cell of the whole", "forward"): (64, 80, 12),
    ("elastic 3-D order 4, interior, both stages", "forward"): (72, 480, 84),
    ("elastic 3-D order 4, interior, both stages", "adjoint"): (72, 750, 136),
}
"""Upper bounds of registers, instructions and loads per cell in float32: nvcc 13 for sm_90, with a small margin."""


@pytest.fixture(scope="module")
def table():
    return cuda_code.table()


@pytest.mark.parametrize("row, operation", AT_MOST)
def test_a_cell_takes_few_instructions(table, row, operation):
    code, (registers, instructions, loads) = table[row, operation], AT_MOST[row, operation]
    assert code.registers <= registers
    assert 20 < code.instructions <= instructions
    assert 5 < code.loads <= loads


def test_no_kernel_spills_or_divides(table):
    assert {key: (code.spilled, code.calls) for key, code in table.items()} == dict.fromkeys(table, (0, 0))
