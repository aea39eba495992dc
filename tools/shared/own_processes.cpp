#include "tools/shared/own_processes.h"

#include <span>
#include <string_view>

#include "runtime/cuda/compile_process.h"
#include "runtime/process/worker_process.h"
#include "tools/shared/interrupt.h"

namespace tunedgemm::internal {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";
constexpr std::string_view kCompile = "--compile-kernel";

// What stands behind the role, if it is this one.
std::optional<std::span<const char* const>> told(int argc, const char* const* argv,
                                                 std::string_view role) {
  if (argc < 2 || argv[1] != role) {
    return std::nullopt;
  }
  return std::span(argv, static_cast<std::size_t>(argc)).subspan(2);
}

}  // namespace

std::vector<std::string> compile_command() {
  return {kThisProgram, std::string(kCompile)};
}

std::vector<std::string> worker_command() {
  return {kThisProgram, std::string(kWorkerFlag)};
}

std::optional<int> compile_if_told(int argc, const char* const* argv) {
  const auto arguments = told(argc, argv, kCompile);
  return arguments ? std::optional(cuda::run_compiler(*arguments)) : std::nullopt;
}

std::optional<int> work_if_told(int argc, const char* const* argv) {
  const auto arguments = told(argc, argv, kWorkerFlag);
  if (!arguments) {
    return std::nullopt;
  }
  survive_file_size_limit();
  return run_worker(*arguments, compile_command());
}

}  // namespace tunedgemm::internal
