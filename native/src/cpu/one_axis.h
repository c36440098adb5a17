// Time steps of a grid of one axis, by one thread: such a grid is in the cache, so each stage computes all its cells.
#ifndef SWEEP_CPU_ONE_AXIS_H
#define SWEEP_CPU_ONE_AXIS_H

#include "time_skewing.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// Computes the cells of a box, rounded up to whole vectors. Cells near a free surface have stencils of their own, so
// they are computed one by one, up to a whole vector. Without the `middle`, cells between the PMLs are left out.
template <class F, class View>
SWEEP_APART void simd_line(const View& view, const Box<1>& box, bool middle) {
  constexpr unsigned in_pml = F::is_interior ? 0 : 1;
  const View v = view;
  const auto& layout = v.layout;
  const int near = F::is_pml_update ? 0 : F::is_interior ? layout.near : (layout.near + 15) / 16 * 16;
  const int beside = layout.region_low[0], beyond = layout.field.n[0] - layout.region_high[0], end = box.high[0];
  int from = box.low[0];
  for (; from < near && from < end; ++from)
    if (const auto where = somewhere(layout, &from); middle || where.has(0))
      F::template cell<typename F::Value>(v, layout.cell(&from), where);
  const auto part = [&](int shift, int low, int high, auto where) SWEEP_INLINE {
    simd_cells<F>(v, Row<1>{}, shift, low > from ? low : from, high < end ? high : end, where);
  };
  part(0, from, beside, Within<in_pml>{});
  part(layout.shift(0, layout.field.n[0] - 1), beyond, end, Within<in_pml>{});
  if (middle && !F::is_pml_update) part(0, beside, beyond, Within<0>{});
}

// Runs time steps [begin, end) of one shot.
template <class Launcher, class TimeSteps>
void stage_by_stage(Launcher& launcher, const TimeSteps& time_steps, int begin, int end, int shot) {
  for (int k = begin; k < end && !launcher.stopped(); ++k) {
    launcher.poll(k);
    for_axes<decltype(time_steps.run)::Equation::stages>([&](auto index) {
      const auto stage = time_steps.template stage<decltype(index)::value>(k);
      using Step = decltype(stage.step);
      const auto view = stage.step.view(shot);
      const Box<1> box = stage.step.box();
      const auto inject = [&](const auto& f) {
        points_within(f.points, shot, box.low[0], box.high[0],
                      [&](int field, ptrdiff_t p, ptrdiff_t after) { f.point(view, shot, field, p, after); });
      };
      if (!Step::is_empty && box.has_cells()) {
        stage.step.parts(box,
                         [&](const Box<1>& part, bool middle) { simd_line<typename Step::Loops>(view, part, middle); });
        if (stage.inject.acts()) inject(stage.inject);
        if constexpr (decltype(stage)::correlates_sources)
          if (stage.correlation.acts()) inject(stage.correlation);
        if (const auto* const shell = stage.step.shell(view))
          shell->rows(box,
                      [&](ptrdiff_t number, const int* i, int count) { stage.step.shell_row(view, number, i, count); });
      }
      launcher.gather(stage.gather, Span{shot, 1});
    });
  }
  fence_streams();
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
