// Damped acoustic waves: (1 / vp^2) (u_tt + 2 gamma u_t) - lap u = s.
#ifndef SWEEP_PHYSICS_DAMPED_H
#define SWEEP_PHYSICS_DAMPED_H

#include "sweep/equation.h"

namespace sweep {
inline namespace SWEEP_VARIANT {
namespace damped {

struct Physics {
  enum { h1 };
  enum { kick, loss };
  enum { laplacian, change };
  static constexpr const char* name = "damped";
  static constexpr Field fields[] = {{"h1", NODE, -1, kick, false, 2}};
  static constexpr Coefficient coefficients[] = {{"kick", POSITIVE}, {"loss", ANY}};
  static constexpr Rate rates[] = {{{{x, h1}, {y, h1}, {z, h1}}, 1, D2}, {{{z, h1}}, 1, CHANGE}};
  static constexpr Modulus moduli[] = {{h1, laplacian, kick}, {h1, change, loss}};
};

}  // namespace damped
}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
