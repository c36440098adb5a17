// Definitions for code that host and device share: qualifiers of functions, offsets, and loops over constants.
#ifndef SWEEP_CORE_PORTABLE_H
#define SWEEP_CORE_PORTABLE_H

#include <utility>

#include "sweep/sweep.h"

#if defined(__CUDACC__)
#define SWEEP_HD __host__ __device__ __forceinline__
#define SWEEP_INLINE
#else
#define SWEEP_HD inline __attribute__((always_inline))
#define SWEEP_INLINE __attribute__((always_inline))  // for a lambda
#endif
// For a loop that grows the code without a gain in speed when it is unrolled.
#if defined(__CUDA_ARCH__)
#define SWEEP_ROLLED _Pragma("unroll 1")
#else
#define SWEEP_ROLLED
#endif
// For a function that is compiled once for all its callers.
#if defined(__clang__)
#define SWEEP_APART __attribute__((noinline))
#else
#define SWEEP_APART __attribute__((noinline, noclone))
#endif
#if defined(__CUDACC__)
#define SWEEP_HD_APART __host__ __device__ __noinline__
#else
#define SWEEP_HD_APART SWEEP_APART
#endif

// Each build for an instruction set has its own namespace; otherwise the linker would merge the builds.
#ifndef SWEEP_VARIANT
#define SWEEP_VARIANT portable
#endif

namespace sweep {
inline namespace SWEEP_VARIANT {

// The offset of a cell in an array. A GPU computes 32-bit offsets at half the cost, and advances all shots in one
// launch.
#if defined(__CUDACC__) || defined(SWEEP_EMULATE)
using Offset = int;
constexpr bool all_shots_per_launch = true;
#else
using Offset = ptrdiff_t;
constexpr bool all_shots_per_launch = false;
#endif

// One bit for each field of an equation.
using FieldMask = uint64_t;
static_assert(SWEEP_MAX_FIELDS < 64);

template <int N>
struct Index {
  static constexpr int value = N;
};

template <class F, int... N>
SWEEP_HD void for_indices(const F& f, std::integer_sequence<int, N...>) {
  (f(Index<N>{}), ...);
}
// Calls f(Index<0>), ..., f(Index<COUNT - 1>): a loop over axes, or entries of tables, whose index is a constant to the
// compiler. It is not recursive: at each level the compiler would copy the rest of the loop.
template <int COUNT, class F>
SWEEP_HD void for_axes(const F& f) {
  for_indices(f, std::make_integer_sequence<int, COUNT>{});
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
