// A vector of as many numbers as a register of this build holds, and loops over rows of cells in such vectors.
#ifndef SWEEP_CPU_SIMD_H
#define SWEEP_CPU_SIMD_H

#if defined(__AVX__)
#include <immintrin.h>
#endif

#include "sweep/equation.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

#if defined(__AVX512F__)
constexpr int simd_bytes = 64;
#elif defined(__AVX__)
constexpr int simd_bytes = 32;
#else
constexpr int simd_bytes = 16;
#endif

// Makes streamed stores, which bypass the caches, visible to every thread.
inline void fence_streams() {
#if defined(__AVX__)
  _mm_sfence();
#endif
}

template <class T>
struct Simd {
  typedef T Vector __attribute__((vector_size(simd_bytes)));
  typedef T Loose __attribute__((vector_size(simd_bytes), aligned(sizeof(T))));
  static constexpr int size = simd_bytes / sizeof(T);
  Vector v;

  SWEEP_HD Simd() {}
  SWEEP_HD Simd(Vector value) : v(value) {}
  SWEEP_HD static Simd broadcast(T value) { return Simd(value - Vector{}); }
  SWEEP_HD static Simd load(const T* from) { return Simd(static_cast<Vector>(*reinterpret_cast<const Loose*>(from))); }
  SWEEP_HD void store(T* to) const { *reinterpret_cast<Loose*>(to) = v; }
  // Stores past the caches if the address is aligned: for values that are read much later, or never.
  SWEEP_HD void stream(T* to) const {
    if (reinterpret_cast<uintptr_t>(to) % simd_bytes) return store(to);
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), (__m512i)v);
#elif defined(__AVX__)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)v);
#else
    store(to);
#endif
  }
  SWEEP_HD static void prefetch(const T* from) { __builtin_prefetch(from); }
  SWEEP_HD Simd operator-() const { return Simd(-v); }
  SWEEP_HD friend Simd operator+(Simd a, Simd b) { return Simd(a.v + b.v); }
  SWEEP_HD friend Simd operator-(Simd a, Simd b) { return Simd(a.v - b.v); }
  SWEEP_HD friend Simd operator*(Simd a, Simd b) { return Simd(a.v * b.v); }
  SWEEP_HD friend Simd operator*(T a, Simd b) { return Simd(a * b.v); }
  SWEEP_HD friend Simd operator/(Simd a, Simd b) { return Simd(a.v / b.v); }
};

// A row of cells: its index along each axis before the last. It is passed in registers. A Cell would be written to
// memory number by number and read back as a whole, which stalls the processor.
template <int NDIM>
struct Row {
  int at[NDIM > 1 ? NDIM - 1 : 1];
};

// Computes cells low .. high - 1 of a row, all in the same PMLs; `shift` is that of the last axis.
template <class F, class View, int NDIM, class Where>
SWEEP_HD void simd_cells(const View& v, Row<NDIM> row, int shift, int low, int high, Where where) {
  constexpr int last = NDIM - 1;
  int i[NDIM] = {};
  for (int a = 0; a < last; ++a) i[a] = row.at[a];
  Cell<NDIM> c = v.layout.cell(i);
  c.shift[last] = shift;
  const ptrdiff_t begin = c.at;
  using Value = typename F::Value;
  int x = low;
  for (; F::is_interior ? x + Simd<Value>::size <= high : x < high; x += Simd<Value>::size) {
    c.i[last] = x;
    c.at = begin + x;
    // In three dimensions the compiler would keep pointers to some forty rows on the stack and advance each. The empty
    // asm makes it add offsets instead.
    if constexpr (NDIM == 3) asm("" : "+r"(c.at));
    F::template cell<Simd<Value>>(v, c, where);
  }
  if constexpr (F::is_interior) SWEEP_ROLLED for (; x < high; ++x) {
      c.i[last] = x;
      c.at = begin + x;
      F::template cell<Value>(v, c, where);
    }
}

// Computes the same cells of consecutive rows. No store can change the local copy of the view, so it stays in
// registers.
template <class F, class View, int NDIM, class Where>
SWEEP_APART void simd_cells_apart(const View& view, Row<NDIM> row, int rows, int shift, int low, int high,
                                  Where where) {
  const View v = view;
  for (; rows > 0; --rows, ++row.at[NDIM - 2]) {
    // Otherwise some forty pointers would be advanced from row to row, for much code and little time saved.
    asm("" : "+r"(row.at[NDIM - 2]));
    simd_cells<F>(v, row, shift, low, high, where);
  }
}

// Computes cells x[0] .. x[3] - 1 of some rows; those from x[1] to x[2] - 1 lie between the PMLs of the last axis.
// Loops over cells with little work (second order in three dimensions) share one copy of the view. Other loops are
// functions of their own, each with all registers.
template <class F, class View, int NDIM, class Beside, class Inside>
SWEEP_APART void simd_rows(const View& view, Row<NDIM> row, int rows, const int (&x)[4], bool middle, Beside beside,
                           Inside within) {
  constexpr int last = NDIM - 1;
  const auto each = [&](const auto& part) SWEEP_INLINE {
    for (int p = 0; p < 3; ++p) {
      if (p != 1)
        part(p ? view.layout.shift(last, view.layout.field.n[last] - 1) : 0, x[p], x[p + 1], within);
      else if (middle)
        part(0, x[1], x[2], beside);
    }
  };
  if constexpr (NDIM == 3 && decltype(F::run)::Equation::is_second_order) {
    const View v = view;
    for (; rows > 0; --rows, ++row.at[last - 1])
      each([&](int shift, int low, int high, auto where)
               SWEEP_INLINE { simd_cells<F>(v, row, shift, low, high, where); });
  } else {
    each([&](int shift, int low, int high, auto where) SWEEP_INLINE {
      if (low < high) simd_cells_apart<F>(view, row, rows, shift, low, high, where);
    });
  }
}

// Calls f(Within<mask>) if the mask is one of the first COUNT, which the compiler then knows; otherwise g().
template <unsigned COUNT, unsigned MASK = 0, class F, class G>
void with_mask(unsigned mask, const F& f, const G& g) {
  if constexpr (MASK == COUNT)
    g();
  else if (mask == MASK)
    f(Within<MASK>{});
  else
    with_mask<COUNT, MASK + 1>(mask, f, g);
}

// Computes the cells of a box (in three dimensions, of one plane), with rows rounded up to whole vectors: coefficients
// and profiles are zero there. Rows in the same PMLs are computed together, with loops of their own for the first sets
// of axes. Memory variables psi are updated axis by axis. Without the `middle`, cells between the PMLs of the last axis
// are left out. In three dimensions a row with a PML of the last axis is computed from its begin to its end before the
// next row, in the order of memory. Another order takes up to twice the time: docs/benchmarks/log.md.
template <class F, class View, int NDIM>
void simd_box(const View& view, const Box<NDIM>& box, bool middle = true) {
  constexpr int last = NDIM - 1, across = last - 1;
  constexpr unsigned end = 1u << last;
  const auto& layout = view.layout;
  // The end of the low PML of an axis, and the begin of the high one.
  const auto beside = [&](int a) { return layout.region_low[a]; };
  const auto beyond = [&](int a) { return layout.field.n[a] - layout.region_high[a]; };
  const auto within = [&](int i) {
    return i < box.low[last] ? box.low[last] : i > box.high[last] ? box.high[last] : i;
  };
  const int x[] = {box.low[last], within(beside(last)), within(beyond(last)), box.high[last]};
  const bool row_by_row = NDIM == 3 && !decltype(F::run)::Equation::is_second_order && (x[0] < x[1] || x[2] < x[3]);
  const auto rows = [&](int from, int to) {
    Row<NDIM> first;
    first.at[0] = box.low[0];
    first.at[across] = from;
    int at[NDIM] = {box.low[0]};
    at[across] = from;
    const unsigned mask = somewhere(layout, at).mask & ~end;
    const auto compute = [&](auto middle_where, auto pml_where) {
      simd_rows<F>(view, first, to - from, x, middle, middle_where, pml_where);
    };
    if constexpr (F::is_pml_update) {
      if (x[0] < x[1] || x[2] < x[3]) compute(Within<0>{}, Within<end>{});
      for_axes<last>([&](auto index) {
        constexpr Within<1u << decltype(index)::value> axis{};
        if (mask & axis.mask) compute(axis, axis);
      });
    } else if constexpr (F::is_interior) {
      constexpr Somewhere<NDIM> surface{1u << NDIM};
      if (mask & surface.mask)
        compute(surface, surface);
      else
        compute(Within<0>{}, Within<0>{});
    } else {
      with_mask<F::known_masks>(
          mask, [&](auto known) { compute(known, Within<decltype(known)::mask | end>{}); },
          [&] { compute(Somewhere<NDIM>{mask}, Somewhere<NDIM>{mask | end}); });
    }
  };
  const int borders[] = {across ? 0 : layout.near, beside(across), beyond(across)};
  for (int from = box.low[across], to; from < box.high[across]; from = to) {
    to = box.high[across];
    for (const int border : borders)
      if (border > from && border < to) to = border;
    if (row_by_row) to = from + 1;
    rows(from, to);
  }
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
