// One shot at one time step, as the cells of the step see it.
#ifndef SWEEP_KERNEL_VIEW_H
#define SWEEP_KERNEL_VIEW_H

#include "sweep/core/boxes.h"
#include "sweep/core/stencils.h"
#include "sweep/kernel/history_view.h"
#include "sweep/kernel/tables.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// True for the axes whose PML holds a cell, and near a free surface: known to the compiler, or read at run time.
template <unsigned MASK>
struct Within {
  static constexpr unsigned mask = MASK;
  SWEEP_HD static constexpr bool has(int axis) { return MASK >> axis & 1; }
  SWEEP_HD static constexpr bool near_surface() { return false; }
};
template <int NDIM>
struct Somewhere {
  unsigned mask;
  SWEEP_HD bool has(int axis) const { return mask >> axis & 1; }
  SWEEP_HD bool near_surface() const { return mask >> NDIM & 1; }
};

// The same without any PML, though a whole vector may begin or end in one.
template <class Where>
struct Unstretched : Where {
  SWEEP_HD static constexpr bool has(int) { return false; }
};

template <int NDIM>
SWEEP_HD Somewhere<NDIM> somewhere(const Layout<NDIM>& layout, const int* i) {
  unsigned mask = static_cast<unsigned>(i[0] < layout.near) << NDIM;
  for (int a = 0; a < NDIM; ++a) mask |= static_cast<unsigned>(layout.in_region(a, i[a])) << a;
  return {mask};
}

template <class V, class Value>
SWEEP_HD V load(const Value* from) {
  if constexpr (sizeof(V) == sizeof(Value))
    return *from;
  else
    return V::load(from);
}
template <class V, class Value>
SWEEP_HD V broadcast(Value value) {
  if constexpr (sizeof(V) == sizeof(Value))
    return value;
  else
    return V::broadcast(value);
}
template <class V, class Value>
SWEEP_HD void store(Value* to, V value) {
  if constexpr (sizeof(V) == sizeof(Value))
    *to = value;
  else
    value.store(to);
}

// Stores a value that is read much later, or never: it need not stay in the cache.
template <class V, class Value>
SWEEP_HD void stream(Value* to, V value) {
  if constexpr (sizeof(V) == sizeof(Value))
    *to = value;
  else
    value.stream(to);
}
// Prefetches values that a neighbouring cell reads soon.
template <class V, class Value>
SWEEP_HD void prefetch(const Value* from) {
  if constexpr (sizeof(V) > sizeof(Value)) V::prefetch(from);
}

template <class Value, int NDIM, int HALF>
struct View : Stencils<Value, NDIM, HALF>, HistoryView<Value, NDIM> {
  static constexpr bool knows_order = HALF > 0;
  Layout<NDIM> layout;
  const Value* profile[NDIM][4];  // decay, gain, damping, 1 / (1 + gain) of a padded axis at nodes; then three between
  ptrdiff_t half_profile[NDIM];   // distance from a profile at nodes to the same profile half a cell further
  const Value* inside;            // along the last axis: 1 on the grid and 0 beyond, where vectors may reach
  const Value* closure;           // near a free surface: (Tables::closures, 2, near, near + half)
  const Value* constants;         // of the equation
  ptrdiff_t slabs;                // distance from one memory variable to the next
  ptrdiff_t slab_at[NDIM];        // offset of the slab of each axis in a memory variable
  const Value* coefficient;       // (coefficients, cells)
  const Value* tangent;           // Born: (coefficients, cells), the direction of the derivative
  Value* field;                   // (fields, cells); of second order, the time level that the step computes
  const Value* now;               // of second order: the time level before that; otherwise equal to `field`
  Value* memory;                  // memory variables of the terms
  Value* scattered;               // Born: the scattered field, its level before, and its memory variables
  const Value* scattered_now;
  Value* scattered_memory;
  Value* adjoint;  // (rates, cells): the adjoint field times the moduli; then (fields, cells): separate adjoint fields
  Value* image;    // adjoint: (coefficients, cells), summed over steps and shots

  // Calls f(pointer) for each array that each shot has its own copy of.
  static constexpr int arrays = 14;
  template <class F>
  SWEEP_HD void of_shot(const F& f) {
    f(coefficient), f(tangent), f(field), f(now), f(memory), f(scattered), f(scattered_now), f(scattered_memory);
    f(this->slot), f(this->previous_slot), f(this->slot_memory), f(adjoint), f(image), f(this->strip);
  }

  SWEEP_HD ptrdiff_t at(int number, const Cell<NDIM>& c) const { return number * layout.field.total + c.at; }
  SWEEP_HD ptrdiff_t slab(int axis, int slot, const Cell<NDIM>& c) const {
    return slot * slabs + slab_at[axis] + layout.in_slab(axis, c);
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
