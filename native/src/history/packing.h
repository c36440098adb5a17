// Values of a history in fewer bits. float16 and int8 have a scale for each block, so that no wave is too weak for
// them.
#ifndef SWEEP_HISTORY_PACKING_H
#define SWEEP_HISTORY_PACKING_H

#include "../engine/context.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

SWEEP_HD uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}
SWEEP_HD float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

// Formats of a stored value. If `top` is above 0, values are multiples of the scale of their block, at most `top` of
// it.
template <class Value>
struct AsItIs {
  using Wide = Value;
  using Stored = Value;
  static constexpr int top = 0;
  SWEEP_HD static Stored store(Wide value) { return value; }
  SWEEP_HD static Wide read(Stored stored) { return stored; }
};
// The upper half of a float, rounded to nearest.
struct AsBfloat16 {
  using Wide = float;
  using Stored = uint16_t;
  static constexpr int top = 0;
  SWEEP_HD static Stored store(Wide value) {
    const uint32_t bits = bits_of(value);
    return static_cast<Stored>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
  }
  SWEEP_HD static Wide read(Stored stored) { return float_of(static_cast<uint32_t>(stored) << 16); }
};
// IEEE half precision of values up to 1; values below its normal numbers become zero.
struct AsFloat16 {
  using Wide = float;
  using Stored = uint16_t;
  static constexpr int top = 1;
  static constexpr uint32_t rebias = 112;  // difference of the exponent biases, 127 - 15
  SWEEP_HD static Stored store(Wide value) {
    const uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffffu;
    const uint32_t half = (magnitude + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    const uint32_t sign = bits >> 16 & 0x8000u, normal = half >= (rebias + 1) << 10 ? half - (rebias << 10) : 0u;
    return static_cast<Stored>(sign | normal);
  }
  SWEEP_HD static Wide read(Stored stored) {
    const uint32_t half = stored & 0x7fffu, sign = (stored & 0x8000u) << 16;
    return float_of(sign | (half ? (half << 13) + (rebias << 23) : 0u));
  }
};
struct AsInt8 {
  using Wide = float;
  using Stored = int8_t;
  static constexpr int top = 127;
  SWEEP_HD static Stored store(Wide value) { return static_cast<Stored>(static_cast<int>(value + 128.5f) - 128); }
  SWEEP_HD static Wide read(Stored stored) { return stored; }
};

// A block: its scale, if it has one, then its values. The rounding error of values with a scale is added to the values
// of the next time step (`after`), if there is one (noise shaping). Images sum products with a smooth wave, in which
// these errors cancel. In a few steps of noise they do not, and noise shaping would treble the error of bfloat16, which
// therefore has none.
template <class As, class Value>
struct Block {
  using Wide = typename As::Wide;
  unsigned char* at;
  int count;

  SWEEP_HD typename As::Stored* stored() const {
    return reinterpret_cast<typename As::Stored*>(at + (As::top ? sizeof(float) : 0));
  }
  SWEEP_HD void pack(const Value* from, Value* after) const {
    float factor = 1;
    if constexpr (As::top > 0) factor = set_scale(from);
    for (int i = 0; i < count; ++i) {
      Wide value = static_cast<Wide>(from[i]);
      if constexpr (As::top > 0) value = factor > 0 ? value * factor : 0;
      stored()[i] = As::store(value);
    }
    if (As::top > 0 && after) carry_error(from, after);
  }
  SWEEP_HD void unpack(Value* to) const {
    const float factor = scale();
    for (int i = 0; i < count; ++i) to[i] = value(i, factor);
  }

 private:
  SWEEP_HD float scale() const {
    float scale = 1;
    if constexpr (As::top > 0) memcpy(&scale, at, sizeof(scale));
    return scale;
  }
  SWEEP_HD Value value(int i, float scale) const {
    Wide value = As::read(stored()[i]);
    if constexpr (As::top > 0) value *= scale;
    return static_cast<Value>(value);
  }
  SWEEP_HD void carry_error(const Value* from, Value* after) const {
    const float factor = scale();
    for (int i = 0; i < count; ++i) after[i] += from[i] - value(i, factor);
  }
  // Writes the scale, and returns the factor that values are multiplied by, or 0. Magnitudes are compared as integers,
  // which have the same order. A value that is not finite stays so in the scale.
  SWEEP_HD float set_scale(const Value* from) const {
    uint32_t largest = 0;
    for (int i = 0; i < count; ++i) {
      const uint32_t magnitude = bits_of(static_cast<float>(from[i])) & 0x7fffffffu;
      largest = magnitude > largest ? magnitude : largest;
    }
    constexpr float smallest = 1e-35f;  // its reciprocal is finite
    float scale = float_of(largest) / As::top;
    if (scale < smallest) scale = 0;
    memcpy(at, &scale, sizeof(scale));
    return scale > 0 && largest < 0x7f800000u ? 1 / scale : 0;
  }
};

// Packs arrays of `size` values into blocks, or unpacks them. Element i is block i of every time step. The values of
// two steps lie `stride` apart; the blocks of two steps are adjacent.
template <class Value, bool UNPACK>
struct Pack {
  ShotGroups groups;
  PackedFormat as;
  PerShotArray<Value> values;
  PerShotArray<unsigned char> packed;
  ptrdiff_t size, arrays, stride;
  int units;

  SWEEP_HD ptrdiff_t blocks() const { return arrays * PackedFormat::blocks(size); }
  SWEEP_HD_APART void element(int shot, ptrdiff_t i) const {
    const ptrdiff_t array = i / PackedFormat::blocks(size),
                    first = i % PackedFormat::blocks(size) * PackedFormat::block;
    const int count = static_cast<int>(size - first < PackedFormat::block ? size - first : PackedFormat::block);
    Value* const plain = values.of(groups, shot) + array * size + first;
    unsigned char* const at = packed.of(groups, shot) + i * as.bytes();
    switch (as.type) {
      case SWEEP_FLOAT32: return move(plain, Block<AsItIs<float>, Value>{at, count});
      case SWEEP_BFLOAT16: return move(plain, Block<AsBfloat16, Value>{at, count});
      case SWEEP_FLOAT16: return move(plain, Block<AsFloat16, Value>{at, count});
      case SWEEP_INT8: return move(plain, Block<AsInt8, Value>{at, count});
      default: return move(plain, Block<AsItIs<Value>, Value>{at, count});
    }
  }

 private:
  template <class Block>
  SWEEP_HD void move(Value* plain, Block block) const {
    for (int u = 0; u < units; ++u, plain += stride, block.at += blocks() * as.bytes())
      if constexpr (UNPACK)
        block.unpack(plain);
      else
        block.pack(plain, u + 1 < units ? plain + stride : nullptr);
  }
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
