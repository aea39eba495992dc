#include "runtime/cuda/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

namespace tunedgemm::internal::cuda {

// NOLINTBEGIN(readability-identifier-naming): the manual's names
using nvrtcResult = int;
using nvrtcProgram = struct NvrtcProgram*;
constexpr nvrtcResult NVRTC_SUCCESS = 0;
constexpr nvrtcResult NVRTC_ERROR_COMPILATION = 6;
// NOLINTEND(readability-identifier-naming)

namespace {

template <typename Function>
void require(void* library, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
  if (function == nullptr) {
    throw DeviceError(DeviceError::Kind::kUnavailable,
                      std::string("NVRTC is too old: it has no ") + symbol);
  }
}

}  // namespace

// The functions of NVRTC, under the names of its manual ("NVRTC: Runtime Compilation").
struct Nvrtc::Functions {
  // NOLINTBEGIN(readability-identifier-naming)
  const char* (*nvrtcGetErrorString)(nvrtcResult);
  nvrtcResult (*nvrtcVersion)(int* major, int* minor);
  nvrtcResult (*nvrtcGetNumSupportedArchs)(int*);
  nvrtcResult (*nvrtcGetSupportedArchs)(int*);
  nvrtcResult (*nvrtcCreateProgram)(nvrtcProgram*, const char* text, const char* name, int headers,
                                    const char* const* header_texts,
                                    const char* const* header_names);
  nvrtcResult (*nvrtcDestroyProgram)(nvrtcProgram*);
  nvrtcResult (*nvrtcCompileProgram)(nvrtcProgram, int options, const char* const*);
  nvrtcResult (*nvrtcGetCUBINSize)(nvrtcProgram, std::size_t*);
  nvrtcResult (*nvrtcGetCUBIN)(nvrtcProgram, char*);
  nvrtcResult (*nvrtcGetProgramLogSize)(nvrtcProgram, std::size_t*);
  nvrtcResult (*nvrtcGetProgramLog)(nvrtcProgram, char*);
  // NOLINTEND(readability-identifier-naming)

  explicit Functions(void* library) {
    require(library, "nvrtcGetErrorString", nvrtcGetErrorString);
    require(library, "nvrtcVersion", nvrtcVersion);
    require(library, "nvrtcGetNumSupportedArchs", nvrtcGetNumSupportedArchs);
    require(library, "nvrtcGetSupportedArchs", nvrtcGetSupportedArchs);
    require(library, "nvrtcCreateProgram", nvrtcCreateProgram);
    require(library, "nvrtcDestroyProgram", nvrtcDestroyProgram);
    require(library, "nvrtcCompileProgram", nvrtcCompileProgram);
    require(library, "nvrtcGetCUBINSize", nvrtcGetCUBINSize);
    require(library, "nvrtcGetCUBIN", nvrtcGetCUBIN);
    require(library, "nvrtcGetProgramLogSize", nvrtcGetProgramLogSize);
    require(library, "nvrtcGetProgramLog", nvrtcGetProgramLog);
  }

  // Earlier versions reject the option --no-cache.
  bool has_disk_cache() const {
    int major = 0, minor = 0;
    return nvrtcVersion(&major, &minor) == NVRTC_SUCCESS &&
           std::pair(major, minor) >= std::pair(12, 9);
  }

  CompileFailure failure(nvrtcResult result, const char* call, const Source& source) const {
    return {std::string(call) + " failed for " + std::string(source.file.name) + ": " +
                nvrtcGetErrorString(result),
            CompileFailure::Cause::kEnvironment};
  }

  std::string log(nvrtcProgram program) const {
    std::size_t size = 0;
    if (nvrtcGetProgramLogSize(program, &size) != NVRTC_SUCCESS || size <= 1) {
      return "";
    }
    std::string text(size, '\0');
    nvrtcGetProgramLog(program, text.data());
    text.resize(size - 1);  // without the terminating zero
    return text;
  }
};

namespace {

// The included files of a source, as arguments of nvrtcCreateProgram. NVRTC finds a file by the
// exact text of the #include.
struct Headers {
  explicit Headers(const std::vector<SourceFile>& files) {
    for (const SourceFile& file : files) {
      names.emplace_back(file.name);
      texts.push_back(with_whole_names(file));
    }
    for (std::size_t index = 0; index < names.size(); ++index) {
      name_pointers.push_back(names[index].c_str());
      text_pointers.push_back(texts[index].c_str());
    }
  }

  std::vector<std::string> names, texts;
  std::vector<const char*> name_pointers, text_pointers;
};

}  // namespace

Nvrtc::Nvrtc(const NvrtcLocation& location) : location_(location) {
  void* library = dlopen(location.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw DeviceError(DeviceError::Kind::kUnavailable,
                      "NVRTC cannot be opened: " + std::string(dlerror()) +
                          "; set TUNEDGEMM_NVRTC to another libnvrtc.so");
  }
  functions_ = std::make_unique<const Functions>(library);
  int count = 0;
  nvrtcResult result = functions_->nvrtcGetNumSupportedArchs(&count);
  if (result == NVRTC_SUCCESS) {
    supported_.resize(static_cast<std::size_t>(std::max(count, 0)));
    result = functions_->nvrtcGetSupportedArchs(supported_.data());
  }
  if (result != NVRTC_SUCCESS) {
    throw DeviceError(DeviceError::Kind::kUnavailable,
                      "NVRTC " + location.path.string() +
                          " does not report the GPUs for which it compiles: " +
                          functions_->nvrtcGetErrorString(result));
  }
}

// The library stays open, because its threads and caches would not survive dlclose().
Nvrtc::~Nvrtc() = default;

std::string Nvrtc::architecture_option(const Source& source, int architecture) const {
  const auto supports = [&](int candidate) {
    return std::find(supported_.begin(), supported_.end(), candidate) != supported_.end();
  };
  if (source.needs_exact_architecture && supports(architecture)) {
    return "--gpu-architecture=sm_" + std::to_string(architecture) + "a";
  }
  // Machine code also runs on later minor versions of its architecture.
  const int oldest = source.needs_exact_architecture ? architecture : architecture / 10 * 10;
  for (int candidate = architecture; candidate >= oldest; --candidate) {
    if (supports(candidate)) {
      return "--gpu-architecture=sm_" + std::to_string(candidate);
    }
  }
  return "";
}

std::string Nvrtc::why_not(int architecture) const {
  return architecture_option({}, architecture).empty()
             ? "NVRTC " + location_.version + " cannot compile for sm_" +
                   std::to_string(architecture) +
                   "; install a CUDA toolkit that supports this GPU, or set TUNEDGEMM_NVRTC to its "
                   "libnvrtc.so"
             : "";
}

std::variant<Binary, CompileFailure> Nvrtc::compile(const Source& source, int architecture) const {
  const auto start = std::chrono::steady_clock::now();
  const Functions& functions = *functions_;

  const std::string for_architecture = architecture_option(source, architecture);
  if (for_architecture.empty()) {
    return CompileFailure{why_not(architecture), CompileFailure::Cause::kEnvironment};
  }
  std::vector<std::string> options{for_architecture, "-std=c++20", "--ptxas-options=-v"};
  if (functions.has_disk_cache()) {  // whose binaries come without the log, and so without figures
    options.emplace_back("--no-cache");
  }
  for (const auto& [name, value] : source.defines) {
    options.push_back(std::string("-D").append(name).append("=").append(value));
  }
  std::vector<const char*> option_pointers;
  option_pointers.reserve(options.size());
  for (const std::string& option : options) {
    option_pointers.push_back(option.c_str());
  }

  const Headers headers(source.includes);
  const std::string text = with_whole_names(source.file);
  const std::string name(source.file.name);
  nvrtcProgram created = nullptr;
  nvrtcResult result = functions.nvrtcCreateProgram(
      &created, text.c_str(), name.c_str(), static_cast<int>(headers.names.size()),
      headers.text_pointers.data(), headers.name_pointers.data());
  if (result != NVRTC_SUCCESS) {
    return functions.failure(result, "nvrtcCreateProgram", source);
  }
  const auto destroy = [&](nvrtcProgram program) { functions.nvrtcDestroyProgram(&program); };
  const std::unique_ptr<NvrtcProgram, decltype(destroy)> program(created, destroy);

  result = functions.nvrtcCompileProgram(program.get(), static_cast<int>(option_pointers.size()),
                                         option_pointers.data());
  const std::string log = functions.log(program.get());
  if (result == NVRTC_ERROR_COMPILATION) {
    return CompileFailure{log};
  }
  if (result != NVRTC_SUCCESS) {
    return functions.failure(result, "nvrtcCompileProgram", source);
  }

  const CompilerFigures figures = parse_compiler_log(log);
  if (!figures.performance_warning.empty()) {
    return CompileFailure{figures.performance_warning};
  }
  std::size_t size = 0;
  result = functions.nvrtcGetCUBINSize(program.get(), &size);
  if (result != NVRTC_SUCCESS) {
    return functions.failure(result, "nvrtcGetCUBINSize", source);
  }
  Binary binary;
  binary.code.resize(size);
  result = functions.nvrtcGetCUBIN(program.get(), reinterpret_cast<char*>(binary.code.data()));
  if (result != NVRTC_SUCCESS) {
    return functions.failure(result, "nvrtcGetCUBIN", source);
  }
  binary.entry = source.entry;
  binary.registers = figures.registers;
  binary.shared_bytes = figures.shared_bytes;
  binary.spill_bytes = figures.spill_bytes;
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  binary.compile_ms = spent.count();
  return binary;
}

// The relevant lines of a log:
//     0 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
//     ptxas info    : Used 255 registers, used 1 barriers, 4096 bytes smem, 560 bytes cmem[0]
//     ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are ...

namespace {

// The number before the words, as in "12 bytes spill loads". Empty for a number that exceeds int,
// so that sums cannot overflow.
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
    if (figures.performance_warning.empty() && line.find("(C75") != std::string_view::npos) {
      figures.performance_warning = line;
    }
  }
  return figures;
}

}  // namespace tunedgemm::internal::cuda
