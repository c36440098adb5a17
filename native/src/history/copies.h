// Copies between states, slots and checkpoints, as functors of (shot, index). A Launcher distributes the calls.
#ifndef SWEEP_HISTORY_COPIES_H
#define SWEEP_HISTORY_COPIES_H

#include "../engine/context.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// Zeroes the ghost cells of every slot of a history, which no step writes: those between rows and at both ends. Without
// `between`, only those before the first row and after the last.
template <class R>
struct ClearGhostCells {
  using T = typename R::Value;
  R run;
  PerShotArray<T> history;
  bool between = true;

  SWEEP_HD static ptrdiff_t rows(const R& run) {
    if constexpr (R::ndim == 1) return 1;
    const auto& n = run.plan.layout.field.n;
    return run.plan.layout.cells / n[R::ndim - 1] / n[0] * (n[0] - run.plan.slot.first_plane);
  }
  SWEEP_HD ptrdiff_t each() const { return between ? rows(run) + 1 : 2; }
  ptrdiff_t count() const { return run.plan.slots * run.plan.history_fields * each(); }
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    const auto& array = run.plan.layout.field;
    const ptrdiff_t in_slot = i % each(), row = between ? in_slot : in_slot * rows(run), n = array.n[R::ndim - 1];
    T* const base = history.of(run.plan, shot) + i / each() * run.plan.slot.field_stride;
    const ptrdiff_t begin = row ? run.plan.layout.cell((row - 1) * n).at + n : 0;
    const ptrdiff_t end = row < rows(run) ? run.plan.layout.cell(row * n).at : run.plan.slot.field_stride;
    for (ptrdiff_t at = begin; at < end; ++at) base[at] = 0;
  }
};

// Copies the fields of a state into the first slot, which precedes all time steps of a segment.
template <class R>
struct StateToSlot {
  using Value = typename R::Value;
  R run;
  PerShotArray<Value> wave, slots;
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    const auto& plan = run.plan;
    for_axes<field_count<typename R::Equation>>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value, place = R::Equation::table.history_index[f];
      if constexpr (place >= 0)
        slots.of(plan, shot)[place * plan.slot.field_stride + i] =
            wave.of(plan, shot)[f * plan.total + plan.slot.skipped + i];
    });
  }
};

// Copies the fields of a state in the PML to a saved state of the PML, or back.
template <class R>
struct PmlState {
  using Value = typename R::Value;
  R run;
  PerShotArray<Value> wave, saved;
  bool restores;
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    int at[R::ndim];
    shell().cell(i, at);
    row(shot, i, at, 1);
  }
  SWEEP_HD void row(int shot, ptrdiff_t i, const int* at, int count) const {
    const auto& plan = run.plan;
    constexpr int fields = R::Equation::levels * field_count<typename R::Equation>;
    Value* here = wave.of(plan, shot) + plan.layout.field.at(at);
    Value* there = saved.of(plan, shot) + i;
    for (int f = 0; f < fields; ++f, here += plan.total, there += shell().cells())
      copy_row(restores ? here : there, restores ? there : here, count);
  }
  SWEEP_HD const BoxShell<R::ndim>& shell() const { return run.plan.pml; }
};

// Copies fields of a state, or of another slot, into a slot: in the cells of the PML, or in all other cells.
template <class R, bool PML>
struct PartToSlot {
  using Value = typename R::Value;
  R run;
  PerShotArray<const Value> from;  // null stands for zeros
  PerShotArray<Value> slots;
  ptrdiff_t slot;
  bool from_slot;  // `from` has only the fields of a slot, not all fields
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    int at[R::ndim];
    if constexpr (PML)
      run.plan.pml.cell(i, at);
    else
      run.plan.pml.inner.cell(i, at);
    row(shot, i, at, 1);
  }
  BoxShell<R::ndim> shell() const {
    const Box<R::ndim>& inner = run.plan.pml.inner;
    Box<R::ndim> nothing = inner;
    nothing.high[0] = nothing.low[0];
    return PML ? run.plan.pml : BoxShell<R::ndim>(inner, nothing);
  }
  SWEEP_HD void row(int shot, ptrdiff_t, const int* at, int count) const {
    const auto& plan = run.plan;
    const ptrdiff_t cell = plan.layout.field.at(at);
    for_axes<field_count<typename R::Equation>>([&](auto index) SWEEP_INLINE {
      constexpr int f = decltype(index)::value, place = R::Equation::table.history_index[f];
      if constexpr (place >= 0)
        copy_row(slots.of(plan, shot) + (slot * plan.history_fields + place) * plan.slot.field_stride + cell,
                 from.base ? from.of(plan, shot) + (from_slot ? place : f) * plan.total + cell : nullptr, count);
    });
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
