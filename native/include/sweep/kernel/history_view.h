// The imaging history as the cells of one time step see it: the slot of the step, and the layout of its arrays.
#ifndef SWEEP_KERNEL_HISTORY_VIEW_H
#define SWEEP_KERNEL_HISTORY_VIEW_H

#include "sweep/core/halo_layout.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// The arrays of a slot lack the first planes of the grid, which no image needs.
template <int NDIM>
struct SlotLayout {
  int first_plane;                           // the first plane of the first axis that a slot holds
  ptrdiff_t skipped, field_stride;           // elements of a field before that plane; distance from field to field
  ptrdiff_t memory_stride, memory_at[NDIM];  // distance between memory variables of all axes; offset of each axis

  SlotLayout() = default;
  SlotLayout(const Layout<NDIM>& layout, int first) : first_plane(first) {
    skipped = first * static_cast<ptrdiff_t>(layout.field.stride[0]);
    field_stride = padded_size(layout.field.total - skipped);
    memory_stride = 0;
    for (int a = 0; a < NDIM; ++a) {
      const int planes = a || first < layout.region_low[0] ? first : layout.region_low[0];
      const ptrdiff_t lacking = planes * static_cast<ptrdiff_t>(layout.slab[a].stride[0]);
      memory_at[a] = memory_stride - lacking;
      memory_stride += padded_size(layout.slab[a].total - lacking);
    }
  }
};

template <class Value, int NDIM>
struct HistoryView {
  Value* slot;                 // (fields of the history, cells) after this step; forward writes it, adjoint reads it
  const Value* previous_slot;  // the same after the step before
  Value* slot_memory;          // memory variables of this step
  Value* strip;                // (fields, cells of the boundary strips) of this step; may be null
  Value steps_per_image;       // of second order: the number of steps that the image of this step stands for

  static constexpr int nowhere = 0x7fffffff;
  int imaged_from;               // the first plane of the first axis that is imaged, or nowhere
  SlotLayout<NDIM> slot_layout;  // without a slot its first plane is nowhere

  SWEEP_HD void close() { slot_layout.first_plane = imaged_from = nowhere; }
  SWEEP_HD ptrdiff_t slot_at(int index, const Cell<NDIM>& c) const { return index * slot_layout.field_stride + c.at; }
  SWEEP_HD ptrdiff_t slot_slab(const Layout<NDIM>& layout, int axis, int index, const Cell<NDIM>& c) const {
    return index * slot_layout.memory_stride + slot_layout.memory_at[axis] + layout.in_slab(axis, c);
  }
  SWEEP_HD bool in_slot(const Cell<NDIM>& c) const { return c.i[0] >= slot_layout.first_plane; }
  SWEEP_HD bool is_imaged(const Cell<NDIM>& c) const { return c.i[0] >= imaged_from; }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
