// Boundary strips: the values of cells along the PML, by which the interior is run backward in time.
#ifndef SWEEP_STRIPS_H
#define SWEEP_STRIPS_H

#include "run.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// What stage STAGE of a unit has made of `count` cells of the boundary strips, into them, and back.
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
        f(index, v.field + v.at(field, c), v.strip_values + field * run.plan.band.cells() + number, c);
    });
  }
  SWEEP_HD static void keep(const R& run, const View& v, ptrdiff_t number, const int* i, int count) {
    each(run, v, number, i,
         [&](auto, const Value* field, Value* kept, const auto&) SWEEP_INLINE { copy_row(kept, field, count); });
  }
  // Beyond what the forward run had `made` its fields were zero.
  SWEEP_HD static void put_back(const R& run, const View& v, ptrdiff_t number, const int* i, int count,
                                const Box<R::ndim>& made) {
    constexpr int last = R::ndim - 1;
    Box<R::ndim> row;
    for (int a = 0; a < R::ndim; ++a) row.low[a] = i[a], row.high[a] = i[a] + (a < last ? 1 : count);
    row = overlap(row, made);
    const int from = row.low[last] - i[last], had = row.any() ? row.high[last] - row.low[last] : 0;
    each(run, v, number, i, [&](auto index, Value* field, const Value* kept, const auto& c) SWEEP_INLINE {
      constexpr int place = table.place[decltype(index)::value];
      if (had < count) copy_row<Value>(field, nullptr, count);
      if (had > 0) copy_row(field + from, kept + from, had);
      if constexpr (place >= 0)
        if (v.holds(c)) copy_row<Value>(v.held + v.held_at(place, c), field, count);
    });
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
