// Sizes of the working memory of a run, in elements of its dtype.
#ifndef SWEEP_ENGINE_WORKSPACE_H
#define SWEEP_ENGINE_WORKSPACE_H

#include "plan.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// The most stages of one tile (cpu/time_skewing.h): at least those of one time step.
template <class Eq>
constexpr int most_tile_stages = Eq::stages > 16 ? Eq::stages : 16;

// In two dimensions: the values at points from the stages of two tiles, and lists of points by rows. A device that
// computes all cells of a stage at once needs none of them.
template <class Eq, int NDIM>
ptrdiff_t gathered_size(const Plan<Eq, NDIM>& plan, ptrdiff_t points) {
  const ptrdiff_t rows = plan.layout.field.n[0];
  if (all_shots_per_launch || NDIM != 2) return 0;
  return 2 * most_tile_stages<Eq> * points + 2 * (points + Eq::stages * rows + 2);
}

// Memory of the filters at points, which may lie in the PML: receivers, then sources.
template <class Eq, int NDIM>
Size filter_size(const Plan<Eq, NDIM>& plan) {
  return Size(Eq::filters) * plan.shots * (plan.sources + plan.receivers) * NDIM;
}

// Stencil weights, then profiles and coefficients with padding, so that whole vectors can be read.
template <class Eq, int NDIM>
Size prepared_size(const Plan<Eq, NDIM>& plan, int earths) {
  return plan.weights() + plan.profiles() + Size(earths) * plan.coefficient_size();
}

// The state that an operation passes to the next slice of the run.
template <class Eq, int NDIM>
Size state_size(const Plan<Eq, NDIM>& plan, int operation) {
  const Size states = plan.is_sliced ? plan.shots : plan.groups;
  if (operation == SWEEP_ADJOINT) return states * plan.adjoint_state_and_images() + filter_size(plan);
  return states * (operation == SWEEP_BORN ? 2 : 1) * plan.state;
}

// The working memory of one call.
template <class Eq, int NDIM>
Size scratch_size(const Plan<Eq, NDIM>& plan, int operation, int earths) {
  const Size prepared = prepared_size(plan, earths), groups = plan.groups, room = plan.segment_size(operation);
  if (operation == SWEEP_ADJOINT)
    return prepared + groups * (room + gathered_size(plan, plan.sources) + (plan.sums() ? plan.coefficient_size() : 0));
  return prepared + groups * (room + gathered_size(plan, plan.receivers)) +
         (operation == SWEEP_BORN ? Size(earths) * plan.coefficient_size() : 0);
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
