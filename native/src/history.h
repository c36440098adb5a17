// What imaging needs of a forward run: kept as it is made, packed chunk by chunk, or made again for the adjoint from
// states or from boundary strips. The one place that knows which.
#ifndef SWEEP_HISTORY_H
#define SWEEP_HISTORY_H

#include "moves.h"
#include "packing.h"
#include "units.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

template <class R>
struct History {
  using Value = typename R::Value;
  R run;
  int operation;
  Value* kept;  // the caller's: slots, boundary strips, or the blocks into which either is packed
  Value* checkpoints;
  Value* room;  // of groups, for one chunk

  // Slots of a whole run, or of the chunk at hand; null where a forward run leaves none.
  Parts<Value> slots() const {
    const auto& plan = run.plan;
    if (plan.keeps_all) return {kept, plan.span().count, true};
    if (operation == SWEEP_ADJOINT || (plan.packed && !plan.boundary)) return at_hand();
    return {nullptr, 0, false};
  }
  // Boundary strips, of which there are those from unit `first` on where they are packed; null where there are none.
  Strips<Value> strips(int first) const {
    const auto& plan = run.plan;
    if (!plan.boundary) return {{nullptr, 0, false}, 0};
    if (!plan.packed) return {{kept, plan.steps * plan.strips_of_unit(), true}, 0};
    Parts<Value> last = at_hand();
    last.base += last.stride - (plan.chunk + 1) * plan.strips_of_unit();
    return {last, first};
  }

  // --- forward ---------------------------------------------------------------------------------------------------

  // The first unit of the chunk after that of unit u, where something is done between chunks.
  int next_chunk(int u) const {
    const auto& plan = run.plan;
    if (!plan.packed && !plan.saved()) return plan.last;
    const int length = plan.packed ? plan.chunk : plan.chunk * plan.saved_every;
    const int rest = length - (u - plan.first) % length;
    return plan.last - u > rest ? u + rest : plan.last;
  }
  bool begins_chunk(int u) const { return u == run.plan.first || next_chunk(u - 1) == u; }

  // Before the first unit of a forward run. What no wave reaches is packed, too: it is zero.
  template <class Launcher>
  void begin(Launcher& launcher, Span shots, const Parts<Value>& wave) const {
    const auto& plan = run.plan;
    if (plan.first == 0) fill(launcher, shots, wave, plan.state);
    if (plan.packed) fill(launcher, shots, at_hand(), plan.room(operation).count);
    launcher.sync();
  }
  template <class Launcher>
  void begin_chunk(Launcher& launcher, Span shots, const Parts<Value>& wave, int u) const {
    const auto& plan = run.plan;
    if (plan.saved() && u > 0 && !between(u)) save(launcher, shots, wave, u);
    if (slots().base) open(launcher, shots, wave);
  }
  template <class Launcher>
  void end_chunk(Launcher& launcher, Span shots, int begin, int end) const {
    if (run.plan.packed) pack<false>(launcher, shots, begin, end);
  }
  template <class Launcher>
  void end(Launcher& launcher, Span shots, const Parts<Value>& wave) const {
    if (!run.plan.boundary) return;
    copy(launcher, shots, run.plan, last_state(), of(wave), run.plan.state);
    launcher.sync();
  }

  // --- adjoint ---------------------------------------------------------------------------------------------------

  // The slots of units [begin, end), which are a chunk; the chunk after it was the last to be asked for. `units` are
  // those of a forward run without records.
  template <class Launcher>
  Parts<Value> again(Launcher& launcher, Span shots, ForwardUnits<R> units, int begin, int end) const {
    const auto& plan = run.plan;
    units.slots = slots();
    units.begin = begin;
    if (plan.boundary == SWEEP_EXACT) make_states(launcher, shots, units, begin, end);
    if (plan.packed) pack<true>(launcher, shots, plan.boundary && begin ? begin - 1 : begin, end);
    if (plan.boundary)
      reconstruct(launcher, shots, units, end);
    else if (!plan.keeps_all && !plan.packed)
      recompute(launcher, shots, units, end);
    return units.slots;
  }

 private:
  static Parts<const Value> of(const Parts<Value>& parts) { return {parts.base, parts.stride, parts.by_shot}; }
  Parts<Value> at_hand() const { return {room, run.plan.room(operation).count, false}; }
  // State number `which` of the forward run that is made again.
  Parts<Value> wave(int which) const {
    return {room + run.plan.span().count + which * run.plan.state, run.plan.room(operation).count, false};
  }
  // The state before unit u, which begins a chunk; null before the first step, where it is zero.
  Parts<Value> saved(int u) const {
    const auto& plan = run.plan;
    const ptrdiff_t number = (u - plan.first) / plan.chunk / plan.saved_every - (plan.first == 0);
    return {u ? checkpoints + number * plan.saved_state() : nullptr, plan.checkpoints_of_shot(), true};
  }
  // Chunks from the last one before which a state is saved to that of unit u.
  int between(int u) const { return (u - run.plan.first) / run.plan.chunk % run.plan.saved_every; }
  // The state of the PML before unit u, wherever it is.
  Parts<Value> pml_before(int u) const {
    if (!between(u)) return saved(u);
    Parts<Value> state = wave(2);
    state.base += (between(u) - 1) * run.plan.pml_state();
    return state;
  }
  // With boundary strips, the state after the last unit.
  Parts<Value> last_state() const {
    const auto& plan = run.plan;
    return {checkpoints + plan.saved() * plan.saved_state(), plan.checkpoints_of_shot(), true};
  }

  template <class Launcher>
  void fill(Launcher& launcher, Span shots, const Parts<Value>& to, ptrdiff_t count) const {
    copy<Launcher, Value>(launcher, shots, run.plan, to, {}, count);
  }
  template <class Launcher>
  void save(Launcher& launcher, Span shots, const Parts<Value>& wave, int u) const {
    const auto& plan = run.plan;
    if (plan.boundary)
      move_pml(launcher, shots, wave, u, false);
    else
      copy(launcher, shots, plan, saved(u), of(wave), plan.state);
    launcher.sync();
  }

  // The state of the PML before unit u, into what is saved or back.
  template <class Launcher>
  void move_pml(Launcher& launcher, Span shots, Parts<Value> wave, int u, bool back) const {
    const auto& plan = run.plan;
    Parts<Value> there = pml_before(u);
    launcher.rows(PmlState<R>{run, wave, there, back}, shots);
    wave.base += plan.wave();
    there.base += plan.pml_state() - R::Equation::memories * plan.slabs;
    copy(launcher, shots, plan, back ? wave : there, of(back ? there : wave), R::Equation::memories * plan.slabs);
  }

  // The slot before those of a chunk. Where rows are closed as they are made, nothing between them needs to be cleared.
  template <class Launcher>
  void open(Launcher& launcher, Span shots, const Parts<Value>& wave) const {
    if constexpr (!R::Equation::holds_fields) return;  // nobody differentiates it
    const ClearGhosts<R> ghosts{run, slots(), !Launcher::template closes_rows<R::ndim>};
    launcher.elements(ghosts, ghosts.count(), shots);
    launcher.elements(HoldState<R>{run, wave, slots()}, run.plan.total - run.plan.held.before, shots);
    launcher.sync();
  }

  // Units [begin, end) into blocks, or back with the slot before them, which the chunk before has packed.
  // Number n of those that are kept is unit n times the interval; with one, nobody asks for the slot before.
  template <bool BACK, class Launcher>
  void pack(Launcher& launcher, Span shots, int begin, int end) const {
    const auto& plan = run.plan;
    // So many units from one on, each of so many arrays of a size; `before` are the blocks before them.
    const auto blocks = [&](Parts<Value> values, ptrdiff_t before, ptrdiff_t size, ptrdiff_t arrays, int units) {
      unsigned char* const to = reinterpret_cast<unsigned char*>(kept) + before * plan.packed.bytes();
      const ptrdiff_t stride = plan.packed.interval * arrays * size;
      const Parts<unsigned char> packed{to, plan.history(sizeof(Value)).count, true};
      const Pack<Value, BACK> moved{plan, plan.packed, values, packed, size, arrays, stride, units};
      launcher.elements(moved, moved.blocks(), shots);
    };
    if (plan.boundary) {
      constexpr int fields = field_count<typename R::Equation>;
      const ptrdiff_t size = plan.band.cells();
      blocks(strips(begin).units, begin * fields * Packed::blocks(size), size, fields, end - begin);
    } else {
      const int first = plan.packed.before(begin), units = plan.packed.before(end) - first;
      const int skipped = first * plan.packed.interval - begin;  // to the first that is kept
      const int ahead = plan.packed.interval == 1 && (BACK || begin == 0);
      Parts<Value> fields = slots(), memories = fields;
      fields.base += (1 - ahead + skipped) * plan.fields * plan.held.field;
      memories.base += plan.slots * plan.fields * plan.held.field + skipped * plan.memories * plan.held.memory;
      blocks(fields, plan.packed_fields(first + 1 - ahead).count, plan.held.field, plan.fields, units + ahead);
      const ptrdiff_t all = plan.packed_fields(plan.packed.before(plan.last) + 1).count;
      blocks(memories, all + plan.packed_memories(first).count, plan.held.memory, plan.memories, units);
    }
    launcher.sync();
  }

  template <class Launcher>
  void recompute(Launcher& launcher, Span shots, ForwardUnits<R> units, int end) const {
    const auto& plan = run.plan;
    units.wave = wave(0);
    copy(launcher, shots, plan, units.wave, of(saved(units.begin)), plan.state);
    launcher.sync();
    open(launcher, shots, units.wave);
    launcher.steps(units, units.begin, end, shots);
  }

  // From boundary strips: the PML forward, where its gradient is asked for, then the interior backward.
  template <class Launcher>
  void reconstruct(Launcher& launcher, Span shots, ForwardUnits<R> units, int end) const {
    const auto& plan = run.plan;
    const int begin = units.begin;
    const bool last = end == plan.last;
    units.active.receivers = whole(plan.layout);
    units.strips = strips(begin ? begin - 1 : 0);
    if (last) {
      fill(launcher, shots, units.slots, plan.span().count);
      copy(launcher, shots, plan, wave(0), of(last_state()), plan.state);
      launcher.sync();
    }
    if (plan.boundary == SWEEP_EXACT) repeat_pml(launcher, shots, units, end);
    // Of the last unit, and of the one before where two levels are at hand, the state tells; of the others the slot
    // before those of the chunk that comes after this one.
    const int known = last ? R::Equation::levels : 1;
    for (int i = 0; i < known && end - i >= begin; ++i) {
      const Parts<Value> level{run.level(wave(0), 0, end - 1 - i), wave(0).stride, false};
      hold<false>(launcher, shots, last ? level : units.slots, end - i - begin, !last);
    }
    launcher.sync();
    if (begin == 0) hold<false>(launcher, shots, {}, 0, false);
    launcher.sync();
    const int top = end - 1 - known, count = top - (begin ? begin - 1 : 0) + 1;
    const RewindUnits<R> back{run,   units.active, wave(0),       units.slots,   units.strips,
                              begin, top,          units.sources, units.wavelet, units.scratch};
    if (count > 0) launcher.steps(back, 0, count, shots);
  }
  // The states of the PML before chunks between two that are saved, once the last of these chunks is asked for.
  template <class Launcher>
  void make_states(Launcher& launcher, Span shots, ForwardUnits<R> units, int begin, int end) const {
    const auto& plan = run.plan;
    if (!between(begin) || (end < plan.last && between(end))) return;
    units.slots = {};
    const int first = begin - between(begin) * plan.chunk;
    for (int u = first; u < begin; u += plan.chunk) {
      if (plan.packed) pack<true>(launcher, shots, u ? u - 1 : u, u + plan.chunk);
      units.begin = u;
      units.strips = strips(u ? u - 1 : 0);
      if (u == first) restore_pml(launcher, shots, units);
      launcher.steps(units, u, u + plan.chunk, shots);
      save(launcher, shots, units.wave, u + plan.chunk);
    }
  }
  // The state of the PML before unit units.begin, and the strips around it.
  template <class Launcher>
  void restore_pml(Launcher& launcher, Span shots, ForwardUnits<R>& units) const {
    const auto& plan = run.plan;
    const int begin = units.begin;
    units.wave = wave(1);
    units.again = true;
    units.active.receivers = whole(plan.layout);
    fill(launcher, shots, units.wave, plan.state);
    launcher.sync();
    if (!begin) return;
    move_pml(launcher, shots, units.wave, begin, true);
    launcher.rows(PutBack<R>{run, units.active, units.wave, units.strips, begin - 1}, shots);
    launcher.sync();
  }
  template <class Launcher>
  void repeat_pml(Launcher& launcher, Span shots, ForwardUnits<R> units, int end) const {
    restore_pml(launcher, shots, units);
    const Parts<Value> before{run.level(units.wave, 0, units.begin + 1), units.wave.stride, false};
    hold<true>(launcher, shots, before, 0, false);
    launcher.sync();
    launcher.steps(units, units.begin, end, shots);
  }
  template <bool PML, class Launcher>
  void hold(Launcher& launcher, Span shots, const Parts<Value>& from, ptrdiff_t slot, bool placed) const {
    launcher.rows(HoldPart<R, PML>{run, of(from), slots(), slot, placed}, shots);
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
