// Checks of a problem before its arrays are laid out: it must not contradict itself, and this build must support it.
#ifndef SWEEP_ABI_REFUSALS_H
#define SWEEP_ABI_REFUSALS_H

#include "../engine/plan.h"
#include "../history/refusals.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// Refuses points of missing fields, points and columns that cannot be divided equally among the traces, and traces,
// columns or points without the other two.
inline int check_points(const sweep_problem& p, const int32_t* points, int traces, int columns, int fields,
                        const sweep_context* context) {
  for (int f = 0; f < SWEEP_MAX_FIELDS; ++f)
    if (points[f] < 0 || (f >= fields && points[f]))
      return fail(context, SWEEP_BAD_CALL, "field %d has %d points; equation %s has %d fields", f, points[f],
                  p.equation, fields);
  const long long total = sum(points, SWEEP_MAX_FIELDS);
  if (total > INT32_MAX)
    return fail(context, SWEEP_BAD_CALL, "a shot has %lld points; expected at most 2^31 - 1", total);
  bool is_divisible = (traces > 0) == (columns > 0) && (traces > 0) == (total > 0);
  if (is_divisible && traces) is_divisible = columns % traces == 0;
  for (int f = 0; f < SWEEP_MAX_FIELDS && is_divisible && traces; ++f) is_divisible = points[f] % traces == 0;
  if (!is_divisible)
    return fail(context, SWEEP_BAD_CALL, "%d columns and %lld points cannot be divided equally among %d traces",
                columns, total, traces);
  return SWEEP_OK;
}

// Refuses a value that is not a sweep_face, and a role that a face cannot have.
inline int check_faces(const sweep_problem& p, const sweep_context* context) {
  for (int a = 0; a < SWEEP_MAX_AXES; ++a)
    for (int high = 0; high < 2; ++high) {
      const char* const side = high ? "high" : "low";
      const int face = (high ? p.face_high : p.face_low)[a];
      if (face < SWEEP_ZERO || face > SWEEP_EXCHANGE)
        return fail(context, SWEEP_BAD_CALL, "face_%s of axis %d is %d; expected a sweep_face, 0 to 2", side, a, face);
      if (face == SWEEP_EXCHANGE)
        return fail(context, SWEEP_UNSUPPORTED,
                    "face_%s of axis %d is SWEEP_EXCHANGE; no neighbour can fill ghost cells yet; use SWEEP_ZERO", side,
                    a);
      if (face == SWEEP_SURFACE && (a > 0 || high))
        return fail(context, SWEEP_UNSUPPORTED,
                    "face_%s of axis %d is SWEEP_SURFACE; only the low face of axis 0 can be; use SWEEP_ZERO", side, a);
    }
  if (p.face_low[0] == SWEEP_SURFACE && p.pml_low[0])
    return fail(context, SWEEP_BAD_CALL,
                "face_low of axis 0 is SWEEP_SURFACE with a PML of %d cells on that face; set pml_low[0] to 0",
                p.pml_low[0]);
  return SWEEP_OK;
}

// Refuses a problem that this build does not support or that contradicts itself. In an accepted problem each axis has
// at least two cells, and so fewer than 2^30. Counts along axes or in steps, doubled or extended by half a stencil, fit
// into an int. Counts of one grid fit into 64 bits. Only products with shots, steps or points need a Size.
template <class Eq, int NDIM>
int check_problem(const sweep_problem& p, const sweep_context* context) {
  if (p.order < 2 || p.order % 2 || p.order > SWEEP_MAX_ORDER || p.shots < 1 || p.steps < 1 || p.chunk < 0 ||
      p.source_traces < 0 || p.receiver_traces < 0 || p.source_columns < 0 || p.receiver_columns < 0 ||
      (p.earths != 1 && p.earths != p.shots) || p.first < 0 || p.last > p.steps || p.first >= p.last ||
      p.steps > SWEEP_MAX_STEPS || !(p.coefficient_limit > 0))
    return fail(context, SWEEP_BAD_CALL, "sweep_problem contradicts itself (order, shots, steps, earths or range)");
  int64_t cells = 1;
  for (int a = 0; a < NDIM; ++a) {
    const int64_t inside = static_cast<int64_t>(p.shape[a]) - p.pml_low[a] - p.pml_high[a];
    if (p.pml_low[a] < 0 || p.pml_high[a] < 0 || inside < p.order)
      return fail(context, SWEEP_BAD_CALL, "axis %d has %lld cells inside its PML; order %d needs at least %d", a,
                  static_cast<long long>(inside), p.order, p.order);
    cells *= p.shape[a];
    if (cells > INT32_MAX)
      return fail(context, SWEEP_BAD_CALL, "the padded grid has more than 2^31 - 1 cells; use a smaller grid");
  }
  if (const int status = check_history<Eq>(p, context)) return status;
  if (const int status = check_faces(p, context)) return status;
  if (p.face_low[0] == SWEEP_SURFACE && p.shape[0] < Eq::near_rows(p.order / 2))
    return fail(context, SWEEP_BAD_CALL, "shape[0] is %d; a free surface at order %d needs at least %d cells",
                p.shape[0], p.order, Eq::near_rows(p.order / 2));
  const int fields = field_count<Eq>;
  if (p.snapshot_every < 0 || p.snapshot_fields < 0 || p.snapshot_fields >> fields)
    return fail(context, SWEEP_BAD_CALL,
                "snapshot_every is %d and snapshot_fields is %lld; expected 0 or more, and bits of %d fields",
                p.snapshot_every, static_cast<long long>(p.snapshot_fields), fields);
  for (int a = 0; a < NDIM && p.snapshot_every; ++a)
    if (p.snapshot_low[a] < 0 || p.snapshot_low[a] >= p.snapshot_high[a] || p.snapshot_high[a] > p.shape[a])
      return fail(context, SWEEP_BAD_CALL,
                  "the snapshots have cells %d to %d of axis %d; expected cells within 0 to %d", p.snapshot_low[a],
                  p.snapshot_high[a], a, p.shape[a]);
  if (const int status = check_points(p, p.source_points, p.source_traces, p.source_columns, fields, context))
    return status;
  return check_points(p, p.receiver_points, p.receiver_traces, p.receiver_columns, fields, context);
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
