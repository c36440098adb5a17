// Acoustic waves of variable density: rho v_t = -grad p + f, p_t = kappa (-div v + q).
#ifndef SWEEP_PHYSICS_ACOUSTIC_VARIABLE_DENSITY_H
#define SWEEP_PHYSICS_ACOUSTIC_VARIABLE_DENSITY_H

#include "sweep/equation.h"

namespace sweep {
inline namespace SWEEP_VARIANT {
namespace acoustic_variable_density {

struct Physics {
  enum { p, vx, vy, vz };
  enum { kappa, bx, by, bz };
  enum { ax, ay, az, e };
  static constexpr const char* name = "acoustic_variable_density";
  static constexpr Field fields[] = {
      {"p", NODE, -1, kappa}, {"vx", X | T, -1, bx}, {"vy", Y | T, -1, by, true}, {"vz", Z | T, 1, bz}};
  static constexpr Coefficient coefficients[] = {
      {"kappa", POSITIVE}, {"bx", POSITIVE}, {"by", POSITIVE}, {"bz", POSITIVE}};
  static constexpr Rate rates[] = {{{{x, p}}, -1}, {{{y, p}}, -1}, {{{z, p}}, -1}, {{{x, vx}, {y, vy}, {z, vz}}, -1}};
  static constexpr Modulus moduli[] = {{vx, ax, bx}, {vy, ay, by}, {vz, az, bz}, {p, e, kappa}};
};

}  // namespace acoustic_variable_density
}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
