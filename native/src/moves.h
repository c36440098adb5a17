// What is done to whole arrays, as functors of (shot, index): a Team shares the calls out.
#ifndef SWEEP_MOVES_H
#define SWEEP_MOVES_H

#include "phases.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// An array with a part for each shot or each lane.
template <class T>
struct Parts {
  T* base;
  ptrdiff_t stride;
  bool by_shot;
  template <class Plan>
  SWEEP_HD T* of(const Plan& plan, int shot) const {
    return base + (by_shot ? shot : plan.lane(shot)) * stride;
  }
};

// Copies one part to another; without a source it fills with zero.
template <class Plan, class T>
struct Copy {
  Plan plan;
  Parts<T> to;
  Parts<const T> from;
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    to.of(plan, shot)[i] = from.base ? from.of(plan, shot)[i] : T(0);
  }
};

template <class Team, class Plan, class T>
void copy(Team& team, Span shots, const Plan& plan, Parts<T> to, Parts<const T> from, ptrdiff_t count) {
  team.elements(Copy<Plan, T>{plan, to, from}, count, shots);
}

// Zeroes what lies between the rows of every slot of a history, which no step ever writes; without those `between`,
// what lies before the first and after the last.
template <class R>
struct ClearHalos {
  using T = typename R::Value;
  R run;
  Parts<T> history;
  bool between = true;

  SWEEP_HD static ptrdiff_t rows(const R& run) { return run.plan.layout.cells / run.plan.layout.field.n[R::ndim - 1]; }
  SWEEP_HD ptrdiff_t each() const { return between ? rows(run) + 1 : 2; }
  ptrdiff_t count() const { return run.plan.slots * run.plan.fields * each(); }
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    const auto& frame = run.plan.layout.field;
    const ptrdiff_t in_slot = i % each(), row = between ? in_slot : in_slot * rows(run), n = frame.n[R::ndim - 1];
    T* const base = history.of(run.plan, shot) + i / each() * frame.total;
    const ptrdiff_t begin = row ? run.plan.layout.cell((row - 1) * n).at + n : 0;
    const ptrdiff_t end = row < rows(run) ? run.plan.layout.cell(row * n).at : frame.total;
    for (ptrdiff_t at = begin; at < end; ++at) base[at] = 0;
  }
};

// Fields of level k in the region of the snapshots, (shots, times, fields, *region).
template <class R>
struct Snapshot {
  using T = typename R::Value;
  R run;
  typename R::Wave wave;
  int k;
  Box<R::ndim> box;  // beyond it nothing was computed
  Snapshots<R::ndim> asked;
  T* out;

  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    const ptrdiff_t region = asked.region.cells();
    int field = 0, at[R::ndim];
    for (ptrdiff_t before = i / region; !(asked.fields >> field & 1) || before-- > 0;) ++field;
    ptrdiff_t rest = i % region;
    for (int a = R::ndim - 1; a >= 0; --a) {
      const int n = asked.region.high[a] - asked.region.low[a];
      at[a] = asked.region.low[a] + static_cast<int>(rest % n);
      rest /= n;
    }
    const auto& frame = run.plan.layout.field;
    T* const to = out + (static_cast<ptrdiff_t>(shot) * asked.times + k / asked.every) * asked.size();
    to[i] = box.contains(at) ? run.level(wave, shot, k)[field * frame.total + frame.at(at)] : T(0);
  }
};

// The first shot of a group finds its image at zero.
template <class R>
struct ClearImages {
  using T = typename R::Value;
  R run;
  T* images;
  ptrdiff_t size;  // of a group's
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    const int group = run.plan.group_of(shot);
    if (shot == 0 || run.plan.group_of(shot - 1) != group) images[group * size + i] = 0;
  }
};

// d misfit / d coefficient: what the groups have summed, group by group.
template <class R>
struct Reduce {
  using T = typename R::Value;
  R run;
  const T* images;
  T* gradient;
  int earths;
  SWEEP_HD void element(int earth, ptrdiff_t cell) const {
    constexpr int most = SWEEP_MAX_FIELDS;
    const int coefficients = run.plan.coefficients;
    const ptrdiff_t cells = run.plan.layout.cells;
    T image[most];
    for (int c = 0; c < coefficients; ++c) {
      image[c] = 0;
      const int begin = earths == 1 ? 0 : earth, end = earths == 1 ? run.plan.groups : earth + 1;
      for (int g = begin; g < end; ++g)
        image[c] += images[(static_cast<ptrdiff_t>(g) * coefficients + c) * cells + cell];
    }
    for (int c = 0; c < coefficients; ++c)
      gradient[(static_cast<ptrdiff_t>(earth) * coefficients + c) * cells + cell] =
          R::Equation::gradient(run.coefficient + earth * run.earth_stride + cell, cells, image, 1, c);
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
