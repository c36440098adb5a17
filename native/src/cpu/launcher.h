// CPU threads as a Launcher.
#ifndef SWEEP_CPU_LAUNCHER_H
#define SWEEP_CPU_LAUNCHER_H

#if defined(__SSE__)
#include <immintrin.h>
#endif
#if defined(_OPENMP)
#include <omp.h>
#endif

#include "../engine/runs.h"
#include "barrier.h"
#include "one_axis.h"
#include "time_skewing.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// Denormal numbers in decaying fields would slow a run down. torch and XLA leave this mode in different states, so each
// thread sets it.
class FlushDenormals {
#if defined(__SSE__)
  unsigned saved_ = _mm_getcsr();

 public:
  FlushDenormals() { _mm_setcsr(saved_ | 0x8040u); }
  ~FlushDenormals() { _mm_setcsr(saved_); }
#elif defined(__aarch64__)
  uint64_t saved_;

 public:
  FlushDenormals() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    asm volatile("msr fpcr, %0" ::"r"(saved_ | (uint64_t{1} << 24)));
  }
  ~FlushDenormals() { asm volatile("msr fpcr, %0" ::"r"(saved_)); }
#endif
};

// The state that the threads of a call share.
struct Team {
  Barrier barrier;
  std::atomic<int> next_group{0};
  std::atomic<bool> stop{false};  // true once the caller has cancelled
};

class Launcher {
 public:
  // True if ghost cells of a history are cleared row by row, as TimeSkewing does in two dimensions.
  template <int NDIM>
  static constexpr bool closes_rows = NDIM == 2;

  Launcher(int rank, int size, const sweep_context* context, Team& team)
      : rank_(rank), size_(size), everywhere_(context->everywhere), control_(context->control), team_(team) {}

  void sync() const {
    if (size_ > 1) team_.barrier.meet(size_);
  }

  // Rank 0 reads the control word between the two barriers of a step, so that all ranks of a launcher stop together.
  void poll(int k) {
    if (!control_ || rank_) return;
    control_->progress = k;
    if (*static_cast<volatile int32_t*>(&control_->cancel)) team_.stop.store(true, std::memory_order_relaxed);
  }
  bool stopped() const { return team_.stop.load(std::memory_order_relaxed); }

  // The active cells of a shot; a launcher has one shot at a time. Without receivers every cell may matter.
  template <class R>
  ActiveBox<R> active_box(const R& run, const Points<typename R::Value>& sources,
                          const Points<typename R::Value>& receivers, Span shots) const {
    return {box_of_points(run.plan.layout, sources, shots.first),
            box_of_points(run.plan.layout, receivers, shots.first)};
  }

  // This thread's planes of the first axis of a box.
  template <int NDIM>
  Span part(const Box<NDIM>& box) const {
    const ptrdiff_t count = box.high[0] - box.low[0];
    const int begin = static_cast<int>(share(count, rank_)), end = static_cast<int>(share(count, rank_ + 1));
    return {box.low[0] + begin, end - begin};
  }

  // Runs time steps [begin, end) of one shot.
  template <class TimeSteps>
  SWEEP_APART void steps(const TimeSteps& time_steps, int begin, int end, Span shots);

  template <class F>
  void gather(const F& f, Span shots) const {
    for (int shot = shots.first; shot < shots.first + shots.count && f.acts(); ++shot) {
      const auto view = f.view(shot);
      record_traces(f, shot, [&](int field, ptrdiff_t p, const auto& c) { return f.value(view, c, field, p); });
    }
  }
  // Records this thread's traces. They are the same at all stages, because one stage may add to the column of another.
  template <class F, class Of>
  void record_traces(const F& f, int shot, const Of& of) const {
    const int traces = f.points.traces;
    f.record_traces(shot, static_cast<int>(share(traces, rank_)), static_cast<int>(share(traces, rank_ + 1)), of);
  }

  template <class F>
  void elements(const F& f, ptrdiff_t count, Span shots) const {
    for (int shot = shots.first; shot < shots.first + shots.count; ++shot)
      for (ptrdiff_t i = share(count, rank_); i < share(count, rank_ + 1); ++i) f.element(shot, i);
  }
  template <class T>
  void elements(const Copy<T>& f, ptrdiff_t count, Span shots) const {
    const ptrdiff_t begin = share(count, rank_), end = share(count, rank_ + 1);
    for (int shot = shots.first; shot < shots.first + shots.count; ++shot) f.row(shot, begin, end - begin);
  }
  template <class F>
  void rows(const F& f, Span shots) const {
    const auto shell = f.shell();
    auto mine = whole_grid(f.run.plan.layout);
    const Span planes = part(mine);
    mine.low[0] = planes.first;
    mine.high[0] = planes.first + planes.count;
    for (int shot = shots.first; shot < shots.first + shots.count; ++shot)
      shell.rows(mine, [&](ptrdiff_t i, const int* at, int count) { f.row(shot, i, at, count); });
  }

 private:
  ptrdiff_t share(ptrdiff_t count, int rank) const { return count * rank / size_; }

  // The smallest box around the points of a shot; all cells without points.
  template <int NDIM, class T>
  Box<NDIM> box_of_points(const Layout<NDIM>& layout, const Points<T>& points, int shot) const {
    Box<NDIM> box = whole_grid(layout);
    const ptrdiff_t begin = points.begin(shot);
    for (ptrdiff_t p = begin; p < begin + points.total && !everywhere_; ++p) {
      const Cell<NDIM> c = layout.cell(points.cell[p]);
      for (int a = 0; a < NDIM; ++a) {
        if (p == begin || c.i[a] < box.low[a]) box.low[a] = c.i[a];
        if (p == begin || c.i[a] >= box.high[a]) box.high[a] = c.i[a] + 1;
      }
    }
    return box;
  }

  int rank_, size_;
  bool everywhere_;
  sweep_control* control_;
  Team& team_;
};

// Not inline, so that another file may compile it: ../abi/parts.h.
template <class TimeSteps>
void Launcher::steps(const TimeSteps& time_steps, int begin, int end, Span shots) {
  if constexpr (decltype(time_steps.run)::ndim == 1) {
    stage_by_stage(*this, time_steps, begin, end, shots.first);
  } else {
    TimeSkewing<Launcher, TimeSteps> tiles(*this, time_steps, shots.first, rank_, size_);
    for (int u = begin, tile_steps = tiles.steps_per_tile(); u < end && !stopped(); u += tile_steps)
      tiles.compute(u, u + tile_steps < end ? tile_steps : end - u);
  }
}

// The most threads that a call uses: the process would end if the system could not start them.
inline int threads_of(const sweep_context* context) {
  int max_threads = 16;
#if defined(_OPENMP)
  if (omp_get_num_procs() > max_threads) max_threads = omp_get_num_procs();
#endif
  return context->threads < max_threads ? context->threads : max_threads;
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
