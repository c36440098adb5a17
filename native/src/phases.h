// What a step consists of, as functors: a view for each shot, then a call for each cell, point or element. A Team
// shares the calls out among whatever executes them.
#ifndef SWEEP_PHASES_H
#define SWEEP_PHASES_H

#include "plan.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

struct Span {
  int first, count;
};

// Where one shot's sources act or its receivers listen: lists of all shots, field after field.
template <class T>
struct Points {
  const int32_t* cell;
  const int32_t* column;
  const T* weight;
  int count[SWEEP_MAX_FIELDS];
  int total;
  int columns;

  // The first point of a shot in a field.
  SWEEP_HD ptrdiff_t begin(int shot, int field) const {
    ptrdiff_t point = static_cast<ptrdiff_t>(shot) * total;
    for (int f = 0; f < field; ++f) point += count[f];
    return point;
  }
  // Traces of one field: each field that has points fills as many columns as any other.
  int traces() const {
    int used = 0;
    for (int field = 0; field < SWEEP_MAX_FIELDS; ++field) used += count[field] > 0;
    return used ? columns / used : 0;
  }
  // Whether point p may be used: a device that cannot return an error runs on without the points that do not fit.
  SWEEP_HD bool fits(ptrdiff_t p, ptrdiff_t cells) const {
    return cell[p] >= 0 && cell[p] < cells && column[p] >= 0 && column[p] < columns;
  }
};

template <class T>
SWEEP_HD constexpr T largest() {
  return sizeof(T) == 4 ? static_cast<T>(3.402823466e38) : static_cast<T>(1.7976931348623157e308);
}

// The largest value that coefficient c may have.
template <class T>
T limit_of(const sweep_problem& p, int c) {
  return c == 0 && p.coefficient_limit < largest<T>() ? static_cast<T>(p.coefficient_limit) : largest<T>();
}

// What is wrong with the value of a coefficient.
template <class T>
SWEEP_HD int judge(T value, T limit) {
  if (value > 0 && value <= limit) return SWEEP_OK;
  return value > 0 && value <= largest<T>() ? SWEEP_UNSTABLE : SWEEP_BAD_VALUE;
}

// A wavefield: time levels in a ring, one for each shot or lane, and the memory variables of each lane.
template <class T>
struct Wave {
  T* levels;
  ptrdiff_t level_stride;
  bool by_shot;
  int origin, period;  // level k is slot (k - origin) mod period
  T* memory;
  ptrdiff_t memory_stride;
};

template <class Eq, class T, int NDIM, int HALF>
struct Run {
  using Equation = Eq;
  using Value = T;
  using View = sweep::View<T, NDIM, HALF>;
  static constexpr int ndim = NDIM;

  Plan<Eq, NDIM> plan;
  const T* tables;  // of each axis in turn
  const T* coefficient;
  ptrdiff_t earth_stride;

  SWEEP_HD T* level(const Wave<T>& wave, int shot, int k) const {
    const ptrdiff_t owner = wave.by_shot ? shot : plan.lane(shot);
    return wave.levels + owner * wave.level_stride + (k - wave.origin) % wave.period * plan.level;
  }

  SWEEP_HD View view(const Wave<T>& wave, int shot, int k) const {
    View v;
    v.layout = plan.layout;
    const T* table = tables;
    for (int a = 0; a < NDIM; ++a) {
      table = v.axis[a].load(table, plan.half, plan.layout.field.n[a]);
      v.strip_at[a] = plan.strip_at[a];
    }
    v.strips = plan.strips;
    v.coefficient = coefficient + shot * earth_stride;
    v.now = level(wave, shot, k);
    v.old = level(wave, shot, k - 1);
    v.next = level(wave, shot, k + 1);
    v.memory = wave.memory + plan.lane(shot) * wave.memory_stride;
    v.stored = nullptr;
    v.image = nullptr;
    return v;
  }
};

// The phases of a step, as what a team executes: a view for each shot, then a call for each cell or point.
template <class R, int A>
struct Remember {
  static constexpr int ndim = R::ndim;
  R run;
  Wave<typename R::Value> wave;
  int k;
  SWEEP_HD typename R::View view(int shot) const { return run.view(wave, shot, k); }
  SWEEP_HD static void cell(const typename R::View& v, const Cell<R::ndim>& c) {
    R::Equation::template remember<A>(v, c);
  }
};

template <class R, bool ADJOINT>
struct Advance {
  static constexpr int ndim = R::ndim;
  using T = typename R::Value;
  R run;
  Wave<T> wave;
  int k;
  Wave<T> stored;  // adjoint: the forward field, met at level m
  int m;
  T* images;

  SWEEP_HD typename R::View view(int shot) const {
    typename R::View v = run.view(wave, shot, k);
    if constexpr (ADJOINT) {
      v.stored = run.level(stored, shot, m);
      v.image = images + run.plan.group_of(shot) * run.plan.coefficient_cells();
    }
    return v;
  }
  template <unsigned RIM>
  SWEEP_HD static void cell(const typename R::View& v, const Cell<R::ndim>& c) {
    const T g = R::Equation::template advance<RIM>(v, c);
    if constexpr (ADJOINT) R::Equation::template correlate<RIM>(v, c, g);
  }
};

template <class R, bool ADJOINT>
struct Inject {
  static constexpr int ndim = R::ndim;
  using T = typename R::Value;
  Advance<R, ADJOINT> step;
  Points<T> points;
  const T* signal;  // (shots, steps, columns)
  int sample;

  SWEEP_HD typename R::View view(int shot) const { return step.view(shot); }
  SWEEP_HD void point(const typename R::View& v, int shot, int field, ptrdiff_t p) const {
    if (!points.fits(p, v.layout.cells)) return;
    const Cell<R::ndim> c = v.layout.cell(points.cell[p]);
    const T amount =
        points.weight[p] *
        signal[(static_cast<ptrdiff_t>(shot) * step.run.plan.steps + sample) * points.columns + points.column[p]];
    R::Equation::inject(v, c, field, amount);
    if constexpr (ADJOINT) R::Equation::correlate_source(v, c, field, amount);
  }
};

template <class R>
struct Gather {
  using T = typename R::Value;
  R run;
  Wave<T> wave;
  int k;
  Points<T> points;
  T* record;  // (shots, steps, columns)
  int sample;

  SWEEP_HD const T* field(int shot, int f) const { return run.level(wave, shot, k) + f * run.plan.layout.field.total; }
  // One trace: `taps` points that lie together from p on.
  SWEEP_HD void trace(const T* from, int shot, ptrdiff_t p, int taps) const {
    T sum = 0;
    for (int i = 0; i < taps; ++i) {
      if (!points.fits(p + i, run.plan.layout.cells)) return;
      sum += points.weight[p + i] * from[run.plan.layout.cell(points.cell[p + i]).at];
    }
    record[(static_cast<ptrdiff_t>(shot) * run.plan.steps + sample) * points.columns + points.column[p]] = sum;
  }
};

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

// Zeroes what lies between the rows of every slot of a history, which no step ever writes.
template <class R>
struct ClearHalos {
  using T = typename R::Value;
  R run;
  Parts<T> history;

  SWEEP_HD static ptrdiff_t rows(const R& run) { return run.plan.layout.cells / run.plan.layout.field.n[R::ndim - 1]; }
  static ptrdiff_t count(const R& run) { return run.plan.slots * run.plan.fields * (rows(run) + 1); }
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    const auto& frame = run.plan.layout.field;
    const ptrdiff_t row = i % (rows(run) + 1), n = frame.n[R::ndim - 1];
    T* const base = history.of(run.plan, shot) + i / (rows(run) + 1) * frame.total;
    const ptrdiff_t begin = row ? run.plan.layout.cell((row - 1) * n).at + n : 0;
    const ptrdiff_t end = row < rows(run) ? run.plan.layout.cell(row * n).at : frame.total;
    for (ptrdiff_t at = begin; at < end; ++at) base[at] = 0;
  }
};

// The first shot of a group finds its image at zero.
template <class R>
struct ClearImages {
  using T = typename R::Value;
  R run;
  T* images;
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    const int group = run.plan.group_of(shot);
    if (shot == 0 || run.plan.group_of(shot - 1) != group) images[group * run.plan.coefficient_cells() + i] = 0;
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
