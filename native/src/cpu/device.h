// The CPU as a device: it checks values before a run starts, and returns an error at once.
#ifndef SWEEP_CPU_DEVICE_H
#define SWEEP_CPU_DEVICE_H

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../abi/fail.h"
#include "launcher.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// The device as one thread of a team sees it.
class Member {
 public:
  Member(const sweep_context* context, Team& team, int rank, int size)
      : context_(context), team_(team), rank_(rank), size_(size) {}

  // Runs body(launcher, shot) for all shots: one thread for each group where the groups divide evenly among threads,
  // otherwise all threads on one shot after the other. Threads never share a grid of one axis. Sums and their order are
  // the same in both cases.
  template <class Plan, class Body>
  int execute(const Plan& plan, const Body& body) const {
    if (size_ == 1 || Plan::ndim == 1 ||
        (plan.groups >= size_ && (plan.groups % size_ == 0 || plan.groups >= 4 * size_))) {
      Launcher launcher(0, 1, context_, team_);
      for (int group; (group = team_.next_group.fetch_add(1, std::memory_order_relaxed)) < plan.groups;)
        for (int shot = plan.group_begin(group); shot < plan.group_begin(group + 1); ++shot)
          body(launcher, Span{shot, 1});
    } else {
      Launcher launcher(rank_, size_, context_, team_);
      for (int shot = 0; shot < plan.shots; ++shot) body(launcher, Span{shot, 1});
    }
    team_.barrier.meet(size_);
    return team_.stop.load(std::memory_order_relaxed) ? SWEEP_CANCELLED : SWEEP_OK;
  }

  // Calls f.element(part, i) for all parts and i, before or after the time steps.
  template <class F>
  int finish(const F& f, int parts, ptrdiff_t count) const {
    const ptrdiff_t begin = count * rank_ / size_, end = count * (rank_ + 1) / size_;
    for (ptrdiff_t i = begin; i < end; ++i)
      for (int part = 0; part < parts; ++part) f.element(part, i);
    team_.barrier.meet(size_);
    return SWEEP_OK;
  }

  // The CPU refuses bad values before a run.
  template <class T>
  int poison(T*, int64_t) const {
    return SWEEP_OK;
  }

 private:
  const sweep_context* context_;
  Team& team_;
  int rank_, size_;
};

class Device {
 public:
  Device(const sweep_context* context, int32_t* flag) : context_(context) { *flag = SWEEP_OK; }

  // Asks for large pages before an array is filled: a cell reads many rows, and each would lie in another small page.
  // No result depends on the answer of the system.
  void in_large_pages(void* data, int64_t bytes) const {
#if defined(MADV_HUGEPAGE)
    constexpr uintptr_t page = 2 << 20;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(data), first = (begin + page - 1) / page * page;
    const uintptr_t end = (begin + static_cast<uintptr_t>(bytes)) / page * page;
    if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#endif
  }

  template <class R>
  int start(const R& run, const sweep_problem& p) const {
    for (int earth = 0; earth < p.earths; ++earth)
      for (int c = 0; c < run.plan.coefficients; ++c)
        if (const int status = check_coefficient(run, p, earth, c)) return status;
    return SWEEP_OK;
  }

  // Calls work(device) on all threads of a call; `execute` and `finish` of that device share their work among them.
  // There is one parallel region, because threads spin for a long time where a region of OpenMP begins and ends.
  template <class Plan, class Work>
  int in_team(const Plan& plan, const Work& work) const {
    // A thread with too few cells takes less time to compute them than the others wait for it at a barrier.
    const ptrdiff_t useful_threads = 1 + plan.layout.cells * plan.shots / cells_per_barrier;
    const int max_threads = threads_of(context_);
    [[maybe_unused]] const int threads = max_threads < useful_threads ? max_threads : static_cast<int>(useful_threads);
    Team team;
    int status = SWEEP_OK;
#pragma omp parallel num_threads(threads)
    {
      const FlushDenormals mode;
#if defined(_OPENMP)
      const int rank = omp_get_thread_num(), size = omp_get_num_threads();
#else
      const int rank = 0, size = 1;
#endif
      const int result = work(Member(context_, team, rank, size));
      if (rank == 0) status = result;
      team.barrier.meet_last(rank, size);
    }
    return status == SWEEP_CANCELLED ? fail(context_, status, "cancelled by the caller") : status;
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
    while (!status_of_value(value[i], floor, limit)) ++i;
    const char* name = R::Equation::coefficients[c];
    const double number = static_cast<double>(value[i]);
    if (status_of_value(value[i], floor, limit) == SWEEP_UNSTABLE)
      return fail_unstable(p, *std::max_element(value, value + cells));
    return fail(context_, SWEEP_BAD_VALUE, "%s is %g at cell %lld; it must be finite%s, and dt stable", name, number,
                static_cast<long long>(i),
                floor == 0   ? " and positive"
                : floor < -1 ? ""
                             : " and not negative");
  }

  // The text equals that of sweep_core.execution.call_checks.check_values: six digits, rounded down.
  int fail_unstable(const sweep_problem& p, double largest) const {
    char spacing[128] = "";
    for (int a = 0, n = 0; a < p.ndim; ++a)
      n += snprintf(spacing + n, sizeof(spacing) - n, a ? ", %g" : "%g", p.spacing[a]);
    return fail(
        context_, SWEEP_UNSTABLE,
        "dt = %g s is unstable in these models at dh = (%s) m and spatial_order %d; the largest stable dt is %.6g s",
        p.dt, spacing, p.order, p.dt * std::sqrt(p.coefficient_limit / largest) * (1 - 5e-6));
  }

  const sweep_context* context_;
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep

#include "../abi/entry.h"
#endif
