// Work on whole arrays, as functors of (shot, index). A Launcher distributes the calls.
#ifndef SWEEP_ENGINE_ARRAY_FUNCTORS_H
#define SWEEP_ENGINE_ARRAY_FUNCTORS_H

#include "context.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// Copies one shot's part of an array to another array; without a source it fills with zero.
template <class T>
struct Copy {
  ShotGroups groups;
  PerShotArray<T> to;
  PerShotArray<const T> from;
  SWEEP_HD void element(int shot, ptrdiff_t i) const { row(shot, i, 1); }
  SWEEP_HD void row(int shot, ptrdiff_t i, ptrdiff_t count) const {
    copy_row(to.of(groups, shot) + i, from.base ? from.of(groups, shot) + i : nullptr, count);
  }
};

template <class Launcher, class T>
void copy(Launcher& launcher, Span shots, const ShotGroups& groups, PerShotArray<T> to, PerShotArray<const T> from,
          ptrdiff_t count) {
  launcher.elements(Copy<T>{groups, to, from}, count, shots);
}

// Copies row `row` into an array with ghost cells, and zeroes the ghost cells up to the next row.
template <class Layout, class Value>
SWEEP_HD void row_with_ghosts(const Layout& layout, Value* to, const Value* from, ptrdiff_t row, ptrdiff_t rows) {
  const int n = layout.field.n[sizeof(layout.field.n) / sizeof(int) - 1];
  const ptrdiff_t begin = layout.cell(row * n).at,
                  end = row + 1 < rows ? layout.cell((row + 1) * n).at : layout.field.total;
  for (ptrdiff_t i = row ? begin : 0; i < end; ++i)
    to[i] = i >= begin && i < begin + n ? from[row * n + i - begin] : Value(0);
}

// Copies coefficients into arrays with ghost cells. A part is one coefficient of one earth, an index a row.
template <class R>
struct WithGhosts {
  using Value = typename R::Value;
  R run;
  const Value* from;
  Value* to;
  static ptrdiff_t rows(const R& run) { return run.plan.layout.cells / run.plan.layout.field.n[R::ndim - 1]; }
  ptrdiff_t count;  // rows of a part
  SWEEP_HD void element(int part, ptrdiff_t row) const {
    row_with_ghosts(run.plan.layout, to + part * run.plan.total, from + part * run.plan.layout.cells, row, count);
  }
};

// Copies the stencil weights. A part is an axis.
template <class R>
struct Weights {
  using Value = typename R::Value;
  Value weights[R::ndim][SWEEP_MAX_WEIGHTS];
  int count;
  Value* to;
  Weights(const sweep_problem& p, int half, Value* out) : count(5 * half + 1), to(out) {
    for (int a = 0; a < R::ndim; ++a)
      for (int i = 0; i < count; ++i) weights[a][i] = static_cast<Value>(p.weights[a][i]);
  }
  SWEEP_HD void element(int part, ptrdiff_t i) const { to[part * count + i] = weights[part][i]; }
};

// Writes the profiles of the PML, padded with zeros. A part is one profile of an axis, an index a node. Behind the
// caller's profiles of an axis lie a profile that is 1 on the grid, and 1 / (1 + gain).
template <class R>
struct Profiles {
  using Value = typename R::Value;
  R run;
  Value* to;
  SWEEP_HD void element(int part, ptrdiff_t i) const {
    const Value* from = run.tables;
    Value* out = to;
    constexpr int each = decltype(run.plan)::profiles_of_axis, of_caller = decltype(run.plan)::profiles_of_caller;
    const int axis = part / each, kind = part % each;
    for (int a = 0; a < axis; ++a) {
      from += of_caller * run.plan.layout.field.n[a];
      out += each * run.plan.profile[a];
    }
    const int n = run.plan.layout.field.n[axis];
    if (i >= run.plan.profile[axis]) return;
    Value& value = out[kind * run.plan.profile[axis] + i];
    value = i >= n ? Value(0) : kind < of_caller ? from[kind * n + i] : Value(1);
    if (i < n && kind > of_caller) value /= value + from[n + i];
  }
};

// Writes the fields of level k in the region of the snapshots, (shots, times, fields, *region).
template <class R>
struct Snapshot {
  using T = typename R::Value;
  R run;
  typename R::Wave wave;
  int k;
  Box<R::ndim> box;  // the computed cells
  Snapshots<R::ndim> request;
  T* out;

  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    const ptrdiff_t region = request.region.cells();
    int field = 0, at[R::ndim];
    for (ptrdiff_t before = i / region; !(request.fields >> field & 1) || before-- > 0;) ++field;
    ptrdiff_t rest = i % region;
    for (int a = R::ndim - 1; a >= 0; --a) {
      const int n = request.region.high[a] - request.region.low[a];
      at[a] = request.region.low[a] + static_cast<int>(rest % n);
      rest /= n;
    }
    const auto& array = run.plan.layout.field;
    T* const to = out + (static_cast<ptrdiff_t>(shot) * request.times + k / request.every) * request.size();
    to[i] = box.contains(at) ? run.level(wave, shot, k)[field * array.total + array.at(at)] : T(0);
  }
};

// Adds the complete images of a shot to the sum of its group.
template <class R>
struct AddImages {
  using Value = typename R::Value;
  R run;
  PerShotArray<Value> adjoint;
  Value* sums;
  SWEEP_HD void element(int shot, ptrdiff_t i) const {
    const auto& plan = run.plan;
    const int group = plan.group_of(shot);
    const Value image = adjoint.of(plan, shot)[plan.adjoint_state() + i];
    Value& sum = sums[group * plan.coefficient_size() + i];
    sum = shot == plan.group_begin(group) ? image : sum + image;
  }
};

// Computes d misfit / d coefficient from the images of the shots, group by group. The order of the additions is the
// same with and without sums of groups.
template <class R>
struct Reduce {
  using Value = typename R::Value;
  R run;
  PerShotArray<Value> adjoint;
  const Value* sums;
  Value* gradient;
  int earths;
  SWEEP_HD void element(int earth, ptrdiff_t cell) const {
    const auto& plan = run.plan;
    const ptrdiff_t at = plan.layout.cell(cell).at;
    for (int c = 0; c < plan.coefficients; ++c) {
      Value image = 0;
      const int begin = earths == 1 ? 0 : earth, end = earths == 1 ? plan.groups : earth + 1;
      for (int g = begin; g < end; ++g) image += of_group(g, c * plan.total + at);
      const ptrdiff_t to = c * plan.layout.cells + cell;
      gradient[earth * plan.coefficient_cells() + to] =
          R::Equation::gradient(c, run.coefficient + earth * run.earth_stride + cell, plan.layout.cells, image);
    }
  }
  SWEEP_HD Value of_group(int group, ptrdiff_t i) const {
    const auto& plan = run.plan;
    if (plan.sums()) return sums[group * plan.coefficient_size() + i];
    const int first = plan.group_begin(group);
    Value sum = adjoint.of(plan, first)[plan.adjoint_state() + i];
    for (int shot = first + 1; shot < plan.group_begin(group + 1); ++shot)
      sum += adjoint.of(plan, shot)[plan.adjoint_state() + i];
    return sum;
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
