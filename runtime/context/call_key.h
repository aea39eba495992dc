#pragma once

// CallKey: the problem of a call as plain integers, compared and hashed as bytes. Only this file
// converts a caller's struct to a key and a problem, and a problem to a struct. No member is
// truncated, so different problems have different keys. Only calls that pass checked_call()
// (checked_call.h) get plans, so a key with a plan needs no check.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#include "kernel_templates/problem/problem_grammar.h"
#include "tunedgemm/tunedgemm.h"

namespace tunedgemm::internal {

/// The problem as the caller describes it, not canonical, with what matters of the buffers.
struct CallKey {
  tunedgemm_problem problem;
  std::int32_t launch_regime;  ///< of the plan
  std::int32_t zero;           ///< explicit padding, because all bytes are compared and hashed
  std::uint32_t alignments;    ///< of the pointers a, b, c, d: 1, 2, 4, 8 or 16, 8 bits each
  std::uint32_t scalars;       ///< the classes of alpha and beta, and whether C is D: 8 bits each

  friend bool operator==(const CallKey& left, const CallKey& right) noexcept {
    return std::memcmp(&left, &right, sizeof(CallKey)) == 0;
  }
};
static_assert(std::has_unique_object_representations_v<CallKey>, "padding would be compared, too");
static_assert(kBroadcast == TUNEDGEMM_BROADCAST &&
              kDefaultNumerics == Numerics{TUNEDGEMM_NUMERICS_DEFAULT});

/// A multiply-and-fold hash over words (the construction of wyhash: 64 x 64 -> 128 bits, halves
/// xored), in chains that do not wait for each other.
template <std::size_t kWords>
std::uint64_t hash_words(const std::array<std::uint64_t, kWords>& words) noexcept {
  constexpr std::size_t kChains = 4;
  static_assert(kWords % (2 * kChains) == 0);
  const auto fold = [](std::uint64_t left, std::uint64_t right) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(left) * right;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  std::array<std::uint64_t, kChains> chains{0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9,
                                            0x94d049bb133111eb, 0x2545f4914f6cdd1d};
  for (std::size_t word = 0; word < kWords; word += 2 * kChains) {
    for (std::size_t chain = 0; chain < kChains; ++chain) {
      const std::size_t pair = word + 2 * chain;
      chains[chain] ^= fold(words[pair] ^ chains[chain], words[pair + 1] ^ 0xd6e8feb86659fd93);
    }
  }
  return fold(chains[0] ^ fold(chains[1], chains[2]), chains[3]);
}

inline std::uint64_t hash(const CallKey& key) noexcept {
  std::array<std::uint64_t, (sizeof key + 63) / 64 * 8> words{};
  std::memcpy(words.data(), &key, sizeof key);
  return hash_words(words);
}

/// The value of CallKey::alignments. A C that is not read counts as a null pointer. `Buffers` has
/// the members of a tunedgemm_buffers that count.
template <class Buffers>
std::uint32_t alignments_of(const Buffers& buffers, bool reads_c) noexcept {
  const auto alignment = [](const void* pointer) {
    const auto bits = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pointer)) | 16;
    return bits & (~bits + 1);
  };
  return alignment(buffers.a) | alignment(buffers.b) << 8 |
         alignment(reads_c ? buffers.c : nullptr) << 16 | alignment(buffers.d) << 24;
}

/// The value of CallKey::scalars.
template <class Buffers>
std::uint32_t scalars_of(const Buffers& buffers) noexcept {
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
  return {.problem = problem,
          .launch_regime = TUNEDGEMM_LAUNCH_REGIME_ISOLATED,
          .zero = 0,
          .alignments = alignments_of(buffers, !(buffers.beta == 0)),
          .scalars = scalars_of(buffers)};
}

/// Calls `pair` for each member of a tunedgemm_problem, with its name and the member with the same
/// meaning of a problem as written (problem_grammar.h).
template <class CProblem, class Written, class Pair>
void pair_members(CProblem& problem, Written& written, Pair pair) {
  pair("m", problem.m, written.m);
  pair("n", problem.n, written.n);
  pair("k", problem.k, written.k);
  pair("batch", problem.batch, written.batch);
  pair("lda", problem.lda, written.a.leading_dimension);
  pair("ldb", problem.ldb, written.b.leading_dimension);
  pair("ldc", problem.ldc, written.c.leading_dimension);
  pair("ldd", problem.ldd, written.d.leading_dimension);
  pair("batch_stride_a", problem.batch_stride_a, written.a.batch_stride);
  pair("batch_stride_b", problem.batch_stride_b, written.b.batch_stride);
  pair("batch_stride_c", problem.batch_stride_c, written.c.batch_stride);
  pair("batch_stride_d", problem.batch_stride_d, written.d.batch_stride);
  pair("type_a", problem.type_a, written.a.type);
  pair("type_b", problem.type_b, written.b.type);
  pair("type_d", problem.type_d, written.c.type);
  pair("type_d", problem.type_d, written.d.type);
  pair("order_a", problem.order_a, written.a.order);
  pair("order_b", problem.order_b, written.b.order);
  pair("order_c", problem.order_c, written.c.order);
  pair("order_d", problem.order_d, written.d.order);
  pair("activation", problem.activation, written.activation);
  pair("bias", problem.bias, written.bias);
  pair("numerics", problem.numerics, written.numerics);
  pair("invariant", problem.invariant, written.invariant);
  pair("sm_limit", problem.sm_limit, written.sm_limit);
  pair("scaling_a", problem.scaling_a, written.scaling_a);
  pair("scaling_b", problem.scaling_b, written.scaling_b);
  pair("group_kind", problem.group_kind, written.group_kind);
  pair("rows_per_group", problem.rows_per_group, written.rows_per_group);
}

/// The problem as the caller of the key wrote it.
inline Problem written_problem(const CallKey& key) {
  Problem problem;
  pair_members(key.problem, problem, [](const char*, const auto& from, auto& to) {
    to = static_cast<std::remove_reference_t<decltype(to)>>(from);
  });
  const auto byte = [](std::uint32_t packed, int index) {
    return static_cast<std::int32_t>(packed >> (8 * index) & 0xff);
  };
  problem.a.alignment_bytes = byte(key.alignments, 0);
  problem.b.alignment_bytes = byte(key.alignments, 1);
  problem.c.alignment_bytes = byte(key.alignments, 2);
  problem.d.alignment_bytes = byte(key.alignments, 3);
  problem.launch_regime = static_cast<LaunchRegime>(key.launch_regime);
  problem.alpha = static_cast<ScalarClass>(byte(key.scalars, 0));
  problem.beta = static_cast<ScalarClass>(byte(key.scalars, 1));
  problem.c_is_d = byte(key.scalars, 2) != 0;
  return problem;
}

/// The problem that the key describes. For an unchecked key use checked_call().
inline Problem to_problem(const CallKey& key) {
  return completed(written_problem(key));
}

/// The opposite of call_key() and written_problem().
inline void set_members(tunedgemm_problem& problem, const Problem& written) {
  pair_members(problem, written, [](const char*, auto& to, const auto& from) {
    to = static_cast<std::remove_reference_t<decltype(to)>>(from);
  });
}

}  // namespace tunedgemm::internal

template <>
struct std::hash<tunedgemm::internal::CallKey> {
  std::size_t operator()(const tunedgemm::internal::CallKey& key) const noexcept {
    return tunedgemm::internal::hash(key);
  }
};
