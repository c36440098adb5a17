// The time steps of each run: the stages of the equation, and the samples that they inject and record.
#ifndef SWEEP_ENGINE_TIME_STEPS_H
#define SWEEP_ENGINE_TIME_STEPS_H

#include "stages.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// The sample that acts on the fields of a stage of time step k.
template <class R, int STAGE>
SWEEP_HD int sample_of(int k) {
  return k - !R::Equation::template at_half_step<STAGE>;
}

// Time step k of a forward run computes the fields at whole steps, with sample k - 1 injected, then those at half
// steps, and records index k.
template <class R>
struct ForwardSteps {
  using Value = typename R::Value;
  R run;
  ActiveBox<R> active;
  PerShotArray<Value> wave;
  ForwardHistory<R> history;
  Points<Value> sources, receivers;
  const Value* wavelet;
  Value* record;  // null if nothing is recorded
  Value* scratch;

  template <int STAGE>
  auto stage(int k) const {
    using Step = ForwardCells<R, STAGE>;
    const Cells<R, STAGE> cells{run, active, k};
    const Step step{cells, wave, history.stage(cells)};
    const int sample = sample_of<R, STAGE>(k);
    return Stage<Step, Inject<Step, STAGE>, Gather<R, false>, STAGE>{
        step,
        {step, sources, wavelet, nullptr, sample, active.sources},
        {run, R::Equation::template fields_of_stage<STAGE>, R::Equation::template gathered_before<STAGE>, wave,
         receivers, record, k, record ? k : -1, step.box(), nullptr}};
  }
};

template <class R>
struct BornSteps {
  using Value = typename R::Value;
  R run;
  ActiveBox<R> active;
  PerShotArray<Value> wave, scattered;
  const Value* tangent;
  Points<Value> sources, receivers;
  const Value *wavelet, *tangent_wavelet;
  Value* record;
  Value* scratch;

  template <int STAGE>
  auto stage(int k) const {
    using Step = BornCells<R, STAGE>;
    const Step step{{run, active, k}, wave, scattered, tangent};
    return Stage<Step, Inject<Step, STAGE>, Gather<R, false>, STAGE>{
        step,
        {step, sources, wavelet, tangent_wavelet, sample_of<R, STAGE>(k), active.sources},
        {run, R::Equation::template fields_of_stage<STAGE>, R::Equation::template gathered_before<STAGE>, scattered,
         receivers, record, k, k, step.box(), nullptr}};
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
