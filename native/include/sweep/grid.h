// The host/device vocabulary of an equation's header: where a cell lies, what a step sees, how to differentiate.
#ifndef SWEEP_GRID_H
#define SWEEP_GRID_H

#include "sweep/sweep.h"

#if defined(__CUDACC__)
#define SWEEP_HD __host__ __device__ __forceinline__
#define SWEEP_INLINE
#else
#define SWEEP_HD inline __attribute__((always_inline))
#define SWEEP_INLINE __attribute__((always_inline))  // of a lambda
#endif
// A loop that would only become much code.
#if defined(__CUDA_ARCH__)
#define SWEEP_ROLLED _Pragma("unroll 1")
#else
#define SWEEP_ROLLED
#endif
// Compiled once, whoever calls it.
#if defined(__clang__)
#define SWEEP_APART __attribute__((noinline))
#else
#define SWEEP_APART __attribute__((noinline, noclone))
#endif
#if defined(__CUDACC__)
#define SWEEP_HD_APART __host__ __device__ __noinline__
#else
#define SWEEP_HD_APART SWEEP_APART
#endif

// Each build for another instruction set lives in a namespace of its own, or the linker would merge them.
#ifndef SWEEP_VARIANT
#define SWEEP_VARIANT portable
#endif

namespace sweep {
inline namespace SWEEP_VARIANT {

// Of a cell in an array; a GPU counts in 32 bits at half the price, and advances all shots together.
#if defined(__CUDACC__) || defined(SWEEP_EMULATE)
using Offset = int;
constexpr bool together = true;
#else
using Offset = ptrdiff_t;
constexpr bool together = false;
#endif

template <int N>
struct Index {
  static constexpr int value = N;
};

// f(Index<0>), ..., f(Index<NDIM - 1>): a loop over axes that the compiler sees as constants.
template <int NDIM, int A = 0, class F>
SWEEP_HD void for_axes(const F& f) {
  if constexpr (A < NDIM) {
    f(Index<A>{});
    for_axes<NDIM, A + 1>(f);
  }
}

// An array of cells with half a stencil of ghost cells on both sides of every axis, which are zero. They are no other
// row's, so that a neighbour can fill those of a face (exchange) and touch nothing else. A vector that goes on past the
// end of a row writes zeros into ghost cells, before anybody fills them, and ends before the next row's first cell.
template <int NDIM>
struct Ghosted {
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
Ghosted<NDIM> ghosted(const int* n, int half) {
  const auto round = [](ptrdiff_t count) { return (count + 15) / 16 * 16; };
  Ghosted<NDIM> f;
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
  Ghosted<NDIM> field;
  Ghosted<NDIM> slab[NDIM];
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
  const Ghosted<NDIM>& f = slab[a];
  Offset offset = f.lead - c.shift[a] * (a == NDIM - 1 ? 1 : f.stride[a]);
  for_axes<NDIM>([&](auto index) SWEEP_INLINE {
    constexpr int b = decltype(index)::value;
    offset += c.i[b] * f.template step<b>();
  });
  return offset;
}

// What a history has of each array: all but its first planes.
template <int NDIM>
struct Held {
  int from;                           // the first plane of the first axis
  ptrdiff_t before, field;            // elements of a field before that plane, and from one held field to the next
  ptrdiff_t memory, memory_at[NDIM];  // from a memory variable of all axes to the next, and where an axis begins

  Held() = default;
  Held(const Layout<NDIM>& layout, int first) : from(first) {
    before = first * static_cast<ptrdiff_t>(layout.field.stride[0]);
    field = apart(layout.field.total - before);
    memory = 0;
    for (int a = 0; a < NDIM; ++a) {
      const int planes = a || first < layout.region_low[0] ? first : layout.region_low[0];
      const ptrdiff_t lacking = planes * static_cast<ptrdiff_t>(layout.slab[a].stride[0]);
      memory_at[a] = memory - lacking;
      memory += apart(layout.slab[a].total - lacking);
    }
  }
};

// Cells low .. high - 1 of each axis.
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
  // The cell of a number, in C order.
  SWEEP_HD void cell(ptrdiff_t number, int* i) const {
    auto rest = static_cast<unsigned>(number);
    for (int a = NDIM - 1; a >= 0; --a) {
      const auto n = static_cast<unsigned>(high[a] - low[a]);
      i[a] = low[a] + static_cast<int>(rest % n);
      rest /= n;
    }
  }
  SWEEP_HD bool any() const {
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

// The cells of a box that do not lie in one inside it: those before and behind it along each axis in turn, numbered one
// after the other.
template <int NDIM>
struct Rind {
  static constexpr int most = 2 * NDIM;
  Box<NDIM> inner, part[most];
  ptrdiff_t begin[most + 1];

  Rind() = default;
  Rind(Box<NDIM> left, const Box<NDIM>& inside) : inner(inside) {
    begin[0] = 0;
    for (int a = 0; a < NDIM; ++a)
      for (int side = 0; side < 2; ++side) {
        const int p = 2 * a + side;
        part[p] = left;
        (side ? part[p].low[a] : part[p].high[a]) = side ? inside.high[a] : inside.low[a];
        (side ? left.high[a] : left.low[a]) = side ? inside.high[a] : inside.low[a];
        begin[p + 1] = begin[p] + part[p].cells();
      }
  }
  SWEEP_HD ptrdiff_t cells() const { return begin[most]; }
  // The cell of a number.
  SWEEP_HD void cell(ptrdiff_t number, int* i) const {
    int p = 0;
    while (number >= begin[p + 1]) ++p;
    part[p].cell(number - begin[p], i);
  }
  // f(number, cell, count) for each row of its cells in a box.
  template <class F>
  void rows(const Box<NDIM>& box, const F& f) const {
    for (int p = 0; p < most; ++p) {
      const Box<NDIM> in = overlap(part[p], box);
      const int count = in.high[NDIM - 1] - in.low[NDIM - 1];
      if (count <= 0) continue;
      int i[NDIM];
      const auto row = [&] {
        i[NDIM - 1] = in.low[NDIM - 1];
        f(begin[p] + number_in(p, i), i, count);
      };
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
SWEEP_HD Box<NDIM> whole(const Layout<NDIM>& layout) {
  Box<NDIM> box;
  for (int a = 0; a < NDIM; ++a) box.low[a] = 0, box.high[a] = layout.field.n[a];
  return box;
}

// Stencil weights: HALF of them known to the compiler, or any number read at run time (HALF = 0), where they are kept.
template <class T, int HALF>
struct Taps {
  T w[HALF];
  void take(const double* from, const T*, int) {
    for (int k = 0; k < HALF; ++k) w[k] = static_cast<T>(from[k]);
  }
  // w_1 term(1) + w_2 term(2) + ..., where a term may be a vector.
  template <class V, int K = 0, class F>
  SWEEP_HD V over(const F& term) const {
    if constexpr (K + 1 < HALF)
      return over_more<V, K + 1>(w[K] * term(K + 1), term);
    else
      return w[K] * term(K + 1);
  }

 private:
  template <class V, int K, class F>
  SWEEP_HD V over_more(V begin, const F& term) const {
    if constexpr (K < HALF)
      return over_more<V, K + 1>(begin + w[K] * term(K + 1), term);
    else
      return begin;
  }
};
template <class T>
struct Taps<T, 0> {
  const T* w;
  int count;
  void take(const double*, const T* kept, int half) { w = kept, count = half; }
  template <class V, class F>
  SWEEP_HD V over(const F& term) const {
    V sum = w[0] * term(1);
    SWEEP_ROLLED for (int k = 1; k < count; ++k) sum = sum + w[k] * term(k + 1);
    return sum;
  }
};

// Those of D, D1, D2 and MEAN along all axes.
template <class T, int NDIM, int HALF>
struct Stencils {
  Taps<T, HALF> taps[4][NDIM];
  T centre[NDIM];  // of D2

  // As a sweep_problem states them; `kept` holds the same one axis after the other.
  void take(const double (*weights)[SWEEP_MAX_WEIGHTS], const T* kept, int half) {
    const int begin[] = {0, half, 2 * half + 1, 3 * half + 1};
    for (int a = 0; a < NDIM; ++a, kept += 4 * half + 1) {
      for (int of = 0; of < 4; ++of) taps[of][a].take(weights[a] + begin[of], kept + begin[of], half);
      centre[a] = static_cast<T>(weights[a][2 * half]);
    }
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
