// An equation as the engine sees it: constants and functions that follow from its tables.
#ifndef SWEEP_EQUATION_H
#define SWEEP_EQUATION_H

#include "sweep/kernel/adjoint.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

template <class Physics, class Value, int NDIM, int HALF>
struct Equation : AdjointStep<Physics, Value, NDIM, HALF> {
  using Base = AdjointStep<Physics, Value, NDIM, HALF>;
  using Any = Equation<Physics, float, NDIM, 0>;  // every precision and order has the same counts
  static constexpr Tables table = Base::table;
  static constexpr bool is_second_order = Base::is_second_order;
  static constexpr const char* name = Physics::name;
  static_assert(table.is_consistent,
                "a field must depend on fields computed before it; D2 and CHANGE are of second order");
  static_assert(!is_second_order || table.is_symmetric(),
                "a field of second order must have one modulus, of its own D2 alone");
  static constexpr int levels = is_second_order ? 2 : 1, memories = table.memories, stages = table.stages;
  // True if the adjoint differentiates fields of the history, which then need zeros around them.
  static constexpr bool history_has_fields = table.history_content == FIELDS && !is_second_order;

  // Rows from a free surface down whose stencils, or transposed stencils, differ from those elsewhere; a table holds
  // them.
  static constexpr int near_rows(int half) {
    return is_second_order ? half : (half == 1 ? 1 : half > 4 ? half : 4) + half;
  }

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

  // A bit for each field that a stage computes. It is a mask because the field of a list of points is known at run time
  // only.
  template <int STAGE>
  static constexpr FieldMask fields_of_stage =
      Base::bits([](int f) { return f < table.fields && table.at_stage[f] == STAGE; });
  // True if a stage computes fields at half steps.
  template <int STAGE>
  static constexpr bool at_half_step = table.any_of_stage(STAGE, [](int f) { return table.is_at_half_step(f); });
  // A bit for each field that has added to a sample before the fields of a stage do: of the record here, and of the
  // wavelet's gradient below. In an adjoint run the fields at half steps follow in the next time step that is run.
  template <int STAGE>
  static constexpr FieldMask gathered_before =
      Base::bits([](int f) { return f < table.fields && table.at_stage[f] < STAGE; });
  template <int STAGE>
  static constexpr FieldMask adjoint_gathered_before = Base::bits([](int f) {
    return f < table.fields &&
           (table.is_at_half_step(f) == at_half_step<STAGE> ? table.at_stage[f] > STAGE : at_half_step<STAGE>);
  });
  SWEEP_HD static Range range(int c) {
    constexpr auto unrestricted = Base::coefficients_that([](int k) { return table.coefficient[k].range == ANY; });
    constexpr auto not_negative =
        Base::coefficients_that([](int k) { return table.coefficient[k].range == NOT_NEGATIVE; });
    return unrestricted.has(c) ? ANY : not_negative.has(c) ? NOT_NEGATIVE : POSITIVE;
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
