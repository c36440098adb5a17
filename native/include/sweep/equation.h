// An equation as the engine sees it: what follows from its tables.
#ifndef SWEEP_EQUATION_H
#define SWEEP_EQUATION_H

#include "sweep/kernel/adjoint.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

template <class Physics, class Value, int NDIM, int HALF>
struct Equation : AdjointStep<Physics, Value, NDIM, HALF> {
  using Base = AdjointStep<Physics, Value, NDIM, HALF>;
  using Any = Equation<Physics, float, NDIM, 0>;  // what is counted is the same in every precision and order
  static constexpr Tables table = Base::table;
  static constexpr bool second = Base::second;
  static constexpr const char* name = Physics::name;
  static_assert(table.sound, "fields must be made of what was made before them; D2 and CHANGE are of second order");
  static_assert(!second || table.symmetric(), "a field of second order must have one modulus, of its own D2 alone");
  static constexpr int levels = second ? 2 : 1, memories = table.memories, stages = table.stages;
  static constexpr int ndim_mask = 1 << 2 | 1 << 3;
  // Whether a history is differentiated, so that there must be zeros around what it holds.
  static constexpr bool history_has_fields = table.history_holds == FIELDS && !second;

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

  // A bit for each field that a stage makes: that of a field which a list of points names is known at run time only.
  template <int STAGE>
  static constexpr unsigned fields_of_stage =
      Base::bits([](int f) { return f < table.fields && table.at_stage[f] == STAGE; });
  // Whether a stage makes fields at half steps.
  template <int STAGE>
  static constexpr bool later = table.any_made(STAGE, [](int f) { return table.later(f); });
  // Of which fields a sample has been taken before those of a stage: by receivers, and by sources of an adjoint run,
  // where those at half steps follow in the unit that is run through next.
  template <int STAGE>
  static constexpr unsigned gathered_before =
      Base::bits([](int f) { return f < table.fields && table.at_stage[f] < STAGE; });
  template <int STAGE>
  static constexpr unsigned adjoint_gathered_before = Base::bits([](int f) {
    return f < table.fields && (table.later(f) == later<STAGE> ? table.at_stage[f] > STAGE : later<STAGE>);
  });
  SWEEP_HD static Range range(int c) {
    constexpr unsigned any =
        Base::bits([](int k) { return k < table.coefficients && table.coefficient[k].range == ANY; });
    constexpr unsigned fluid =
        Base::bits([](int k) { return k < table.coefficients && table.coefficient[k].range == NOT_NEGATIVE; });
    return any >> c & 1 ? ANY : fluid >> c & 1 ? NOT_NEGATIVE : POSITIVE;
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
