// A call computes where its buffers are, whatever thread it is made in and whichever card is current there.
#ifndef SWEEP_CUDA_CARD_H
#define SWEEP_CUDA_CARD_H

#include <cuda_runtime.h>

namespace sweep {
inline namespace SWEEP_VARIANT {

// While it lives, the card that holds `buffer` is the current one of this thread.
class Card {
 public:
  explicit Card(const void* buffer) {
    cudaPointerAttributes found;
    status_ = cudaGetDevice(&before_);
    if (status_ == cudaSuccess) status_ = cudaPointerGetAttributes(&found, buffer);
    if (status_ != cudaSuccess || found.type != cudaMemoryTypeDevice || found.device == before_) return;
    status_ = cudaSetDevice(found.device);
    changed_ = status_ == cudaSuccess;
  }
  ~Card() {
    if (changed_) cudaSetDevice(before_);
  }
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  // The text of what went wrong, null if nothing did.
  const char* error() const { return status_ == cudaSuccess ? nullptr : cudaGetErrorString(status_); }

 private:
  cudaError_t status_;
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
