// The adjoint step of a cell, derived from the tables of an equation. For first order in time the step is each stage
// transposed, in reverse order. For second order a step is its own adjoint. The pages
// adjoint-staggered.md, adjoint.md and adjoint-coupled.md of docs/explanation derive them.
#ifndef SWEEP_KERNEL_ADJOINT_H
#define SWEEP_KERNEL_ADJOINT_H

#include "sweep/kernel/second_order.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

template <class Physics, class Value, int NDIM, int HALF>
struct AdjointStep : SecondOrderParts<Physics, Value, NDIM, HALF> {
  using Parts = SecondOrderParts<Physics, Value, NDIM, HALF>;
  using Forward = ForwardStep<Physics, Value, NDIM, HALF>;
  using Parts::stretch;
  using Parts::unstretch;
  using typename Forward::Cell;
  using typename Forward::View;
  static constexpr Tables table = Forward::table;
  static constexpr bool is_second_order = Forward::is_second_order;

  static constexpr bool is_coupled = Forward::is_coupled;

  // Filter memories that the adjoint of second order has beside its memory variables: one for each modulus, or for each
  // rate of a coupled system.
  static constexpr int filters = is_coupled ? table.rates : is_second_order ? table.moduli : 0;

  // The transpose of all operators that read the fields of a stage. At the nodes of these fields it updates the adjoint
  // field f', the adjoint rates e' (multiples of f' that the stages before differentiate), and the images f' e.
  template <class V, int STAGE, class Where>
  SWEEP_HD static void adjoint_stage(const View& v, const Cell& c, Where where) {
    if constexpr (is_second_order && STAGE == 0)
      Forward::template update_psi<V>(v, c, where, v.now, v.memory);
    else if constexpr (is_second_order)
      second_order_step<V>(v, c, where);
    else
      transpose_stage<V, STAGE>(v, c, where);
  }

  // Adds a residual to the adjoint field, after the cells of its stage have been computed.
  template <int STAGE>
  SWEEP_HD static void inject_adjoint(const View& v, const Cell& c, int field, Value amount, Value* filter_memory) {
    if constexpr (is_coupled) {
      Parts::inject_coupled(v, c, field, amount, filter_memory);
      return;
    } else if constexpr (is_second_order) {
      for_axes<table.fields>([&](auto index) SWEEP_INLINE {
        constexpr int f = decltype(index)::value, own_coefficient = table.modulus[table.source_modulus(f)].coefficient;
        if (f != field) return;
        if (v.is_imaged(c)) v.image[v.at(own_coefficient, c)] += v.steps_per_image * v.slot[v.slot_at(f, c)] * amount;
        v.field[v.at(f, c)] += v.coefficient[v.at(own_coefficient, c)] * stretch(v, c, filter_memory, amount);
      });
      return;
    }
    Value e[table.rates] = {};
    if (v.is_imaged(c)) history_rates<Value, STAGE>(v, c, somewhere(v.layout, c.i), e);
    for_axes<table.moduli>([&](auto index) SWEEP_INLINE {
      constexpr Modulus m = table.modulus[decltype(index)::value];
      constexpr int r = m.rate;
      constexpr bool is_separate = table.separate_adjoint[m.target];
      if constexpr (table.stage[r] != STAGE) return;
      if (m.target != field) return;
      const Value part = Forward::template times_coefficient<Value, m.coefficient>(v.coefficient, v, c, amount);
      v.adjoint[v.at(r, c)] += part;
      for_axes<table.terms>([&](auto inner) SWEEP_INLINE {
        constexpr int i = decltype(inner)::value, a = table.term[i].axis;
        if constexpr (table.term[i].rate == r && table.term[i].memories)
          if (v.layout.in_region(a, c.i[a]))
            v.memory[v.slab(a, table.term[i].slot, c)] += gain<Forward, Value, i>(v, c) * part;
      });
      if constexpr (m.coefficient >= 0) v.image[v.at(m.coefficient, c)] += (is_separate ? amount : part) * e[r];
    });
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value;
      if constexpr (table.separate_adjoint[f])
        if (f == field) v.adjoint[v.at(table.rates + f, c)] += amount;
    });
  }

  // True if a modulus multiplies sources that history_rates does not contain.
  template <int STAGE>
  static constexpr bool correlates_sources =
      !is_second_order &&
      table.any_of_stage(STAGE, [](int f) { return table.history_index[f] < 0 && table.source_modulus(f) >= 0; });
  SWEEP_HD static void correlate_source(const View& v, const Cell& c, int field, Value amount) {
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value, m = table.source_modulus(f);
      if constexpr (m >= 0 && table.history_index[f] < 0) {
        constexpr int adjoint_index = table.separate_adjoint[f] ? table.rates + f : table.modulus[m].rate;
        if (f == field) v.image[v.at(table.modulus[m].coefficient, c)] += v.adjoint[v.at(adjoint_index, c)] * amount;
      }
    });
  }

  // The value that a source of the forward run reads from the adjoint field.
  SWEEP_HD static Value value_at_source(const View& v, const Cell& c, int field, Value* filter_memory) {
    if constexpr (is_second_order) return unstretch(v, c, filter_memory, v.field[v.at(field, c)]);
    Value value = 0;
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value, m = table.source_modulus(f);
      if (f != field) return;
      if constexpr (table.separate_adjoint[f]) {
        value = v.adjoint[v.at(table.rates + f, c)];
        if constexpr (m >= 0) value *= v.coefficient[v.at(table.modulus[m].coefficient, c)];
      } else if constexpr (only_modulus(f) >= 0) {
        constexpr Modulus only = table.modulus[only_modulus(f)];
        value = v.adjoint[v.at(only.rate, c)];
        if constexpr (m < 0 && only.coefficient >= 0) value /= v.coefficient[v.at(only.coefficient, c)];
      }
      if constexpr (is_constant(table.field[f].source)) value *= Forward::template source_constant<f>(v);
    });
    return value;
  }

  // d misfit / d coefficient of one cell from its image; the coefficients of the cell are `cells` elements apart.
  SWEEP_HD static Value gradient(int c, const Value* coefficient, ptrdiff_t cells, Value image) {
    if constexpr (is_coupled) return image;
    if constexpr (is_second_order) {
      for_axes<table.moduli>([&](auto index) SWEEP_INLINE {
        constexpr Modulus m = table.modulus[decltype(index)::value];
        constexpr int own_coefficient = table.modulus[table.source_modulus(m.target)].coefficient;
        if (c == m.coefficient) image /= coefficient[own_coefficient * cells];
      });
      return image;
    }
    constexpr Coefficients scaled = scaled_coefficients,
                           squared = squared_coefficients;  // device code sees locals only
    if (scaled.has(c)) image /= coefficient[c * cells];
    return squared.has(c) ? image / coefficient[c * cells] : image;
  }

 protected:
  // A mask with one bit for each index. Device code looks up an index that is known at run time in a mask, since it
  // cannot see the tables.
  template <class Predicate>
  static constexpr FieldMask bits(const Predicate& has) {
    FieldMask mask = 0;
    for (int i = 0; i < SWEEP_MAX_FIELDS; ++i) mask |= static_cast<FieldMask>(has(i)) << i;
    return mask;
  }
  struct Coefficients {
    uint64_t word[SWEEP_MAX_COEFFICIENTS / 64];
    SWEEP_HD constexpr bool has(int c) const { return word[c / 64] >> c % 64 & 1; }
  };
  template <class Predicate>
  static constexpr Coefficients coefficients_that(const Predicate& hold) {
    Coefficients mask = {};
    for (int c = 0; c < table.coefficients; ++c) mask.word[c / 64] |= static_cast<uint64_t>(hold(c)) << c % 64;
    return mask;
  }

 private:
  static constexpr Coefficients scaled_coefficients = coefficients_that([](int c) { return table.scaled[c]; });
  static constexpr Coefficients squared_coefficients = coefficients_that([](int c) {
    for (int m = 0; m < table.moduli && !is_second_order; ++m)
      if (table.modulus[m].coefficient == c && table.history_index[table.modulus[m].target] >= 0) return true;
    return false;
  });
  static constexpr int only_modulus(int f) {
    for (int m = 0; m < table.moduli; ++m)
      if (table.modulus[m].target == f) return m;
    return -1;
  }
  // A field that a rate changes; all fields of a rate lie at the same nodes.
  static constexpr int target_of(int rate) {
    for (int m = 0; m < table.moduli; ++m)
      if (table.modulus[m].rate == rate) return table.modulus[m].target;
    return -1;
  }
  static constexpr bool first_of_rate(int modulus) {
    for (int m = 0; m < modulus; ++m)
      if (table.modulus[m].rate == table.modulus[modulus].rate) return false;
    return true;
  }
  template <int STAGE>
  static constexpr bool is_used(int k) {
    for (int m = 0; m < table.moduli; ++m)
      if (table.modulus[m].coefficient == k && table.stage[table.modulus[m].rate] == STAGE) return true;
    return false;
  }

  // --- first order -----------------------------------------------------------------------------------------------

  template <class V, int STAGE, class Where>
  SWEEP_HD static void transpose_stage(const View& v, const Cell& c, Where where) {
    V d[table.fields];
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value;
      if constexpr (table.at_stage[f] == STAGE) d[f] = broadcast<V>(Value(0));
    });
    for_axes<table.terms>([&](auto index) SWEEP_INLINE {
      constexpr int i = decltype(index)::value, f = table.term[i].field, r = table.term[i].rate, a = table.term[i].axis;
      if constexpr (table.at_stage[f] == STAGE) {
        V adjoint_difference = difference<Forward, V, i, true>(v, c, v.adjoint + v.at(r, c), where);
        if constexpr (table.term[i].memories)
          if (where.has(a)) adjoint_difference = adjoint_difference + memory_difference<Forward, V, i>(v, c);
        if constexpr ((table.sign[r] > 0) == table.term[i].is_antisymmetric())
          d[f] = d[f] - adjoint_difference;
        else
          d[f] = d[f] + adjoint_difference;
      }
    });
    V adjoint_rate[table.rates], adjoint_field[table.fields], e[table.rates];
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value;
      if constexpr (table.at_stage[f] == STAGE) {
        constexpr bool zero_on_surface = table.is_zero_on_surface(f);
        if (zero_on_surface && where.near_surface() && c.i[0] == 0) d[f] = broadcast<V>(Value(0));
        if constexpr (table.separate_adjoint[f]) {
          adjoint_field[f] = d[f];
          if constexpr (!table.is_local(f)) {
            Value* const to = v.adjoint + v.at(table.rates + f, c);
            adjoint_field[f] = after_damping<Forward, V, f>(v, c, where, load<V>(to)) + d[f];
            store(to, adjoint_field[f]);
          }
        }
      }
    });
    V change[table.rates];
    for_axes<table.moduli>([&](auto index) SWEEP_INLINE {
      constexpr Modulus m = table.modulus[decltype(index)::value];
      if constexpr (table.stage[m.rate] == STAGE) {
        const V part = Forward::template times_coefficient<V, m.coefficient>(v.coefficient, v, c, d[m.target]);
        if constexpr (first_of_rate(decltype(index)::value))
          change[m.rate] = part;
        else
          change[m.rate] = change[m.rate] + part;
      }
    });
    for_axes<table.rates>([&](auto index) SWEEP_INLINE {
      constexpr int r = decltype(index)::value;
      if constexpr (table.stage[r] == STAGE) {
        Value* const to = v.adjoint + v.at(r, c);
        constexpr bool is_local_stage = table.any_of_stage(STAGE, [](int f) { return table.is_local(f); });
        adjoint_rate[r] =
            is_local_stage ? change[r] : after_damping<Forward, V, target_of(r)>(v, c, where, load<V>(to)) + change[r];
        store(to, adjoint_rate[r]);
      }
    });
    for_axes<table.terms>([&](auto index) SWEEP_INLINE {
      constexpr int i = decltype(index)::value, r = table.term[i].rate, a = table.term[i].axis;
      if constexpr (table.stage[r] == STAGE && table.term[i].memories)
        if (where.has(a)) {
          Value* const m = v.memory + v.slab(a, table.term[i].slot, c);
          store(m, decay<Forward, V, i>(v, c) * load<V>(m) + gain<Forward, V, i>(v, c) * adjoint_rate[r]);
        }
    });
    if (!v.is_imaged(c)) return;
    history_rates<V, STAGE>(v, c, where, e);
    correlate<V, STAGE>(v, c, adjoint_rate, adjoint_field, e);
  }

  // The rates of this time step from the history. For fields in the history they are the rates times their moduli.
  template <class V, int STAGE, class Where>
  SWEEP_HD static void history_rates(const View& v, const Cell& c, Where where, V* e) {
    if constexpr (table.history_content == RATES)
      for_axes<table.rates>([&](auto index) SWEEP_INLINE {
        constexpr int r = decltype(index)::value, place = table.history_index_of_rate[r];
        if constexpr (table.stage[r] == STAGE && place >= 0) e[r] = load<V>(v.slot + v.slot_at(place, c));
      });
    else if constexpr (STAGE == table.history_stage)
      for_axes<table.fields>([&](auto index) SWEEP_INLINE {
        constexpr int f = decltype(index)::value, place = table.history_index[f];
        if constexpr (place >= 0) {
          constexpr int r = table.modulus[only_modulus(f)].rate;
          const ptrdiff_t at = v.slot_at(place, c);
          prefetch<V>(v.previous_slot + at + v.layout.field.stride[NDIM > 1 ? NDIM - 2 : 0]);
          e[r] = load<V>(v.slot + at) - after_damping<Forward, V, f>(v, c, where, load<V>(v.previous_slot + at));
        }
      });
    else
      Forward::template compute_rates<V, STAGE, true>(v, c, table.history_stage ? v.previous_slot : v.slot, nullptr,
                                                      v.slot_memory, where, e);
  }
  template <class V, int STAGE>
  SWEEP_HD static void correlate(const View& v, const Cell& c, const V* adjoint_rate, const V* adjoint_field,
                                 const V* e) {
    for_axes<table.coefficients>([&](auto index) SWEEP_INLINE {
      constexpr int k = decltype(index)::value;
      if constexpr (is_used<STAGE>(k)) {
        V sum = load<V>(v.image + v.at(k, c));
        for_axes<table.moduli>([&](auto inner) SWEEP_INLINE {
          constexpr Modulus m = table.modulus[decltype(inner)::value];
          if constexpr (m.coefficient == k && table.stage[m.rate] == STAGE) {
            if constexpr (table.separate_adjoint[m.target])
              sum = sum + adjoint_field[m.target] * e[m.rate];
            else
              sum = sum + adjoint_rate[m.rate] * e[m.rate];
          }
        });
        store(v.image + v.at(k, c), sum);
      }
    });
  }

  // --- second order ----------------------------------------------------------------------------------------------

  // One step of an equation that is its own adjoint. The field is S times the adjoint state. An image is the factor of
  // a coefficient, without S, times the forward field.
  template <class V, class Where>
  SWEEP_HD static void second_order_step(const View& v, const Cell& c, Where where) {
    V e[table.rates], change[table.fields];
    Forward::template compute_rates<V, 1>(v, c, v.now, v.field, v.memory, where, e);
    Forward::template apply_moduli<V, 1>(v.coefficient, v, c, e, change);
    Forward::template advance<V, 1>(v.field, v.now, v, c, where, change);
    if constexpr (is_coupled) return Parts::template image_coupled<V>(v, c, where, e);
    for_axes<table.moduli>([&](auto index) SWEEP_INLINE {
      constexpr int i = decltype(index)::value;
      constexpr Modulus m = table.modulus[i];
      V g = e[m.rate];
      for_axes<NDIM>([&](auto axis) SWEEP_INLINE {
        constexpr int a = decltype(axis)::value;
        if (where.has(a))
          g = Parts::template unstretch_axis<V, a>(v, c, v.memory + v.slab(a, table.memories + i, c), g);
      });
      if (v.is_imaged(c)) {
        Value* const to = v.image + v.at(m.coefficient, c);
        const Value* const history_value = v.slot + v.slot_at(m.target, c);
        prefetch_next_row<V>(v.layout.field, to);
        prefetch_next_row<V>(v.layout.field, history_value);
        store(to, load<V>(to) + load<V>(history_value) * (broadcast<V>(v.steps_per_image) * g));
      }
    });
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
