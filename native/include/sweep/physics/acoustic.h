// Acoustic waves of constant density, second order in time: (1 / vp^2) u_tt - lap u = s.
#ifndef SWEEP_PHYSICS_ACOUSTIC_H
#define SWEEP_PHYSICS_ACOUSTIC_H

#include "sweep/equation.h"

namespace sweep {
inline namespace SWEEP_VARIANT {
namespace acoustic {

struct Physics {
  enum { h1 };
  enum { vp2 };
  enum { laplacian };
  static constexpr const char* name = "acoustic";
  static constexpr Field fields[] = {{"h1", NODE, -1, vp2, false, 2}};
  static constexpr Coefficient coefficients[] = {{"vp2", POSITIVE}};
  static constexpr Rate rates[] = {{{{x, h1}, {y, h1}, {z, h1}}, 1, D2}};
  static constexpr Modulus moduli[] = {{h1, laplacian, vp2}};
};

}  // namespace acoustic
}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
