// What a step consists of, as functors: a view for each shot, then a call for each cell or point. A Team shares the
// calls out among whatever executes them.
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
  // Of a list sorted by cell, the end of the points that lie in the cell of point p.
  SWEEP_HD ptrdiff_t end_of_cell(ptrdiff_t p, ptrdiff_t end) const {
    ptrdiff_t next = p + 1;
    while (next < end && cell[next] == cell[p]) ++next;
    return next;
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

// What a coefficient must be larger than: zero, or what admits zero, or anything finite.
template <class Eq, class T>
SWEEP_HD T floor_of(int c) {
  if constexpr (is_staggered<Eq>) {
    if (Eq::range(c) == staggered::NOT_NEGATIVE)
      return sizeof(T) == 4 ? static_cast<T>(-1.2e-38) : static_cast<T>(-2.3e-308);
    if (Eq::range(c) == staggered::ANY) return -largest<T>();
  }
  return 0;
}

// What is wrong with the value of a coefficient.
template <class T>
SWEEP_HD int judge(T value, T floor, T limit) {
  if (value > floor && value <= limit) return SWEEP_OK;
  return value > floor && value <= largest<T>() ? SWEEP_UNSTABLE : SWEEP_BAD_VALUE;
}

// The cells of one shot that matter: its sources' waves may have reached them, and get from them to its receivers by
// the end. Other cells hold zero, or what nobody will hear of, and need not be computed.
template <class R>
struct Cone {
  static constexpr int ndim = R::ndim;
  Box<ndim> sources, receivers;

  // What step k makes.
  SWEEP_HD_APART Box<ndim> after(const R& run, int k) const {
    const int left = run.last_step() - k;
    return overlap(run.reached(sources, k), run.reached(receivers, left > 0 ? left : 0));
  }
};

// Cells that k steps cross towards a face that is `room` cells away and has `pml` cells of PML, where psi takes them
// twice as far.
template <int NDIM>
SWEEP_HD ptrdiff_t reach(const Layout<NDIM>& layout, ptrdiff_t k, int pml, int room) {
  const ptrdiff_t plain = !pml ? k : room < pml ? 0 : (room - pml) / layout.half;
  return k <= plain ? k * layout.half : (2 * k - plain) * layout.half;
}

// What k steps reach from the cells of a box. Rows begin and end with whole vectors.
template <int NDIM>
SWEEP_HD Box<NDIM> reached(const Layout<NDIM>& layout, const Box<NDIM>& from, int k) {
  Box<NDIM> box;
  for (int a = 0; a < NDIM; ++a) {
    const int n = layout.field.n[a], unit = a == NDIM - 1 ? 16 : 1;
    int first = from.low[a], last = from.high[a] - 1;
    // Out of a PML, too, they reach twice as far, until they have left it.
    const int inner_low = layout.pml_low[a] - 1, inner_high = n - layout.pml_high[a];
    if (last < inner_low) last = inner_low;
    if (first > inner_high) first = inner_high;
    const ptrdiff_t low = first - reach(layout, k, layout.pml_low[a], first);
    const ptrdiff_t high = last + reach(layout, k, layout.pml_high[a], n - 1 - last);
    box.low[a] = low <= 0 ? 0 : static_cast<int>(low) / unit * unit;
    box.high[a] = high >= n - unit ? n : (static_cast<int>(high) / unit + 1) * unit;
  }
  return box;
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
  using Wave = sweep::Wave<T>;
  static constexpr int ndim = NDIM;

  Plan<Eq, NDIM> plan;
  const T* tables;  // of each axis in turn
  const T* coefficient;
  ptrdiff_t earth_stride;

  SWEEP_HD Box<ndim> reached(const Box<ndim>& from, int k) const { return sweep::reached(plan.layout, from, k); }
  // That of the last level, since the first is zero.
  SWEEP_HD int last_step() const { return plan.steps - 2; }
  SWEEP_HD T* level(const Wave& wave, int shot, int k) const {
    const ptrdiff_t owner = wave.by_shot ? shot : plan.lane(shot);
    return wave.levels + owner * wave.level_stride + (k - wave.origin) % wave.period * plan.level;
  }

  SWEEP_HD View view(const Wave& wave, int shot, int k) const {
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
  Box<ndim> next;  // where level k + 1 is made, which differentiates what is remembered

  SWEEP_HD Box<ndim> box() const {
    Box<ndim> wide = next;
    const auto& layout = run.plan.layout;
    wide.low[A] = wide.low[A] > layout.half ? wide.low[A] - layout.half : 0;
    wide.high[A] = wide.high[A] < layout.field.n[A] - layout.half ? wide.high[A] + layout.half : layout.field.n[A];
    return wide;
  }
  SWEEP_HD typename R::View view(int shot) const { return run.view(wave, shot, k); }
  template <class Any>
  SWEEP_HD static void cell(const typename R::View& v, const Cell<R::ndim>& c, Any) {
    R::Equation::template remember<A>(v, c);
  }
};

template <int A, class Step>
auto remembering(const Step& step) {
  return Remember<decltype(step.run), A>{step.run, step.wave, step.k, step.box()};
}

// Level k + 1 of a wave; where it is the adjoint's, correlated with the forward field at level m.
template <class R, bool ADJOINT>
struct Advance {
  static constexpr int ndim = R::ndim, levels = R::Equation::levels;
  using T = typename R::Value;
  using View = typename R::View;
  R run;
  Wave<T> wave;
  int k;
  Cone<R> cone;
  int m;  // the forward field's own: where level m lies is where there is anything to do
  Wave<T> stored;
  T* images;

  SWEEP_HD Box<ndim> box() const { return cone.after(run, m - 1); }
  SWEEP_HD View view(int shot) const {
    View v = run.view(wave, shot, k);
    if constexpr (ADJOINT) {
      v.stored = run.level(stored, shot, m);
      v.image = images + run.plan.group_of(shot) * run.plan.coefficient_cells();
    }
    return v;
  }
  template <class Rim>
  SWEEP_HD static void cell(const View& v, const Cell<ndim>& c, Rim rim) {
    const auto g = R::Equation::advance(v, c, rim);
    if constexpr (ADJOINT) R::Equation::correlate(v, c, rim, g);
  }
  SWEEP_HD static void reflect(const View& v, const Cell<ndim>& c) { R::Equation::reflect(v, c); }
  SWEEP_HD static void clear(const View& v, const Cell<ndim>& c) {
    for (int field = 0; field < field_count<typename R::Equation>; ++field)
      v.next[field * v.layout.field.total + c.at] = 0;
  }
};

// Level k + 1 of a wave, and what it scatters into another one where the coefficients vary by a tangent.
template <class R>
struct Scatter {
  static constexpr int ndim = R::ndim, levels = R::Equation::levels;
  using T = typename R::Value;
  struct View : R::View {
    typename R::View scattered;
    const T* tangent;
  };
  R run;
  Wave<T> wave, scattered;
  int k;
  Cone<R> cone;
  const T* tangent;

  SWEEP_HD Box<ndim> box() const { return cone.after(run, k); }
  SWEEP_HD View view(int shot) const {
    return {run.view(wave, shot, k), run.view(scattered, shot, k), tangent + shot * run.earth_stride};
  }
  template <class Rim>
  SWEEP_HD static void cell(const View& v, const Cell<ndim>& c, Rim rim) {
    const auto g = R::Equation::advance(v, c, rim);
    R::Equation::scatter(v.scattered, c, v.tangent, g);
  }
  SWEEP_HD static void reflect(const View& v, const Cell<ndim>& c) {
    R::Equation::reflect(v, c);
    R::Equation::reflect(v.scattered, c);
  }
  SWEEP_HD static void clear(const View&, const Cell<ndim>&) {}  // no history, nothing to clear
};

// A sample of a signal, (shots, steps, columns), at points [p, end) of one cell. They may be many, so their sum is in
// double, which leaves the product of a single one as it is.
template <class T>
SWEEP_HD T amount_of(const Points<T>& points, ptrdiff_t p, ptrdiff_t end, const T* signal, int shot, int steps,
                     int sample) {
  const T* const columns = signal + (static_cast<ptrdiff_t>(shot) * steps + sample) * points.columns;
  double sum = 0;
  for (; p < end; ++p)
    if (points.column[p] >= 0 && points.column[p] < points.columns)
      sum += static_cast<double>(points.weight[p]) * static_cast<double>(columns[points.column[p]]);
  return static_cast<T>(sum);
}

// The image of a cell that a difference across the free surface would see.
template <class Step>
SWEEP_HD void reflect_near(const Step&, const typename Step::View& v, const Cell<Step::ndim>& c) {
  if (v.layout.surface && c.i[0] > 0 && c.i[0] <= v.layout.half) Step::reflect(v, c);
}

// Sources into the level that a step has just made: of the wavelet, or of the residual into the adjoint's.
template <class R, bool ADJOINT>
struct Inject {
  static constexpr int ndim = R::ndim;
  using T = typename R::Value;
  using View = typename R::View;
  Advance<R, ADJOINT> step;
  Points<T> points;
  const T* signal;
  int sample;
  T* past;  // adjoint: (shots, points, axes), of which the first point of a cell uses its own

  SWEEP_HD View view(int shot) const { return step.view(shot); }
  SWEEP_HD void point(const View& v, int shot, int field, ptrdiff_t p, ptrdiff_t end) const {
    if (!v.layout.holds(points.cell[p])) return;
    const Cell<ndim> c = v.layout.cell(points.cell[p]);
    T amount = amount_of(points, p, end, signal, shot, step.run.plan.steps, sample);
    if constexpr (ADJOINT) {
      // Where the forward field is still zero, the adjoint's is not computed any more.
      if (!step.box().contains(c.i)) return;
      R::Equation::correlate_source(v, c, field, amount);
      amount = R::Equation::stretch(v, c, past + p * ndim, amount);
    }
    R::Equation::inject(v, c, field, amount);
    reflect_near(step, v, c);
  }
};

// Sources into a wave, and what their variation and that of the coefficients adds to the scattered one.
template <class R>
struct InjectBoth {
  static constexpr int ndim = R::ndim;
  using T = typename R::Value;
  using View = typename Scatter<R>::View;
  Scatter<R> step;
  Points<T> points;
  const T* signal;
  int sample;
  const T* tangent;  // of the signal

  SWEEP_HD View view(int shot) const { return step.view(shot); }
  SWEEP_HD void point(const View& v, int shot, int field, ptrdiff_t p, ptrdiff_t end) const {
    if (!v.layout.holds(points.cell[p])) return;
    const Cell<ndim> c = v.layout.cell(points.cell[p]);
    const int steps = step.run.plan.steps;
    const T amount = amount_of(points, p, end, signal, shot, steps, sample);
    R::Equation::inject(v, c, field, amount);
    R::Equation::inject(v.scattered, c, field, amount_of(points, p, end, tangent, shot, steps, sample));
    R::Equation::scatter_source(v.scattered, c, field, v.tangent, amount);
    reflect_near(step, v, c);
  }
};

// One trace: `taps` points that lie together from p on, of which `of(p, cell)` is the value, into its column of a
// sample. Beyond the box nothing was computed.
template <class T, int NDIM, class Of>
SWEEP_HD void sum_trace(const Points<T>& points, const Layout<NDIM>& layout, const Box<NDIM>& box, ptrdiff_t p,
                        int taps, T* columns, const Of& of) {
  T sum = 0;
  for (int i = 0; i < taps; ++i, ++p) {
    if (!points.fits(p, layout.cells)) return;
    const Cell<NDIM> c = layout.cell(points.cell[p]);
    if (box.contains(c.i)) sum += points.weight[p] * of(p, c);
  }
  columns[points.column[p - 1]] = sum;
}

// What receivers see of level k; with a past, what the sources take from the adjoint's field.
template <class R>
struct Gather {
  static constexpr int ndim = R::ndim;
  using T = typename R::Value;
  using View = typename R::View;
  R run;
  Wave<T> wave;
  int k;
  Points<T> points;
  T* record;  // (shots, steps, columns)
  int sample;
  Box<ndim> box;  // beyond it nothing was computed
  T* past;

  SWEEP_HD View view(int shot) const { return run.view(wave, shot, k); }
  SWEEP_HD void trace(const View& v, int shot, int field, ptrdiff_t p, int taps) const {
    const T* const from = v.now + field * v.layout.field.total;
    T* const columns = record + (static_cast<ptrdiff_t>(shot) * run.plan.steps + sample) * points.columns;
    sum_trace(points, v.layout, box, p, taps, columns, [&](ptrdiff_t point, const Cell<ndim>& c) {
      const T value = from[c.at];
      return past ? R::Equation::unstretch(v, c, past + point * ndim, value) : value;
    });
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
