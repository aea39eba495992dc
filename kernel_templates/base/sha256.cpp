#include "kernel_templates/base/sha256.h"

#include <bit>
#include <cstring>
#include <vector>

namespace tunedgemm::internal {
namespace {

constexpr std::size_t kBlockBytes = 64;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (section
// 4.2.2).
constexpr std::array<std::uint32_t, 64> kRoundConstants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<std::uint32_t, 8>;

std::uint32_t load_big_endian(const std::byte* bytes) {
  return std::to_integer<std::uint32_t>(bytes[0]) << 24 |
         std::to_integer<std::uint32_t>(bytes[1]) << 16 |
         std::to_integer<std::uint32_t>(bytes[2]) << 8 | std::to_integer<std::uint32_t>(bytes[3]);
}

// Section 6.2.2: adds one block of 64 bytes to the state.
void compress(State& state, const std::byte* block) {
  std::array<std::uint32_t, 64> schedule{};
  for (std::size_t t = 0; t < 16; ++t) {
    schedule[t] = load_big_endian(block + 4 * t);
  }
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t w15 = schedule[t - 15];
    const std::uint32_t w2 = schedule[t - 2];
    const std::uint32_t sigma0 = std::rotr(w15, 7) ^ std::rotr(w15, 18) ^ (w15 >> 3);
    const std::uint32_t sigma1 = std::rotr(w2, 17) ^ std::rotr(w2, 19) ^ (w2 >> 10);
    schedule[t] = sigma1 + schedule[t - 7] + sigma0 + schedule[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t choice = (e & f) ^ (~e & g);
    const std::uint32_t t1 = h + sum1 + choice + kRoundConstants[t] + schedule[t];
    const std::uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + sum0 + majority;
  }
  const State mixed{a, b, c, d, e, f, g, h};
  for (std::size_t word = 0; word < state.size(); ++word) {
    state[word] += mixed[word];
  }
}

}  // namespace

std::array<std::uint8_t, 32> sha256(std::span<const std::byte> bytes) {
  State state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const std::size_t whole_blocks = bytes.size() / kBlockBytes;
  for (std::size_t block = 0; block < whole_blocks; ++block) {
    compress(state, bytes.data() + block * kBlockBytes);
  }

  // Section 5.1.1: pad with a one bit, zeros, and the length in bits as a 64-bit number.
  const std::span<const std::byte> rest = bytes.subspan(whole_blocks * kBlockBytes);
  std::array<std::byte, 2 * kBlockBytes> tail{};
  if (!rest.empty()) {
    std::memcpy(tail.data(), rest.data(), rest.size());
  }
  tail[rest.size()] = std::byte{0x80};
  const std::size_t tail_bytes = rest.size() + 9 <= kBlockBytes ? kBlockBytes : 2 * kBlockBytes;
  const std::uint64_t bits = static_cast<std::uint64_t>(bytes.size()) * 8;
  for (std::size_t byte = 0; byte < 8; ++byte) {
    tail[tail_bytes - 1 - byte] = static_cast<std::byte>(bits >> (8 * byte));
  }
  for (std::size_t offset = 0; offset < tail_bytes; offset += kBlockBytes) {
    compress(state, tail.data() + offset);
  }

  std::array<std::uint8_t, 32> digest{};
  for (std::size_t byte = 0; byte < digest.size(); ++byte) {
    digest[byte] = static_cast<std::uint8_t>(state[byte / 4] >> (24 - 8 * (byte % 4)));
  }
  return digest;
}

std::string sha256_hex(std::string_view text, std::size_t digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto digest = sha256(std::as_bytes(std::span(text.data(), text.size())));
  std::string hex;
  for (const std::uint8_t byte : digest) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex.substr(0, digits);
}

}  // namespace tunedgemm::internal
