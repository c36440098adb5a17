// The interface of the history to the stages of time steps: stages of a forward run write to it, stages of an adjoint
// run read from it.
#ifndef SWEEP_HISTORY_STAGE_HISTORY_H
#define SWEEP_HISTORY_STAGE_HISTORY_H

#include "strips.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// Opens slot `index` of `slots` in a view.
template <class R>
SWEEP_HD void open_slot(const R& run, typename R::View& v, typename R::Value* slots, ptrdiff_t index) {
  const auto& plan = run.plan;
  const ptrdiff_t size = plan.history_fields * plan.slot.field_stride;
  v.previous_slot = slots + index * size - plan.slot.skipped;
  v.slot = slots + (index + 1) * size - plan.slot.skipped;
  v.slot_memory = slots + plan.slots * size + index * plan.history_memories * plan.slot.memory_stride;
  v.slot_layout = plan.slot;
}

template <class R, int STAGE>
struct Cells;
template <class R, int STAGE>
struct StageHistory;

// The history that a forward run writes; none by default.
template <class R>
struct ForwardHistory {
  using Value = typename R::Value;
  PerShotArray<Value> slots = {};
  int begin = 0;  // the time step whose slot is the first
  BoundaryStrips<Value> strips = {};
  bool replay_pml = false;  // only the PML is computed, between strips of an earlier run

  template <int STAGE>
  StageHistory<R, STAGE> stage(const Cells<R, STAGE>& cells) const {
    return {*this, replay_pml ? cells.box() : Box<R::ndim>{}};
  }
};

// The same for one stage of one time step.
template <class R, int STAGE>
struct StageHistory {
  static constexpr int ndim = R::ndim;
  using Value = typename R::Value;
  using View = typename R::View;
  ForwardHistory<R> forward_history;
  Box<ndim> forward_box = {};  // in a replay: the cells that the forward run computed

  // The cells to compute. If fields of the history are differentiated, the cells around are included.
  SWEEP_HD Box<ndim> box(const R& run, const Box<ndim>& active) const {
    if (!R::Equation::history_has_fields || !forward_history.slots.base || STAGE != R::Equation::table.history_stage)
      return active;
    return run.reached(run.reached(active, 1), 1);
  }
  SWEEP_HD void open(const R& run, View& v, int shot, int step) const {
    if (forward_history.slots.base)
      open_slot(run, v, forward_history.slots.of(run.plan, shot), step - forward_history.begin);
    v.strip = forward_history.strips.of(run.plan, shot, step);
  }
  // Calls f(box, all) for each part of a plane to compute, as Cells::parts does. Whole vectors also write values beside
  // the PML, which no code reads.
  template <class F>
  void parts(const R& run, const Box<ndim>& plane, const F& f) const {
    constexpr int last = ndim - 1, others = 2 * last;
    const auto& pml = run.plan.pml;
    Box<ndim> rows = pml.inner;
    rows.low[last] = plane.low[last], rows.high[last] = plane.high[last];
    for (int p = forward_history.replay_pml ? 0 : others; p <= others; ++p) {
      const Box<ndim> part = !forward_history.replay_pml ? plane : overlap(p < others ? pml.part[p] : rows, plane);
      if (part.has_cells()) f(part, !forward_history.replay_pml || p < others);
    }
  }
  const Box<ndim>* inside(const R& run) const { return forward_history.replay_pml ? &run.plan.pml.inner : nullptr; }
  SWEEP_HD bool computes(const R& run, const Cell<ndim>& c) const {
    return !forward_history.replay_pml || !run.plan.pml.inner.contains(c.i);
  }
  SWEEP_HD const BoxShell<ndim>* shell(const R& run, const View& v) const { return v.strip ? &run.plan.band : nullptr; }
  SWEEP_HD void shell_row(const R& run, const View& v, ptrdiff_t number, const int* i, int count) const {
    if (forward_history.replay_pml)
      StripCells<R, STAGE>::put_back(run, v, number, i, count, forward_box);
    else
      StripCells<R, STAGE>::record(run, v, number, i, count);
  }
  // Zeroes the ghost cells between row z of the slot and the next row if differences read them; vectors of `size` cells
  // have written to some of them.
  SWEEP_HD static void close_row(const View& v, int z, const Box<2>& box, int size) {
    constexpr bool writes_fields = STAGE == R::Equation::table.history_stage && R::Equation::history_has_fields;
    const int n = v.layout.field.n[1], at[] = {z, 0};
    if (!writes_fields || z < v.slot_layout.first_plane || (box.low[1] && box.high[1] < n)) return;
    Value* const row = v.slot + v.layout.field.at(at);
    for (int f = 0; f < decltype(R::plan)::history_fields; ++f)
      for (ptrdiff_t i = box.high[1] < n ? n : (n + size - 1) / size * size; i < v.layout.field.stride[0]; ++i)
        row[f * v.slot_layout.field_stride + i] = 0;
  }
};

// The history that an adjoint run reads.
template <class R>
struct AdjointHistory {
  PerShotArray<typename R::Value> slots;
  int begin;  // the time step whose slot is the first

  SWEEP_HD void open(const R& run, typename R::View& v, int shot, int step) const {
    const auto& plan = run.plan;
    open_slot(run, v, slots.of(plan, shot), step - begin);
    v.steps_per_image = static_cast<typename R::Value>(plan.packed.interval);
    if (step % plan.packed.interval == 0) v.imaged_from = plan.imaged_from;
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
