// One equation for one instruction set: CMake compiles this file for each pair, with SWEEP_EQUATION the name of the
// header in sweep/physics/ and SWEEP_VARIANT the instruction set.
#define SWEEP_DEVICE_HEADER "../cpu/device.h"
#include "../abi/kernels.h"
