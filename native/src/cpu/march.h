// Units of a run on CPU threads. In two dimensions several units are made while their rows are in the cache:
// rows of stage i as soon as those of stage i - 1 which lie half a stencil further are there. Threads have rows between
// borders that sink from stage to stage, so that each needs of the next only what that one makes first.
#ifndef SWEEP_CPU_MARCH_H
#define SWEEP_CPU_MARCH_H

#include "pack.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// f(field, p, end) of the points of a shot that lie in cells from .. to - 1: those of each cell together.
template <class T, class F>
void points_within(const Points<T>& points, int shot, ptrdiff_t from, ptrdiff_t to, const F& f) {
  points.each(shot, [&](int field, ptrdiff_t begin, int count) {
    const ptrdiff_t end = begin + count;
    for (ptrdiff_t p = lower_bound(points.cell, begin, end, from), next; p < end && points.cell[p] < to; p = next)
      f(field, p, next = points.end_of_cell(p, end));
  });
}

// Of so many units, the first I stages.
template <class Units, int I, int ROOM>
struct Tile : Tile<Units, I - 1, ROOM> {
  static const Units& any();
  decltype(any().template stage<I - 1>(0)) stage[ROOM];
};
template <class Units, int ROOM>
struct Tile<Units, 0, ROOM> {};

template <class Team, class Units>
class March {
  static const Units& any();
  using Step = decltype(any().template stage<0>(0).step);
  using View = typename Step::View;
  using Value = typename Step::Value;
  using Equation = typename decltype(any().run)::Equation;
  static constexpr int ndim = Step::ndim, last = ndim - 1, stages = Equation::stages;
  static constexpr int most = decltype(any().run.plan)::most_stages, room = most / stages;
  static constexpr int band = 8;  // rows of a stage that follow each other, so that differences find them in the cache

  Team& team_;
  const Units& units_;
  int shot_, rank_, size_, half_, rows_, near_;
  ptrdiff_t points_;             // of this shot that values are taken at
  int32_t *row_begin_, *order_;  // those in row r of fields of the first stage, then of the others

 public:
  March(Team& team, const Units& units, int shot, int rank, int size)
      : team_(team), units_(units), shot_(shot), rank_(rank), size_(size) {
    static_assert(stages <= most, "as many as there is room for");
    half_ = units.run.plan.half;
    rows_ = units.run.plan.layout.field.n[0];
    near_ = units.run.plan.layout.near;
    points_ = units.template stage<0>(0).gather.points.total;
  }

  void operator()(int begin, int end) {
    if constexpr (ndim == 3) {
      for (int u = begin; u < end && !team_.stopped(); ++u) {
        for_axes<stages>([&](auto index) {
          constexpr int i = decltype(index)::value;
          const auto now = units_.template stage<i>(u);
          stage(now, units_.template stage<(i ? i - 1 : 0)>(u).step);
          meet();
          if (i == 0) team_.poll(u);
          team_.gather(now.gather, Span{shot_, 1});
        });
      }
    } else {
      const auto& plan = units_.run.plan;
      Value* const taken = units_.scratch + plan.group_of(shot_) * plan.taken(points_);
      row_begin_ = reinterpret_cast<int32_t*>(taken + 2 * most * points_);
      order_ = row_begin_ + stages * rows_ + 1;
      if (rank_ == 0 && points_) sort(units_.template stage<0>(begin).gather);
      meet();
      const int together = tile();
      for (int u = begin, parity = 0; u < end && !team_.stopped(); u += together, parity ^= 1)
        make(u, u + together < end ? together : end - u, taken + parity * most * points_);
    }
  }

 private:
  void meet() {
    settle();
    team_.sync();
  }

  // A stage by itself, in blocks of rows, so that planes that a difference reaches stay in the cache.
  template <class Stage, class Before>
  void stage(const Stage& s, const Before& before) {
    constexpr int rows_in_block = 32;
    constexpr bool slabs = decltype(s.step)::slabs, ahead = Before::slabs && !slabs;
    const auto box = s.step.box(), wide = before.box();
    const auto view = s.step.view(shot_);
    const Span mine = team_.part(box);
    for (int block = box.low[1]; block < box.high[1]; block += rows_in_block) {
      const int block_end = block + rows_in_block < box.high[1] ? block + rows_in_block : box.high[1];
      for (int z = mine.first; z < mine.first + mine.count; ++z) {
        if (slabs && !view.layout.in_rim(0, z)) continue;
        const auto row = [&](int y) {
          const int at[ndim] = {z, y};
          return view.layout.cell(at);
        };
        // What the PML remembers along axes that no other thread has a part of, of each row once: half a stencil ahead.
        if constexpr (ahead) {
          const int from = block == box.low[1] ? wide.low[1] : block + half_;
          const int to =
              block_end == box.high[1] || block_end + half_ > wide.high[1] ? wide.high[1] : block_end + half_;
          for (int y = from; y < to; ++y) pack_row<Before>(view, row(y), wide.low[last], wide.high[last], ~1u);
        }
        for (int y = block; y < block_end; ++y)
          pack_row<decltype(s.step)>(view, row(y), box.low[last], box.high[last], slabs ? 1u : ~0u);
      }
    }
    team_.inject(s.inject, Span{shot_, 1});
    if constexpr (Stage::recalls) team_.inject(s.recall, Span{shot_, 1});
  }

  // Units that are made at once: their rows of all arrays fill half of a second-level cache.
  int tile() const {
    constexpr ptrdiff_t cache = 1 << 20, arrays = 24;
    const ptrdiff_t row = units_.run.plan.layout.field.stride[0] * static_cast<ptrdiff_t>(sizeof(Value)) * arrays;
    ptrdiff_t count = cache / (row * half_);
    const int fit = (rows_ / size_ - band - near_) / (2 * half_);
    if (size_ > 1 && fit < count) count = fit;
    return count < stages ? 1 : count > most ? room : static_cast<int>(count / stages);
  }

  // The rows of a thread at the first stage, and whether another has those above and below.
  struct Strip {
    int begin, end;
    bool above, below;
  };
  Strip strip(int low, int high, int sunk) const {
    const int least = 2 * (sunk + half_) + band + near_, rows = high > low ? high - low : 0;
    const int room = rows / least < size_ ? rows / least : size_, threads = room > 1 ? room : 1;
    const auto border = [&](int r) {
      const int at = low + static_cast<int>(static_cast<ptrdiff_t>(rows) * r / threads) - sunk / 2;
      return r == 0 ? low : r == threads ? high : at;
    };
    if (rank_ >= threads) return {high, high, false, false};
    return {border(rank_), border(rank_ + 1), rank_ > 0, rank_ + 1 < threads};
  }

  void make(int u, int count, Value* taken) {
    Tile<Units, stages, room> tile;
    View views[most], seen[most];
    Box<ndim> box[most];
    const auto each = [&](const auto& f) {  // f(stage, its number among all of the tile)
      for_axes<stages>([&](auto index) {
        constexpr int s = decltype(index)::value;
        for (int i = 0; i < count; ++i)
          f(static_cast<Tile<Units, s + 1, room>&>(tile).stage[i], s + stages * i, u + i, index);
      });
    };
    each([&](auto& s, int i, int unit, auto index) {
      s = units_.template stage<decltype(index)::value>(unit);
      prepare(s, views[i], seen[i], box[i]);
    });
    const auto make_of = [&](int i, int from, int to) {
      if (from < box[i].low[0]) from = box[i].low[0];
      if (to > box[i].high[0]) to = box[i].high[0];
      for_axes<stages>([&](auto index) {
        constexpr int s = decltype(index)::value;
        if (i % stages == s)
          make_rows(static_cast<Tile<Units, s + 1, room>&>(tile).stage[i / stages], views[i], seen[i], box[i], from, to,
                    taken + i * points_);
      });
    };
    const int all = stages * count, sunk = (all - 1) * half_;
    int low = rows_, high = 0;
    for (int i = 0; i < all; ++i) {
      if (box[i].low[0] < low) low = box[i].low[0];
      if (box[i].high[0] > high) high = box[i].high[0];
    }
    const Strip mine = strip(low, high, sunk);
    const auto downwards = [&](int at, int until) {
      for (; at < until; at += band)
        for (int i = 0; i < all; ++i) {
          const int by = i * half_, first = mine.begin + mine.above * by, last = mine.end + mine.below * by;
          int from = at - by > first ? at - by : first;
          const int to = at - by + band < last ? at - by + band : last;
          // Under a free surface a row depends on more of the rows below: the first ones wait for the last of them.
          if (from < near_) from = to < near_ ? to : 0;
          make_of(i, from, to);
        }
      return at;
    };
    const int rest = downwards(mine.begin, mine.end - half_ - band);
    meet();
    team_.poll(u + count - 1);
    if (mine.begin < mine.end) downwards(rest, mine.end + (mine.below ? 2 : 1) * sunk);
    meet();
    if (points_) each([&](const auto& s, int i, int, auto) { sum_up(s.gather, taken + i * points_); });
  }

  template <class Stage>
  void prepare(const Stage& s, View& view, View& seen, Box<ndim>& box) {
    view = s.step.view(shot_);
    seen = s.gather.view(shot_);
    box = s.step.box();
  }

  template <class Stage>
  void make_rows(const Stage& s, const View& view, const View& seen, const Box<ndim>& box, int from, int to,
                 Value* taken) {
    for (int z = from; z < to; ++z) {
      const int at[ndim] = {z};
      pack_row<decltype(s.step)>(view, view.layout.cell(at), box.low[last], box.high[last]);
      s.step.close(view, z, box, Pack<Value>::size);
      inject_row(s.inject, view, z);
      if constexpr (Stage::recalls) inject_row(s.recall, view, z);
      if (points_ && s.gather.sample >= 0) take_row(s, seen, z, taken);
    }
  }

  template <class Stage>
  void take_row(const Stage& s, const View& seen, int z, Value* taken) {
    const auto& out = s.gather.points;
    const int r = z + rows_ * Stage::number;
    for (int k = row_begin_[r]; k < row_begin_[r + 1]; ++k) {
      const ptrdiff_t p = out.begin(shot_) + order_[k];
      taken[order_[k]] = s.gather.value(seen, seen.layout.cell(out.cell[p]), field_of(out, order_[k]), p);
    }
  }

  template <class Inject>
  void inject_row(const Inject& inject, const View& view, int z) {
    if (z < inject.around.low[0] || z >= inject.around.high[0]) return;
    const ptrdiff_t n = view.layout.field.n[last], from = z * n;
    points_within(inject.points, shot_, from, from + n,
                  [&](int field, ptrdiff_t p, ptrdiff_t end) { inject.point(view, shot_, field, p, end); });
  }

  static int field_of(const Points<Value>& points, ptrdiff_t p) {
    int field = 0;
    for (ptrdiff_t end = points.count[0]; p >= end; end += points.count[field]) ++field;
    return field;
  }

  // Counts and lists the points of each row, in their order.
  template <class Gather>
  void sort(const Gather& gather) {
    const auto& out = gather.points;
    const int n = gather.run.plan.layout.field.n[last];
    const ptrdiff_t begin = out.begin(shot_);
    const auto row_of = [&](ptrdiff_t p) {
      const int field = field_of(out, p);
      int stage = 0;
      for_axes<stages>([&](auto index) {
        if (Equation::template made<decltype(index)::value> >> field & 1) stage = decltype(index)::value;
      });
      return (out.fits(begin + p, units_.run.plan.layout.cells) ? out.cell[begin + p] / n : 0) + rows_ * stage;
    };
    for (int r = 0; r <= stages * rows_; ++r) row_begin_[r] = 0;
    for (ptrdiff_t p = 0; p < points_; ++p) ++row_begin_[row_of(p) + 1];
    for (int r = 0; r < stages * rows_; ++r) row_begin_[r + 1] += row_begin_[r];
    for (ptrdiff_t p = points_ - 1; p >= 0; --p) order_[--row_begin_[row_of(p) + 1]] = static_cast<int32_t>(p);
    for (int r = 0; r < stages * rows_; ++r) row_begin_[r] = row_begin_[r + 1];
    row_begin_[stages * rows_] = static_cast<int32_t>(points_);
  }

  template <class Gather>
  void sum_up(const Gather& gather, const Value* taken) {
    const auto& out = gather.points;
    if (!gather.acts()) return;
    const int traces = out.traces();
    const ptrdiff_t first = out.begin(shot_);
    out.each(shot_, [&](int field, ptrdiff_t begin, int count) {
      if (!gather.concerns(field)) return;
      const int taps = count / traces;
      const ptrdiff_t to = static_cast<ptrdiff_t>(traces) * (rank_ + 1) / size_;
      for (ptrdiff_t t = static_cast<ptrdiff_t>(traces) * rank_ / size_; t < to; ++t)
        gather.put(shot_, begin + t * taps, gather.sum(begin + t * taps, taps, [&](ptrdiff_t p, const Cell<ndim>&) {
          return taken[p - first];
        }));
    });
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
