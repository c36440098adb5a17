// As many numbers as a vector register of this build holds, and a row of cells in such steps.
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

// What was streamed past the caches is there for every thread.
inline void settle() {
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
  SWEEP_HD static Simd every(T value) { return Simd(value - Vector{}); }
  SWEEP_HD static Simd load(const T* from) { return Simd(static_cast<Vector>(*reinterpret_cast<const Loose*>(from))); }
  SWEEP_HD void store(T* to) const { *reinterpret_cast<Loose*>(to) = v; }
  // Past the caches, where whole vectors lie in line with the registers: for what is read much later, or never.
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

// A row of cells, by its place along the axes before the last. It is handed on in registers: a cell, written to memory
// number by number and read as a whole at once, would be waited for.
template <int NDIM>
struct Row {
  int at[NDIM - 1];
};

// Cells low .. high - 1 of a row that lie in the same PMLs; `shift` is that of the last axis.
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
  for (; F::inner ? x + Simd<Value>::size <= high : x < high; x += Simd<Value>::size) {
    c.i[last] = x;
    c.at = begin + x;
    // In space a pointer for each of some forty rows would be kept on the stack: let the compiler add, not step them.
    if constexpr (NDIM == 3) asm("" : "+r"(c.at));
    F::template cell<Simd<Value>>(v, c, where);
  }
  if constexpr (F::inner) SWEEP_ROLLED for (; x < high; ++x) {
      c.i[last] = x;
      c.at = begin + x;
      F::template cell<Value>(v, c, where);
    }
}

// The same of rows that follow each other. A copy of the view, which no store can change, stays in registers.
template <class F, class View, int NDIM, class Where>
SWEEP_APART void simd_cells_apart(const View& view, Row<NDIM> row, int rows, int shift, int low, int high,
                                  Where where) {
  const View v = view;
  for (; rows > 0; --rows, ++row.at[NDIM - 2]) {
    // Some forty pointers would be stepped from row to row: more code than it saves time.
    asm("" : "+r"(row.at[NDIM - 2]));
    simd_cells<F>(v, row, shift, low, high, where);
  }
}

// Rows of cells x[0] .. x[3] - 1, from x[1] to x[2] beside the PML of the last axis. In space loops over small cells
// share one copy of the view, of others each has its registers for itself.
template <class F, class View, int NDIM, class Beside, class Inside>
SWEEP_APART void simd_rows(const View& view, Row<NDIM> row, int rows, const int (&x)[4], bool middle, Beside beside,
                           Inside within) {
  constexpr int last = NDIM - 1;
  const auto each = [&](const auto& part) SWEEP_INLINE {
    for (int side = 0; side < 2; ++side)
      part(side ? view.layout.shift(last, view.layout.field.n[last] - 1) : 0, x[2 * side], x[2 * side + 1], within);
    if (middle) part(0, x[1], x[2], beside);
  };
  if constexpr (NDIM == 3 && decltype(F::run)::Equation::second) {
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

// f(Within<mask>) where the mask is one of the first COUNT, which the compiler then knows; otherwise g().
template <unsigned COUNT, unsigned MASK = 0, class F, class G>
void with_mask(unsigned mask, const F& f, const G& g) {
  if constexpr (MASK == COUNT)
    g();
  else if (mask == MASK)
    f(Within<MASK>{});
  else
    with_mask<COUNT, MASK + 1>(mask, f, g);
}

// Cells of a box, in space of one plane, and what rounds rows up to whole vectors: there coefficients and profiles are
// zero. Rows that lie in the same PMLs are computed together, in loops that know it for the first sets of axes. What
// the PML remembers is made axis by axis. Without the `middle`, cells beside the PML of the last axis are left out.
template <class F, class View, int NDIM>
void simd_box(const View& view, const Box<NDIM>& box, bool middle = true) {
  constexpr int last = NDIM - 1, across = last - 1;
  constexpr unsigned end = 1u << last;
  const auto& layout = view.layout;
  // Where the low PML of an axis ends, and where the high one begins.
  const auto beside = [&](int a) { return layout.region_low[a]; };
  const auto beyond = [&](int a) { return layout.field.n[a] - layout.region_high[a]; };
  const auto within = [&](int i) {
    return i < box.low[last] ? box.low[last] : i > box.high[last] ? box.high[last] : i;
  };
  const int x[] = {box.low[last], within(beside(last)), within(beyond(last)), box.high[last]};
  const auto rows = [&](int from, int to) {
    Row<NDIM> first;
    first.at[0] = box.low[0];
    first.at[across] = from;
    int at[NDIM] = {box.low[0]};
    at[across] = from;
    const unsigned mask = somewhere(layout, at).mask & ~end;
    const auto make = [&](auto apart, auto inside) { simd_rows<F>(view, first, to - from, x, middle, apart, inside); };
    if constexpr (F::slabs) {
      if (x[0] < x[1] || x[2] < x[3]) make(Within<0>{}, Within<end>{});
      for_axes<last>([&](auto index) {
        constexpr Within<1u << decltype(index)::value> axis{};
        if (mask & axis.mask) make(axis, axis);
      });
    } else if constexpr (F::inner) {
      constexpr Somewhere<NDIM> surface{1u << NDIM};
      if (mask & surface.mask)
        make(surface, surface);
      else
        make(Within<0>{}, Within<0>{});
    } else {
      with_mask<F::known_masks>(
          mask, [&](auto known) { make(known, Within<decltype(known)::mask | end>{}); },
          [&] { make(Somewhere<NDIM>{mask}, Somewhere<NDIM>{mask | end}); });
    }
  };
  const int borders[] = {across ? 0 : layout.near, beside(across), beyond(across)};
  for (int from = box.low[across], to; from < box.high[across]; from = to) {
    to = box.high[across];
    for (const int border : borders)
      if (border > from && border < to) to = border;
    rows(from, to);
  }
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
