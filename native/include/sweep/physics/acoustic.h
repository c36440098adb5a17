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
  static constexpr int ndim_mask = 1 << 2 | 1 << 3;
  enum Memory { psi, zeta, memories };
  static constexpr int filter = memories, filters = 1;  // of the adjoint alone: the first, and how many

  // psi_a <- b psi_a + a D1_a u, in the PML of axis a.
  template <int A>
  SWEEP_HD static void remember(const View& v, const Cell& c) {
    T* p = v.strip(A, psi, c);
    *p = v.axis[A].decay[c.i[A]] * *p +
         v.axis[A].gain[c.i[A]] * first(v.now + c.at, v.layout.field.template step<A>(), v.axis[A].d1);
  }

  // (S L u)[k], and zeta on the way.
  template <class Rim>
  SWEEP_HD static T laplacian(const View& v, const Cell& c, Rim rim) {
    T g = 0;
    for_axes<NDIM>([&](auto index) SWEEP_INLINE {
      constexpr int a = decltype(index)::value;
      const Axis<T, HALF>& axis = v.axis[a];
      T t = second(v.now + c.at, v.layout.field.template step<a>(), axis.d2_centre, axis.d2);
      if (rim.has(a)) {
        t += first(static_cast<const T*>(v.strip(a, psi, c)), v.layout.strip[a].template step<a>(), axis.d1);
        T* z = v.strip(a, zeta, c);
        *z = axis.decay[c.i[a]] * *z + axis.gain[c.i[a]] * t;
        t += *z;
      }
      g += t;
    });
    return g;
  }

  // g = (S L u)[k] of the next level u[k + 1] = 2 u[k] - u[k - 1] + vp2 g; sources add to it.
  template <class Rim>
  SWEEP_HD static T advance(const View& v, const Cell& c, Rim rim) {
    const T g = laplacian(v, c, rim);
    v.next[c.at] = 2 * v.now[c.at] - v.old[c.at] + v.coefficient[c.dense] * g;
    return g;
  }

  SWEEP_HD static void inject(const View& v, const Cell& c, int, T amount) {
    v.next[c.at] += v.coefficient[c.dense] * amount;
  }

  // Pressure is odd about a free surface, on which it is zero.
  SWEEP_HD static void reflect(const View& v, const Cell& c) {
    v.next[c.at - 2 * c.i[0] * v.layout.field.template step<0>()] = -v.next[c.at];
  }

  // Born: what the forward field scatters at a cell whose coefficient varies by `tangent`.
  SWEEP_HD static void scatter(const View& v, const Cell& c, const T* tangent, T g) {
    v.next[c.at] += tangent[c.dense] * g;
  }
  SWEEP_HD static void scatter_source(const View& v, const Cell& c, int, const T* tangent, T amount) {
    v.next[c.at] += tangent[c.dense] * amount;
  }

  // Correlates g of the adjoint run with the stored field, after undoing the stretch S = 1 + P of each rim axis.
  template <class Rim>
  SWEEP_HD static void correlate(const View& v, const Cell& c, Rim rim, T g) {
    v.image[c.dense] += v.stored[c.at] * undo(v, c, rim, filter, g);
  }
  SWEEP_HD static void correlate_source(const View& v, const Cell& c, int, T amount) {
    v.image[c.dense] += v.stored[c.at] * amount;
  }

  // The adjoint run's field is S times the adjoint state, so what a point gives it is stretched, and what a point takes
  // from it is not any more; `past` holds one number for each axis. S is one outside the PML.
  SWEEP_HD static T stretch(const View& v, const Cell& c, T* past, T amount) {
    for (int a = 0; a < NDIM; ++a) {
      past[a] = v.axis[a].decay[c.i[a]] * past[a] + v.axis[a].gain[c.i[a]] * amount;
      amount += past[a];
    }
    return amount;
  }
  SWEEP_HD static T unstretch(const View& v, const Cell& c, T* past, T value) {
    for (int a = 0; a < NDIM; ++a) value = undo(v.axis[a], c.i[a], past + a, value);
    return value;
  }

  // y of S y = g at a cell, by the filters of its rim axes.
  template <class Rim>
  SWEEP_HD static T undo(const View& v, const Cell& c, Rim rim, int which, T g) {
    for_axes<NDIM>([&](auto index) SWEEP_INLINE {
      constexpr int a = decltype(index)::value;
      if (rim.has(a)) g = undo(v.axis[a], c.i[a], v.strip(a, which, c), g);
    });
    return g;
  }

  // d misfit / d coefficient of one cell from what correlate summed.
  SWEEP_HD static T gradient(const T* coefficient, ptrdiff_t, const T* image, ptrdiff_t, int) {
    return image[0] / coefficient[0];
  }

 private:
  // y of (1 + P) y = g: one number of the past is kept.
  SWEEP_HD static T undo(const Axis<T, HALF>& axis, int i, T* past, T g) {
    const T y = (g + axis.decay[i] * *past) / (1 + axis.gain[i]);
    *past = y - g;
    return y;
  }
};

}  // namespace acoustic
}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
