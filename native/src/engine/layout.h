// Layout of the arrays of a run: fields, memory variables, coefficients, PML profiles. Integers only, the same on any
// device.
#ifndef SWEEP_ENGINE_LAYOUT_H
#define SWEEP_ENGINE_LAYOUT_H

#include "size.h"
#include "sweep/equation.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// sizeof, because nvcc does not deduce the length of an array of names.
template <class Eq>
constexpr int field_count = sizeof(Eq::fields) / sizeof(Eq::fields[0]);
template <class Eq>
constexpr int coefficient_count = sizeof(Eq::coefficients) / sizeof(Eq::coefficients[0]);

template <class Eq, int NDIM>
struct ArrayLayout {
  static constexpr int rates = Eq::table.rates, coefficients = coefficient_count<Eq>;
  static constexpr int profiles_of_caller = 6, profiles_of_axis = 8;  // the caller's; all, with two of the library
  Layout<NDIM> layout;
  int half;
  ptrdiff_t slabs;  // elements of one memory variable on all axes
  ptrdiff_t slab_at[NDIM];
  ptrdiff_t total;          // elements of one field
  ptrdiff_t state;          // elements of the state of one shot: fields, then memory variables
  ptrdiff_t tables;         // elements of the buffer `tables`
  ptrdiff_t profile[NDIM];  // elements of one profile of an axis, padded to whole vectors

  ArrayLayout() = default;
  explicit ArrayLayout(const sweep_problem& p) {
    half = layout.half = p.order / 2;
    layout.cells = 1;
    for (int a = 0; a < NDIM; ++a) {
      layout.face_low[a] = p.face_low[a];
      layout.face_high[a] = p.face_high[a];
      layout.pml_low[a] = p.pml_low[a];
      layout.pml_high[a] = p.pml_high[a];
      layout.cells *= p.shape[a];
    }
    layout.field = halo_layout<NDIM>(p.shape, half);
    layout.near = layout.face_low[0] == SWEEP_SURFACE ? Eq::near_rows(half) : 0;
    tables = closure_size() + Eq::table.constants;
    slabs = 0;
    for (int a = 0; a < NDIM; ++a) {
      tables += profiles_of_caller * static_cast<ptrdiff_t>(p.shape[a]);
      profile[a] = whole_vectors(p.shape[a]) + 16;
      int n[NDIM];
      for (int b = 0; b < NDIM; ++b) n[b] = layout.field.n[b];
      n[a] = set_regions(p, a);
      layout.slab[a] = halo_layout<NDIM>(n, half);
      slab_at[a] = slabs;
      slabs += layout.slab[a].total;
    }
    total = layout.field.total;
    state = wave() + Eq::memories * slabs;
  }

  // Elements of the fields of all levels; memory variables follow them. In an adjoint run of first order rates come
  // before the fields; of second order filters come behind the memory variables, and two arrays of a coupled system for
  // each field before them.
  SWEEP_HD ptrdiff_t wave() const { return Eq::levels * field_count<Eq> * total; }
  SWEEP_HD ptrdiff_t adjoint_wave() const {
    return Eq::is_coupled ? 2 * wave() : Eq::is_second_order ? wave() : (rates + field_count<Eq>)*total;
  }
  SWEEP_HD ptrdiff_t adjoint_state() const { return adjoint_wave() + (Eq::memories + Eq::filters) * slabs; }
  // Elements of an adjoint run: fields and memory variables, then images.
  SWEEP_HD ptrdiff_t adjoint_state_and_images() const { return adjoint_state() + coefficient_size(); }
  SWEEP_HD ptrdiff_t coefficient_cells() const { return coefficients * layout.cells; }
  SWEEP_HD ptrdiff_t coefficient_size() const { return coefficients * total; }
  // Elements of the rows next to a free surface. Behind them in `tables` are the constants.
  SWEEP_HD ptrdiff_t closure_size() const {
    return static_cast<ptrdiff_t>(Eq::table.closures) * 2 * layout.near * (layout.near + half);
  }
  SWEEP_HD ptrdiff_t weights() const { return whole_vectors(NDIM * (5 * half + 1)); }
  ptrdiff_t profiles() const {
    ptrdiff_t count = 0;
    for (int a = 0; a < NDIM; ++a) count += profiles_of_axis * profile[a];
    return count;
  }

 private:
  SWEEP_HD static int whole_vectors(int n) { return (n + 15) / 16 * 16; }

  // Sets the regions where the PML of an axis acts, and returns the number of cells of its slab. The adjoint
  // differentiates memory variables, half a stencil beyond the PML. At half nodes the PML is one cell longer at the
  // high face. For second order fields read psi from one cell back to half a stencil less one cell further. Along the
  // last axis regions are whole vectors, or whole sectors of a GPU's memory.
  int set_regions(const sweep_problem& p, int a) {
    const int n = p.shape[a], unit = a < NDIM - 1 ? 1 : all_shots_per_launch ? 8 : 16;
    const int end = a == NDIM - 1 ? whole_vectors(n) : n;
    int low = p.pml_low[a] ? p.pml_low[a] + (Eq::is_second_order ? 1 : half) : 0;
    int begin = p.pml_high[a] ? n - p.pml_high[a] - half - !Eq::is_second_order : end;
    low = (low + unit - 1) / unit * unit;
    begin = begin / unit * unit;
    if (low + half > begin && (low || begin < end)) low = begin = end;
    layout.region_low[a] = low;
    layout.region_high[a] = begin < n ? n - begin : 0;
    return low + half + end - begin;
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
