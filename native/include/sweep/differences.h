// The derivative of one term of a staggered equation at a cell, or at the neighbours that a vector holds, and its PML.
#ifndef SWEEP_DIFFERENCES_H
#define SWEEP_DIFFERENCES_H

#include "sweep/tables.h"

namespace sweep {
inline namespace SWEEP_VARIANT {
namespace staggered {

// sum over k of w_k (f[+(k - 1/2)] - f[-(k - 1/2)]), half a cell further or back.
template <class V, bool FORWARD, class Value, int HALF>
SWEEP_HD V midway(const Value* f, ptrdiff_t stride, const Taps<Value, HALF>& taps) {
  return taps.template over<V>([=](int k) SWEEP_INLINE {
    constexpr int shift = FORWARD ? 0 : 1;
    return load<V>(f + (k - shift) * stride) - load<V>(f + (1 - shift - k) * stride);
  });
}

template <class Eq, class V, int I, bool TRANSPOSED, class View, class Cell, class Value>
SWEEP_HD V near_surface(const View& v, const Cell& c, const Value* column, ptrdiff_t stride) {
  constexpr Derivative term = Eq::table.term[I];
  const int rows = near_rows(v.layout.half), columns = rows + v.layout.half;
  const Value* const w = v.closure + ((term.field * 2 + TRANSPOSED) * rows + c.i[0]) * columns;
  V sum = w[0] * load<V>(column);
  for (int j = 1; j < columns; ++j) sum = sum + w[j] * load<V>(column + j * stride);
  return sum;
}

// The difference of term I at a cell, of its field; transposed, minus that of its rate's adjoint.
template <class Eq, class V, int I, bool TRANSPOSED, class View, class Cell, class Value, class Where>
SWEEP_HD V difference(const View& v, const Cell& c, const Value* f, Where where) {
  constexpr Derivative term = Eq::table.term[I];
  const ptrdiff_t stride = v.layout.field.template step<term.axis>();
  if constexpr (term.axis == 0)
    if (where.near_surface()) return near_surface<Eq, V, I, TRANSPOSED>(v, c, f - c.i[0] * stride, stride);
  return midway<V, term.forward != TRANSPOSED>(f, stride, v.taps[term.axis]);
}

// The same, transposed, of its memory variables.
template <class Eq, class V, int I, class View, class Cell>
SWEEP_HD V memory_difference(const View& v, const Cell& c) {
  constexpr Derivative term = Eq::table.term[I];
  const ptrdiff_t stride = v.layout.strip[term.axis].template step<term.axis>();
  const auto* const m = v.memory + v.strip(term.axis, term.slot, c);
  return midway<V, !term.forward>(m, stride, v.taps[term.axis]);
}

// Profiles at the node where the derivative of term I lies.
template <class Eq, class V, int I, class View, class Cell>
SWEEP_HD V profile(const View& v, const Cell& c, int which) {
  constexpr Derivative term = Eq::table.term[I];
  constexpr int a = term.axis;
  const auto* const at = v.profile[a][which] + (term.forward ? v.half_profile[a] : 0) + c.i[a];
  if constexpr (a == sizeof(c.i) / sizeof(int) - 1)
    return load<V>(at);
  else
    return every<V>(*at);
}
template <class Eq, class V, int I, class View, class Cell>
SWEEP_HD V decay(const View& v, const Cell& c) {
  return profile<Eq, V, I>(v, c, 0);
}
template <class Eq, class V, int I, class View, class Cell>
SWEEP_HD V gain(const View& v, const Cell& c) {
  return profile<Eq, V, I>(v, c, 1);
}

}  // namespace staggered
}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
