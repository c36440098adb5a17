// The tables of sweep_visco.ViscoAcoustic.
#ifndef SWEEP_PHYSICS_VISCOACOUSTIC_H
#define SWEEP_PHYSICS_VISCOACOUSTIC_H

#include "sweep/equation.h"

namespace sweep {
inline namespace SWEEP_VARIANT {
namespace viscoacoustic {

struct Physics {
  enum { p, vx, vy, vz, r };
  enum { stiff, bx, by, bz, keep, feed, loss };
  enum { ax, ay, az, e, m };
  static constexpr const char* name = "viscoacoustic";
  static constexpr Field fields[] = {
      {"p", NODE, -1}, {"vx", X | T, -1, bx}, {"vy", Y | T, -1, by, true}, {"vz", Z | T, 1, bz}, {"r", NODE, -1}};
  static constexpr Coefficient coefficients[] = {{"stiff", POSITIVE}, {"bx", POSITIVE},   {"by", POSITIVE},
                                                 {"bz", POSITIVE},    {"keep", POSITIVE}, {"feed", POSITIVE},
                                                 {"loss", POSITIVE}};
  static constexpr Rate rates[] = {
      {{{x, p}}, -1}, {{{y, p}}, -1}, {{{z, p}}, -1}, {{{x, vx}, {y, vy}, {z, vz}}, -1}, {{{z, r}}, -1, SAME}};
  static constexpr Modulus moduli[] = {{vx, ax, bx}, {vy, ay, by}, {vz, az, bz}, {p, e, stiff},
                                       {p, m, keep}, {r, e, feed}, {r, m, loss}};
};

}  // namespace viscoacoustic
}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
