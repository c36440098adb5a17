// Wave equations as tables: systems of first order in time on a staggered grid, or of second order on a regular one;
// and what a cell of a step sees.
#ifndef SWEEP_TABLES_H
#define SWEEP_TABLES_H

#include "sweep/grid.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// Axes of three dimensions. In two, what has to do with y is left out.
enum { z, y, x };
// Along which axes a field's nodes lie half a cell, and in time half a step, further.
enum : unsigned { NODE = 0, Z = 1 << z, Y = 1 << y, X = 1 << x, T = 8 };
// A difference: staggered, half a cell further or back; or central, of second order, as a wave equation has them.
enum Operator { D, D2 };
// Values that a coefficient may have.
enum Range { POSITIVE, NOT_NEGATIVE, ANY };

struct Field {
  const char* name = nullptr;
  unsigned stagger = NODE;
  int parity = 0;     // about a free surface: -1 odd, 1 even, 0 neither
  int source = -1;    // the coefficient that a source is multiplied with, or -1
  bool deep = false;  // only in three dimensions
  int order = 1;      // of its derivative in time, the same for all fields of an equation
  int drift = -1;     // of order 2: the coefficient of what it has changed by, twice, or -1: one; see Equation::add
};
struct Coefficient {
  const char* name = nullptr;
  Range range = ANY;
};
struct Term {
  int axis = 0, field = -1;
  Operator of = D;
};
// `sign` times the sum over terms of the derivative of a field along an axis.
struct Rate {
  Term terms[3];
  int sign = 1;
};
// Field `target` grows by `coefficient` times `rate`.
struct Modulus {
  int target = 0, rate = 0, coefficient = 0;
};

// A term with what follows for it.
struct Derivative {
  int rate = 0, axis = 0, field = 0;
  Operator of = D;
  int slot = 0;          // of the memory variables of the axis
  int place = -1;        // of those that a history holds
  bool forward = false;  // whether the derivative lies half a cell further than the field
  bool first = false;    // of its rate
};

// The tables of an equation in NDIM dimensions, indices without gaps.
struct Tables {
  int fields = 0, coefficients = 0, rates = 0, terms = 0, moduli = 0, memories = 0;
  bool second = false;  // whether fields are of second order in time
  Field field[SWEEP_MAX_FIELDS] = {};
  Coefficient coefficient[SWEEP_MAX_FIELDS] = {};
  int sign[SWEEP_MAX_FIELDS] = {};
  int stage[SWEEP_MAX_FIELDS] = {};  // of a rate: that of the fields that it changes
  Derivative term[SWEEP_MAX_TERMS] = {};
  Modulus modulus[SWEEP_MAX_TERMS] = {};
  bool kept[SWEEP_MAX_FIELDS] = {};  // of a field: its adjoint is kept beside that of its rates
  // A history holds the fields of one stage, and the memory variables of what differentiates them: the rates of the
  // other stage follow from these, and those of its own from how the fields have changed.
  bool holds = false;
  int held = 1;
  int held_fields = 0, held_memories = 0;
  int place[SWEEP_MAX_FIELDS] = {};    // of a field that a history holds, or -1
  bool scaled[SWEEP_MAX_FIELDS] = {};  // of a coefficient: correlated with its own multiple of an adjoint field

  // A step makes fields at whole steps, then those at half steps. Where they are of second order, their PML comes
  // first.
  constexpr int stage_of(int f) const { return second || field[f].stagger & T; }
  constexpr bool pinned(int f) const { return field[f].parity < 0 && !(field[f].stagger & Z); }
  // Whether fields of second order depend on themselves alone, by one modulus, so that each is its own adjoint.
  constexpr bool symmetric() const {
    for (int i = 0; i < terms; ++i) {
      int own = 0, others = 0;
      for (int m = 0; m < moduli; ++m)
        (modulus[m].rate == term[i].rate && modulus[m].target == term[i].field ? own : others) +=
            modulus[m].rate == term[i].rate || modulus[m].target == term[i].field;
      if (term[i].of != D2 || own != 1 || others) return false;
    }
    for (int f = 0; f < fields; ++f)
      if (field[f].order != 2 || own(f) < 0) return false;
    return true;
  }
  constexpr int own(int f) const {  // the modulus whose coefficient multiplies a source into field f, or -1
    for (int m = 0; m < moduli; ++m)
      if (modulus[m].target == f && modulus[m].coefficient == field[f].source) return m;
    return -1;
  }
};

template <class Physics, int NDIM>
constexpr Tables tables_of() {
  constexpr int fields = sizeof(Physics::fields) / sizeof(Field), rates = sizeof(Physics::rates) / sizeof(Rate);
  constexpr int coefficients = sizeof(Physics::coefficients) / sizeof(Coefficient);
  Tables t;
  int field[fields] = {}, rate[rates] = {}, coefficient[coefficients] = {};
  t.second = Physics::fields[0].order == 2;
  const auto there = [&](const Term& term) {
    return term.field >= 0 && field[term.field] >= 0 && (NDIM == 3 || term.axis != y);
  };
  for (int f = 0; f < fields; ++f) {
    field[f] = NDIM == 3 || !Physics::fields[f].deep ? t.fields : -1;
    if (field[f] >= 0) t.field[t.fields++] = Physics::fields[f];
  }
  for (int r = 0; r < rates; ++r) {
    bool used = false, any = false;
    for (const Modulus& m : Physics::moduli) used |= m.rate == r && field[m.target] >= 0;
    for (const Term& term : Physics::rates[r].terms) any |= there(term);
    rate[r] = used && any ? t.rates : -1;
    if (rate[r] < 0) continue;
    t.sign[t.rates] = Physics::rates[r].sign;
    bool first = true;
    for (const Term& term : Physics::rates[r].terms)
      if (there(term)) {
        auto& made = t.term[t.terms++];
        made.rate = t.rates;
        made.axis = NDIM == 2 && term.axis == x ? 1 : term.axis;
        made.field = field[term.field];
        made.of = term.of;
        made.forward = !(Physics::fields[term.field].stagger >> term.axis & 1);
        made.first = first;
        const int width = made.of == D2 ? 2 : 1;
        for (int i = 0; i + 1 < t.terms; ++i)
          if (t.term[i].axis == made.axis) made.slot += width;
        if (made.slot + width > t.memories) t.memories = made.slot + width;
        first = false;
      }
    ++t.rates;
  }
  for (int c = 0; c < coefficients; ++c) {
    coefficient[c] = -1;
    for (const Modulus& m : Physics::moduli)
      if (m.coefficient == c && field[m.target] >= 0 && rate[m.rate] >= 0) coefficient[c] = t.coefficients;
    for (int f = 0; f < fields; ++f)
      if (Physics::fields[f].drift == c && field[f] >= 0) coefficient[c] = t.coefficients;
    if (coefficient[c] >= 0) t.coefficient[t.coefficients++] = Physics::coefficients[c];
  }
  for (const Modulus& m : Physics::moduli)
    if (field[m.target] >= 0 && rate[m.rate] >= 0) {
      t.modulus[t.moduli++] = {field[m.target], rate[m.rate], coefficient[m.coefficient]};
      t.stage[rate[m.rate]] = t.stage_of(field[m.target]);
    }
  for (int f = 0; f < t.fields; ++f) {
    const int source = t.field[f].source;
    t.field[f].source = source < 0 ? -1 : coefficient[source];
    if (t.field[f].drift >= 0) t.field[f].drift = coefficient[t.field[f].drift];
    int of_field = 0, of_rate = 0;
    bool positive = true;
    for (int m = 0; m < t.moduli; ++m) {
      if (t.modulus[m].target != f) continue;
      ++of_field;
      positive &= t.coefficient[t.modulus[m].coefficient].range == POSITIVE;
      for (int n = 0; n < t.moduli; ++n) of_rate += t.modulus[n].rate == t.modulus[m].rate;
    }
    t.kept[f] = of_field > 1 || of_rate > 1 || !positive;
  }
  for (int m = 0; m < t.moduli; ++m) t.scaled[t.modulus[m].coefficient] = !t.kept[t.modulus[m].target];
  const auto may_hold = [&](int stage) {
    for (int f = 0; f < t.fields; ++f)
      if (t.stage_of(f) == stage && (t.kept[f] || t.own(f) < 0)) return false;
    return true;
  };
  int later = 0;
  for (int f = 0; f < t.fields; ++f) later += t.stage_of(f);
  t.holds = t.second || may_hold(1) || may_hold(0);
  t.held = t.second || (may_hold(1) && (!may_hold(0) || 2 * later <= t.fields));
  for (int f = 0; f < t.fields; ++f) t.place[f] = t.stage_of(f) == t.held ? t.held_fields++ : -1;
  int memories[3] = {};
  for (int i = 0; i < t.terms; ++i) {
    auto& term = t.term[i];
    if (t.stage[term.rate] == t.held) continue;
    term.place = memories[term.axis]++;
    if (term.place >= t.held_memories) t.held_memories = term.place + 1;
  }
  return t;
}

// Names as a list that has their number, as an array would.
template <int N>
struct Names {
  const char* name[N];
  constexpr const char* operator[](int i) const { return name[i]; }
};

// Whether a cell lies in the PML of an axis or near a free surface: known to the compiler, or read at run time.
template <unsigned MASK>
struct Within {
  SWEEP_HD static constexpr bool has(int axis) { return MASK >> axis & 1; }
  SWEEP_HD static constexpr bool near_surface() { return false; }
};
template <int NDIM>
struct Somewhere {
  unsigned mask;
  SWEEP_HD bool has(int axis) const { return mask >> axis & 1; }
  SWEEP_HD bool near_surface() const { return mask >> NDIM & 1; }
};

template <int NDIM>
SWEEP_HD Somewhere<NDIM> somewhere(const Layout<NDIM>& layout, const int* i) {
  unsigned mask = static_cast<unsigned>(i[0] < layout.near) << NDIM;
  for (int a = 0; a < NDIM; ++a) mask |= static_cast<unsigned>(layout.in_rim(a, i[a])) << a;
  return {mask};
}

template <class V, class Value>
SWEEP_HD V load(const Value* from) {
  if constexpr (sizeof(V) == sizeof(Value))
    return *from;
  else
    return V::load(from);
}
template <class V, class Value>
SWEEP_HD V every(Value value) {
  if constexpr (sizeof(V) == sizeof(Value))
    return value;
  else
    return V::every(value);
}
template <class V, class Value>
SWEEP_HD void store(Value* to, V value) {
  if constexpr (sizeof(V) == sizeof(Value))
    *to = value;
  else
    value.store(to);
}

// What will be read much later, or never: it need not stay in the cache.
template <class V, class Value>
SWEEP_HD void stream(Value* to, V value) {
  if constexpr (sizeof(V) == sizeof(Value))
    *to = value;
  else
    value.stream(to);
}
// What a neighbour will read soon.
template <class V, class Value>
SWEEP_HD void fetch(const Value* from) {
  if constexpr (sizeof(V) > sizeof(Value)) V::fetch(from);
}

// One shot at one step, as the cells of a step see it.
template <class Value, int NDIM, int HALF>
struct View {
  static constexpr bool knows_order = HALF > 0;
  Layout<NDIM> layout;
  Taps<Value, HALF> taps[NDIM];
  Taps<Value, HALF> taps2[NDIM];  // of second differences, and their centre
  Value centre[NDIM];
  const Value* profile[NDIM][2];  // decay, gain of a padded axis at nodes; then the same half a cell further
  ptrdiff_t half_profile[NDIM];   // from the former to the latter
  const Value* closure;           // near a free surface: (fields, 2, near, near + half)
  ptrdiff_t strips;               // from one memory variable to the next
  ptrdiff_t strip_at[NDIM];
  const Value* coefficient;  // (coefficients, frame)
  const Value* tangent;      // Born: the same
  Value* field;              // (fields, frame); where the equation is of second order, of the level that is made
  const Value* now;          // then the level before that
  Value* memory;             // of the terms
  Value* scattered;          // Born: fields, what they are made of, and memory again
  const Value* scattered_now;
  Value* scattered_memory;
  Value* held;          // (held fields, frame) after this unit: forward writes, adjoint reads; may be null
  const Value* before;  // the same after the unit before
  Value* held_memory;   // of this unit
  Value* adjoint;       // (rates, frame): the adjoint field times the moduli; then (fields, frame): that of those kept
  Value* image;         // adjoint: (coefficients, frame), summed over steps and shots

  SWEEP_HD ptrdiff_t at(int which, const Cell<NDIM>& c) const { return which * layout.field.total + c.at; }
  SWEEP_HD ptrdiff_t strip(int axis, int slot, const Cell<NDIM>& c) const {
    return slot * strips + strip_at[axis] + layout.in_strip(axis, c);
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
