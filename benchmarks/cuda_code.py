"""``python -m benchmarks.cuda_code``: the cost of a cell on a GPU, from its machine code. No GPU is needed.

nvcc compiles some kernels, nvdisasm (the package nvidia-cuda-nvdisasm) lists their instructions. A thread computes
several cells one after the other; the cost of a cell is the loop over these cells and a share of the code before it.
Here the compiler knows in which PMLs a cell lies. The library learns this at run time, for some ten instructions more.
"""

import argparse
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from itertools import product
from math import prod
from pathlib import Path

import attrs

from sweep_core import Acoustic, Elastic
from sweep_core.native.codegen import write_headers

NATIVE = Path(__file__).parents[1] / "native"
DEEP = 8
"""Cells per thread where there are many."""
SOURCE = """
#define SWEEP_VARIANT cuda
#include "cuda/device.cuh"
#include "sweep/physics/acoustic.h"
#include "sweep/physics/elastic.h"
namespace sweep {{
inline namespace SWEEP_VARIANT {{
template <class Physics, int NDIM, int HALF>
using Float = KernelContext<Equation<Physics, float, NDIM, HALF>, float, NDIM, HALF>;
{kernels}
}}  // namespace SWEEP_VARIANT
}}  // namespace sweep
"""
KERNEL = """
using Cells{number} = InPml<{step}<Float<{equation}::Physics, {ndim}, {half}>, {stage}>, {mask}u>;
extern "C" __global__ void __launch_bounds__(block)
    kernel{number}(const __grid_constant__ Cells{number} body, const __grid_constant__ Blocks<{ndim}> blocks) {{
  cell_of(body, blocks, blockIdx.x, threadIdx.x);
}}
"""


@attrs.frozen
class Kernel:
    """The kernel of a stage of forward, adjoint or Born runs, for cells in the PML of the axes whose bits are set."""

    equation: str
    ndim: int
    order: int
    step: str
    stage: int
    mask: int = 0

    def source(self, number: int) -> str:
        return KERNEL.format(number=number, half=self.order // 2, **attrs.asdict(self))


@attrs.frozen
class Code:
    """The cost of one kernel.

    Per thread: registers, and bytes that it spills or keeps on a stack. Per cell: instructions, loads among them, and
    function calls (a division is one).
    """

    registers: int
    spilled: int
    instructions: float
    loads: float
    calls: int


def disassembler() -> str | None:
    """Return the path of nvdisasm, or None."""
    binaries = Path(sysconfig.get_path("purelib")).glob("nvidia/*/bin/nvdisasm")
    return shutil.which("nvdisasm") or next(map(str, binaries), None)


def measure(kernels: list[Kernel], arch: str = "sm_90") -> dict[Kernel, Code]:
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "kernels.cu"), Path(folder, "kernels.cubin")
        source.write_text(SOURCE.format(kernels="".join(k.source(i) for i, k in enumerate(kernels))))
        command = ["nvcc", "-std=c++17", "-O3", "--expt-relaxed-constexpr", f"-arch={arch}", "-cubin", "-Xptxas=-v"]
        write_headers(Path(folder), [Acoustic(), Elastic()])
        folders = [f"-I{folder}", *(f"-I{NATIVE / name}" for name in ("include", "src"))]
        report = _run(*command, *folders, str(source), "-o", str(cubin))
        listing = _run(disassembler(), "-c", str(cubin))
    return {kernel: _code(f"kernel{i}", report, listing) for i, kernel in enumerate(kernels)}


def _run(*command: str) -> str:
    process = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if process.returncode:
        raise RuntimeError(f"{command[0]}: {process.stdout}")
    return process.stdout


def _code(name: str, report: str, listing: str) -> Code:
    report = report.split(f"Function properties for {name}\n")[1]
    frame = [int(n) for n in re.findall(r"(\d+) bytes", report.split("\n")[0])]
    registers = re.search(r"Used (\d+) registers", report)
    body = re.split(r"^\s*\.section\s", listing.split(f".section\t.text.{name},")[1], maxsplit=1, flags=re.M)[0]
    instructions, labels = [], {}
    for line in body.splitlines():
        if label := re.match(r"(\.L_x_\d+):", line):
            labels[label[1]] = len(instructions)
        elif match := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?\w+\s+)?([A-Z0-9_.]+)(.*)", line):
            instructions.append(match.groups())
    weight = [float(name != "NOP") / DEEP for name, _ in instructions]
    jumps = [
        (labels[target[0]], i) for i, (_, rest) in enumerate(instructions) if (target := re.search(r"\.L_x_\d+", rest))
    ]
    loops = [(begin, end) for begin, end in jumps if begin < end]
    if len(loops) != 1:
        raise RuntimeError(f"{name} has {len(loops)} loops; expected that over the cells of a thread")
    for i in range(loops[0][0], loops[0][1] + 1):
        weight[i] *= DEEP

    def count(*names):
        return sum(w for w, (name, _) in zip(weight, instructions, strict=True) if name.startswith(names))

    calls = sum(name.startswith("CALL") for name, _ in instructions)
    return Code(int(registers[1]), sum(frame), count(""), count("LDG", "LD."), calls)


def interior(equation: str, ndim: int, order: int, step: str) -> list[Kernel]:
    """Return the kernels of a cell outside the PML, where stage 0 of a second-order equation does nothing."""
    return [Kernel(equation, ndim, order, step, s) for s in ((1,) if equation == "acoustic" else (0, 1))]


def everywhere(step: str, cells: int = 80, pml: int = 20, order: int = 8) -> dict[Kernel, float]:
    """Return the kernels of an acoustic cube with a PML, each with its share of the cells."""
    half, n = order // 2, cells + 2 * pml
    low, high = pml + half, pml + half + 1
    rim = [(low + high) / n] * 2 + [(-(-low // 8) * 8 + -(-high // 8) * 8) / n]
    shares = {}
    for inside in product((0, 1), repeat=3):
        mask = sum(bit << axis for axis, bit in enumerate(inside))
        shares[Kernel("acoustic", 3, order, step, 1, mask)] = prod(
            r if bit else 1 - r for r, bit in zip(rim, inside, strict=True)
        )
    return shares


def remembered(step: str, cells: int = 80, pml: int = 20, order: int = 8) -> dict[Kernel, float]:
    """Return the kernels of the memory variables of that PML, an axis at a time, each with its share of the cells."""
    return {Kernel("acoustic", 3, order, step, 0, 1 << axis): 2 * pml / (cells + 2 * pml) for axis in range(3)}


ROWS = {
    "acoustic 2-D order 4, interior": lambda step: dict.fromkeys(interior("acoustic", 2, 4, step), 1.0),
    "acoustic 3-D order 8, interior": lambda step: dict.fromkeys(interior("acoustic", 3, 8, step), 1.0),
    "acoustic 3-D order 8, mean of 80^3 + 20": everywhere,
    "what its PML remembers, a cell of the whole": remembered,
    "elastic 3-D order 4, interior, both stages": lambda step: dict.fromkeys(interior("elastic", 3, 4, step), 1.0),
}
STEPS = {"forward": "ForwardCells", "adjoint": "AdjointCells", "Born": "BornCells"}


def table(arch: str = "sm_90") -> dict[tuple[str, str], Code]:
    """Return the cost of a cell of each row, by (row, operation)."""
    rows = {(row, what): shares(step) for row, shares in ROWS.items() for what, step in STEPS.items()}
    codes = measure(list(dict.fromkeys(kernel for shares in rows.values() for kernel in shares)), arch)

    def total(shares):
        def mean(what):
            return sum(share * getattr(codes[kernel], what) for kernel, share in shares.items())

        def most(what):
            return max(getattr(codes[kernel], what) for kernel in shares)

        return Code(most("registers"), most("spilled"), mean("instructions"), mean("loads"), most("calls"))

    return {key: total(shares) for key, shares in rows.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", default="sm_90", help="GPU architecture as nvcc names it (sm_90)")
    arch = parser.parse_args().arch
    if not shutil.which("nvcc") or not disassembler():
        sys.exit("nvcc and nvdisasm are needed: a CUDA toolkit, and pip install nvidia-cuda-nvdisasm")
    print("| float32 | operation | registers | instructions | loads | bytes spilled | calls |")
    print("|---|---|---|---|---|---|---|")
    for (row, what), code in table(arch).items():
        figures = code.registers, round(code.instructions), round(code.loads), code.spilled, code.calls
        print(f"| {row} | {what} |", *(f"{x} |" for x in figures))


if __name__ == "__main__":
    main()
