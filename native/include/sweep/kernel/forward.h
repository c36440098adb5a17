// The forward step of one cell and its Born derivative, from the tables of an equation. With a vector type V the step
// is that of the neighbours in the vector. docs/theory/elastic.md derives both.
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
  // Of second order in time an equation is its own adjoint, because its differences are symmetric.
  static constexpr bool second = table.second;

  // Computes the rates of a stage: e = sign * sum over terms of an operator of a field. From a history the fields come
  // with the memory variables of that history; otherwise memory variables are updated. Of second order `old` is the
  // time level before that of `field`.
  template <class V, int STAGE, bool FROM_HISTORY = false, class Where>
  SWEEP_HD static void rates(const View& v, const Cell& c, const Value* field, const Value* old, Value* memory,
                             Where where, V* e) {
    for_axes<table.terms>([&](auto index) SWEEP_INLINE {
      constexpr int i = decltype(index)::value, r = table.term[i].rate;
      if constexpr (table.stage[r] == STAGE) {
        const V part = taken<V, i, FROM_HISTORY>(v, c, field, old, memory, where);
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
  SWEEP_HD static void gradients(const View& v, const Cell& c, Where where, const Value* now, Value* memory) {
    for_axes<table.terms>([&](auto index) SWEEP_INLINE {
      constexpr int i = decltype(index)::value;
      if constexpr (table.term[i].of == D2)
        if (where.has(table.term[i].axis)) remember<ForwardStep, V, i>(v, c, now, memory);
    });
  }

  template <class V, int STAGE, class Where>
  SWEEP_HD static void forward_stage(const View& v, const Cell& c, Where where) {
    if constexpr (second && STAGE == 0) return gradients<V>(v, c, where, v.now, v.memory);
    V e[table.rates], change[table.fields];
    rates<V, STAGE>(v, c, v.now, v.field, v.memory, where, e);
    applied<V, STAGE>(v.coefficient, v, c, e, change);
    add<V, STAGE>(v.field, v.now, v, c, where, change);
    if (v.in_slot(c)) hold<V, STAGE>(v, c, where, change, e);
  }

  // The step backward in time, outside the PML. Of second order it is u[k - 1] = 2 u[k] - u[k + 1] + change, the same
  // arithmetic on other levels. Of first order it is f <- f - change, with the stages in reverse order.
  template <class V, int STAGE, class Where>
  SWEEP_HD static void reverse_stage(const View& v, const Cell& c, Where where) {
    V e[table.rates], change[table.fields];
    rates<V, STAGE>(v, c, v.now, v.field, v.memory, where, e);
    applied<V, STAGE>(v.coefficient, v, c, e, change);
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value;
      if constexpr (!second && table.at_stage[f] == STAGE) change[f] = -change[f];
    });
    add<V, STAGE>(v.field, v.now, v, c, where, change);
    hold<V, STAGE, true>(v, c, where, change, e);
  }

  SWEEP_HD static void inject(const View& v, const Cell& c, int field, Value amount) {
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value, m = table.own(f), place = table.history_index[f];
      if (f != field) return;
      if constexpr (m >= 0) amount *= v.coefficient[v.at(table.modulus[m].coefficient, c)];
      v.field[v.at(f, c)] += amount;
      if constexpr (place >= 0)
        if (v.in_slot(c)) v.slot[v.slot_at(place, c)] += amount;
    });
  }

  // --- Born ------------------------------------------------------------------------------------------------------

  template <class V, int STAGE, class Where>
  SWEEP_HD static void born_stage(const View& v, const Cell& c, Where where) {
    if constexpr (second && STAGE == 0) {
      gradients<V>(v, c, where, v.now, v.memory);
      return gradients<V>(v, c, where, v.scattered_now, v.scattered_memory);
    }
    V e[table.rates], change[table.fields], scattered[table.rates], more[table.fields];
    for_axes<table.fields>([&](auto index) SWEEP_INLINE { more[decltype(index)::value] = every<V>(Value(0)); });
    rates<V, STAGE>(v, c, v.now, v.field, v.memory, where, e);
    rates<V, STAGE>(v, c, v.scattered_now, v.scattered, v.scattered_memory, where, scattered);
    applied<V, STAGE, false>(v.tangent, v, c, e, more);
    applied<V, STAGE>(v.coefficient, v, c, e, change);
    add<V, STAGE>(v.field, v.now, v, c, where, change);
    applied<V, STAGE>(v.coefficient, v, c, scattered, change);
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value;
      if constexpr (table.at_stage[f] == STAGE) change[f] = change[f] + more[f];
    });
    add<V, STAGE>(v.scattered, v.scattered_now, v, c, where, change);
  }

  SWEEP_HD static void scatter_source(const View& v, const Cell& c, int field, Value amount, Value varied) {
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value, m = table.own(f);
      if (f != field) return;
      if constexpr (m >= 0) {
        const ptrdiff_t at = v.at(table.modulus[m].coefficient, c);
        v.scattered[v.at(f, c)] += v.coefficient[at] * varied + v.tangent[at] * amount;
      } else {
        v.scattered[v.at(f, c)] += varied;
      }
    });
  }

 protected:
  // True for the first of all moduli of its target, or of those that have coefficients.
  static constexpr bool first_of_target(int modulus, bool all) {
    for (int m = 0; m < modulus; ++m)
      if (table.modulus[m].target == table.modulus[modulus].target && (all || table.modulus[m].coefficient >= 0))
        return false;
    return true;
  }

  // The value of one term, stretched inside a PML.
  template <class V, int I, bool FROM_HISTORY, class Where>
  SWEEP_HD static V taken(const View& v, const Cell& c, const Value* field, const Value* old, Value* memory,
                          Where where) {
    constexpr Derivative term = table.term[I];
    constexpr int a = term.axis;
    const Value* const from =
        field + (FROM_HISTORY ? v.slot_at(table.history_index[term.field], c) : v.at(term.field, c));
    if constexpr (term.of == CHANGE) {
      return Value(2) * (load<V>(from) - load<V>(old + v.at(term.field, c)));
    } else {
      V d = difference<ForwardStep, V, I, false>(v, c, from, where);
      prefetch_next_row<V>(v.layout.field, from + (a == 0 ? v.layout.half * v.layout.field.stride[0] : 0));
      if constexpr (term.memories == 2) {
        if (where.has(a)) d = stretched<ForwardStep, V, I>(v, c, memory, d);
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

  // A coefficient, or one, times a value; zero beyond the grid, so that fields stay zero there.
  template <class V, int COEFFICIENT>
  SWEEP_HD static V multiple(const Value* coefficient, const View& v, const Cell& c, V of) {
    if constexpr (COEFFICIENT >= 0) {
      const Value* const from = coefficient + v.at(COEFFICIENT, c);
      prefetch_next_row<V>(v.layout.field, from);
      return load<V>(from) * of;
    } else if constexpr (sizeof(V) > sizeof(Value)) {
      return load<V>(v.inside + c.i[NDIM - 1]) * of;
    } else {
      return of;
    }
  }

  // Computes the change of the fields of a stage: coefficients times rates. Rates without coefficients count only with
  // ALL.
  template <class V, int STAGE, bool ALL = true>
  SWEEP_HD static void applied(const Value* coefficient, const View& v, const Cell& c, const V* e, V* change) {
    for_axes<table.moduli>([&](auto index) SWEEP_INLINE {
      constexpr int i = decltype(index)::value;
      constexpr Modulus m = table.modulus[i];
      if constexpr (table.stage[m.rate] == STAGE && (ALL || m.coefficient >= 0)) {
        const V part = multiple<V, m.coefficient>(coefficient, v, c, e[m.rate]);
        if constexpr (first_of_target(i, ALL))
          change[m.target] = part;
        else
          change[m.target] = change[m.target] + part;
      }
    });
  }

  // Advances the fields of a stage. Of first order f <- f + change, where f is damped in a PML. Of second order u[k +
  // 1] = 2 u[k] - u[k - 1] + change. A field that lives within the step only is equal to its change.
  template <class V, int STAGE, class Where>
  SWEEP_HD static void add(Value* field, const Value* now, const View& v, const Cell& c, Where where, V* change) {
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value;
      if constexpr (table.at_stage[f] == STAGE) {
        constexpr bool pinned = table.pinned(f);
        if (pinned && where.near_surface() && c.i[0] == 0) change[f] = every<V>(Value(0));
        Value* const to = field + v.at(f, c);
        if constexpr (second) {
          prefetch_next_row<V>(v.layout.field, to);
          change[f] = Value(2) * load<V>(now + v.at(f, c)) - load<V>(to) + change[f];
        } else if constexpr (!table.local(f)) {
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
  SWEEP_HD static void hold(const View& v, const Cell& c, Where where, const V* made, const V* e) {
    if constexpr (table.history_holds == RATES)
      for_axes<table.rates>([&](auto index) SWEEP_INLINE {
        constexpr int r = decltype(index)::value;
        if constexpr (table.stage[r] == STAGE && table.history_index_of_rate[r] >= 0)
          stream(v.slot + v.slot_at(table.history_index_of_rate[r], c), e[r]);
      });
    else if constexpr (STAGE == table.history_stage)
      for_axes<table.fields>([&](auto index) SWEEP_INLINE {
        constexpr int f = decltype(index)::value, place = table.history_index[f];
        if constexpr (place >= 0 && READ_SOON)
          store(v.slot + v.slot_at(place, c), made[f]);
        else if constexpr (place >= 0)
          stream(v.slot + v.slot_at(place, c), made[f]);
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
