#include "runtime/cuda/compile_process.h"

#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/cuda/nvrtc.h"
#include "runtime/process/caller.h"
#include "runtime/process/child_process.h"
#include "runtime/process/private_folder.h"

namespace tunedgemm::internal::cuda {
namespace {

namespace fs = std::filesystem;

// The exit status of the compile process.
enum Status { kCompiled = 0, kDoesNotCompile = 1, kCannotCompile = 2 };

// The arguments of the compile process, followed by the defines as "NAME=value".
enum Argument {
  kNvrtcPath,
  kNvrtcVersion,
  kOutput,
  kArchitecture,
  kExact,
  kFile,
  kEntry,
  kDefines
};

// The header of the output file; the machine code follows.
struct Figures {
  std::int64_t registers = 0, shared_bytes = 0, spill_bytes = 0;
};

std::optional<Binary> read_output(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Figures figures;
  if (text.size() <= sizeof figures) {
    return std::nullopt;
  }
  std::memcpy(&figures, text.data(), sizeof figures);
  Binary binary;
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  binary.code.assign(bytes + sizeof figures, bytes + text.size());
  binary.registers = static_cast<int>(figures.registers);
  binary.shared_bytes = figures.shared_bytes;
  binary.spill_bytes = figures.spill_bytes;
  return binary;
}

bool write_output(const char* path, const Binary& binary) {
  std::ofstream file(path, std::ios::binary);
  const Figures figures{binary.registers, binary.shared_bytes, binary.spill_bytes};
  file.write(reinterpret_cast<const char*>(&figures), sizeof figures);
  file.write(reinterpret_cast<const char*>(binary.code.data()),
             static_cast<std::streamsize>(binary.code.size()));
  file.close();
  return !file.fail();
}

CompileFailure failure_of(const ChildResult& result, std::chrono::milliseconds limit) {
  using Cause = CompileFailure::Cause;
  if (result.end == ChildResult::End::kTimedOut) {
    return {"NVRTC took more than " + std::to_string(limit.count()) + " ms and was stopped\n" +
                result.output,
            Cause::kTimeLimit};
  }
  if (result.end == ChildResult::End::kSignalled) {
    // SIGKILL usually comes from the OOM killer, so blame the environment.
    return {"NVRTC " + to_text(result) + "\n" + result.output,
            result.code == SIGKILL ? Cause::kEnvironment : Cause::kSource};
  }
  if (result.code == kDoesNotCompile) {
    return {result.output};
  }
  return {"the compile process " + to_text(result) + "\n" + result.output, Cause::kEnvironment};
}

}  // namespace

std::variant<Binary, CompileFailure> compile_in_process(const std::vector<std::string>& command,
                                                        const NvrtcLocation& nvrtc,
                                                        const Source& source, int architecture,
                                                        std::chrono::milliseconds limit) {
  const auto start = std::chrono::steady_clock::now();
  const PrivateFolder folder;
  const fs::path output = folder.path() / "kernel.cubin";
  std::vector<std::string> line = command;
  line.insert(line.end(), {nvrtc.path, nvrtc.version, output, std::to_string(architecture),
                           source.needs_exact_architecture ? "exact" : "",
                           std::string(source.file.name), source.entry});
  for (const auto& [name, value] : source.defines) {
    line.push_back(name);
    line.back().append("=").append(value);
  }
  ChildProcess child(line, {.time = limit}, {"TMPDIR=" + folder.path().string()});
  const ChildResult result = child.finish();
  if (result.end != ChildResult::End::kExited || result.code != kCompiled) {
    return failure_of(result, limit);
  }
  std::optional<Binary> binary = read_output(output);
  if (!binary) {
    return CompileFailure{"the compile process wrote no machine code",
                          CompileFailure::Cause::kEnvironment};
  }
  binary->entry = source.entry;
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  binary->compile_ms = spent.count();
  return *std::move(binary);
}

int run_compiler(std::span<const char* const> arguments) {
  if (arguments.size() < kDefines) {
    std::cout << "the compile process has too few arguments" << std::endl;
    return kCannotCompile;
  }
  try {
    const Caller caller(std::chrono::milliseconds(0));
    Source source;
    source.file = embedded_file(arguments[kFile]);
    source.includes = included_files(source.file);
    source.entry = arguments[kEntry];
    source.needs_exact_architecture = std::string_view(arguments[kExact]) == "exact";
    for (const std::string_view define : arguments.subspan(kDefines)) {
      const std::size_t equals = define.find('=');
      source.defines.emplace_back(define.substr(0, equals),
                                  equals == define.npos ? "" : define.substr(equals + 1));
    }
    int architecture = 0;
    const std::string_view number = arguments[kArchitecture];
    std::from_chars(number.data(), number.data() + number.size(), architecture);
    const Nvrtc nvrtc({arguments[kNvrtcPath], arguments[kNvrtcVersion]});
    const auto compiled = nvrtc.compile(source, architecture);
    if (const auto* failure = std::get_if<CompileFailure>(&compiled)) {
      std::cout << failure->log << std::flush;
      return kDoesNotCompile;
    }
    if (!write_output(arguments[kOutput], std::get<Binary>(compiled))) {
      std::cout << "cannot write " << arguments[kOutput] << std::endl;
      return kCannotCompile;
    }
    return kCompiled;
  } catch (const std::exception& error) {  // missing file, NVRTC or memory
    std::cout << error.what() << std::endl;
    return kCannotCompile;
  }
}

}  // namespace tunedgemm::internal::cuda
