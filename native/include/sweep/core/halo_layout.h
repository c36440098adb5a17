// Memory layout of the cells of a grid, their ghost cells and the memory variables of the PML.
#ifndef SWEEP_CORE_HALO_LAYOUT_H
#define SWEEP_CORE_HALO_LAYOUT_H

#include "sweep/core/portable.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// An array of cells with half a stencil of ghost cells on both sides of every axis. Ghost cells are zero. No two rows
// share them, so a neighbour can fill those of one face (exchange) and touch nothing else. A vector may extend past the
// end of a row: it writes zeros into ghost cells, before an exchange fills them, and ends before the next row's first
// cell.
template <int NDIM>
struct HaloLayout {
  int n[NDIM];
  Offset stride[NDIM];
  Offset lead;      // offset of cell (0, ..., 0)
  ptrdiff_t total;  // elements of the array, a multiple of 16

  // The distance from a cell to the next along an axis; the compiler knows that of the last axis.
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

// The distance between two arrays is a whole number of pages plus 9 cache lines, because a cache maps addresses that
// are whole pages apart to the same set.
inline ptrdiff_t padded_size(ptrdiff_t total) { return total + (1024 + 144 - total % 1024) % 1024; }

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
  f.total = padded_size(round(round(lead) - lead + stride));
  return f;
}

// A cell of the grid with its offsets.
template <int NDIM>
struct Cell {
  int i[NDIM];
  int shift[NDIM];  // a grid index minus this is the index in the PML slab of that axis
  Offset at;        // offset in an array of the grid
};

// The region of an axis is where its PML acts: the PML cells and half a stencil more, into which d(psi) reaches. Memory
// variables of an axis lie in a slab that holds the low region, half a stencil of zeros, and the high region.
template <int NDIM>
struct Layout {
  HaloLayout<NDIM> field;
  HaloLayout<NDIM> slab[NDIM];
  int half;
  int face_low[NDIM], face_high[NDIM];  // a sweep_face each
  int pml_low[NDIM], pml_high[NDIM];
  int region_low[NDIM], region_high[NDIM];
  ptrdiff_t cells;
  int near;  // rows of the first axis, from a free surface down, that have their own stencils; 0 without a free surface

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
  // The offset of a cell in the slab of an axis.
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
