// Units of the runs: each is one time step, of as many stages as the equation has, with what is injected and recorded.
#ifndef SWEEP_UNITS_H
#define SWEEP_UNITS_H

#include "stages.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// The sample that acts on the fields of a stage of unit u.
template <class R, int STAGE>
SWEEP_HD int sample_of(int u) {
  return u - !R::Equation::template later<STAGE>;
}

// Units of a forward run: unit u makes the fields at whole steps, after which sample u - 1 has acted, then those at
// half steps, and records index u.
template <class R>
struct ForwardUnits {
  using Value = typename R::Value;
  R run;
  ActiveBox<R> active;
  Parts<Value> wave, slots;
  int begin;  // the unit whose slot is the first
  Points<Value> sources, receivers;
  const Value* wavelet;
  Value* record;  // null: nothing is recorded
  Value* scratch;
  Strips<Value> strips = {};
  bool again = false;  // in the PML alone

  template <int STAGE>
  auto stage(int u) const {
    using Step = ForwardCells<R, STAGE>;
    const Cells<R, STAGE> cells{run, active, u};
    const Step step{cells, wave, slots, u - begin, strips, again, again ? cells.box() : Box<R::ndim>{}};
    const int sample = sample_of<R, STAGE>(u);
    return Stage<Step, Inject<Step, STAGE>, Gather<R, false>, STAGE>{
        step,
        {step, sources, wavelet, nullptr, sample, active.sources},
        {run, R::Equation::template made<STAGE>, R::Equation::template heard_before<STAGE>, wave, receivers, record, u,
         record ? u : -1, step.box(), nullptr}};
  }
};

template <class R>
struct BornUnits {
  using Value = typename R::Value;
  R run;
  ActiveBox<R> active;
  Parts<Value> wave, scattered;
  const Value* tangent;
  Points<Value> sources, receivers;
  const Value *wavelet, *tangent_wavelet;
  Value* record;
  Value* scratch;

  template <int STAGE>
  auto stage(int u) const {
    using Step = BornCells<R, STAGE>;
    const Step step{{run, active, u}, wave, scattered, tangent};
    return Stage<Step, Inject<Step, STAGE>, Gather<R, false>, STAGE>{
        step,
        {step, sources, wavelet, tangent_wavelet, sample_of<R, STAGE>(u), active.sources},
        {run, R::Equation::template made<STAGE>, R::Equation::template heard_before<STAGE>, scattered, receivers,
         record, u, u, step.box(), nullptr}};
  }
};

// Units that go backward in time, from boundary strips: number n makes again what unit top - n had left.
template <class R>
struct RewindUnits {
  using Value = typename R::Value;
  R run;
  ActiveBox<R> active;
  Parts<Value> wave, slots;
  Strips<Value> strips;
  int begin, top;
  Points<Value> sources;
  const Value* wavelet;
  Value* scratch;

  template <int NUMBER>
  auto stage(int n) const {
    constexpr int STAGE = R::Equation::second ? NUMBER : R::Equation::stages - 1 - NUMBER;
    using Step = RewindCells<R, STAGE>;
    const int u = top - n;
    const Cells<R, STAGE> cells{run, active, u};
    const Step step{cells, wave, slots, strips, u - begin, cells.box()};
    return Stage<Step, Inject<Step, STAGE>, Gather<R, false>, NUMBER>{
        step,
        {step, sources, wavelet, nullptr, sample_of<R, STAGE>(u + R::Equation::levels), active.sources},
        {run, 0, 0, wave, {}, nullptr, u, -1, step.box(), nullptr}};
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
