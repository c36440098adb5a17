// The imaging history of a run. The forward run writes it as it is, or packed segment by segment; or it is computed for
// the adjoint from checkpoints or boundary strips. Runs call the functions here; only this folder knows the method.
#ifndef SWEEP_HISTORY_HISTORY_H
#define SWEEP_HISTORY_HISTORY_H

#include "../engine/array_functors.h"
#include "copies.h"
#include "packing.h"
#include "rewind.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

template <class R>
struct History {
  using Value = typename R::Value;
  using Steps = ForwardSteps<R>;
  R run;
  int operation;
  Value* stored;  // the caller's: slots, boundary strips, or packed blocks of either
  Value* checkpoints;
  Value* working;  // memory for one segment of each group

  // True if the history needs cells from which no wave reaches a receiver.
  bool needs_all_cells() const { return run.plan.boundary; }

  // --- forward ---------------------------------------------------------------------------------------------------

  // The history for time steps from `begin` on, for a forward run to write.
  ForwardHistory<R> forward(int begin) const { return {slots(), begin, strips(begin)}; }
  // The first time step of the segment after that of step k, if there is work between segments; otherwise the end.
  int next_segment(int k) const {
    const auto& plan = run.plan;
    if (!plan.packed && !plan.checkpoints()) return plan.last;
    const int length = plan.packed ? plan.segment_length : plan.segment_length * plan.checkpoint_every;
    const int rest = length - (k - plan.first) % length;
    return plan.last - k > rest ? k + rest : plan.last;
  }
  bool begins_segment(int k) const { return k == run.plan.first || next_segment(k - 1) == k; }

  // Called before the first time step. Cells that no wave reaches are packed too, so they must be zero.
  template <class Launcher>
  void begin(Launcher& launcher, Span shots, const PerShotArray<Value>& wave) const {
    const auto& plan = run.plan;
    if (plan.first == 0) fill(launcher, shots, wave, plan.state);
    if (plan.packed) fill(launcher, shots, segment_memory(), plan.segment_size(operation).count);
    launcher.sync();
  }
  template <class Launcher>
  void begin_segment(Launcher& launcher, Span shots, const PerShotArray<Value>& wave, int k) const {
    if (run.plan.checkpoints() && k > 0 && !segments_since_checkpoint(k)) save(launcher, shots, wave, k);
    if (slots().base) begin_slots(launcher, shots, wave);
  }
  template <class Launcher>
  void end_segment(Launcher& launcher, Span shots, int begin, int end) const {
    if (run.plan.packed) pack<false>(launcher, shots, begin, end);
  }
  template <class Launcher>
  void end(Launcher& launcher, Span shots, const PerShotArray<Value>& wave) const {
    if (!run.plan.boundary) return;
    copy(launcher, shots, run.plan, last_state(), read_only(wave), run.plan.state);
    launcher.sync();
  }

  // --- adjoint ---------------------------------------------------------------------------------------------------

  int segments() const { return run.plan.segments; }
  // The time steps of a segment.
  Span segment(int number) const {
    const auto& plan = run.plan;
    const int begin = plan.first + number * plan.segment_length, rest = plan.last - begin;
    return {begin, rest > plan.segment_length ? plan.segment_length : rest};
  }
  // Computes the slots of time steps [begin, end), a segment; the segment after it must have been computed before.
  // `steps` are those of a forward run without a record.
  template <class Launcher>
  AdjointHistory<R> make(Launcher& launcher, Span shots, Steps steps, int begin, int end) const {
    const auto& plan = run.plan;
    steps.history = {slots(), begin};
    if (plan.boundary == SWEEP_EXACT) make_pml_checkpoints(launcher, shots, steps, end);
    if (plan.packed) pack<true>(launcher, shots, plan.boundary && begin ? begin - 1 : begin, end);
    if (plan.boundary)
      reconstruct(launcher, shots, steps, end);
    else if (!plan.keeps_all && !plan.packed)
      recompute(launcher, shots, steps, end);
    return {slots(), begin};
  }

 private:
  static PerShotArray<const Value> read_only(const PerShotArray<Value>& array) {
    return {array.base, array.stride, array.by_shot};
  }
  PerShotArray<Value> segment_memory() const { return {working, run.plan.segment_size(operation).count, false}; }
  // The slots of a whole run, or of one segment; null if a forward run writes none.
  PerShotArray<Value> slots() const {
    const auto& plan = run.plan;
    if (plan.keeps_all) return {stored, plan.slots_size().count, true};
    if (operation == SWEEP_ADJOINT || (plan.packed && !plan.boundary)) return segment_memory();
    return {nullptr, 0, false};
  }
  // The boundary strips; packed ones start with time step `first`; null if there are none.
  BoundaryStrips<Value> strips(int first) const {
    const auto& plan = run.plan;
    if (!plan.boundary) return {{nullptr, 0, false}, 0};
    if (!plan.packed) return {{stored, plan.steps * plan.strip_values_per_step(), true}, 0};
    PerShotArray<Value> last = segment_memory();
    last.base += last.stride - (plan.segment_length + 1) * plan.strip_values_per_step();
    return {last, first};
  }
  // The strips of a segment that begins with time step `begin`, and of the time step before it.
  BoundaryStrips<Value> strips_around(int begin) const { return strips(begin ? begin - 1 : 0); }
  // State number `number` of a forward run that is computed again.
  PerShotArray<Value> forward_state(int number) const {
    PerShotArray<Value> state = segment_memory();
    state.base += run.plan.slots_size().count + number * run.plan.state;
    return state;
  }
  // The checkpoint before time step k, which begins a segment; null before the first step, where the state is zero.
  PerShotArray<Value> checkpoint(int k) const {
    const auto& plan = run.plan;
    const ptrdiff_t number = (k - plan.first) / plan.segment_length / plan.checkpoint_every - (plan.first == 0);
    return {k ? checkpoints + number * plan.checkpoint_size() : nullptr, plan.checkpoints_of_shot(), true};
  }
  // Segments from the last saved checkpoint to the segment of time step k.
  int segments_since_checkpoint(int k) const {
    return (k - run.plan.first) / run.plan.segment_length % run.plan.checkpoint_every;
  }
  // The state of the PML before time step k: a saved one, or one that is computed again.
  PerShotArray<Value> pml_checkpoint(int k) const {
    const int segments = segments_since_checkpoint(k);
    if (!segments) return checkpoint(k);
    PerShotArray<Value> state = forward_state(2);
    state.base += (segments - 1) * run.plan.pml_state();
    return state;
  }
  // The state after the last time step, which boundary strips need.
  PerShotArray<Value> last_state() const {
    const auto& plan = run.plan;
    return {checkpoints + plan.checkpoints() * plan.checkpoint_size(), plan.checkpoints_of_shot(), true};
  }

  template <class Launcher>
  void fill(Launcher& launcher, Span shots, const PerShotArray<Value>& to, ptrdiff_t count) const {
    copy<Launcher, Value>(launcher, shots, run.plan, to, {}, count);
  }
  template <class Launcher>
  void save(Launcher& launcher, Span shots, const PerShotArray<Value>& wave, int k) const {
    const auto& plan = run.plan;
    if (plan.boundary)
      copy_pml(launcher, shots, wave, k, false);
    else
      copy(launcher, shots, plan, checkpoint(k), read_only(wave), plan.state);
    launcher.sync();
  }
  // Copies the state of the PML to its checkpoint before time step k, or back.
  template <class Launcher>
  void copy_pml(Launcher& launcher, Span shots, PerShotArray<Value> wave, int k, bool restores) const {
    const auto& plan = run.plan;
    PerShotArray<Value> saved = pml_checkpoint(k);
    launcher.rows(PmlState<R>{run, wave, saved, restores}, shots);
    wave.base += plan.wave();
    saved.base += plan.pml_state() - R::Equation::memories * plan.slabs;
    copy(launcher, shots, plan, restores ? wave : saved, read_only(restores ? saved : wave),
         R::Equation::memories * plan.slabs);
  }

  // Prepares the slots of a segment, and fills the slot before its first step. If a Launcher closes rows, ghost cells
  // between rows are not cleared here.
  template <class Launcher>
  void begin_slots(Launcher& launcher, Span shots, const PerShotArray<Value>& wave) const {
    if constexpr (!R::Equation::history_has_fields) return;  // only differences need ghost cells
    const ClearGhostCells<R> ghosts{run, slots(), !Launcher::template closes_rows<R::ndim>};
    launcher.elements(ghosts, ghosts.count(), shots);
    launcher.elements(StateToSlot<R>{run, wave, slots()}, run.plan.total - run.plan.slot.skipped, shots);
    launcher.sync();
  }

  // Packs time steps [begin, end) into blocks, or unpacks them with the slot before them, which the segment before has
  // packed. Number n of the stored steps is step n times the interval. With an interval above one the slot before is
  // not needed.
  template <bool UNPACK, class Launcher>
  void pack(Launcher& launcher, Span shots, int begin, int end) const {
    const auto& plan = run.plan;
    // Packs `steps` time steps, each of `arrays` arrays of `size` values; `before` blocks lie before them.
    const auto blocks = [&](PerShotArray<Value> values, ptrdiff_t before, ptrdiff_t size, ptrdiff_t arrays, int steps) {
      unsigned char* const to = reinterpret_cast<unsigned char*>(stored) + before * plan.packed.bytes();
      const ptrdiff_t stride = plan.packed.interval * arrays * size;
      const PerShotArray<unsigned char> packed{to, plan.history_bytes(sizeof(Value)).count, true};
      const Pack<Value, UNPACK> copies{plan, plan.packed, values, packed, size, arrays, stride, steps};
      launcher.elements(copies, copies.blocks(), shots);
    };
    if (plan.boundary) {
      constexpr int fields = field_count<typename R::Equation>;
      const ptrdiff_t size = plan.band.cells();
      blocks(strips(begin).steps, begin * fields * PackedFormat::blocks(size), size, fields, end - begin);
    } else {
      const int first = plan.packed.before(begin), steps = plan.packed.before(end) - first;
      const int skipped = first * plan.packed.interval - begin;  // steps before the first that is stored
      const int ahead = plan.packed.interval == 1 && (UNPACK || begin == 0);
      const ptrdiff_t slot_fields = plan.history_fields * plan.slot.field_stride;
      const ptrdiff_t slot_memories = plan.history_memories * plan.slot.memory_stride;
      PerShotArray<Value> fields = slots(), memories = fields;
      fields.base += (1 - ahead + skipped) * slot_fields;
      memories.base += plan.slots * slot_fields + skipped * slot_memories;
      blocks(fields, plan.packed_fields(first + 1 - ahead).count, plan.slot.field_stride, plan.history_fields,
             steps + ahead);
      const ptrdiff_t all = plan.packed_fields(plan.packed.before(plan.last) + 1).count;
      blocks(memories, all + plan.packed_memories(first).count, plan.slot.memory_stride, plan.history_memories, steps);
    }
    launcher.sync();
  }

  // Computes a segment again from a checkpoint.
  template <class Launcher>
  void recompute(Launcher& launcher, Span shots, Steps steps, int end) const {
    const int begin = steps.history.begin;
    steps.wave = forward_state(0);
    copy(launcher, shots, run.plan, steps.wave, read_only(checkpoint(begin)), run.plan.state);
    launcher.sync();
    begin_slots(launcher, shots, steps.wave);
    launcher.steps(steps, begin, end, shots);
  }

  // Computes a segment from boundary strips: the PML forward if its gradient is wanted, then the interior backward.
  template <class Launcher>
  void reconstruct(Launcher& launcher, Span shots, Steps steps, int end) const {
    const auto& plan = run.plan;
    const int begin = steps.history.begin;
    const bool is_last = end == plan.last;
    const PerShotArray<Value> state = forward_state(0);
    steps.active.receivers = whole_grid(plan.layout);
    steps.history.strips = strips_around(begin);
    if (is_last) {
      fill(launcher, shots, slots(), plan.slots_size().count);
      copy(launcher, shots, plan, state, read_only(last_state()), plan.state);
      launcher.sync();
    }
    if (plan.boundary == SWEEP_EXACT) replay_pml(launcher, shots, steps, end);
    // The state holds the last step (and the one before it, if the scheme has two time levels). For an earlier segment
    // the last step is in the first slot of the segment that follows in time.
    const int known_levels = is_last ? R::Equation::levels : 1;
    for (int i = 0; i < known_levels && end - i >= begin; ++i) {
      const PerShotArray<Value> level{run.level(state, 0, end - 1 - i), state.stride, false};
      fill_slot<false>(launcher, shots, is_last ? level : slots(), end - i - begin, !is_last);
    }
    launcher.sync();
    if (begin == 0) fill_slot<false>(launcher, shots, {}, 0, false);
    launcher.sync();
    const int top = end - 1 - known_levels, count = top - (begin ? begin - 1 : 0) + 1;
    const RewindSteps<R> rewind{run,   steps.active, state,         slots(),       steps.history.strips,
                                begin, top,          steps.sources, steps.wavelet, steps.scratch};
    if (count > 0) launcher.steps(rewind, 0, count, shots);
  }
  // Computes the checkpoints of the PML between two saved ones, before the last segment between them is computed.
  template <class Launcher>
  void make_pml_checkpoints(Launcher& launcher, Span shots, Steps steps, int end) const {
    const auto& plan = run.plan;
    const int begin = steps.history.begin, segments = segments_since_checkpoint(begin);
    if (!segments || (end < plan.last && segments_since_checkpoint(end))) return;
    const int first = begin - segments * plan.segment_length;
    for (int k = first; k < begin; k += plan.segment_length) {
      if (plan.packed) pack<true>(launcher, shots, k ? k - 1 : k, k + plan.segment_length);
      const bool replays = steps.history.replay_pml;
      steps.history = {{}, k, strips_around(k), replays};
      if (k == first) restore_pml(launcher, shots, steps);
      launcher.steps(steps, k, k + plan.segment_length, shots);
      save(launcher, shots, steps.wave, k + plan.segment_length);
    }
  }
  // Turns `steps` into a replay of the PML from its checkpoint before step steps.history.begin, between the boundary
  // strips.
  template <class Launcher>
  void restore_pml(Launcher& launcher, Span shots, Steps& steps) const {
    const auto& plan = run.plan;
    const int begin = steps.history.begin;
    steps.wave = forward_state(1);
    steps.history.replay_pml = true;
    steps.active.receivers = whole_grid(plan.layout);
    fill(launcher, shots, steps.wave, plan.state);
    launcher.sync();
    if (!begin) return;
    copy_pml(launcher, shots, steps.wave, begin, true);
    launcher.rows(PutBack<R>{run, steps.active, steps.wave, steps.history.strips, begin - 1}, shots);
    launcher.sync();
  }
  template <class Launcher>
  void replay_pml(Launcher& launcher, Span shots, Steps steps, int end) const {
    const int begin = steps.history.begin;
    restore_pml(launcher, shots, steps);
    fill_slot<true>(launcher, shots, {run.level(steps.wave, 0, begin + 1), steps.wave.stride, false}, 0, false);
    launcher.sync();
    launcher.steps(steps, begin, end, shots);
  }
  template <bool PML, class Launcher>
  void fill_slot(Launcher& launcher, Span shots, const PerShotArray<Value>& from, ptrdiff_t slot,
                 bool from_slot) const {
    launcher.rows(PartToSlot<R, PML>{run, read_only(from), slots(), slot, from_slot}, shots);
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
