// The tables of sweep_vti.acoustic.VTIAcoustic.
#ifndef SWEEP_PHYSICS_VTI_ACOUSTIC_H
#define SWEEP_PHYSICS_VTI_ACOUSTIC_H

#include "sweep/equation.h"

namespace sweep {
inline namespace SWEEP_VARIANT {
namespace vti_acoustic {

struct Physics {
  enum { vx, vy, vz, sh, sv };
  enum { bx, by, bz, kh, kn, kv };
  enum { ax, ay, az, eh, ez };
  static constexpr const char* name = "vti_acoustic";
  static constexpr Field fields[] = {{"vx", X | T, 0, bx},
                                     {"vy", Y | T, 0, by, true},
                                     {"vz", Z | T, 0, bz},
                                     {"sh", NODE, 0, -1},
                                     {"sv", NODE, -1, -1}};
  static constexpr Coefficient coefficients[] = {{"bx", POSITIVE},     {"by", POSITIVE},     {"bz", POSITIVE},
                                                 {"kh", NOT_NEGATIVE}, {"kn", NOT_NEGATIVE}, {"kv", POSITIVE}};
  static constexpr Rate rates[] = {{{{x, sh}}}, {{{y, sh}}}, {{{z, sv}}}, {{{x, vx}, {y, vy}}}, {{{z, vz}}}};
  static constexpr Modulus moduli[] = {{vx, ax, bx}, {vy, ay, by}, {vz, az, bz}, {sh, eh, kh},
                                       {sh, ez, kn}, {sv, eh, kn}, {sv, ez, kv}};
};

}  // namespace vti_acoustic
}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
