// Replaces NVRTC: compiles with the real library, but breaks selected kernels.
//
// $TUNEDGEMM_TEST_NVRTC is the real library. $TUNEDGEMM_TEST_BREAK is a file whose lines are
// `BREAKAGE -DNAME=VALUE ...`. Kernels compiled with all these defines get the breakage: they
// fault, hang, race, write NaN, write nothing, or crash the compiler. $TUNEDGEMM_TEST_FAIL may name
// a function, which then returns an error: "nvrtcGetCUBIN once" or "nvrtcGetCUBIN always".

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

// These names are from the manual.
// NOLINTBEGIN(readability-identifier-naming)
#pragma GCC visibility push(default)

using nvrtcResult = int;
constexpr nvrtcResult kInternalError = 11;

struct NvrtcProgram {
  std::string text, name;
  std::vector<std::string> headers, header_names;
  NvrtcProgram* real = nullptr;  // set by the compilation
};
using nvrtcProgram = NvrtcProgram*;

namespace {

using Options = std::vector<std::string>;

template <typename Function>
Function* real(const char* name) {
  static void* const library = dlopen(std::getenv("TUNEDGEMM_TEST_NVRTC"), RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

bool fails(const std::string& function) {
  const char* const value = std::getenv("TUNEDGEMM_TEST_FAIL");
  const std::string failing = value != nullptr ? value : "";
  if (failing == function + " once") {
    ::unsetenv("TUNEDGEMM_TEST_FAIL");
    return true;
  }
  return failing == function + " always";
}

// The breakage of a kernel with these options; empty: none.
std::string breakage(const Options& options) {
  std::ifstream file(std::getenv("TUNEDGEMM_TEST_BREAK"));
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    bool is_meant = true;
    for (std::string define; words >> define;) {
      is_meant &= std::find(options.begin(), options.end(), define) != options.end();
    }
    if (is_meant) {
      return what;
    }
  }
  return "";
}

// The statement that each breakage puts into a kernel. It assumes that D has 16-bit elements.
const std::map<std::string, std::string> kStatements{
    {"fault", "*reinterpret_cast<volatile int*>(16) = 1;"},
    {"hang", "for (;;) { __nanosleep(1000); }"},
    {"nothing", "return;"},
    {"nan",
     "for (long long i = threadIdx.x; blockIdx.x == 0 && i < arguments.m * arguments.n;"
     " i += blockDim.x) { static_cast<unsigned short*>(arguments.d)[i] = 0x7fff; } return;"},
    // Threads of several blocks write the same elements; the last write wins.
    {"race",
     "for (long long i = threadIdx.x; i < arguments.m * arguments.n; i += blockDim.x) {"
     " static_cast<unsigned short*>(arguments.d)[i] = blockIdx.x; } return;"}};

std::string broken(std::string text, const std::string& what) {
  const auto statement = kStatements.find(what);
  if (statement == kStatements.end()) {
    std::abort();
  }
  const std::size_t entry = text.find("extern \"C\" __global__");
  const std::size_t body = text.find(") {\n", text.find("arguments", entry));
  return text.insert(body + 3, statement->second);
}

}  // namespace

extern "C" {

const char* nvrtcGetErrorString(nvrtcResult result) {
  return real<decltype(nvrtcGetErrorString)>("nvrtcGetErrorString")(result);
}
nvrtcResult nvrtcVersion(int* major, int* minor) {
  return real<decltype(nvrtcVersion)>("nvrtcVersion")(major, minor);
}
nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  if (fails(__func__)) {
    return kInternalError;
  }
  return real<decltype(nvrtcGetNumSupportedArchs)>("nvrtcGetNumSupportedArchs")(count);
}
nvrtcResult nvrtcGetSupportedArchs(int* architectures) {
  if (fails(__func__)) {
    return kInternalError;
  }
  return real<decltype(nvrtcGetSupportedArchs)>("nvrtcGetSupportedArchs")(architectures);
}
nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* text, const char* name,
                               int headers, const char* const* header_texts,
                               const char* const* header_names) {
  if (fails(__func__)) {
    return kInternalError;
  }
  // nvrtcDestroyProgram frees this program. The real program is created by the compilation: only
  // then are the options known, which select the breakage.
  *program = new NvrtcProgram{
      text, name, {header_texts, header_texts + headers}, {header_names, header_names + headers}};
  return 0;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  if (fails(__func__)) {
    return kInternalError;
  }
  if ((*program)->real != nullptr) {
    real<decltype(nvrtcDestroyProgram)>("nvrtcDestroyProgram")(&(*program)->real);
  }
  delete *program;
  *program = nullptr;
  return 0;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  if (fails(__func__)) {
    return kInternalError;
  }
  const std::string what = breakage({options, options + count});
  const std::string text = what.empty() ? program->text : broken(program->text, what);
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<const char*> all;
    std::transform(texts.begin(), texts.end(), std::back_inserter(all),
                   [](const std::string& one) { return one.c_str(); });
    return all;
  };
  const nvrtcResult created = real<decltype(nvrtcCreateProgram)>("nvrtcCreateProgram")(
      &program->real, text.c_str(), program->name.c_str(),
      static_cast<int>(program->headers.size()), pointers(program->headers).data(),
      pointers(program->header_names).data());
  return created != 0 ? created
                      : real<decltype(nvrtcCompileProgram)>("nvrtcCompileProgram")(program->real,
                                                                                   count, options);
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* size) {
  if (fails(__func__)) {
    return kInternalError;
  }
  return real<decltype(nvrtcGetCUBINSize)>("nvrtcGetCUBINSize")(program->real, size);
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* cubin) {
  if (fails(__func__)) {
    return kInternalError;
  }
  return real<decltype(nvrtcGetCUBIN)>("nvrtcGetCUBIN")(program->real, cubin);
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, std::size_t* size) {
  if (fails(__func__)) {
    return kInternalError;
  }
  return real<decltype(nvrtcGetProgramLogSize)>("nvrtcGetProgramLogSize")(program->real, size);
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  if (fails(__func__)) {
    return kInternalError;
  }
  return real<decltype(nvrtcGetProgramLog)>("nvrtcGetProgramLog")(program->real, log);
}

}  // extern "C"

#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
