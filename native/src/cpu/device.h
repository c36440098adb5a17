// The CPU as a device: values are checked before anything runs, and an error is returned at once.
#ifndef SWEEP_CPU_DEVICE_H
#define SWEEP_CPU_DEVICE_H

#include "launcher.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

class Device {
 public:
  Device(const sweep_context* context, int32_t* flag) : context_(context) { *flag = SWEEP_OK; }

  template <class R>
  int start(const R& run, const sweep_problem& p) const {
    for (int earth = 0; earth < p.earths; ++earth)
      for (int c = 0; c < run.plan.coefficients; ++c)
        if (const int status = check_coefficient(run, p, earth, c)) return status;
    return SWEEP_OK;
  }

  template <class Plan, class Body>
  int execute(const Plan& plan, const Body& body) const {
    if (sweep::execute(plan, context_, body)) return fail(context_, SWEEP_CANCELLED, "cancelled by the caller");
    return SWEEP_OK;
  }

  template <class F>
  int finish(const F& f, int parts, ptrdiff_t count) const {
    sweep::finish(f, parts, count, context_);
    return SWEEP_OK;
  }

  template <class T>
  int poison(T*, int64_t) const {
    return SWEEP_OK;
  }

  template <class R>
  int check(const R& run, const sweep_problem& p, const Points<typename R::Value>& points, bool inject) const {
    const ptrdiff_t cells = run.plan.layout.cells;
    for (int shot = 0; shot < p.shots; ++shot) {
      ptrdiff_t i = static_cast<ptrdiff_t>(shot) * points.total;
      for (int field = 0; field < SWEEP_MAX_FIELDS; ++field) {
        const int of_trace = points.traces ? points.count[field] / points.traces : 0;
        for (int n = 0; n < points.count[field]; ++n, ++i) {
          if (!points.fits(i, cells))
            return fail(context_, SWEEP_BAD_VALUE, "a position of shot %d lies outside the model (point %d)", shot, n);
          if (!points.in_order(i, n, of_trace, inject))
            return fail(context_, SWEEP_BAD_CALL, "the points to %s (shot %d)",
                        inject ? "inject at are not sorted by cell" : "gather at are not sorted by trace and column",
                        shot);
        }
      }
    }
    return SWEEP_OK;
  }

 private:
  template <class R>
  int check_coefficient(const R& run, const sweep_problem& p, int earth, int c) const {
    using T = typename R::Value;
    const ptrdiff_t cells = run.plan.layout.cells;
    const T* const value = run.coefficient + earth * run.earth_stride + c * cells;
    const T limit = limit_of<T>(p, c), floor = floor_of<typename R::Equation, T>(c);
    int good = 1;
#pragma omp simd reduction(& : good)
    for (ptrdiff_t i = 0; i < cells; ++i)
      good &= static_cast<int>(value[i] > floor) & static_cast<int>(value[i] <= limit);
    if (good) return SWEEP_OK;
    ptrdiff_t i = 0;
    while (!judge(value[i], floor, limit)) ++i;
    const char* name = R::Equation::coefficients[c];
    const double given = static_cast<double>(value[i]);
    if (judge(value[i], floor, limit) == SWEEP_UNSTABLE)
      return fail(context_, SWEEP_UNSTABLE, "%s is %g at cell %lld; dt is stable up to %g: take a smaller dt", name,
                  given, static_cast<long long>(i), p.coefficient_limit);
    return fail(context_, SWEEP_BAD_VALUE, "%s is %g at cell %lld; it must be finite%s, and dt stable", name, given,
                static_cast<long long>(i),
                floor == 0   ? " and positive"
                : floor < -1 ? ""
                             : " and not negative");
  }

  const sweep_context* context_;
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep

#include "../entry.h"
#endif
