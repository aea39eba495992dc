#include "cache/file/process_identity.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace tunedgemm::internal {
namespace {

std::string host_and_process_space() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  std::error_code ignored;
  return std::string(name.data()) + " " +
         std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
}

std::string boot_of_this_machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  return boot;
}

// Field 22 of /proc/<pid>/stat (proc(5)). Empty if the process has ended, even if it is a zombie.
std::optional<std::int64_t> start_time(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // The second field is the program's name in parentheses, which may contain any character.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    return std::nullopt;
  }
  std::istringstream fields(text.substr(name_end + 1));
  std::string state, skipped;
  fields >> state;
  for (int field = 4; field < 22; ++field) {
    fields >> skipped;
  }
  std::int64_t started = 0;
  if (state == "Z" || state == "X" || !(fields >> started)) {
    return std::nullopt;
  }
  return started;
}

}  // namespace

ProcessIdentity this_process() {
  const std::int64_t pid = getpid();
  return {host_and_process_space(), boot_of_this_machine(), pid, start_time(pid).value_or(0)};
}

Liveness liveness(const ProcessIdentity& process) {
  if (process.host != host_and_process_space()) {
    return Liveness::kUnknown;
  }
  if (process.boot != boot_of_this_machine()) {
    return Liveness::kDead;
  }
  return start_time(process.pid) == process.started ? Liveness::kAlive : Liveness::kDead;
}

}  // namespace tunedgemm::internal
