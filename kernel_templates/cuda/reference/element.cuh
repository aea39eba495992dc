// What the verifier knows of elements: their bits, and the random values that inputs are made of.
// Plain C++, compiled for the GPU by the kernels of this folder and for the CPU by the verifier of
// the host (runtime/evaluation/host_verifier.cpp).
//
// Nothing here is shared with the kernels that are verified, so a wrong conversion of theirs cannot
// be wrong here as well.
//
// An input is a function of a seed and of the element's offset in its matrix. So the reference
// never reads what a kernel under test could have overwritten, and no copy of the inputs is needed.
#pragma once

#ifdef __CUDACC__
#define REFERENCE_FUNCTION __host__ __device__ inline
#else
#include <cmath>
#define REFERENCE_FUNCTION inline
#endif

namespace reference {

using u64 = unsigned long long;

// The numbers of the library's DataType.
constexpr int kF64 = 1, kF32 = 2, kF16 = 3, kBF16 = 4, kE4M3 = 5, kE5M2 = 6, kS8 = 7, kS32 = 8;

REFERENCE_FUNCTION int size_bytes(int type) {
  switch (type) {
    case kF64:
      return 8;
    case kF32:
    case kS32:
      return 4;
    case kF16:
    case kBF16:
      return 2;
    default:
      return 1;
  }
}

// Bits of the significand, with the one that is not stored.
REFERENCE_FUNCTION int precision(int type) {
  switch (type) {
    case kF64:
      return 53;
    case kF32:
      return 24;
    case kF16:
      return 11;
    case kBF16:
      return 8;
    case kE4M3:
      return 4;
    default:
      return 3;
  }
}

// Of the floats of 16 and 8 bits.
REFERENCE_FUNCTION int exponent_bits(int type) {
  return type == kBF16 ? 8 : type == kE4M3 ? 4 : 5;
}

// No builtins of a compiler, since NVRTC has fewer of them.
REFERENCE_FUNCTION double infinity() {
  const double zero = 0;
  return 1 / zero;
}

REFERENCE_FUNCTION double not_a_number() {
  return infinity() - infinity();
}

// sign | exponent | mantissa, as IEEE 754 reads them; e4m3 has no infinity and only one NaN.
REFERENCE_FUNCTION double decode(int type, unsigned bits) {
  const int mantissa_bits = precision(type) - 1;
  const int width = exponent_bits(type);
  const int bias = (1 << (width - 1)) - 1;
  const unsigned mantissa = bits & ((1U << mantissa_bits) - 1);
  const unsigned exponent = (bits >> mantissa_bits) & ((1U << width) - 1);
  const double sign = (bits >> (mantissa_bits + width)) != 0 ? -1.0 : 1.0;
  if (exponent == (1U << width) - 1) {
    if (type == kE4M3 ? mantissa == 7 : mantissa != 0) {
      return not_a_number();
    }
    if (type != kE4M3) {
      return sign * infinity();
    }
  }
  if (exponent == 0) {
    return sign * ldexp(static_cast<double>(mantissa), 1 - bias - mantissa_bits);
  }
  const double significand = static_cast<double>(mantissa + (1U << mantissa_bits));
  return sign * ldexp(significand, static_cast<int>(exponent) - bias - mantissa_bits);
}

// The bits of a value that the type can represent.
REFERENCE_FUNCTION unsigned encode(int type, double value) {
  const int mantissa_bits = precision(type) - 1;
  const int width = exponent_bits(type);
  const int bias = (1 << (width - 1)) - 1;
  const double magnitude = fabs(value);
  const unsigned sign = value < 0 ? 1U << (mantissa_bits + width) : 0U;
  if (magnitude == 0) {
    return sign;
  }
  const int exponent = ilogb(magnitude) < 1 - bias ? 1 - bias : ilogb(magnitude);
  // With its leading one, if there is one, the significand adds 1 to the exponent's field.
  const unsigned significand = static_cast<unsigned>(ldexp(magnitude, mantissa_bits - exponent));
  return sign | (significand + (static_cast<unsigned>(exponent + bias - 1) << mantissa_bits));
}

REFERENCE_FUNCTION double load(int type, const void* matrix, long long offset) {
  switch (type) {
    case kF64:
      return static_cast<const double*>(matrix)[offset];
    case kF32:
      return static_cast<const float*>(matrix)[offset];
    case kS32:
      return static_cast<const int*>(matrix)[offset];
    case kS8:
      return static_cast<const signed char*>(matrix)[offset];
    case kF16:
    case kBF16:
      return decode(type, static_cast<const unsigned short*>(matrix)[offset]);
    default:
      return decode(type, static_cast<const unsigned char*>(matrix)[offset]);
  }
}

REFERENCE_FUNCTION void store(int type, void* matrix, long long offset, double value) {
  switch (type) {
    case kF64:
      static_cast<double*>(matrix)[offset] = value;
      break;
    case kF32:
      static_cast<float*>(matrix)[offset] = static_cast<float>(value);
      break;
    case kS32:
      static_cast<int*>(matrix)[offset] = static_cast<int>(value);
      break;
    case kS8:
      static_cast<signed char*>(matrix)[offset] = static_cast<signed char>(value);
      break;
    case kF16:
    case kBF16:
      static_cast<unsigned short*>(matrix)[offset] =
          static_cast<unsigned short>(encode(type, value));
      break;
    default:
      static_cast<unsigned char*>(matrix)[offset] = static_cast<unsigned char>(encode(type, value));
      break;
  }
}

// The finaliser of splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", 2014): every bit of the result depends on every bit of the seed.
REFERENCE_FUNCTION u64 scramble(u64 x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// How inputs are drawn: uniformly from [-1, 1] in steps that the type can represent, or from -1, 0
// and 1, whose products sum up without any rounding.
constexpr int kUniform = 0, kTernary = 1;

// s8 and s32 are drawn from all of [-128, 127].
REFERENCE_FUNCTION double random_value(int type, int distribution, u64 seed, long long offset) {
  const u64 bits = scramble(seed + static_cast<u64>(offset) * 0x9e3779b97f4a7c15ULL);
  if (distribution == kTernary) {
    return static_cast<double>(((bits >> 32) * 3) >> 32) - 1.0;
  }
  if (type == kS8 || type == kS32) {
    return static_cast<double>(static_cast<int>(bits >> 56)) - 128.0;
  }
  if (type == kF64) {
    return static_cast<double>(static_cast<long long>(bits) >> 10) * 0x1p-53;
  }
  const u64 steps = u64{1} << precision(type);  // on either side of zero
  const u64 step = ((bits >> 32) * (2 * steps + 1)) >> 32;
  return (static_cast<double>(step) - static_cast<double>(steps)) / static_cast<double>(steps);
}

}  // namespace reference
