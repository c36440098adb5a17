// Runs backward in time from boundary strips.
#ifndef SWEEP_HISTORY_REWIND_H
#define SWEEP_HISTORY_REWIND_H

#include "../engine/time_steps.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// Copies the boundary strips of a time step into the fields of a state.
template <class R>
struct PutBack {
  R run;
  ActiveBox<R> active;
  PerShotArray<typename R::Value> wave;
  BoundaryStrips<typename R::Value> strips;
  int time_step;
  SWEEP_HD void element(int shot, ptrdiff_t number) const {
    int at[R::ndim];
    shell().cell(number, at);
    row(shot, number, at, 1);
  }
  SWEEP_HD const BoxShell<R::ndim>& shell() const { return run.plan.band; }
  SWEEP_HD void row(int shot, ptrdiff_t number, const int* at, int count) const {
    auto v = run.view(wave, shot, time_step);
    v.strip = strips.of(run.plan, shot, time_step);
    for_axes<R::Equation::stages>([&](auto index) SWEEP_INLINE {
      constexpr int stage = decltype(index)::value;
      StripCells<R, stage>::put_back(run, v, number, at, count, Cells<R, stage>{run, active, time_step}.box());
    });
  }
};

// Computes the fields of stage STAGE of a step from those of later steps, in the cells that no PML influences.
template <class R, int STAGE>
struct RewindCells : Cells<R, STAGE> {
  using Value = typename R::Value;
  using View = typename R::View;
  using Loops = RewindCells;
  PerShotArray<Value> wave, slots;
  BoundaryStrips<Value> strips;
  int index;
  Box<R::ndim> forward_box;  // the cells that the forward run computed

  static constexpr bool is_pml_update = false, is_interior = true,
                        is_empty = R::Equation::is_second_order && STAGE == 0;
  // All cells of the model; the cells of the strips are put back from the strips.
  SWEEP_HD Box<R::ndim> box() const {
    if constexpr (is_empty) return {};
    return this->run.plan.pml.inner;
  }
  SWEEP_HD View view(int shot) const {
    View v = this->run.view(wave, shot, this->time_step);
    open_slot(this->run, v, slots.of(this->run.plan, shot), index);
    v.strip = strips.of(this->run.plan, shot, this->time_step);
    return v;
  }
  template <class F>
  void parts(const Box<R::ndim>& plane, const F& f) const {
    if (const auto in = overlap(this->run.plan.band.inner, plane); in.has_cells()) f(in, true);
  }
  Box<R::ndim> extent() const { return this->run.plan.band.inner; }
  template <class V, class Where>
  SWEEP_HD static void cell(const View& v, const Cell<R::ndim>& c, Where where) {
    R::Equation::template reverse_stage<V, STAGE>(v, c, Unstretched<Where>{where});
  }
  SWEEP_HD const BoxShell<R::ndim>* shell(const View& v) const { return v.strip ? &this->run.plan.band : nullptr; }
  SWEEP_HD void shell_row(const View& v, ptrdiff_t number, const int* i, int count) const {
    StripCells<R, STAGE>::put_back(this->run, v, number, i, count, forward_box);
  }
  SWEEP_HD void point(const View& v, const Cell<R::ndim>& c, int field, ptrdiff_t, Value amount, Value) const {
    if (this->run.plan.band.inner.contains(c.i))
      R::Equation::inject(v, c, field, R::Equation::is_second_order ? amount : -amount);
  }
};

// Time steps backward in time: number n computes the fields at the end of step top - n again.
template <class R>
struct RewindSteps {
  using Value = typename R::Value;
  R run;
  ActiveBox<R> active;
  PerShotArray<Value> wave, slots;
  BoundaryStrips<Value> strips;
  int begin, top;
  Points<Value> sources;
  const Value* wavelet;
  Value* scratch;

  template <int NUMBER>
  auto stage(int n) const {
    constexpr int STAGE = R::Equation::is_second_order ? NUMBER : R::Equation::stages - 1 - NUMBER;
    using Step = RewindCells<R, STAGE>;
    const int k = top - n;
    const Cells<R, STAGE> cells{run, active, k};
    const Step step{cells, wave, slots, strips, k - begin, cells.box()};
    return Stage<Step, Inject<Step, STAGE>, Gather<R, false>, NUMBER>{
        step,
        {step, sources, wavelet, nullptr, sample_of<R, STAGE>(k + R::Equation::levels), active.sources},
        {run, 0, 0, wave, {}, nullptr, k, -1, step.box(), nullptr}};
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
