// What a problem needs: the layout of its arrays and how its shots are grouped. Pure integers, the same on any device.
#ifndef SWEEP_PLAN_H
#define SWEEP_PLAN_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sweep/equation.h"

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
inline int group_count(const sweep_problem& p, ptrdiff_t cells) {
  constexpr int most = 16;
  constexpr ptrdiff_t large = 1 << 18;
  if (together || p.earths > 1) return p.shots;
  if (cells > large) return 1;
  return p.shots < most ? p.shots : most;
}

// In which precision a history is kept, and of which steps, if not of all in that of the run: see packing.h.
struct Packed {
  static constexpr int block = 64;  // values
  int type = 0;                     // a sweep_dtype
  int width = 0;                    // bytes of one value; 0: it is not packed
  int interval = 1;                 // every so many steps

  Packed() = default;
  explicit Packed(const sweep_problem& p) : type(p.stored), interval(p.interval) {
    constexpr int widths[] = {4, 8, 2, 2, 1};
    if (p.chunk && (p.stored != p.dtype || interval > 1)) width = widths[p.stored];
  }
  explicit constexpr operator bool() const { return width > 0; }
  // Units before unit u that are kept.
  SWEEP_HD constexpr int before(int u) const { return (u + interval - 1) / interval; }
  SWEEP_HD static constexpr ptrdiff_t blocks(ptrdiff_t values) { return (values + block - 1) / block; }
  // Of a block, with its scale where it has one.
  SWEEP_HD constexpr ptrdiff_t bytes() const { return (type >= SWEEP_FLOAT16 ? 4 : 0) + block * width; }
};

// Shots, and the groups that they are cut into.
struct Groups {
  int shots, groups;

  SWEEP_HD int group_of(int shot) const {
    return together ? shot : static_cast<int>(static_cast<int64_t>(shot) * groups / shots);
  }
  SWEEP_HD int group_begin(int group) const {
    return together ? group : static_cast<int>((static_cast<int64_t>(group) * shots + groups - 1) / groups);
  }
};

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

// What a problem needs. A unit of a run is one time step, and makes what one time index records: unit u leaves u dt
// and, of fields at half steps, (u + 1/2) dt.
template <class Eq, int NDIM>
struct Plan : Groups {
  static constexpr int fields = Eq::table.held_fields, memories = Eq::table.held_memories;  // that a history holds
  static constexpr int rates = Eq::table.rates, most_stages = 16;
  static constexpr int profiles_given = 6, profiles_of_axis = 8;  // with two of the library's own
  Layout<NDIM> layout;
  int coefficients, steps, first, last, chunk, chunks, half;
  int boundary;     // a sweep_boundary
  int saved_every;  // so many chunks the state is saved
  bool keeps_all;   // one chunk: the history of the forward run itself
  Packed packed;
  bool sliced;      // the run is not made in one call: states wait for the next
  ptrdiff_t slabs;  // elements of one memory variable on all axes
  ptrdiff_t slab_at[NDIM];
  ptrdiff_t sources, receivers;  // points of one shot
  ptrdiff_t total;               // elements of one field
  ptrdiff_t state;               // of one shot: fields, then memory variables
  ptrdiff_t slots;               // units that a history holds, and what was before them
  ptrdiff_t tables;
  ptrdiff_t profile[NDIM];  // elements of one profile of an axis, padded to whole vectors
  Rind<NDIM> band, pml;     // the cells of boundary strips, around those where no PML is felt; those of the PML

  int imaged_from;  // the first plane of the first axis that is imaged
  Held<NDIM> held;

  Plan() = default;
  explicit Plan(const sweep_problem& p) {
    half = layout.half = p.order / 2;
    layout.cells = 1;
    for (int a = 0; a < NDIM; ++a) {
      layout.face_low[a] = p.face_low[a];
      layout.face_high[a] = p.face_high[a];
      layout.pml_low[a] = p.pml_low[a];
      layout.pml_high[a] = p.pml_high[a];
      layout.cells *= p.shape[a];
    }
    layout.field = ghosted<NDIM>(p.shape, half);
    layout.near = layout.face_low[0] == SWEEP_SURFACE ? Eq::near_rows(half) : 0;
    coefficients = coefficient_count<Eq>;
    sources = sum(p.source_points, SWEEP_MAX_FIELDS);
    receivers = sum(p.receiver_points, SWEEP_MAX_FIELDS);
    shots = p.shots;
    steps = p.steps;
    first = p.first;
    last = p.last;
    sliced = first > 0 || last < steps;
    groups = group_count(p, layout.cells);
    tables = Eq::table.closures * 2 * layout.near * (layout.near + half);
    slabs = 0;
    for (int a = 0; a < NDIM; ++a) {
      tables += profiles_given * static_cast<ptrdiff_t>(p.shape[a]);
      profile[a] = whole(p.shape[a]) + 16;
      int n[NDIM];
      for (int b = 0; b < NDIM; ++b) n[b] = layout.field.n[b];
      n[a] = regions(p, a);
      layout.slab[a] = ghosted<NDIM>(n, half);
      slab_at[a] = slabs;
      slabs += layout.slab[a].total;
    }
    total = layout.field.total;
    imaged_from = p.imaged_from;
    // What is imaged are differences, those of the rows near a free surface of all of them.
    held = {layout, p.boundary || imaged_from < half || imaged_from < layout.near ? 0 : imaged_from - half};
    state = wave() + Eq::memories * slabs;
    boundary = p.boundary;
    Box<NDIM> inside, unfelt;
    for (int a = 0; a < NDIM; ++a) {
      inside.low[a] = p.pml_low[a];
      inside.high[a] = p.shape[a] - p.pml_high[a] - (p.pml_high[a] && !Eq::second);  // half a cell further it acts
      unfelt.low[a] = inside.low[a] + (p.pml_low[a] ? half : 0);
      unfelt.high[a] = inside.high[a] - (p.pml_high[a] ? half : 0);
      if (unfelt.high[a] < unfelt.low[a]) unfelt.high[a] = unfelt.low[a];
    }
    // Differences near a free surface reach into the PML: no row is run backward, all are strips.
    if (inside.high[0] < layout.near) unfelt.high[0] = unfelt.low[0];
    band = Rind<NDIM>(inside, unfelt);
    pml = Rind<NDIM>(sweep::whole(layout), inside);
    const bool whole_run = p.chunk > 0 && p.chunk >= last - first - 1;
    packed = Packed(p);
    keeps_all = whole_run && !boundary && !packed;
    chunk = whole_run ? last - first : p.chunk;
    chunks = chunk ? (last - first - 1) / chunk + 1 : 0;
    slots = chunk ? chunk + 1 : 0;
    saved_every = 1;
    while (boundary == SWEEP_EXACT && saved_every * saved_every < chunks) ++saved_every;
  }

  // Values that stages of one tile in the plane leave behind, twice, and lists of points by rows: see
  // cpu/time_skewing.h. On a device that makes all cells of a stage at once there are none.
  ptrdiff_t taken(ptrdiff_t points) const {
    const ptrdiff_t rows = layout.field.n[0];
    return together || NDIM == 3 ? 0 : 2 * most_stages * points + 2 * (points + Eq::stages * rows + 2);
  }
  // The slots of a shot: fields, then memory variables.
  Size span() const { return Size(slots) * (fields * held.field + memories * held.memory); }
  // Bytes of the history of a shot: slots, boundary strips, or either of all steps in blocks.
  Size history(int item) const {
    if (packed) return (packed_fields(packed.before(last) + 1) + packed_memories(packed.before(last))) * packed.bytes();
    return keeps_all ? span() * item : Size(boundary ? steps : 0) * strips_of_unit() * item;
  }
  // Blocks of what so many slots hold, or so many units of strips.
  Size packed_fields(int count) const {
    if (boundary) return Size(steps) * field_count<Eq> * Packed::blocks(band.cells());
    return Size(count) * fields * Packed::blocks(held.field);
  }
  Size packed_memories(int units) const {
    return boundary ? Size(0) : Size(units) * memories * Packed::blocks(held.memory);
  }
  // Boundary strips of all fields that one unit makes.
  SWEEP_HD ptrdiff_t strips_of_unit() const { return field_count<Eq> * band.cells(); }
  // The state of the PML alone.
  SWEEP_HD ptrdiff_t pml_state() const { return Eq::levels * field_count<Eq> * pml.cells() + Eq::memories * slabs; }
  // States of a shot before chunks: all but that of zeros, before the first step. Of the PML alone they are small, but
  // its chunks are short: some are saved, and those between two of them made again, all at once.
  SWEEP_HD int saved() const {
    return chunks > 1 && (boundary == SWEEP_EXACT || !(boundary || packed)) ? (chunks - 1) / saved_every + (first > 0)
                                                                            : 0;
  }
  // With boundary strips these are of the PML alone, and behind them is the last state of all.
  SWEEP_HD ptrdiff_t saved_state() const { return boundary ? pml_state() : state; }
  SWEEP_HD ptrdiff_t checkpoints_of_shot() const { return saved() * saved_state() + (boundary ? state : 0); }
  Size checkpoints() const { return Size(shots) * saved() * saved_state() + Size(boundary ? shots : 0) * state; }
  // Fields of all levels, which their memory variables follow; of an adjoint run, rates before them, or filters behind.
  SWEEP_HD ptrdiff_t wave() const { return Eq::levels * field_count<Eq> * total; }
  SWEEP_HD ptrdiff_t adjoint_wave() const { return Eq::second ? wave() : (rates + field_count<Eq>)*total; }
  SWEEP_HD ptrdiff_t weights() const { return whole(NDIM * (4 * half + 1)); }
  SWEEP_HD ptrdiff_t adjoint_state() const { return adjoint_wave() + (Eq::memories + Eq::filters) * slabs; }
  // Of an adjoint run: fields and memory variables, then images.
  SWEEP_HD ptrdiff_t imaged() const { return adjoint_state() + coefficient_size(); }
  // What the filters of points that may lie in the PML remember.
  Size past() const { return Size(Eq::filters) * shots * (sources + receivers) * NDIM; }
  // Where a chunk is made, packed or made again: slots, states, and strips of its units and the one before.
  Size room(int operation) const {
    if (keeps_all || !chunk || operation == SWEEP_BORN || (operation == SWEEP_FORWARD && !packed)) return 0;
    const Size strips = boundary && packed ? Size(chunk + 1) * strips_of_unit() : Size(0);
    if (operation == SWEEP_FORWARD) return boundary ? strips : span();
    const Size states = Size(boundary == SWEEP_EXACT ? 2 : boundary || !packed) * state;
    return span() + states + Size(saved_every - 1) * pml_state() + strips;
  }
  SWEEP_HD ptrdiff_t coefficient_cells() const { return coefficients * layout.cells; }
  SWEEP_HD ptrdiff_t coefficient_size() const { return coefficients * total; }
  // The images of a group, where its shots follow each other in one.
  SWEEP_HD bool sums() const { return !together && !sliced && groups < shots; }
  // Stencil weights, then profiles and coefficients with room around them, so that whole vectors may be read.
  ptrdiff_t profiles() const {
    ptrdiff_t count = 0;
    for (int a = 0; a < NDIM; ++a) count += profiles_of_axis * profile[a];
    return count;
  }
  Size prepared(int earths) const { return weights() + profiles() + Size(earths) * coefficient_size(); }
  // What an operation hands on, and what it needs beside.
  Size kept(int operation) const {
    const Size states = sliced ? shots : groups;
    if (operation == SWEEP_ADJOINT) return states * imaged() + past();
    return states * (operation == SWEEP_BORN ? 2 : 1) * state;
  }
  Size scratch(int operation, int earths) const {
    const Size all = prepared(earths), lanes = groups;
    if (operation == SWEEP_ADJOINT)
      return all + lanes * (room(operation) + taken(sources) + (sums() ? coefficient_size() : 0));
    return all + lanes * (room(operation) + taken(receivers)) +
           (operation == SWEEP_BORN ? Size(earths) * coefficient_size() : 0);
  }

 private:
  SWEEP_HD static int whole(int n) { return (n + 15) / 16 * 16; }

  // Sets where the PML of an axis acts and returns how many cells its slab holds. The adjoint differentiates memory
  // variables, half a stencil beyond the PML, which at half nodes is one cell longer at the high face. Along the last
  // axis regions are whole vectors, or whole sectors of a GPU's memory.
  int regions(const sweep_problem& p, int a) {
    const int n = p.shape[a], unit = a < NDIM - 1 ? 1 : together ? 8 : 16, end = a == NDIM - 1 ? whole(n) : n;
    int low = p.pml_low[a] ? p.pml_low[a] + half : 0;
    int begin = p.pml_high[a] ? n - p.pml_high[a] - half - 1 : end;
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
