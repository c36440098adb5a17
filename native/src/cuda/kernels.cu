// One equation for the GPU: CMake compiles this file for each header in sweep/physics/, with SWEEP_VARIANT=cuda.
#define SWEEP_DEVICE_HEADER "../cuda/device.cuh"
#include "../abi/kernels.h"
