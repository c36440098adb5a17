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
#include "../staggered/driver.h"
#include "march.h"

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
  // Whether the rows of a history are closed as they are made, as March does in the plane.
  template <int NDIM>
  static constexpr bool closes_rows = NDIM == 2;

  Team(int rank, int size, const sweep_context* context, volatile int32_t* stop)
      : rank_(rank), size_(size), everywhere_(context->everywhere), control_(context->control), stop_(stop) {}

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

  // The cells of a shot that matter; a team has one shot at a time. Without receivers all may be heard.
  template <class R>
  Cone<R> cone(const R& run, const Points<typename R::Value>& sources, const Points<typename R::Value>& receivers,
               Span shots) const {
    return {around(run.plan.layout, sources, shots.first), around(run.plan.layout, receivers, shots.first)};
  }

  template <class F>
  void grid(const F& f, Span shots) const {
    constexpr int last = F::ndim - 1;
    const auto box = f.box();
    for (int shot = shots.first; shot < shots.first + shots.count; ++shot) {
      const auto view = f.view(shot);
      const auto& layout = view.layout;
      const int n = layout.field.n[last], low = layout.rim_low[last], high = n - layout.rim_high[last];
      const auto first = [&](int z, int begin, int end) { remember_block(f, view, z, begin, end); };
      runs(layout, box, layout.rim_low, layout.rim_high, first, [&](const Cell<F::ndim>& row, int count) SWEEP_INLINE {
        unsigned mask = 0;
        for (int a = 0; a < last; ++a) mask |= static_cast<unsigned>(layout.in_rim(a, row.i[a])) << a;
        with_mask<1u << last>(mask, [&](auto index) SWEEP_INLINE {
          band<F, decltype(index)::value>(view, row, count, box, low, high, true);
        });
        if (!layout.surface || row.i[0] > layout.half) return;
        for (int y = 0; y < count; ++y)
          for (int x = box.low[last]; x < box.high[last]; ++x) reflect_near(f, view, along(layout, row, y, 0, x));
      });
    }
  }

  // This thread's part of the first axis of a box.
  template <int NDIM>
  Span part(const Box<NDIM>& box) const {
    const ptrdiff_t count = box.high[0] - box.low[0];
    const int begin = static_cast<int>(share(count, rank_)), end = static_cast<int>(share(count, rank_ + 1));
    return {box.low[0] + begin, end - begin};
  }

  // Units [begin, end) of a staggered run of one shot.
  template <class Units>
  void march(const Units& units, int begin, int end, Span shots) {
    March<Team, Units>(*this, units, shots.first, rank_, size_)(begin, end);
  }

  template <class F>
  void clear_around(const F& f, Span shots) const {
    constexpr int last = F::ndim - 1;
    const auto box = f.box();
    for (int shot = shots.first; shot < shots.first + shots.count; ++shot) {
      const auto view = f.view(shot);
      const auto& layout = view.layout;
      auto wide = box;
      for (int a = 0; a < F::ndim; ++a) {
        // What the next two steps may read, in whole vectors.
        const int margin = 4 * layout.half + 16;
        wide.low[a] = box.low[a] > margin ? box.low[a] - margin : 0;
        wide.high[a] = box.high[a] < layout.field.n[a] - margin ? box.high[a] + margin : layout.field.n[a];
      }
      rows(layout, wide, [&](const Cell<F::ndim>& row) {
        int at[F::ndim];
        for (int a = 0; a < F::ndim; ++a) at[a] = a == last ? box.low[a] : row.i[a];
        const bool crossed = box.contains(at);
        for (int x = wide.low[last]; x < wide.high[last]; ++x) {
          if (crossed && x == box.low[last]) x = box.high[last];
          if (x >= wide.high[last]) break;
          const Cell<F::ndim> c = along(layout, row, 0, 0, x);
          F::clear(view, c);
          reflect_near(f, view, c);
        }
      });
    }
  }

  template <int A, class F>
  void rim(const F& f, Span shots) const {
    const auto box = f.box();
    const Span mine = part(box);
    for (int shot = shots.first; shot < shots.first + shots.count; ++shot) {
      const auto view = f.view(shot);
      const auto& layout = view.layout;
      const int low = layout.pml_low[A], high = layout.field.n[A] - layout.pml_high[A];
      if constexpr (F::ndim == 2) {
        lines<F>(view, box, 0, mine.first, mine.first + mine.count, A);
      } else {
        for (int z = mine.first; z < mine.first + mine.count; ++z)
          if (z < low || z >= high) lines<F>(view, box, z, box.low[1], box.high[1], A);
      }
    }
  }

  // Each point by the thread that makes its row.
  template <class F>
  void inject(const F& f, Span shots) const {
    const auto box = f.step.box();
    for (int shot = shots.first; shot < shots.first + shots.count; ++shot) {
      const auto view = f.view(shot);
      const ptrdiff_t plane = view.layout.dense_stride(0);
      const Span mine = part(box);
      const ptrdiff_t from = mine.first * plane, to = (mine.first + mine.count) * plane;
      points_within(f.points, shot, from, to,
                    [&](int field, ptrdiff_t p, ptrdiff_t end) { f.point(view, shot, field, p, end); });
    }
  }

  template <class F>
  void gather(const F& f, Span shots) const {
    const int traces = f.points.traces();
    if (!traces) return;
    for (int shot = shots.first; shot < shots.first + shots.count; ++shot) {
      const auto view = f.view(shot);
      ptrdiff_t begin = static_cast<ptrdiff_t>(shot) * f.points.total;
      for (int field = 0; field < SWEEP_MAX_FIELDS; begin += f.points.count[field++]) {
        const int taps = f.points.count[field] / traces;
        if (!taps) continue;
        for (ptrdiff_t t = share(traces, rank_); t < share(traces, rank_ + 1); ++t)
          f.trace(view, shot, field, begin + t * taps, taps);
      }
    }
  }

  template <class F>
  void elements(const F& f, ptrdiff_t count, Span shots) const {
    for (int shot = shots.first; shot < shots.first + shots.count; ++shot)
      for (ptrdiff_t i = share(count, rank_); i < share(count, rank_ + 1); ++i) f.element(shot, i);
  }

 private:
  static constexpr int rows_in_block = 32;

  ptrdiff_t share(ptrdiff_t count, int rank) const { return count * rank / size_; }

  // The cells of the points of a shot, and those between them.
  template <int NDIM, class T>
  Box<NDIM> around(const Layout<NDIM>& layout, const Points<T>& points, int shot) const {
    Box<NDIM> box = whole(layout);
    const ptrdiff_t begin = static_cast<ptrdiff_t>(shot) * points.total;
    for (ptrdiff_t p = begin; p < begin + points.total && !everywhere_; ++p) {
      const Cell<NDIM> c = layout.cell(points.cell[p]);
      for (int a = 0; a < NDIM; ++a) {
        if (p == begin || c.i[a] < box.low[a]) box.low[a] = c.i[a];
        if (p == begin || c.i[a] >= box.high[a]) box.high[a] = c.i[a] + 1;
      }
    }
    return box;
  }

  // body(first cell of a row) for all rows of this thread.
  template <int NDIM, class Body>
  void rows(const Layout<NDIM>& layout, const Box<NDIM>& box, const Body& body) const {
    const Span mine = part(box);
    int at[NDIM] = {};
    for (at[0] = mine.first; at[0] < mine.first + mine.count; ++at[0]) {
      if constexpr (NDIM == 2)
        body(layout.cell(at));
      else
        for (at[1] = box.low[1]; at[1] < box.high[1]; ++at[1]) body(layout.cell(at));
    }
  }

  // body(first cell of the first row, number of rows): neighbours along the last axis but one that lie on the same side
  // of `low` and `high` from its faces. They are taken in blocks, so that what a difference reaches stays in the cache;
  // before each block comes first(z, begin, end).
  template <int NDIM, class First, class Body>
  SWEEP_HD void runs(const Layout<NDIM>& layout, const Box<NDIM>& box, const int* low, const int* high,
                     const First& first, const Body& body) const {
    constexpr int axis = NDIM - 2;
    const Span mine = part(box);
    const int end = axis ? box.high[axis] : mine.first + mine.count;
    const int cuts[] = {low[axis], layout.field.n[axis] - high[axis]};
    for (int block = axis ? box.low[axis] : mine.first; block < end; block += rows_in_block)
      for (int z = mine.first; z < (axis ? mine.first + mine.count : mine.first + 1); ++z) {
        const int block_end = block + rows_in_block < end ? block + rows_in_block : end;
        first(z, block, block_end);
        for (int begin = block, next; begin < block_end; begin = next) {
          next = block_end;
          for (const int cut : cuts)
            if (begin < cut && cut < next) next = cut;
          int at[NDIM] = {};
          at[0] = z;
          at[axis] = begin;
          body(layout.cell(at), next - begin);
        }
      }
  }

  // What the PML remembers along the axes that no other thread has a part of, for a block of rows and what it reaches
  // along the last axis but one: each row once, since it changes what it remembers.
  template <class F, class V>
  static void remember_block(const F& step, const V& view, int z, int begin, int end) {
    constexpr int last = F::ndim - 1;
    const typename decltype(step.run)::View& v = view;
    const auto rows = remembering<last>(step);
    lines<decltype(rows)>(v, rows.box(), z, begin, end, last);
    if constexpr (last == 2) {
      const auto columns = remembering<1>(step);
      const auto box = step.box(), wide = columns.box();
      const int half = v.layout.half;
      const int from = begin == box.low[1] ? wide.low[1] : begin + half;
      const int to = end == box.high[1] || end + half > wide.high[1] ? wide.high[1] : end + half;
      lines<decltype(columns)>(v, wide, z, from, to, 1);
    }
  }

  // F on the cells of some rows that lie in the PML of an axis.
  template <class F, class V, int NDIM>
  SWEEP_HD static void lines(const V& view, const Box<NDIM>& box, int z, int begin, int end, int axis) {
    constexpr int across = NDIM - 2, last = NDIM - 1;
    const auto& layout = view.layout;
    const int n = layout.field.n[axis], low = layout.pml_low[axis], high = n - layout.pml_high[axis];
    const auto some = [&](int from, int to, int left, int right, bool between) {
      if (from >= to) return;
      int at[NDIM] = {};
      at[0] = z;
      at[across] = from;
      band<F, 0>(view, layout.cell(at), to - from, box, left, right, between);
    };
    const int width = layout.field.n[last];
    if (axis == last) {
      if (low > box.low[last] || high < box.high[last]) some(begin, end, low, high, false);
    } else if (axis == across) {
      some(begin, end < low ? end : low, 0, width, true);
      some(begin > high ? begin : high, end, 0, width, true);
    } else {
      some(begin, end, 0, width, true);
    }
  }

  // Cell x of the y-th row from the one that begins at `top`.
  template <int NDIM>
  SWEEP_HD static Cell<NDIM> along(const Layout<NDIM>& layout, const Cell<NDIM>& top, int y, int shift, int x) {
    Cell<NDIM> c = top;
    c.i[NDIM - 2] = top.i[NDIM - 2] + y;
    c.i[NDIM - 1] = x;
    c.shift[NDIM - 1] = shift;
    c.at = top.at + y * layout.field.stride[NDIM - 2] + x;
    c.dense = top.dense + static_cast<ptrdiff_t>(y) * layout.field.n[NDIM - 1] + x;
    return c;
  }

  // A band of rows, each from end to end as memory has it: what lies before `low` and from `high` on is rim of the last
  // axis; `between` says whether there is anything to do for the rest. Copies of the view and of the first cell, which
  // no store can change, stay in registers.
  template <class F, unsigned MASK, class V, int NDIM>
  SWEEP_APART static void band(const V& view, const Cell<NDIM>& row, int count, const Box<NDIM>& box, int low, int high,
                               bool between) {
    constexpr int last = NDIM - 1;
    const V v = view;
    const Cell<NDIM> top = row;
    const int n = v.layout.field.n[last];
    const int cuts[] = {0, low, high, n};
    const int shift = v.layout.shift(last, n - 1);
    for (int y = 0; y < count; ++y)
      for (int part = 0; part < 3; ++part) {
        const int from = cuts[part] > box.low[last] ? cuts[part] : box.low[last];
        const int to = cuts[part + 1] < box.high[last] ? cuts[part + 1] : box.high[last];
        if (part != 1) {
          const int s = part ? shift : 0;
#pragma omp simd
          for (int x = from; x < to; ++x) F::cell(v, along(v.layout, top, y, s, x), Rim<MASK | 1u << last>{});
        } else if (between) {
#pragma omp simd
          for (int x = from; x < to; ++x) F::cell(v, along(v.layout, top, y, 0, x), Rim<MASK>{});
        }
      }
  }

  int rank_, size_;
  bool everywhere_;
  sweep_control* control_;
  volatile int32_t* stop_;
};

// Threads that a call uses at most: a number that the system cannot start would end the process.
inline int threads_of(const sweep_context* context) {
  int most = 16;
#if defined(_OPENMP)
  if (omp_get_num_procs() > most) most = omp_get_num_procs();
#endif
  return context->threads < most ? context->threads : most;
}

// Runs body(team, shot) for all shots: a thread for each group where the groups share out evenly, otherwise all
// threads on one shot after the other. What is summed, and in which order, does not depend on it.
template <class Plan, class Body>
int execute(const Plan& plan, const sweep_context* context, const Body& body) {
  volatile int32_t stop = 0;
  // A barrier costs about as much as this many cells: a thread with fewer to do would only be waited for.
  constexpr ptrdiff_t worthwhile = 8192;
  const ptrdiff_t useful = 1 + plan.layout.cells * plan.shots / worthwhile;
  const int most = threads_of(context), threads = most < useful ? most : static_cast<int>(useful);
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
      Team team(0, 1, context, &stop);
#pragma omp for schedule(dynamic, 1)
      for (int group = 0; group < plan.groups; ++group)
        for (int shot = plan.group_begin(group); shot < plan.group_begin(group + 1); ++shot) body(team, Span{shot, 1});
    } else {
      Team team(rank, size, context, &stop);
      for (int shot = 0; shot < plan.shots; ++shot) body(team, Span{shot, 1});
    }
  }
  return stop ? SWEEP_CANCELLED : SWEEP_OK;
}

// f.element(part, i) for all parts and i, outside of any run.
template <class F>
void finish(const F& f, int parts, ptrdiff_t count, const sweep_context* context) {
#pragma omp parallel num_threads(threads_of(context))
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
