// The table of one equation on one device, which cpu/kernels.cpp or cuda/kernels.cu sets.
#ifndef SWEEP_ABI_KERNELS_H
#define SWEEP_ABI_KERNELS_H

#include SWEEP_DEVICE_HEADER

#define SWEEP_STRING_OF(x) #x
#define SWEEP_STRING(x) SWEEP_STRING_OF(x)
// clang-format off
#define SWEEP_HEADER_OF(x) sweep/physics/x.h
// clang-format on
#define SWEEP_HEADER(x) SWEEP_STRING(SWEEP_HEADER_OF(x))
#include SWEEP_HEADER(SWEEP_EQUATION)

#if defined(SWEEP_PARTS)
#include "parts.h"
#endif

#if !defined(SWEEP_STEPS)
namespace sweep {
namespace SWEEP_VARIANT {
namespace SWEEP_EQUATION {
extern const Table table;
const Table table = make_table<Physics>();
}  // namespace SWEEP_EQUATION
}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
#endif
