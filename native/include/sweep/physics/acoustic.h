// Acoustic waves of constant density, second order in time: (1 / vp^2) u_tt - lap u = s. One cell of each phase.
// docs/theory/acoustic.md derives the symmetric CPML and why the adjoint is this same step on the reversed record.
#ifndef SWEEP_PHYSICS_ACOUSTIC_H
#define SWEEP_PHYSICS_ACOUSTIC_H

#include "sweep/grid.h"

namespace sweep {
inline namespace SWEEP_VARIANT {
namespace acoustic {

template <class T, int NDIM, int HALF>
struct Equation {
  using View = sweep::View<T, NDIM, HALF>;
  using Cell = sweep::Cell<NDIM>;

  static constexpr const char* name = "acoustic";
  static constexpr const char* fields[] = {"h1"};
  static constexpr const char* coefficients[] = {"vp2"};
  static constexpr int levels = 2;
  static constexpr int ndim_mask = 1 << 2;
  enum Memory { psi, zeta, memories };
  static constexpr int filter = memories;  // of the adjoint alone

  // psi_a <- b psi_a + a D1_a u, in the PML of axis a.
  template <int A>
  SWEEP_HD static void remember(const View& v, const Cell& c) {
    T* p = v.strip(A, psi, c);
    *p = v.axis[A].decay[c.i[A]] * *p +
         v.axis[A].gain[c.i[A]] * first(v.now + c.at, v.layout.field.stride[A], v.axis[A].d1);
  }

  // u[k + 1] = 2 u[k] - u[k - 1] + vp^2 g; returns g = dt^2 (stretched Laplacian of u[k]).
  template <unsigned RIM>
  SWEEP_HD static T advance(const View& v, const Cell& c) {
    T g = 0;
    for_axes<NDIM>([&](auto index) SWEEP_INLINE {
      constexpr int a = decltype(index)::value;
      const Axis<T, HALF>& axis = v.axis[a];
      T t = second(v.now + c.at, v.layout.field.stride[a], axis.d2_centre, axis.d2);
      if constexpr (RIM >> a & 1) {
        t += first(static_cast<const T*>(v.strip(a, psi, c)), v.layout.strip[a].stride[a], axis.d1);
        T* z = v.strip(a, zeta, c);
        *z = axis.decay[c.i[a]] * *z + axis.gain[c.i[a]] * t;
        t += *z;
      }
      g += t;
    });
    v.next[c.at] = 2 * v.now[c.at] - v.old[c.at] + v.coefficient[c.dense] * g;
    return g;
  }

  SWEEP_HD static void inject(const View& v, const Cell& c, int, T amount) {
    v.next[c.at] += v.coefficient[c.dense] * amount;
  }

  // Correlates g of the adjoint run with the stored field, after undoing the stretch 1 + P of each rim axis.
  template <unsigned RIM>
  SWEEP_HD static void correlate(const View& v, const Cell& c, T g) {
    for_axes<NDIM>([&](auto index) SWEEP_INLINE {
      constexpr int a = decltype(index)::value;
      if constexpr (RIM >> a & 1) {
        T* q = v.strip(a, filter, c);
        const T y = (g + v.axis[a].decay[c.i[a]] * *q) / (1 + v.axis[a].gain[c.i[a]]);
        *q = y - g;
        g = y;
      }
    });
    v.image[c.dense] += v.stored[c.at] * g;
  }

  // An adjoint source acts where nothing is stretched.
  SWEEP_HD static void correlate_source(const View& v, const Cell& c, int, T amount) {
    v.image[c.dense] += v.stored[c.at] * amount;
  }

  // d misfit / d coefficient of one cell from what correlate summed.
  SWEEP_HD static T gradient(const T* coefficient, ptrdiff_t, const T* image, ptrdiff_t, int) {
    return image[0] / coefficient[0];
  }
};

}  // namespace acoustic
}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
