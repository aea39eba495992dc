#pragma once

// CallKey: the problem of a call as plain integers, compared and hashed as bytes. Only this file
// converts a caller's struct to a key, and a key to a problem. No member is truncated, so different
// problems have different keys. Only calls that pass checked_call() (checked_call.h) get plans, so
// a key with a plan needs no check.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>

#include "kernel_templates/problem/problem.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal {

/// The problem as the caller describes it, not canonical.
struct CallKey {
  std::int64_t m, n, k, batch;
  std::int64_t lda, ldb, ldc, ldd;
  std::int64_t batch_stride_a, batch_stride_b, batch_stride_c, batch_stride_d;
  std::int32_t type_a, type_b, type_d;
  std::int32_t order_a, order_b, order_c, order_d;
  std::int32_t activation, bias, numerics;
  std::int32_t launch_regime;  ///< of the plan
  std::int32_t zero;           ///< explicit padding, because all bytes are compared and hashed
  std::uint32_t alignments;    ///< of the pointers a, b, c, d: 1, 2, 4, 8 or 16, 8 bits each
  std::uint32_t scalars;       ///< the classes of alpha and beta, and whether C is D: 8 bits each

  friend bool operator==(const CallKey& left, const CallKey& right) noexcept {
    return std::memcmp(&left, &right, sizeof(CallKey)) == 0;
  }
};
static_assert(std::has_unique_object_representations_v<CallKey>, "padding would be compared, too");

/// A multiply-and-fold hash over the words (the construction of wyhash: 64 x 64 -> 128 bits, halves
/// xored).
inline std::uint64_t hash(const CallKey& key) noexcept {
  std::array<std::uint64_t, (sizeof key + 15) / 16 * 2> words{};
  std::memcpy(words.data(), &key, sizeof key);
  __extension__ using Wide = unsigned __int128;
  std::uint64_t folded = 0x9e3779b97f4a7c15;
  for (std::size_t word = 0; word < words.size(); word += 2) {
    const Wide product =
        static_cast<Wide>(words[word] ^ folded) * (words[word + 1] ^ 0xd6e8feb86659fd93);
    folded ^= static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  return folded;
}

/// The value of CallKey::alignments. A C that is not read counts as a null pointer.
inline std::uint32_t alignments_of(const tunedgemm_buffers& buffers, bool reads_c) noexcept {
  const auto alignment = [](const void* pointer) {
    const auto bits = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pointer)) | 16;
    return bits & (~bits + 1);
  };
  return alignment(buffers.a) | alignment(buffers.b) << 8 |
         alignment(reads_c ? buffers.c : nullptr) << 16 | alignment(buffers.d) << 24;
}

/// The value of CallKey::scalars.
inline std::uint32_t scalars_of(const tunedgemm_buffers& buffers) noexcept {
  const bool reads_c = !(buffers.beta == 0);
  const auto alpha = buffers.alpha == 0 ? ScalarClass::kZero : ScalarClass::kOne;
  const auto beta = reads_c ? ScalarClass::kOther : ScalarClass::kZero;
  const bool c_is_d = reads_c && buffers.c == buffers.d;
  return static_cast<std::uint32_t>(alpha) | static_cast<std::uint32_t>(beta) << 8 |
         static_cast<std::uint32_t>(c_is_d) << 16;
}

/// The key of a call. Precondition: `problem` and `buffers` are structs of this library's version.
inline CallKey call_key(const tunedgemm_problem& problem,
                        const tunedgemm_buffers& buffers) noexcept {
  CallKey key;
  key.m = problem.m;
  key.n = problem.n;
  key.k = problem.k;
  key.batch = problem.batch;
  key.lda = problem.lda;
  key.ldb = problem.ldb;
  key.ldc = problem.ldc;
  key.ldd = problem.ldd;
  key.batch_stride_a = problem.batch_stride_a;
  key.batch_stride_b = problem.batch_stride_b;
  key.batch_stride_c = problem.batch_stride_c;
  key.batch_stride_d = problem.batch_stride_d;
  key.type_a = problem.type_a;
  key.type_b = problem.type_b;
  key.type_d = problem.type_d;
  key.order_a = problem.order_a;
  key.order_b = problem.order_b;
  key.order_c = problem.order_c;
  key.order_d = problem.order_d;
  key.activation = problem.activation;
  key.bias = problem.bias;
  key.numerics = problem.numerics;
  key.launch_regime = TUNEDGEMM_LAUNCH_REGIME_ISOLATED;
  key.zero = 0;
  key.alignments = alignments_of(buffers, !(buffers.beta == 0));
  key.scalars = scalars_of(buffers);
  return key;
}

/// The matrix with its defaults filled in: a leading dimension or batch stride of 0 becomes that of
/// a packed matrix. The alignment class depends on the pointer, the leading dimension and the batch
/// stride.
inline Matrix completed(Matrix matrix, std::int64_t rows, std::int64_t columns, std::int64_t batch,
                        std::uint32_t pointer_alignment) {
  const bool row_major = matrix.order == Order::kRowMajor;
  if (matrix.leading_dimension == 0) {
    matrix.leading_dimension = std::max<std::int64_t>(row_major ? columns : rows, 1);
  }
  if (matrix.batch_stride == TUNEDGEMM_BROADCAST) {
    matrix.batch_stride = 0;
  } else if (matrix.batch_stride == 0 && batch > 1 &&
             __builtin_mul_overflow(row_major ? rows : columns, matrix.leading_dimension,
                                    &matrix.batch_stride)) {
    matrix.batch_stride = std::numeric_limits<std::int64_t>::max();  // why_not refuses it
  }
  matrix.alignment_bytes = alignment_class(pointer_alignment, matrix, batch);
  return matrix;
}

/// The problem that the key describes. For an unchecked key use checked_call().
inline Problem to_problem(const CallKey& key) {
  const auto matrix = [](std::int32_t type, std::int32_t order, std::int64_t leading_dimension,
                         std::int64_t batch_stride) {
    return Matrix{.type = static_cast<DataType>(type),
                  .order = static_cast<Order>(order),
                  .leading_dimension = leading_dimension,
                  .batch_stride = batch_stride};
  };
  const auto byte = [](std::uint32_t packed, int index) { return packed >> (8 * index) & 0xff; };
  Problem problem;
  problem.m = key.m;
  problem.n = key.n;
  problem.k = key.k;
  problem.batch = key.batch;
  problem.a = completed(matrix(key.type_a, key.order_a, key.lda, key.batch_stride_a), key.m, key.k,
                        key.batch, byte(key.alignments, 0));
  problem.b = completed(matrix(key.type_b, key.order_b, key.ldb, key.batch_stride_b), key.k, key.n,
                        key.batch, byte(key.alignments, 1));
  problem.c = completed(matrix(key.type_d, key.order_c, key.ldc, key.batch_stride_c), key.m, key.n,
                        key.batch, byte(key.alignments, 2));
  problem.d = completed(matrix(key.type_d, key.order_d, key.ldd, key.batch_stride_d), key.m, key.n,
                        key.batch, byte(key.alignments, 3));
  problem.activation = static_cast<Activation>(key.activation);
  problem.bias = static_cast<Bias>(key.bias);
  problem.numerics = key.numerics != TUNEDGEMM_NUMERICS_DEFAULT
                         ? static_cast<Numerics>(key.numerics)
                     : is_fp8(problem.a.type) ? Numerics::kFast
                                              : Numerics::kIeee;
  problem.launch_regime = static_cast<LaunchRegime>(key.launch_regime);
  problem.alpha = static_cast<ScalarClass>(byte(key.scalars, 0));
  problem.beta = static_cast<ScalarClass>(byte(key.scalars, 1));
  problem.c_is_d = byte(key.scalars, 2) != 0;
  return problem;
}

}  // namespace tunedgemm::internal

template <>
struct std::hash<tunedgemm::internal::CallKey> {
  std::size_t operator()(const tunedgemm::internal::CallKey& key) const noexcept {
    return tunedgemm::internal::hash(key);
  }
};
