// Boundary strips: the values of cells along the PML, which let the interior run backward in time.
#ifndef SWEEP_HISTORY_STRIPS_H
#define SWEEP_HISTORY_STRIPS_H

#include "../engine/context.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// Boundary strips of the time steps from `first` on; the base is null if there are none.
template <class T>
struct BoundaryStrips {
  PerShotArray<T> steps;
  int first;
  template <class Plan>
  SWEEP_HD T* of(const Plan& plan, int shot, int step) const {
    return steps.base ? steps.of(plan, shot) + (step - first) * plan.strip_values_per_step() : nullptr;
  }
};

// `count` cells of the boundary strips from number `number` on, in the fields that stage STAGE of a step makes.
template <class R, int STAGE>
struct StripCells {
  using Value = typename R::Value;
  using View = typename R::View;
  static constexpr Tables table = R::Equation::table;

  template <class F>
  SWEEP_HD static void each(const R& run, const View& v, ptrdiff_t number, const int* i, const F& f) {
    const auto c = v.layout.cell(i);
    for_axes<table.fields>([&](auto index) SWEEP_INLINE {
      constexpr int field = decltype(index)::value;
      if constexpr (table.at_stage[field] == STAGE)
        f(index, v.field + v.at(field, c), v.strip + field * run.plan.band.cells() + number, c);
    });
  }
  SWEEP_HD static void record(const R& run, const View& v, ptrdiff_t number, const int* i, int count) {
    each(run, v, number, i,
         [&](auto, const Value* field, Value* strip, const auto&) SWEEP_INLINE { copy_row(strip, field, count); });
  }
  // Outside the `forward_box`, which the forward run computed, its fields were zero.
  SWEEP_HD static void put_back(const R& run, const View& v, ptrdiff_t number, const int* i, int count,
                                const Box<R::ndim>& forward_box) {
    constexpr int last = R::ndim - 1;
    Box<R::ndim> row;
    for (int a = 0; a < R::ndim; ++a) row.low[a] = i[a], row.high[a] = i[a] + (a < last ? 1 : count);
    row = overlap(row, forward_box);
    const int from = row.low[last] - i[last], length = row.has_cells() ? row.high[last] - row.low[last] : 0;
    each(run, v, number, i, [&](auto index, Value* field, const Value* strip, const auto& c) SWEEP_INLINE {
      constexpr int place = table.history_index[decltype(index)::value];
      if (length < count) copy_row<Value>(field, nullptr, count);
      if (length > 0) copy_row(field + from, strip + from, length);
      if constexpr (place >= 0)
        if (v.in_slot(c)) copy_row<Value>(v.slot + v.slot_at(place, c), field, count);
    });
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
