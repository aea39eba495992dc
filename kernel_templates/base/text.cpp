#include "kernel_templates/base/text.h"

#include <cstdint>

namespace tunedgemm::internal {
namespace {

// The UTF-8 character at the start of a text; `bytes` is 0 if there is none.
struct Character {
  std::uint32_t code_point = 0;
  std::size_t bytes = 0;
};

// RFC 3629 allows only the shortest form, no surrogates, and nothing above 10ffff.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) {
    return {lead, 1};
  }
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) {
    return {};
  }
  std::uint32_t code_point = lead & (0x7fU >> bytes);
  for (std::size_t index = 1; index < bytes; ++index) {
    if ((byte(index) & 0xc0) != 0x80) {
      return {};
    }
    code_point = code_point << 6 | (byte(index) & 0x3fU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  return code_point < kLeast[bytes] || code_point > 0x10ffff || is_surrogate
             ? Character{}
             : Character{code_point, bytes};
}

// Whether the character is a control character (C0, C1, delete), a line or paragraph separator, or
// a direction mark.
bool acts(std::uint32_t code_point) {
  const auto within = [&](std::uint32_t least, std::uint32_t greatest) {
    return code_point >= least && code_point <= greatest;
  };
  return within(0, 0x1f) || within(0x7f, 0x9f) || within(0x2028, 0x202e) ||
         within(0x200e, 0x200f) || within(0x2066, 0x2069);
}

std::string hexadecimal(std::uint32_t number, int digits) {
  std::string text;
  for (int digit = digits - 1; digit >= 0; --digit) {
    text += "0123456789abcdef"[number >> (4 * digit) & 0xf];
  }
  return text;
}

}  // namespace

std::string printable(std::string_view text, Lines lines) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t bytes = character.bytes == 0 ? 1 : character.bytes;
    const bool stays = lines == Lines::kMany && (text.front() == '\n' || text.front() == '\t');
    if (character.bytes == 0) {
      shown += "\\x" + hexadecimal(static_cast<unsigned char>(text.front()), 2);
    } else if (acts(character.code_point) && !stays) {
      shown += "\\u" + hexadecimal(character.code_point, 4);
    } else {
      shown += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return shown;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

std::vector<std::pair<std::string_view, std::string_view>> split_fields(std::string_view text) {
  std::vector<std::pair<std::string_view, std::string_view>> fields;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) {
      continue;
    }
    const std::size_t equals = word.find('=');
    const bool has_value = equals != std::string_view::npos;
    fields.emplace_back(word.substr(0, equals), has_value ? word.substr(equals + 1) : "");
  }
  return fields;
}

}  // namespace tunedgemm::internal
