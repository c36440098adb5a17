// Time skewing on CPU threads: several time steps are computed at once, while their fields are in the cache. A plane of
// the first axis (a row in two dimensions) is computed at stage i as soon as stage i - 1 has computed the planes that
// it reads, up to half a stencil further. In three dimensions this is done block after block of the second axis, and
// the borders of a block move back in the same way from stage to stage. The borders between the planes of two threads
// move in the same way, so that a thread needs from the next only the planes that the next thread computes first. If
// there are more threads than such shares, all threads share each stage in turn.
#ifndef SWEEP_CPU_TIME_SKEWING_H
#define SWEEP_CPU_TIME_SKEWING_H

#include "../engine/workspace.h"
#include "simd.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// A barrier takes about as long as the computation of this many cells.
constexpr ptrdiff_t cells_per_barrier = 8192;

// Calls f(field, p, end) for the points [p, end) of each cell among from .. to - 1 that has points of a shot.
template <class T, class F>
void points_within(const Points<T>& points, int shot, ptrdiff_t from, ptrdiff_t to, const F& f) {
  points.each(shot, [&](int field, ptrdiff_t begin, int count) {
    const ptrdiff_t end = begin + count;
    for (ptrdiff_t p = lower_bound(points.cell, begin, end, from), next; p < end && points.cell[p] < to; p = next)
      f(field, p, next = points.end_of_cell(p, end));
  });
}

// The first I stages of ROOM time steps.
template <class TimeSteps, int I, int ROOM>
struct Tile : Tile<TimeSteps, I - 1, ROOM> {
  static const TimeSteps& declared();
  decltype(declared().template stage<I - 1>(0)) stage[ROOM];
};
template <class TimeSteps, int ROOM>
struct Tile<TimeSteps, 0, ROOM> {};

template <class Launcher, class TimeSteps>
class TimeSkewing {
  static const TimeSteps& declared();
  using Step = decltype(declared().template stage<0>(0).step);
  using View = typename Step::View;
  using Value = typename Step::Value;
  using Equation = typename decltype(declared().run)::Equation;
  static constexpr int ndim = Step::ndim, last = ndim - 1, stages = Equation::stages;
  static constexpr int max_stages = most_tile_stages<Equation>, max_steps = max_stages / stages;
  // Consecutive planes of one stage, so that differences find their neighbours in the cache.
  static constexpr int planes_at_once = ndim == 2 ? 8 : 1;

  Launcher& launcher_;
  const TimeSteps& time_steps_;
  int shot_, rank_, size_, half_, planes_, near_;
  int rows_ = 1;      // in three dimensions: rows of a block
  ptrdiff_t points_;  // points of this shot where values are gathered
  Value* gathered_;   // the values there in the time steps of a tile; in two dimensions also of the tile before
  int parity_ = 0;
  int32_t *row_begin_,
      *order_;  // in two dimensions: the points in row r, for fields of the first stage, then the others

 public:
  TimeSkewing(Launcher& launcher, const TimeSteps& time_steps, int shot, int rank, int size)
      : launcher_(launcher), time_steps_(time_steps), shot_(shot), rank_(rank), size_(size) {
    half_ = time_steps.run.plan.half;
    planes_ = time_steps.run.plan.layout.field.n[0];
    if constexpr (ndim == 3) {
      constexpr ptrdiff_t bytes = 24 << 10;
      rows_ = static_cast<int>(bytes / row_bytes());
      rows_ = rows_ < 16 ? 16 : rows_ > 64 ? 64 : rows_;
    }
    near_ = time_steps.run.plan.layout.near;
    const auto gather = time_steps.template stage<0>(0).gather;
    points_ = gather.points.total;
    gathered_ = time_steps.scratch + time_steps.run.plan.group_of(shot) * gathered_size(time_steps.run.plan, points_);
    if constexpr (ndim == 2) {
      row_begin_ = reinterpret_cast<int32_t*>(gathered_ + 2 * max_stages * points_);
      order_ = row_begin_ + stages * planes_ + 1;
      if (rank == 0 && points_) sort(gather);
      barrier();
    }
  }

  // The number of time steps whose arrays fit into the second-level cache; in three dimensions, whose blocks of the
  // fields fit. There a tile has at most as many steps as the equation has time levels, so that the values of all its
  // steps are still in memory when receivers read them.
  int steps_per_tile() const {
    constexpr ptrdiff_t cache = 1 << 20, arrays = ndim == 3 ? 2 : Equation::is_second_order ? 6 : 24;
    ptrdiff_t count = cache / (row_bytes() * rows_ * arrays * half_);
    const int fit = (planes_ / size_ - planes_at_once - near_) / (2 * half_);
    if (size_ > 1 && fit < count) count = fit;
    const int time_steps = count < stages ? 1 : count > max_stages ? max_steps : static_cast<int>(count / stages);
    return ndim == 3 && time_steps > Equation::levels ? Equation::levels : time_steps;
  }

  // Computes `count` time steps from k on, at most steps_per_tile(). Values are gathered while the next tile is
  // computed.
  void compute(int k, int count) {
    Value* const gathered = gathered_ + parity_ * max_stages * points_;
    parity_ ^= ndim == 2;
    Tile<TimeSteps, stages, max_steps> tile;
    View views[max_stages], gather_views[max_stages];
    Box<ndim> box[max_stages];
    const auto each = [&](const auto& f) {  // calls f(stage, number in the tile, time step, index) in order
      for (int i = 0; i < count; ++i)
        for_axes<stages>([&](auto index) {
          constexpr int s = decltype(index)::value;
          f(static_cast<Tile<TimeSteps, s + 1, max_steps>&>(tile).stage[i], s + stages * i, k + i, index);
        });
    };
    each([&](auto& s, int i, int time_step, auto index) {
      prepare<decltype(index)::value>(time_step, s, views[i], gather_views[i], box[i]);
    });
    const int stage_count = stages * count, total_lag = most_lag(stage_count);
    Box<ndim> tile_box = box[0];
    for (int i = 1; i < stage_count; ++i)
      for (int a = 0; a < ndim; ++a) {
        if (box[i].low[a] < tile_box.low[a]) tile_box.low[a] = box[i].low[a];
        if (box[i].high[a] > tile_box.high[a]) tile_box.high[a] = box[i].high[a];
      }
    // Computes planes from .. to - 1 of stage i; in three dimensions rows low .. high - 1 of them.
    const auto compute_stage = [&](int i, int from, int to, int low, int high) SWEEP_APART {
      Box<ndim> part = box[i];
      if (from > part.low[0]) part.low[0] = from;
      if (to < part.high[0]) part.high[0] = to;
      if constexpr (ndim == 3) {
        if (low > part.low[1]) part.low[1] = low;
        if (high < part.high[1]) part.high[1] = high;
        if (part.low[1] >= part.high[1]) return;
      }
      for_axes<stages>([&](auto index) {
        constexpr int s = decltype(index)::value;
        if (i % stages == s)
          compute_planes(static_cast<Tile<TimeSteps, s + 1, max_steps>&>(tile).stage[i / stages], views[i],
                         gather_views[i], part, gathered + i * points_);
      });
    };
    // Calls f(low, high) for the rows of each block at the first stage.
    const auto blocks = [&](const auto& f) {
      if constexpr (ndim == 2) return f(0, 0);
      for (int low = tile_box.low[1]; low < tile_box.high[1] + total_lag; low += rows_)
        f(low == tile_box.low[1] ? -total_lag : low, low + rows_);
    };
    const int planes = tile_box.high[0] - tile_box.low[0];
    if (sharers(planes, total_lag) < size_ && tile_box.cells() >= cells_per_barrier * size_) {
      launcher_.poll(k + count - 1);
      for (int i = 0; i < stage_count; ++i) {
        const Span mine = launcher_.part(box[i]);
        blocks([&](int low, int high) { compute_stage(i, mine.first, mine.first + mine.count, low, high); });
        barrier();
      }
    } else {
      skewed(tile_box, stage_count, blocks, compute_stage, [&] { launcher_.poll(k + count - 1); });
    }
    if (points_)
      each([&](const auto& s, int i, int, auto) {
        if constexpr (ndim == 3)
          launcher_.gather(s.gather, Span{shot_, 1});
        else if (s.gather.acts())
          launcher_.record_traces(s.gather, shot_,
                                  [from = gathered + i * points_, first = s.gather.points.begin(shot_)](
                                      int, ptrdiff_t p, const Cell<ndim>&) { return from[p - first]; });
      });
    if (ndim == 3 && points_) barrier();  // the next tile overwrites the values of this one
  }

 private:
  // How many planes or rows stage i of a tile is behind the first. For second order psi reads fields one cell further,
  // and fields read psi half a stencil less one cell further. A step is then half a stencil behind the step before.
  int lag(int i) const { return Equation::is_second_order ? i / 2 * half_ + i % 2 * (half_ - 1) : i * half_; }
  // How many planes further the border between two threads lies at stage i: as far as it reads back. For second order
  // fields read psi one cell back.
  int border(int i) const { return Equation::is_second_order ? i / 2 * half_ + i % 2 : i * half_; }
  int most_lag(int stage_count) const {
    const int last_lag = lag(stage_count - 1), last_border = border(stage_count - 1);
    return last_lag > last_border ? last_lag : last_border;
  }

  void barrier() {
    fence_streams();
    launcher_.sync();
  }

  ptrdiff_t row_bytes() const {
    return time_steps_.run.plan.layout.field.stride[last - 1] * static_cast<ptrdiff_t>(sizeof(Value));
  }

  // The planes of a thread at the first stage; `above` and `below` are true if another thread has the planes there.
  struct Share {
    int begin, end;
    bool above, below;
  };
  // The number of threads that have a share, at least one.
  int sharers(int planes, int total_lag) const {
    const int limit = planes / (2 * (total_lag + half_) + planes_at_once + near_);
    return limit < 1 ? 1 : limit < size_ ? limit : size_;
  }
  Share share(int low, int high, int total_lag) const {
    const int planes = high > low ? high - low : 0, threads = sharers(planes, total_lag);
    const auto border = [&](int r) {
      const int at = low + static_cast<int>(static_cast<ptrdiff_t>(planes) * r / threads) - total_lag / 2;
      return r == 0 ? low : r == threads ? high : at;
    };
    if (rank_ >= threads) return {high, high, false, false};
    return {border(rank_), border(rank_ + 1), rank_ > 0, rank_ + 1 < threads};
  }

  // Runs the stages of a tile, each behind the stage before.
  template <class Blocks, class Compute, class Poll>
  void skewed(const Box<ndim>& tile_box, int stage_count, const Blocks& blocks, const Compute& compute_stage,
              const Poll& poll) {
    const int total_lag = most_lag(stage_count), near = near_ < tile_box.high[0] ? near_ : tile_box.high[0];
    const Share mine = share(tile_box.low[0], tile_box.high[0], total_lag);
    const auto downwards = [&](int begin, int until) {
      int at = begin;
      blocks([&](int low, int high) {
        for (at = begin; at < until; at += planes_at_once)
          for (int i = 0; i < stage_count; ++i) {
            const int behind = lag(i), first = mine.begin + mine.above * border(i);
            const int end = mine.end + mine.below * border(i);
            int from = at - behind > first ? at - behind : first;
            const int to = at - behind + planes_at_once < end ? at - behind + planes_at_once : end;
            // Under a free surface a row depends on more rows below, so the first rows wait for the last row near it.
            if (from < near) from = to < near ? to : 0;
            if (from < to) compute_stage(i, from, to, low > 0 ? low - behind : low, high - behind);
          }
      });
      return at;
    };
    const int rest = downwards(mine.begin, mine.end - half_ - planes_at_once);
    barrier();
    poll();
    if (mine.begin < mine.end) downwards(rest, mine.end + (mine.below ? 2 : 1) * total_lag);
    barrier();
  }

  template <int S, class Stage>
  SWEEP_APART void prepare(int time_step, Stage& s, View& view, View& gather_view, Box<ndim>& box) {
    s = time_steps_.template stage<S>(time_step);
    view = s.step.view(shot_);
    gather_view = s.gather.view(shot_);
    box = s.step.box();
  }

  template <class Stage>
  SWEEP_APART void compute_planes(const Stage& s, const View& view, const View& gather_view, const Box<ndim>& box,
                                  Value* gathered) {
    const auto compute_cells = [&](const Box<ndim>& cells) {
      s.step.parts(cells, [&](const Box<ndim>& part, bool middle) {
        simd_box<typename decltype(s.step)::Loops>(view, part, middle);
      });
    };
    if constexpr (ndim == 2) compute_cells(box);
    for (int z = box.low[0]; z < box.high[0]; ++z) {
      Box<ndim> plane = box;
      plane.low[0] = z;
      plane.high[0] = z + 1;
      if constexpr (ndim == 3) compute_cells(plane);
      if constexpr (ndim == 2) s.step.close_row(view, z, box, Simd<Value>::size);
      inject(s.inject, view, plane);
      if constexpr (Stage::correlates_sources) inject(s.correlation, view, plane);
      if (const auto* const shell = s.step.shell(view))
        shell->rows(plane,
                    [&](ptrdiff_t number, const int* i, int count) { s.step.shell_row(view, number, i, count); });
      if constexpr (ndim == 2)
        if (points_ && s.gather.sample >= 0) gather_row(s, gather_view, z, gathered);
    }
  }

  template <class Stage>
  void gather_row(const Stage& s, const View& gather_view, int z, Value* gathered) {
    const auto& out = s.gather.points;
    const int r = z + planes_ * Stage::number;
    for (int k = row_begin_[r]; k < row_begin_[r + 1]; ++k) {
      const ptrdiff_t p = out.begin(shot_) + order_[k];
      gathered[order_[k]] =
          s.gather.value(gather_view, gather_view.layout.cell(out.cell[p]), field_of(out, order_[k]), p);
    }
  }

  // Injects at the points in rows of a plane.
  template <class Inject>
  void inject(const Inject& inject, const View& view, const Box<ndim>& plane) {
    const int z = plane.low[0];
    if (z < inject.point_box.low[0] || z >= inject.point_box.high[0]) return;
    const auto& layout = view.layout;
    ptrdiff_t from = z * layout.dense_stride(0), to = from + layout.dense_stride(0);
    if constexpr (ndim == 3) {
      to = from + plane.high[1] * layout.dense_stride(1);
      from += plane.low[1] * layout.dense_stride(1);
    }
    points_within(inject.points, shot_, from, to,
                  [&](int field, ptrdiff_t p, ptrdiff_t end) { inject.point(view, shot_, field, p, end); });
  }

  static int field_of(const Points<Value>& points, ptrdiff_t p) {
    int field = 0;
    for (ptrdiff_t end = points.count[0]; p >= end; end += points.count[field]) ++field;
    return field;
  }

  // Counts and lists the points of each row, in the order of the points.
  template <class Gather>
  void sort(const Gather& gather) {
    const auto& out = gather.points;
    const int n = gather.run.plan.layout.field.n[last];
    const ptrdiff_t begin = out.begin(shot_);
    const auto row_of = [&](ptrdiff_t p) {
      const int field = field_of(out, p);
      int stage = 0;
      for_axes<stages>([&](auto index) {
        if (Equation::template fields_of_stage<decltype(index)::value> >> field & 1) stage = decltype(index)::value;
      });
      return (out.fits(begin + p, time_steps_.run.plan.layout.cells) ? out.cell[begin + p] / n : 0) + planes_ * stage;
    };
    for (int r = 0; r <= stages * planes_; ++r) row_begin_[r] = 0;
    for (ptrdiff_t p = 0; p < points_; ++p) ++row_begin_[row_of(p) + 1];
    for (int r = 0; r < stages * planes_; ++r) row_begin_[r + 1] += row_begin_[r];
    for (ptrdiff_t p = points_ - 1; p >= 0; --p) order_[--row_begin_[row_of(p) + 1]] = static_cast<int32_t>(p);
    for (int r = 0; r < stages * planes_; ++r) row_begin_[r] = row_begin_[r + 1];
    row_begin_[stages * planes_] = static_cast<int32_t>(points_);
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
