// Runs body.element(shot, i) for every shot and index: threads of a GPU or, where a test emulates one, loops on the
// CPU.
#ifndef SWEEP_CUDA_LAUNCH_H
#define SWEEP_CUDA_LAUNCH_H

#include <cuda_runtime.h>

#include "../driver.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// A thread among `threads` along the indices, in one of `rows` along the shots. A launch is limited in both, so each
// thread strides over what is left.
struct Place {
  ptrdiff_t thread, threads;
  int row, rows;
};

template <class Body>
SWEEP_HD void stride(const Body& body, ptrdiff_t count, Span shots, const Place& at) {
  for (ptrdiff_t shot = at.row; shot < shots.count; shot += at.rows)
    for (ptrdiff_t i = at.thread; i < count; i += at.threads) body.element(shots.first + static_cast<int>(shot), i);
}

// launch() returns the text of what went wrong, null if nothing did.
#if defined(SWEEP_EMULATE)

// Few threads, so that they stride, the last one first: what depended on their order would not equal the CPU's answer.
template <class Body>
const char* launch(void*, const Body& body, ptrdiff_t count, Span shots) {
  emulated::launched();
  const ptrdiff_t threads = count < 1000 ? count : 1000;
  const int rows = shots.count < 2 ? shots.count : 2;
  for (int row = rows - 1; row >= 0; --row)
    for (ptrdiff_t thread = threads - 1; thread >= 0; --thread)
      stride(body, count, shots, Place{thread, threads, row, rows});
  return nullptr;
}

#else

constexpr int block = 128;

template <class Body>
__global__ void __launch_bounds__(block) kernel(const __grid_constant__ Body body, ptrdiff_t count, Span shots) {
  const ptrdiff_t thread = static_cast<ptrdiff_t>(blockIdx.x) * block + threadIdx.x;
  const ptrdiff_t threads = static_cast<ptrdiff_t>(gridDim.x) * block;
  stride(body, count, shots, Place{thread, threads, static_cast<int>(blockIdx.y), static_cast<int>(gridDim.y)});
}

template <class Body>
const char* launch(void* stream, const Body& body, ptrdiff_t count, Span shots) {
  if (count < 1 || shots.count < 1) return nullptr;
  constexpr ptrdiff_t most_blocks = INT32_MAX, most_rows = 65535;
  const ptrdiff_t blocks = (count - 1) / block + 1;
  cudaLaunchConfig_t config = {};
  config.gridDim.x = static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks);
  config.gridDim.y = static_cast<unsigned>(shots.count < most_rows ? shots.count : most_rows);
  config.blockDim.x = block;
  config.stream = static_cast<cudaStream_t>(stream);
  const cudaError_t status = cudaLaunchKernelEx(&config, kernel<Body>, body, count, shots);
  if (status == cudaSuccess) return nullptr;
  cudaGetLastError();  // told to the caller, so not left behind for somebody else's launch
  return cudaGetErrorString(status);
}

#endif

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
