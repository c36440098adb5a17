// The one build of the CUDA library. The library also loads on a machine without a driver, and then has no device.
#include <cuda_runtime.h>

static bool has_device() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

#define SWEEP_RUNS_cuda has_device
#include "../abi/builds.h"
