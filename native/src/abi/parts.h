// The files of a library of one problem, which several compilers translate side by side: with SWEEP_STEPS the time
// steps of one kind of run, otherwise the table and everything else.
#ifndef SWEEP_ABI_PARTS_H
#define SWEEP_ABI_PARTS_H

#include "entry.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// The one context that such a library runs.
template <class Physics>
struct OnlyContext {
  static constexpr bool is_single = SWEEP_DTYPES == 1 << SWEEP_FLOAT32, is_double = SWEEP_DTYPES == 1 << SWEEP_FLOAT64;
  static_assert((is_single || is_double) && (SWEEP_NDIMS == IN_1D || SWEEP_NDIMS == IN_2D || SWEEP_NDIMS == IN_3D),
                "a library in parts is of one dtype and one number of dimensions");
  using Value = std::conditional_t<is_single, float, double>;
  static constexpr int ndim = SWEEP_NDIMS == IN_1D ? 1 : SWEEP_NDIMS == IN_2D ? 2 : 3;
#if defined(SWEEP_ORDER)
  static constexpr int half = half_of_order(SWEEP_ORDER);
#else
  static_assert(SWEEP_MOST_ORDERS == 0, "a library in parts has one loop for all orders");
  static constexpr int half = 0;
#endif
  using Context = KernelContext<Equation<Physics, Value, ndim, half>, Value, ndim, half>;
};

#define SWEEP_STEPS_OF(Steps)                                                                                    \
  template void Launcher::steps(const Steps<OnlyContext<SWEEP_EQUATION::Physics>::Context>&, int begin, int end, \
                                Span shots)
extern SWEEP_STEPS_OF(ForwardSteps);
extern SWEEP_STEPS_OF(RewindSteps);
extern SWEEP_STEPS_OF(AdjointSteps);
extern SWEEP_STEPS_OF(BornSteps);
#if defined(SWEEP_STEPS)
SWEEP_STEPS_OF(SWEEP_STEPS);
#endif

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
