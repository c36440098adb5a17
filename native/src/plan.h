// What a problem needs: the layout of its arrays and how its shots are grouped. Pure integers, the same on any device.
#ifndef SWEEP_PLAN_H
#define SWEEP_PLAN_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sweep/staggered.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

inline int fail(const sweep_context* context, int status, const char* format, ...) {
  if (context && context->error && context->error_bytes > 0) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(context->error, static_cast<size_t>(context->error_bytes), format, arguments);
    va_end(arguments);
  }
  return status;
}

// By sizeof: nvcc does not deduce the length of an array of names.
template <class Eq>
constexpr int field_count = sizeof(Eq::fields) / sizeof(Eq::fields[0]);
template <class Eq>
constexpr int coefficient_count = sizeof(Eq::coefficients) / sizeof(Eq::coefficients[0]);

// First-order systems on a staggered grid have drivers of their own.
template <class Eq, class = void>
constexpr bool is_staggered = false;
template <class Eq>
constexpr bool is_staggered<Eq, decltype(static_cast<void>(Eq::staggered))> = true;

inline int64_t sum(const int32_t* values, int count) {
  int64_t total = 0;
  for (int i = 0; i < count; ++i) total += values[i];
  return total;
}

// A number of elements or bytes, from 0 on. What no memory can hold stays too large in every sum and product: it
// neither wraps nor becomes negative, and whoever asks for it is refused.
struct Size {
  static constexpr int64_t beyond = int64_t{1} << 60;
  int64_t count;

  constexpr Size(int64_t n = 0) : count(n < beyond ? n : beyond) {}
  constexpr bool fits() const { return count < beyond; }
  friend constexpr Size operator+(Size a, Size b) { return a.count + b.count; }
  friend constexpr Size operator*(Size a, Size b) {
    return a.count && b.count > beyond / a.count ? beyond : a.count * b.count;
  }
};

// Shots of a group are added up one after the other in the same order, whoever runs them. Large grids are shared out
// in space instead, one shot after the other: their group count is 1, which saves memory too.
inline int group_count(const sweep_problem& p, ptrdiff_t cells, bool together) {
  constexpr int most = 16;
  constexpr ptrdiff_t large = 1 << 18;
  if (together || p.earths > 1) return p.shots;
  if (cells > large) return 1;
  return p.shots < most ? p.shots : most;
}

// What of the wavefields is handed out.
template <int NDIM>
struct Snapshots {
  int every, times, fields;
  Box<NDIM> region;

  explicit Snapshots(const sweep_problem& p) : fields(p.snapshot_fields) {
    every = p.snapshot_every < p.steps ? p.snapshot_every : p.steps;
    times = every ? (p.steps - 1) / every + 1 : 0;
    for (int a = 0; a < NDIM; ++a) {
      region.low[a] = every ? p.snapshot_low[a] : 0;
      region.high[a] = every ? p.snapshot_high[a] : 0;
    }
  }
  SWEEP_HD bool wanted(int k) const { return every && k % every == 0; }
  // Elements of one shot at one time.
  SWEEP_HD ptrdiff_t size() const {
    ptrdiff_t count = 0;
    for (int f = fields; f; f >>= 1) count += f & 1;
    return count * region.cells();
  }
};

// What plans of all equations have.
template <int NDIM>
struct Shared {
  Layout<NDIM> layout;
  int coefficients, shots, groups, lanes, steps, chunk, chunks, half;
  bool keeps_all;    // one chunk: the history of the forward run itself
  ptrdiff_t strips;  // elements of one memory variable on all axes
  ptrdiff_t strip_at[NDIM];
  ptrdiff_t sources, receivers;  // points of one shot

  Shared() = default;
  // `together`: the device advances all shots at once; otherwise those of a group follow each other in one lane.
  Shared(const sweep_problem& p, bool together) {
    half = layout.half = p.order / 2;
    layout.cells = 1;
    for (int a = 0; a < NDIM; ++a) {
      layout.pml_low[a] = p.pml_low[a];
      layout.pml_high[a] = p.pml_high[a];
      layout.cells *= p.shape[a];
    }
    layout.field = frame_of<NDIM>(p.shape, half);
    layout.surface = p.free_surface;
    sources = sum(p.source_points, SWEEP_MAX_FIELDS);
    receivers = sum(p.receiver_points, SWEEP_MAX_FIELDS);
    shots = p.shots;
    steps = p.steps;
    groups = group_count(p, layout.cells, together);
    const bool whole = p.first == 0 && p.last == p.steps;
    lanes = together || !whole ? shots : groups;
  }

  // Strips of so many cells across each axis.
  void lay_strips(const int* widths) {
    strips = 0;
    for (int a = 0; a < NDIM; ++a) {
      int n[NDIM];
      for (int b = 0; b < NDIM; ++b) n[b] = layout.field.n[b];
      n[a] = widths[a];
      layout.strip[a] = frame_of<NDIM>(n, half);
      strip_at[a] = strips;
      strips += layout.strip[a].total;
    }
  }

  SWEEP_HD int lane(int shot) const { return lanes == shots ? shot : group_of(shot); }
  SWEEP_HD int group_of(int shot) const { return static_cast<int>(static_cast<int64_t>(shot) * groups / shots); }
  SWEEP_HD int group_begin(int group) const {
    return static_cast<int>((static_cast<int64_t>(group) * shots + groups - 1) / groups);
  }
};

template <class Eq, int NDIM>
struct Plan : Shared<NDIM> {
  using Base = Shared<NDIM>;
  using Base::chunk, Base::chunks, Base::coefficients, Base::groups, Base::half, Base::keeps_all, Base::lanes,
      Base::layout, Base::receivers, Base::shots, Base::sources, Base::steps, Base::strip_at, Base::strips;
  int fields;
  ptrdiff_t level;  // elements of all fields at one time
  ptrdiff_t state;  // elements of one lane: levels, then memory variables
  ptrdiff_t slots;  // times that a history holds
  ptrdiff_t tables;

  Plan(const sweep_problem& p, bool together) : Base(p, together) {
    fields = field_count<Eq>;
    coefficients = coefficient_count<Eq>;
    tables = 0;
    for (int a = 0; a < NDIM; ++a) {
      const ptrdiff_t n = p.shape[a];
      layout.rim_low[a] = p.pml_low[a] ? p.pml_low[a] + half : 0;
      layout.rim_high[a] = p.pml_high[a] ? p.pml_high[a] + half : 0;
      tables += 2 * half + 1 + 2 * n;
    }
    if (NDIM == 2 && widen(layout.rim_low[NDIM - 1], layout.rim_high[NDIM - 1], p.shape[NDIM - 1]))
      widen(layout.pml_low[NDIM - 1], layout.pml_high[NDIM - 1], p.shape[NDIM - 1]);
    int widths[NDIM];
    for (int a = 0; a < NDIM; ++a) widths[a] = layout.rim_low[a] + half + layout.rim_high[a];
    this->lay_strips(widths);
    level = fields * layout.field.total;
    state = Eq::levels * level + Eq::memories * strips;
    const int advances = steps > 1 ? steps - 1 : 0;
    keeps_all = advances > 0 && p.chunk >= advances;
    chunk = p.chunk < advances ? p.chunk : advances;
    chunks = chunk ? (advances - 1) / chunk + 1 : 0;
    slots = chunk ? chunk + Eq::levels : 0;
  }

  // In two dimensions rows are cut into whole vectors where there is room; in three the memory would cost more. Beyond
  // the PML both profiles are zero, so that memory variables stay zero there and results are the same.
  static bool widen(int& low, int& high, int n) {
    const int wide_low = (low + 15) / 16 * 16, wide_high = (high + 15) / 16 * 16;
    if (wide_low + wide_high > n) return false;
    low = wide_low;
    high = wide_high;
    return true;
  }

  Size history() const { return keeps_all ? Size(shots) * slots * level : 0; }
  Size checkpoints() const { return chunks > 1 ? Size(shots) * (chunks - 1) * state : 0; }
  // The adjoint run's own state and filters; where the forward run is recomputed, its history and memory variables.
  ptrdiff_t adjoint_state() const { return state + Eq::filters * strips; }
  Size recomputed() const { return keeps_all || !chunk ? 0 : Size(slots) * level + Eq::memories * strips; }
  Size images() const { return Size(groups) * coefficient_cells(); }
  SWEEP_HD ptrdiff_t coefficient_cells() const { return coefficients * layout.cells; }
  // What the filters of points that may lie in the PML remember.
  Size past() const { return Size(shots) * (sources + receivers) * NDIM; }
  Size forward(int) const { return Size(lanes) * state; }
  Size workspace(int) const { return lanes * (adjoint_state() + recomputed()) + images() + past(); }
  // Born: the field and what it scatters.
  Size scattering(int) const { return Size(lanes) * 2 * state; }
};

// Refuses points of fields that there are not, and those that do not share out among the columns of a sample.
inline int check_points(const sweep_problem& p, const int32_t* points, int columns, int fields,
                        const sweep_context* context) {
  int used = 0;
  for (int f = 0; f < SWEEP_MAX_FIELDS; ++f) {
    if (points[f] < 0 || (f >= fields && points[f]))
      return fail(context, SWEEP_BAD_CALL, "points are given for field %d of equation %s, which has %d", f, p.equation,
                  fields);
    used += points[f] > 0;
  }
  const long long total = sum(points, SWEEP_MAX_FIELDS);
  if (total > INT32_MAX)
    return fail(context, SWEEP_BAD_CALL, "a shot has %lld points, more than the 2^31 - 1 that int32 can count", total);
  const int traces = used ? columns / used : 0;
  bool shared = traces * used == columns;
  for (int f = 0; f < SWEEP_MAX_FIELDS; ++f) shared &= traces ? points[f] % traces == 0 : !points[f];
  if (!shared)
    return fail(context, SWEEP_BAD_CALL, "%d columns do not share out among %lld points in %d fields", columns, total,
                used);
  return SWEEP_OK;
}

// Refuses a problem that this build does not hold or that contradicts itself. In what remains each axis has at least
// two cells, so fewer than 2^30, and whatever is counted along axes or in steps, half a stencil or twice as many too,
// fits into an int, and what belongs to one grid into 64 bits; only what is multiplied by shots, steps or points is a
// Size.
template <class Eq, int NDIM>
int check_problem(const sweep_problem& p, const sweep_context* context) {
  if (p.order < 2 || p.order % 2 || p.shots < 1 || p.steps < 1 || p.chunk < 0 || p.source_columns < 0 ||
      p.receiver_columns < 0 || (p.earths != 1 && p.earths != p.shots) || p.first < 0 || p.last > p.steps ||
      p.first >= p.last || p.steps > SWEEP_MAX_STEPS || !(p.coefficient_limit > 0))
    return fail(context, SWEEP_BAD_CALL, "sweep_problem contradicts itself (order, shots, steps, earths or range)");
  int64_t cells = 1;
  for (int a = 0; a < NDIM; ++a) {
    const int64_t inside = static_cast<int64_t>(p.shape[a]) - p.pml_low[a] - p.pml_high[a];
    if (p.pml_low[a] < 0 || p.pml_high[a] < 0 || inside < p.order)
      return fail(context, SWEEP_BAD_CALL, "axis %d has %lld cells inside its PML; order %d needs at least %d", a,
                  static_cast<long long>(inside), p.order, p.order);
    cells *= p.shape[a];
    if (cells > INT32_MAX)
      return fail(context, SWEEP_BAD_CALL, "the padded grid has more than 2^31 - 1 cells, which int32 cannot count");
  }
  if (p.free_surface < 0 || p.free_surface > 1 || (p.free_surface && p.pml_low[0]))
    return fail(context, SWEEP_BAD_CALL, "free_surface is %d with a PML of %d cells on that face", p.free_surface,
                p.pml_low[0]);
  if constexpr (is_staggered<Eq>)
    if (p.free_surface && p.shape[0] < staggered::near_rows(p.order / 2))
      return fail(context, SWEEP_BAD_CALL, "a free surface needs %d cells along z", staggered::near_rows(p.order / 2));
  const int fields = field_count<Eq>;
  if (p.snapshot_every < 0 || p.snapshot_fields < 0 || p.snapshot_fields >> fields)
    return fail(context, SWEEP_BAD_CALL, "snapshots every %d steps of fields %d are none", p.snapshot_every,
                p.snapshot_fields);
  for (int a = 0; a < NDIM && p.snapshot_every; ++a)
    if (p.snapshot_low[a] < 0 || p.snapshot_low[a] >= p.snapshot_high[a] || p.snapshot_high[a] > p.shape[a])
      return fail(context, SWEEP_BAD_CALL, "snapshots of cells %d to %d of axis %d, which has %d", p.snapshot_low[a],
                  p.snapshot_high[a], a, p.shape[a]);
  if (const int status = check_points(p, p.source_points, p.source_columns, fields, context)) return status;
  return check_points(p, p.receiver_points, p.receiver_columns, fields, context);
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
