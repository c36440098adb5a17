// The one build of the CUDA library. It loads on a machine without a driver, where it has no device to run on.
#include <cuda_runtime.h>

static bool has_device() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

#define SWEEP_RUNS_cuda has_device
#include "../abi/builds.h"
