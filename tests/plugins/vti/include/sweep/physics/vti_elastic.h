// The tables of sweep_vti.elastic.VTIElastic: fields and rates of an elastic solid, other moduli.
#ifndef SWEEP_PHYSICS_VTI_ELASTIC_H
#define SWEEP_PHYSICS_VTI_ELASTIC_H

#include "sweep/equation.h"

namespace sweep {
inline namespace SWEEP_VARIANT {
namespace vti_elastic {

struct Physics {
  enum { vx, vy, vz, sxx, syy, szz, sxy, sxz, syz };
  enum { bx, by, bz, c11, c12, c13, c33, c66, c55, c44 };
  enum { ax, ay, az, exx, eyy, ezz, exy, exz, eyz };
  static constexpr const char* name = "vti_elastic";
  static constexpr Field fields[] = {
      {"vx", X | T, 0, bx},        {"vy", Y | T, 0, by, true}, {"vz", Z | T, 0, bz},
      {"sxx", NODE, 0, -1},        {"syy", NODE, 0, -1, true}, {"szz", NODE, -1, -1},
      {"sxy", X | Y, 0, -1, true}, {"sxz", X | Z, -1, -1},     {"syz", Y | Z, -1, -1, true}};
  static constexpr Coefficient coefficients[] = {
      {"bx", POSITIVE}, {"by", POSITIVE},  {"bz", POSITIVE},      {"c11", NOT_NEGATIVE}, {"c12", ANY},
      {"c13", ANY},     {"c33", POSITIVE}, {"c66", NOT_NEGATIVE}, {"c55", NOT_NEGATIVE}, {"c44", NOT_NEGATIVE}};
  static constexpr Rate rates[] = {{{{x, sxx}, {y, sxy}, {z, sxz}}},
                                   {{{x, sxy}, {y, syy}, {z, syz}}},
                                   {{{x, sxz}, {y, syz}, {z, szz}}},
                                   {{{x, vx}}},
                                   {{{y, vy}}},
                                   {{{z, vz}}},
                                   {{{y, vx}, {x, vy}}},
                                   {{{z, vx}, {x, vz}}},
                                   {{{z, vy}, {y, vz}}}};
  static constexpr Modulus moduli[] = {{vx, ax, bx},    {vy, ay, by},    {vz, az, bz},    {sxx, exx, c11},
                                       {sxx, eyy, c12}, {syy, exx, c12}, {syy, eyy, c11}, {sxx, ezz, c13},
                                       {syy, ezz, c13}, {szz, exx, c13}, {szz, eyy, c13}, {szz, ezz, c33},
                                       {sxy, exy, c66}, {sxz, exz, c55}, {syz, eyz, c44}};
};

}  // namespace vti_elastic
}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
