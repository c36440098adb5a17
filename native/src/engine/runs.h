// The runs as sequences of time steps: forward, Born, and the adjoint over the history. The code is the same for every
// equation and device.
#ifndef SWEEP_ENGINE_RUNS_H
#define SWEEP_ENGINE_RUNS_H

#include "../history/history.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

template <class Device, class R, class Value>
int with_ghosts(const Device& device, const R& run, const Value* from, Value* to, int earths) {
  const ptrdiff_t rows = WithGhosts<R>::rows(run);
  return device.finish(WithGhosts<R>{run, from, to, rows}, earths * run.plan.coefficients, rows);
}

// Copies the arrays that a run reads many times to the workspace: the weights of an order that the compiler does not
// know, and profiles and coefficients in whole vectors with zeros around them.
template <class Device, class R, class Value>
int prepare(const Device& device, const R& run, const sweep_problem& p, Value* to) {
  const auto& plan = run.plan;
  if constexpr (!R::View::knows_order) {
    const Weights<R> weights(p, plan.half, to);
    if (const int status = device.finish(weights, R::ndim, weights.count)) return status;
  }
  to += plan.weights();
  ptrdiff_t longest = 0;
  for (int a = 0; a < R::ndim; ++a) longest = plan.profile[a] > longest ? plan.profile[a] : longest;
  if (const int status = device.finish(Profiles<R>{run, to}, plan.profiles_of_axis * R::ndim, longest)) return status;
  return with_ghosts(device, run, run.coefficient, to + plan.profiles(), p.earths);
}

template <class R>
struct Forward {
  using Value = typename R::Value;
  R run;
  Points<Value> sources, receivers;
  Snapshots<R::ndim> request;
  const Value* wavelet;
  Value* record;
  Value* snapshots;
  Value* state;
  History<R> history;
  Value* scratch = history.working + run.plan.groups * run.plan.segment_size(SWEEP_FORWARD).count;

  template <class Launcher>
  void operator()(Launcher& launcher, Span shots) const {
    const auto& plan = run.plan;
    const PerShotArray<Value> wave{state, plan.state, plan.is_sliced};
    // Snapshots show all cells, and a run backward in time needs all of them.
    const bool everywhere = request.every || history.needs_all_cells();
    const auto active = launcher.active_box(run, sources, everywhere ? Points<Value>{} : receivers, shots);
    history.begin(launcher, shots, wave);
    for (int k = plan.first, begin = k, end; k < plan.last && !launcher.stopped(); k = end) {
      if (history.begins_segment(k)) history.begin_segment(launcher, shots, wave, begin = k);
      end = next_event(k);
      launcher.steps(
          ForwardSteps<R>{run, active, wave, history.forward(begin), sources, receivers, wavelet, record, scratch}, k,
          end, shots);
      if (end == plan.last || history.begins_segment(end)) history.end_segment(launcher, shots, begin, end);
      if (request.is_due(end - 1)) {
        const auto box = Cells<R, R::Equation::stages - 1>{run, active, end - 1}.box();
        launcher.elements(Snapshot<R>{run, wave, end - 1, box, request, snapshots}, request.size(), shots);
        launcher.sync();
      }
    }
    history.end(launcher, shots, wave);
  }

 private:
  // The end of a series of steps without an interruption: the next segment, or the step behind the next snapshot.
  int next_event(int k) const {
    const int end = history.next_segment(k);
    const int snapshot_end = request.every ? (k + request.every - 1) / request.every * request.every + 1 : end;
    return snapshot_end < end ? snapshot_end : end;
  }
};

template <class R>
struct Born {
  using Value = typename R::Value;
  R run;
  Points<Value> sources, receivers;
  const Value* wavelet;
  const Value* tangent_coefficients;  // with ghost cells
  const Value* tangent_wavelet;
  Value* record;
  Value* state;  // of the field, then of the scattered field
  Value* scratch;

  template <class Launcher>
  void operator()(Launcher& launcher, Span shots) const {
    const auto& plan = run.plan;
    const PerShotArray<Value> wave{state, 2 * plan.state, plan.is_sliced};
    const PerShotArray<Value> scattered{state + plan.state, wave.stride, wave.by_shot};
    const auto active = launcher.active_box(run, sources, receivers, shots);
    if (plan.first == 0) copy<Launcher, Value>(launcher, shots, plan, wave, {}, 2 * plan.state);
    launcher.sync();
    launcher.steps(BornSteps<R>{run, active, wave, scattered, tangent_coefficients, sources, receivers, wavelet,
                                tangent_wavelet, record, scratch},
                   plan.first, plan.last, shots);
  }
};

template <class R>
struct Adjoint;

// The time steps of an adjoint run, which goes backward in time: number n is step last - n.
template <class R>
struct AdjointSteps {
  using Value = typename R::Value;
  const Adjoint<R>& adjoint_run;
  R run;
  Value* scratch;
  ActiveBox<R> active;
  PerShotArray<Value> adjoint;
  AdjointHistory<R> history;
  int last;

  // The stages in reverse order, unless the step is its own adjoint.
  template <int NUMBER>
  auto stage(int n) const {
    constexpr int STAGE = R::Equation::is_second_order ? NUMBER : R::Equation::stages - 1 - NUMBER;
    using Step = AdjointCells<R, STAGE>;
    const int k = last - n, sample = sample_of<R, STAGE>(k);
    Step step{{run, active, k}, adjoint, history, adjoint_run.filter_memory, {}};
    step.computed_cells = step.box();
    const auto gather = adjoint_run.template gather<STAGE>(k, sample, step.computed_cells);
    const Inject<Step, STAGE> inject{step, adjoint_run.receivers, adjoint_run.cotangent, nullptr, k, active.receivers};
    const Inject<SourceCorrelation<Step>, STAGE> correlation{
        {step}, adjoint_run.forward_sources, adjoint_run.wavelet, nullptr, sample, active.sources};
    return CorrelatingStage<Step, STAGE>{{step, inject, gather}, correlation};
  }
};

template <class R>
struct Adjoint {
  using Value = typename R::Value;
  R run;
  Points<Value> forward_sources, sources, receivers;  // inject again; gather the wavelet's gradient; inject residuals
  const Value* wavelet;
  const Value* cotangent;
  Value* gradient_wavelet;
  Value* state;
  Value* gradient;
  History<R> history;
  Value* sums = history.working + run.plan.groups * run.plan.segment_size(SWEEP_ADJOINT).count;  // of images
  Value* scratch = sums + (run.plan.sums() ? run.plan.groups * run.plan.coefficient_size() : 0);
  // Memory of the filters at points: receivers, then sources.
  Value* filter_memory =
      state + (run.plan.is_sliced ? run.plan.shots : run.plan.groups) * run.plan.adjoint_state_and_images();

  Value* source_filter_memory() const { return filter_memory + run.plan.shots * run.plan.receivers * R::ndim; }
  PerShotArray<Value> adjoint() const { return {state, run.plan.adjoint_state_and_images(), run.plan.is_sliced}; }
  // Gathers the values of the adjoint fields of a stage at the sources.
  template <int STAGE>
  Gather<R, true> gather(int time_step, int sample, const Box<R::ndim>& box) const {
    constexpr FieldMask fields = R::Equation::template fields_of_stage<STAGE>;
    constexpr FieldMask before = R::Equation::template adjoint_gathered_before<STAGE>;
    return {run, fields, before, adjoint(), sources, gradient_wavelet, time_step, sample, box, source_filter_memory()};
  }
  template <class Device>
  int finish(const Device& device, int earths) const {
    if (run.plan.first > 0) return SWEEP_OK;
    return device.finish(Reduce<R>{run, adjoint(), sums, gradient, earths}, earths, run.plan.layout.cells);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, Span shots) const {
    const auto& plan = run.plan;
    const PerShotArray<Value> adjoint = this->adjoint();
    const auto active = launcher.active_box(run, forward_sources, receivers, shots);
    const ForwardSteps<R> forward{run, active, {}, {}, forward_sources, {}, wavelet, nullptr, scratch};
    if (plan.last == plan.steps) begin(launcher, shots, adjoint);
    for (int s = history.segments() - 1; s >= 0 && !launcher.stopped(); --s) {
      const auto [first, count] = history.segment(s);
      const auto slots = history.make(launcher, shots, forward, first, first + count);
      const AdjointSteps<R> steps{*this, run, scratch, active, adjoint, slots, first + count - 1};
      launcher.steps(steps, 0, count, shots);
    }
    if constexpr (!all_shots_per_launch) {
      if (!plan.sums()) return;
      launcher.sync();
      launcher.elements(AddImages<R>{run, adjoint, sums}, plan.coefficient_size(), shots);
      launcher.sync();
    }
  }

 private:
  template <class Launcher>
  void begin(Launcher& launcher, Span shots, const PerShotArray<Value>& adjoint) const {
    const auto& plan = run.plan;
    copy<Launcher, Value>(launcher, shots, plan, adjoint, {}, plan.adjoint_state_and_images());
    if constexpr (R::Equation::is_second_order) {
      const ptrdiff_t receivers = plan.receivers * R::ndim, sources = plan.sources * R::ndim;
      copy<Launcher, Value>(launcher, shots, plan, {filter_memory, receivers, true}, {}, receivers);
      copy<Launcher, Value>(launcher, shots, plan, {source_filter_memory(), sources, true}, {}, sources);
    }
    launcher.sync();
    // The last sample acts on fields at whole steps after the last recorded index, so its gradient is zero there.
    for_axes<R::Equation::stages>([&](auto index) {
      constexpr int STAGE = R::Equation::stages - 1 - decltype(index)::value;
      if constexpr (!R::Equation::template at_half_step<STAGE>)
        launcher.gather(gather<STAGE>(0, plan.steps - 1, whole_grid(plan.layout)), shots);
    });
    launcher.sync();
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
