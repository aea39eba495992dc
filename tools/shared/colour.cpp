#include "tools/shared/colour.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <utility>

#include "kernel_templates/base/environment.h"
#include "kernel_templates/base/text.h"

namespace tunedgemm::internal {
namespace {

// "Select Graphic Rendition" of ECMA-48, in the order of Colour; the first ends every other.
constexpr std::array<std::string_view, 5> kSequences{"\x1b[0m", "\x1b[1m", "\x1b[32m", "\x1b[33m",
                                                     "\x1b[31m"};

// Green: as it should be; yellow: of limited use; red: of none.
constexpr std::array<std::pair<std::string_view, Colour>, 9> kStates{
    {{"confirmed", Colour::kGreen},
     {"ok", Colour::kGreen},
     {"provisional", Colour::kYellow},
     {"stale", Colour::kYellow},
     {"absent", Colour::kYellow},
     {"void", Colour::kRed},
     {"no winner", Colour::kRed},
     {"rejected", Colour::kRed},
     {"BROKEN", Colour::kRed}}};

int colours_of_stream() {
  static const int index = std::ios_base::xalloc();
  return index;
}

}  // namespace

bool shows_colours(int descriptor) {
  return isatty(descriptor) != 0 && environment("NO_COLOR").empty() &&
         environment("TERM") != "dumb";
}

void set_colours(std::ostream& out, bool on) {
  out.iword(colours_of_stream()) = on ? 1 : 0;
}

bool has_colours(std::ostream& out) {
  return out.iword(colours_of_stream()) != 0;
}

std::string coloured(std::ostream& out, std::string_view text, Colour colour) {
  if (colour == Colour::kNone || !has_colours(out)) {
    return std::string(text);
  }
  return std::string(kSequences[static_cast<std::size_t>(colour)]) + std::string(text) +
         std::string(kSequences[0]);
}

Colour colour_of_state(std::string_view text) {
  const auto* const found = std::ranges::find(kStates, text, &decltype(kStates)::value_type::first);
  return found == kStates.end() ? Colour::kNone : found->second;
}

std::size_t sequence_bytes(std::string_view text) {
  const auto* const found = std::ranges::find_if(
      kSequences, [&](std::string_view each) { return text.starts_with(each); });
  return found == kSequences.end() ? 0 : found->size();
}

std::string printable_coloured(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    std::size_t end = 0;
    while (end < text.size() && sequence_bytes(text.substr(end)) == 0) {
      ++end;
    }
    const std::size_t bytes = sequence_bytes(text.substr(end));
    shown += printable(text.substr(0, end), Lines::kMany);
    shown += text.substr(end, bytes);
    text.remove_prefix(end + bytes);
  }
  return shown;
}

}  // namespace tunedgemm::internal
