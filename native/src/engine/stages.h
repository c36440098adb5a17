// The parts of a time step, as functors: a view for each shot, then a call for each cell or point. A Launcher
// distributes the calls among threads.
#ifndef SWEEP_ENGINE_STAGES_H
#define SWEEP_ENGINE_STAGES_H

#include "../history/stage_history.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// The cells of one stage of a time step.
template <class R, int STAGE>
struct Cells {
  static constexpr int ndim = R::ndim;
  using Value = typename R::Value;
  using View = typename R::View;
  R run;
  ActiveBox<R> active;
  int time_step;

  // For second order the first stage updates psi in the PML, which the second stage differentiates.
  static constexpr bool is_pml_update = R::Equation::is_second_order && STAGE == 0;
  static constexpr bool is_interior =
      false;  // only cells outside every PML: rows end with their last cell, not a whole vector
  // The number of sets of axes, without the last axis, that have loops of their own for cells in the PMLs of these
  // axes. The empty set (the interior) is the first.
  static constexpr unsigned known_masks = !View::knows_order ? 1 : ndim == 2 ? 2 : R::Equation::is_second_order ? 3 : 1;
  SWEEP_HD Box<ndim> box() const {
    constexpr int stages = R::Equation::stages;
    if constexpr (!R::Equation::is_second_order) return active.after(run, stages * time_step - (stages - 1 - STAGE));
    Box<ndim> box = {};
    if (time_step > 0) box = active.after(run, time_step - 1);
    for (int a = 0; is_pml_update && a < ndim; ++a) {
      const int n = run.plan.layout.field.n[a], more = a == ndim - 1 ? 16 * ((run.plan.half + 15) / 16) : run.plan.half;
      box.low[a] = box.low[a] > more ? box.low[a] - more : 0;
      box.high[a] = box.high[a] < n - more ? box.high[a] + more : n;
    }
    return box;
  }
  // Called when row z of the view has been computed, in the cells of a box.
  SWEEP_HD static void close_row(const View&, int, const Box<ndim>&, int) {}
  // Calls f(box, all) for each part of a plane to compute. If `all` is false, cells between the PMLs of the last axis
  // are left out.
  template <class F>
  static void parts(const Box<ndim>& plane, const F& f) {
    f(plane, true);
  }
  // The same for a device that computes all cells at once: the cells of extent() outside inside().
  Box<ndim> extent() const { return whole_grid(run.plan.layout); }
  const Box<ndim>* inside() const { return nullptr; }
  static constexpr bool is_empty = false;  // true for a stage that computes nothing
  // A shell of cells for which shell_row is called once they are computed, for consecutive cells along the last axis.
  SWEEP_HD static const BoxShell<ndim>* shell(const View&) { return nullptr; }
  SWEEP_HD static void shell_row(const View&, ptrdiff_t, const int*, int) {}
};

template <class R, int STAGE>
struct ForwardCells : Cells<R, STAGE> {
  using Value = typename R::Value;
  using View = typename R::View;
  using Loops = ForwardCells;
  PerShotArray<Value> wave;
  StageHistory<R, STAGE> history;

  SWEEP_HD Box<R::ndim> box() const { return history.box(this->run, Cells<R, STAGE>::box()); }
  SWEEP_HD View view(int shot) const {
    View v = this->run.view(wave, shot, this->time_step);
    history.open(this->run, v, shot, this->time_step);
    return v;
  }
  template <class F>
  void parts(const Box<R::ndim>& plane, const F& f) const {
    history.parts(this->run, plane, f);
  }
  const Box<R::ndim>* inside() const { return history.inside(this->run); }
  SWEEP_HD const BoxShell<R::ndim>* shell(const View& v) const { return history.shell(this->run, v); }
  SWEEP_HD void shell_row(const View& v, ptrdiff_t number, const int* i, int count) const {
    history.shell_row(this->run, v, number, i, count);
  }
  template <class V, class Where>
  SWEEP_HD static void cell(const View& v, const Cell<R::ndim>& c, Where where) {
    R::Equation::template forward_stage<V, STAGE>(v, c, where);
  }
  SWEEP_HD static void close_row(const View& v, int z, const Box<2>& box, int size) {
    StageHistory<R, STAGE>::close_row(v, z, box, size);
  }
  SWEEP_HD void point(const View& v, const Cell<R::ndim>& c, int field, ptrdiff_t, Value amount, Value) const {
    if (history.computes(this->run, c)) R::Equation::inject(v, c, field, amount);
  }
};

template <class R, int STAGE>
struct BornCells : Cells<R, STAGE> {
  using Value = typename R::Value;
  using View = typename R::View;
  using Loops = BornCells;
  PerShotArray<Value> wave, scattered;
  const Value* tangent;  // with ghost cells

  // In three dimensions the code of a cell is large, and Born runs are rare, so fewer loops are compiled.
  static constexpr unsigned known_masks = R::ndim == 3 ? 1 : Cells<R, STAGE>::known_masks;
  SWEEP_HD View view(int shot) const {
    View v = this->run.view(wave, shot, this->time_step);
    const View other = this->run.view(scattered, shot, this->time_step);
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
  SWEEP_HD void point(const View& v, const Cell<R::ndim>& c, int field, ptrdiff_t, Value amount,
                      Value variation) const {
    R::Equation::inject(v, c, field, amount);
    R::Equation::scatter_source(v, c, field, amount, variation);
  }
};

template <class R, int STAGE>
struct AdjointCells : Cells<R, STAGE> {
  using Value = typename R::Value;
  using View = typename R::View;
  using Loops = AdjointCells;
  PerShotArray<Value> adjoint;  // (rates, then fields), then memory variables, then images
  AdjointHistory<R> history;
  Value* filter_memory;         // of the points where residuals are injected
  Box<R::ndim> computed_cells;  // the cells that this stage computes

  SWEEP_HD View view(int shot) const {
    const auto& plan = this->run.plan;
    View v = this->run.view(adjoint, shot, this->time_step);
    v.adjoint = adjoint.of(plan, shot);
    v.memory = v.adjoint + plan.adjoint_wave();
    v.image = v.adjoint + plan.adjoint_state();
    history.open(this->run, v, shot, this->time_step);
    return v;
  }
  template <class V, class Where>
  SWEEP_HD static void cell(const View& v, const Cell<R::ndim>& c, Where where) {
    R::Equation::template adjoint_stage<V, STAGE>(v, c, where);
  }
  // Where the forward field is still zero, the adjoint field is not computed.
  SWEEP_HD void point(const View& v, const Cell<R::ndim>& c, int field, ptrdiff_t p, Value amount, Value) const {
    if (computed_cells.contains(c.i))
      R::Equation::template inject_adjoint<STAGE>(v, c, field, amount, filter_memory + p * R::ndim);
  }
};

// Adds the contribution of the forward sources to the images of a time step.
template <class Step>
struct SourceCorrelation : Step {
  SWEEP_HD void point(const typename Step::View& v, const Cell<Step::ndim>& c, int field, ptrdiff_t,
                      typename Step::Value amount, typename Step::Value) const {
    decltype(Step::run)::Equation::correlate_source(v, c, field, amount);
  }
};

// Injects a sample of a signal, and of its variation, into the fields that a stage has just computed.
template <class Step, int STAGE>
struct Inject {
  using Value = typename Step::Value;
  using View = typename Step::View;
  static constexpr int ndim = Step::ndim;
  Step step;
  Points<Value> points;
  const Value* signal;
  const Value* variation;  // may be null
  int sample;
  Box<ndim> point_box;  // contains all points

  static constexpr FieldMask fields = decltype(step.run)::Equation::template fields_of_stage<STAGE>;
  SWEEP_HD static bool concerns(int field) { return fields >> field & 1; }
  bool acts() const { return sample >= 0 && (points.used & fields); }
  SWEEP_HD View view(int shot) const { return step.view(shot); }
  SWEEP_HD void point(const View& v, int shot, int field, ptrdiff_t p, ptrdiff_t end) const {
    if (sample < 0 || !concerns(field) || !v.layout.holds(points.cell[p])) return;
    const int steps = step.run.plan.steps;
    const Value amount = amount_of(points, p, end, signal, shot, steps, sample);
    step.point(v, v.layout.cell(points.cell[p]), field, p, amount,
               variation ? amount_of(points, p, end, variation, shot, steps, sample) : Value(0));
  }
};

// Gathers the values of fields at receivers, or of adjoint fields at sources.
template <class R, bool ADJOINT>
struct Gather {
  static constexpr int ndim = R::ndim;
  using Value = typename R::Value;
  using View = typename R::View;
  R run;
  FieldMask fields, before;  // a bit for each field to gather; and for each that has added to the same sample before
  PerShotArray<Value> wave;
  Points<Value> points;
  Value* record;
  int time_step, sample;
  Box<ndim> box;         // the computed cells
  Value* filter_memory;  // adjoint: memory of the filters at the points

  bool acts() const { return sample >= 0 && (points.used & fields); }
  Lists lists() const { return Lists(points, fields, before); }
  SWEEP_HD View view(int shot) const {
    View v = run.view(wave, shot, time_step);
    v.adjoint = v.field;
    return v;
  }
  SWEEP_HD Value value(const View& v, const Cell<ndim>& c, int field, ptrdiff_t p) const {
    if constexpr (ADJOINT)
      return R::Equation::value_at_source(v, c, field, filter_memory + p * ndim);
    else
      return v.field[v.at(field, c)];
  }
  // The weighted sum of of(field, p, cell) over the points of a column of a trace, in the fields just computed: point
  // number `from` of each list and every `every`-th after it. Sets `has_points` if the column has points.
  template <class Of>
  SWEEP_HD Value sum(const Lists& lists, int shot, int trace, int column, bool& has_points, const Of& of, int from = 0,
                     int every = 1) const {
    const auto& layout = run.plan.layout;
    Value sum = 0;
    for (int l = 0; l < lists.count; ++l) {
      const auto& list = lists.list[l];
      ptrdiff_t p = points.first_of_column(list, shot, trace, column);
      if (p < 0) continue;
      has_points = true;
      const ptrdiff_t end = points.begin_of(list, shot, trace + 1);
      for (p += from; p < end && points.column[p] == column; p += every) {
        if (!layout.holds(points.cell[p])) continue;
        const Cell<ndim> c = layout.cell(points.cell[p]);
        if (box.contains(c.i)) sum += points.weight[p] * of(list.field, p, c);
      }
    }
    return sum;
  }
  // Writes a sum to the sample, or adds it if fields of a stage before have written to the sample.
  SWEEP_HD void write_sample(const Lists& lists, int shot, int trace, int column, Value sum) const {
    Value& to = record[(static_cast<ptrdiff_t>(shot) * run.plan.steps + sample) * points.columns + column];
    for (int l = lists.count; l < lists.all; ++l)
      if (points.first_of_column(lists.list[l], shot, trace, column) >= 0) {
        to += sum;
        return;
      }
    to = sum;
  }
  // Records all columns of traces from .. to - 1.
  template <class Of>
  void record_traces(int shot, int from, int to, const Of& of) const {
    const Lists lists = this->lists();
    const int columns = points.columns_of_trace();
    for (int trace = from; trace < to; ++trace)
      for (int column = trace * columns, end = column + columns; column < end; ++column) {
        bool has_points = false;
        const Value value = sum(lists, shot, trace, column, has_points, of);
        if (has_points) write_sample(lists, shot, trace, column, value);
      }
  }
};

// A stage of a time step: it computes cells, then injects samples, and last gathers values.
template <class Step, class Inject, class Gather, int STAGE>
struct Stage {
  static constexpr int number = STAGE;
  static constexpr bool correlates_sources = false;
  Step step;
  Inject inject;
  Gather gather;
};

// A stage of an adjoint run whose images also need the sources of the forward run.
template <class Step, int STAGE, class R = decltype(Step::run)>
struct CorrelatingStage : Stage<Step, Inject<Step, STAGE>, Gather<R, true>, STAGE> {
  static constexpr bool correlates_sources = R::Equation::template correlates_sources<STAGE>;
  Inject<SourceCorrelation<Step>, STAGE> correlation;
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
