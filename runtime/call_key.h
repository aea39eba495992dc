#pragma once

// CallKey: what a call says about its problem, as plain integers that can be compared and hashed as
// bytes.

#include <array>
#include <cstdint>
#include <cstring>

#include "kernel_templates/problem/problem.h"

namespace tunedgemm {

/// The problem as it was asked, not yet canonical. No padding bytes: all members are 64 bits wide.
struct CallKey {
  std::int64_t m, n, k, batch;
  std::int64_t lda, ldb, ldc, ldd;
  std::int64_t batch_stride_a, batch_stride_b, batch_stride_c, batch_stride_d;
  std::int64_t types;       ///< a, b, d, numerics: 16 bits each
  std::int64_t orders;      ///< a, b, c, d, activation, bias: 8 bits each
  std::int64_t alignments;  ///< of the pointers a, b, c, d as 1, 2, 4, 8, 16: 8 bits each
  std::int64_t scalars;     ///< classes of alpha and beta, c_is_d: 8 bits each

  friend bool operator==(const CallKey& left, const CallKey& right) noexcept {
    return std::memcmp(&left, &right, sizeof(CallKey)) == 0;
  }
};
static_assert(sizeof(CallKey) == 16 * sizeof(std::int64_t));

/// A multiply-and-fold hash over the words (the construction of wyhash: 64 x 64 -> 128 bits, halves
/// xored).
inline std::uint64_t hash(const CallKey& key) noexcept {
  std::array<std::uint64_t, 16> words;
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

/// The problem that the key describes, with the alignment classes of pointers, leading dimensions
/// and strides joined.
Problem to_problem(const CallKey& key);
/// The key of a problem whose pointers are aligned as its matrices say.
CallKey to_call_key(const Problem& problem);

}  // namespace tunedgemm
