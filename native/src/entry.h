// From the C ABI to typed runs: checks the call, lays pointers over the caller's buffers, hands over to the device.
// A device (cpu/, cuda/) looks at the values when a run starts, executes and finishes it, and poisons the results of a
// run that it could not refuse.
#ifndef SWEEP_ENTRY_H
#define SWEEP_ENTRY_H

#include "driver.h"
#include "table.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

template <class Eq, class T, int NDIM, int HALF>
struct Entry {
  using R = Run<Eq, T, NDIM, HALF>;
  using Plan = sweep::Plan<Eq, NDIM>;

  static constexpr int64_t size = sizeof(T);

  // Bytes of every buffer that an operation may be handed. Cells and columns of points are int32.
  struct Bytes {
    Size coefficients, wavelet, record, snapshots, source_list, source_weights, receiver_list, receiver_weights, tables;
    Size state, history, checkpoints, workspace, scattering;
    Size flag = 4;

    Bytes(const sweep_problem& p, const Plan& plan, const Snapshots<NDIM>& asked) {
      const Size samples = Size(p.shots) * p.steps;
      coefficients = Size(p.earths) * plan.coefficient_cells() * size;
      wavelet = samples * p.source_columns * size;
      record = samples * p.receiver_columns * size;
      snapshots = Size(p.shots) * asked.times * asked.size() * size;
      source_list = Size(p.shots) * plan.sources * 4;
      source_weights = Size(p.shots) * plan.sources * size;
      receiver_list = Size(p.shots) * plan.receivers * 4;
      receiver_weights = Size(p.shots) * plan.receivers * size;
      tables = Size(plan.tables) * size;
      state = plan.forward(p.earths) * size;
      history = plan.history() * size;
      checkpoints = plan.checkpoints() * size;
      workspace = plan.workspace(p.earths) * size;
      scattering = plan.scattering(p.earths) * size;
    }

    // Together, whichever of them an operation uses, so that all refuse the same problems.
    int check(const sweep_context* context) const {
      const Size all = coefficients + wavelet + record + snapshots + source_list + source_weights + receiver_list +
                       receiver_weights + tables + state + history + checkpoints + workspace + scattering;
      return all.fits()
                 ? SWEEP_OK
                 : fail(context, SWEEP_BAD_CALL, "the problem is too large: its buffers have 2^60 bytes or more");
    }
  };

  static int query(const sweep_problem& p, sweep_sizes* sizes, const sweep_context* context) {
    const Bytes need(p, Plan(p, Device::together), Snapshots<NDIM>(p));
    if (const int status = need.check(context)) return status;
    sizes->state = need.state.count;
    sizes->history = need.history.count;
    sizes->checkpoints = need.checkpoints.count;
    sizes->workspace = need.workspace.count;
    sizes->scattering = need.scattering.count;
    sizes->tables = need.tables.count;
    return SWEEP_OK;
  }

  // `bytes` are those of `need` that an operation uses.
  static int expect(const sweep_buffer* buffers, const Bytes& need, const Size* bytes, int count,
                    const sweep_context* context) {
    if (const int status = need.check(context)) return status;
    for (int i = 0; i < count; ++i)
      if (buffers[i].bytes < bytes[i].count || (bytes[i].count > 0 && !buffers[i].data))
        return fail(context, SWEEP_BAD_CALL, "buffer %d has %lld bytes, the problem needs %lld", i,
                    static_cast<long long>(buffers[i].bytes), static_cast<long long>(bytes[i].count));
    return SWEEP_OK;
  }

  template <class U>
  static U* data(const sweep_buffer& buffer) {
    return static_cast<U*>(buffer.data);
  }

  static Points<T> points(const sweep_buffer* lists, const int32_t* counts, int columns) {
    Points<T> points;
    points.cell = data<int32_t>(lists[0]);
    points.column = data<int32_t>(lists[1]);
    points.weight = data<T>(lists[2]);
    for (int f = 0; f < SWEEP_MAX_FIELDS; ++f) points.count[f] = counts[f];
    points.total = static_cast<int>(sum(counts, SWEEP_MAX_FIELDS));
    points.columns = columns;
    return points;
  }

  static R make(const sweep_problem& p, const Plan& plan, const sweep_buffer& coefficients,
                const sweep_buffer& tables) {
    return {plan, data<T>(tables), data<T>(coefficients), p.earths > 1 ? plan.coefficient_cells() : 0};
  }

  static int forward(const sweep_problem& p, const sweep_buffer* b, const sweep_context* context) {
    const Plan plan(p, Device::together);
    const Snapshots<NDIM> asked(p);
    const Bytes need(p, plan, asked);
    const Size bytes[SWEEP_F_COUNT] = {
        need.coefficients,  need.wavelet,       need.source_list,      need.source_list, need.source_weights,
        need.receiver_list, need.receiver_list, need.receiver_weights, need.tables,      need.record,
        need.snapshots,     need.history,       need.checkpoints,      need.state,       need.flag};
    if (const int status = expect(b, need, bytes, SWEEP_F_COUNT, context)) return status;
    if (plan.keeps_all && !(p.first == 0 && p.last == p.steps))
      return fail(context, SWEEP_BAD_CALL, "a run that keeps its whole history is run in one call");
    const Points<T> inject = points(b + SWEEP_F_INJECT_CELL, p.source_points, p.source_columns);
    const Points<T> gather = points(b + SWEEP_F_GATHER_CELL, p.receiver_points, p.receiver_columns);
    Device device(context, data<int32_t>(b[SWEEP_F_FLAG]));
    const R run = make(p, plan, b[SWEEP_F_COEFFICIENTS], b[SWEEP_F_TABLES]);
    if (const int status = device.start(run, p)) return status;
    if (const int status = device.check(run, p, inject, true)) return status;
    if (const int status = device.check(run, p, gather, false)) return status;
    Forward<R> forward{run,
                       inject,
                       gather,
                       asked,
                       data<T>(b[SWEEP_F_WAVELET]),
                       data<T>(b[SWEEP_F_RECORD]),
                       data<T>(b[SWEEP_F_SNAPSHOTS]),
                       data<T>(b[SWEEP_F_HISTORY]),
                       data<T>(b[SWEEP_F_CHECKPOINTS]),
                       data<T>(b[SWEEP_F_STATE]),
                       p.first,
                       p.last};
    if (const int status = forward.prepare(device, p.earths)) return status;
    if (const int status = device.execute(plan, forward)) return status;
    if (const int status = device.poison(forward.snapshots, need.snapshots.count / size)) return status;
    return device.poison(data<T>(b[SWEEP_F_RECORD]), need.record.count / size);
  }

  static int adjoint(const sweep_problem& p, const sweep_buffer* b, const sweep_context* context) {
    const Plan plan(p, Device::together);
    const Bytes need(p, plan, Snapshots<NDIM>(p));
    const Size bytes[SWEEP_A_COUNT] = {
        need.coefficients,   need.wavelet,       need.source_list,      need.source_list, need.source_weights,
        need.receiver_list,  need.receiver_list, need.receiver_weights, need.source_list, need.source_list,
        need.source_weights, need.tables,        need.record,           need.history,     need.checkpoints,
        need.coefficients,   need.wavelet,       need.workspace,        need.flag};
    if (const int status = expect(b, need, bytes, SWEEP_A_COUNT, context)) return status;
    if (p.chunk < 1 || p.first != 0 || p.last != p.steps)
      return fail(context, SWEEP_BAD_CALL, "an adjoint run needs a history (chunk >= 1) and runs in one call");
    const Points<T> forward_sources = points(b + SWEEP_A_SOURCE_CELL, p.source_points, p.source_columns);
    const Points<T> inject = points(b + SWEEP_A_INJECT_CELL, p.receiver_points, p.receiver_columns);
    const Points<T> gather = points(b + SWEEP_A_GATHER_CELL, p.source_points, p.source_columns);
    Device device(context, data<int32_t>(b[SWEEP_A_FLAG]));
    const R run = make(p, plan, b[SWEEP_A_COEFFICIENTS], b[SWEEP_A_TABLES]);
    if (const int status = device.start(run, p)) return status;
    if (const int status = device.check(run, p, forward_sources, true)) return status;
    if (const int status = device.check(run, p, inject, true)) return status;
    if (const int status = device.check(run, p, gather, false)) return status;
    T* const workspace = data<T>(b[SWEEP_A_WORKSPACE]);
    T* const images = workspace + plan.lanes * (plan.adjoint_state() + plan.recomputed().count);
    Adjoint<R> adjoint{run,
                       forward_sources,
                       gather,
                       inject,
                       data<T>(b[SWEEP_A_WAVELET]),
                       data<T>(b[SWEEP_A_COTANGENT]),
                       data<T>(b[SWEEP_A_HISTORY]),
                       data<T>(b[SWEEP_A_CHECKPOINTS]),
                       data<T>(b[SWEEP_A_GRADIENT_WAVELET]),
                       workspace,
                       images,
                       images + plan.images().count};
    if (const int status = adjoint.prepare(device, p.earths)) return status;
    if (const int status = device.execute(plan, adjoint)) return status;
    T* const gradient = data<T>(b[SWEEP_A_GRADIENT_COEFFICIENTS]);
    if (const int status = device.finish(Reduce<R>{run, images, gradient, p.earths}, p.earths, plan.layout.cells))
      return status;
    if (const int status = device.poison(gradient, need.coefficients.count / size)) return status;
    return device.poison(adjoint.gradient_wavelet, need.wavelet.count / size);
  }

  static int born(const sweep_problem& p, const sweep_buffer* b, const sweep_context* context) {
    const Plan plan(p, Device::together);
    const Bytes need(p, plan, Snapshots<NDIM>(p));
    const Size bytes[SWEEP_B_COUNT] = {
        need.coefficients, need.wavelet,        need.coefficients,  need.wavelet,       need.source_list,
        need.source_list,  need.source_weights, need.receiver_list, need.receiver_list, need.receiver_weights,
        need.tables,       need.record,         need.scattering,    need.flag};
    if (const int status = expect(b, need, bytes, SWEEP_B_COUNT, context)) return status;
    if (p.first != 0 || p.last != p.steps) return fail(context, SWEEP_BAD_CALL, "a Born run runs in one call");
    const Points<T> inject = points(b + SWEEP_B_INJECT_CELL, p.source_points, p.source_columns);
    const Points<T> gather = points(b + SWEEP_B_GATHER_CELL, p.receiver_points, p.receiver_columns);
    Device device(context, data<int32_t>(b[SWEEP_B_FLAG]));
    const R run = make(p, plan, b[SWEEP_B_COEFFICIENTS], b[SWEEP_B_TABLES]);
    if (const int status = device.start(run, p)) return status;
    if (const int status = device.check(run, p, inject, true)) return status;
    if (const int status = device.check(run, p, gather, false)) return status;
    T* const record = data<T>(b[SWEEP_B_RECORD]);
    Born<R> born{run,
                 inject,
                 gather,
                 data<T>(b[SWEEP_B_WAVELET]),
                 data<T>(b[SWEEP_B_TANGENT_COEFFICIENTS]),
                 data<T>(b[SWEEP_B_TANGENT_WAVELET]),
                 record,
                 data<T>(b[SWEEP_B_SCATTERING])};
    if (const int status = born.prepare(device, p.earths)) return status;
    if (const int status = device.execute(plan, born)) return status;
    return device.poison(record, need.record.count / size);
  }
};

// How many orders have loops of their own: 4, then 8, then 2 and 6. The others share one, as all do in the build for
// any processor and, beside planes of second order, in double precision. What a GPU gains from them with systems of
// first order nobody has measured yet.
template <class T, int NDIM, bool SECOND>
constexpr int own_orders() {
#if defined(SWEEP_ANY_ORDER)
  return 0;
#elif defined(__CUDACC__)
  if (!SECOND) return 0;
#endif
  if (NDIM == 2 && SECOND) return sizeof(T) == 4 ? 4 : 2;
  if (sizeof(T) != 4) return 0;
  return NDIM == 2 || SECOND ? 2 : 1;
}

// Calls f(Entry) for the build that fits dtype, dimension and order.
template <template <class, int, int> class Equation, class T, int NDIM, class F>
int with_order(const sweep_problem& p, const sweep_context* context, const F& f) {
  using Any = Equation<T, NDIM, 0>;
  if (const int status = check_problem<Any, NDIM>(p, context)) return status;
  constexpr int own = own_orders<T, NDIM, Any::second>();
  if constexpr (own >= 1)
    if (p.order == 4) return f(Entry<Equation<T, NDIM, 2>, T, NDIM, 2>{});
  if constexpr (own >= 2)
    if (p.order == 8) return f(Entry<Equation<T, NDIM, 4>, T, NDIM, 4>{});
  if constexpr (own == 4) {
    if (p.order == 2) return f(Entry<Equation<T, NDIM, 1>, T, NDIM, 1>{});
    if (p.order == 6) return f(Entry<Equation<T, NDIM, 3>, T, NDIM, 3>{});
  }
  return f(Entry<Any, T, NDIM, 0>{});
}

template <template <class, int, int> class Equation, class F>
int with_entry(const sweep_problem& p, const sweep_context* context, const F& f) {
  constexpr int dimensions = Equation<float, 2, 0>::ndim_mask;
  if constexpr (dimensions >> 2 & 1) {
    if (p.ndim == 2 && p.dtype == SWEEP_FLOAT32) return with_order<Equation, float, 2>(p, context, f);
    if (p.ndim == 2 && p.dtype == SWEEP_FLOAT64) return with_order<Equation, double, 2>(p, context, f);
  }
  if constexpr (dimensions >> 3 & 1) {
    if (p.ndim == 3 && p.dtype == SWEEP_FLOAT32) return with_order<Equation, float, 3>(p, context, f);
    if (p.ndim == 3 && p.dtype == SWEEP_FLOAT64) return with_order<Equation, double, 3>(p, context, f);
  }
  return fail(context, SWEEP_UNSUPPORTED, "equation %s is not compiled for %d dimensions and dtype %d", p.equation,
              p.ndim, p.dtype);
}

// What an equation's header says of itself in so many dimensions.
template <class Eq>
void describe(sweep_equation* out) {
  memset(out, 0, sizeof(*out));
  out->bytes = sizeof(*out);
  out->fields = field_count<Eq>;
  out->coefficients = coefficient_count<Eq>;
  out->levels = Eq::levels;
  out->memories = Eq::memories;
  out->ndim_mask = Eq::ndim_mask;
  snprintf(out->name, SWEEP_NAME_BYTES, "%s", Eq::name);
  for (int i = 0; i < field_count<Eq>; ++i) snprintf(out->field[i], SWEEP_NAME_BYTES, "%s", Eq::fields[i]);
  for (int i = 0; i < coefficient_count<Eq>; ++i)
    snprintf(out->coefficient[i], SWEEP_NAME_BYTES, "%s", Eq::coefficients[i]);
  constexpr Tables table = Eq::table;
  out->rates = table.rates;
  out->terms = table.terms;
  out->moduli = table.moduli;
  for (int i = 0; i < table.fields; ++i) {
    out->stagger[i] = static_cast<int32_t>(table.field[i].stagger);
    out->parity[i] = table.field[i].parity;
    out->source[i] = table.field[i].source;
    out->order[i] = table.field[i].order;
  }
  for (int i = 0; i < table.rates; ++i) {
    out->sign[i] = table.sign[i];
    out->stretched[i] = table.stretched[i];
  }
  for (int i = 0; i < table.terms; ++i) {
    const int32_t term[] = {table.term[i].rate, table.term[i].axis, table.term[i].field};
    memcpy(out->term[i], term, sizeof(term));
    out->of[table.term[i].rate] = table.term[i].of;
  }
  for (int i = 0; i < table.moduli; ++i) {
    const int32_t modulus[] = {table.modulus[i].target, table.modulus[i].rate, table.modulus[i].coefficient};
    memcpy(out->modulus[i], modulus, sizeof(modulus));
  }
}

template <template <class, int, int> class Equation>
Table make_table() {
  Table table;
  table.name = Equation<float, 2, 0>::name;
  table.describe = [](int ndim, sweep_equation* out) {
    ndim == 2 ? describe<Equation<float, 2, 0>>(out) : describe<Equation<float, 3, 0>>(out);
  };
  table.query = [](const sweep_problem& p, sweep_sizes* sizes, const sweep_context* context) {
    return with_entry<Equation>(p, context, [&](auto entry) { return entry.query(p, sizes, context); });
  };
  table.forward = [](const sweep_problem& p, const sweep_buffer* buffers, const sweep_context* context) {
    return with_entry<Equation>(p, context, [&](auto entry) { return entry.forward(p, buffers, context); });
  };
  table.adjoint = [](const sweep_problem& p, const sweep_buffer* buffers, const sweep_context* context) {
    return with_entry<Equation>(p, context, [&](auto entry) { return entry.adjoint(p, buffers, context); });
  };
  table.born = [](const sweep_problem& p, const sweep_buffer* buffers, const sweep_context* context) {
    return with_entry<Equation>(p, context, [&](auto entry) { return entry.born(p, buffers, context); });
  };
  return table;
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
