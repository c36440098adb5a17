// The time loops: forward, and the adjoint over a kept or recomputed history. Written once for every equation and
// device: a Team shares out cells, points and copies among whatever executes them.
#ifndef SWEEP_DRIVER_H
#define SWEEP_DRIVER_H

#include "phases.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// Not by for_axes: nvcc lets host code give no lambda to a function that runs on both sides.
template <int A, bool ADJOINT, class Team, class R>
void remember(Team& team, Span shots, const Advance<R, ADJOINT>& step) {
  if constexpr (A < R::ndim) {
    team.template rim<A>(Remember<R, A>{step.run, step.wave, step.k}, shots);
    remember<A + 1>(team, shots, step);
  }
}

template <bool ADJOINT, class Team, class R>
void advance(Team& team, Span shots, const Advance<R, ADJOINT>& step, const Points<typename R::Value>& points,
             const typename R::Value* signal, int sample) {
  remember<0>(team, shots, step);
  team.sync();
  team.grid(step, shots);
  team.inject(Inject<R, ADJOINT>{step, points, signal, sample}, shots);
}

template <class Team, class Plan, class T>
void copy(Team& team, Span shots, const Plan& plan, Parts<T> to, Parts<const T> from, ptrdiff_t count) {
  team.elements(Copy<Plan, T>{plan, to, from}, count, shots);
}

template <class R>
struct Forward {
  using T = typename R::Value;
  R run;
  Points<T> sources, receivers;
  const T* wavelet;
  T* record;
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
      team.elements(ClearHalos<R>{run, kept}, ClearHalos<R>::count(run), shots);
    }
    team.sync();
  }

  template <class Team>
  void operator()(Team& team, Span shots) const {
    const auto& plan = run.plan;
    const Wave<T> forward = wave();
    if (first == 0) start(team, shots);
    for (int k = first; k < last; ++k) {
      if (team.stopped()) return;
      if (plan.chunks > 1 && k > 0 && k % plan.chunk == 0 && k / plan.chunk < plan.chunks) {
        const Parts<T> to{checkpoints + (k / plan.chunk - 1) * plan.state, (plan.chunks - 1) * plan.state, true};
        copy<Team, decltype(run.plan), T>(team, shots, plan, to, {state, plan.state, false}, plan.state);
        team.sync();
      }
      if (k + 1 < plan.steps) {
        advance(team, shots, Advance<R, false>{run, forward, k, {}, 0, nullptr}, sources, wavelet, k);
        team.poll(k);
      }
      team.gather(Gather<R>{run, forward, k, receivers, record, k}, shots);
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
    return {base, plan.recomputed(), false, origin, period, base + plan.slots * plan.level, plan.recomputed()};
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
  void chunk(Team& team, Span shots, int begin, int end) const {
    const Wave<T> adjoint = wave(), forward = stored(begin);
    if (!run.plan.keeps_all) {
      restore(team, shots, forward, begin);
      for (int k = begin; k < end && !team.stopped(); ++k) {
        advance(team, shots, Advance<R, false>{run, forward, k, {}, 0, nullptr}, forward_sources, wavelet, k);
        team.poll(k);
        team.sync();
      }
    }
    for (int k = end - 1; k >= begin && !team.stopped(); --k) {
      const int j = run.plan.steps - 2 - k;  // the adjoint run's own time
      advance(team, shots, Advance<R, true>{run, adjoint, j, forward, k + 1, images}, receivers, cotangent, k + 1);
      team.gather(Gather<R>{run, adjoint, j, sources, gradient_wavelet, k + 1}, shots);
      team.poll(k);
      team.sync();
    }
  }

  template <class Team>
  void operator()(Team& team, Span shots) const {
    const auto& plan = run.plan;
    const ptrdiff_t size = plan.adjoint_state();
    copy<Team, decltype(run.plan), T>(team, shots, plan, {workspace, size, false}, {}, size);
    team.elements(ClearImages<R>{run, images}, plan.coefficient_cells(), shots);
    if (!plan.keeps_all && plan.chunk) {
      const Parts<T> slots{workspace + plan.lanes * size, plan.recomputed(), false};
      team.elements(ClearHalos<R>{run, slots}, ClearHalos<R>::count(run), shots);
    }
    team.sync();
    for (int c = plan.chunks - 1; c >= 0 && !team.stopped(); --c) {
      const int begin = c * plan.chunk, end = begin + plan.chunk;
      chunk(team, shots, begin, end < plan.steps - 1 ? end : plan.steps - 1);
    }
    team.gather(Gather<R>{run, wave(), plan.steps - 1, sources, gradient_wavelet, 0}, shots);
    team.sync();
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
