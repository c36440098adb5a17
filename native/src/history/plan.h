// The storage of the history of a run and its memory use: slots of a whole run or of one segment, boundary strips, less
// precision, or checkpoints from which a segment is computed again.
#ifndef SWEEP_HISTORY_PLAN_H
#define SWEEP_HISTORY_PLAN_H

#include "../engine/layout.h"
#include "sweep/core/boxes.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// The format of a packed history: less precision than the run, or only some of its time steps. See packing.h.
struct PackedFormat {
  static constexpr int block = 64;  // values
  int type = 0;                     // a sweep_dtype
  int width = 0;                    // bytes of one value; 0 if the history is not packed
  int interval = 1;                 // time steps from one stored step to the next

  PackedFormat() = default;
  explicit PackedFormat(const sweep_problem& p) : type(p.stored), interval(p.interval) {
    constexpr int widths[] = {4, 8, 2, 2, 1};
    if (p.chunk && (p.stored != p.dtype || interval > 1)) width = widths[p.stored];
  }
  explicit constexpr operator bool() const { return width > 0; }
  // Stored steps before step k.
  SWEEP_HD constexpr int before(int k) const { return (k + interval - 1) / interval; }
  SWEEP_HD static constexpr ptrdiff_t blocks(ptrdiff_t values) { return (values + block - 1) / block; }
  // Bytes of a block, with its scale if it has one.
  SWEEP_HD constexpr ptrdiff_t bytes() const { return (type >= SWEEP_FLOAT16 ? 4 : 0) + block * width; }
};

template <class Eq, int NDIM>
struct HistoryPlan : ArrayLayout<Eq, NDIM> {
  static constexpr int history_fields = Eq::table.history_fields, history_memories = Eq::table.history_memories;
  int steps, first, last;  // steps of the whole run; this call runs [first, last)
  int segment_length, segments;
  int boundary;          // a sweep_boundary
  int checkpoint_every;  // segments from one saved state to the next
  bool keeps_all;        // one segment: the forward run writes the history itself
  PackedFormat packed;
  ptrdiff_t slots;           // steps of a segment, and the step before it
  BoxShell<NDIM> band, pml;  // the cells of the boundary strips, around the interior; the cells of the PML
  int imaged_from;           // the first plane of the first axis that is imaged
  SlotLayout<NDIM> slot;

  HistoryPlan() = default;
  explicit HistoryPlan(const sweep_problem& p) : ArrayLayout<Eq, NDIM>(p) {
    const auto& layout = this->layout;
    const int half = this->half;
    steps = p.steps;
    first = p.first;
    last = p.last;
    imaged_from = NDIM == 1 ? 0 : p.imaged_from;  // a vector along the only axis is imaged as a whole
    // Images need differences, and differences in the rows near a free surface reach all of these rows.
    slot = {layout, p.boundary || imaged_from < half || imaged_from < layout.near ? 0 : imaged_from - half};
    boundary = p.boundary;
    Box<NDIM> inside, interior;
    for (int a = 0; a < NDIM; ++a) {
      inside.low[a] = p.pml_low[a];
      inside.high[a] = p.shape[a] - p.pml_high[a];
      // A PML also acts half a cell further. For second order only its psi does, which no gradient of the interior
      // needs.
      if (p.pml_high[a] && (!Eq::is_second_order || p.boundary == SWEEP_EXACT)) --inside.high[a];
      interior.low[a] = inside.low[a] + (p.pml_low[a] ? half : 0);
      interior.high[a] = inside.high[a] - (p.pml_high[a] ? half : 0);
      if (interior.high[a] < interior.low[a]) interior.high[a] = interior.low[a];
    }
    // Differences near a free surface reach into the PML, so no row is run backward and all cells are strips.
    if (inside.high[0] < layout.near) interior.high[0] = interior.low[0];
    band = BoxShell<NDIM>(inside, interior);
    pml = BoxShell<NDIM>(whole_grid(layout), inside);
    const bool whole_run = p.chunk > 0 && p.chunk >= last - first - 1;
    packed = PackedFormat(p);
    keeps_all = whole_run && !boundary && !packed;
    segment_length = whole_run ? last - first : p.chunk;
    segments = segment_length ? (last - first - 1) / segment_length + 1 : 0;
    slots = segment_length ? segment_length + 1 : 0;
    checkpoint_every = 1;
    while (boundary == SWEEP_EXACT && checkpoint_every * checkpoint_every < segments) ++checkpoint_every;
  }

  // Elements of the slots of a shot: fields, then memory variables.
  Size slots_size() const {
    return Size(slots) * (history_fields * slot.field_stride + history_memories * slot.memory_stride);
  }
  // Bytes of the history of a shot: slots, boundary strips, or packed blocks of either for all steps.
  Size history_bytes(int item) const {
    if (packed) return (packed_fields(packed.before(last) + 1) + packed_memories(packed.before(last))) * packed.bytes();
    return keeps_all ? slots_size() * item : Size(boundary ? steps : 0) * strip_values_per_step() * item;
  }
  // Blocks of the fields of `count` slots, or of the strips of all steps.
  Size packed_fields(int count) const {
    if (boundary) return Size(steps) * field_count<Eq> * PackedFormat::blocks(band.cells());
    return Size(count) * history_fields * PackedFormat::blocks(slot.field_stride);
  }
  Size packed_memories(int count) const {
    return boundary ? Size(0) : Size(count) * history_memories * PackedFormat::blocks(slot.memory_stride);
  }
  // Values in the boundary strips of all fields of one step.
  SWEEP_HD ptrdiff_t strip_values_per_step() const { return field_count<Eq> * band.cells(); }
  // Elements of the state of the PML alone.
  SWEEP_HD ptrdiff_t pml_state() const {
    return Eq::levels * field_count<Eq> * pml.cells() + Eq::memories * this->slabs;
  }
  // Checkpoints of a shot, one before a segment. The state before the first step is zero and needs none. Checkpoints of
  // the PML alone are small, but their segments are short: only some are saved, and all those between two saved ones
  // are computed again at once.
  SWEEP_HD int checkpoints() const {
    if (segments < 2 || (boundary != SWEEP_EXACT && (boundary || packed))) return 0;
    return (segments - 1) / checkpoint_every + (first > 0);
  }
  // With boundary strips a checkpoint is a state of the PML alone, and the last full state follows all checkpoints.
  SWEEP_HD ptrdiff_t checkpoint_size() const { return boundary ? pml_state() : this->state; }
  SWEEP_HD ptrdiff_t checkpoints_of_shot() const {
    return checkpoints() * checkpoint_size() + (boundary ? this->state : 0);
  }
  Size checkpoints_size(int shots) const {
    return Size(shots) * checkpoints() * checkpoint_size() + Size(boundary ? shots : 0) * this->state;
  }
  // Elements of the working memory of one segment that is packed or computed again: slots, states, and the strips of
  // its steps and of the step before.
  Size segment_size(int operation) const {
    if (keeps_all || !segment_length || operation == SWEEP_BORN || (operation == SWEEP_FORWARD && !packed)) return 0;
    const Size strips = boundary && packed ? Size(segment_length + 1) * strip_values_per_step() : Size(0);
    if (operation == SWEEP_FORWARD) return boundary ? strips : slots_size();
    const Size states = Size(boundary == SWEEP_EXACT ? 2 : boundary || !packed) * this->state;
    return slots_size() + states + Size(checkpoint_every - 1) * pml_state() + strips;
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
