// Wave equations as tables: the statements of an equation, and the conclusions that need no number of a problem.
#ifndef SWEEP_KERNEL_TABLES_H
#define SWEEP_KERNEL_TABLES_H

#include "sweep/core/portable.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// Axes of three dimensions. In two dimensions everything along y is left out, in one dimension also that along x.
enum { z, y, x };
// The axes along which a field's nodes lie half a cell further; T: in time, half a step.
enum : unsigned { NODE = 0, Z = 1 << z, Y = 1 << y, X = 1 << x, T = 8 };
// Operators along an axis: the staggered difference (half a cell further), the central first and second differences,
// and the mean of the nodes around (half a cell further). Operators without an axis: the field itself and, of second
// order in time, twice its change, 2 (u[k] - u[k - 1]).
enum Operator { D, D1, D2, MEAN, SAME, CHANGE };  // as sweep_operator
// Bits of numbers of dimensions.
enum : unsigned { IN_1D = 1 << 1, IN_2D = 1 << 2, IN_3D = 1 << 3 };
// The allowed values of a coefficient.
enum Range { POSITIVE, NOT_NEGATIVE, ANY };

struct Field {
  const char* name = nullptr;
  unsigned stagger = NODE;
  int parity = 0;                  // about a free surface: -1 odd, 1 even, 0 neither
  int source = -1;                 // the coefficient or constant that multiplies its sources, or -1
  unsigned ndims = IN_2D | IN_3D;  // the numbers of dimensions in which the field exists
  int order = 1;  // of its time derivative: 2 for all fields or none; 0 if the field lives within a step only
};
struct Coefficient {
  const char* name = nullptr;
  Range range = ANY;
};
struct Term {
  int axis = 0, field = -1;
};
// `sign` times the sum over terms of operator `of` along an axis. The PML of the axis stretches differences.
struct Rate {
  Term terms[3];
  int sign = 1;
  Operator of = D;
  bool stretched = true;
};
enum { ONE = -1 };
// The index of a constant in place of that of a coefficient, and its number. A constant is one value for all cells,
// which depends on no parameter.
constexpr int constant(int number) { return ONE - 1 - number; }
constexpr bool is_constant(int coefficient) { return coefficient < ONE; }
constexpr int number_of_constant(int coefficient) { return ONE - 1 - coefficient; }
// Field `target` grows by `coefficient`, a constant or ONE, times `rate`.
struct Modulus {
  int target = 0, rate = 0, coefficient = ONE;
};

// A term with the constants that follow for it.
struct Derivative {
  int rate = 0, axis = 0, field = 0;
  Operator of = D;
  int memories = 0;        // memory variables that its PML needs
  int slot = 0;            // number of its first memory variable among those of the axis
  int history_index = -1;  // number of its memory variable among those in a history, or -1
  int closure = 0;         // of a term along z: number of its set of rows under a free surface
  bool forward = false;    // the result lies half a cell further than the field
  bool first = false;      // the first term of its rate
  constexpr bool is_staggered() const { return of == D || of == MEAN; }
  constexpr bool is_antisymmetric() const {
    return of == D || of == D1;
  }  // far from faces the transpose is minus the operator
};

// The contents of a history, for each time step.
enum HistoryContent {
  FIELDS,  // the fields of one stage and the memory variables of their derivatives. The rates of the other stage follow
           // from these, and the rates of this stage from the change of the fields
  RATES,   // all rates that coefficients multiply
};

// The tables of an equation in NDIM dimensions; indices have no gaps.
struct Tables {
  int fields = 0, coefficients = 0, rates = 0, terms = 0, moduli = 0, memories = 0, stages = 0, closures = 0;
  int constants = 0;
  bool is_second_order = false;  // the fields are of second order in time
  bool is_consistent = true;     // every field depends only on fields that are computed before it
  Field field[SWEEP_MAX_FIELDS] = {};
  Coefficient coefficient[SWEEP_MAX_COEFFICIENTS] = {};
  int sign[SWEEP_MAX_COEFFICIENTS] = {};
  bool stretched[SWEEP_MAX_COEFFICIENTS] = {};  // of a rate: the PML stretches it
  int at_stage[SWEEP_MAX_FIELDS] = {};          // of a field: the stage that computes it
  int stage[SWEEP_MAX_COEFFICIENTS] = {};       // of a rate: the stage of the fields that it changes
  Derivative term[SWEEP_MAX_TERMS] = {};
  Modulus modulus[SWEEP_MAX_TERMS] = {};
  bool separate_adjoint[SWEEP_MAX_FIELDS] = {};  // of a field: the adjoint run holds it beside the adjoint rates
  HistoryContent history_content = RATES;
  int history_stage = -1;  // the stage whose fields a history holds
  int history_fields = 0, history_memories = 0;
  int history_index[SWEEP_MAX_FIELDS] = {};                // of a field: its number in the history, or -1
  int history_index_of_rate[SWEEP_MAX_COEFFICIENTS] = {};  // of a rate: its number in the history, or -1
  bool scaled[SWEEP_MAX_COEFFICIENTS] = {};  // of a coefficient: its image contains the coefficient itself as a factor

  constexpr bool is_at_half_step(int f) const { return field[f].stagger & T; }  // at half time steps
  constexpr bool is_local(int f) const { return field[f].order == 0; }
  // True if the result of term i lies at half nodes of its axis.
  constexpr bool is_at_half_node(int i) const { return term[i].is_staggered() ? term[i].forward : !term[i].forward; }
  template <class Predicate>
  constexpr bool any_of_stage(int in_stage, const Predicate& holds) const {  // of the fields that a stage computes
    for (int f = 0; f < fields; ++f)
      if (at_stage[f] == in_stage && holds(f)) return true;
    return false;
  }
  constexpr bool is_zero_on_surface(int f) const { return field[f].parity < 0 && !(field[f].stagger & Z); }
  // The rate of the second differences of field f, or -1. modulus_of() is the modulus by which a rate changes field g.
  constexpr int own_rate(int f) const {
    for (int i = 0; i < terms; ++i)
      if (term[i].field == f && term[i].of == D2) return term[i].rate;
    return -1;
  }
  constexpr int modulus_of(int g, int rate) const {
    for (int m = 0; m < moduli; ++m)
      if (modulus[m].target == g && modulus[m].rate == rate) return m;
    return -1;
  }
  // True if the second differences of a field change other fields.
  constexpr bool is_coupled() const {
    for (int m = 0; m < moduli && is_second_order; ++m)
      for (int i = 0; i < terms; ++i)
        if (term[i].rate == modulus[m].rate && term[i].field != modulus[m].target) return true;
    return false;
  }
  // True if the coefficients of a coupled system are a symmetric matrix in each cell. Each field then has one rate, the
  // second differences of this field alone. Fields f and g change by each other's rates with the same coefficient. The
  // coefficient of a field's own rate multiplies its sources.
  constexpr bool has_symmetric_coupling() const {
    for (int i = 0; i < terms; ++i)
      if (term[i].of != D2 || term[i].rate != own_rate(term[i].field)) return false;
    for (int f = 0; f < fields; ++f) {
      const int own = own_rate(f) < 0 ? -1 : modulus_of(f, own_rate(f));
      if (field[f].order != 2 || own < 0 || field[f].source != modulus[own].coefficient) return false;
      for (int g = 0; g < fields; ++g) {
        const int there = modulus_of(g, own_rate(f)), back = modulus_of(f, own_rate(g));
        if ((there < 0) != (back < 0)) return false;
        if (there >= 0 && modulus[there].coefficient != modulus[back].coefficient) return false;
        if (there >= 0 && modulus[there].coefficient < 0) return false;
      }
    }
    return true;
  }
  // True if every field of second order depends on itself alone, through one modulus of second differences whose
  // coefficient multiplies the sources of the field; or if the fields are coupled symmetrically. The step is then its
  // own adjoint.
  constexpr bool is_symmetric() const {
    if (is_coupled()) return has_symmetric_coupling();
    for (int f = 0; f < fields; ++f)
      if (field[f].order != 2 || source_modulus(f) < 0) return false;
    for (int m = 0; m < moduli; ++m)
      if (modulus[m].coefficient < 0) return false;
    for (int m = 0; m < moduli; ++m)
      for (int i = 0; i < terms; ++i)
        if (term[i].rate == modulus[m].rate &&
            (term[i].field != modulus[m].target || term[i].of != (m == source_modulus(term[i].field) ? D2 : CHANGE)))
          return false;
    return true;
  }
  // True if a step can be undone outside the PML: fields change by differences of other fields alone, and a history
  // holds fields.
  constexpr bool is_reversible() const {
    for (int i = 0; i < terms; ++i)
      if (term[i].of != D && term[i].of != D2) return false;
    return history_content == FIELDS;
  }
  constexpr int source_modulus(int f) const {  // the modulus whose coefficient multiplies a source into field f, or -1
    for (int m = 0; m < moduli; ++m)
      if (modulus[m].target == f && modulus[m].coefficient >= 0 && modulus[m].coefficient == field[f].source) return m;
    return -1;
  }
};

// The tables of Physics, without the fields and axes that NDIM dimensions lack.
template <class Physics, int NDIM>
constexpr Tables reduced_tables() {
  constexpr int fields = sizeof(Physics::fields) / sizeof(Field), rates = sizeof(Physics::rates) / sizeof(Rate);
  constexpr int coefficients = sizeof(Physics::coefficients) / sizeof(Coefficient);
  Tables t;
  int field[fields] = {}, rate[rates] = {}, coefficient[coefficients] = {};
  t.is_second_order = Physics::fields[0].order == 2;
  t.constants = Physics::constants;
  const auto exists = [&](const Term& term) {
    return term.field >= 0 && field[term.field] >= 0 && NDIM > (term.axis == x ? 1 : term.axis == y ? 2 : 0);
  };
  for (int f = 0; f < fields; ++f) {
    field[f] = Physics::fields[f].ndims >> NDIM & 1 ? t.fields : -1;
    if (field[f] >= 0) t.field[t.fields++] = Physics::fields[f];
  }
  for (int r = 0; r < rates; ++r) {
    const Rate& full_rate = Physics::rates[r];
    bool used = false, any = false;
    for (const Modulus& m : Physics::moduli) used |= m.rate == r && field[m.target] >= 0;
    for (const Term& term : full_rate.terms) any |= exists(term);
    rate[r] = used && any ? t.rates : -1;
    if (rate[r] < 0) continue;
    t.sign[t.rates] = full_rate.sign;
    t.stretched[t.rates] = full_rate.stretched;
    bool first = true;
    for (const Term& term : full_rate.terms)
      if (exists(term)) {
        auto& derivative = t.term[t.terms++];
        derivative.rate = t.rates;
        derivative.axis = NDIM == 2 && term.axis == x ? 1 : term.axis;
        derivative.field = field[term.field];
        derivative.of = full_rate.of;
        derivative.forward = !(Physics::fields[term.field].stagger >> term.axis & 1);
        derivative.first = first;
        derivative.memories = !full_rate.stretched ? 0
                              : full_rate.of == D2 ? 2
                                                   : full_rate.of == D || full_rate.of == D1;
        for (int i = 0; i + 1 < t.terms; ++i)
          if (t.term[i].axis == derivative.axis) derivative.slot += t.term[i].memories;
        if (derivative.slot + derivative.memories > t.memories) t.memories = derivative.slot + derivative.memories;
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
      t.modulus[t.moduli++] = {field[m.target], rate[m.rate],
                               m.coefficient < 0 ? m.coefficient : coefficient[m.coefficient]};
  for (int f = 0; f < t.fields; ++f)
    if (t.field[f].source >= 0) t.field[f].source = coefficient[t.field[f].source];
  return t;
}

// Orders the stages of a step: first the fields at whole steps, then those at half steps. Before either come the fields
// that live within the step only, one after the other. For second order the first stage updates psi of the PML.
constexpr void order_stages(Tables& t) {
  int depth[SWEEP_MAX_FIELDS] =
      {};  // of a field that lives within a step only: the longest chain of its kind before it
  bool reads[SWEEP_MAX_FIELDS][SWEEP_MAX_FIELDS] = {};
  for (int m = 0; m < t.moduli; ++m)
    for (int i = 0; i < t.terms; ++i)
      if (t.term[i].rate == t.modulus[m].rate) reads[t.modulus[m].target][t.term[i].field] = true;
  int deepest = 0;
  bool changes = true;
  for (int round = 0; round <= t.fields && changes; ++round) {
    changes = false;
    for (int f = 0; f < t.fields; ++f)
      for (int g = 0; g < t.fields; ++g)
        if (t.is_local(f) && t.is_local(g) && reads[f][g] && depth[f] <= depth[g]) {
          depth[f] = depth[g] + 1, changes = true;
          if (depth[f] > deepest) deepest = depth[f];
        }
  }
  t.is_consistent = deepest <= t.fields;
  if (t.is_second_order) {
    t.stages = 2;
    for (int f = 0; f < t.fields; ++f) t.at_stage[f] = 1;
  } else {
    // Fields that are computed from half steps and fields at whole steps; then the others.
    for (int half = 0; half < 2; ++half) {
      for (int d = 0; d <= deepest && t.is_consistent; ++d) {
        bool any = false;
        for (int f = 0; f < t.fields; ++f)
          if (t.is_local(f) && t.is_at_half_step(f) != half && depth[f] == d) any = true, t.at_stage[f] = t.stages;
        t.stages += any;
      }
      for (int f = 0; f < t.fields; ++f)
        if (!t.is_local(f) && t.is_at_half_step(f) == half) t.at_stage[f] = t.stages;
      ++t.stages;
    }
  }
  for (int m = 0; m < t.moduli; ++m) t.stage[t.modulus[m].rate] = t.at_stage[t.modulus[m].target];
  for (int m = 0; m < t.moduli; ++m) {
    const int target = t.modulus[m].target;
    t.is_consistent &= t.stage[t.modulus[m].rate] == t.at_stage[target];
    for (int i = 0; i < t.terms && !t.is_second_order; ++i) {
      const auto& term = t.term[i];
      if (term.rate != t.modulus[m].rate) continue;
      t.is_consistent &= term.of != D2 && term.of != CHANGE;
      if (t.at_stage[term.field] == t.at_stage[target]) t.is_consistent &= term.of == SAME && !t.is_local(target);
    }
  }
}

// Numbers the sets of rows under a free surface: one for each field and operator along z, in this order.
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

// Chooses the adjoint fields that are computed beside their multiples, and the contents of a history.
constexpr void choose_history(Tables& t) {
  for (int f = 0; f < t.fields; ++f) {
    int of_field = 0, of_rate = 0;
    bool positive = true;
    for (int m = 0; m < t.moduli; ++m) {
      if (t.modulus[m].target != f) continue;
      ++of_field;
      const int c = t.modulus[m].coefficient;
      positive &= c == ONE || (c >= 0 && t.coefficient[c].range == POSITIVE);
      for (int n = 0; n < t.moduli; ++n) of_rate += t.modulus[n].rate == t.modulus[m].rate;
    }
    t.separate_adjoint[f] = of_field > 1 || of_rate > 1 || !positive;
  }
  // Two fields that share a coefficient have the same choice. The loop is linear in the moduli, because compilers bound
  // the operations of a constant expression.
  bool shared[SWEEP_MAX_COEFFICIENTS] = {};  // of a coefficient: a separate field has it
  for (bool changes = true; changes;) {
    changes = false;
    for (int m = 0; m < t.moduli; ++m) {
      const int c = t.modulus[m].coefficient, f = t.modulus[m].target;
      if (c < 0 || shared[c] == t.separate_adjoint[f]) continue;
      shared[c] = t.separate_adjoint[f] = changes = true;
    }
  }
  for (int m = 0; m < t.moduli; ++m)
    if (t.modulus[m].coefficient >= 0) t.scaled[t.modulus[m].coefficient] = !t.separate_adjoint[t.modulus[m].target];

  bool plain = t.stages == 2;
  for (int i = 0; i < t.terms; ++i) plain &= t.term[i].of != SAME;
  const auto may_hold = [&t, plain](int stage) {
    for (int f = 0; f < t.fields; ++f)
      if (t.at_stage[f] == stage && (t.separate_adjoint[f] || t.source_modulus(f) < 0)) return false;
    return plain;
  };
  int fields_of_second_stage = 0;
  for (int f = 0; f < t.fields; ++f) fields_of_second_stage += t.at_stage[f];
  // The image of a coupled system is the product of a rate and an adjoint field, and divides by no coefficient.
  if (!t.is_coupled() && (t.is_second_order || may_hold(1) || may_hold(0))) {
    t.history_content = FIELDS;
    t.history_stage = t.is_second_order || (may_hold(1) && (!may_hold(0) || 2 * fields_of_second_stage <= t.fields));
  }
  for (int f = 0; f < t.fields; ++f) t.history_index[f] = t.at_stage[f] == t.history_stage ? t.history_fields++ : -1;
  for (int r = 0; r < t.rates; ++r) {
    bool multiplied = false;
    for (int m = 0; m < t.moduli; ++m) multiplied |= t.modulus[m].rate == r && t.modulus[m].coefficient >= 0;
    t.history_index_of_rate[r] = t.history_content == RATES && multiplied ? t.history_fields++ : -1;
  }
  int memories[3] = {};
  for (int i = 0; i < t.terms; ++i) {
    auto& term = t.term[i];
    if (t.history_content == RATES || t.stage[term.rate] == t.history_stage || !term.memories) continue;
    term.history_index = memories[term.axis]++;
    if (term.history_index >= t.history_memories) t.history_memories = term.history_index + 1;
  }
}

template <class Physics, int NDIM>
constexpr Tables tables_of() {
  Tables t = reduced_tables<Physics, NDIM>();
  order_stages(t);
  close_surface(t);
  choose_history(t);
  return t;
}

// A list of names whose type has their number, as an array would.
template <int N>
struct Names {
  const char* name[N];
  constexpr const char* operator[](int i) const { return name[i]; }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
