// The runs, as sequences of units that a Team marches through: forward, Born, and the adjoint over a kept or recomputed
// history. A unit is one time step, of as many stages as the equation has. Written once for every equation and device.
#ifndef SWEEP_DRIVER_H
#define SWEEP_DRIVER_H

#include "moves.h"
#include "stages.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

template <class Device, class R, class Value>
int frame(const Device& device, const R& run, const Value* from, Value* to, int earths) {
  const ptrdiff_t rows = Framed<R>::rows(run);
  return device.finish(Framed<R>{run, from, to, rows}, earths * run.plan.coefficients, rows);
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
  return frame(device, run, run.coefficient, to + plan.profiles(), p.earths);
}

// A history before its first unit. Where rows are closed as they are made, nothing between them needs to be cleared.
template <class Team, class R, class Value>
void open(Team& team, const R& run, Span shots, const Parts<Value>& wave, const Parts<Value>& slots) {
  if constexpr (!R::Equation::holds_fields) return;  // nobody differentiates it
  const ClearHalos<R> halos{run, slots, !Team::template closes_rows<R::ndim>};
  team.elements(halos, halos.count(), shots);
  team.elements(HoldState<R>{run, wave, slots}, run.plan.total, shots);
  team.sync();
}

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
  Cone<R> cone;
  Parts<Value> wave, slots;
  int begin;  // the unit whose slot is the first
  Points<Value> sources, receivers;
  const Value* wavelet;
  Value* record;  // null: nothing is recorded
  Value* scratch;

  template <int STAGE>
  auto stage(int u) const {
    using Step = Grow<R, STAGE>;
    const Step step{{run, cone, u}, wave, slots, u - begin};
    const int sample = sample_of<R, STAGE>(u);
    return Stage<Step, Inject<Step, STAGE>, Gather<R, false>, STAGE>{
        step,
        {step, sources, wavelet, nullptr, sample, cone.sources},
        {run, R::Equation::template made<STAGE>, wave, receivers, record, u, record ? u : -1, step.box(), nullptr}};
  }
};

template <class R>
struct BornUnits {
  using Value = typename R::Value;
  R run;
  Cone<R> cone;
  Parts<Value> wave, scattered;
  const Value* tangent;
  Points<Value> sources, receivers;
  const Value *wavelet, *tangent_wavelet;
  Value* record;
  Value* scratch;

  template <int STAGE>
  auto stage(int u) const {
    using Step = Scatter<R, STAGE>;
    const Step step{{run, cone, u}, wave, scattered, tangent};
    return Stage<Step, Inject<Step, STAGE>, Gather<R, false>, STAGE>{
        step,
        {step, sources, wavelet, tangent_wavelet, sample_of<R, STAGE>(u), cone.sources},
        {run, R::Equation::template made<STAGE>, scattered, receivers, record, u, u, step.box(), nullptr}};
  }
};

// The state before unit u, which begins a chunk.
template <class R, class Value>
Parts<Value> saved(const R& run, Value* checkpoints, int u) {
  const auto& plan = run.plan;
  const ptrdiff_t number = (u - plan.first) / plan.chunk - (plan.first == 0);
  return {u ? checkpoints + number * plan.state : nullptr, plan.saved() * plan.state, true};
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
  Value* history;
  Value* checkpoints;
  Value* state;
  Value* scratch;

  template <class Team>
  void operator()(Team& team, Span shots) const {
    const auto& plan = run.plan;
    const Parts<Value> wave{state, plan.state, plan.sliced};
    const Parts<Value> slots{plan.keeps_all ? history : nullptr, plan.span().count, true};
    const auto cone = team.cone(run, sources, asked.every ? Points<Value>{} : receivers, shots);
    if (plan.first == 0) copy<Team, decltype(run.plan), Value>(team, shots, plan, wave, {}, plan.state);
    team.sync();
    if (slots.base) open(team, run, shots, wave, slots);
    for (int u = plan.first, end; u < plan.last && !team.stopped(); u = end) {
      if (plan.chunks > 1 && u > 0 && (u - plan.first) % plan.chunk == 0) {
        copy<Team, decltype(run.plan), Value>(team, shots, plan, saved(run, checkpoints, u),
                                              {wave.base, wave.stride, wave.by_shot}, plan.state);
        team.sync();
      }
      end = next_event(u);
      team.march(ForwardUnits<R>{run, cone, wave, slots, plan.first, sources, receivers, wavelet, record, scratch}, u,
                 end, shots);
      if (asked.wanted(end - 1)) {
        const auto box = Cells<R, R::Equation::stages - 1>{run, cone, end - 1}.box();
        team.elements(Snapshot<R>{run, wave, end - 1, box, asked, snapshots}, asked.size(), shots);
        team.sync();
      }
    }
  }

 private:
  // The unit before which a state is saved, or after which wavefields are handed out.
  int next_event(int u) const {
    const int chunk = run.plan.chunks > 1 ? run.plan.chunk : 0, first = run.plan.first;
    int end = run.plan.last;
    if (chunk && end - u > chunk - (u - first) % chunk) end = u + chunk - (u - first) % chunk;
    if (asked.every) {
      const int seen = (u + asked.every - 1) / asked.every * asked.every + 1;
      if (seen < end) end = seen;
    }
    return end;
  }
};

template <class R>
struct Born {
  using Value = typename R::Value;
  R run;
  Points<Value> sources, receivers;
  const Value* wavelet;
  const Value* tangent_coefficients;  // framed
  const Value* tangent_wavelet;
  Value* record;
  Value* state;  // twice
  Value* scratch;

  template <class Team>
  void operator()(Team& team, Span shots) const {
    const auto& plan = run.plan;
    const Parts<Value> wave{state, 2 * plan.state, plan.sliced};
    const Parts<Value> scattered{state + plan.state, wave.stride, wave.by_shot};
    const auto cone = team.cone(run, sources, receivers, shots);
    if (plan.first == 0) copy<Team, decltype(run.plan), Value>(team, shots, plan, wave, {}, 2 * plan.state);
    team.sync();
    team.march(BornUnits<R>{run, cone, wave, scattered, tangent_coefficients, sources, receivers, wavelet,
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
  Cone<R> cone;
  Parts<Value> adjoint, slots;
  int begin, last;

  // The stages in reverse, unless they are their own adjoint.
  template <int NUMBER>
  auto stage(int n) const {
    constexpr int STAGE = R::Equation::second ? NUMBER : R::Equation::stages - 1 - NUMBER;
    using Step = Back<R, STAGE>;
    const int u = last - n, sample = sample_of<R, STAGE>(u);
    Step step{{run, cone, u}, adjoint, slots, u - begin, of.past, {}};
    step.made = step.box();
    const auto gather = of.template heard<STAGE>(u, sample, step.made);
    const Inject<Step, STAGE> inject{step, of.receivers, of.cotangent, nullptr, u, cone.receivers};
    const Inject<Recall<Step>, STAGE> recall{{step}, of.forward_sources, of.wavelet, nullptr, sample, cone.sources};
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
  const Value* history;
  const Value* checkpoints;
  Value* gradient_wavelet;
  Value* state;
  Value* gradient;
  Value* recomputed;                                                         // slots and state of the forward run
  Value* sums = recomputed + run.plan.groups * run.plan.recomputed().count;  // of images
  Value* scratch = sums + (run.plan.sums() ? run.plan.groups * run.plan.coefficient_size() : 0);
  // What filters of points remember: receivers, then sources.
  Value* past = state + (run.plan.sliced ? run.plan.shots : run.plan.groups) * run.plan.imaged();

  Value* source_past() const { return past + run.plan.shots * run.plan.receivers * R::ndim; }
  Parts<Value> adjoint() const { return {state, run.plan.imaged(), run.plan.sliced}; }
  // What sources take from the adjoint fields of a stage of a unit.
  template <int STAGE>
  Gather<R, true> heard(int unit, int sample, const Box<R::ndim>& box) const {
    constexpr unsigned made = R::Equation::template made<STAGE>;
    return {run, made, adjoint(), sources, gradient_wavelet, unit, sample, box, source_past()};
  }
  template <class Device>
  int finish(const Device& device, int earths) const {
    if (run.plan.first > 0) return SWEEP_OK;
    return device.finish(Reduce<R>{run, adjoint(), sums, gradient, earths}, earths, run.plan.layout.cells);
  }

  template <class Team>
  void operator()(Team& team, Span shots) const {
    const auto& plan = run.plan;
    const Parts<Value> adjoint = this->adjoint();
    const auto cone = team.cone(run, forward_sources, receivers, shots);
    if (plan.last == plan.steps) begin(team, shots, adjoint);
    for (int c = plan.chunks - 1; c >= 0 && !team.stopped(); --c) {
      const int begin = plan.first + c * plan.chunk;
      const int end = plan.last - begin > plan.chunk ? begin + plan.chunk : plan.last;
      Parts<Value> slots{const_cast<Value*>(history), plan.span().count, true};
      if (!plan.keeps_all) {
        slots = {recomputed, plan.recomputed().count, false};
        recompute(team, shots, slots, cone, begin, end);
      }
      const AdjointUnits<R> units{*this, run, scratch, cone, adjoint, slots, begin, end - 1};
      team.march(units, 0, end - begin, shots);
    }
    if constexpr (!together) {
      if (!plan.sums()) return;
      team.sync();
      team.elements(AddImages<R>{run, adjoint, sums}, plan.coefficient_size(), shots);
      team.sync();
    }
  }

 private:
  template <class Team>
  void begin(Team& team, Span shots, const Parts<Value>& adjoint) const {
    const auto& plan = run.plan;
    copy<Team, decltype(run.plan), Value>(team, shots, plan, adjoint, {}, plan.imaged());
    if constexpr (R::Equation::second) {
      const ptrdiff_t heard = plan.receivers * R::ndim, driven = plan.sources * R::ndim;
      copy<Team, decltype(run.plan), Value>(team, shots, plan, {past, heard, true}, {}, heard);
      copy<Team, decltype(run.plan), Value>(team, shots, plan, {source_past(), driven, true}, {}, driven);
    }
    team.sync();
    // The last sample acts on no field at whole steps that anybody sees.
    team.gather(heard<R::Equation::whole_stage>(0, plan.steps - 1, whole(plan.layout)), shots);
    team.sync();
  }

  template <class Team>
  void recompute(Team& team, Span shots, const Parts<Value>& slots, const Cone<R>& cone, int begin, int end) const {
    const auto& plan = run.plan;
    const Parts<Value> wave{slots.base + plan.span().count, plan.recomputed().count, false};
    copy<Team, decltype(run.plan), Value>(team, shots, plan, wave, saved(run, checkpoints, begin), plan.state);
    team.sync();
    open(team, run, shots, wave, slots);
    Points<Value> none = {};
    team.march(ForwardUnits<R>{run, cone, wave, slots, begin, forward_sources, none, wavelet, nullptr, scratch}, begin,
               end, shots);
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
