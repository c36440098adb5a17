// CPU threads as a Team. The only place, with kernels.cpp beside it, that knows a loop over cells.
#ifndef SWEEP_CPU_TEAM_H
#define SWEEP_CPU_TEAM_H

#if defined(__SSE__)
#include <immintrin.h>
#endif
#if defined(_OPENMP)
#include <omp.h>
#endif

#include "../driver.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// Decaying fields would crawl through denormals; torch and XLA leave the mode differently, so each thread sets it.
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

class Team {
 public:
  Team(int rank, int size, sweep_control* control, volatile int32_t* stop)
      : rank_(rank), size_(size), control_(control), stop_(stop) {}

  void sync() const {
#if defined(_OPENMP)
    if (size_ > 1) {
#pragma omp barrier
    }
#endif
  }

  // Rank 0 looks between the two barriers of a step, so that all ranks of a team leave together.
  void poll(int k) {
    if (!control_ || rank_) return;
    control_->progress = k;
    if (*static_cast<volatile int32_t*>(&control_->cancel)) *stop_ = 1;
  }
  bool stopped() const { return *stop_ != 0; }

  template <class F>
  void grid(const F& f, Span shots) const {
    constexpr int last = F::ndim - 1;
    for (int shot = shots.first; shot < shots.first + shots.count; ++shot) {
      const auto view = f.view(shot);
      const auto& layout = view.layout;
      const int n = layout.field.n[last], low = layout.rim_low[last], high = n - layout.rim_high[last];
      rows(layout, [&](Cell<F::ndim> row) SWEEP_INLINE {
        unsigned mask = 0;
        for (int a = 0; a < last; ++a) mask |= static_cast<unsigned>(layout.in_rim(a, row.i[a])) << a;
        with_mask<1u << last>(mask, [&](auto index) SWEEP_INLINE {
          constexpr unsigned outer = decltype(index)::value, rim = outer | 1u << last;
          segment<F, rim>(view, row, 0, low);
          segment<F, outer>(view, row, low, high);
          segment<F, rim>(view, row, high, n);
        });
      });
    }
  }

  template <int A, class F>
  void rim(const F& f, Span shots) const {
    constexpr int last = F::ndim - 1;
    for (int shot = shots.first; shot < shots.first + shots.count; ++shot) {
      const auto view = f.view(shot);
      const auto& layout = view.layout;
      const int n = layout.field.n[A], low = layout.pml_low[A], high = n - layout.pml_high[A];
      if (low == 0 && high == n) continue;
      rows(layout, [&](const Cell<F::ndim>& row) SWEEP_INLINE {
        if constexpr (A == last) {
          remember<F>(view, row, 0, low);
          remember<F>(view, row, high, n);
        } else if (row.i[A] < low || row.i[A] >= high) {
          remember<F>(view, row, 0, layout.field.n[last]);
        }
      });
    }
  }

  template <class F>
  void inject(const F& f, Span shots) const {
    for (int shot = shots.first; shot < shots.first + shots.count; ++shot) {
      const auto view = f.view(shot);
      const ptrdiff_t width = view.layout.field.n[F::ndim - 1], lines = view.layout.cells / width;
      const ptrdiff_t from = share(lines, rank_) * width, to = share(lines, rank_ + 1) * width;
      ptrdiff_t begin = static_cast<ptrdiff_t>(shot) * f.points.total;
      for (int field = 0; field < SWEEP_MAX_FIELDS; begin += f.points.count[field++]) {
        const ptrdiff_t end = begin + f.points.count[field];
        for (ptrdiff_t p = lower_bound(f.points.cell, begin, end, from); p < end && f.points.cell[p] < to; ++p)
          f.point(view, shot, field, p);
      }
    }
  }

  template <class F>
  void gather(const F& f, Span shots) const {
    const int traces = f.points.traces();
    if (!traces) return;
    for (int shot = shots.first; shot < shots.first + shots.count; ++shot) {
      ptrdiff_t begin = static_cast<ptrdiff_t>(shot) * f.points.total;
      for (int field = 0; field < SWEEP_MAX_FIELDS; begin += f.points.count[field++]) {
        const int taps = f.points.count[field] / traces;
        if (!taps) continue;
        const auto* from = f.field(shot, field);
        for (ptrdiff_t t = share(traces, rank_); t < share(traces, rank_ + 1); ++t)
          f.trace(from, shot, begin + t * taps, taps);
      }
    }
  }

  template <class F>
  void elements(const F& f, ptrdiff_t count, Span shots) const {
    for (int shot = shots.first; shot < shots.first + shots.count; ++shot)
      for (ptrdiff_t i = share(count, rank_); i < share(count, rank_ + 1); ++i) f.element(shot, i);
  }

 private:
  ptrdiff_t share(ptrdiff_t count, int rank) const { return count * rank / size_; }

  static ptrdiff_t lower_bound(const int32_t* cells, ptrdiff_t begin, ptrdiff_t end, ptrdiff_t value) {
    while (begin < end) {
      const ptrdiff_t middle = begin + (end - begin) / 2;
      if (cells[middle] < value)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }

  template <int NDIM, class Body>
  SWEEP_HD void rows(const Layout<NDIM>& layout, const Body& body) const {
    const ptrdiff_t width = layout.field.n[NDIM - 1], lines = layout.cells / width;
    for (ptrdiff_t line = share(lines, rank_); line < share(lines, rank_ + 1); ++line) body(layout.cell(line * width));
  }

  template <class V, int NDIM>
  SWEEP_HD static Cell<NDIM> along(const V&, const Cell<NDIM>& row, int shift, int x) {
    Cell<NDIM> c = row;
    c.i[NDIM - 1] = x;
    c.shift[NDIM - 1] = shift;
    c.at = row.at + x;
    c.dense = row.dense + x;
    return c;
  }

  template <class F, unsigned RIM, class V, int NDIM>
  SWEEP_HD static void segment(const V& view, const Cell<NDIM>& row, int begin, int end) {
    const int shift = view.layout.shift(NDIM - 1, begin);
#pragma omp simd
    for (int x = begin; x < end; ++x) F::template cell<RIM>(view, along(view, row, shift, x));
  }

  template <class F, class V, int NDIM>
  SWEEP_HD static void remember(const V& view, const Cell<NDIM>& row, int begin, int end) {
    const int shift = view.layout.shift(NDIM - 1, begin);
#pragma omp simd
    for (int x = begin; x < end; ++x) F::cell(view, along(view, row, shift, x));
  }

  int rank_, size_;
  sweep_control* control_;
  volatile int32_t* stop_;
};

// Runs body(team, shot) for all shots: a thread for each group where the groups share out evenly, otherwise all
// threads on one shot after the other. What is summed, and in which order, does not depend on it.
template <class Plan, class Body>
int execute(const Plan& plan, const sweep_context* context, const Body& body) {
  volatile int32_t stop = 0;
  // A barrier costs about as much as this many cells: a thread with fewer to do would only be waited for.
  constexpr ptrdiff_t worthwhile = 8192;
  const ptrdiff_t useful = 1 + plan.layout.cells * plan.shots / worthwhile;
  const int threads = context->threads < useful ? context->threads : static_cast<int>(useful);
  const bool apart = plan.groups >= threads && (plan.groups % threads == 0 || plan.groups >= 4 * threads);
#pragma omp parallel num_threads(threads)
  {
    const FlushDenormals mode;
#if defined(_OPENMP)
    const int rank = omp_get_thread_num(), size = omp_get_num_threads();
#else
    const int rank = 0, size = 1;
#endif
    if (apart || size == 1) {
      Team team(0, 1, context->control, &stop);
#pragma omp for schedule(dynamic, 1)
      for (int group = 0; group < plan.groups; ++group)
        for (int shot = plan.group_begin(group); shot < plan.group_begin(group + 1); ++shot) body(team, Span{shot, 1});
    } else {
      Team team(rank, size, context->control, &stop);
      for (int shot = 0; shot < plan.shots; ++shot) body(team, Span{shot, 1});
    }
  }
  return stop ? SWEEP_CANCELLED : SWEEP_OK;
}

// f.element(part, i) for all parts and i, outside of any run.
template <class F>
void finish(const F& f, int parts, ptrdiff_t count, const sweep_context* context) {
#pragma omp parallel num_threads(context->threads)
  {
    const FlushDenormals mode;
#pragma omp for
    for (ptrdiff_t i = 0; i < count; ++i)
      for (int part = 0; part < parts; ++part) f.element(part, i);
  }
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
