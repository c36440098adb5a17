// From the C ABI to typed runs: checks the call, binds the caller's buffers, and passes the run to the device.
// A device (cpu/, cuda/) puts large arrays in large pages, checks the values when a run starts, executes and finishes
// the run, and poisons the results of a run that it could not refuse.
#ifndef SWEEP_ABI_ENTRY_H
#define SWEEP_ABI_ENTRY_H

#include "../engine/runs.h"
#include "buffers.h"
#include "refusals.h"
#include "table.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// A library of one problem defines SWEEP_RUNS, with a bit for each sweep_operation that it can run.
#if !defined(SWEEP_RUNS)
#define SWEEP_RUNS ((1 << SWEEP_OPERATIONS) - 1)
#endif
constexpr bool has_run(int operation) { return SWEEP_RUNS >> operation & 1; }

// Checks the sizes of all operations, so that all of them refuse the same problems.
template <class Eq, int NDIM>
int fits(const sweep_problem& p, const Plan<Eq, NDIM>& plan, const sweep_context* context) {
  ptrdiff_t longest = plan.layout.field.total;
  for (const auto& slab : plan.layout.slab) longest = slab.total > longest ? slab.total : longest;
  if (longest > INT32_MAX)
    return fail(context, SWEEP_BAD_CALL,
                "the padded grid with its ghost cells has more than 2^31 - 1 cells; use a smaller grid");
  for (int operation = 0; operation < SWEEP_OPERATIONS; ++operation)
    if (!BufferSizes(p, plan, operation).total().fits())
      return fail(context, SWEEP_BAD_CALL,
                  "the buffers of this problem have 2^60 bytes or more; use fewer shots, steps or points");
  return SWEEP_OK;
}

template <class Eq, int NDIM>
int buffers(const sweep_problem& p, int operation, sweep_needs* out, const sweep_context* context) {
  const Plan<Eq, NDIM> plan(p);
  if (const int status = fits(p, plan, context)) return status;
  const BufferSizes need(p, plan, operation);
  out->count = 0;
  for (int b = 0; b < BufferId::count; ++b) {
    if (roles[b].role[operation] == SWEEP_NONE) continue;
    sweep_need& to = out->buffer[out->count++];
    to.bytes = need.bytes[b].count;
    to.role = roles[b].role[operation];
    to.type = roles[b].type;
    snprintf(to.name, SWEEP_NAME_BYTES, "%s", roles[b].name);
  }
  return SWEEP_OK;
}

template <class Eq, class T, int NDIM, int HALF>
struct Entry {
  using R = KernelContext<Eq, T, NDIM, HALF>;
  static int run(const sweep_problem& p, int operation, const sweep_buffer* buffers, const sweep_context* context) {
    if (!has_run(operation))
      return fail(context, SWEEP_UNSUPPORTED, "operation is %d; this library was compiled without it", operation);
    const Plan<typename Eq::Any, NDIM> plan(p);
    if (const int status = fits(p, plan, context)) return status;
    if (operation == SWEEP_ADJOINT && p.chunk < 1)
      return fail(context, SWEEP_BAD_CALL, "chunk is %d; an adjoint run needs a history (chunk >= 1)", p.chunk);
    const BufferSizes need(p, plan, operation);
    BoundBuffers<T> bound;
    if (const int status = bound.bind(buffers, need, operation, context)) return status;
    Device device(context, bound.indices(BufferId::flag));
    for (int b = 0; b < BufferId::count; ++b)
      if (bound.at[b] && roles[b].type == SWEEP_BYTES) device.in_large_pages(bound.at[b], need.bytes[b].count);
    T* const workspace = bound.values(BufferId::workspace);
    R run{plan, bound.values(BufferId::tables), bound.values(BufferId::coefficients),
          p.earths > 1 ? plan.coefficient_cells() : 0, workspace};
    run.stencils.set(p.weights, workspace, plan.half);
    // A call that continues a run keeps the flag of the call before.
    const bool begins = operation == SWEEP_ADJOINT ? p.last == p.steps : p.first == 0;
    if (const int status = begins ? device.start(run, p) : SWEEP_OK) return status;
    if (const int status = check(device, run, p, bound)) return status;
    return device.in_team(plan, [&](const auto& member) { return compute(member, run, p, operation, bound); });
  }

 private:
  // The operation, on a device or by one thread of its team.
  template <class Member>
  static int compute(const Member& device, const R& run, const sweep_problem& p, int operation,
                     const BoundBuffers<T>& bound) {
    const auto& plan = run.plan;
    T* const workspace = bound.values(BufferId::workspace);
    if (const int status = prepare(device, run, p, workspace)) return status;
    T* const scratch = workspace + prepared_size(plan, p.earths).count;
    if (operation == SWEEP_BORN)
      if (const int status = with_ghosts(device, run, bound.values(BufferId::tangent_coefficients), scratch, p.earths))
        return status;
    int status = SWEEP_OK;
    if constexpr (has_run(SWEEP_FORWARD))
      if (operation == SWEEP_FORWARD) status = device.execute(plan, forward(run, p, bound, scratch));
    if constexpr (has_run(SWEEP_BORN))
      if (operation == SWEEP_BORN) status = device.execute(plan, born(run, p, bound, scratch));
    if constexpr (has_run(SWEEP_ADJOINT))
      if (operation == SWEEP_ADJOINT) {
        status = device.execute(plan, adjoint(run, p, bound, scratch));
        if (!status) status = adjoint(run, p, bound, scratch).finish(device, p.earths);
      }
    if (status) return status;
    const BufferSizes need(p, plan, operation);
    for (int b = 0; b < BufferId::count; ++b)
      if (roles[b].role[operation] == SWEEP_OUT && roles[b].type == SWEEP_VALUES)
        if (const int status = device.poison(static_cast<T*>(bound.at[b]), need.bytes[b].count / int64_t{sizeof(T)}))
          return status;
    return SWEEP_OK;
  }

  // Checks the lists of points that an operation has.
  static int check(const Device& device, const R& run, const sweep_problem& p, const BoundBuffers<T>& bound) {
    constexpr struct {
      BufferId::Buffer first;
      bool inject;
    } lists[] = {{BufferId::source_inject_cell, true},
                 {BufferId::source_gather_cell, false},
                 {BufferId::receiver_inject_cell, true},
                 {BufferId::receiver_gather_cell, false}};
    for (const auto& list : lists)
      if (bound.at[list.first])
        if (const int status = device.check(run, p, bound.points(list.first, p), list.inject)) return status;
    return SWEEP_OK;
  }

  static History<R> history(const R& run, int operation, const BoundBuffers<T>& bound, T* room) {
    return {run, operation, bound.values(BufferId::history), bound.values(BufferId::checkpoints), room};
  }

  static Forward<R> forward(const R& run, const sweep_problem& p, const BoundBuffers<T>& bound, T* scratch) {
    return {run,
            bound.points(BufferId::source_inject_cell, p),
            bound.points(BufferId::receiver_gather_cell, p),
            Snapshots<NDIM>(p),
            bound.values(BufferId::wavelet),
            bound.values(BufferId::record),
            bound.values(BufferId::snapshots),
            bound.values(BufferId::state),
            history(run, SWEEP_FORWARD, bound, scratch)};
  }

  static Adjoint<R> adjoint(const R& run, const sweep_problem& p, const BoundBuffers<T>& bound, T* scratch) {
    return {run,
            bound.points(BufferId::source_inject_cell, p),
            bound.points(BufferId::source_gather_cell, p),
            bound.points(BufferId::receiver_inject_cell, p),
            bound.values(BufferId::wavelet),
            bound.values(BufferId::cotangent),
            bound.values(BufferId::gradient_wavelet),
            bound.values(BufferId::state),
            bound.values(BufferId::gradient_coefficients),
            history(run, SWEEP_ADJOINT, bound, scratch)};
  }

  static Born<R> born(const R& run, const sweep_problem& p, const BoundBuffers<T>& bound, T* tangent) {
    return {run,
            bound.points(BufferId::source_inject_cell, p),
            bound.points(BufferId::receiver_gather_cell, p),
            bound.values(BufferId::wavelet),
            tangent,
            bound.values(BufferId::tangent_wavelet),
            bound.values(BufferId::record),
            bound.values(BufferId::state),
            tangent + p.earths * run.plan.coefficient_size()};
  }
};

// A library of one problem defines SWEEP_NDIMS, SWEEP_DTYPES and SWEEP_ORDER, and runs these alone. SWEEP_NDIMS and
// SWEEP_DTYPES have a bit for each number of dimensions and each sweep_dtype.
#if !defined(SWEEP_NDIMS)
#define SWEEP_NDIMS (IN_2D | IN_3D)
#endif
#if !defined(SWEEP_DTYPES)
#define SWEEP_DTYPES (1 << SWEEP_FLOAT32 | 1 << SWEEP_FLOAT64)
#endif

// The number of spatial orders with loops of their own: order 4 comes first, then 8, then 2 and 6. All other orders
// share one loop. So do all orders in the build for any processor, and in double precision except for second order in
// 2-D.
#if !defined(SWEEP_MOST_ORDERS)
#define SWEEP_MOST_ORDERS 4
#endif
template <class T, int NDIM, bool SECOND>
constexpr int own_orders() {
  constexpr bool plane = NDIM == 2 && SECOND, single = sizeof(T) == 4;
  constexpr int most = plane && single && !all_shots_per_launch     ? 4
                       : plane || (single && (NDIM == 2 || SECOND)) ? 2
                                                                    : single;
  return most < SWEEP_MOST_ORDERS ? most : SWEEP_MOST_ORDERS;
}

// Half the order that the loops of a library of one order know; 0 if it is known at run time only.
constexpr int half_of_order(int order) { return order <= 8 ? order / 2 : 0; }

// The calls for a dtype, a number of dimensions and an order.
template <class Physics, class T, int NDIM, int HALF>
constexpr Calls calls_of = {buffers<typename Equation<Physics, T, NDIM, HALF>::Any, NDIM>,
                            Entry<Equation<Physics, T, NDIM, HALF>, T, NDIM, HALF>::run};

template <class Physics, class T, int NDIM>
int find_order(const sweep_problem& p, const sweep_context* context, Calls* calls) {
  using Any = typename Equation<Physics, T, NDIM, 0>::Any;
  if (const int status = check_problem<Any, NDIM>(p, context)) return status;
#if defined(SWEEP_ORDER)
  if (p.order != SWEEP_ORDER)
    return fail(context, SWEEP_UNSUPPORTED, "order is %d; this library was compiled for order %d", p.order,
                SWEEP_ORDER);
  *calls = calls_of<Physics, T, NDIM, half_of_order(SWEEP_ORDER)>;
#else
  constexpr int own = own_orders<T, NDIM, Any::is_second_order>();
  *calls = calls_of<Physics, T, NDIM, 0>;
  if constexpr (own >= 1)
    if (p.order == 4) *calls = calls_of<Physics, T, NDIM, 2>;
  if constexpr (own >= 2)
    if (p.order == 8) *calls = calls_of<Physics, T, NDIM, 4>;
  if constexpr (own == 4) {
    if (p.order == 2) *calls = calls_of<Physics, T, NDIM, 1>;
    if (p.order == 6) *calls = calls_of<Physics, T, NDIM, 3>;
  }
#endif
  return SWEEP_OK;
}

template <class Physics>
int find(const sweep_problem& p, const sweep_context* context, Calls* calls) {
  constexpr unsigned ndims = Physics::ndims & SWEEP_NDIMS;
  constexpr bool single = SWEEP_DTYPES >> SWEEP_FLOAT32 & 1, twice = SWEEP_DTYPES >> SWEEP_FLOAT64 & 1;
  if constexpr (ndims >> 1 & single)
    if (p.ndim == 1 && p.dtype == SWEEP_FLOAT32) return find_order<Physics, float, 1>(p, context, calls);
  if constexpr (ndims >> 1 & twice)
    if (p.ndim == 1 && p.dtype == SWEEP_FLOAT64) return find_order<Physics, double, 1>(p, context, calls);
  if constexpr (ndims >> 2 & single)
    if (p.ndim == 2 && p.dtype == SWEEP_FLOAT32) return find_order<Physics, float, 2>(p, context, calls);
  if constexpr (ndims >> 2 & twice)
    if (p.ndim == 2 && p.dtype == SWEEP_FLOAT64) return find_order<Physics, double, 2>(p, context, calls);
  if constexpr (ndims >> 3 & single)
    if (p.ndim == 3 && p.dtype == SWEEP_FLOAT32) return find_order<Physics, float, 3>(p, context, calls);
  if constexpr (ndims >> 3 & twice)
    if (p.ndim == 3 && p.dtype == SWEEP_FLOAT64) return find_order<Physics, double, 3>(p, context, calls);
  return fail(context, SWEEP_UNSUPPORTED,
              "equation %s is not compiled for %d dimensions and dtype %d in this library; see sweep_describe",
              p.equation, p.ndim, p.dtype);
}

// Describes an equation in NDIM dimensions.
template <class Physics, int NDIM>
void describe(sweep_equation* out) {
  if constexpr ((Physics::ndims & SWEEP_NDIMS) >> NDIM & 1) {
    using Eq = Equation<Physics, float, NDIM, 0>;
    out->fields = field_count<Eq>;
    out->coefficients = coefficient_count<Eq>;
    out->levels = Eq::levels;
    out->memories = Eq::memories;
    out->reversible = Eq::table.is_reversible();
  }
}

template <class Physics>
Table make_table() {
  Table table;
  table.name = Physics::name;
  table.describe = [](int ndim, sweep_equation* out) {
    memset(out, 0, sizeof(*out));
    out->bytes = sizeof(*out);
    out->ndim_mask = Physics::ndims & SWEEP_NDIMS;
    snprintf(out->name, SWEEP_NAME_BYTES, "%s", Physics::name);
    snprintf(out->statement, SWEEP_STATEMENT_BYTES, "%s", Physics::statement);
    ndim == 1 ? describe<Physics, 1>(out) : ndim == 2 ? describe<Physics, 2>(out) : describe<Physics, 3>(out);
  };
  table.find = find<Physics>;
  return table;
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
