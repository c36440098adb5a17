// As many numbers as a vector register of this build holds, and a row of cells in such steps.
#ifndef SWEEP_CPU_PACK_H
#define SWEEP_CPU_PACK_H

#if defined(__AVX__)
#include <immintrin.h>
#endif

#include "sweep/equation.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

#if defined(__AVX512F__)
constexpr int pack_bytes = 64;
#elif defined(__AVX__)
constexpr int pack_bytes = 32;
#else
constexpr int pack_bytes = 16;
#endif

// What was streamed past the caches is there for every thread.
inline void settle() {
#if defined(__AVX__)
  _mm_sfence();
#endif
}

template <class T>
struct Pack {
  typedef T Vector __attribute__((vector_size(pack_bytes)));
  typedef T Loose __attribute__((vector_size(pack_bytes), aligned(sizeof(T))));
  static constexpr int size = pack_bytes / sizeof(T);
  Vector v;

  SWEEP_HD Pack() {}
  SWEEP_HD Pack(Vector value) : v(value) {}
  SWEEP_HD static Pack every(T value) { return Pack(value - Vector{}); }
  SWEEP_HD static Pack load(const T* from) { return Pack(static_cast<Vector>(*reinterpret_cast<const Loose*>(from))); }
  SWEEP_HD void store(T* to) const { *reinterpret_cast<Loose*>(to) = v; }
  // Past the caches, where whole vectors lie in line with the registers: for what is read much later, or never.
  SWEEP_HD void stream(T* to) const {
    if (reinterpret_cast<uintptr_t>(to) % pack_bytes) return store(to);
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), (__m512i)v);
#elif defined(__AVX__)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)v);
#else
    store(to);
#endif
  }
  SWEEP_HD static void fetch(const T* from) { __builtin_prefetch(from); }
  SWEEP_HD Pack operator-() const { return Pack(-v); }
  SWEEP_HD friend Pack operator+(Pack a, Pack b) { return Pack(a.v + b.v); }
  SWEEP_HD friend Pack operator-(Pack a, Pack b) { return Pack(a.v - b.v); }
  SWEEP_HD friend Pack operator*(Pack a, Pack b) { return Pack(a.v * b.v); }
  SWEEP_HD friend Pack operator*(T a, Pack b) { return Pack(a * b.v); }
  SWEEP_HD friend Pack operator/(Pack a, Pack b) { return Pack(a.v / b.v); }
};

// Cells low .. high - 1 of a row that lie in the same PMLs. `shift` is that of the last axis: a row that was just
// changed would be slow to read. Copies of the view and of where the row begins, which no store can change, stay in
// registers.
template <class F, class View, int NDIM, class Where>
SWEEP_APART void pack_cells(const View& view, const Cell<NDIM>& row, int shift, int low, int high, Where where) {
  using P = Pack<typename F::Value>;
  constexpr int last = NDIM - 1;
  const View v = view;
  Cell<NDIM> c = row;
  c.shift[last] = shift;
  const ptrdiff_t begin = row.at;
  for (int x = low; x < high; x += P::size) {
    c.i[last] = x;
    c.at = begin + x;
    // In space a pointer for each of some forty rows would be kept on the stack: let the compiler add, not step them.
    if constexpr (NDIM == 3) asm("" : "+r"(c.at));
    F::template cell<P>(v, c, where);
  }
}

// Cells low .. high - 1 of a row, and what rounds them up to whole vectors: there coefficients and profiles are zero.
// In planes of an order that the compiler knows, cells in the PML of one axis have a loop that knows it, too.
template <class F, class View, int NDIM>
void pack_row(const View& view, const Cell<NDIM>& row, int low, int high, unsigned axes = ~0u) {
  constexpr int last = NDIM - 1;
  const auto& layout = view.layout;
  const int end = layout.field.n[last];
  const auto between = [=](int i) { return i < low ? low : i > high ? high : i; };
  const int left = between(layout.rim_low[last]), right = between(end - layout.rim_high[last]);
  const auto parts = [&](auto beside, auto within) {
    if (low < left) pack_cells<F>(view, row, 0, low, left, within);
    if (left < right) pack_cells<F>(view, row, 0, left, right, beside);
    if (right < high) pack_cells<F>(view, row, layout.shift(last, end - 1), right, high, within);
  };
  const unsigned outside = somewhere(layout, row.i).mask & ~(1u << last);
  if constexpr (F::slabs) {
    const unsigned others = outside & axes & ~(1u << NDIM);
    const Somewhere<NDIM> beside{others}, within{others | (axes & 1u << last)};
    if (low < left && within.mask) pack_cells<F>(view, row, 0, low, left, within);
    if (left < right && others) pack_cells<F>(view, row, 0, left, right, beside);
    if (right < high && within.mask) pack_cells<F>(view, row, layout.shift(last, end - 1), right, high, within);
    return;
  }
  const Somewhere<NDIM> beside{outside}, within{outside | 1u << last};
  if constexpr (NDIM == 2 && View::knows_order) {
    if (!outside) return parts(Within<0>{}, Within<1u << last>{});
    if (outside == 1) return parts(Within<1>{}, within);
  } else if (!outside) {
    return parts(Within<0>{}, within);
  }
  parts(beside, within);
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
