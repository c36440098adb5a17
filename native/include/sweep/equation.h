// What follows from the tables of an equation: the step of one cell, its adjoint and Born, for one cell or for
// the neighbours that a vector holds (V is the type of a number or a vector of them). docs/theory/elastic.md derives
// them.
#ifndef SWEEP_EQUATION_H
#define SWEEP_EQUATION_H

#include "sweep/differences.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

template <class Physics, class Value, int NDIM, int HALF>
struct Equation {
  using View = sweep::View<Value, NDIM, HALF>;
  using Cell = sweep::Cell<NDIM>;
  static constexpr Tables table = tables_of<Physics, NDIM>();
  static constexpr const char* name = Physics::name;
  static_assert(table.holds, "fields at half steps, or the others, must have one positive modulus each, their own");
  static constexpr bool second = table.second;  // order in time; then its own adjoint, as its differences are symmetric
  static_assert(!second || table.symmetric(), "a field of second order must have one modulus, of its own D2 alone");
  // Of the adjoint of second order, beside memory variables: for each modulus, and each drift.
  static constexpr int filters = [] {
    int count = 0;
    for (int f = 0; second && f < table.fields; ++f) count += 1 + (table.field[f].drift >= 0);
    return count;
  }();
  static constexpr int levels = second ? 2 : 1, memories = table.memories;
  static constexpr int ndim_mask = 1 << 2 | 1 << 3;

  // Rows from a free surface down whose differences, or those of their transposes, are not as everywhere: a table has
  // them.
  static constexpr int near_rows(int half) { return second ? half : (half == 1 ? 1 : half > 4 ? half : 4) + half; }

  static constexpr Names<table.fields> names_of_fields() {
    Names<table.fields> names = {};
    for (int f = 0; f < table.fields; ++f) names.name[f] = table.field[f].name;
    return names;
  }
  static constexpr Names<table.coefficients> names_of_coefficients() {
    Names<table.coefficients> names = {};
    for (int c = 0; c < table.coefficients; ++c) names.name[c] = table.coefficient[c].name;
    return names;
  }
  static constexpr Names<table.fields> fields = names_of_fields();
  static constexpr Names<table.coefficients> coefficients = names_of_coefficients();

  // What device code looks up by an index that it learns at run time: a bit for each, since it cannot see the tables.
  template <class Of>
  static constexpr unsigned bits(const Of& of) {
    unsigned mask = 0;
    for (int i = 0; i < SWEEP_MAX_FIELDS; ++i) mask |= static_cast<unsigned>(of(i)) << i;
    return mask;
  }
  static constexpr unsigned later = bits([](int f) { return f < table.fields && table.stage_of(f); });
  static constexpr unsigned multiples = bits([](int c) { return table.scaled[c]; });
  static constexpr unsigned squares = second ? 0 : bits([](int c) {
    for (int m = 0; m < table.moduli; ++m)
      if (table.modulus[m].coefficient == c && table.place[table.modulus[m].target] >= 0) return true;
    return false;
  });
  static constexpr unsigned any =
      bits([](int c) { return c < table.coefficients && table.coefficient[c].range == ANY; });
  static constexpr unsigned fluid =
      bits([](int c) { return c < table.coefficients && table.coefficient[c].range == NOT_NEGATIVE; });
  SWEEP_HD static int stage_of(int field) { return later >> field & 1; }
  SWEEP_HD static Range range(int c) { return any >> c & 1 ? ANY : fluid >> c & 1 ? NOT_NEGATIVE : POSITIVE; }

  // --- forward ---------------------------------------------------------------------------------------------------

  // e = sign * sum over terms of S D f, for the rates of the fields at half steps or of the others; of a history's
  // fields with the memory variables that it holds, or with new ones.
  template <class V, int STAGE, bool HELD = false, class Where>
  SWEEP_HD static void rates(const View& v, const Cell& c, const Value* field, Value* memory, Where where, V* e) {
    for_axes<table.terms>([&](auto index) SWEEP_INLINE {
      constexpr int i = decltype(index)::value, r = table.term[i].rate, a = table.term[i].axis;
      if constexpr (table.stage[r] == STAGE) {
        constexpr int f = table.term[i].field, which = HELD ? table.place[f] : f;
        constexpr int slot = HELD ? table.term[i].place : table.term[i].slot;
        const Value* const from = field + v.at(which, c);
        V d = difference<Equation, V, i, false>(v, c, from, where);
        fetch_next<V>(v.layout.field, from + (a == 0 ? v.layout.half * v.layout.field.stride[0] : 0));
        if constexpr (table.term[i].of == D2) {
          if (where.has(a)) d = stretched<Equation, V, i>(v, c, memory, d);
        } else if (where.has(a)) {
          Value* const m = memory + v.strip(a, slot, c);
          fetch_next<V>(v.layout.strip[a], m);
          V psi = load<V>(m);
          if constexpr (!HELD) {
            psi = decay<Equation, V, i>(v, c) * psi + gain<Equation, V, i>(v, c) * d;
            store(m, psi);
          }
          d = d + psi;
        }
        if constexpr (table.term[i].first)
          e[r] = d;
        else
          e[r] = e[r] + d;
      }
    });
    for_axes<table.rates>([&](auto index) SWEEP_INLINE {
      constexpr int r = decltype(index)::value;
      if constexpr (table.stage[r] == STAGE && table.sign[r] < 0) e[r] = -e[r];
    });
  }

  // What the PML remembers of fields that are differentiated twice, before they are.
  template <class V, class Where>
  SWEEP_HD static void gradients(const View& v, const Cell& c, Where where, const Value* now, Value* memory) {
    for_axes<table.terms>([&](auto index) SWEEP_INLINE {
      constexpr int i = decltype(index)::value;
      if constexpr (table.term[i].of == D2)
        if (where.has(table.term[i].axis)) remember<Equation, V, i>(v, c, now, memory);
    });
  }

  template <class V, int STAGE, class Where>
  SWEEP_HD static void grow(const View& v, const Cell& c, Where where) {
    if constexpr (second && STAGE == 0) return gradients<V>(v, c, where, v.now, v.memory);
    V e[table.rates], change[table.fields];
    rates<V, STAGE>(v, c, v.now, v.memory, where, e);
    applied<V, STAGE>(v.coefficient, v, c, e, change);
    add<V, STAGE>(v.field, v.now, v, c, where, change);
    if (v.held) hold<V, STAGE>(v, c, where, change);
  }

  SWEEP_HD static void inject(const View& v, const Cell& c, int field, Value amount) {
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value, m = table.own(f), place = table.place[f];
      if (f != field) return;
      if constexpr (m >= 0) amount *= v.coefficient[v.at(table.modulus[m].coefficient, c)];
      v.field[v.at(f, c)] += amount;
      if constexpr (place >= 0)
        if (v.held) v.held[v.at(place, c)] += amount;
    });
  }

  // --- Born ------------------------------------------------------------------------------------------------------

  template <class V, int STAGE, class Where>
  SWEEP_HD static void scatter(const View& v, const Cell& c, Where where) {
    if constexpr (second && STAGE == 0) {
      gradients<V>(v, c, where, v.now, v.memory);
      return gradients<V>(v, c, where, v.scattered_now, v.scattered_memory);
    }
    V e[table.rates], change[table.fields], scattered[table.rates], more[table.fields];
    rates<V, STAGE>(v, c, v.now, v.memory, where, e);
    rates<V, STAGE>(v, c, v.scattered_now, v.scattered_memory, where, scattered);
    applied<V, STAGE>(v.tangent, v, c, e, more);
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value, drift = table.field[f].drift;
      if constexpr (drift >= 0)
        more[f] = more[f] + load<V>(v.tangent + v.at(drift, c)) * twice_changed<V, f>(v.field, v.now, v, c);
    });
    applied<V, STAGE>(v.coefficient, v, c, e, change);
    add<V, STAGE>(v.field, v.now, v, c, where, change);
    applied<V, STAGE>(v.coefficient, v, c, scattered, change);
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value;
      if constexpr (table.stage_of(f) == STAGE) change[f] = change[f] + more[f];
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

  // --- adjoint ---------------------------------------------------------------------------------------------------

  // The transpose of what differentiates the fields of a phase, and what follows from it at their nodes: the adjoint
  // field f', its multiples e' of the rates of f, which the other phase differentiates, and images f' e.
  template <class V, int STAGE, class Where>
  SWEEP_HD static void back(const View& v, const Cell& c, Where where) {
    if constexpr (second) {
      if constexpr (STAGE)
        reverse<V>(v, c, where);
      else
        gradients<V>(v, c, where, v.now, v.memory);
      return;
    }
    V d[table.fields];
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value;
      if constexpr (table.stage_of(f) == STAGE) d[f] = every<V>(Value(0));
    });
    for_axes<table.terms>([&](auto index) SWEEP_INLINE {
      constexpr int i = decltype(index)::value, f = table.term[i].field, r = table.term[i].rate, a = table.term[i].axis;
      if constexpr (table.stage_of(f) == STAGE) {
        V back = difference<Equation, V, i, true>(v, c, v.adjoint + v.at(r, c), where);
        if (where.has(a)) back = back + memory_difference<Equation, V, i>(v, c);
        if constexpr (table.sign[r] > 0)
          d[f] = d[f] - back;
        else
          d[f] = d[f] + back;
      }
    });
    V kept[table.fields];
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value;
      if constexpr (table.stage_of(f) == STAGE) {
        constexpr bool pinned = table.pinned(f);
        if (pinned && where.near_surface() && c.i[0] == 0) d[f] = every<V>(Value(0));
        if constexpr (table.kept[f]) {
          Value* const to = v.adjoint + v.at(table.rates + f, c);
          kept[f] = load<V>(to) + d[f];
          store(to, kept[f]);
        }
      }
    });
    V change[table.rates];
    for_axes<table.moduli>([&](auto index) SWEEP_INLINE {
      constexpr Modulus m = table.modulus[decltype(index)::value];
      if constexpr (table.stage[m.rate] == STAGE) {
        const V part = load<V>(v.coefficient + v.at(m.coefficient, c)) * d[m.target];
        if constexpr (first_of_rate(decltype(index)::value))
          change[m.rate] = part;
        else
          change[m.rate] = change[m.rate] + part;
      }
    });
    V made[table.rates];
    for_axes<table.rates>([&](auto index) SWEEP_INLINE {
      constexpr int r = decltype(index)::value;
      if constexpr (table.stage[r] == STAGE) {
        Value* const to = v.adjoint + v.at(r, c);
        made[r] = load<V>(to) + change[r];
        store(to, made[r]);
      }
    });
    for_axes<table.terms>([&](auto index) SWEEP_INLINE {
      constexpr int i = decltype(index)::value, r = table.term[i].rate, a = table.term[i].axis;
      if constexpr (table.stage[r] == STAGE)
        if (where.has(a)) {
          Value* const m = v.memory + v.strip(a, table.term[i].slot, c);
          store(m, decay<Equation, V, i>(v, c) * load<V>(m) + gain<Equation, V, i>(v, c) * made[r]);
        }
    });
    V e[table.rates];
    held_rates<V, STAGE>(v, c, where, e);
    correlate<V, STAGE>(v, c, made, kept, e);
  }

  // One step of an equation that is its own adjoint, in a field that is S times the adjoint state; the image is what it
  // changes by, without S, times the forward field.
  template <class V, class Where>
  SWEEP_HD static void reverse(const View& v, const Cell& c, Where where) {
    V e[table.rates], change[table.fields];
    rates<V, 1>(v, c, v.now, v.memory, where, e);
    applied<V, 1>(v.coefficient, v, c, e, change);
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value, drift = table.field[f].drift;
      if constexpr (drift >= 0) {
        constexpr int filter = memories + table.fields + f;
        image<V, filter>(v, c, where, f, drift, twice_changed<V, f>(v.field, v.now, v, c));
      }
    });
    add<V, 1>(v.field, v.now, v, c, where, change);
    for_axes<table.moduli>([&](auto index) SWEEP_INLINE {
      constexpr Modulus m = table.modulus[decltype(index)::value];
      image<V, memories + m.target>(v, c, where, m.target, m.coefficient, e[m.rate]);
    });
  }
  template <class V, int FILTER, class Where>
  SWEEP_HD static void image(const View& v, const Cell& c, Where where, int field, int coefficient, V g) {
    for_axes<NDIM>([&](auto index) SWEEP_INLINE {
      constexpr int a = decltype(index)::value;
      if (where.has(a)) g = undo<V, a>(v, c, v.memory + v.strip(a, FILTER, c), g);
    });
    Value* const to = v.image + v.at(coefficient, c);
    store(to, load<V>(to) + load<V>(v.held + v.at(field, c)) * g);
  }
  // y of (1 + P) y = g: one number of the past is kept.
  template <class V, int A>
  SWEEP_HD static V undo(const View& v, const Cell& c, Value* past, V g) {
    const V y = (g + along<V, A>(v, c, 0) * load<V>(past)) / (every<V>(Value(1)) + along<V, A>(v, c, 1));
    store(past, y - g);
    return y;
  }
  // What a point gives such a field is stretched, and what a point takes from it is not any more; `past` holds one
  // number for each axis. S is one outside the PML.
  SWEEP_HD static Value stretch(const View& v, const Cell& c, Value* past, Value amount) {
    for_axes<NDIM>([&](auto index) SWEEP_INLINE {
      constexpr int a = decltype(index)::value;
      past[a] = along<Value, a>(v, c, 0) * past[a] + along<Value, a>(v, c, 1) * amount;
      amount += past[a];
    });
    return amount;
  }
  SWEEP_HD static Value unstretch(const View& v, const Cell& c, Value* past, Value value) {
    for_axes<NDIM>([&](auto index) SWEEP_INLINE {
      constexpr int a = decltype(index)::value;
      value = undo<Value, a>(v, c, past + a, value);
    });
    return value;
  }

  // A residual into the adjoint field, after the cells of its phase were made.
  template <int STAGE>
  SWEEP_HD static void inject_back(const View& v, const Cell& c, int field, Value amount, Value* past) {
    if constexpr (second) {
      for_axes<table.moduli>([&](auto index) SWEEP_INLINE {
        constexpr Modulus m = table.modulus[decltype(index)::value];
        if (m.target == field) v.image[v.at(m.coefficient, c)] += v.held[v.at(m.target, c)] * amount;
      });
      amount = stretch(v, c, past, amount);
      for_axes<table.fields>([&](auto index) SWEEP_INLINE {
        constexpr int f = decltype(index)::value, m = table.own(f);
        if constexpr (m >= 0)
          if (f == field) v.field[v.at(f, c)] += v.coefficient[v.at(table.modulus[m].coefficient, c)] * amount;
      });
      return;
    }
    Value e[table.rates];
    held_rates<Value, STAGE>(v, c, somewhere(v.layout, c.i), e);
    for_axes<table.moduli>([&](auto index) SWEEP_INLINE {
      constexpr Modulus m = table.modulus[decltype(index)::value];
      constexpr int r = m.rate;
      constexpr bool kept = table.kept[m.target];
      if constexpr (table.stage[r] != STAGE) return;
      if (m.target != field) return;
      const Value part = v.coefficient[v.at(m.coefficient, c)] * amount;
      v.adjoint[v.at(m.rate, c)] += part;
      for_axes<table.terms>([&](auto inner) SWEEP_INLINE {
        constexpr int i = decltype(inner)::value, a = table.term[i].axis;
        if constexpr (table.term[i].rate == r)
          if (v.layout.in_rim(a, c.i[a]))
            v.memory[v.strip(a, table.term[i].slot, c)] += gain<Equation, Value, i>(v, c) * part;
      });
      v.image[v.at(m.coefficient, c)] += (kept ? amount : part) * e[r];
    });
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value;
      if constexpr (table.kept[f])
        if (f == field) v.adjoint[v.at(table.rates + f, c)] += amount;
    });
  }

  // Whether there are sources that held_rates know nothing of, though they are multiplied with a modulus.
  template <int STAGE>
  static constexpr bool recalls = [] {
    for (int f = 0; f < table.fields; ++f)
      if (table.stage_of(f) == STAGE && table.place[f] < 0 && table.own(f) >= 0) return true;
    return false;
  }();
  SWEEP_HD static void correlate_source(const View& v, const Cell& c, int field, Value amount) {
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value, m = table.own(f);
      if constexpr (m >= 0 && table.place[f] < 0) {
        constexpr int seen = table.kept[f] ? table.rates + f : table.modulus[m].rate;
        if (f == field) v.image[v.at(table.modulus[m].coefficient, c)] += v.adjoint[v.at(seen, c)] * amount;
      }
    });
  }

  // What a source of the forward run takes from the adjoint field.
  SWEEP_HD static Value taken(const View& v, const Cell& c, int field, Value* past) {
    if constexpr (second) return unstretch(v, c, past, v.field[v.at(field, c)]);
    Value value = 0;
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value, m = table.own(f);
      if (f != field) return;
      if constexpr (table.kept[f]) {
        value = v.adjoint[v.at(table.rates + f, c)];
        if constexpr (m >= 0) value *= v.coefficient[v.at(table.modulus[m].coefficient, c)];
      } else {
        constexpr Modulus only = table.modulus[sole(f)];
        value = v.adjoint[v.at(only.rate, c)];
        if constexpr (m < 0) value /= v.coefficient[v.at(only.coefficient, c)];
      }
    });
    return value;
  }

  // d misfit / d coefficient of one cell from what was correlated; coefficients lie `cells` apart.
  SWEEP_HD static Value gradient(int c, const Value* coefficient, ptrdiff_t cells, Value image) {
    if constexpr (second) {
      for_axes<table.fields>([&](auto index) SWEEP_INLINE {
        constexpr int f = decltype(index)::value, own = table.modulus[table.own(f)].coefficient;
        if (c == own || c == table.field[f].drift) image /= coefficient[own * cells];
      });
      return image;
    }
    if (multiples >> c & 1) image /= coefficient[c * cells];
    return squares >> c & 1 ? image / coefficient[c * cells] : image;
  }

 private:
  static constexpr int sole(int f) {
    for (int m = 0; m < table.moduli; ++m)
      if (table.modulus[m].target == f) return m;
    return -1;
  }
  static constexpr bool first_of_rate(int modulus) {
    for (int m = 0; m < modulus; ++m)
      if (table.modulus[m].rate == table.modulus[modulus].rate) return false;
    return true;
  }
  static constexpr bool first_of_target(int modulus) {
    for (int m = 0; m < modulus; ++m)
      if (table.modulus[m].target == table.modulus[modulus].target) return false;
    return true;
  }

  // The row after that of a cell: in space a processor does not see so many of them coming.
  template <class V>
  SWEEP_HD static void fetch_next(const Frame<NDIM>& frame, const Value* at) {
    if constexpr (NDIM == 3) fetch<V>(at + frame.stride[1]);
  }

  template <class V, int STAGE>
  SWEEP_HD static void applied(const Value* coefficient, const View& v, const Cell& c, const V* e, V* change) {
    for_axes<table.moduli>([&](auto index) SWEEP_INLINE {
      constexpr Modulus m = table.modulus[decltype(index)::value];
      if constexpr (table.stage[m.rate] == STAGE) {
        const Value* const from = coefficient + v.at(m.coefficient, c);
        const V part = load<V>(from) * e[m.rate];
        fetch_next<V>(v.layout.field, from);
        if constexpr (first_of_target(decltype(index)::value))
          change[m.target] = part;
        else
          change[m.target] = change[m.target] + part;
      }
    });
  }
  // Decay and gain of an axis at nodes.
  template <class V, int A>
  SWEEP_HD static V along(const View& v, const Cell& c, int which) {
    const Value* const at = v.profile[A][which] + c.i[A];
    if constexpr (A == NDIM - 1)
      return load<V>(at);
    else
      return every<V>(*at);
  }

  // 2 (u[k] - u[k - 1]) of a field of second order, before u[k + 1] takes the place of u[k - 1].
  template <class V, int F>
  SWEEP_HD static V twice_changed(const Value* field, const Value* now, const View& v, const Cell& c) {
    return Value(2) * (load<V>(now + v.at(F, c)) - load<V>(field + v.at(F, c)));
  }
  // f <- f + change; of second order u[k + 1] = 2 u[k] - u[k - 1] + change, or with a drift d = 1 / (1 + gamma dt),
  // u[k + 1] = u[k - 1] + 2 d (u[k] - u[k - 1]) + change, which loses energy.
  template <class V, int STAGE, class Where>
  SWEEP_HD static void add(Value* field, const Value* now, const View& v, const Cell& c, Where where, V* change) {
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value;
      if constexpr (table.stage_of(f) == STAGE) {
        constexpr bool pinned = table.pinned(f);
        if (pinned && where.near_surface() && c.i[0] == 0) change[f] = every<V>(Value(0));
        Value* const to = field + v.at(f, c);
        fetch_next<V>(v.layout.field, to);
        if constexpr (second && table.field[f].drift < 0)
          change[f] = Value(2) * load<V>(now + v.at(f, c)) - load<V>(to) + change[f];
        else if constexpr (second)
          change[f] = load<V>(to) +
                      load<V>(v.coefficient + v.at(table.field[f].drift, c)) * twice_changed<V, f>(field, now, v, c) +
                      change[f];
        else
          change[f] = load<V>(to) + change[f];
        store(to, change[f]);
      }
    });
  }
  // Into the history: fields as this phase has made them, or its memory variables.
  template <class V, int STAGE, class Where>
  SWEEP_HD static void hold(const View& v, const Cell& c, Where where, const V* made) {
    if constexpr (STAGE == table.held)
      for_axes<table.fields>([&](auto index) SWEEP_INLINE {
        constexpr int f = decltype(index)::value, place = table.place[f];
        if constexpr (place >= 0) stream(v.held + v.at(place, c), made[f]);
      });
    else
      for_axes<table.terms>([&](auto index) SWEEP_INLINE {
        constexpr Derivative t = table.term[decltype(index)::value];
        if constexpr (t.place >= 0)
          if (where.has(t.axis))
            store(v.held_memory + v.strip(t.axis, t.place, c), load<V>(v.memory + v.strip(t.axis, t.slot, c)));
      });
  }
  // What the history tells of the rates of this unit: those of held fields times their moduli.
  template <class V, int STAGE, class Where>
  SWEEP_HD static void held_rates(const View& v, const Cell& c, Where where, V* e) {
    if constexpr (STAGE == table.held)
      for_axes<table.fields>([&](auto index) SWEEP_INLINE {
        constexpr int f = decltype(index)::value, place = table.place[f];
        if constexpr (place >= 0) {
          constexpr int r = table.modulus[sole(f)].rate;
          const ptrdiff_t at = v.at(place, c);
          fetch<V>(v.before + at + v.layout.field.stride[NDIM - 2]);
          e[r] = load<V>(v.held + at) - load<V>(v.before + at);
        }
      });
    else
      rates<V, STAGE, true>(v, c, table.held ? v.before : v.held, v.held_memory, where, e);
  }
  template <class V, int STAGE>
  SWEEP_HD static void correlate(const View& v, const Cell& c, const V* made, const V* kept, const V* e) {
    for_axes<table.coefficients>([&](auto index) SWEEP_INLINE {
      constexpr int k = decltype(index)::value;
      if constexpr (used<STAGE>(k)) {
        V sum = load<V>(v.image + v.at(k, c));
        for_axes<table.moduli>([&](auto inner) SWEEP_INLINE {
          constexpr Modulus m = table.modulus[decltype(inner)::value];
          if constexpr (m.coefficient == k && table.stage[m.rate] == STAGE) {
            if constexpr (table.kept[m.target])
              sum = sum + kept[m.target] * e[m.rate];
            else
              sum = sum + made[m.rate] * e[m.rate];
          }
        });
        store(v.image + v.at(k, c), sum);
      }
    });
  }
  template <int STAGE>
  static constexpr bool used(int k) {
    for (int m = 0; m < table.moduli; ++m)
      if (table.modulus[m].coefficient == k && table.stage[table.modulus[m].rate] == STAGE) return true;
    return false;
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
