// What a step consists of, as functors: a view for each shot, then a call for each cell or point. A Launcher shares the
// calls out among whatever executes them.
#ifndef SWEEP_STAGES_H
#define SWEEP_STAGES_H

#include "strips.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// The cells of one stage of a unit.
template <class R, int STAGE>
struct Cells {
  static constexpr int ndim = R::ndim;
  using Value = typename R::Value;
  using View = typename R::View;
  R run;
  ActiveBox<R> active;
  int unit;

  // Where an equation of second order is concerned, the first stage makes what the second differentiates.
  static constexpr bool slabs = R::Equation::second && STAGE == 0;
  static constexpr bool inner = false;  // only where no PML is felt: rows end with their last cell, not a whole vector
  // So many sets of axes, but for the last, in whose PML cells may lie have loops of their own, the interior first.
  static constexpr unsigned known_masks = !View::knows_order ? 1 : ndim == 2 ? 2 : R::Equation::second ? 3 : 1;
  SWEEP_HD Box<ndim> box() const {
    constexpr int stages = R::Equation::stages;
    if constexpr (!R::Equation::second) return active.after(run, stages * unit - (stages - 1 - STAGE));
    Box<ndim> box = {};
    if (unit > 0) box = active.after(run, unit - 1);
    for (int a = 0; slabs && a < ndim; ++a) {
      const int n = run.plan.layout.field.n[a], more = a == ndim - 1 ? 16 * ((run.plan.half + 15) / 16) : run.plan.half;
      box.low[a] = box.low[a] > more ? box.low[a] - more : 0;
      box.high[a] = box.high[a] < n - more ? box.high[a] + more : n;
    }
    return box;
  }
  // Row z of the view is made, the cells of a box.
  SWEEP_HD static void close(const View&, int, const Box<ndim>&, int) {}
  // f(box, whether all of it) for each part of a plane that is to be made; or without what lies beside the PML of the
  // last axis.
  template <class F>
  static void parts(const Box<ndim>& plane, const F& f) {
    f(plane, true);
  }
  // The same on a device that makes all cells: those of a box, unless they lie inside another one.
  Box<ndim> extent() const { return whole(run.plan.layout); }
  const Box<ndim>* inside() const { return nullptr; }
  static constexpr bool none = false;  // whether it makes nothing
  // Once so many cells of boundary strips, one after the other along the last axis, are made.
  SWEEP_HD static void strip(const View&, ptrdiff_t, const int*, int) {}
};

// Forward; where there are slots, its own keeps what the adjoint needs of this unit, and zeros around it.
template <class R, int STAGE>
struct ForwardCells : Cells<R, STAGE> {
  using Value = typename R::Value;
  using View = typename R::View;
  using Loops = ForwardCells;
  Parts<Value> wave;
  Parts<Value> slots;
  int index;
  Strips<Value> strips = {};  // kept, unless the run is made again in the PML alone, between them
  bool again = false;
  Box<R::ndim> had = {};  // made by the forward run

  SWEEP_HD Box<R::ndim> box() const {
    const auto own = Cells<R, STAGE>::box();
    if (!R::Equation::holds_fields || !slots.base || STAGE != R::Equation::table.held) return own;
    return this->run.reached(this->run.reached(own, 1), 1);
  }
  SWEEP_HD View view(int shot) const {
    View v = this->run.view(wave, shot, this->unit);
    if (slots.base) this->run.open(v, slots.of(this->run.plan, shot), index);
    v.strip_values = strips.of(this->run.plan, shot, this->unit);
    return v;
  }
  // Beside the PML whole vectors leave behind what is no field, and nobody reads.
  template <class F>
  void parts(const Box<R::ndim>& plane, const F& f) const {
    constexpr int last = R::ndim - 1, others = 2 * last;
    const auto& pml = this->run.plan.pml;
    Box<R::ndim> rows = pml.inner;
    rows.low[last] = plane.low[last], rows.high[last] = plane.high[last];
    for (int p = again ? 0 : others; p <= others; ++p) {
      const Box<R::ndim> part = !again ? plane : overlap(p < others ? pml.part[p] : rows, plane);
      if (part.any()) f(part, !again || p < others);
    }
  }
  const Box<R::ndim>* inside() const { return again ? &this->run.plan.pml.inner : nullptr; }
  SWEEP_HD void strip(const View& v, ptrdiff_t number, const int* i, int count) const {
    if (again)
      StripCells<R, STAGE>::put_back(this->run, v, number, i, count, had);
    else
      StripCells<R, STAGE>::keep(this->run, v, number, i, count);
  }
  template <class V, class Where>
  SWEEP_HD static void cell(const View& v, const Cell<R::ndim>& c, Where where) {
    R::Equation::template forward_stage<V, STAGE>(v, c, where);
  }
  // Zeros between row z of the slot and the next, where either is differentiated across: vectors of `size` cells have
  // written some.
  SWEEP_HD static void close(const View& v, int z, const Box<2>& box, int size) {
    constexpr bool holds = STAGE == R::Equation::table.held && R::Equation::holds_fields;
    const int n = v.layout.field.n[1], at[] = {z, 0};
    if (!holds || z < v.in_history.from || (box.low[1] && box.high[1] < n)) return;
    Value* const row = v.held + v.layout.field.at(at);
    for (int f = 0; f < decltype(R::plan)::fields; ++f)
      for (ptrdiff_t i = box.high[1] < n ? n : (n + size - 1) / size * size; i < v.layout.field.stride[0]; ++i)
        row[f * v.in_history.field + i] = 0;
  }
  SWEEP_HD void point(const View& v, const Cell<R::ndim>& c, int field, ptrdiff_t, Value amount, Value) const {
    if (!again || !this->run.plan.pml.inner.contains(c.i)) R::Equation::inject(v, c, field, amount);
  }
};

// Boundary strips of unit u into the fields of a state.
template <class R>
struct PutBack {
  R run;
  ActiveBox<R> active;
  Parts<typename R::Value> wave;
  Strips<typename R::Value> strips;
  int unit;
  SWEEP_HD void element(int shot, ptrdiff_t number) const {
    int at[R::ndim];
    rind().cell(number, at);
    row(shot, number, at, 1);
  }
  SWEEP_HD const Rind<R::ndim>& rind() const { return run.plan.band; }
  SWEEP_HD void row(int shot, ptrdiff_t number, const int* at, int count) const {
    auto v = run.view(wave, shot, unit);
    v.strip_values = strips.of(run.plan, shot, unit);
    for_axes<R::Equation::stages>([&](auto index) SWEEP_INLINE {
      constexpr int stage = decltype(index)::value;
      StripCells<R, stage>::put_back(run, v, number, at, count, Cells<R, stage>{run, active, unit}.box());
    });
  }
};

// The fields that stage STAGE of a unit had made, of those of later ones, where no PML is felt.
template <class R, int STAGE>
struct RewindCells : Cells<R, STAGE> {
  using Value = typename R::Value;
  using View = typename R::View;
  using Loops = RewindCells;
  Parts<Value> wave, slots;
  Strips<Value> strips;
  int index;
  Box<R::ndim> had;  // made by the forward run

  static constexpr bool slabs = false, inner = true, none = R::Equation::second && STAGE == 0;
  // All cells of the model: those of the strips are put back.
  SWEEP_HD Box<R::ndim> box() const {
    if constexpr (none) return {};
    return this->run.plan.pml.inner;
  }
  SWEEP_HD View view(int shot) const {
    View v = this->run.view(wave, shot, this->unit);
    this->run.open(v, slots.of(this->run.plan, shot), index);
    v.strip_values = strips.of(this->run.plan, shot, this->unit);
    return v;
  }
  template <class F>
  void parts(const Box<R::ndim>& plane, const F& f) const {
    if (const auto in = overlap(this->run.plan.band.inner, plane); in.any()) f(in, true);
  }
  Box<R::ndim> extent() const { return this->run.plan.band.inner; }
  template <class V, class Where>
  SWEEP_HD static void cell(const View& v, const Cell<R::ndim>& c, Where where) {
    R::Equation::template reverse_stage<V, STAGE>(v, c, Unstretched<Where>{where});
  }
  SWEEP_HD void strip(const View& v, ptrdiff_t number, const int* i, int count) const {
    StripCells<R, STAGE>::put_back(this->run, v, number, i, count, had);
  }
  SWEEP_HD void point(const View& v, const Cell<R::ndim>& c, int field, ptrdiff_t, Value amount, Value) const {
    if (this->run.plan.band.inner.contains(c.i))
      R::Equation::inject(v, c, field, R::Equation::second ? amount : -amount);
  }
};

template <class R, int STAGE>
struct BornCells : Cells<R, STAGE> {
  using Value = typename R::Value;
  using View = typename R::View;
  using Loops = BornCells;
  Parts<Value> wave, scattered;
  const Value* tangent;  // with ghost cells

  // In space its cells are large, and few wait for them.
  static constexpr unsigned known_masks = R::ndim == 3 ? 1 : Cells<R, STAGE>::known_masks;
  SWEEP_HD View view(int shot) const {
    View v = this->run.view(wave, shot, this->unit);
    const View other = this->run.view(scattered, shot, this->unit);
    v.scattered = other.field;
    v.scattered_now = other.now;
    v.scattered_memory = other.memory;
    v.tangent = this->run.earth(tangent, shot);
    return v;
  }
  template <class V, class Where>
  SWEEP_HD static void cell(const View& v, const Cell<R::ndim>& c, Where where) {
    R::Equation::template born_stage<V, STAGE>(v, c, where);
  }
  SWEEP_HD void point(const View& v, const Cell<R::ndim>& c, int field, ptrdiff_t, Value amount, Value varied) const {
    R::Equation::inject(v, c, field, amount);
    R::Equation::scatter_source(v, c, field, amount, varied);
  }
};

template <class R, int STAGE>
struct AdjointCells : Cells<R, STAGE> {
  using Value = typename R::Value;
  using View = typename R::View;
  using Loops = AdjointCells;
  Parts<Value> adjoint;  // (rates, then fields), then memory variables, then images
  Parts<Value> slots;
  int index;
  Value* past;        // of the filters of the points that it injects at
  Box<R::ndim> made;  // by this stage

  SWEEP_HD View view(int shot) const {
    const auto& plan = this->run.plan;
    View v = this->run.view(adjoint, shot, this->unit);
    v.adjoint = adjoint.of(plan, shot);
    v.memory = v.adjoint + plan.adjoint_wave();
    this->run.open(v, slots.of(plan, shot), index);
    v.image = v.adjoint + plan.adjoint_state();
    v.images = static_cast<Value>(plan.packed.interval);
    if (this->unit % plan.packed.interval == 0) v.imaged_from = plan.imaged_from;
    return v;
  }
  template <class V, class Where>
  SWEEP_HD static void cell(const View& v, const Cell<R::ndim>& c, Where where) {
    R::Equation::template adjoint_stage<V, STAGE>(v, c, where);
  }
  // Where the forward field is still zero, the adjoint's is not computed any more.
  SWEEP_HD void point(const View& v, const Cell<R::ndim>& c, int field, ptrdiff_t p, Value amount, Value) const {
    if (made.contains(c.i)) R::Equation::template inject_adjoint<STAGE>(v, c, field, amount, past + p * R::ndim);
  }
};

// What sources of the forward run say to the images of a unit.
template <class Step>
struct Recall : Step {
  SWEEP_HD void point(const typename Step::View& v, const Cell<Step::ndim>& c, int field, ptrdiff_t,
                      typename Step::Value amount, typename Step::Value) const {
    decltype(Step::run)::Equation::correlate_source(v, c, field, amount);
  }
};

// A sample of a signal, and of what varies it, into the fields that a stage has just made.
template <class Step, int STAGE>
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

  static constexpr unsigned fields = decltype(step.run)::Equation::template made<STAGE>;
  SWEEP_HD static bool concerns(int field) { return fields >> field & 1; }
  bool acts() const { return sample >= 0 && (points.used & fields); }
  SWEEP_HD View view(int shot) const { return step.view(shot); }
  SWEEP_HD void point(const View& v, int shot, int field, ptrdiff_t p, ptrdiff_t end) const {
    if (sample < 0 || !concerns(field) || !v.layout.holds(points.cell[p])) return;
    const int steps = step.run.plan.steps;
    const Value amount = amount_of(points, p, end, signal, shot, steps, sample);
    step.point(v, v.layout.cell(points.cell[p]), field, p, amount,
               varied ? amount_of(points, p, end, varied, shot, steps, sample) : Value(0));
  }
};

// What receivers see of fields, or sources take from adjoint ones.
template <class R, bool ADJOINT>
struct Gather {
  static constexpr int ndim = R::ndim;
  using Value = typename R::Value;
  using View = typename R::View;
  R run;
  unsigned fields, before;  // a bit for each that it concerns; and for those that the same sample has heard already
  Parts<Value> wave;
  Points<Value> points;
  Value* record;
  int unit, sample;
  Box<ndim> box;  // beyond it nothing was computed
  Value* past;    // adjoint: of the filters of the points

  bool acts() const { return sample >= 0 && (points.used & fields); }
  Lists lists() const { return Lists(points, fields, before); }
  SWEEP_HD View view(int shot) const {
    View v = run.view(wave, shot, unit);
    v.adjoint = v.field;
    return v;
  }
  SWEEP_HD Value value(const View& v, const Cell<ndim>& c, int field, ptrdiff_t p) const {
    if constexpr (ADJOINT)
      return R::Equation::taken_by_source(v, c, field, past + p * ndim);
    else
      return v.field[v.at(field, c)];
  }
  // What a column of a trace takes of the fields that were just made, if it has points in `any`: the sum of
  // of(field, p, cell) over point number `from` in each and every so many after it.
  template <class Of>
  SWEEP_HD Value sum(const Lists& lists, int shot, int trace, int column, bool& any, const Of& of, int from = 0,
                     int every = 1) const {
    const auto& layout = run.plan.layout;
    Value sum = 0;
    for (int l = 0; l < lists.count; ++l) {
      const auto& list = lists.list[l];
      ptrdiff_t p = points.first_of_column(list, shot, trace, column);
      if (p < 0) continue;
      any = true;
      const ptrdiff_t end = points.begin_of(list, shot, trace + 1);
      for (p += from; p < end && points.column[p] == column; p += every) {
        if (!layout.holds(points.cell[p])) continue;
        const Cell<ndim> c = layout.cell(points.cell[p]);
        if (box.contains(c.i)) sum += points.weight[p] * of(list.field, p, c);
      }
    }
    return sum;
  }
  // Into the sample, to which fields made before may have given their part.
  SWEEP_HD void put(const Lists& lists, int shot, int trace, int column, Value sum) const {
    Value& to = record[(static_cast<ptrdiff_t>(shot) * run.plan.steps + sample) * points.columns + column];
    for (int l = lists.count; l < lists.all; ++l)
      if (points.first_of_column(lists.list[l], shot, trace, column) >= 0) {
        to += sum;
        return;
      }
    to = sum;
  }
  // All columns of traces from .. to - 1.
  template <class Of>
  void take(int shot, int from, int to, const Of& of) const {
    const Lists lists = this->lists();
    const int columns = points.columns_of_trace();
    for (int trace = from; trace < to; ++trace)
      for (int column = trace * columns, end = column + columns; column < end; ++column) {
        bool any = false;
        const Value value = sum(lists, shot, trace, column, any, of);
        if (any) put(lists, shot, trace, column, value);
      }
  }
};

// A stage of a unit: cells, what is injected once they are made, and what is taken then.
template <class Step, class Inject, class Gather, int STAGE>
struct Stage {
  static constexpr int number = STAGE;
  static constexpr bool recalls = false;
  Step step;
  Inject inject;
  Gather gather;
};

// With sources of the forward run that images have to be told of.
template <class Step, int STAGE, class R = decltype(Step::run)>
struct Recalling : Stage<Step, Inject<Step, STAGE>, Gather<R, true>, STAGE> {
  static constexpr bool recalls = R::Equation::template recalls<STAGE>;
  Inject<Recall<Step>, STAGE> recall;
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
