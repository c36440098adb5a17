// Elastic waves, isotropic: rho v_t = div sigma + f, sigma_t = lam tr(e) 1 + 2 mu e + m, with pi = lam + 2 mu.
#ifndef SWEEP_PHYSICS_ELASTIC_H
#define SWEEP_PHYSICS_ELASTIC_H

#include "sweep/equation.h"

namespace sweep {
inline namespace SWEEP_VARIANT {
namespace elastic {

struct Physics {
  enum { vx, vy, vz, sxx, syy, szz, sxy, sxz, syz };
  enum { bx, by, bz, pi, lam, mu_xy, mu_xz, mu_yz };
  enum { ax, ay, az, exx, eyy, ezz, exy, exz, eyz };
  static constexpr const char* name = "elastic";
  static constexpr Field fields[] = {
      {"vx", X | T, 0, bx},        {"vy", Y | T, 0, by, true}, {"vz", Z | T, 0, bz},
      {"sxx", NODE, 0, -1},        {"syy", NODE, 0, -1, true}, {"szz", NODE, -1, -1},
      {"sxy", X | Y, 0, -1, true}, {"sxz", X | Z, -1, -1},     {"syz", Y | Z, -1, -1, true}};
  static constexpr Coefficient coefficients[] = {
      {"bx", POSITIVE}, {"by", POSITIVE},        {"bz", POSITIVE},        {"pi", NOT_NEGATIVE},
      {"lam", ANY},     {"mu_xy", NOT_NEGATIVE}, {"mu_xz", NOT_NEGATIVE}, {"mu_yz", NOT_NEGATIVE}};
  static constexpr Rate rates[] = {{{{x, sxx}, {y, sxy}, {z, sxz}}},
                                   {{{x, sxy}, {y, syy}, {z, syz}}},
                                   {{{x, sxz}, {y, syz}, {z, szz}}},
                                   {{{x, vx}}},
                                   {{{y, vy}}},
                                   {{{z, vz}}},
                                   {{{y, vx}, {x, vy}}},
                                   {{{z, vx}, {x, vz}}},
                                   {{{z, vy}, {y, vz}}}};
  static constexpr Modulus moduli[] = {{vx, ax, bx},      {vy, ay, by},      {vz, az, bz},     {sxx, exx, pi},
                                       {sxx, eyy, lam},   {sxx, ezz, lam},   {syy, exx, lam},  {syy, eyy, pi},
                                       {syy, ezz, lam},   {szz, exx, lam},   {szz, eyy, lam},  {szz, ezz, pi},
                                       {sxy, exy, mu_xy}, {sxz, exz, mu_xz}, {syz, eyz, mu_yz}};
};

}  // namespace elastic
}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
