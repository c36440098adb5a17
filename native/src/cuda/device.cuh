// A GPU as a device. A call queues its work and returns. The GPU checks values in its memory, writes an error status to
// the caller's flag, and then turns the results into NaN.
#ifndef SWEEP_CUDA_DEVICE_H
#define SWEEP_CUDA_DEVICE_H

#include <math.h>

#include "../abi/fail.h"
#include "card.cuh"
#include "launcher.cuh"

namespace sweep {
inline namespace SWEEP_VARIANT {

// Raises the flag to a status. The largest of several statuses stays, in any order of threads.
SWEEP_HD void raise_flag(int32_t* flag, int32_t status) {
#if defined(__CUDA_ARCH__)
  atomicMax(flag, status);
#else
  if (*flag < status) *flag = status;
#endif
}

struct ClearFlag {
  int32_t* flag;
  SWEEP_HD void element(int, ptrdiff_t) const { *flag = SWEEP_OK; }
};

template <class R>
struct CheckCoefficient {
  using T = typename R::Value;
  R run;
  int coefficient;
  T limit;
  int32_t* flag;
  SWEEP_HD void element(int earth, ptrdiff_t cell) const {
    const T value = run.coefficient[earth * run.earth_stride + coefficient * run.plan.layout.cells + cell];
    if (const int status = status_of_value(value, floor_of<typename R::Equation, T>(coefficient), limit))
      raise_flag(flag, status);
  }
};

template <class T>
struct CheckPoint {
  Points<T> points;
  ptrdiff_t begin, cells;  // the first point of a field in the first shot; cells of the grid
  int of_trace;
  bool inject;
  int32_t* flag;
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    const ptrdiff_t p = points.begin(shot) + begin + i;
    if (!points.fits(p, cells))
      raise_flag(flag, SWEEP_BAD_VALUE);
    else if (!points.in_order(p, static_cast<int>(i), of_trace, inject))
      raise_flag(flag, SWEEP_BAD_CALL);
  }
};

template <class T>
struct Poison {
  T* values;
  const int32_t* flag;
  SWEEP_HD void element(int, ptrdiff_t i) const {
    if (*flag) values[i] = static_cast<T>(NAN);
  }
};

class Device {
 public:
  Device(const sweep_context* context, int32_t* flag) : context_(context), flag_(flag), card_(flag) {}

  template <class R>
  int start(const R& run, const sweep_problem& p) const {
    using T = typename R::Value;
    return with_launcher([&](Launcher& launcher) {
      launcher.elements(ClearFlag{flag_}, 1, Span{0, 1});
      for (int c = 0; c < run.plan.coefficients; ++c)
        launcher.elements(CheckCoefficient<R>{run, c, limit_of<T>(p, c), flag_}, run.plan.layout.cells,
                          Span{0, p.earths});
    });
  }

  template <class R>
  int check(const R& run, const sweep_problem& p, const Points<typename R::Value>& points, bool inject) const {
    using Check = CheckPoint<typename R::Value>;
    return with_launcher([&](Launcher& launcher) {
      points.each(0, [&](int, ptrdiff_t begin, int count) {
        const Check check{points, begin, run.plan.layout.cells, count / points.traces, inject, flag_};
        launcher.elements(check, count, Span{0, p.shots});
      });
    });
  }

  // Calls work(device) once; on a CPU all threads call it.
  template <class Plan, class Work>
  int in_team(const Plan&, const Work& work) const {
    return work(*this);
  }

  template <class Plan, class Body>
  int execute(const Plan& plan, const Body& body) const {
    return with_launcher([&](Launcher& launcher) { body(launcher, Span{0, plan.shots}); });
  }

  template <class F>
  int finish(const F& f, int parts, ptrdiff_t count) const {
    return with_launcher([&](Launcher& launcher) { launcher.elements(f, count, Span{0, parts}); });
  }

  void in_large_pages(void*, int64_t) const {}  // all memory of a card has large pages

  template <class T>
  int poison(T* values, int64_t count) const {
    return with_launcher([&](Launcher& launcher) { launcher.elements(Poison<T>{values, flag_}, count, Span{0, 1}); });
  }

 private:
  template <class Work>
  int with_launcher(const Work& work) const {
    if (card_.error()) return fail(context_, SWEEP_DEVICE, "CUDA: %s", card_.error());
    Launcher launcher(context_->stream, context_->control);
    work(launcher);
    if (launcher.error()) return fail(context_, SWEEP_DEVICE, "CUDA: %s", launcher.error());
    if (launcher.cancelled()) return fail(context_, SWEEP_CANCELLED, "cancelled by the caller");
    return SWEEP_OK;
  }

  const sweep_context* context_;
  int32_t* flag_;
  Card card_;
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep

#include "../abi/entry.h"
#endif
