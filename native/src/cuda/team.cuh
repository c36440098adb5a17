// A GPU as a Team: every verb is a launch over all shots on the caller's stream, of bodies that call the same functors
// as the CPU's loops. No thread writes what another one of its launch reads or writes, so answers do not depend on
// their order.
#ifndef SWEEP_CUDA_TEAM_H
#define SWEEP_CUDA_TEAM_H

#include "launch.cuh"

namespace sweep {
inline namespace SWEEP_VARIANT {

// The cells of a stage.
template <class F>
struct StageCell {
  F f;
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    const auto view = f.view(shot);
    const auto cell = view.layout.cell(i);
    const auto where = somewhere(view.layout, cell.i);
    if (where.mask)
      F::template cell<typename F::Value>(view, cell, where);
    else
      F::template cell<typename F::Value>(view, cell, Within<0>{});
  }
};

// Counts the cells in the PML of axis A: the low face joined to the high one.
template <int A, class F>
struct SlabCell {
  F f;
  static ptrdiff_t count(const Layout<F::ndim>& layout) {
    return layout.cells / layout.field.n[A] * (layout.pml_low[A] + layout.pml_high[A]);
  }
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    const auto view = f.view(shot);
    const auto& layout = view.layout;
    const ptrdiff_t inner = layout.dense_stride(A), n = layout.field.n[A];
    const ptrdiff_t low = layout.pml_low[A], both = low + layout.pml_high[A];
    const ptrdiff_t line = i / inner, at = line % both;
    const ptrdiff_t along = at < low ? at : at + n - both;
    F::template cell<typename F::Value>(view, layout.cell((line / both * n + along) * inner + i % inner),
                                        Within<1u << A>{});
  }
};

// The first of the points that lie in one cell adds them all, in their order: no atomics, and the same sum every time.
template <class F>
struct InjectRun {
  F f;
  int field;
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    const ptrdiff_t begin = f.points.begin(shot, field), end = begin + f.points.count[field], p = begin + i;
    if (i > 0 && f.points.cell[p] == f.points.cell[p - 1]) return;
    f.point(f.view(shot), shot, field, p, f.points.end_of_cell(p, end));
  }
};

template <class F>
struct GatherTrace {
  F f;
  int field, taps;
  SWEEP_HD void element(int shot, ptrdiff_t trace) const {
    f.trace(f.view(shot), shot, field, f.points.begin(shot, field) + trace * taps, taps);
  }
};

class Team {
 public:
  template <int NDIM>
  static constexpr bool closes_rows = false;

  Team(void* stream, sweep_control* control) : stream_(stream), control_(control) {}

  // What a stream is given it does in order.
  void sync() const {}

  // The host looks at the control word as it queues a step, which may run some time later.
  void poll(int k) {
    if (!control_) return;
    control_->progress = k;
    if (*static_cast<volatile int32_t*>(&control_->cancel)) cancelled_ = true;
  }
  bool stopped() const { return cancelled_ || error_; }
  bool cancelled() const { return cancelled_; }
  const char* error() const { return error_; }

  // Everywhere: all shots advance in one launch.
  template <class R>
  Cone<R> cone(const R& run, const Points<typename R::Value>&, const Points<typename R::Value>&, Span) const {
    return {whole(run.plan.layout), whole(run.plan.layout)};
  }
  // Units [begin, end) of a run, one stage after the other.
  template <class Units>
  void march(const Units& units, int begin, int end, Span shots) {
    for (int u = begin; u < end && !stopped(); ++u) {
      for_axes<decltype(units.run)::Equation::stages>(
          [&](auto index) { stage(units.template stage<decltype(index)::value>(u), shots); });
      poll(u);
    }
  }

  // Fields one after the other: two of them may inject into the same cell.
  template <class F>
  void inject(const F& f, Span shots) {
    for (int field = 0; field < SWEEP_MAX_FIELDS; ++field)
      elements(InjectRun<F>{f, field}, f.points.count[field], shots);
  }

  template <class F>
  void gather(const F& f, Span shots) {
    const int traces = f.points.traces();
    for (int field = 0; traces && field < SWEEP_MAX_FIELDS; ++field)
      if (const int taps = f.points.count[field] / traces) elements(GatherTrace<F>{f, field, taps}, traces, shots);
  }

  template <class F>
  void elements(const F& f, ptrdiff_t count, Span shots) {
    if (!error_) error_ = launch(stream_, f, count, shots);
  }

 private:
  template <class Stage>
  void stage(const Stage& s, Span shots) {
    if constexpr (decltype(s.step)::slabs) return slabs<0>(s.step, shots);
    elements(StageCell<decltype(s.step)>{s.step}, s.step.run.plan.layout.cells, shots);
    inject(s.inject, shots);
    if constexpr (Stage::recalls) inject(s.recall, shots);
    gather(s.gather, shots);
  }

  template <int A, class F>
  void slabs(const F& f, Span shots) {
    if constexpr (A < F::ndim) {
      elements(SlabCell<A, F>{f}, SlabCell<A, F>::count(f.run.plan.layout), shots);
      slabs<A + 1>(f, shots);
    }
  }

  void* stream_;
  sweep_control* control_;
  bool cancelled_ = false;
  const char* error_ = nullptr;
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
