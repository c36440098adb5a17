// Numbers of elements and bytes that saturate instead of overflowing.
#ifndef SWEEP_ENGINE_SIZE_H
#define SWEEP_ENGINE_SIZE_H

#include "sweep/core/portable.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

// A count of at least 0. At 2^60 it saturates: sums and products with it stay at 2^60, and fits() is false.
struct Size {
  static constexpr int64_t beyond = int64_t{1} << 60;
  int64_t count;

  constexpr Size(int64_t n = 0) : count(n < beyond ? n : beyond) {}
  constexpr bool fits() const { return count < beyond; }
  friend constexpr Size operator+(Size a, Size b) { return a.count + b.count; }
  friend constexpr Size operator*(Size a, Size b) {
    return a.count && b.count > beyond / a.count ? beyond : a.count * b.count;
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
