// Functions of the CUDA runtime that the library calls (except launches), for tests. There are two cards; the second
// holds the memory that a test assigns to it.
#ifndef SWEEP_TEST_CUDA_RUNTIME_H
#define SWEEP_TEST_CUDA_RUNTIME_H

#include <stdint.h>

enum cudaError_t { cudaSuccess };
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice };
struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
};

namespace emulated {
inline const char* begin = nullptr;
inline const char* end = nullptr;
inline int64_t launches[2] = {0, 0};
inline thread_local int current = 0;

inline int64_t launched() { return ++launches[current]; }
}  // namespace emulated

inline cudaError_t cudaGetDeviceCount(int* count) { return *count = 2, cudaSuccess; }
inline cudaError_t cudaGetDevice(int* device) { return *device = emulated::current, cudaSuccess; }
inline cudaError_t cudaSetDevice(int device) { return emulated::current = device, cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t) { return ""; }
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  const char* const at = static_cast<const char*>(address);
  *attributes = {cudaMemoryTypeDevice, at >= emulated::begin && at < emulated::end};
  return cudaSuccess;
}

// Tests call these.
extern "C" {
__attribute__((used)) inline void emulated_second_card(const char* begin, int64_t bytes) {
  emulated::begin = begin;
  emulated::end = begin + bytes;
}
__attribute__((used)) inline int64_t emulated_launches(int card) { return emulated::launches[card]; }
__attribute__((used)) inline int emulated_current(void) { return emulated::current; }
}
#endif
