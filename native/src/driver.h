// The runs, as sequences of units that a launcher runs through: forward, Born, and the adjoint over a kept or
// recomputed history. A unit is one time step, of as many stages as the equation has. Written once for every equation
// and device.
#ifndef SWEEP_DRIVER_H
#define SWEEP_DRIVER_H

#include "moves.h"
#include "stages.h"

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

// A history before its first unit. Where rows are closed as they are made, nothing between them needs to be cleared.
template <class Launcher, class R, class Value>
void open(Launcher& launcher, const R& run, Span shots, const Parts<Value>& wave, const Parts<Value>& slots) {
  if constexpr (!R::Equation::holds_fields) return;  // nobody differentiates it
  const ClearGhosts<R> ghosts{run, slots, !Launcher::template closes_rows<R::ndim>};
  launcher.elements(ghosts, ghosts.count(), shots);
  launcher.elements(HoldState<R>{run, wave, slots}, run.plan.total, shots);
  launcher.sync();
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
  ActiveBox<R> active;
  Parts<Value> wave, slots;
  int begin;  // the unit whose slot is the first
  Points<Value> sources, receivers;
  const Value* wavelet;
  Value* record;  // null: nothing is recorded
  Value* scratch;
  Parts<Value> strips = {};
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
        {run, R::Equation::template made<STAGE>, wave, receivers, record, u, record ? u : -1, step.box(), nullptr}};
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
        {run, R::Equation::template made<STAGE>, scattered, receivers, record, u, u, step.box(), nullptr}};
  }
};

// Units that go backward in time, from boundary strips: number n makes again what unit top - n had left.
template <class R>
struct RewindUnits {
  using Value = typename R::Value;
  R run;
  ActiveBox<R> active;
  Parts<Value> wave, slots, strips;
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
        {run, 0, wave, {}, nullptr, u, -1, step.box(), nullptr}};
  }
};

// The state before unit u, which begins a chunk.
template <class R, class Value>
Parts<Value> saved(const R& run, Value* checkpoints, int u) {
  const auto& plan = run.plan;
  const ptrdiff_t number = (u - plan.first) / plan.chunk - (plan.first == 0);
  return {u ? checkpoints + number * plan.saved_state() : nullptr, plan.checkpoints_of_shot(), true};
}
// With boundary strips, the state after the last unit.
template <class R, class Value>
Parts<Value> last_state(const R& run, Value* checkpoints) {
  const auto& plan = run.plan;
  return {checkpoints + plan.saved() * plan.saved_state(), plan.checkpoints_of_shot(), true};
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

  template <class Launcher>
  void operator()(Launcher& launcher, Span shots) const {
    const auto& plan = run.plan;
    const Parts<Value> wave{state, plan.state, plan.sliced};
    const Parts<Value> slots{plan.keeps_all ? history : nullptr, plan.span().count, true};
    const Parts<Value> strips{plan.boundary ? history : nullptr, plan.steps * plan.strips_of_unit(), true};
    // Snapshots show all cells, and whoever goes backward needs them.
    const auto active =
        launcher.active_box(run, sources, asked.every || plan.boundary ? Points<Value>{} : receivers, shots);
    if (plan.first == 0) copy<Launcher, decltype(run.plan), Value>(launcher, shots, plan, wave, {}, plan.state);
    launcher.sync();
    if (slots.base) open(launcher, run, shots, wave, slots);
    for (int u = plan.first, end; u < plan.last && !launcher.stopped(); u = end) {
      if (plan.saved() && u > 0 && (u - plan.first) % plan.chunk == 0)
        save(launcher, shots, wave, saved(run, checkpoints, u));
      end = next_event(u);
      launcher.steps(
          ForwardUnits<R>{run, active, wave, slots, plan.first, sources, receivers, wavelet, record, scratch, strips},
          u, end, shots);
      if (asked.wanted(end - 1)) {
        const auto box = Cells<R, R::Equation::stages - 1>{run, active, end - 1}.box();
        launcher.elements(Snapshot<R>{run, wave, end - 1, box, asked, snapshots}, asked.size(), shots);
        launcher.sync();
      }
    }
    if (plan.boundary) {
      const Parts<const Value> from{wave.base, wave.stride, wave.by_shot};
      copy(launcher, shots, plan, last_state(run, checkpoints), from, plan.state);
      launcher.sync();
    }
  }

 private:
  template <class Launcher>
  void save(Launcher& launcher, Span shots, const Parts<Value>& wave, const Parts<Value>& to) const {
    const auto& plan = run.plan;
    if (plan.boundary)
      launcher.elements(PmlState<R>{run, wave, to, false}, PmlState<R>::count(run), shots);
    else
      copy(launcher, shots, plan, to, Parts<const Value>{wave.base, wave.stride, wave.by_shot}, plan.state);
    launcher.sync();
  }
  // The unit before which a state is saved, or after which wavefields are handed out.
  int next_event(int u) const {
    const int chunk = run.plan.saved() ? run.plan.chunk : 0, first = run.plan.first;
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
    if (plan.first == 0) copy<Launcher, decltype(run.plan), Value>(launcher, shots, plan, wave, {}, 2 * plan.state);
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

  template <class Launcher>
  void operator()(Launcher& launcher, Span shots) const {
    const auto& plan = run.plan;
    const Parts<Value> adjoint = this->adjoint();
    const auto active = launcher.active_box(run, forward_sources, receivers, shots);
    if (plan.last == plan.steps) begin(launcher, shots, adjoint);
    for (int c = plan.chunks - 1; c >= 0 && !launcher.stopped(); --c) {
      const int begin = plan.first + c * plan.chunk;
      const int end = plan.last - begin > plan.chunk ? begin + plan.chunk : plan.last;
      Parts<Value> slots{const_cast<Value*>(history), plan.span().count, true};
      if (!plan.keeps_all) {
        slots = {recomputed, plan.recomputed().count, false};
        if (plan.boundary)
          reconstruct(launcher, shots, slots, active, begin, end);
        else
          recompute(launcher, shots, slots, active, begin, end);
      }
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
    copy<Launcher, decltype(run.plan), Value>(launcher, shots, plan, adjoint, {}, plan.imaged());
    if constexpr (R::Equation::second) {
      const ptrdiff_t heard = plan.receivers * R::ndim, driven = plan.sources * R::ndim;
      copy<Launcher, decltype(run.plan), Value>(launcher, shots, plan, {past, heard, true}, {}, heard);
      copy<Launcher, decltype(run.plan), Value>(launcher, shots, plan, {source_past(), driven, true}, {}, driven);
    }
    launcher.sync();
    // The last sample acts on no field at whole steps that anybody sees.
    launcher.gather(heard<R::Equation::whole_stage>(0, plan.steps - 1, whole(plan.layout)), shots);
    launcher.sync();
  }

  template <class Launcher>
  void recompute(Launcher& launcher, Span shots, const Parts<Value>& slots, const ActiveBox<R>& active, int begin,
                 int end) const {
    const auto& plan = run.plan;
    const Parts<Value> wave{slots.base + plan.span().count, plan.recomputed().count, false};
    copy<Launcher, decltype(run.plan), Value>(launcher, shots, plan, wave, saved(run, checkpoints, begin), plan.state);
    launcher.sync();
    open(launcher, run, shots, wave, slots);
    Points<Value> none = {};
    launcher.steps(ForwardUnits<R>{run, active, wave, slots, begin, forward_sources, none, wavelet, nullptr, scratch},
                   begin, end, shots);
  }

  // A chunk from boundary strips: the PML forward, where its gradient is asked for, then the interior backward.
  template <class Launcher>
  void reconstruct(Launcher& launcher, Span shots, const Parts<Value>& slots, const ActiveBox<R>& adjoint_active,
                   int begin, int end) const {
    const auto& plan = run.plan;
    const Parts<Value> wave{slots.base + plan.span().count, slots.stride, false};
    const Parts<Value> strips{const_cast<Value*>(history), plan.steps * plan.strips_of_unit(), true};
    const ActiveBox<R> active{adjoint_active.sources, whole(plan.layout)};
    const bool last = end == plan.last;
    if (last) {
      copy<Launcher, decltype(run.plan), Value>(launcher, shots, plan, slots, {}, plan.span().count);
      copy(launcher, shots, plan, wave, last_state(run, checkpoints), plan.state);
      launcher.sync();
    }
    if (plan.boundary == SWEEP_EXACT) repeat_pml(launcher, shots, slots, strips, active, begin, end);
    // Of the last unit, and of the one before where two levels are at hand, the state tells; of the others the slot
    // before those of the chunk that comes after this one.
    const int known = last ? R::Equation::levels : 1;
    for (int i = 0; i < known && end - i >= begin; ++i) {
      const Parts<Value> level{run.level(wave, 0, end - 1 - i), wave.stride, false};
      hold<false>(launcher, shots, last ? level : slots, slots, end - i - begin, !last);
    }
    launcher.sync();
    if (begin == 0) hold<false>(launcher, shots, {}, slots, 0, false);
    launcher.sync();
    const int top = end - 1 - known, count = top - (begin ? begin - 1 : 0) + 1;
    const RewindUnits<R> units{run, active, wave, slots, strips, begin, top, forward_sources, wavelet, scratch};
    if (count > 0) launcher.steps(units, 0, count, shots);
  }
  template <bool PML, class Launcher>
  void hold(Launcher& launcher, Span shots, const Parts<Value>& from, const Parts<Value>& slots, ptrdiff_t slot,
            bool placed) const {
    using Hold = HoldPart<R, PML>;
    const Parts<const Value> source{from.base, from.stride, from.by_shot};
    launcher.elements(Hold{run, source, slots, slot, placed}, Hold::count(run), shots);
  }

  template <class Launcher>
  void repeat_pml(Launcher& launcher, Span shots, const Parts<Value>& slots, const Parts<Value>& strips,
                  const ActiveBox<R>& active, int begin, int end) const {
    const auto& plan = run.plan;
    const Parts<Value> wave{slots.base + plan.span().count + plan.state, slots.stride, false};
    copy<Launcher, decltype(run.plan), Value>(launcher, shots, plan, wave, {}, plan.state);
    launcher.sync();
    if (begin) {
      const Parts<const Value> from = saved(run, checkpoints, begin);
      launcher.elements(PmlState<R>{run, wave, {const_cast<Value*>(from.base), from.stride, true}, true},
                        PmlState<R>::count(run), shots);
      launcher.elements(PutBack<R>{run, active, wave, strips, begin - 1}, plan.band.cells(), shots);
      launcher.sync();
    }
    hold<true>(launcher, shots, {run.level(wave, 0, begin + 1), wave.stride, false}, slots, 0, false);
    const ForwardUnits<R> units{run, active,  wave,    slots,   begin,  forward_sources,
                                {},  wavelet, nullptr, scratch, strips, true};
    launcher.sync();
    launcher.steps(units, begin, end, shots);
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
