// Wave equations as tables: what they state, and what follows from it before any number is known.
#ifndef SWEEP_KERNEL_TABLES_H
#define SWEEP_KERNEL_TABLES_H

#include "sweep/core/portable.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// Axes of three dimensions. In two, what has to do with y is left out.
enum { z, y, x };
// Along which axes a field's nodes lie half a cell, and in time half a step, further.
enum : unsigned { NODE = 0, Z = 1 << z, Y = 1 << y, X = 1 << x, T = 8 };
// What is taken of a field along an axis: its staggered difference, which lies half a cell further; the central first
// and second difference, and the mean of the nodes around half a cell further. Or, along none, the field itself, and of
// second order twice its change, 2 (u[k] - u[k - 1]).
enum Operator { D, D1, D2, MEAN, SAME, CHANGE };  // as sweep_operator
// Values that a coefficient may have.
enum Range { POSITIVE, NOT_NEGATIVE, ANY };

struct Field {
  const char* name = nullptr;
  unsigned stagger = NODE;
  int parity = 0;     // about a free surface: -1 odd, 1 even, 0 neither
  int source = -1;    // the coefficient that a source is multiplied with, or -1
  bool deep = false;  // only in three dimensions
  int order = 1;      // of its derivative in time: 2 for all fields or none, 0 where it lives within a step only
};
struct Coefficient {
  const char* name = nullptr;
  Range range = ANY;
};
struct Term {
  int axis = 0, field = -1;
};
// `sign` times the sum over terms of what is taken of a field along an axis. The PML of the axis stretches differences.
struct Rate {
  Term terms[3];
  int sign = 1;
  Operator of = D;
  bool stretched = true;
};
enum { ONE = -1 };
// Field `target` grows by `coefficient`, or ONE, times `rate`.
struct Modulus {
  int target = 0, rate = 0, coefficient = ONE;
};

// A term with what follows for it.
struct Derivative {
  int rate = 0, axis = 0, field = 0;
  Operator of = D;
  int memories = 0;        // that its PML needs
  int slot = 0;            // of those among all of the axis
  int history_index = -1;  // of those that a history holds
  int closure = 0;         // where it is along z: its rows under a free surface
  bool forward = false;    // whether it lies half a cell further than the field
  bool first = false;      // of its rate
  constexpr bool between() const { return of == D || of == MEAN; }
  constexpr bool odd() const { return of == D || of == D1; }  // whether its transpose is minus itself, far from faces
};

// What a history holds, of each unit.
enum HistoryContent {
  FIELDS,  // those of one stage, and the memory variables of what differentiates them: the rates of the other stage
           // follow from these, and those of its own from how the fields have changed
  RATES,   // all that are multiplied with coefficients
};

// The tables of an equation in NDIM dimensions, indices without gaps.
struct Tables {
  int fields = 0, coefficients = 0, rates = 0, terms = 0, moduli = 0, memories = 0, stages = 0, closures = 0;
  bool second = false;  // whether fields are of second order in time
  bool sound = true;    // whether fields read only what was made before them
  Field field[SWEEP_MAX_FIELDS] = {};
  Coefficient coefficient[SWEEP_MAX_FIELDS] = {};
  int sign[SWEEP_MAX_FIELDS] = {};
  bool stretched[SWEEP_MAX_FIELDS] = {};  // a rate by the PML
  int at_stage[SWEEP_MAX_FIELDS] = {};    // of a field
  int stage[SWEEP_MAX_FIELDS] = {};       // of a rate: that of the fields that it changes
  Derivative term[SWEEP_MAX_TERMS] = {};
  Modulus modulus[SWEEP_MAX_TERMS] = {};
  bool separate_adjoint[SWEEP_MAX_FIELDS] = {};  // of a field: its adjoint is computed beside that of its rates
  HistoryContent history_holds = RATES;
  int history_stage = -1;  // the stage whose fields a history holds
  int history_fields = 0, history_memories = 0;
  int history_index[SWEEP_MAX_FIELDS] = {};          // of a field that a history holds, or -1
  int history_index_of_rate[SWEEP_MAX_FIELDS] = {};  // of a rate that it holds, or -1
  bool scaled[SWEEP_MAX_FIELDS] = {};  // of a coefficient: correlated with its own multiple of an adjoint field

  constexpr bool later(int f) const { return field[f].stagger & T; }  // known half a step after others
  constexpr bool local(int f) const { return field[f].order == 0; }
  // Whether term i lies half a cell further along its axis than whole nodes.
  constexpr bool between(int i) const { return term[i].between() ? term[i].forward : !term[i].forward; }
  template <class Of>
  constexpr bool any_made(int in_stage, const Of& of) const {  // of the fields that a stage makes
    for (int f = 0; f < fields; ++f)
      if (at_stage[f] == in_stage && of(f)) return true;
    return false;
  }
  constexpr bool pinned(int f) const { return field[f].parity < 0 && !(field[f].stagger & Z); }
  // Whether fields of second order depend on themselves alone, by one modulus of second differences, whose coefficient
  // multiplies their sources, so that each is its own adjoint.
  constexpr bool symmetric() const {
    for (int f = 0; f < fields; ++f)
      if (field[f].order != 2 || own(f) < 0) return false;
    for (int m = 0; m < moduli; ++m)
      for (int i = 0; i < terms; ++i)
        if (term[i].rate == modulus[m].rate &&
            (term[i].field != modulus[m].target || term[i].of != (m == own(term[i].field) ? D2 : CHANGE)))
          return false;
    return true;
  }
  // Whether a step can be undone where no PML is: fields change by differences of others alone, and a history holds
  // fields.
  constexpr bool reversible() const {
    for (int i = 0; i < terms; ++i)
      if (term[i].of != D && term[i].of != D2) return false;
    return history_holds == FIELDS;
  }
  constexpr int own(int f) const {  // the modulus whose coefficient multiplies a source into field f, or -1
    for (int m = 0; m < moduli; ++m)
      if (modulus[m].target == f && modulus[m].coefficient >= 0 && modulus[m].coefficient == field[f].source) return m;
    return -1;
  }
};

// What Physics states, without what has fields or axes that NDIM dimensions lack.
template <class Physics, int NDIM>
constexpr Tables stated() {
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
    const Rate& said = Physics::rates[r];
    bool used = false, any = false;
    for (const Modulus& m : Physics::moduli) used |= m.rate == r && field[m.target] >= 0;
    for (const Term& term : said.terms) any |= there(term);
    rate[r] = used && any ? t.rates : -1;
    if (rate[r] < 0) continue;
    t.sign[t.rates] = said.sign;
    t.stretched[t.rates] = said.stretched;
    bool first = true;
    for (const Term& term : said.terms)
      if (there(term)) {
        auto& made = t.term[t.terms++];
        made.rate = t.rates;
        made.axis = NDIM == 2 && term.axis == x ? 1 : term.axis;
        made.field = field[term.field];
        made.of = said.of;
        made.forward = !(Physics::fields[term.field].stagger >> term.axis & 1);
        made.first = first;
        made.memories = !said.stretched ? 0 : said.of == D2 ? 2 : said.of == D || said.of == D1;
        for (int i = 0; i + 1 < t.terms; ++i)
          if (t.term[i].axis == made.axis) made.slot += t.term[i].memories;
        if (made.slot + made.memories > t.memories) t.memories = made.slot + made.memories;
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
    if (field[m.target] >= 0 && rate[m.rate] >= 0)
      t.modulus[t.moduli++] = {field[m.target], rate[m.rate], m.coefficient < 0 ? ONE : coefficient[m.coefficient]};
  for (int f = 0; f < t.fields; ++f)
    if (t.field[f].source >= 0) t.field[f].source = coefficient[t.field[f].source];
  return t;
}

// A step makes fields at whole steps, then those at half steps; before either, one after the other, what lives within
// the step only and is made of the others. Of second order, what the PML remembers comes first.
constexpr void order_stages(Tables& t) {
  int depth[SWEEP_MAX_FIELDS] = {};  // of fields that live within a step only
  const auto reads = [&t](int f, int other) {
    for (int m = 0; m < t.moduli; ++m)
      for (int i = 0; i < t.terms; ++i)
        if (t.modulus[m].target == f && t.term[i].rate == t.modulus[m].rate && t.term[i].field == other) return true;
    return false;
  };
  int deepest = 0;
  for (int round = 0; round <= t.fields; ++round)
    for (int f = 0; f < t.fields; ++f)
      for (int g = 0; g < t.fields; ++g)
        if (t.local(f) && t.local(g) && reads(f, g) && depth[f] <= depth[g]) {
          depth[f] = depth[g] + 1;
          if (depth[f] > deepest) deepest = depth[f];
        }
  t.sound = deepest <= t.fields;
  if (t.second) {
    t.stages = 2;
    for (int f = 0; f < t.fields; ++f) t.at_stage[f] = 1;
  } else {
    // What is made of fields at half steps, and those at whole steps; then the others.
    for (int half = 0; half < 2; ++half) {
      for (int d = 0; d <= deepest && t.sound; ++d) {
        bool any = false;
        for (int f = 0; f < t.fields; ++f)
          if (t.local(f) && t.later(f) != half && depth[f] == d) any = true, t.at_stage[f] = t.stages;
        t.stages += any;
      }
      for (int f = 0; f < t.fields; ++f)
        if (!t.local(f) && t.later(f) == half) t.at_stage[f] = t.stages;
      ++t.stages;
    }
  }
  for (int m = 0; m < t.moduli; ++m) t.stage[t.modulus[m].rate] = t.at_stage[t.modulus[m].target];
  for (int m = 0; m < t.moduli; ++m) {
    const int target = t.modulus[m].target;
    t.sound &= t.stage[t.modulus[m].rate] == t.at_stage[target];
    for (int i = 0; i < t.terms && !t.second; ++i) {
      const auto& term = t.term[i];
      if (term.rate != t.modulus[m].rate) continue;
      t.sound &= term.of != D2 && term.of != CHANGE;
      if (t.at_stage[term.field] == t.at_stage[target]) t.sound &= term.of == SAME && !t.local(target);
    }
  }
}

// Rows of a free surface: those of each field and operator that is taken along z, in this order.
constexpr void close_surface(Tables& t) {
  for (int f = 0; f < t.fields; ++f)
    for (int of = D; of <= MEAN; ++of) {
      bool any = false;
      for (int i = 0; i < t.terms; ++i)
        if (t.term[i].axis == 0 && t.term[i].field == f && t.term[i].of == of)
          any = true, t.term[i].closure = t.closures;
      t.closures += any;
    }
}

// Which adjoint fields are computed beside their multiples, and what a history holds.
constexpr void choose_history(Tables& t) {
  for (int f = 0; f < t.fields; ++f) {
    int of_field = 0, of_rate = 0;
    bool positive = true;
    for (int m = 0; m < t.moduli; ++m) {
      if (t.modulus[m].target != f) continue;
      ++of_field;
      positive &= t.modulus[m].coefficient < 0 || t.coefficient[t.modulus[m].coefficient].range == POSITIVE;
      for (int n = 0; n < t.moduli; ++n) of_rate += t.modulus[n].rate == t.modulus[m].rate;
    }
    t.separate_adjoint[f] = of_field > 1 || of_rate > 1 || !positive;
  }
  // Where two fields share a coefficient, both are or none.
  for (int round = 0; round < t.moduli; ++round)
    for (int m = 0; m < t.moduli; ++m)
      for (int n = 0; n < t.moduli; ++n)
        if (t.modulus[m].coefficient >= 0 && t.modulus[m].coefficient == t.modulus[n].coefficient)
          t.separate_adjoint[t.modulus[n].target] |= t.separate_adjoint[t.modulus[m].target];
  for (int m = 0; m < t.moduli; ++m)
    if (t.modulus[m].coefficient >= 0) t.scaled[t.modulus[m].coefficient] = !t.separate_adjoint[t.modulus[m].target];

  bool plain = t.stages == 2;
  for (int i = 0; i < t.terms; ++i) plain &= t.term[i].of != SAME;
  const auto may_hold = [&t, plain](int stage) {
    for (int f = 0; f < t.fields; ++f)
      if (t.at_stage[f] == stage && (t.separate_adjoint[f] || t.own(f) < 0)) return false;
    return plain;
  };
  int later = 0;
  for (int f = 0; f < t.fields; ++f) later += t.at_stage[f];
  if (t.second || may_hold(1) || may_hold(0)) {
    t.history_holds = FIELDS;
    t.history_stage = t.second || (may_hold(1) && (!may_hold(0) || 2 * later <= t.fields));
  }
  for (int f = 0; f < t.fields; ++f) t.history_index[f] = t.at_stage[f] == t.history_stage ? t.history_fields++ : -1;
  for (int r = 0; r < t.rates; ++r) {
    bool multiplied = false;
    for (int m = 0; m < t.moduli; ++m) multiplied |= t.modulus[m].rate == r && t.modulus[m].coefficient >= 0;
    t.history_index_of_rate[r] = t.history_holds == RATES && multiplied ? t.history_fields++ : -1;
  }
  int memories[3] = {};
  for (int i = 0; i < t.terms; ++i) {
    auto& term = t.term[i];
    if (t.history_holds == RATES || t.stage[term.rate] == t.history_stage || !term.memories) continue;
    term.history_index = memories[term.axis]++;
    if (term.history_index >= t.history_memories) t.history_memories = term.history_index + 1;
  }
}

template <class Physics, int NDIM>
constexpr Tables tables_of() {
  Tables t = stated<Physics, NDIM>();
  order_stages(t);
  close_surface(t);
  choose_history(t);
  return t;
}

// Names as a list that has their number, as an array would.
template <int N>
struct Names {
  const char* name[N];
  constexpr const char* operator[](int i) const { return name[i]; }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
