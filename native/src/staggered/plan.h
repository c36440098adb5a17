// What a problem of a staggered equation needs. A unit of a run makes the fields at whole steps, then those at half
// steps, so that between units there is what one time index records: unit u leaves u dt and (u + 1/2) dt.
#ifndef SWEEP_STAGGERED_PLAN_H
#define SWEEP_STAGGERED_PLAN_H

#include "../plan.h"
#include "sweep/staggered.h"

namespace sweep {
inline namespace SWEEP_VARIANT {
namespace staggered {

template <class Eq, int NDIM>
struct Plan : Shared<NDIM> {
  using Base = Shared<NDIM>;
  using Base::groups, Base::half, Base::lanes, Base::layout, Base::receivers, Base::shots, Base::sources, Base::steps,
      Base::strip_at, Base::strips, Base::coefficients, Base::chunk, Base::chunks, Base::keeps_all;
  static constexpr int fields = Eq::table.held_fields, memories = Eq::table.held_memories;  // that a history holds
  static constexpr int rates = Eq::table.rates, most_stages = 16;
  ptrdiff_t total;  // elements of one field
  ptrdiff_t state;  // of one lane: fields, then memory variables
  ptrdiff_t slots;  // units that a history holds, and what was before them
  ptrdiff_t tables;
  bool together;
  ptrdiff_t profile[NDIM];  // elements of one profile of an axis, padded to whole vectors

  Plan() = default;
  Plan(const sweep_problem& p, bool at_once) : Base(p, at_once), together(at_once) {
    coefficients = coefficient_count<Eq>;
    const ptrdiff_t near = near_rows(half);
    tables = p.free_surface ? field_count<Eq> * 2 * near * (near + half) : 0;
    int widths[NDIM];
    for (int a = 0; a < NDIM; ++a) {
      const ptrdiff_t n = p.shape[a];
      tables += half + 4 * n;
      profile[a] = whole(p.shape[a]) + 16;
      widths[a] = rims(p, a);
    }
    this->lay_strips(widths);
    total = layout.field.total;
    state = field_count<Eq> * total + Eq::memories * strips;
    keeps_all = p.chunk > 0 && p.chunk >= steps - 1;
    chunk = keeps_all ? steps : p.chunk;
    chunks = chunk ? (steps - 1) / chunk + 1 : 0;
    slots = chunk ? chunk + 1 : 0;
  }

  // Values that stages of one march leave behind, twice, and lists of points by rows: see cpu/march.h. On a device that
  // makes all cells of a stage at once there are none.
  ptrdiff_t taken(ptrdiff_t points) const {
    const ptrdiff_t rows = layout.field.n[0];
    return together ? 0 : 2 * most_stages * points + 2 * (points + 2 * rows + 2);
  }
  // The slots of a shot: fields, then memory variables.
  Size span() const { return Size(slots) * (fields * total + memories * strips); }
  Size history() const { return keeps_all ? shots * span() : 0; }
  Size checkpoints() const { return chunks > 1 ? Size(shots) * (chunks - 1) * state : 0; }
  ptrdiff_t adjoint_state() const { return (rates + field_count<Eq>)*total + Eq::memories * strips; }
  Size recomputed() const { return keeps_all || !chunk ? 0 : span() + state; }
  SWEEP_HD ptrdiff_t coefficient_cells() const { return coefficients * layout.cells; }
  SWEEP_HD ptrdiff_t coefficient_size() const { return coefficients * total; }
  Size images() const { return Size(groups) * coefficient_size(); }
  // Profiles and coefficients with room around them, so that whole vectors may be read.
  ptrdiff_t profiles() const {
    ptrdiff_t count = 0;
    for (int a = 0; a < NDIM; ++a) count += 4 * profile[a];
    return count;
  }
  Size prepared(int earths) const { return profiles() + Size(earths) * coefficient_size(); }
  Size forward(int earths) const { return Size(lanes) * (state + taken(receivers)) + prepared(earths); }
  Size workspace(int earths) const {
    return lanes * (adjoint_state() + recomputed() + taken(sources)) + images() + prepared(earths);
  }
  Size scattering(int earths) const {
    return Size(lanes) * (2 * state + taken(receivers)) + prepared(earths) + Size(earths) * coefficient_size();
  }

 private:
  static int whole(int n) { return (n + 15) / 16 * 16; }

  // Sets where the PML of an axis acts and returns how many cells its strip holds. The adjoint differentiates memory
  // variables, half a stencil beyond the PML, which at half nodes is one cell longer at the high face. Along the last
  // axis rims are whole vectors.
  int rims(const sweep_problem& p, int a) {
    const int n = p.shape[a], unit = a == NDIM - 1 ? 16 : 1, end = a == NDIM - 1 ? whole(n) : n;
    int low = p.pml_low[a] ? p.pml_low[a] + half : 0;
    int begin = p.pml_high[a] ? n - p.pml_high[a] - half - 1 : end;
    low = (low + unit - 1) / unit * unit;
    begin = begin / unit * unit;
    if (low + half > begin && (low || begin < end)) low = begin = end;
    layout.rim_low[a] = low;
    layout.rim_high[a] = begin < n ? n - begin : 0;
    return low + half + end - begin;
  }
};

// What so many differences, one after the other, reach from the cells of a box, in whole vectors. Those beside a free
// surface reach all of the first rows.
template <int NDIM>
SWEEP_HD Box<NDIM> reached(const Layout<NDIM>& layout, Box<NDIM> from, int differences) {
  const int near = layout.surface ? near_rows(layout.half) : 0;
  if (from.high[0] < near) from.high[0] = near;
  Box<NDIM> box;
  for (int a = 0; a < NDIM; ++a) {
    const int n = layout.field.n[a], unit = a == NDIM - 1 ? 16 : 1;
    const ptrdiff_t far = static_cast<ptrdiff_t>(differences) * layout.half;
    const ptrdiff_t low = from.low[a] - far, high = from.high[a] + far;
    box.low[a] = low <= 0 ? 0 : static_cast<int>(low) / unit * unit;
    box.high[a] = high >= n ? n : (static_cast<int>(high) + unit - 1) / unit * unit;
    if (box.high[a] > n) box.high[a] = n;
  }
  if (box.low[0] < near) box.low[0] = 0;
  return box;
}

}  // namespace staggered
}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
