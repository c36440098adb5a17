// Where the cells of a grid, their ghost cells and the memory variables of the PML lie in memory.
#ifndef SWEEP_CORE_HALO_LAYOUT_H
#define SWEEP_CORE_HALO_LAYOUT_H

#include "sweep/core/portable.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// An array of cells with half a stencil of ghost cells on both sides of every axis, which are zero. They are no other
// row's, so that a neighbour can fill those of a face (exchange) and touch nothing else. A vector that goes on past the
// end of a row writes zeros into ghost cells, before anybody fills them, and ends before the next row's first cell.
template <int NDIM>
struct HaloLayout {
  int n[NDIM];
  Offset stride[NDIM];
  Offset lead;      // of cell (0, ..., 0)
  ptrdiff_t total;  // elements in all, a multiple of 16

  // From a cell to the next along an axis; the compiler knows the last axis'.
  template <int A>
  SWEEP_HD Offset step() const {
    return A == NDIM - 1 ? 1 : stride[A];
  }
  SWEEP_HD Offset at(const int* i) const {
    Offset offset = lead;
    for (int a = 0; a < NDIM; ++a) offset += i[a] * stride[a];
    return offset;
  }
};

// From array to array it is 9 lines more than whole pages: a cache keeps what lies whole pages apart in one place.
inline ptrdiff_t apart(ptrdiff_t total) { return total + (1024 + 144 - total % 1024) % 1024; }

template <int NDIM>
HaloLayout<NDIM> halo_layout(const int* n, int half) {
  const auto round = [](ptrdiff_t count) { return (count + 15) / 16 * 16; };
  HaloLayout<NDIM> f;
  ptrdiff_t stride = 1, lead = 0;
  for (int a = NDIM - 1; a >= 0; --a) {
    f.n[a] = n[a];
    f.stride[a] = static_cast<Offset>(stride);
    lead += half * stride;
    stride *= n[a] + 2 * half;
    if (a == NDIM - 1) stride = round(stride);
  }
  f.lead = static_cast<Offset>(round(lead));
  f.total = apart(round(round(lead) - lead + stride));
  return f;
}

// A cell of the grid, and where to find it.
template <int NDIM>
struct Cell {
  int i[NDIM];
  int shift[NDIM];  // from a grid index to the index in the PML slab of that axis
  Offset at;        // in an array
};

// The region of an axis is where its PML acts: its cells and half a stencil more, into which d(psi) spills. Memory
// variables of an axis live in a slab that holds the low region, half a stencil of zeros, and the high one.
template <int NDIM>
struct Layout {
  HaloLayout<NDIM> field;
  HaloLayout<NDIM> slab[NDIM];
  int half;
  int face_low[NDIM], face_high[NDIM];  // a sweep_face each
  int pml_low[NDIM], pml_high[NDIM];
  int region_low[NDIM], region_high[NDIM];
  ptrdiff_t cells;
  int near;  // rows of the first axis whose differences are not as everywhere: those from a free surface down, or none

  SWEEP_HD ptrdiff_t dense_stride(int axis) const {
    ptrdiff_t stride = 1;
    for (int a = NDIM - 1; a > axis; --a) stride *= field.n[a];
    return stride;
  }
  // Bit `axis` of a mask is set where the PML of that axis acts.
  SWEEP_HD bool in_region(int axis, int i) const {
    return i < region_low[axis] || i >= field.n[axis] - region_high[axis];
  }
  SWEEP_HD int shift(int axis, int i) const {
    return i < region_low[axis] ? 0 : field.n[axis] - region_high[axis] - region_low[axis] - half;
  }
  SWEEP_HD bool holds(ptrdiff_t dense) const { return dense >= 0 && dense < cells; }
  // Where a cell lies in the slab of an axis.
  SWEEP_HD Offset in_slab(int a, const Cell<NDIM>& c) const;
  SWEEP_HD Cell<NDIM> cell(ptrdiff_t dense) const {
    auto rest = static_cast<unsigned>(dense);
    int i[NDIM];
    for (int a = NDIM - 1; a >= 0; --a) {
      const auto n = static_cast<unsigned>(field.n[a]);
      i[a] = static_cast<int>(rest % n);
      rest /= n;
    }
    return cell(i);
  }
  SWEEP_HD Cell<NDIM> cell(const int* i) const {
    Cell<NDIM> c;
    for (int a = 0; a < NDIM; ++a) {
      c.i[a] = i[a];
      c.shift[a] = shift(a, i[a]);
    }
    c.at = field.at(i);
    return c;
  }
};

template <int NDIM>
SWEEP_HD Offset Layout<NDIM>::in_slab(int a, const Cell<NDIM>& c) const {
  const HaloLayout<NDIM>& f = slab[a];
  Offset offset = f.lead - c.shift[a] * (a == NDIM - 1 ? 1 : f.stride[a]);
  for_axes<NDIM>([&](auto index) SWEEP_INLINE {
    constexpr int b = decltype(index)::value;
    offset += c.i[b] * f.template step<b>();
  });
  return offset;
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
