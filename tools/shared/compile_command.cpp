#include "tools/shared/compile_command.h"

#include <span>
#include <string_view>

#include "runtime/cuda/compile_process.h"

namespace tunedgemm {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";
constexpr std::string_view kCompile = "--compile-kernel";

}  // namespace

std::vector<std::string> compile_command() {
  return {kThisProgram, std::string(kCompile)};
}

std::optional<int> compile_if_told(int argc, const char* const* argv) {
  if (argc < 2 || argv[1] != kCompile) {
    return std::nullopt;
  }
  return cuda::compile_as_told(std::span(argv, static_cast<std::size_t>(argc)).subspan(2));
}

}  // namespace tunedgemm
