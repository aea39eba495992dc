// The verifier's elements: their bits, and the random values of the inputs. This file is plain C++:
// the kernels of this folder compile it for the GPU, and the host's verifier
// (runtime/evaluation/host_verifier.cpp) compiles it for the CPU.
//
// The kernels under test use none of these functions, so a wrong conversion in a kernel is found.
//
// Each input element is a function of a seed and of its offset in the matrix. The reference
// therefore needs no copy of the inputs, and a kernel under test cannot overwrite them.
#pragma once

#include "../../problem/element_format.h"

using namespace tunedgemm::internal;

#ifdef __CUDACC__
#define REFERENCE_FUNCTION __host__ __device__ inline
#else
#include <cmath>
#define REFERENCE_FUNCTION inline
#endif

namespace reference {

using u64 = unsigned long long;

// A task contains the formats of its matrices, so that the kernels of this folder need no table.
using Format = ElementFormat;

// This uses no compiler builtins, since NVRTC does not have all of them.
REFERENCE_FUNCTION double infinity() {
  const double zero = 0;
  return 1 / zero;
}

REFERENCE_FUNCTION double not_a_number() {
  return infinity() - infinity();
}

// The value of a float of 16 bits or less.
REFERENCE_FUNCTION double decode(const Format& format, unsigned bits) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const unsigned all_mantissa = (1U << format.mantissa_bits) - 1;
  const unsigned all_exponent = (1U << format.exponent_bits) - 1;
  const unsigned mantissa = bits & all_mantissa;
  const unsigned exponent = (bits >> format.mantissa_bits) & all_exponent;
  const double sign = (bits >> (format.mantissa_bits + format.exponent_bits)) != 0 ? -1.0 : 1.0;
  if (exponent == all_exponent) {
    if (format.has_infinity ? mantissa != 0 : mantissa == all_mantissa) {
      return not_a_number();
    }
    if (format.has_infinity) {
      return sign * infinity();
    }
  }
  if (exponent == 0) {
    return sign * ldexp(static_cast<double>(mantissa), 1 - bias - format.mantissa_bits);
  }
  const double significand = static_cast<double>(mantissa + (1U << format.mantissa_bits));
  return sign * ldexp(significand, static_cast<int>(exponent) - bias - format.mantissa_bits);
}

// The bits of a value that the format can represent.
REFERENCE_FUNCTION unsigned encode(const Format& format, double value) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const double magnitude = fabs(value);
  const unsigned sign = value < 0 ? 1U << (format.mantissa_bits + format.exponent_bits) : 0U;
  if (magnitude == 0) {
    return sign;
  }
  const int exponent = ilogb(magnitude) < 1 - bias ? 1 - bias : ilogb(magnitude);
  // The leading one of a normal number's significand adds 1 to the exponent field.
  const unsigned significand =
      static_cast<unsigned>(ldexp(magnitude, format.mantissa_bits - exponent));
  return sign |
         (significand + (static_cast<unsigned>(exponent + bias - 1) << format.mantissa_bits));
}

REFERENCE_FUNCTION bool is_integer(const Format& format) {
  return format.exponent_bits == 0;
}

REFERENCE_FUNCTION double load(const Format& format, const void* matrix, long long offset) {
  switch (format.bits) {
    case 64:
      return static_cast<const double*>(matrix)[offset];
    case 32:
      return is_integer(format) ? static_cast<double>(static_cast<const int*>(matrix)[offset])
                                : static_cast<double>(static_cast<const float*>(matrix)[offset]);
    case 16:
      return decode(format, static_cast<const unsigned short*>(matrix)[offset]);
    default:
      return is_integer(format)
                 ? static_cast<double>(static_cast<const signed char*>(matrix)[offset])
                 : decode(format, static_cast<const unsigned char*>(matrix)[offset]);
  }
}

REFERENCE_FUNCTION void store(const Format& format, void* matrix, long long offset, double value) {
  switch (format.bits) {
    case 64:
      static_cast<double*>(matrix)[offset] = value;
      break;
    case 32:
      if (is_integer(format)) {
        static_cast<int*>(matrix)[offset] = static_cast<int>(value);
      } else {
        static_cast<float*>(matrix)[offset] = static_cast<float>(value);
      }
      break;
    case 16:
      static_cast<unsigned short*>(matrix)[offset] =
          static_cast<unsigned short>(encode(format, value));
      break;
    default:
      static_cast<unsigned char*>(matrix)[offset] = static_cast<unsigned char>(
          is_integer(format) ? static_cast<unsigned>(static_cast<int>(value))
                             : encode(format, value));
      break;
  }
}

// The finaliser of splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", 2014): every bit of the result depends on every bit of x.
REFERENCE_FUNCTION u64 scramble(u64 x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// The distributions of inputs: uniform over [-1, 1] in steps that the type can represent; or -1, 0
// and 1, whose products add up exactly. Those of scales: 1; one of 1.25, 1.5 and 1.75, so that a
// kernel that ignores the scale computes a wrong result; or these times 2^-4 to 2^4, so that a
// kernel that takes the scale of another row does.
constexpr int kUniform = 0, kTernary = 1, kOne = 2, kScale = 3, kWideScale = 4;
// The largest value of each distribution of floats.
constexpr double kLargest[] = {1, 1, 1, 1.75, 28};

// With kUniform, integers are uniform over [-128, 127].
REFERENCE_FUNCTION double random_value(const Format& format, int distribution, u64 seed,
                                       long long offset) {
  const u64 bits = scramble(seed + static_cast<u64>(offset) * 0x9e3779b97f4a7c15ULL);
  if (distribution == kTernary) {
    return static_cast<double>(((bits >> 32) * 3) >> 32) - 1.0;
  }
  if (distribution == kOne) {
    return 1;
  }
  if (distribution == kScale || distribution == kWideScale) {
    const double scale = 1.25 + 0.25 * static_cast<double>(((bits >> 32) * 3) >> 32);
    return distribution == kScale ? scale : ldexp(scale, static_cast<int>((bits & 255) % 9) - 4);
  }
  if (is_integer(format)) {
    return static_cast<double>(static_cast<int>(bits >> 56)) - 128.0;
  }
  if (format.bits == 64) {
    return static_cast<double>(static_cast<long long>(bits) >> 10) * 0x1p-53;
  }
  const u64 steps = u64{2} << format.mantissa_bits;  // on either side of zero
  const u64 step = ((bits >> 32) * (2 * steps + 1)) >> 32;
  // Multiplying by 2^-24 avoids a division, which would take too many registers.
  const int multiple = static_cast<int>(step - steps) * (1 << (23 - format.mantissa_bits));
  return static_cast<double>(multiple) * 0x1p-24;
}

}  // namespace reference
