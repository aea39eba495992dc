#pragma once

// SHA-256 (FIPS 180-4). It is in base/ because several layers use it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tunedgemm::internal {

std::array<std::uint8_t, 32> sha256(std::span<const std::byte> bytes);

/// The first `digits` hexadecimal digits (64 at most) of the hash of the text.
std::string sha256_hex(std::string_view text, std::size_t digits = 64);

}  // namespace tunedgemm::internal
