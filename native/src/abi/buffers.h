// The one table of the buffers of every operation: sweep_buffers answers from it, and sweep_run binds buffers by it.
#ifndef SWEEP_ABI_BUFFERS_H
#define SWEEP_ABI_BUFFERS_H

#include "../engine/context.h"
#include "../engine/workspace.h"
#include "fail.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// X(name, type, role in forward, adjoint and born), in the order of the ABI. The points of an inject list are sorted by
// cell within a shot and field, those of a gather list by column, trace by trace.
#define SWEEP_EVERY_BUFFER(X)                                                  \
  X(coefficients, VALUES, IN, IN, IN) /* (earths, coefficients, *shape) */     \
  X(wavelet, VALUES, IN, IN, IN)      /* (shots, steps, source columns) */     \
  X(tangent_coefficients, VALUES, NONE, NONE, IN)                              \
  X(tangent_wavelet, VALUES, NONE, NONE, IN)                                   \
  X(source_inject_cell, INDICES, IN, IN, IN) /* (shots, points) */             \
  X(source_inject_column, INDICES, IN, IN, IN)                                 \
  X(source_inject_weight, VALUES, IN, IN, IN)                                  \
  X(source_gather_cell, INDICES, NONE, IN, NONE)                               \
  X(source_gather_column, INDICES, NONE, IN, NONE)                             \
  X(source_gather_weight, VALUES, NONE, IN, NONE)                              \
  X(receiver_inject_cell, INDICES, NONE, IN, NONE)                             \
  X(receiver_inject_column, INDICES, NONE, IN, NONE)                           \
  X(receiver_inject_weight, VALUES, NONE, IN, NONE)                            \
  X(receiver_gather_cell, INDICES, IN, NONE, IN)                               \
  X(receiver_gather_column, INDICES, IN, NONE, IN)                             \
  X(receiver_gather_weight, VALUES, IN, NONE, IN)                              \
  X(tables, VALUES, IN, IN, IN)        /* PML profiles, rows near a surface */ \
  X(cotangent, VALUES, NONE, IN, NONE) /* as the record */                     \
  X(history, BYTES, OUT, IN, NONE)                                             \
  X(checkpoints, BYTES, OUT, IN, NONE)                                         \
  X(record, VALUES, OUT, NONE, OUT)     /* (shots, steps, receiver columns) */ \
  X(snapshots, VALUES, OUT, NONE, NONE) /* (shots, times, fields, *region) */  \
  X(gradient_coefficients, VALUES, NONE, OUT, NONE)                            \
  X(gradient_wavelet, VALUES, NONE, OUT, NONE)                                 \
  X(state, BYTES, STATE, STATE, STATE)                                         \
  X(workspace, BYTES, SCRATCH, SCRATCH, SCRATCH)                               \
  X(flag, INDICES, OUT, OUT, OUT) /* a sweep_status found on a device that cannot return one */

#define SWEEP_NAME_OF(name, ...) name,
struct BufferId {
  enum Buffer { SWEEP_EVERY_BUFFER(SWEEP_NAME_OF) count };
};

struct Role {
  const char* name;
  int type;
  int role[SWEEP_OPERATIONS];
};
#define SWEEP_ROLE_OF(name, type, forward, adjoint, born) \
  {#name, SWEEP_##type, {SWEEP_##forward, SWEEP_##adjoint, SWEEP_##born}},
constexpr Role roles[] = {SWEEP_EVERY_BUFFER(SWEEP_ROLE_OF)};

constexpr int buffers_of(int operation) {
  int count = 0;
  for (const Role& each : roles) count += each.role[operation] != SWEEP_NONE;
  return count;
}

// The bytes that an operation needs of each buffer.
struct BufferSizes {
  Size bytes[BufferId::count];

  template <class Eq, int NDIM>
  BufferSizes(const sweep_problem& p, const Plan<Eq, NDIM>& plan, int operation) {
    const Size item = p.dtype == SWEEP_FLOAT32 ? 4 : 8, samples = Size(p.shots) * p.steps;
    const Snapshots<NDIM> request(p);
    const auto list = [&](int first, Size points) {
      bytes[first] = bytes[first + 1] = p.shots * points * 4;
      bytes[first + 2] = p.shots * points * item;
    };
    list(BufferId::source_inject_cell, plan.sources);
    list(BufferId::source_gather_cell, plan.sources);
    list(BufferId::receiver_inject_cell, plan.receivers);
    list(BufferId::receiver_gather_cell, plan.receivers);
    const Size earth = Size(p.earths) * plan.coefficient_cells() * item;
    bytes[BufferId::coefficients] = bytes[BufferId::tangent_coefficients] = bytes[BufferId::gradient_coefficients] =
        earth;
    const Size wavelet = samples * p.source_columns * item;
    bytes[BufferId::wavelet] = bytes[BufferId::tangent_wavelet] = bytes[BufferId::gradient_wavelet] = wavelet;
    bytes[BufferId::record] = bytes[BufferId::cotangent] = samples * p.receiver_columns * item;
    bytes[BufferId::snapshots] = Size(p.shots) * request.times * request.size() * item;
    bytes[BufferId::tables] = Size(plan.tables) * item;
    bytes[BufferId::history] = p.shots * plan.history_bytes(static_cast<int>(item.count));
    bytes[BufferId::checkpoints] = plan.checkpoints_size(p.shots) * item;
    bytes[BufferId::state] = state_size(plan, operation) * item;
    bytes[BufferId::workspace] = scratch_size(plan, operation, p.earths) * item;
    bytes[BufferId::flag] = 4;
  }
  Size total() const {
    Size sum;
    for (const Size& each : bytes) sum = sum + each;
    return sum;
  }
};

// The buffers of a call, by name.
template <class T>
struct BoundBuffers {
  void* at[BufferId::count] = {};

  // Binds the buffers of an operation, in the order of the ABI; refuses one that is too small.
  int bind(const sweep_buffer* buffer, const BufferSizes& need, int operation, const sweep_context* context) {
    for (int b = 0; b < BufferId::count; ++b) {
      if (roles[b].role[operation] == SWEEP_NONE) continue;
      const long long bytes = need.bytes[b].count;
      if (buffer->bytes < bytes || (bytes > 0 && !buffer->data))
        return fail(context, SWEEP_BAD_CALL, "buffer %s has %lld bytes; this problem needs %lld", roles[b].name,
                    static_cast<long long>(buffer->bytes), bytes);
      at[b] = buffer++->data;
    }
    return SWEEP_OK;
  }
  T* values(BufferId::Buffer b) const { return static_cast<T*>(at[b]); }
  int32_t* indices(int b) const { return static_cast<int32_t*>(at[b]); }
  // The list of points whose first of three buffers is `first`.
  Points<T> points(BufferId::Buffer first, const sweep_problem& p) const {
    const bool source = first < BufferId::receiver_inject_cell;
    const int32_t* const counts = source ? p.source_points : p.receiver_points;
    Points<T> points;
    points.cell = indices(first);
    points.column = indices(first + 1);
    points.weight = static_cast<T*>(at[first + 2]);
    points.count = counts;
    points.used = 0;
    for (int f = 0; f < SWEEP_MAX_FIELDS; ++f) points.used |= static_cast<FieldMask>(counts[f] > 0) << f;
    points.total = static_cast<int>(sum(counts, SWEEP_MAX_FIELDS));
    points.traces = source ? p.source_traces : p.receiver_traces;
    points.columns = source ? p.source_columns : p.receiver_columns;
    return points;
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
