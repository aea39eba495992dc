#pragma once

// _Float16 rounds to nearest even.
inline unsigned short f16_from_f32(float x) {
  return __builtin_bit_cast(unsigned short, static_cast<_Float16>(x));
}
inline float f32_from_f16(unsigned short bits) {
  return static_cast<float>(__builtin_bit_cast(_Float16, bits));
}
inline unsigned short bf16_from_f32(float x) {
  const unsigned bits = __float_as_uint(x);
  return static_cast<unsigned short>(x == x ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : 0x7fff);
}
inline unsigned bf16x2_from_f32(float low, float high) {
  return bf16_from_f32(low) | static_cast<unsigned>(bf16_from_f32(high)) << 16;
}
inline unsigned round_to_tf32(unsigned x) {
  return (x & 0x7f800000) == 0x7f800000 ? x : (x + 0x1000) & 0xffffe000;
}
inline int s32_from_f64(double x) {
  return x != x               ? static_cast<int>(0x80000000)
         : x >= 2147483647.0  ? 0x7fffffff
         : x <= -2147483648.0 ? static_cast<int>(0x80000000)
                              : static_cast<int>(std::nearbyint(x));
}
inline unsigned multiply_f16x2(unsigned x, unsigned y) {
  const auto product = [&](int shift) {
    return f16_from_f32(f32_from_f16(static_cast<unsigned short>(x >> shift)) *
                        f32_from_f16(static_cast<unsigned short>(y >> shift)));
  };
  return product(0) | static_cast<unsigned>(product(16)) << 16;
}
inline unsigned f16x2_by_cvt(unsigned short pair) {
  const auto one = [](unsigned bits) -> unsigned {
    const unsigned sign = (bits & 0x80) << 8, rest = bits & 0x7f;
    if (rest == 0x7f) {
      return sign | 0x7fff;
    }
    const unsigned short scaled = static_cast<unsigned short>(rest << 7);  // 2^8 too small
    return sign | f16_from_f32(f32_from_f16(scaled) * 256);
  };
  return one(pair & 0xff) | one(pair >> 8) << 16;
}
inline float exp2_approximately(float x) {
  return std::exp2(x);
}
inline float reciprocal_approximately(float x) {
  return 1 / x;
}
