// Replaces NVRTC and compiles nothing. Its cubin is a text with the kernel's name, the architecture
// and the defines; the fake driver loads it as a function.

#include <dlfcn.h>

#include <cstring>
#include <string>

#include "tests/runtime/fake_cuda/fake_cuda.h"

// These names are from the manual.
// NOLINTBEGIN(readability-identifier-naming)
#pragma GCC visibility push(default)

struct NvrtcProgram {
  std::string text, cubin, log;
};

namespace {

using nvrtcResult = int;
using nvrtcProgram = NvrtcProgram*;
constexpr nvrtcResult NVRTC_SUCCESS = 0;

// The driver's Control also makes NVRTC calls fail or hang.
tunedgemm::internal::fake_cuda::Control& control() {
  static const auto find = reinterpret_cast<tunedgemm::internal::fake_cuda::FindControl>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW), tunedgemm::internal::fake_cuda::kControlSymbol));
  return *find();
}

nvrtcResult enter(const char* function) {
  return control().enter(function);
}

// The name of the first kernel of a file, which follows __global__ and its attributes.
std::string entry_of(const std::string& text) {
  const std::size_t begin = text.find("tunedgemm_", text.find("extern \"C\" __global__"));
  return text.substr(begin, text.find('(', begin) - begin);
}

nvrtcResult copy(const std::string& from, char* to) {
  std::memcpy(to, from.c_str(), from.size() + 1);
  return NVRTC_SUCCESS;
}

}  // namespace

extern "C" {

const char* nvrtcGetErrorString(nvrtcResult result) {
  return result == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR";
}
nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  *count = 1;
  return enter("nvrtcGetNumSupportedArchs");
}
nvrtcResult nvrtcGetSupportedArchs(int* architectures) {
  *architectures = 90;
  return enter("nvrtcGetSupportedArchs");
}
nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* text, const char*, int,
                               const char* const*, const char* const*) {
  const nvrtcResult result = enter("nvrtcCreateProgram");
  if (result == NVRTC_SUCCESS) {
    *program = new NvrtcProgram{text, {}, {}};  // freed by nvrtcDestroyProgram
  }
  return result;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  if (const nvrtcResult result = enter("nvrtcCompileProgram"); result != NVRTC_SUCCESS) {
    program->log = "error: told to fail";
    return result;
  }
  control().wait_while_compilations_hang();
  std::string cubin =
      "\x7f"
      "ELF\nentry " +
      entry_of(program->text) + "\n";
  for (int index = 0; index < count; ++index) {
    const std::string option = options[index];
    constexpr const char* kArchitecture = "--gpu-architecture=sm_";
    if (option.compare(0, std::strlen(kArchitecture), kArchitecture) == 0) {
      cubin += "architecture " + option.substr(std::strlen(kArchitecture)) + "\n";
    } else if (option.compare(0, 2, "-D") == 0) {
      const std::size_t equals = option.find('=');
      cubin += "define " + option.substr(2, equals - 2) + " " + option.substr(equals + 1) + "\n";
    }
  }
  program->cubin = cubin + "# long enough for the header of an ELF file\n";
  program->log = "ptxas info    : Used 64 registers, used 1 barriers, 560 bytes cmem[0]\n";
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* size) {
  *size = program->cubin.size() + 1;
  return enter("nvrtcGetCUBINSize");
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* cubin) {
  const nvrtcResult result = enter("nvrtcGetCUBIN");
  return result == NVRTC_SUCCESS ? copy(program->cubin, cubin) : result;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, std::size_t* size) {
  *size = program->log.size() + 1;
  return enter("nvrtcGetProgramLogSize");
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  const nvrtcResult result = enter("nvrtcGetProgramLog");
  return result == NVRTC_SUCCESS ? copy(program->log, log) : result;
}

}  // extern "C"

#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
