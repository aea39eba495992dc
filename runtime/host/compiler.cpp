#include "runtime/host/compiler.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "kernel_templates/base/environment.h"
#include "kernel_templates/base/file_size_signal.h"
#include "runtime/process/child_process.h"
#include "runtime/process/private_folder.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;

// Only -ffp-contract=fast changes results: it fuses a multiplication and an addition into one
// rounding. Without errno and traps the compiler can vectorize loops with comparisons.
constexpr std::string_view kFlags[] = {"-std=c++20",
                                       "-O3",
                                       "-ffp-contract=fast",
                                       "-fno-math-errno",
                                       "-fno-trapping-math",
                                       "-fno-exceptions",
                                       "-fno-rtti",
                                       "-shared",
                                       "-fPIC",
                                       "-w",
                                       "-Wl,-s"};

std::vector<std::byte> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

void write_source(const fs::path& folder, const SourceFile& file) {
  const fs::path path = folder / file.name;
  fs::create_directories(path.parent_path());
  const FileSizeSignalBlocked guard;
  std::ofstream stream(path, std::ios::binary);
  stream.write(file.text.data(), static_cast<std::streamsize>(file.text.size()));
  stream.close();
  if (!stream) {
    throw std::system_error(errno, std::generic_category(), "cannot write " + path.string());
  }
}

CompileFailure broken(std::string log) {
  return {std::move(log), CompileFailure::Cause::kEnvironment};
}

// The sentence, and what the compiler printed.
std::string with_output(std::string sentence, const std::string& output) {
  return output.empty() ? sentence : std::move(sentence) + '\n' + output;
}

// Whether the compiler found an error at a line of a file: "kernel.cc:12:3: error: ". Its exit
// status alone is not enough: it is 1 as well if the system kills cc1plus, if as or ld find the
// disk full, or if memory or another limit is exhausted.
bool blames_source(const std::string& output) {
  constexpr std::string_view kError = ": error: ";
  for (std::size_t at = output.find(kError); at != output.npos; at = output.find(kError, at + 1)) {
    const std::size_t before_column = output.substr(0, at).find_last_not_of("0123456789");
    if (before_column != output.npos && before_column + 1 < at && output[before_column] == ':') {
      return true;
    }
  }
  return false;
}

std::string identity_of(const fs::path& program) {
  std::error_code error;
  const fs::path resolved = fs::canonical(program, error);
  struct stat status {};
  if (error || stat(resolved.c_str(), &status) != 0) {
    return program.filename();
  }
  return resolved.filename().string() + " " + std::to_string(status.st_size) + "-" +
         std::to_string(status.st_mtim.tv_sec);
}

}  // namespace

Compiler Compiler::find(std::vector<std::string> cpu_flags) {
  Compiler compiler;
  compiler.cpu_flags_ = std::move(cpu_flags);
  for (const char* variable : {"TUNEDGEMM_CXX", "CXX"}) {
    std::istringstream words(environment(variable));
    const std::vector<std::string> command{std::istream_iterator<std::string>(words), {}};
    if (command.empty()) {
      continue;
    }
    const fs::path program = find_program(command.front());
    if (program.empty()) {
      compiler.why_not_ = "$" + std::string(variable) + " names the C++ compiler " +
                          command.front() + ", which is not an executable file; set it to one";
      return compiler;
    }
    compiler.command_ = command;
    compiler.command_.front() = program;
    compiler.identity_ = identity_of(program);
    return compiler;
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (const fs::path program = find_program(name); !program.empty()) {
      compiler.command_ = {program};
      compiler.identity_ = identity_of(program);
      return compiler;
    }
  }
  compiler.why_not_ =
      "there is no C++ compiler: none of c++, g++ and clang++ is on the PATH; install g++ (Debian: "
      "apt-get install g++), or set $TUNEDGEMM_CXX to one";
  return compiler;
}

std::variant<Binary, CompileFailure> Compiler::compile(const Source& source,
                                                       std::chrono::milliseconds limit) const {
  if (!why_not_.empty()) {
    throw DeviceError(DeviceError::Kind::kUnavailable, why_not_);
  }
  const auto start = std::chrono::steady_clock::now();
  try {
    const PrivateFolder folder;
    write_source(folder.path(), source.file);
    for (const SourceFile& include : source.includes) {
      write_source(folder.path(), include);
    }
    const fs::path object = folder.path() / "kernel.so";

    std::vector<std::string> command = command_;
    command.insert(command.end(), std::begin(kFlags), std::end(kFlags));
    command.insert(command.end(), cpu_flags_.begin(), cpu_flags_.end());
    for (const auto& [macro, value] : source.defines) {
      command.push_back("-D" + macro);
      command.back().append("=").append(value);
    }
    command.insert(command.end(), {"-o", object, folder.path() / source.file.name});

    const ChildLimits limits{
        .time = limit,
        .cpu = std::chrono::ceil<std::chrono::seconds>(limit) + std::chrono::seconds(1)};
    const ChildResult result = run_child(command, limits, {"TMPDIR=" + folder.path().string()});
    if (result.end == ChildResult::End::kTimedOut) {
      return broken(with_output("the compiler " + command_.front() + " took more than " +
                                    std::to_string(limit.count()) + " ms and was stopped",
                                result.output));
    }
    Binary binary{.code = read_file(object), .entry = source.entry};
    const bool has_ended = result.end == ChildResult::End::kExited;
    if (has_ended && result.code != 0 && blames_source(result.output)) {
      return CompileFailure{result.output};
    }
    if (!has_ended || result.code != 0 || binary.code.empty()) {
      return broken(with_output("the compiler " + command_.front() + " " + to_text(result) +
                                    (has_ended && result.code == 0 ? " and wrote no kernel" : ""),
                                result.output));
    }
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - start;
    binary.compile_ms = spent.count();
    return binary;
  } catch (const std::system_error& error) {
    return broken("compiling " + std::string(source.file.name) + ": " + error.what());
  }
}

}  // namespace tunedgemm::internal
