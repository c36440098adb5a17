// A typed run: the cells that the waves of a shot reach, and the pointers to its arrays.
#ifndef SWEEP_ENGINE_CONTEXT_H
#define SWEEP_ENGINE_CONTEXT_H

#include <string.h>

#include "plan.h"
#include "points.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// Copies consecutive values; without a source it fills with zero.
template <class T>
SWEEP_HD void copy_row(T* to, const T* from, ptrdiff_t count) {
  if constexpr (all_shots_per_launch)
    for (ptrdiff_t i = 0; i < count; ++i) to[i] = from ? from[i] : T(0);
  else if (from)
    memcpy(to, from, count * sizeof(T));
  else
    memset(to, 0, count * sizeof(T));
}

template <class T>
SWEEP_HD constexpr T largest() {
  return sizeof(T) == 4 ? static_cast<T>(3.402823466e38) : static_cast<T>(1.7976931348623157e308);
}

// The largest value that coefficient c may have, rounded up.
template <class T>
T limit_of(const sweep_problem& p, int c) {
  const double limit = p.coefficient_limit * (1 + 1e-6);
  return c == 0 && limit < largest<T>() ? static_cast<T>(limit) : largest<T>();
}

// The bound that a coefficient must exceed: zero, or a tiny negative number that admits zero, or minus the largest
// number.
template <class Eq, class T>
SWEEP_HD T floor_of(int c) {
  if (Eq::range(c) == NOT_NEGATIVE) return sizeof(T) == 4 ? static_cast<T>(-1.2e-38) : static_cast<T>(-2.3e-308);
  if (Eq::range(c) == ANY) return -largest<T>();
  return 0;
}

// The sweep_status of the value of a coefficient.
template <class T>
SWEEP_HD int status_of_value(T value, T floor, T limit) {
  if (value > floor && value <= limit) return SWEEP_OK;
  return value > floor && value <= largest<T>() ? SWEEP_UNSTABLE : SWEEP_BAD_VALUE;
}

// The active cells of one shot: a wave of its sources may have reached them, and can get from them to a receiver by the
// end. Other cells hold zero, or values that no receiver records, and need not be computed.
template <class R>
struct ActiveBox {
  static constexpr int ndim = R::ndim;
  Box<ndim> sources, receivers;

  // The active cells of step k.
  SWEEP_HD_APART Box<ndim> after(const R& run, int k) const {
    const int remaining = run.last_step() - k;
    return overlap(run.reached(sources, k), run.reached(receivers, remaining > 0 ? remaining : 0));
  }
};

// The cells that a number of differences, or of steps of second order, one after the other, reach from the cells of a
// box, in whole vectors. Inside a PML, too, such a step reaches half a stencil, since R^T R does.
// Differences beside a free surface reach all of the first rows.
template <int NDIM>
SWEEP_HD Box<NDIM> reached_by_differences(const Layout<NDIM>& layout, Box<NDIM> from, int differences) {
  const int near = layout.near;
  if (from.high[0] < near) from.high[0] = near;
  Box<NDIM> box;
  for (int a = 0; a < NDIM; ++a) {
    const int n = layout.field.n[a], unit = a == NDIM - 1 ? 16 : 1;
    const ptrdiff_t far = static_cast<ptrdiff_t>(differences) * layout.half;
    const ptrdiff_t low = from.low[a] - far, high = from.high[a] + far;
    box.low[a] = low <= 0 ? 0 : static_cast<int>(low) / unit * unit;
    box.high[a] = high >= n ? n : (static_cast<int>(high) + unit - 1) / unit * unit;
    if (box.high[a] > n) box.high[a] = n;
  }
  if (box.low[0] < near) box.low[0] = 0;
  return box;
}

// An array with a part for each shot, or for each group of shots, which use it one after the other.
template <class T>
struct PerShotArray {
  T* base;
  ptrdiff_t stride;
  bool by_shot;
  SWEEP_HD T* of(const ShotGroups& groups, int shot) const {
    return base + (by_shot ? shot : groups.group_of(shot)) * stride;
  }
};

template <class Eq, class Real, int NDIM, int HALF>
struct KernelContext {
  using Equation = Eq;
  using Value = Real;
  using View = sweep::View<Value, NDIM, HALF>;
  using Wave = PerShotArray<Value>;  // fields, then memory variables
  static constexpr int ndim = NDIM;

  Plan<typename Eq::Any, NDIM> plan;
  const Value* tables;
  const Value* coefficient;  // the caller's
  ptrdiff_t earth_stride;
  const Value* prepared;  // stencil weights, profiles, then coefficients of each earth
  Stencils<Value, NDIM, HALF> stencils = {};

  SWEEP_HD Box<ndim> reached(const Box<ndim>& from, int differences) const {
    return reached_by_differences(plan.layout, from, differences);
  }
  SWEEP_HD int last_step() const { return Eq::is_second_order ? plan.steps - 2 : Eq::stages * (plan.steps - 1); }
  // The fields that time step u computes. For second order the two levels alternate.
  SWEEP_HD Value* level(const Wave& wave, int shot, int u) const {
    return wave.of(plan, shot) + (Eq::is_second_order && u % 2 ? field_count<Eq> * plan.total : 0);
  }
  SWEEP_HD const Value* earth(const Value* with_ghosts, int shot) const {
    return with_ghosts + (earth_stride ? shot : 0) * plan.coefficient_size();
  }
  SWEEP_HD View view(int shot) const {
    View v = {};
    static_cast<Stencils<Value, NDIM, HALF>&>(v) = stencils;
    v.layout = plan.layout;
    const Value *table = tables, *profile = prepared + plan.weights();
    for (int a = 0; a < NDIM; ++a) {
      table += plan.profiles_of_caller * plan.layout.field.n[a];
      for (int i = 0; i < 3; ++i) v.profile[a][i] = profile + i * plan.profile[a];
      v.profile[a][3] = profile + (plan.profiles_of_caller + 1) * plan.profile[a];
      v.half_profile[a] = 3 * plan.profile[a];
      if (a == NDIM - 1) v.inside = profile + plan.profiles_of_caller * plan.profile[a];
      profile += plan.profiles_of_axis * plan.profile[a];
      v.slab_at[a] = plan.slab_at[a];
    }
    v.closure = table;
    v.constants = table + plan.closure_size();
    v.slabs = plan.slabs;
    v.close();
    v.coefficient = earth(profile, shot);
    return v;
  }
  SWEEP_HD View view(const Wave& wave, int shot, int u) const {
    View v = view(shot);
    v.field = level(wave, shot, u);
    v.now = level(wave, shot, u + 1);
    v.memory = wave.of(plan, shot) + plan.wave();
    return v;
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
