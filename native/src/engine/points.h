// Points of sources and receivers: sparse rows (trace; field, cell, weight).
#ifndef SWEEP_ENGINE_POINTS_H
#define SWEEP_ENGINE_POINTS_H

#include "sweep/core/halo_layout.h"
#include "sweep/sweep.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

struct Span {
  int first, count;
};

// The first of sorted numbers [begin, end) that is not below `value`.
SWEEP_HD ptrdiff_t lower_bound(const int32_t* sorted, ptrdiff_t begin, ptrdiff_t end, ptrdiff_t value) {
  while (begin < end) {
    const ptrdiff_t middle = begin + (end - begin) / 2;
    if (sorted[middle] < value)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

// The points of a field: `begin` is the first of them in the first shot, `of_trace` the number of each trace.
struct List {
  int field, begin, count, of_trace;
};

// The points of sources or receivers: lists of all shots, field after field. All traces have equally many columns of a
// sample, and equally many points in a field.
template <class T>
struct Points {
  const int32_t* cell;
  const int32_t* column;
  const T* weight;
  const int32_t* count;  // points of one shot in each field, null without points; the host alone reads it
  FieldMask used;        // a bit for each field that has points
  int total;
  int traces, columns;

  // The first point of a shot.
  SWEEP_HD ptrdiff_t begin(int shot) const { return static_cast<ptrdiff_t>(shot) * total; }
  // Calls f(field, first point, number of points) for each field that has points.
  template <class F>
  void each(int shot, const F& f) const {
    ptrdiff_t first = begin(shot);
    for (int field = 0; total && field < SWEEP_MAX_FIELDS; first += count[field++])
      if (count[field]) f(field, first, count[field]);
  }
  SWEEP_HD int columns_of_trace() const { return traces ? columns / traces : 1; }
  // True if point p lies in the grid and its column exists. A device that cannot return an error skips other points.
  SWEEP_HD bool fits(ptrdiff_t p, ptrdiff_t cells) const {
    return cell[p] >= 0 && cell[p] < cells && column[p] >= 0 && column[p] < columns;
  }
  // True if point p is sorted as searches expect; p is number n of a field with `of_trace` points in each trace. A list
  // to inject is sorted by cell, a list to gather by trace and then by column.
  SWEEP_HD bool in_order(ptrdiff_t p, int n, int of_trace, bool inject) const {
    if (inject) return n == 0 || cell[p] >= cell[p - 1];
    return column[p] / columns_of_trace() == n / of_trace && (n == 0 || column[p] >= column[p - 1]);
  }
  // The first point of a trace in a list; and the first point of a column of that trace, or -1.
  SWEEP_HD ptrdiff_t begin_of(const List& list, int shot, int trace) const {
    return begin(shot) + list.begin + static_cast<ptrdiff_t>(trace) * list.of_trace;
  }
  SWEEP_HD ptrdiff_t first_of_column(const List& list, int shot, int trace, int32_t number) const {
    const ptrdiff_t end = begin_of(list, shot, trace + 1);
    const ptrdiff_t p = lower_bound(column, end - list.of_trace, end, number);
    return p < end && column[p] == number ? p : -1;
  }
  // The end of the points in the cell of point p, in a list sorted by cell.
  SWEEP_HD ptrdiff_t end_of_cell(ptrdiff_t p, ptrdiff_t end) const {
    ptrdiff_t next = p + 1;
    while (next < end && cell[next] == cell[p]) ++next;
    return next;
  }
};

// The lists of some fields, then the lists of other fields.
struct Lists {
  List list[SWEEP_MAX_FIELDS];
  int count = 0, all = 0;
  ptrdiff_t points = 0;

  template <class T>
  explicit Lists(const Points<T>& shot_points, FieldMask fields, FieldMask others = 0) {
    add(shot_points, fields);
    count = all;
    for (int l = 0; l < count; ++l) points += list[l].count;
    add(shot_points, others);
  }
  // Returns the list of point i of the first fields, and changes i to its number in that list.
  SWEEP_HD int list_of(ptrdiff_t& i) const {
    int l = 0;
    while (i >= list[l].count) i -= list[l++].count;
    return l;
  }

 private:
  template <class T>
  void add(const Points<T>& shot_points, FieldMask fields) {
    shot_points.each(0, [&](int field, ptrdiff_t begin, int number) {
      if (fields >> field & 1) list[all++] = {field, static_cast<int>(begin), number, number / shot_points.traces};
    });
  }
};

// A sample of a signal, (shots, steps, columns), summed over the points [p, end) of one cell. There may be many points,
// so the sum is in double precision; the product of a single point rounds to the same number as without it.
template <class T>
SWEEP_HD T amount_of(const Points<T>& points, ptrdiff_t p, ptrdiff_t end, const T* signal, int shot, int steps,
                     int sample) {
  const T* const columns = signal + (static_cast<ptrdiff_t>(shot) * steps + sample) * points.columns;
  double sum = 0;
  for (; p < end; ++p)
    if (points.column[p] >= 0 && points.column[p] < points.columns)
      sum += static_cast<double>(points.weight[p]) * static_cast<double>(columns[points.column[p]]);
  return static_cast<T>(sum);
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
