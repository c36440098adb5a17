// The forward step of one cell and its Born derivative, from the tables of an equation. With a vector type V the step
// is that of the neighbours in the vector. See docs/explanation/elastic.md and adjoint.md.
#ifndef SWEEP_KERNEL_FORWARD_H
#define SWEEP_KERNEL_FORWARD_H

#include "sweep/kernel/operators.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

template <class Physics, class Value, int NDIM, int HALF>
struct ForwardStep {
  using View = sweep::View<Value, NDIM, HALF>;
  using Cell = sweep::Cell<NDIM>;
  static constexpr Tables table = tables_of<Physics, NDIM>();
  // An equation of second order in time is its own adjoint, because its differences are symmetric.
  static constexpr bool is_second_order = table.is_second_order;
  static constexpr bool is_coupled = table.is_coupled();

  // Computes the rates of a stage: e = sign * sum over terms of an operator of a field. From a history the fields come
  // with the memory variables of that history; otherwise memory variables are updated. For second order `field_before`
  // is the time level before that of `field`.
  template <class V, int STAGE, bool FROM_HISTORY = false, class Where>
  SWEEP_HD static void compute_rates(const View& v, const Cell& c, const Value* field, const Value* field_before,
                                     Value* memory, Where where, V* e) {
    for_axes<table.terms>([&](auto index) SWEEP_INLINE {
      constexpr int i = decltype(index)::value, r = table.term[i].rate;
      if constexpr (table.stage[r] == STAGE) {
        const V part = term_value<V, i, FROM_HISTORY>(v, c, field, field_before, memory, where);
        if constexpr (table.term[i].first)
          e[r] = part;
        else
          e[r] = e[r] + part;
      }
    });
    for_axes<table.rates>([&](auto index) SWEEP_INLINE {
      constexpr int r = decltype(index)::value;
      if constexpr (table.stage[r] == STAGE && table.sign[r] < 0) e[r] = -e[r];
    });
  }

  // Updates psi of the fields that are differentiated twice; the second differences then read it.
  template <class V, class Where>
  SWEEP_HD static void update_psi(const View& v, const Cell& c, Where where, const Value* now, Value* memory) {
    for_axes<table.terms>([&](auto index) SWEEP_INLINE {
      constexpr int i = decltype(index)::value;
      if constexpr (table.term[i].of == D2)
        if (where.has(table.term[i].axis)) update_psi_of_term<ForwardStep, V, i>(v, c, now, memory);
    });
  }

  template <class V, int STAGE, class Where>
  SWEEP_HD static void forward_stage(const View& v, const Cell& c, Where where) {
    if constexpr (is_second_order && STAGE == 0) return update_psi<V>(v, c, where, v.now, v.memory);
    V e[table.rates], change[table.fields];
    compute_rates<V, STAGE>(v, c, v.now, v.field, v.memory, where, e);
    apply_moduli<V, STAGE>(v.coefficient, v, c, e, change);
    advance<V, STAGE>(v.field, v.now, v, c, where, change);
    if (v.in_slot(c)) write_history<V, STAGE>(v, c, where, change, e);
  }

  // The step backward in time, outside the PML. For second order it is u[k - 1] = 2 u[k] - u[k + 1] + change, the same
  // arithmetic on other levels. For first order it is f <- f - change, with the stages in reverse order.
  template <class V, int STAGE, class Where>
  SWEEP_HD static void reverse_stage(const View& v, const Cell& c, Where where) {
    V e[table.rates], change[table.fields];
    compute_rates<V, STAGE>(v, c, v.now, v.field, v.memory, where, e);
    apply_moduli<V, STAGE>(v.coefficient, v, c, e, change);
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value;
      if constexpr (!is_second_order && table.at_stage[f] == STAGE) change[f] = -change[f];
    });
    advance<V, STAGE>(v.field, v.now, v, c, where, change);
    write_history<V, STAGE, true>(v, c, where, change, e);
  }

  // Adds a source to a field. In a coupled system the source adds to the rate of the field, which changes others too.
  SWEEP_HD static void inject(const View& v, const Cell& c, int field, Value amount) {
    if constexpr (is_coupled) {
      add_to_rate(v, c, field, amount);
      for_axes<table.fields>([&](auto index) SWEEP_INLINE {
        constexpr int f = decltype(index)::value, place = table.history_index_of_rate[table.own_rate(f)];
        if (f == field && v.in_slot(c)) v.slot[v.slot_at(place, c)] += amount;
      });
      return;
    }
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value, m = table.source_modulus(f), place = table.history_index[f];
      if (f != field) return;
      if constexpr (m >= 0) amount *= v.coefficient[v.at(table.modulus[m].coefficient, c)];
      if constexpr (is_constant(table.field[f].source)) amount *= source_constant<f>(v);
      v.field[v.at(f, c)] += amount;
      if constexpr (place >= 0)
        if (v.in_slot(c)) v.slot[v.slot_at(place, c)] += amount;
    });
  }

  // --- Born ------------------------------------------------------------------------------------------------------

  template <class V, int STAGE, class Where>
  SWEEP_HD static void born_stage(const View& v, const Cell& c, Where where) {
    if constexpr (is_second_order && STAGE == 0) {
      update_psi<V>(v, c, where, v.now, v.memory);
      return update_psi<V>(v, c, where, v.scattered_now, v.scattered_memory);
    }
    V e[table.rates], change[table.fields], scattered[table.rates], tangent_change[table.fields];
    for_axes<table.fields>([&](auto index)
                               SWEEP_INLINE { tangent_change[decltype(index)::value] = broadcast<V>(Value(0)); });
    compute_rates<V, STAGE>(v, c, v.now, v.field, v.memory, where, e);
    compute_rates<V, STAGE>(v, c, v.scattered_now, v.scattered, v.scattered_memory, where, scattered);
    apply_moduli<V, STAGE, false>(v.tangent, v, c, e, tangent_change);
    apply_moduli<V, STAGE>(v.coefficient, v, c, e, change);
    advance<V, STAGE>(v.field, v.now, v, c, where, change);
    apply_moduli<V, STAGE>(v.coefficient, v, c, scattered, change);
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value;
      if constexpr (table.at_stage[f] == STAGE) change[f] = change[f] + tangent_change[f];
    });
    advance<V, STAGE>(v.scattered, v.scattered_now, v, c, where, change);
  }

  SWEEP_HD static void scatter_source(const View& v, const Cell& c, int field, Value amount, Value varied) {
    if constexpr (is_coupled) {
      each_coupled(field, [&](auto target, auto coefficient) SWEEP_INLINE {
        const ptrdiff_t at = v.at(decltype(coefficient)::value, c);
        v.scattered[v.at(decltype(target)::value, c)] += v.tangent[at] * amount + v.coefficient[at] * varied;
      });
      return;
    }
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value, m = table.source_modulus(f);
      if (f != field) return;
      if constexpr (m >= 0) {
        const ptrdiff_t at = v.at(table.modulus[m].coefficient, c);
        v.scattered[v.at(f, c)] += v.coefficient[at] * varied + v.tangent[at] * amount;
      } else if constexpr (is_constant(table.field[f].source)) {
        v.scattered[v.at(f, c)] += source_constant<f>(v) * varied;
      } else {
        v.scattered[v.at(f, c)] += varied;
      }
    });
  }

 protected:
  // Calls f(target, coefficient) for each field that the rate of a field changes in a coupled system.
  template <class F>
  SWEEP_HD static void each_coupled(int field, const F& f) {
    for_axes<table.moduli>([&](auto index) SWEEP_INLINE {
      constexpr int m = decltype(index)::value, target = table.modulus[m].target;
      constexpr int coefficient = table.modulus[m].coefficient, own = field_of_rate(table.modulus[m].rate);
      if (own == field) f(std::integral_constant<int, target>{}, std::integral_constant<int, coefficient>{});
    });
  }
  // Adds an amount to the rate of a field in a coupled system, after the step has changed the fields by the rate.
  SWEEP_HD static void add_to_rate(const View& v, const Cell& c, int field, Value amount) {
    each_coupled(field, [&](auto target, auto coefficient) SWEEP_INLINE {
      v.field[v.at(decltype(target)::value, c)] += v.coefficient[v.at(decltype(coefficient)::value, c)] * amount;
    });
  }
  // The field whose second differences are a rate.
  static constexpr int field_of_rate(int rate) {
    for (int i = 0; i < table.terms; ++i)
      if (table.term[i].rate == rate) return table.term[i].field;
    return -1;
  }

  // The constant that multiplies the sources of field F.
  template <int F>
  SWEEP_HD static Value source_constant(const View& v) {
    constexpr int number = number_of_constant(table.field[F].source);
    return v.constants[number];
  }

  // True for the first of all moduli of its target, or of those that have coefficients.
  static constexpr bool first_of_target(int modulus, bool all) {
    for (int m = 0; m < modulus; ++m)
      if (table.modulus[m].target == table.modulus[modulus].target && (all || table.modulus[m].coefficient >= 0))
        return false;
    return true;
  }

  // The value of one term, stretched inside a PML.
  template <class V, int I, bool FROM_HISTORY, class Where>
  SWEEP_HD static V term_value(const View& v, const Cell& c, const Value* field, const Value* field_before,
                               Value* memory, Where where) {
    constexpr Derivative term = table.term[I];
    constexpr int a = term.axis;
    const Value* const from =
        field + (FROM_HISTORY ? v.slot_at(table.history_index[term.field], c) : v.at(term.field, c));
    if constexpr (term.of == CHANGE) {
      return Value(2) * (load<V>(from) - load<V>(field_before + v.at(term.field, c)));
    } else {
      V d = difference<ForwardStep, V, I, false>(v, c, from, where);
      prefetch_next_row<V>(v.layout.field, from + (a == 0 ? v.layout.half * v.layout.field.stride[0] : 0));
      if constexpr (term.memories == 2) {
        if (where.has(a)) d = stretched_second_difference<ForwardStep, V, I>(v, c, memory, d);
      } else if constexpr (term.memories == 1) {
        if (where.has(a)) {
          Value* const m =
              memory + (FROM_HISTORY ? v.slot_slab(v.layout, a, term.history_index, c) : v.slab(a, term.slot, c));
          prefetch_next_row<V>(v.layout.slab[a], m);
          // A history is not in the cache, and its rows beside the PML of the last axis are short.
          if constexpr (FROM_HISTORY && NDIM == 2) prefetch<V>(m + 4 * v.layout.slab[a].stride[0]);
          V psi = load<V>(m);
          if constexpr (!FROM_HISTORY) {
            psi = decay<ForwardStep, V, I>(v, c) * psi + gain<ForwardStep, V, I>(v, c) * d;
            store(m, psi);
          }
          d = d + psi;
        }
      }
      return d;
    }
  }

  // A coefficient, a constant or one, times a value; zero beyond the grid, so that fields stay zero there.
  template <class V, int COEFFICIENT>
  SWEEP_HD static V times_coefficient(const Value* coefficient, const View& v, const Cell& c, V value) {
    if constexpr (COEFFICIENT >= 0) {
      const Value* const from = coefficient + v.at(COEFFICIENT, c);
      prefetch_next_row<V>(v.layout.field, from);
      return load<V>(from) * value;
    } else if constexpr (is_constant(COEFFICIENT)) {
      const Value factor = v.constants[number_of_constant(COEFFICIENT)];
      return broadcast<V>(factor) * times_coefficient<V, ONE>(nullptr, v, c, value);
    } else if constexpr (sizeof(V) > sizeof(Value)) {
      return load<V>(v.inside + c.i[NDIM - 1]) * value;
    } else {
      return value;
    }
  }

  // Computes the change of the fields of a stage: coefficients times rates. Rates without coefficients count only with
  // ALL.
  template <class V, int STAGE, bool ALL = true>
  SWEEP_HD static void apply_moduli(const Value* coefficient, const View& v, const Cell& c, const V* e, V* change) {
    for_axes<table.moduli>([&](auto index) SWEEP_INLINE {
      constexpr int i = decltype(index)::value;
      constexpr Modulus m = table.modulus[i];
      if constexpr (table.stage[m.rate] == STAGE && (ALL || m.coefficient >= 0)) {
        const V part = times_coefficient<V, m.coefficient>(coefficient, v, c, e[m.rate]);
        if constexpr (first_of_target(i, ALL))
          change[m.target] = part;
        else
          change[m.target] = change[m.target] + part;
      }
    });
  }

  // Advances the fields of a stage. For first order f <- f + change, where f is damped in a PML. For second order u[k +
  // 1] = 2 u[k] - u[k - 1] + change. A field that lives within the step only is equal to its change.
  template <class V, int STAGE, class Where>
  SWEEP_HD static void advance(Value* field, const Value* now, const View& v, const Cell& c, Where where, V* change) {
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value;
      if constexpr (table.at_stage[f] == STAGE) {
        constexpr bool zero_on_surface = table.is_zero_on_surface(f);
        if (zero_on_surface && where.near_surface() && c.i[0] == 0) change[f] = broadcast<V>(Value(0));
        Value* const to = field + v.at(f, c);
        if constexpr (is_second_order) {
          prefetch_next_row<V>(v.layout.field, to);
          change[f] = Value(2) * load<V>(now + v.at(f, c)) - load<V>(to) + change[f];
        } else if constexpr (!table.is_local(f)) {
          prefetch_next_row<V>(v.layout.field, to);
          change[f] = after_damping<ForwardStep, V, f>(v, c, where, load<V>(to)) + change[f];
        }
        store(to, change[f]);
      }
    });
  }

 private:
  // Writes to the history: the fields of this stage or the memory variables of its differences, or rates. Stores bypass
  // the caches unless the values are READ_SOON.
  template <class V, int STAGE, bool READ_SOON = false, class Where>
  SWEEP_HD static void write_history(const View& v, const Cell& c, Where where, const V* field_values, const V* e) {
    if constexpr (table.history_content == RATES)
      for_axes<table.rates>([&](auto index) SWEEP_INLINE {
        constexpr int r = decltype(index)::value, place = table.history_index_of_rate[r];
        if constexpr (table.stage[r] == STAGE && place >= 0) stream(v.slot + v.slot_at(place, c), e[r]);
      });
    else if constexpr (STAGE == table.history_stage)
      for_axes<table.fields>([&](auto index) SWEEP_INLINE {
        constexpr int f = decltype(index)::value, place = table.history_index[f];
        if constexpr (place >= 0 && READ_SOON)
          store(v.slot + v.slot_at(place, c), field_values[f]);
        else if constexpr (place >= 0)
          stream(v.slot + v.slot_at(place, c), field_values[f]);
      });
    else
      for_axes<table.terms>([&](auto index) SWEEP_INLINE {
        constexpr Derivative t = table.term[decltype(index)::value];
        if constexpr (t.history_index >= 0)
          if (where.has(t.axis))
            stream(v.slot_memory + v.slot_slab(v.layout, t.axis, t.history_index, c),
                   load<V>(v.memory + v.slab(t.axis, t.slot, c)));
      });
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
