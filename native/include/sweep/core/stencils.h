// Stencil weights of all axes.
#ifndef SWEEP_CORE_STENCILS_H
#define SWEEP_CORE_STENCILS_H

#include "sweep/core/portable.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// The weights of one stencil: HALF of them, a number that the compiler knows, or (HALF = 0) a number known at run time
// only; those weights stay in the workspace.
template <class T, int HALF>
struct Taps {
  T w[HALF];
  void set(const double* from, const T*, int) {
    for (int k = 0; k < HALF; ++k) w[k] = static_cast<T>(from[k]);
  }
  // Returns w_1 term(1) + w_2 term(2) + ...; a term may be a vector.
  template <class V, int K = 0, class F>
  SWEEP_HD V over(const F& term) const {
    if constexpr (K + 1 < HALF)
      return over_more<V, K + 1>(w[K] * term(K + 1), term);
    else
      return w[K] * term(K + 1);
  }

 private:
  template <class V, int K, class F>
  SWEEP_HD V over_more(V begin, const F& term) const {
    if constexpr (K < HALF)
      return over_more<V, K + 1>(begin + w[K] * term(K + 1), term);
    else
      return begin;
  }
};
template <class T>
struct Taps<T, 0> {
  const T* w;
  int count;
  void set(const double*, const T* stored_weights, int half) { w = stored_weights, count = half; }
  template <class V, class F>
  SWEEP_HD V over(const F& term) const {
    V sum = w[0] * term(1);
    SWEEP_ROLLED for (int k = 1; k < count; ++k) sum = sum + w[k] * term(k + 1);
    return sum;
  }
};

// The weights of D, D1, D2 and MEAN along all axes, and of the root R of D2: R^T R = -D2.
template <class T, int NDIM, int HALF>
struct Stencils {
  Taps<T, HALF> taps[4][NDIM];
  T centre[NDIM];  // middle weight of D2
  Taps<T, HALF> root[NDIM];

  // Reads the weights of a sweep_problem; `stored_weights` points to the same weights, axis after axis, in memory of
  // the device.
  void set(const double (*weights)[SWEEP_MAX_WEIGHTS], const T* stored_weights, int half) {
    const int begin[] = {0, half, 2 * half + 1, 3 * half + 1};
    for (int a = 0; a < NDIM; ++a, stored_weights += 5 * half + 1) {
      for (int of = 0; of < 4; ++of) taps[of][a].set(weights[a] + begin[of], stored_weights + begin[of], half);
      centre[a] = static_cast<T>(weights[a][2 * half]);
      root[a].set(weights[a] + 4 * half + 1, stored_weights + 4 * half + 1, half);
    }
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
