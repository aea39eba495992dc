#include "runtime/cuda/compiler_log.h"

#include <algorithm>
#include <charconv>
#include <optional>

// The lines that count:
//     0 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
//     ptxas info    : Used 255 registers, used 1 barriers, 4096 bytes smem, 560 bytes cmem[0]
//     ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are ...

namespace tunedgemm::internal::cuda {
namespace {

// The number that stands before the words, as in "12 bytes spill loads"; one that no kernel has is
// none, so that sums have room.
std::optional<int> number_before(std::string_view line, std::string_view words) {
  const std::size_t end = line.find(words);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') {
    --begin;
  }
  int value = 0;
  const auto [stop, error] = std::from_chars(line.data() + begin, line.data() + end, value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace

CompilerFigures parse_compiler_log(std::string_view log) {
  CompilerFigures figures;
  while (!log.empty()) {
    const std::size_t length = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, length);
    log.remove_prefix(std::min(length + 1, log.size()));

    figures.spill_bytes += number_before(line, " bytes spill stores").value_or(0);
    figures.spill_bytes += number_before(line, " bytes spill loads").value_or(0);
    figures.shared_bytes += number_before(line, " bytes smem").value_or(0);
    figures.registers = std::max(figures.registers, number_before(line, " registers").value_or(0));
    if (figures.given_up.empty() && line.find("(C75") != std::string_view::npos) {
      figures.given_up = line;
    }
  }
  return figures;
}

}  // namespace tunedgemm::internal::cuda
