// The tables of sweep_tilted.Tilted.
#ifndef SWEEP_PHYSICS_TILTED_H
#define SWEEP_PHYSICS_TILTED_H

#include "sweep/equation.h"

namespace sweep {
inline namespace SWEEP_VARIANT {
namespace tilted {

struct Physics {
  enum { u, w, gx, gy, gz, gm };
  enum { cxx, cyy, czz, cxz };
  enum { dx, dy, dz, mid, ex, ey, ez, exz, change };
  static constexpr const char* name = "tilted";
  static constexpr Field fields[] = {{"u", NODE, -1},
                                     {"w", T, -1},
                                     {"gx", X, -1, -1, false, 0},
                                     {"gy", Y, -1, -1, true, 0},
                                     {"gz", Z, 1, -1, false, 0},
                                     {"gm", NODE, -1, -1, false, 0}};
  static constexpr Coefficient coefficients[] = {{"cxx", POSITIVE}, {"cyy", POSITIVE}, {"czz", POSITIVE}, {"cxz", ANY}};
  static constexpr Rate rates[] = {{{{x, u}}},  {{{y, u}}},  {{{z, u}}},         {{{x, gx}}, 1, MEAN}, {{{x, gx}}},
                                   {{{y, gy}}}, {{{z, gz}}}, {{{z, gm}}, 1, D1}, {{{z, w}}, 1, SAME}};
  static constexpr Modulus moduli[] = {{gx, dx},     {gy, dy},     {gz, dz},      {gm, mid},  {w, ex, cxx},
                                       {w, ey, cyy}, {w, ez, czz}, {w, exz, cxz}, {u, change}};
};

}  // namespace tilted
}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
