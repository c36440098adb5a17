// Parts of the adjoint step of second order: images and residuals of coupled fields, and the filters of the PML. See
// docs/explanation/adjoint-coupled.md.
#ifndef SWEEP_KERNEL_SECOND_ORDER_H
#define SWEEP_KERNEL_SECOND_ORDER_H

#include "sweep/kernel/forward.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

template <class Physics, class Value, int NDIM, int HALF>
struct SecondOrderParts : ForwardStep<Physics, Value, NDIM, HALF> {
  using Forward = ForwardStep<Physics, Value, NDIM, HALF>;
  using typename Forward::Cell;
  using typename Forward::View;
  static constexpr Tables table = Forward::table;

 protected:
  // The adjoint state of a coupled system is the field, S C nu, and nu itself, which C need not determine: the second
  // sum over time of S^-1 times the rates. Behind both levels of the fields are the first sums, then nu. An image is nu
  // times the rates of the forward step, which the history holds.
  template <class V, class Where>
  SWEEP_HD static void image_coupled(const View& v, const Cell& c, Where where, const V* e) {
    V nu[table.rates];
    for_axes<table.rates>([&](auto index) SWEEP_INLINE {
      constexpr int r = decltype(index)::value, f = Forward::field_of_rate(r);
      V y = e[r];
      for_axes<NDIM>([&](auto axis) SWEEP_INLINE {
        constexpr int a = decltype(axis)::value;
        if (where.has(a)) y = unstretch_axis<V, a>(v, c, v.memory + v.slab(a, table.memories + r, c), y);
      });
      if (where.near_surface() && c.i[0] == 0) y = broadcast<V>(Value(0));
      Value *const sum = v.adjoint + v.at(first_sum(f), c), *const second_sum = v.adjoint + v.at(adjoint_state(f), c);
      prefetch_next_row<V>(v.layout.field, sum);
      prefetch_next_row<V>(v.layout.field, second_sum);
      y = load<V>(sum) + y;
      store(sum, y);
      nu[f] = load<V>(second_sum) + y;
      store(second_sum, nu[f]);
    });
    if (!v.is_imaged(c)) return;
    for_axes<table.coefficients>([&](auto index) SWEEP_INLINE {
      constexpr int k = decltype(index)::value;
      Value* const to = v.image + v.at(k, c);
      prefetch_next_row<V>(v.layout.field, to);
      V sum = broadcast<V>(Value(0));
      for_axes<table.moduli>([&](auto inner) SWEEP_INLINE {
        constexpr Modulus m = table.modulus[decltype(inner)::value];
        if constexpr (m.coefficient == k) {
          const Value* const rate = v.slot + v.slot_at(table.history_index_of_rate[m.rate], c);
          prefetch_next_row<V>(v.layout.field, rate);
          sum = sum + nu[m.target] * load<V>(rate);
        }
      });
      store(to, load<V>(to) + broadcast<V>(v.steps_per_image) * sum);
    });
  }
  // Adds a residual to nu of a field, and S times the residual to the fields that the rate of the field changes.
  SWEEP_HD static void inject_coupled(const View& v, const Cell& c, int field, Value amount, Value* filter_memory) {
    Forward::add_to_rate(v, c, field, stretch(v, c, filter_memory, amount));
    v.adjoint[v.at(first_sum(field), c)] += amount;
    v.adjoint[v.at(adjoint_state(field), c)] += amount;
    if (!v.is_imaged(c)) return;
    for_axes<table.moduli>([&](auto index) SWEEP_INLINE {
      constexpr Modulus m = table.modulus[decltype(index)::value];
      constexpr int place = table.history_index_of_rate[m.rate];
      if (m.target == field)
        v.image[v.at(m.coefficient, c)] += v.steps_per_image * amount * v.slot[v.slot_at(place, c)];
    });
  }
  SWEEP_HD static constexpr int first_sum(int field) { return 2 * table.fields + field; }
  SWEEP_HD static constexpr int adjoint_state(int field) { return 3 * table.fields + field; }
  // Solves (1 + P) y = g for y: a filter with a memory of one number.
  template <class V, int A>
  SWEEP_HD static V unstretch_axis(const View& v, const Cell& c, Value* filter_memory, V g) {
    prefetch_next_row<V>(v.layout.slab[A], filter_memory);
    const V y = (g + profile_at<V, A>(v, c, 0) * load<V>(filter_memory)) * profile_at<V, A>(v, c, 3);
    store(filter_memory, y - g);
    return y;
  }
  // stretch() multiplies a value that a point adds to such a field by S; unstretch() divides a value that a point reads
  // by S. `filter_memory` holds one number for each axis. S is one outside the PML.
  SWEEP_HD static Value stretch(const View& v, const Cell& c, Value* filter_memory, Value amount) {
    for_axes<NDIM>([&](auto index) SWEEP_INLINE {
      constexpr int a = decltype(index)::value;
      filter_memory[a] = profile_at<Value, a>(v, c, 0) * filter_memory[a] + profile_at<Value, a>(v, c, 1) * amount;
      amount += filter_memory[a];
    });
    return amount;
  }
  SWEEP_HD static Value unstretch(const View& v, const Cell& c, Value* filter_memory, Value value) {
    for_axes<NDIM>([&](auto index) SWEEP_INLINE {
      constexpr int a = decltype(index)::value;
      value = unstretch_axis<Value, a>(v, c, filter_memory + a, value);
    });
    return value;
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
