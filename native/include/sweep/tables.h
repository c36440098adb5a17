// First-order systems on a staggered grid: the tables that state them, and what a cell of a step sees.
#ifndef SWEEP_TABLES_H
#define SWEEP_TABLES_H

#include "sweep/grid.h"

namespace sweep {
inline namespace SWEEP_VARIANT {
namespace staggered {

// Axes of three dimensions. In two, what has to do with y is left out.
enum { z, y, x };
// Along which axes a field's nodes lie half a cell, and in time half a step, further.
enum : unsigned { NODE = 0, Z = 1 << z, Y = 1 << y, X = 1 << x, T = 8 };
// Values that a coefficient may have.
enum Range { POSITIVE, NOT_NEGATIVE, ANY };

struct Field {
  const char* name = nullptr;
  unsigned stagger = NODE;
  int parity = 0;     // about a free surface: -1 odd, 1 even, 0 neither
  int source = -1;    // the coefficient that a source is multiplied with, or -1
  bool deep = false;  // only in three dimensions
};
struct Coefficient {
  const char* name = nullptr;
  Range range = ANY;
};
struct Term {
  int axis = 0, field = -1;
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
  int slot = 0;          // of the memory variables of the axis
  int place = -1;        // of those that a history holds
  bool forward = false;  // whether the derivative lies half a cell further than the field
  bool first = false;    // of its rate
};

// The tables of an equation in NDIM dimensions, indices without gaps.
struct Tables {
  int fields = 0, coefficients = 0, rates = 0, terms = 0, moduli = 0, memories = 0;
  Field field[SWEEP_MAX_FIELDS] = {};
  Coefficient coefficient[SWEEP_MAX_FIELDS] = {};
  int sign[SWEEP_MAX_FIELDS] = {};
  bool half[SWEEP_MAX_FIELDS] = {};  // of a rate: what it changes lies at half steps
  Derivative term[SWEEP_MAX_TERMS] = {};
  Modulus modulus[SWEEP_MAX_TERMS] = {};
  bool kept[SWEEP_MAX_FIELDS] = {};  // of a field: its adjoint is kept beside that of its rates
  // A history holds the fields of one phase, and the memory variables of what differentiates them: the rates of the
  // other phase follow from these, and those of its own from how the fields have changed.
  bool holds = false, holds_half = false;
  int held_fields = 0, held_memories = 0;
  int place[SWEEP_MAX_FIELDS] = {};    // of a field that a history holds, or -1
  bool scaled[SWEEP_MAX_FIELDS] = {};  // of a coefficient: correlated with its own multiple of an adjoint field

  constexpr bool at_half(int f) const { return field[f].stagger & T; }
  constexpr bool pinned(int f) const { return field[f].parity < 0 && !(field[f].stagger & Z); }
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
        made.forward = !(Physics::fields[term.field].stagger >> term.axis & 1);
        made.first = first;
        for (int i = 0; i + 1 < t.terms; ++i) made.slot += t.term[i].axis == made.axis;
        if (made.slot >= t.memories) t.memories = made.slot + 1;
        first = false;
      }
    ++t.rates;
  }
  for (int c = 0; c < coefficients; ++c) {
    coefficient[c] = -1;
    for (const Modulus& m : Physics::moduli)
      if (m.coefficient == c && field[m.target] >= 0 && rate[m.rate] >= 0) coefficient[c] = t.coefficients;
    if (coefficient[c] >= 0) t.coefficient[t.coefficients++] = Physics::coefficients[c];
  }
  for (const Modulus& m : Physics::moduli)
    if (field[m.target] >= 0 && rate[m.rate] >= 0) {
      t.modulus[t.moduli++] = {field[m.target], rate[m.rate], coefficient[m.coefficient]};
      t.half[rate[m.rate]] = Physics::fields[m.target].stagger & T;
    }
  for (int f = 0; f < t.fields; ++f) {
    const int source = t.field[f].source;
    t.field[f].source = source < 0 ? -1 : coefficient[source];
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
  const auto may_hold = [&](bool half) {
    for (int f = 0; f < t.fields; ++f)
      if (t.at_half(f) == half && (t.kept[f] || t.own(f) < 0)) return false;
    return true;
  };
  int halves = 0;
  for (int f = 0; f < t.fields; ++f) halves += t.at_half(f);
  t.holds = may_hold(true) || may_hold(false);
  t.holds_half = may_hold(true) && (!may_hold(false) || 2 * halves <= t.fields);
  for (int f = 0; f < t.fields; ++f) t.place[f] = t.at_half(f) == t.holds_half ? t.held_fields++ : -1;
  int memories[3] = {};
  for (int i = 0; i < t.terms; ++i) {
    auto& term = t.term[i];
    if (t.half[term.rate] == t.holds_half) continue;
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
struct Within : Rim<MASK> {
  SWEEP_HD static constexpr bool near_surface() { return false; }
};
template <int NDIM>
struct Somewhere {
  unsigned mask;
  SWEEP_HD bool has(int axis) const { return mask >> axis & 1; }
  SWEEP_HD bool near_surface() const { return mask >> NDIM & 1; }
};

// Rows from a free surface down whose differences, or those of their transposes, are not as everywhere: a table has
// them.
SWEEP_HD constexpr int near_rows(int half) { return (half == 1 ? 1 : half > 4 ? half : 4) + half; }

template <int NDIM>
SWEEP_HD Somewhere<NDIM> somewhere(const Layout<NDIM>& layout, const int* i) {
  unsigned mask = static_cast<unsigned>(layout.surface && i[0] < near_rows(layout.half)) << NDIM;
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
  const Value* profile[NDIM][2];  // decay, gain of a padded axis at nodes; then the same half a cell further
  ptrdiff_t half_profile[NDIM];   // from the former to the latter
  const Value* closure;           // near a free surface: (fields, 2, rows, columns), see near_rows
  ptrdiff_t strips;               // from one memory variable to the next
  ptrdiff_t strip_at[NDIM];
  const Value* coefficient;  // (coefficients, frame)
  const Value* tangent;      // Born: the same
  Value* field;              // (fields, frame)
  Value* memory;             // of the terms
  Value* scattered;          // Born: fields and memory again
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

}  // namespace staggered
}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
