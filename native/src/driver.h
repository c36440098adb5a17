// The runs, as sequences of units that a launcher runs through: forward, Born, and the adjoint over a kept or
// recomputed history. A unit is one time step, of as many stages as the equation has. Written once for every equation
// and device.
#ifndef SWEEP_DRIVER_H
#define SWEEP_DRIVER_H

#include "history.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

template <class Device, class R, class Value>
int with_ghosts(const Device& device, const R& run, const Value* from, Value* to, int earths) {
  const ptrdiff_t rows = WithGhosts<R>::rows(run);
  return device.finish(WithGhosts<R>{run, from, to, rows}, earths * run.plan.coefficients, rows);
}

// What a run reads many times, where the device has it at hand: weights of an order that the compiler does not know,
// and in whole vectors profiles and coefficients, with zeros around them.
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
  Snapshots<R::ndim> asked;
  const Value* wavelet;
  Value* record;
  Value* snapshots;
  Value* state;
  History<R> history;
  Value* scratch = history.room + run.plan.groups * run.plan.room(SWEEP_FORWARD).count;

  template <class Launcher>
  void operator()(Launcher& launcher, Span shots) const {
    const auto& plan = run.plan;
    const Parts<Value> wave{state, plan.state, plan.sliced};
    // Snapshots show all cells, and whoever goes backward needs them.
    const auto active =
        launcher.active_box(run, sources, asked.every || plan.boundary ? Points<Value>{} : receivers, shots);
    history.begin(launcher, shots, wave);
    for (int u = plan.first, begin = u, end; u < plan.last && !launcher.stopped(); u = end) {
      if (history.begins_chunk(u)) history.begin_chunk(launcher, shots, wave, begin = u);
      end = next_event(u);
      launcher.steps(ForwardUnits<R>{run, active, wave, history.slots(), begin, sources, receivers, wavelet, record,
                                     scratch, history.strips(begin)},
                     u, end, shots);
      if (end == plan.last || history.begins_chunk(end)) history.end_chunk(launcher, shots, begin, end);
      if (asked.wanted(end - 1)) {
        const auto box = Cells<R, R::Equation::stages - 1>{run, active, end - 1}.box();
        launcher.elements(Snapshot<R>{run, wave, end - 1, box, asked, snapshots}, asked.size(), shots);
        launcher.sync();
      }
    }
    history.end(launcher, shots, wave);
  }

 private:
  // The unit before which a chunk begins, or after which wavefields are handed out.
  int next_event(int u) const {
    const int end = history.next_chunk(u);
    const int seen = asked.every ? (u + asked.every - 1) / asked.every * asked.every + 1 : end;
    return seen < end ? seen : end;
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
  Value* state;  // twice
  Value* scratch;

  template <class Launcher>
  void operator()(Launcher& launcher, Span shots) const {
    const auto& plan = run.plan;
    const Parts<Value> wave{state, 2 * plan.state, plan.sliced};
    const Parts<Value> scattered{state + plan.state, wave.stride, wave.by_shot};
    const auto active = launcher.active_box(run, sources, receivers, shots);
    if (plan.first == 0) copy<Launcher, Value>(launcher, shots, plan, wave, {}, 2 * plan.state);
    launcher.sync();
    launcher.steps(BornUnits<R>{run, active, wave, scattered, tangent_coefficients, sources, receivers, wavelet,
                                tangent_wavelet, record, scratch},
                   plan.first, plan.last, shots);
  }
};

template <class R>
struct Adjoint;

// Units of an adjoint run, which go backwards: number n is unit last - n.
template <class R>
struct AdjointUnits {
  using Value = typename R::Value;
  const Adjoint<R>& of;
  R run;
  Value* scratch;
  ActiveBox<R> active;
  Parts<Value> adjoint, slots;
  int begin, last;

  // The stages in reverse, unless they are their own adjoint.
  template <int NUMBER>
  auto stage(int n) const {
    constexpr int STAGE = R::Equation::second ? NUMBER : R::Equation::stages - 1 - NUMBER;
    using Step = AdjointCells<R, STAGE>;
    const int u = last - n, sample = sample_of<R, STAGE>(u);
    Step step{{run, active, u}, adjoint, slots, u - begin, of.past, {}};
    step.made = step.box();
    const auto gather = of.template heard<STAGE>(u, sample, step.made);
    const Inject<Step, STAGE> inject{step, of.receivers, of.cotangent, nullptr, u, active.receivers};
    const Inject<Recall<Step>, STAGE> recall{{step}, of.forward_sources, of.wavelet, nullptr, sample, active.sources};
    return Recalling<Step, STAGE>{{step, inject, gather}, recall};
  }
};

template <class R>
struct Adjoint {
  using Value = typename R::Value;
  R run;
  Points<Value> forward_sources, sources, receivers;  // to inject again, to gather at, to inject at
  const Value* wavelet;
  const Value* cotangent;
  Value* gradient_wavelet;
  Value* state;
  Value* gradient;
  History<R> history;
  Value* sums = history.room + run.plan.groups * run.plan.room(SWEEP_ADJOINT).count;  // of images
  Value* scratch = sums + (run.plan.sums() ? run.plan.groups * run.plan.coefficient_size() : 0);
  // What filters of points remember: receivers, then sources.
  Value* past = state + (run.plan.sliced ? run.plan.shots : run.plan.groups) * run.plan.imaged();

  Value* source_past() const { return past + run.plan.shots * run.plan.receivers * R::ndim; }
  Parts<Value> adjoint() const { return {state, run.plan.imaged(), run.plan.sliced}; }
  // What sources take from the adjoint fields of a stage of a unit.
  template <int STAGE>
  Gather<R, true> heard(int unit, int sample, const Box<R::ndim>& box) const {
    constexpr unsigned made = R::Equation::template made<STAGE>;
    constexpr unsigned before = R::Equation::template adjoint_heard_before<STAGE>;
    return {run, made, before, adjoint(), sources, gradient_wavelet, unit, sample, box, source_past()};
  }
  template <class Device>
  int finish(const Device& device, int earths) const {
    if (run.plan.first > 0) return SWEEP_OK;
    return device.finish(Reduce<R>{run, adjoint(), sums, gradient, earths}, earths, run.plan.layout.cells);
  }

  template <class Launcher>
  void operator()(Launcher& launcher, Span shots) const {
    const auto& plan = run.plan;
    const Parts<Value> adjoint = this->adjoint();
    const auto active = launcher.active_box(run, forward_sources, receivers, shots);
    const ForwardUnits<R> forward{run, active, {}, {}, 0, forward_sources, {}, wavelet, nullptr, scratch};
    if (plan.last == plan.steps) begin(launcher, shots, adjoint);
    for (int c = plan.chunks - 1; c >= 0 && !launcher.stopped(); --c) {
      const int begin = plan.first + c * plan.chunk;
      const int end = plan.last - begin > plan.chunk ? begin + plan.chunk : plan.last;
      const Parts<Value> slots = history.again(launcher, shots, forward, begin, end);
      const AdjointUnits<R> units{*this, run, scratch, active, adjoint, slots, begin, end - 1};
      launcher.steps(units, 0, end - begin, shots);
    }
    if constexpr (!together) {
      if (!plan.sums()) return;
      launcher.sync();
      launcher.elements(AddImages<R>{run, adjoint, sums}, plan.coefficient_size(), shots);
      launcher.sync();
    }
  }

 private:
  template <class Launcher>
  void begin(Launcher& launcher, Span shots, const Parts<Value>& adjoint) const {
    const auto& plan = run.plan;
    copy<Launcher, Value>(launcher, shots, plan, adjoint, {}, plan.imaged());
    if constexpr (R::Equation::second) {
      const ptrdiff_t heard = plan.receivers * R::ndim, driven = plan.sources * R::ndim;
      copy<Launcher, Value>(launcher, shots, plan, {past, heard, true}, {}, heard);
      copy<Launcher, Value>(launcher, shots, plan, {source_past(), driven, true}, {}, driven);
    }
    launcher.sync();
    // The last sample acts on no field at whole steps that anybody sees.
    for_axes<R::Equation::stages>([&](auto index) {
      constexpr int STAGE = R::Equation::stages - 1 - decltype(index)::value;
      if constexpr (!R::Equation::template later<STAGE>)
        launcher.gather(heard<STAGE>(0, plan.steps - 1, whole(plan.layout)), shots);
    });
    launcher.sync();
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
