// Sets of cells: boxes, and the shell between two boxes.
#ifndef SWEEP_CORE_BOXES_H
#define SWEEP_CORE_BOXES_H

#include "sweep/core/halo_layout.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// The cells low .. high - 1 of each axis.
template <int NDIM>
struct Box {
  int low[NDIM], high[NDIM];

  SWEEP_HD bool contains(const int* i) const {
    bool inside = true;
    for (int a = 0; a < NDIM; ++a) inside &= i[a] >= low[a] && i[a] < high[a];
    return inside;
  }
  SWEEP_HD ptrdiff_t cells() const {
    ptrdiff_t count = 1;
    for (int a = 0; a < NDIM; ++a) count *= high[a] - low[a];
    return count;
  }
  // Writes to i the cell of a number, in C order.
  SWEEP_HD void cell(ptrdiff_t number, int* i) const {
    auto rest = static_cast<unsigned>(number);
    for (int a = NDIM - 1; a >= 0; --a) {
      const auto n = static_cast<unsigned>(high[a] - low[a]);
      i[a] = low[a] + static_cast<int>(rest % n);
      rest /= n;
    }
  }
  SWEEP_HD bool has_cells() const {
    bool all = true;
    for (int a = 0; a < NDIM; ++a) all &= low[a] < high[a];
    return all;
  }
};

template <int NDIM>
SWEEP_HD Box<NDIM> overlap(Box<NDIM> box, const Box<NDIM>& other) {
  for (int a = 0; a < NDIM; ++a) {
    if (box.low[a] < other.low[a]) box.low[a] = other.low[a];
    if (box.high[a] > other.high[a]) box.high[a] = other.high[a];
  }
  return box;
}

// The cells of a box that lie outside an inner box. Its parts are the cells before and behind the inner box, axis after
// axis, and its cells are numbered part after part.
template <int NDIM>
struct BoxShell {
  static constexpr int max_parts = 2 * NDIM;
  Box<NDIM> inner, part[max_parts];
  ptrdiff_t begin[max_parts + 1];

  BoxShell() = default;
  BoxShell(Box<NDIM> remainder, const Box<NDIM>& inside) : inner(inside) {
    begin[0] = 0;
    for (int a = 0; a < NDIM; ++a)
      for (int side = 0; side < 2; ++side) {
        const int p = 2 * a + side;
        part[p] = remainder;
        (side ? part[p].low[a] : part[p].high[a]) = side ? inside.high[a] : inside.low[a];
        (side ? remainder.high[a] : remainder.low[a]) = side ? inside.high[a] : inside.low[a];
        begin[p + 1] = begin[p] + part[p].cells();
      }
  }
  SWEEP_HD ptrdiff_t cells() const { return begin[max_parts]; }
  // Writes to i the cell of a number.
  SWEEP_HD void cell(ptrdiff_t number, int* i) const {
    int p = 0;
    while (number >= begin[p + 1]) ++p;
    part[p].cell(number - begin[p], i);
  }
  // Calls f(number, cell, count) for each row of the shell's cells in a box.
  template <class F>
  void rows(const Box<NDIM>& box, const F& f) const {
    for (int p = 0; p < max_parts; ++p) {
      const Box<NDIM> in = overlap(part[p], box);
      const int count = in.high[NDIM - 1] - in.low[NDIM - 1];
      if (count <= 0) continue;
      int i[NDIM];
      const auto row = [&] {
        i[NDIM - 1] = in.low[NDIM - 1];
        f(begin[p] + number_in(p, i), i, count);
      };
      if constexpr (NDIM == 1)
        row();
      else
        for (i[0] = in.low[0]; i[0] < in.high[0]; ++i[0]) {
          if constexpr (NDIM == 2)
            row();
          else
            for (i[1] = in.low[1]; i[1] < in.high[1]; ++i[1]) row();
        }
    }
  }

 private:
  ptrdiff_t number_in(int p, const int* i) const {
    ptrdiff_t number = 0;
    for (int a = 0; a < NDIM; ++a) number = number * (part[p].high[a] - part[p].low[a]) + i[a] - part[p].low[a];
    return number;
  }
};

template <int NDIM>
SWEEP_HD Box<NDIM> whole_grid(const Layout<NDIM>& layout) {
  Box<NDIM> box;
  for (int a = 0; a < NDIM; ++a) box.low[a] = 0, box.high[a] = layout.field.n[a];
  return box;
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
