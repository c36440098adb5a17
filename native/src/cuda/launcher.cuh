// A GPU as a Launcher: every function launches kernels over all shots on the caller's stream, whose bodies call the
// same functors as the CPU's loops. No thread writes a value that another thread of the same launch reads or writes, so
// results do not depend on the order of threads.
#ifndef SWEEP_CUDA_LAUNCHER_H
#define SWEEP_CUDA_LAUNCHER_H

#include "launch.cuh"

namespace sweep {
inline namespace SWEEP_VARIANT {

// The views of all shots: the view of the first, and the distance of each of its arrays from that of the next shot.
template <class View>
struct Views {
  View first;
  ptrdiff_t stride[View::arrays];

  template <class F>
  Views(const F& f, int shot) : first(f.view(shot)) {
    View next = f.view(shot + 1);
    const char *before[View::arrays], *after[View::arrays];
    int i = 0;
    first.of_shot([&](auto*& p) { before[i++] = reinterpret_cast<const char*>(p); });
    i = 0;
    next.of_shot([&](auto*& p) { after[i++] = reinterpret_cast<const char*>(p); });
    for (i = 0; i < View::arrays; ++i)
      stride[i] = (after[i] - before[i]) / static_cast<ptrdiff_t>(sizeof(typename F::Value));
  }
  SWEEP_HD View of(int shot) const {
    View v = first;
    int i = 0;
    v.of_shot([&](auto*& p) SWEEP_INLINE { p += shot * stride[i++]; });
    return v;
  }
};

// Cells that lie in the PML of exactly the axes whose bits are set, away from a free surface. MASK = 0: the interior.
template <class F, unsigned MASK>
struct InPml {
  static constexpr int parts = 1;
  Views<typename F::View> views;
  SWEEP_HD void cell(int shot, const int* i, int) const {
    const auto view = views.of(shot);
    F::template cell<typename F::Value>(view, view.layout.cell(i), Within<MASK>{});
  }
};
template <class F>
struct InShell {
  static constexpr int parts = 2 * F::ndim;
  Views<typename F::View> views;
  SWEEP_HD void cell(int shot, const int* i, int) const {
    const auto view = views.of(shot);
    F::template cell<typename F::Value>(view, view.layout.cell(i), somewhere(view.layout, i));
  }
};
// Cells in the PML of every axis, at its low face and at its high face.
template <class F>
struct Slabs {
  static constexpr int parts = 2 * F::ndim;
  Views<typename F::View> views;
  SWEEP_HD void cell(int shot, const int* i, int part) const {
    const auto view = views.of(shot);
    for_axes<F::ndim>([&](auto index) SWEEP_INLINE {
      constexpr int a = decltype(index)::value;
      if (part / 2 == a) F::template cell<typename F::Value>(view, view.layout.cell(i), Within<1u << a>{});
    });
  }
};

// Cells per thread for a number of cells: as many as still leave enough threads for every processor of a GPU.
inline int cells_per_thread(ptrdiff_t cells) {
#if defined(SWEEP_EMULATE)
  constexpr ptrdiff_t threads = 1 << 9;
#else
  constexpr ptrdiff_t threads = 1 << 19;
#endif
  int depth = 1;
  while (depth < 8 && cells / (2 * depth) >= threads) depth *= 2;
  return depth;
}
// The interior, the shell around it, and the PML of every axis.
template <int NDIM>
struct Regions {
  Blocks<NDIM> inner, shell, slabs;

  // The regions of a box; with `inside` the shell is the cells of the box outside `inside`, and the interior is empty.
  Regions(const Layout<NDIM>& layout, const Box<NDIM>& box, const Box<NDIM>* inside, int depth)
      : inner(depth), shell(depth), slabs(depth) {
    Box<NDIM> plain = box;
    for (int a = 0; a < NDIM; ++a) {
      const int n = layout.field.n[a], near = a == 0 ? layout.near : 0;
      const int low = layout.region_low[a] > near ? layout.region_low[a] : near, high = n - layout.region_high[a];
      if (low > plain.low[a]) plain.low[a] = low < plain.high[a] ? low : plain.high[a];
      if (high < plain.high[a]) plain.high[a] = high > plain.low[a] ? high : plain.low[a];
      Box<NDIM> slab = whole_grid(layout);
      slab.high[a] = layout.pml_low[a];
      slabs.add(slab);
      slab.low[a] = n - layout.pml_high[a] - (layout.pml_high[a] > 0);  // psi lies between nodes
      slab.high[a] = n;
      slabs.add(slab);
    }
    for (const auto& part : BoxShell<NDIM>(box, inside ? *inside : plain).part) shell.add(part);
    if (!inside) inner.add(plain);
  }
};

// The thread of the first point in a cell adds all points of that cell, in their order, and those of the later fields.
// This needs no atomics, and gives the same sum every time.
template <class F>
struct Injected {
  F f;
  Views<typename F::View> views;
  int first;  // the first shot of the launch
  Lists lists;

  Injected(const F& inject, int shot) : f(inject), views(f, shot), first(shot), lists(f.points, f.fields) {}
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    int l = lists.list_of(i);
    const ptrdiff_t p = f.points.begin(shot) + lists.list[l].begin + i;
    const int32_t cell = f.points.cell[p];
    if (i > 0 && f.points.cell[p - 1] == cell) return;
    for (int before = 0; before < l; ++before)
      if (of_cell(shot, before, cell) >= 0) return;
    const auto view = views.of(shot - first);
    for (; l < lists.count; ++l) {
      const ptrdiff_t at = of_cell(shot, l, cell);
      if (at >= 0) f.point(view, shot, lists.list[l].field, at, f.points.end_of_cell(at, end(shot, l)));
    }
  }

 private:
  SWEEP_HD ptrdiff_t end(int shot, int l) const {
    return f.points.begin(shot) + lists.list[l].begin + lists.list[l].count;
  }
  // The first point of a list in a cell, or -1.
  SWEEP_HD ptrdiff_t of_cell(int shot, int l, int32_t cell) const {
    const ptrdiff_t to = end(shot, l), p = lower_bound(f.points.cell, to - lists.list[l].count, to, cell);
    return p < to && f.points.cell[p] == cell ? p : -1;
  }
};

// A thread adds a column of traces that have few points; a warp adds a column of other traces.
template <class F>
struct Gathered {
  static constexpr int max_points_of_thread = 8;
  F f;
  Views<typename F::View> views;
  int first;  // the first shot of the launch
  Lists lists;
  Divisor of_trace;  // columns of a trace
  bool uses_warp = false;
  ptrdiff_t threads;  // a whole number of warps

  Gathered(const F& gather, int shot)
      : f(gather),
        views(f, shot),
        first(shot),
        lists(f.lists()),
        of_trace(static_cast<unsigned>(f.points.columns_of_trace())) {
    for (int l = 0; l < lists.count; ++l) uses_warp |= lists.list[l].of_trace > max_points_of_thread;
    const ptrdiff_t columns = f.points.columns;
    threads = uses_warp ? columns * warp : (columns + warp - 1) / warp * warp;
  }
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    const auto lane = static_cast<int>(i % warp), column = static_cast<int>(uses_warp ? i / warp : i);
    if (column >= f.points.columns) return;
    const auto view = views.of(shot - first);
    const auto trace = static_cast<int>(of_trace.quotient(static_cast<unsigned>(column)));
    bool any = false;
    const auto of = [&](int field, ptrdiff_t p, const Cell<F::ndim>& c) { return f.value(view, c, field, p); };
    const auto part = [&](int from) { return f.sum(lists, shot, trace, column, any, of, from, uses_warp ? warp : 1); };
    const auto sum = uses_warp ? sum_of_warp<typename F::Value>(lane, part) : part(0);
    if (any && (!uses_warp || lane == 0)) f.write_sample(lists, shot, trace, column, sum);
  }
};

// Injects and gathers in one launch: no value that is gathered depends on one that is injected.
template <class Inject, class Gather>
struct AtPoints {
  Injected<Inject> inject;
  Gathered<Gather> gather;
  ptrdiff_t gather_threads;  // threads that gather, a whole number of warps
  AtPoints(const Inject& i, const Gather& g, bool gathers, int shot)
      : inject(i, shot), gather(g, shot), gather_threads(gathers ? gather.threads : 0) {}
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    if (i < gather_threads)
      gather.element(shot, i);
    else
      inject.element(shot, i - gather_threads);
  }
};

// The shell of cells for which a step makes another call, once the cells are computed.
template <class F>
struct AtShell {
  F f;
  Views<typename F::View> views;
  int first;  // the first shot of the launch

  AtShell(const F& step, int shot) : f(step), views(step, shot), first(shot) {}
  ptrdiff_t cells() const {
    const auto* const shell = f.shell(views.first);
    return shell ? shell->cells() : 0;
  }
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    const auto view = views.of(shot - first);
    int at[F::ndim];
    f.shell(view)->cell(i, at);
    f.shell_row(view, i, at, 1);
  }
};

// The values of a stage that are not gathered yet; they must be before the stage computes its fields again.
template <class Gather>
struct Pending {
  Gather gather;
  int stage = 0, time_step = 0;
  bool waits = false;
};

class Launcher {
 public:
  template <int NDIM>
  static constexpr bool closes_rows = false;

  Launcher(void* stream, sweep_control* control) : stream_(stream), control_(control) {}

  // A stream runs its launches in order.
  void sync() const {}

  // The host reads the control word when it queues a step, which may run some time later.
  void poll(int k) {
    if (!control_) return;
    control_->progress = k;
    if (*static_cast<volatile int32_t*>(&control_->cancel)) cancelled_ = true;
  }
  bool stopped() const { return cancelled_ || error_; }
  bool cancelled() const { return cancelled_; }
  const char* error() const { return error_; }

  // All cells, because all shots advance in one launch.
  template <class R>
  ActiveBox<R> active_box(const R& run, const Points<typename R::Value>&, const Points<typename R::Value>&,
                          Span) const {
    return {whole_grid(run.plan.layout), whole_grid(run.plan.layout)};
  }
  // Runs time steps [begin, end), stage by stage. The values of a stage at receivers are gathered together with the
  // next injection, so that one launch does both, or otherwise just before they are overwritten.
  template <class TimeSteps>
  void steps(const TimeSteps& time_steps, int begin, int end, Span shots);

  template <class F>
  void gather(const F& f, Span shots) {
    if (!f.acts()) return;
    const Gathered<F> body(f, shots.first);
    elements(body, body.threads, shots);
  }
  template <class F>
  void elements(const F& f, ptrdiff_t count, Span shots) {
    if (!error_) error_ = launch(stream_, f, count, shots);
  }
  template <class F>
  void rows(const F& f, Span shots) {
    elements(f, f.shell().cells(), shots);
  }

 private:
  template <class Stage, int NDIM, class Gather>
  void stage(const Stage& s, int u, const Regions<NDIM>& regions, Span shots, Pending<Gather>& pending) {
    using Step = decltype(s.step);
    using Loops = typename Step::Loops;
    if constexpr (Step::is_empty) return;
    if constexpr (Step::is_pml_update) return cells<Slabs<Loops>>(s.step, regions.slabs, shots);
    constexpr int levels = decltype(s.step.run)::Equation::levels;
    if (pending.stage == Stage::number && u - pending.time_step >= levels) gather(pending, shots);
    cells<InPml<Loops, 0>>(s.step, regions.inner, shots);
    cells<InShell<Loops>>(s.step, regions.shell, shots);
    if (s.inject.acts()) inject(s.inject, pending, shots);
    if constexpr (Stage::correlates_sources)
      if (s.correlation.acts()) inject(s.correlation, pending, shots);
    if (const AtShell<Step> shell(s.step, shots.first); shell.cells()) elements(shell, shell.cells(), shots);
    if (!s.gather.acts()) return;
    gather(pending, shots);
    pending = {s.gather, Stage::number, u, true};
  }

  template <class Inject, class Gather>
  void inject(const Inject& f, Pending<Gather>& pending, Span shots) {
    const AtPoints<Inject, Gather> at_points(f, pending.gather, pending.waits, shots.first);
    elements(at_points, at_points.gather_threads + at_points.inject.lists.points, shots);
    pending.waits = false;
  }
  template <class Gather>
  void gather(Pending<Gather>& pending, Span shots) {
    if (pending.waits) gather(pending.gather, shots);
    pending.waits = false;
  }

  template <class Body, class F, int NDIM>
  void cells(const F& f, const Blocks<NDIM>& blocks, Span shots) {
    if (!blocks.count) return;
    const int max_shots = static_cast<int>(INT32_MAX / blocks.count);
    for (int shot = 0; shot < shots.count && !error_; shot += max_shots) {
      const int count = shots.count - shot < max_shots ? shots.count - shot : max_shots;
      error_ = launch(stream_, Body{{f, shots.first + shot}}, blocks, count);
    }
  }

  void* stream_;
  sweep_control* control_;
  bool cancelled_ = false;
  const char* error_ = nullptr;
};

// Not inline, so that another file may compile it: ../abi/parts.h.
template <class TimeSteps>
void Launcher::steps(const TimeSteps& time_steps, int begin, int end, Span shots) {
  const auto& layout = time_steps.run.plan.layout;
  const auto step = time_steps.template stage<0>(begin).step;
  const Regions regions(layout, step.extent(), step.inside(), cells_per_thread(layout.cells * shots.count));
  Pending<decltype(time_steps.template stage<0>(begin).gather)> pending{time_steps.template stage<0>(begin).gather};
  for (int u = begin; u < end && !stopped(); ++u) {
    for_axes<decltype(time_steps.run)::Equation::stages>(
        [&](auto index) { stage(time_steps.template stage<decltype(index)::value>(u), u, regions, shots, pending); });
    poll(u);
  }
  gather(pending, shots);
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
