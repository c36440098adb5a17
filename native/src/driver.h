// The time loops: forward, and the adjoint over a kept or recomputed history. Written once for every equation and
// device: a Team shares out cells, points and copies among whatever executes them.
#ifndef SWEEP_DRIVER_H
#define SWEEP_DRIVER_H

#include "moves.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// One step of a wave, from level k to k + 1: what the PML remembers along the first axis, along which threads share the
// grid; then the grid, where what it remembers along the other axes comes first.
template <class Team, class Step>
void make_level(Team& team, Span shots, const Step& step) {
  team.template rim<0>(remembering<0>(step), shots);
  team.sync();
  team.grid(step, shots);
}

// Where the levels of a history lie apart, what earlier shots have left around the cells that are computed is cleared.
template <class Team, class Step, class Sources>
void advance(Team& team, Span shots, const Step& step, const Sources& sources) {
  make_level(team, shots, step);
  if (step.wave.period > Step::levels) team.clear_around(step, shots);
  team.inject(sources, shots);
}

template <class R>
struct Forward {
  using T = typename R::Value;
  R run;
  Points<T> sources, receivers;
  Snapshots<R::ndim> asked;
  const T* wavelet;
  T* record;
  T* snapshots;
  T* history;
  T* checkpoints;
  T* state;
  int first, last;

  Wave<T> wave() const {
    constexpr int levels = R::Equation::levels;
    const auto& plan = run.plan;
    T* const memory = state + levels * plan.level;
    if (plan.keeps_all)
      return {history, plan.slots * plan.level, true, 1 - levels, static_cast<int>(plan.slots), memory, plan.state};
    return {state, plan.state, false, -levels, levels, memory, plan.state};
  }

  template <class Team>
  void start(Team& team, Span shots) const {
    const auto& plan = run.plan;
    copy<Team, decltype(run.plan), T>(team, shots, plan, {state, plan.state, false}, {}, plan.state);
    if (plan.keeps_all) {
      const Parts<T> kept{history, plan.slots * plan.level, true};
      copy<Team, decltype(run.plan), T>(team, shots, plan, kept, {}, R::Equation::levels * plan.level);
      const ClearHalos<R> halos{run, kept};
      team.elements(halos, halos.count(), shots);
    }
    team.sync();
  }

  template <class Team>
  void operator()(Team& team, Span shots) const {
    const auto& plan = run.plan;
    const Wave<T> forward = wave();
    const auto cone = team.cone(run, sources, asked.every ? Points<T>{} : receivers, shots);
    if (first == 0) start(team, shots);
    for (int k = first; k < last; ++k) {
      if (team.stopped()) return;
      if (plan.chunks > 1 && k > 0 && k % plan.chunk == 0 && k / plan.chunk < plan.chunks) {
        const Parts<T> to{checkpoints + (k / plan.chunk - 1) * plan.state, (plan.chunks - 1) * plan.state, true};
        copy<Team, decltype(run.plan), T>(team, shots, plan, to, {state, plan.state, false}, plan.state);
        team.sync();
      }
      if (k + 1 < plan.steps) {
        const Advance<R, false> step{run, forward, k, cone, k + 1, {}, nullptr};
        advance(team, shots, step, Inject<R, false>{step, sources, wavelet, k, nullptr});
        team.poll(k);
      }
      const auto box = cone.after(run, k ? k - 1 : 0);
      team.gather(Gather<R>{run, forward, k, receivers, record, k, box, nullptr}, shots);
      if (asked.wanted(k)) team.elements(Snapshot<R>{run, forward, k, box, asked, snapshots}, asked.size(), shots);
      team.sync();
    }
  }
};

// The derivative of the record in a direction: a field, and the one that its sources and the earth's variation scatter.
template <class R>
struct Born {
  using T = typename R::Value;
  R run;
  Points<T> sources, receivers;
  const T* wavelet;
  const T* tangent_coefficients;
  const T* tangent_wavelet;
  T* record;
  T* workspace;  // (lanes, 2, state)

  Wave<T> wave(int which) const {
    constexpr int levels = R::Equation::levels;
    const auto& plan = run.plan;
    T* const state = workspace + which * plan.state;
    return {state, 2 * plan.state, false, -levels, levels, state + levels * plan.level, 2 * plan.state};
  }

  template <class Team>
  void operator()(Team& team, Span shots) const {
    const auto& plan = run.plan;
    const Wave<T> field = wave(0), scattered = wave(1);
    const auto cone = team.cone(run, sources, receivers, shots);
    copy<Team, decltype(run.plan), T>(team, shots, plan, {workspace, 2 * plan.state, false}, {}, 2 * plan.state);
    team.sync();
    for (int k = 0; k < plan.steps && !team.stopped(); ++k) {
      if (k + 1 < plan.steps) {
        const Scatter<R> step{run, field, scattered, k, cone, tangent_coefficients};
        const Advance<R, false> other{run, scattered, k, cone, k + 1, {}, nullptr};
        make_level(team, shots, other);
        advance(team, shots, step, InjectBoth<R>{step, sources, wavelet, k, tangent_wavelet});
        team.poll(k);
      }
      const auto box = cone.after(run, k ? k - 1 : 0);
      team.gather(Gather<R>{run, scattered, k, receivers, record, k, box, nullptr}, shots);
      team.sync();
    }
  }
};

template <class R>
struct Adjoint {
  using T = typename R::Value;
  static constexpr int levels = R::Equation::levels;
  R run;
  Points<T> forward_sources, sources, receivers;  // to inject again, to gather at, to inject at
  const T* wavelet;
  const T* cotangent;
  const T* history;
  const T* checkpoints;
  T* gradient_wavelet;
  T* workspace;
  T* images;
  T* past;  // of the filters of receivers, then of sources

  // The adjoint run's own field, which ends in the filters that the forward run does not have.
  Wave<T> wave() const {
    const ptrdiff_t stride = run.plan.adjoint_state();
    return {workspace, stride, false, -levels, levels, workspace + levels * run.plan.level, stride};
  }
  // The forward field over the chunk that begins at step `begin`: kept, or to be recomputed into the workspace.
  Wave<T> stored(int begin) const {
    const auto& plan = run.plan;
    const int origin = begin + 1 - levels, period = static_cast<int>(plan.slots);
    if (plan.keeps_all) return {const_cast<T*>(history), plan.slots * plan.level, true, origin, period, nullptr, 0};
    T* const base = workspace + plan.lanes * plan.adjoint_state();
    return {
        base, plan.recomputed().count, false, origin, period, base + plan.slots * plan.level, plan.recomputed().count};
  }

  template <class Team>
  void restore(Team& team, Span shots, const Wave<T>& forward, int begin) const {
    const auto& plan = run.plan;
    const T* const saved = begin ? checkpoints + (begin / plan.chunk - 1) * plan.state : nullptr;
    const ptrdiff_t stride = (plan.chunks - 1) * plan.state;
    for (int back = 0; back < levels; ++back) {
      const ptrdiff_t from = (begin - back + levels) % levels * plan.level;
      const ptrdiff_t to = (begin - back - forward.origin) % forward.period * plan.level;
      copy<Team, decltype(run.plan), T>(team, shots, plan, {forward.levels + to, forward.level_stride, false},
                                        {saved ? saved + from : nullptr, stride, true}, plan.level);
    }
    copy<Team, decltype(run.plan), T>(team, shots, plan, {forward.memory, forward.memory_stride, false},
                                      {saved ? saved + levels * plan.level : nullptr, stride, true},
                                      R::Equation::memories * plan.strips);
    team.sync();
  }

  template <class Team>
  void clear(Team& team, Span shots, T* filters, ptrdiff_t count) const {
    copy<Team, decltype(run.plan), T>(team, shots, run.plan, {filters, count, true}, {}, count);
  }

  T* source_past() const { return past + run.plan.shots * run.plan.receivers * R::ndim; }

  template <class Team>
  void chunk(Team& team, Span shots, const Cone<R>& cone, int begin, int end) const {
    const Wave<T> adjoint = wave(), forward = stored(begin);
    const auto everywhere = whole(run.plan.layout);
    if (!run.plan.keeps_all) {
      restore(team, shots, forward, begin);
      for (int k = begin; k < end && !team.stopped(); ++k) {
        const Advance<R, false> step{run, forward, k, cone, k + 1, {}, nullptr};
        advance(team, shots, step, Inject<R, false>{step, forward_sources, wavelet, k, nullptr});
        team.poll(k);
        team.sync();
      }
    }
    for (int k = end - 1; k >= begin && !team.stopped(); --k) {
      const int j = run.plan.steps - 2 - k;  // the adjoint run's own time
      const Advance<R, true> step{run, adjoint, j, cone, k + 1, forward, images};
      advance(team, shots, step, Inject<R, true>{step, receivers, cotangent, k + 1, past});
      team.gather(Gather<R>{run, adjoint, j, sources, gradient_wavelet, k + 1, everywhere, source_past()}, shots);
      team.poll(k);
      team.sync();
    }
  }

  template <class Team>
  void operator()(Team& team, Span shots) const {
    const auto& plan = run.plan;
    const ptrdiff_t size = plan.adjoint_state();
    copy<Team, decltype(run.plan), T>(team, shots, plan, {workspace, size, false}, {}, size);
    team.elements(ClearImages<R>{run, images, plan.coefficient_cells()}, plan.coefficient_cells(), shots);
    clear(team, shots, past, plan.receivers * R::ndim);
    clear(team, shots, source_past(), plan.sources * R::ndim);
    const auto cone = team.cone(run, forward_sources, receivers, shots);
    if (!plan.keeps_all && plan.chunk) {
      const Parts<T> slots{workspace + plan.lanes * size, plan.recomputed().count, false};
      const ClearHalos<R> halos{run, slots};
      team.elements(halos, halos.count(), shots);
    }
    team.sync();
    for (int c = plan.chunks - 1; c >= 0 && !team.stopped(); --c) {
      const int begin = c * plan.chunk, end = begin + plan.chunk;
      chunk(team, shots, cone, begin, end < plan.steps - 1 ? end : plan.steps - 1);
    }
    const auto everywhere = whole(plan.layout);
    team.gather(Gather<R>{run, wave(), plan.steps - 1, sources, gradient_wavelet, 0, everywhere, source_past()}, shots);
    team.sync();
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
