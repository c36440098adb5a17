"""The memory layout of cells and ghost cells: native/include/sweep/core/halo_layout.h."""

import ctypes as c
import subprocess

import numpy as np
import pytest
from building import COMPILER, NATIVE
from hypothesis import given, settings
from hypothesis import strategies as st

SOURCE = """
#include "sweep/core/halo_layout.h"

template <int NDIM>
static ptrdiff_t frame(const int* n, int half, ptrdiff_t* place) {
  const auto f = sweep::halo_layout<NDIM>(n, half);
  for (int a = 0; a < NDIM; ++a) place[a] = f.stride[a];
  place[NDIM] = f.lead;
  return f.total;
}
extern "C" ptrdiff_t frame(int ndim, const int* n, int half, ptrdiff_t* place) {
  return ndim == 2 ? frame<2>(n, half, place) : frame<3>(n, half, place);
}
"""


@pytest.fixture(scope="module")
def frame(tmp_path_factory):
    """A function that returns (strides, offset of cell 0, number of elements) of a shape and half an order."""
    if not COMPILER:
        pytest.skip("no C++ compiler")
    library = tmp_path_factory.mktemp("layout") / "frame.so"
    flags = ["-std=c++17", "-shared", "-fPIC", f"-I{NATIVE / 'include'}", "-o", str(library), "-x", "c++", "-"]
    subprocess.run([COMPILER, *flags], input=SOURCE, text=True, check=True)
    compiled = c.CDLL(str(library)).frame
    compiled.restype = c.c_ssize_t

    def frame(shape, half):
        n, place = (c.c_int * len(shape))(*shape), (c.c_ssize_t * (len(shape) + 1))()
        total = compiled(len(shape), n, half, place)
        return place[:-1], place[-1], total

    return frame


@settings(deadline=None, max_examples=200, derandomize=True)
@given(shape=st.lists(st.integers(1, 40), min_size=2, max_size=3), half=st.integers(1, 32))
def test_no_two_rows_share_ghost_cells(frame, shape, half):
    half = min(half, 8) if len(shape) == 3 else half
    strides, lead, total = frame(shape, half)
    ghosts = np.ix_(*(np.arange(-half, n + half) for n in shape))
    at = (lead + sum(i * stride for i, stride in zip(ghosts, strides, strict=True))).ravel()
    assert len(np.unique(at)) == at.size
    assert at.min() >= 0 and at.max() < total


@settings(deadline=None, derandomize=True)
@given(shape=st.lists(st.integers(1, 400), min_size=2, max_size=3), half=st.integers(1, 32))
def test_rows_begin_with_whole_vectors(frame, shape, half):
    """A vector has 16 cells. The last one of a row may extend past its end, but not into the cells of the next row."""
    (*strides, one), lead, total = frame(shape, half)
    vectors = -(-shape[-1] // 16) * 16
    assert one == 1 and not lead % 16 and not any(stride % 16 for stride in strides)
    assert vectors <= strides[-1]
    last = lead + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=False))
    assert last + vectors <= total
    assert total % 1024 == 9 * 16, "consecutive arrays must lie whole pages plus 9 cache lines apart"
