// A call computes on the card that holds its buffers, in any thread and with any current card.
#ifndef SWEEP_CUDA_CARD_H
#define SWEEP_CUDA_CARD_H

#include <cuda_runtime.h>

namespace sweep {
inline namespace SWEEP_VARIANT {

// Makes the card that holds `buffer` the current one of this thread, for the lifetime of the object.
class Card {
 public:
  explicit Card(const void* buffer) {
    cudaPointerAttributes attributes;
    status_ = cudaGetDevice(&before_);
    if (status_ == cudaSuccess) status_ = cudaPointerGetAttributes(&attributes, buffer);
    if (status_ != cudaSuccess || attributes.type != cudaMemoryTypeDevice || attributes.device == before_) return;
    status_ = cudaSetDevice(attributes.device);
    changed_ = status_ == cudaSuccess;
  }
  ~Card() {
    if (changed_) cudaSetDevice(before_);
  }
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  // The message of a CUDA error; null without an error.
  const char* error() const { return status_ == cudaSuccess ? nullptr : cudaGetErrorString(status_); }

 private:
  cudaError_t status_;
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
