// As many numbers as a vector register of this build holds, and a row of cells in such steps.
#ifndef SWEEP_CPU_PACK_H
#define SWEEP_CPU_PACK_H

#include "sweep/staggered.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

#if defined(__AVX512F__)
constexpr int pack_bytes = 64;
#elif defined(__AVX__)
constexpr int pack_bytes = 32;
#else
constexpr int pack_bytes = 16;
#endif

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
  SWEEP_HD Pack operator-() const { return Pack(-v); }
  SWEEP_HD friend Pack operator+(Pack a, Pack b) { return Pack(a.v + b.v); }
  SWEEP_HD friend Pack operator-(Pack a, Pack b) { return Pack(a.v - b.v); }
  SWEEP_HD friend Pack operator*(Pack a, Pack b) { return Pack(a.v * b.v); }
  SWEEP_HD friend Pack operator*(T a, Pack b) { return Pack(a * b.v); }
};

// Cells low .. high - 1 of a row, and what rounds them up to whole vectors: there coefficients and profiles are zero.
template <class F, class View, int NDIM>
SWEEP_APART void pack_row(const View& view, const Cell<NDIM>& row, int low, int high) {
  using P = Pack<typename F::Value>;
  constexpr int last = NDIM - 1;
  const auto& layout = view.layout;
  const unsigned outside = staggered::somewhere(layout, row.i).mask & ~(1u << last);
  const int right = layout.field.n[last] - layout.rim_high[last], shift = layout.shift(last, layout.field.n[last] - 1);
  for (int x = low; x < high; x += P::size) {
    Cell<NDIM> c = row;
    c.i[last] = x;
    c.at = row.at + x;
    const bool rim = x < layout.rim_low[last] || x >= right;
    c.shift[last] = x < layout.rim_low[last] ? 0 : shift;
    if (const unsigned mask = outside | static_cast<unsigned>(rim) << last)
      F::template cell<P>(view, c, staggered::Somewhere<NDIM>{mask});
    else
      F::template cell<P>(view, c, staggered::Inside{});
  }
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
