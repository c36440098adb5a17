// Damped acoustic waves: (1 / vp^2) (u_tt + 2 gamma u_t) - lap u = s. What is not here is as in acoustic.h.
#ifndef SWEEP_PHYSICS_DAMPED_H
#define SWEEP_PHYSICS_DAMPED_H

#include "sweep/physics/acoustic.h"

namespace sweep {
inline namespace SWEEP_VARIANT {
namespace damped {

template <class T, int NDIM, int HALF>
struct Equation : acoustic::Equation<T, NDIM, HALF> {
  using Acoustic = acoustic::Equation<T, NDIM, HALF>;
  using typename Acoustic::Cell;
  using typename Acoustic::View;

  static constexpr const char* name = "damped";
  static constexpr const char* coefficients[] = {"kick", "drift"};
  static constexpr int filters = 2;

  // What each coefficient is multiplied with: u[k + 1] = u[k - 1] + kick S L u[k] + drift 2 (u[k] - u[k - 1]).
  struct Change {
    T of[2];
  };

  template <class Rim>
  SWEEP_HD static Change advance(const View& v, const Cell& c, Rim rim) {
    const T old = v.old[c.at];
    const Change change = {{Acoustic::laplacian(v, c, rim), 2 * (v.now[c.at] - old)}};
    v.next[c.at] = old + sum(v, c, v.coefficient, change);
    return change;
  }

  SWEEP_HD static void scatter(const View& v, const Cell& c, const T* tangent, const Change& change) {
    v.next[c.at] += sum(v, c, tangent, change);
  }

  template <class Rim>
  SWEEP_HD static void correlate(const View& v, const Cell& c, Rim rim, const Change& change) {
    for (int i = 0; i < 2; ++i)
      v.image[i * v.layout.cells + c.dense] +=
          v.stored[c.at] * Acoustic::undo(v, c, rim, Acoustic::filter + i, change.of[i]);
  }

  SWEEP_HD static T gradient(const T* coefficient, ptrdiff_t, const T* image, ptrdiff_t stride, int i) {
    return image[i * stride] / coefficient[0];
  }

 private:
  SWEEP_HD static T sum(const View& v, const Cell& c, const T* coefficient, const Change& change) {
    return coefficient[c.dense] * change.of[0] + coefficient[v.layout.cells + c.dense] * change.of[1];
  }
};

}  // namespace damped
}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
