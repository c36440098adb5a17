// The time loops of staggered equations: forward, Born, and the adjoint over a kept or recomputed history.
#ifndef SWEEP_STAGGERED_DRIVER_H
#define SWEEP_STAGGERED_DRIVER_H

#include "phases.h"

namespace sweep {
inline namespace SWEEP_VARIANT {
namespace staggered {

// The cells of a phase, then its sources.
template <bool AT_HALF, class Team, class Step>
void make(Team& team, Span shots, const Step& step, const Points<typename Step::Value>& points,
          const typename Step::Value* signal, const typename Step::Value* varied, int sample) {
  team.cells(step, shots);
  team.inject(Inject<Step, AT_HALF>{step, points, signal, varied, sample}, shots);
}

template <class Device, class R, class Value>
int frame(const Device& device, const R& run, const Value* from, Value* to, int earths) {
  const ptrdiff_t rows = Frame<R>::rows(run);
  return device.finish(Frame<R>{run, from, to, rows}, earths * run.plan.coefficients, rows);
}
// What a run reads in whole vectors: profiles and coefficients, with zeros around them.
template <class Device, class R, class Value>
int prepare_earth(const Device& device, const R& run, Value* to, int earths) {
  ptrdiff_t longest = 0;
  for (int a = 0; a < R::ndim; ++a) longest = run.plan.profile[a] > longest ? run.plan.profile[a] : longest;
  if (const int status = device.finish(Profiles<R>{run, to}, 4 * R::ndim, longest)) return status;
  return frame(device, run, run.coefficient, to + run.plan.profiles(), earths);
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
  int first, last;

  template <class Device>
  int prepare(const Device& device, int earths) {
    Value* const to = state + run.plan.lanes * run.plan.state;
    run.prepared = to;
    return first ? SWEEP_OK : prepare_earth(device, run, to, earths);
  }

  // One unit of the run: the record's index u, for whose fields at whole steps sample u - 1 has acted.
  template <bool KEEP, class Team>
  static void unit(Team& team, Span shots, const R& run, const Parts<Value>& wave, const Parts<Value>& slots,
                   ptrdiff_t slot, const Cone<R::ndim>& cone, int u, const Points<Value>& sources,
                   const Value* wavelet) {
    const Grow<R, true, KEEP> half{{run, cone.sources, u}, wave, slots, slot};
    make<true, Team>(team, shots, half, sources, wavelet, nullptr, u);
  }
  template <bool KEEP, class Team>
  static void whole_unit(Team& team, Span shots, const R& run, const Parts<Value>& wave, const Parts<Value>& slots,
                         ptrdiff_t slot, const Cone<R::ndim>& cone, int u, const Points<Value>& sources,
                         const Value* wavelet) {
    if (u == 0) return;
    const Grow<R, false, KEEP> whole{{run, cone.sources, u}, wave, slots, slot};
    make<false, Team>(team, shots, whole, sources, wavelet, nullptr, u - 1);
  }

  template <class Team>
  void operator()(Team& team, Span shots) const {
    if (run.plan.keeps_all)
      steps<true>(team, shots);
    else
      steps<false>(team, shots);
  }

 private:
  template <bool KEEP, class Team>
  void steps(Team& team, Span shots) const {
    const auto& plan = run.plan;
    const Parts<Value> wave{state, plan.state, false}, slots{history, plan.steps * plan.slot, true};
    const auto cone = team.cone(run, sources, shots);
    if (first == 0) {
      copy<Team, decltype(run.plan), Value>(team, shots, plan, wave, {}, plan.state);
      team.sync();
    }
    for (int u = first; u < last; ++u) {
      if (team.stopped()) return;
      if (plan.chunks > 1 && u > 0 && u % plan.chunk == 0) {
        const Parts<Value> to{checkpoints + (u / plan.chunk - 1) * plan.state, (plan.chunks - 1) * plan.state, true};
        copy<Team, decltype(run.plan), Value>(team, shots, plan, to, {state, plan.state, false}, plan.state);
        team.sync();
      }
      whole_unit<KEEP>(team, shots, run, wave, slots, u * plan.slot, cone, u, sources, wavelet);
      team.poll(u);
      team.sync();
      const auto box = reached(plan.layout, cone.sources, 2 * u);
      team.gather(Gather<R, false, false>{run, wave, receivers, record, u, box}, shots);
      unit<KEEP>(team, shots, run, wave, slots, u * plan.slot, cone, u, sources, wavelet);
      team.sync();
      team.gather(Gather<R, true, false>{run, wave, receivers, record, u, box}, shots);
      if (asked.wanted(u)) {
        team.elements(Snapshot<R>{run, wave, u, box, asked, snapshots}, asked.size(), shots);
        team.sync();
      }
    }
  }
};

template <class R>
struct Born {
  using Value = typename R::Value;
  R run;
  Points<Value> sources, receivers;
  const Value* wavelet;
  const Value* tangent_coefficients;
  const Value* tangent_wavelet;
  Value* record;
  Value* workspace;  // (lanes, 2, state), then what is prepared, then the tangents likewise

  template <class Device>
  int prepare(const Device& device, int earths) {
    Value* const to = workspace + run.plan.lanes * 2 * run.plan.state;
    Value* const framed = to + run.plan.prepared(earths);
    run.prepared = to;
    if (const int status = prepare_earth(device, run, to, earths)) return status;
    const Value* const given = tangent_coefficients;
    tangent_coefficients = framed;
    return frame(device, run, given, framed, earths);
  }

  template <class Team>
  void operator()(Team& team, Span shots) const {
    const auto& plan = run.plan;
    const Parts<Value> wave{workspace, 2 * plan.state, false}, scattered{workspace + plan.state, 2 * plan.state, false};
    const auto cone = team.cone(run, sources, shots);
    copy<Team, decltype(run.plan), Value>(team, shots, plan, wave, {}, 2 * plan.state);
    team.sync();
    for (int u = 0; u < plan.steps && !team.stopped(); ++u) {
      if (u) {
        const Scatter<R, false> whole{{run, cone.sources, u}, wave, scattered, tangent_coefficients};
        make<false, Team>(team, shots, whole, sources, wavelet, tangent_wavelet, u - 1);
      }
      team.poll(u);
      team.sync();
      const auto box = reached(plan.layout, cone.sources, 2 * u);
      team.gather(Gather<R, false, false>{run, scattered, receivers, record, u, box}, shots);
      const Scatter<R, true> half{{run, cone.sources, u}, wave, scattered, tangent_coefficients};
      make<true, Team>(team, shots, half, sources, wavelet, tangent_wavelet, u);
      team.sync();
      team.gather(Gather<R, true, false>{run, scattered, receivers, record, u, box}, shots);
    }
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
  Value* workspace;  // (lanes, adjoint state), then (lanes, slots and state of the forward run)
  Value* images;
  Value* prepared;

  template <class Device>
  int prepare(const Device& device, int earths) {
    run.prepared = prepared;
    return prepare_earth(device, run, prepared, earths);
  }

  template <class Team>
  void operator()(Team& team, Span shots) const {
    const auto& plan = run.plan;
    const Parts<Value> adjoint{workspace, plan.adjoint_state(), false};
    const auto cone = team.cone(run, forward_sources, shots);
    copy<Team, decltype(run.plan), Value>(team, shots, plan, adjoint, {}, plan.adjoint_state());
    team.elements(ClearImages<R>{run, images, plan.coefficient_size()}, plan.coefficient_size(), shots);
    team.sync();
    // The last sample acts on no field at whole steps that anybody sees.
    take<false>(team, shots, adjoint, plan.steps - 1);
    for (int c = plan.chunks - 1; c >= 0 && !team.stopped(); --c) {
      const int begin = c * plan.chunk, end = begin + plan.chunk;
      chunk(team, shots, adjoint, cone, begin, end < plan.steps ? end : plan.steps);
    }
  }

 private:
  template <bool AT_HALF, class Team>
  void take(Team& team, Span shots, const Parts<Value>& adjoint, int sample) const {
    const auto everywhere = whole(run.plan.layout);
    team.gather(Gather<R, AT_HALF, true>{run, adjoint, sources, gradient_wavelet, sample, everywhere}, shots);
  }

  template <class Team>
  void chunk(Team& team, Span shots, const Parts<Value>& adjoint, const Cone<R::ndim>& cone, int begin, int end) const {
    const auto& plan = run.plan;
    Parts<Value> slots{const_cast<Value*>(history), plan.steps * plan.slot, true};
    if (!plan.keeps_all) {
      slots = {workspace + plan.lanes * plan.adjoint_state(), plan.recomputed(), false};
      recompute(team, shots, slots, cone, begin, end);
    }
    for (int u = end - 1; u >= begin && !team.stopped(); --u) {
      const ptrdiff_t slot = (u - begin) * plan.slot;
      const Back<R, true> half{{run, cone.sources, u}, adjoint, slots, slot, images};
      make<true, Team>(team, shots, half, receivers, cotangent, nullptr, u);
      team.poll(u);
      team.sync();
      take<true>(team, shots, adjoint, u);
      if (u) {
        const Back<R, false> other{{run, cone.sources, u}, adjoint, slots, slot, images};
        make<false, Team>(team, shots, other, receivers, cotangent, nullptr, u);
      }
      team.sync();
      if (u) take<false>(team, shots, adjoint, u - 1);
    }
  }

  template <class Team>
  void recompute(Team& team, Span shots, const Parts<Value>& slots, const Cone<R::ndim>& cone, int begin,
                 int end) const {
    const auto& plan = run.plan;
    const Parts<Value> wave{slots.base + plan.chunk * plan.slot, plan.recomputed(), false};
    const Parts<const Value> saved{begin ? checkpoints + (begin / plan.chunk - 1) * plan.state : nullptr,
                                   (plan.chunks - 1) * plan.state, true};
    team.sync();
    copy<Team, decltype(run.plan), Value>(team, shots, plan, wave, saved, plan.state);
    team.sync();
    using Run = Forward<R>;
    for (int u = begin; u < end && !team.stopped(); ++u) {
      const ptrdiff_t slot = (u - begin) * plan.slot;
      Run::template whole_unit<true>(team, shots, run, wave, slots, slot, cone, u, forward_sources, wavelet);
      team.poll(u);
      team.sync();
      Run::template unit<true>(team, shots, run, wave, slots, slot, cone, u, forward_sources, wavelet);
      team.sync();
    }
  }
};

}  // namespace staggered
}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
