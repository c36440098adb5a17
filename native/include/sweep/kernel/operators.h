// The operator of a term at a cell, or at the neighbours in a vector, and its PML.
#ifndef SWEEP_KERNEL_OPERATORS_H
#define SWEEP_KERNEL_OPERATORS_H

#include "sweep/kernel/view.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// Staggered: sum over k of w_k (f[+(k - 1/2)] - f[-(k - 1/2)]), half a cell further or back. ADDED: a mean, with + in
// place of -.
template <class V, bool FORWARD, bool ADDED = false, class Value, int HALF>
SWEEP_HD V staggered(const Value* f, Offset stride, const Taps<Value, HALF>& taps) {
  return taps.template over<V>([=](int k) SWEEP_INLINE {
    constexpr int shift = FORWARD ? 0 : 1;
    const V after = load<V>(f + (k - shift) * stride), before = load<V>(f + (1 - shift - k) * stride);
    if constexpr (ADDED)
      return after + before;
    else
      return after - before;
  });
}

// Central: centre f[0] + sum over k of w_k (f[+k] + f[-k]) and, first order, sum over k of w_k (f[+k] - f[-k]).
template <class V, class Value, int HALF>
SWEEP_HD V central_second(const Value* f, Offset stride, Value centre, const Taps<Value, HALF>& taps) {
  return centre * load<V>(f) +
         taps.template over<V>([=](int k) SWEEP_INLINE { return load<V>(f + k * stride) + load<V>(f - k * stride); });
}
template <class V, class Value, int HALF>
SWEEP_HD V central_first(const Value* f, Offset stride, const Taps<Value, HALF>& taps) {
  return taps.template over<V>([=](int k) SWEEP_INLINE { return load<V>(f + k * stride) - load<V>(f - k * stride); });
}

// The root R of D2, half a cell further: sum over k of w_k (f[2 - k] - f[1 - k]). TRANSPOSED: minus its transpose, the
// sum of w_k (f[k - 1] - f[k - 2]).
template <class V, bool TRANSPOSED, class Value, int HALF>
SWEEP_HD V second_difference_root(const Value* f, Offset stride, const Taps<Value, HALF>& taps) {
  return taps.template over<V>([=](int k) SWEEP_INLINE {
    const int at = TRANSPOSED ? k - 2 : 1 - k;
    return load<V>(f + (at + 1) * stride) - load<V>(f + at * stride);
  });
}

template <class Eq, class V, int I, bool TRANSPOSED, class View, class Cell, class Value>
SWEEP_HD V near_surface(const View& v, const Cell& c, const Value* column, Offset stride) {
  constexpr Derivative term = Eq::table.term[I];
  const int rows = v.layout.near, columns = rows + v.layout.half;
  const Value* const w = v.closure + ((term.closure * 2 + TRANSPOSED) * rows + c.i[0]) * columns;
  V sum = w[0] * load<V>(column);
  SWEEP_ROLLED for (int j = 1; j < columns; ++j) sum = sum + w[j] * load<V>(column + j * stride);
  return sum;
}

// The operator of term I at a cell. TRANSPOSED it applies to the adjoint of the rate; where the operator is
// antisymmetric, the result is minus the transpose.
template <class Eq, class V, int I, bool TRANSPOSED, class View, class Cell, class Value, class Where>
SWEEP_HD V difference(const View& v, const Cell& c, const Value* f, Where where) {
  constexpr Derivative term = Eq::table.term[I];
  constexpr int a = term.axis;
  constexpr bool forward = term.forward != TRANSPOSED;
  const Offset stride = v.layout.field.template step<a>();
  if constexpr (a == 0 && term.of != SAME)
    if (where.near_surface()) return near_surface<Eq, V, I, TRANSPOSED>(v, c, f - c.i[0] * stride, stride);
  if constexpr (term.of == SAME)
    return load<V>(f);
  else if constexpr (term.of == D2)
    return central_second<V>(f, stride, v.centre[a], v.taps[D2][a]);
  else if constexpr (term.of == D1)
    return central_first<V>(f, stride, v.taps[D1][a]);
  else
    return staggered<V, forward, term.of == MEAN>(f, stride, v.taps[term.of][a]);
}

// The same, TRANSPOSED, of the memory variables of the term.
template <class Eq, class V, int I, class View, class Cell>
SWEEP_HD V memory_difference(const View& v, const Cell& c) {
  constexpr Derivative term = Eq::table.term[I];
  const Offset stride = v.layout.slab[term.axis].template step<term.axis>();
  const auto* const m = v.memory + v.slab(term.axis, term.slot, c);
  if constexpr (term.of == D1)
    return central_first<V>(m, stride, v.taps[D1][term.axis]);
  else
    return staggered<V, !term.forward>(m, stride, v.taps[D][term.axis]);
}

// Prefetches the row after that of a cell: in three dimensions there are more rows than a processor prefetches by
// itself.
template <class V, class Value, int NDIM>
SWEEP_HD void prefetch_next_row(const HaloLayout<NDIM>& array, const Value* at) {
  if constexpr (NDIM == 3) prefetch<V>(at + array.stride[1]);
}

// A profile of an axis at a node: decay (0), gain (1), damping (2) or 1 / (1 + gain) (3). profile() returns it at the
// node of the derivative of term I.
template <class V, int A, class View, class Cell>
SWEEP_HD V profile_at(const View& v, const Cell& c, int kind, ptrdiff_t further = 0) {
  const auto* const at = v.profile[A][kind] + further + c.i[A];
  if constexpr (A == sizeof(c.i) / sizeof(int) - 1)
    return load<V>(at);
  else
    return broadcast<V>(*at);
}
template <class Eq, class V, int I, class View, class Cell>
SWEEP_HD V profile(const View& v, const Cell& c, int kind) {
  constexpr int a = Eq::table.term[I].axis;
  return profile_at<V, a>(v, c, kind, Eq::table.is_at_half_node(I) ? v.half_profile[a] : 0);
}
template <class Eq, class V, int I, class View, class Cell>
SWEEP_HD V decay(const View& v, const Cell& c) {
  return profile<Eq, V, I>(v, c, 0);
}
template <class Eq, class V, int I, class View, class Cell>
SWEEP_HD V gain(const View& v, const Cell& c) {
  return profile<Eq, V, I>(v, c, 1);
}

// A field of first order times its damping in the PML, which is the product of the dampings of all axes.
template <class Eq, class V, int F, class View, class Cell, class Where>
SWEEP_HD V after_damping(const View& v, const Cell& c, Where where, V value) {
  constexpr int ndim = sizeof(c.i) / sizeof(int);
  for_axes<ndim>([&](auto axis) SWEEP_INLINE {
    constexpr int a = decltype(axis)::value;
    constexpr bool halfway = Eq::table.field[F].stagger >> (a && a == ndim - 1 ? x : a) & 1;
    if (where.has(a)) value = value * profile_at<V, a>(v, c, 2, halfway ? v.half_profile[a] : 0);
  });
  return value;
}

// Updates psi of term I, the memory variable between the nodes of a field that is differentiated twice:
// psi <- b psi + a R f.
template <class Eq, class V, int I, class View, class Cell, class Value>
SWEEP_HD void update_psi_of_term(const View& v, const Cell& c, const Value* now, Value* memory) {
  constexpr Derivative term = Eq::table.term[I];
  constexpr int a = term.axis;
  const Offset stride = v.layout.field.template step<a>();
  const Value* const from = now + v.at(term.field, c);
  Value* const psi = memory + v.slab(a, term.slot, c);
  const V d = second_difference_root<V, false>(from, stride, v.root[a]);
  const ptrdiff_t between = v.half_profile[a];
  prefetch_next_row<V>(v.layout.field, from + (a == 0 ? stride : 0));
  prefetch_next_row<V>(v.layout.slab[a], psi);
  store(psi, profile_at<V, a>(v, c, 0, between) * load<V>(psi) + profile_at<V, a>(v, c, 1, between) * d);
}

// Returns S D2 f from d = D2 f: t = D2 f - R^T psi, zeta <- b zeta + a t, result t + zeta.
template <class Eq, class V, int I, class View, class Cell, class Value>
SWEEP_HD V stretched_second_difference(const View& v, const Cell& c, Value* memory, V d) {
  constexpr Derivative term = Eq::table.term[I];
  const Offset stride = v.layout.slab[term.axis].template step<term.axis>();
  const Value* const psi = memory + v.slab(term.axis, term.slot, c);
  Value* const m = memory + v.slab(term.axis, term.slot + 1, c);
  prefetch_next_row<V>(v.layout.slab[term.axis], psi + (term.axis == 0 ? (v.layout.half - 1) * stride : 0));
  prefetch_next_row<V>(v.layout.slab[term.axis], m);
  d = d + second_difference_root<V, true>(psi, stride, v.root[term.axis]);
  const V zeta = decay<Eq, V, I>(v, c) * load<V>(m) + gain<Eq, V, I>(v, c) * d;
  store(m, zeta);
  return d + zeta;
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
