// What a unit of a staggered run consists of, as functors: a view for each shot, then a call for each cell or point.
#ifndef SWEEP_STAGGERED_PHASES_H
#define SWEEP_STAGGERED_PHASES_H

#include "../moves.h"
#include "plan.h"

namespace sweep {
inline namespace SWEEP_VARIANT {
namespace staggered {

template <class Eq, class Real, int NDIM, int HALF>
struct Run {
  using Equation = Eq;
  using Value = Real;
  using View = staggered::View<Value, NDIM, HALF>;
  using Wave = Parts<Value>;  // fields, then memory variables
  static constexpr int ndim = NDIM;

  Plan<Eq, NDIM> plan;
  const Value* tables;
  const Value* coefficient;  // as the caller gives them
  ptrdiff_t earth_stride;
  const Value* prepared = nullptr;  // profiles, then coefficients of each earth

  SWEEP_HD Box<ndim> reached(const Box<ndim>& from, int differences) const {
    return staggered::reached(plan.layout, from, differences);
  }
  SWEEP_HD int last_step() const { return 2 * plan.steps - 2; }
  SWEEP_HD Value* level(const Wave& wave, int shot, int) const { return wave.of(plan, shot); }
  SWEEP_HD const Value* earth(const Value* framed, int shot) const {
    return framed + (earth_stride ? shot : 0) * plan.coefficient_size();
  }
  SWEEP_HD View view(int shot) const {
    View v = {};
    v.layout = plan.layout;
    const Value *table = tables, *profile = prepared;
    for (int a = 0; a < NDIM; ++a) {
      v.taps[a].load(table, plan.half);
      table += plan.half + 4 * plan.layout.field.n[a];
      for (int i = 0; i < 2; ++i) v.profile[a][i] = profile + i * plan.profile[a];
      v.half_profile[a] = 2 * plan.profile[a];
      profile += 4 * plan.profile[a];
      v.strip_at[a] = plan.strip_at[a];
    }
    v.closure = table;
    v.strips = plan.strips;
    v.coefficient = earth(profile, shot);
    return v;
  }
  SWEEP_HD View view(const Wave& wave, int shot) const {
    View v = view(shot);
    v.field = wave.of(plan, shot);
    v.memory = v.field + field_count<Eq> * plan.total;
    return v;
  }
  // Unit `index` of the history at `slots`.
  SWEEP_HD void open(View& v, Value* slots, ptrdiff_t index) const {
    const ptrdiff_t size = plan.fields * plan.total;
    v.before = slots + index * size;
    v.held = slots + (index + 1) * size;
    v.held_memory = slots + plan.slots * size + index * plan.memories * plan.strips;
  }
};

// Row `row` of a framed array and what lies between it and the next, which is zero.
template <class Layout, class Value>
SWEEP_HD void frame_row(const Layout& layout, Value* to, const Value* from, ptrdiff_t row, ptrdiff_t rows) {
  const int n = layout.field.n[sizeof(layout.field.n) / sizeof(int) - 1];
  const ptrdiff_t begin = layout.cell(row * n).at,
                  end = row + 1 < rows ? layout.cell((row + 1) * n).at : layout.field.total;
  for (ptrdiff_t i = row ? begin : 0; i < end; ++i)
    to[i] = i >= begin && i < begin + n ? from[row * n + i - begin] : Value(0);
}

// Coefficients, framed: part is earth times coefficient, and an index a row.
template <class R>
struct Frame {
  using Value = typename R::Value;
  R run;
  const Value* from;
  Value* to;
  static ptrdiff_t rows(const R& run) { return run.plan.layout.cells / run.plan.layout.field.n[R::ndim - 1]; }
  ptrdiff_t count;  // of rows
  SWEEP_HD void element(int part, ptrdiff_t row) const {
    frame_row(run.plan.layout, to + part * run.plan.total, from + part * run.plan.layout.cells, row, count);
  }
};

// Profiles of the PML: part is one of four of an axis, and an index a node, zero beyond the grid.
template <class R>
struct Profiles {
  using Value = typename R::Value;
  R run;
  Value* to;
  SWEEP_HD void element(int part, ptrdiff_t i) const {
    const Value* from = run.tables;
    Value* out = to;
    for (int a = 0; a < part / 4; ++a) {
      from += run.plan.half + 4 * run.plan.layout.field.n[a];
      out += 4 * run.plan.profile[a];
    }
    const int n = run.plan.layout.field.n[part / 4];
    if (i < run.plan.profile[part / 4])
      out[part % 4 * run.plan.profile[part / 4] + i] = i < n ? from[run.plan.half + part % 4 * n + i] : Value(0);
  }
};

// The cells of half a unit: those of the fields at half steps, or of the others.
template <class R, bool AT_HALF>
struct Phase {
  static constexpr int ndim = R::ndim;
  using Value = typename R::Value;
  using View = typename R::View;
  R run;
  Cone<R> cone;
  int unit;

  SWEEP_HD Box<ndim> box() const { return cone.after(run, 2 * unit - !AT_HALF); }
  // Row z of the view is made, the cells of a box.
  SWEEP_HD static void close(const View&, int, const Box<ndim>&, int) {}
};

// Fields of a state into the slot that comes before all units.
template <class R>
struct HoldState {
  using Value = typename R::Value;
  R run;
  Parts<Value> wave, slots;
  static ptrdiff_t count(const R& run) { return run.plan.fields * run.plan.total; }
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    const ptrdiff_t total = run.plan.total;
    for_axes<field_count<typename R::Equation>>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value, place = R::Equation::table.place[f];
      if (place == i / total) slots.of(run.plan, shot)[i] = wave.of(run.plan, shot)[f * total + i % total];
    });
  }
};

// Forward; where there are slots, its own keeps what the adjoint needs of this unit, and zeros around it.
template <class R, bool AT_HALF>
struct Grow : Phase<R, AT_HALF> {
  using Value = typename R::Value;
  using View = typename R::View;
  Parts<Value> wave;
  Parts<Value> slots;
  int index;

  SWEEP_HD Box<R::ndim> box() const {
    const auto own = Phase<R, AT_HALF>::box();
    if (!slots.base || AT_HALF != R::Equation::table.holds_half) return own;
    return this->run.reached(this->run.reached(own, 1), 1);
  }
  SWEEP_HD View view(int shot) const {
    View v = this->run.view(wave, shot);
    if (slots.base) this->run.open(v, slots.of(this->run.plan, shot), index);
    return v;
  }
  template <class V, class Where>
  SWEEP_HD static void cell(const View& v, const Cell<R::ndim>& c, Where where) {
    R::Equation::template grow<V, AT_HALF>(v, c, where);
  }
  // Zeros between row z of the slot and the next, where either is differentiated across: vectors of `size` cells have
  // written some.
  SWEEP_HD static void close(const View& v, int z, const Box<2>& box, int size) {
    constexpr bool holds = AT_HALF == R::Equation::table.holds_half;
    const int n = v.layout.field.n[1], at[] = {z, 0};
    if (!holds || !v.held || (box.low[1] && box.high[1] < n)) return;
    Value* const row = v.held + v.layout.field.at(at);
    for (int f = 0; f < decltype(R::plan)::fields; ++f)
      for (ptrdiff_t i = box.high[1] < n ? n : (n + size - 1) / size * size; i < v.layout.field.stride[0]; ++i)
        row[f * v.layout.field.total + i] = 0;
  }
  SWEEP_HD void point(const View& v, const Cell<R::ndim>& c, int field, Value amount, Value) const {
    R::Equation::inject(v, c, field, amount);
  }
};

template <class R, bool AT_HALF>
struct Scatter : Phase<R, AT_HALF> {
  using Value = typename R::Value;
  using View = typename R::View;
  Parts<Value> wave, scattered;
  const Value* tangent;  // framed

  SWEEP_HD View view(int shot) const {
    View v = this->run.view(wave, shot);
    v.scattered = scattered.of(this->run.plan, shot);
    v.scattered_memory = v.scattered + field_count<typename R::Equation> * this->run.plan.total;
    v.tangent = this->run.earth(tangent, shot);
    return v;
  }
  template <class V, class Where>
  SWEEP_HD static void cell(const View& v, const Cell<R::ndim>& c, Where where) {
    R::Equation::template scatter<V, AT_HALF>(v, c, where);
  }
  SWEEP_HD void point(const View& v, const Cell<R::ndim>& c, int field, Value amount, Value varied) const {
    R::Equation::inject(v, c, field, amount);
    R::Equation::scatter_source(v, c, field, amount, varied);
  }
};

template <class R, bool AT_HALF>
struct Back : Phase<R, AT_HALF> {
  using Value = typename R::Value;
  using View = typename R::View;
  Parts<Value> adjoint;  // (rates, then fields), then memory variables
  Parts<Value> slots;
  int index;
  Value* images;

  SWEEP_HD View view(int shot) const {
    const auto& plan = this->run.plan;
    View v = this->run.view(shot);
    v.adjoint = adjoint.of(plan, shot);
    v.memory = v.adjoint + (plan.rates + field_count<typename R::Equation>)*plan.total;
    this->run.open(v, slots.of(plan, shot), index);
    v.image = images + plan.group_of(shot) * plan.coefficient_size();
    return v;
  }
  template <class V, class Where>
  SWEEP_HD static void cell(const View& v, const Cell<R::ndim>& c, Where where) {
    R::Equation::template back<V, AT_HALF>(v, c, where);
  }
  // Where the forward field is still zero, the adjoint's is not computed any more.
  SWEEP_HD void point(const View& v, const Cell<R::ndim>& c, int field, Value amount, Value) const {
    if (this->box().contains(c.i)) R::Equation::template inject_back<AT_HALF>(v, c, field, amount);
  }
};

// What sources of the forward run say to the images of a unit.
template <class Step>
struct Recall : Step {
  SWEEP_HD void point(const typename Step::View& v, const Cell<Step::ndim>& c, int field, typename Step::Value amount,
                      typename Step::Value) const {
    decltype(Step::run)::Equation::correlate_source(v, c, field, amount);
  }
};

// A sample of a signal, and of what varies it, into the fields that a phase has just made.
template <class Step, bool AT_HALF>
struct Inject {
  using Value = typename Step::Value;
  using View = typename Step::View;
  static constexpr int ndim = Step::ndim;
  Step step;
  Points<Value> points;
  const Value* signal;
  const Value* varied;  // may be null
  int sample;
  Box<ndim> around;  // its points

  SWEEP_HD static bool concerns(int field) { return decltype(step.run)::Equation::at_half(field) == AT_HALF; }
  SWEEP_HD View view(int shot) const { return step.view(shot); }
  SWEEP_HD void point(const View& v, int shot, int field, ptrdiff_t p, ptrdiff_t end) const {
    if (sample < 0 || !concerns(field) || !v.layout.holds(points.cell[p])) return;
    const int steps = step.run.plan.steps;
    const Value amount = amount_of(points, p, end, signal, shot, steps, sample);
    step.point(v, v.layout.cell(points.cell[p]), field, amount,
               varied ? amount_of(points, p, end, varied, shot, steps, sample) : Value(0));
  }
};

// What receivers see of fields, or sources take from adjoint ones.
template <class R, bool AT_HALF, bool ADJOINT>
struct Gather {
  static constexpr int ndim = R::ndim;
  using Value = typename R::Value;
  using View = typename R::View;
  R run;
  Parts<Value> wave;
  Points<Value> points;
  Value* record;
  int sample;
  Box<ndim> box;  // beyond it nothing was computed

  SWEEP_HD static bool concerns(int field) { return R::Equation::at_half(field) == AT_HALF; }
  SWEEP_HD View view(int shot) const {
    View v = run.view(wave, shot);
    v.adjoint = v.field;
    return v;
  }
  SWEEP_HD static Value value(const View& v, const Cell<ndim>& c, int field) {
    return ADJOINT ? R::Equation::taken(v, c, field) : v.field[v.at(field, c)];
  }
  template <class Of>
  SWEEP_HD void sum_up(int shot, ptrdiff_t p, int taps, const Of& of) const {
    if (sample < 0) return;
    Value* const columns = record + (static_cast<ptrdiff_t>(shot) * run.plan.steps + sample) * points.columns;
    sum_trace(points, run.plan.layout, box, p, taps, columns, of);
  }
  SWEEP_HD void trace(const View& v, int shot, int field, ptrdiff_t p, int taps) const {
    if (concerns(field)) sum_up(shot, p, taps, [&](ptrdiff_t, const Cell<ndim>& c) { return value(v, c, field); });
  }
};

// Half a unit: cells, what is injected once they are made, and what is taken then.
template <class Step, class Inject, class Gather, bool AT_HALF>
struct Stage {
  static constexpr bool at_half = AT_HALF, recalls = false;
  Step step;
  Inject inject;
  Gather gather;
};

// With sources of the forward run that images have to be told of.
template <class Step, bool AT_HALF, class R = decltype(Step::run)>
struct Recalling : Stage<Step, Inject<Step, AT_HALF>, Gather<R, AT_HALF, true>, AT_HALF> {
  static constexpr bool recalls = R::Equation::template recalls<AT_HALF>;
  Inject<Recall<Step>, AT_HALF> recall;
};

// d misfit / d coefficient: what the groups have summed, group by group.
template <class R>
struct Reduce {
  using Value = typename R::Value;
  R run;
  const Value* images;
  Value* gradient;
  int earths;
  SWEEP_HD void element(int earth, ptrdiff_t cell) const {
    const auto& plan = run.plan;
    const ptrdiff_t at = plan.layout.cell(cell).at;
    for (int c = 0; c < plan.coefficients; ++c) {
      Value image = 0;
      const int begin = earths == 1 ? 0 : earth, end = earths == 1 ? plan.groups : earth + 1;
      for (int g = begin; g < end; ++g) image += images[g * plan.coefficient_size() + c * plan.total + at];
      const ptrdiff_t to = c * plan.layout.cells + cell;
      gradient[earth * plan.coefficient_cells() + to] =
          R::Equation::gradient(c, run.coefficient[earth * run.earth_stride + to], image);
    }
  }
};

}  // namespace staggered
}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
