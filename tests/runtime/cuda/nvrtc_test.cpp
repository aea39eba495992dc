#include "runtime/cuda/nvrtc.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/runtime/support/compile_check.h"
#include "tests/runtime/support/in_parallel.h"
#include "tests/support/catch.h"
#include "tests/support/environment_variable.h"
#include "tests/support/temporary_folder.h"

namespace tunedgemm::internal::cuda {
namespace {

namespace fs = std::filesystem;

void touch(const fs::path& path) {
  std::ofstream(path).put('x');
}

// A source like those of families; `text` must outlive the source.
Source source_of(std::string_view text) {
  Source source;
  source.backend = "cuda";
  source.file = {"probe.cu", text};
  source.entry = "probe";
  return source;
}

constexpr std::string_view kFine =
    "#include \"common/number.cuh\"\n"
    R"(
extern "C" __global__ void probe(float* values) {
  __shared__ float row[VALUES];
  row[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = row[VALUES - 1 - threadIdx.x];
}
)";

Source fine_source() {
  Source source = source_of(kFine);
  source.includes = {{"common/number.cuh", "#pragma once\n#include \"../ptx/arguments.cuh\"\n"},
                     {"ptx/arguments.cuh", "#pragma once\nstruct Arguments;\n"}};
  source.defines = {{"VALUES", "64"}};
  return source;
}

}  // namespace

TEST_CASE("the version of NVRTC comes from the file names in its folder, and the newest is used") {
  struct Installed {
    std::vector<const char*> files;
    const char* version;
  };
  const Installed all[] = {
      {{"libnvrtc.so.13", "libnvrtc-builtins.so.13.0", "libnvrtc-builtins.so.12.9"}, "13.0"},
      {{"libnvrtc.so.11.2", "libnvrtc.so.12", "libnvrtc.so", "libnvrtc.alt.so.14"}, "12"}};
  for (const auto& [files, version] : all) {
    const TemporaryFolder folder;
    for (const char* file : files) {
      touch(folder.path() / file);
    }
    const auto found = find_nvrtc_in(folder.path());
    REQUIRE(found);
    CHECK(found->version == version);
  }
  const TemporaryFolder linked;
  touch(linked.path() / "libnvrtc.so.12.4.127");
  fs::create_symlink("libnvrtc.so.12.4.127", linked.path() / "libnvrtc.so.12");
  REQUIRE(find_nvrtc_in(linked.path()));
  CHECK(find_nvrtc_in(linked.path())->version == "12.4");
}

TEST_CASE("a folder without NVRTC, or a missing folder, has none") {
  const TemporaryFolder folder;
  CHECK_FALSE(find_nvrtc_in(folder.path()));
  CHECK_FALSE(find_nvrtc_in(folder.path() / "nowhere"));
}

TEST_CASE("TUNEDGEMM_NVRTC names the file or its folder, and no other is used") {
  const TemporaryFolder folder;
  touch(folder.path() / "libnvrtc.so.12.9.1");
  for (const fs::path& named : {folder.path(), folder.path() / "libnvrtc.so.12.9.1"}) {
    const EnvironmentVariable variable("TUNEDGEMM_NVRTC", named);
    CHECK(find_nvrtc()->version == "12.9");
  }
  const EnvironmentVariable missing("TUNEDGEMM_NVRTC", folder.path() / "missing");
  CHECK_FALSE(find_nvrtc());
}

TEST_CASE("a library that is not NVRTC is refused, and the message names the remedy") {
  const TemporaryFolder folder;
  touch(folder.path() / "libnvrtc.so.13");
  const NvrtcLocation location{folder.path() / "libnvrtc.so.13", "13"};
  CHECK_THROWS_WITH(Nvrtc(location), Catch::Matchers::ContainsSubstring("TUNEDGEMM_NVRTC"));
}

TEST_CASE("the figures are parsed from the compiler's log") {
  const CompilerFigures figures = parse_compiler_log(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'probe' for 'sm_90'\n"
      "ptxas info    : Function properties for probe\n"
      "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 254 registers, used 1 barriers, 4096 bytes smem, 560 bytes cmem[0]\n");
  CHECK(figures.registers == 254);
  CHECK(figures.spill_bytes == 20);
  CHECK(figures.shared_bytes == 4096);
  CHECK(figures.performance_warning.empty());
}

TEST_CASE("a kernel whose wgmma the assembler serialised is reported") {
  const CompilerFigures figures = parse_compiler_log(
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized due to insufficient register resources in function 'probe'\n"
      "ptxas info    : Used 168 registers");
  CHECK(figures.performance_warning.find("(C7510)") != std::string::npos);
  CHECK(figures.registers == 168);
}

TEST_CASE("an empty log has no figures") {
  CHECK(parse_compiler_log("").registers == 0);
  constexpr const char* kNoNumbers =
      "9223372036854775807 bytes spill stores, 9223372036854775807 bytes spill loads\n"
      "Used 99999999999 registers";
  CHECK(parse_compiler_log(kNoNumbers).spill_bytes == 0);
  CHECK(parse_compiler_log(kNoNumbers).registers == 0);
  CHECK(parse_compiler_log("\n\n registers\n").registers == 0);
}

TEST_CASE("NVRTC compiles a cubin and reports its figures", "[nvrtc]") {
  TUNEDGEMM_FIND_NVRTC(nvrtc);
  for (const int architecture : {80, 89, 90}) {
    const auto compiled = nvrtc.compile(fine_source(), architecture);
    REQUIRE(std::holds_alternative<Binary>(compiled));
    const Binary& binary = std::get<Binary>(compiled);
    CHECK(binary.code.size() > 1000);
    CHECK(binary.code[1] == std::byte{'E'});
    CHECK(binary.entry == "probe");
    CHECK(binary.registers > 0);
    CHECK(binary.shared_bytes == 256);
    CHECK(binary.spill_bytes == 0);
    CHECK(binary.compile_ms > 0);
  }
}

// With a GPU's driver, NVRTC would find the second one in the driver's cache on disk.
TEST_CASE("A source that was compiled before has its figures again", "[gpu]") {
  TUNEDGEMM_FIND_NVRTC(nvrtc);
  const auto first = nvrtc.compile(fine_source(), 90), second = nvrtc.compile(fine_source(), 90);
  CHECK(std::get<Binary>(first).registers > 0);
  CHECK(std::get<Binary>(second).registers == std::get<Binary>(first).registers);
  CHECK(std::get<Binary>(second).shared_bytes == std::get<Binary>(first).shared_bytes);
}

TEST_CASE("NVRTC reports a source that does not compile as a value with its message", "[nvrtc]") {
  TUNEDGEMM_FIND_NVRTC(nvrtc);
  const auto compiled =
      nvrtc.compile(source_of("static_assert(1 > 2, \"block_m must be large\");"), 90);
  REQUIRE(std::holds_alternative<CompileFailure>(compiled));
  CHECK(std::get<CompileFailure>(compiled).log.find("block_m must be large") != std::string::npos);
}

TEST_CASE("an architecture unknown to NVRTC uses the nearest compatible one", "[nvrtc]") {
  TUNEDGEMM_FIND_NVRTC(nvrtc);
  CHECK(std::holds_alternative<Binary>(nvrtc.compile(fine_source(), 99)));
  CHECK_THAT(nvrtc.why_not(30), Catch::Matchers::ContainsSubstring("cannot compile for sm_30"));
  const auto compiled = nvrtc.compile(fine_source(), 30);
  CHECK(std::get<CompileFailure>(compiled).cause == CompileFailure::Cause::kEnvironment);
}

TEST_CASE("architecture-specific instructions are available on request", "[nvrtc]") {
  TUNEDGEMM_FIND_NVRTC(nvrtc);
  Source source = source_of(
      "extern \"C\" __global__ void __launch_bounds__(128) probe() {"
      "  asm volatile(\"wgmma.fence.sync.aligned;\"); }");
  CHECK(std::holds_alternative<CompileFailure>(nvrtc.compile(source, 90)));
  source.needs_exact_architecture = true;
  CHECK(std::holds_alternative<Binary>(nvrtc.compile(source, 90)));
}

TEST_CASE("every reference kernel compiles for every architecture", "[nvrtc]") {
  TUNEDGEMM_FIND_NVRTC(nvrtc);
  for (const std::string name :
       {"fill_random", "gemm", "compare", "erase", "find_out_of_bounds_writes", "read_clocks"}) {
    Source source;
    source.file = embedded_file("cuda/reference/" + name + ".cu");
    source.includes = included_files(source.file);
    source.entry = "tunedgemm_" + name;
    for (const int architecture : {80, 90}) {
      INFO(name << " sm_" << architecture);
      const auto compiled = nvrtc.compile(source, architecture);
      REQUIRE(std::holds_alternative<Binary>(compiled));
      CHECK(std::get<Binary>(compiled).spill_bytes == 0);
    }
  }
}

TEST_CASE("every header of the CUDA kernels compiles alone, and twice", "[nvrtc]") {
  TUNEDGEMM_FIND_NVRTC(nvrtc);
  const fs::path root = fs::path(TUNEDGEMM_SOURCE_FOLDER) / "kernel_templates";
  std::vector<std::string> headers;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / "cuda")) {
    const fs::path& path = entry.path();
    if (path.extension() == ".cuh" || path.filename() == "shape.h") {
      headers.push_back(fs::relative(path, root / "cuda").generic_string());
    }
  }
  CHECK(headers.size() > 20);
  std::vector<std::string> failures(headers.size());
  for_each_in_parallel(headers.size(), 2, [&](std::size_t index, std::size_t) {
    const std::string include = "#include \"../" + headers[index] + "\"\n";
    const std::string text = include + include + "extern \"C\" __global__ void probe() {}\n";
    Source source = source_of(text);
    source.file.name = "cuda/probe/kernel.cu";
    source.includes = included_files(source.file);
    source.needs_exact_architecture = true;
    const auto compiled = nvrtc.compile(source, 90);
    if (const auto* failure = std::get_if<CompileFailure>(&compiled)) {
      failures[index] = failure->log;
    }
  });
  for (std::size_t index = 0; index < headers.size(); ++index) {
    INFO(headers[index]);
    CHECK(failures[index] == "");
  }
}

}  // namespace tunedgemm::internal::cuda
