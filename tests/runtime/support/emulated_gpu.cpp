#include "tests/runtime/support/emulated_gpu.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <regex>
#include <utility>
#include <vector>

#include "runtime/host/loaded_object.h"
#include "tests/runtime/emulated_gpu/launch.h"

namespace tunedgemm::internal {
namespace {

namespace fs = std::filesystem;

using emulation::EncodedTensorMap, emulation::LaunchConfig;
using Emulate = std::string (*)(const LaunchConfig&, const void* const*);

thread_local std::string last_error;

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::string& file_of_emulation(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::string> texts;
  const std::scoped_lock lock(mutex);
  auto [it, is_new] = texts.try_emplace(name);
  if (is_new) {
    it->second = read_text(fs::path(TUNEDGEMM_SOURCE_FOLDER) / "tests/runtime/emulated_gpu" / name);
  }
  return it->second;
}

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

// C++ has no array whose size the launch determines.
std::string without_dynamic_array(std::string_view text) {
  static const std::regex kArray(R"(extern __shared__ __align__\(\d+\) (.*)char (\w+)\[\];)");
  return std::regex_replace(std::string(text), kArray,
                            "auto& $2 = *reinterpret_cast<$1char(*)[emulation::kSharedBytes]>("
                            "emulation::dynamic_shared_memory());");
}

std::string launcher(const std::string& function, const std::string& entry, int parameters) {
  return "extern \"C\" std::string " + function +
         "(const emulation::LaunchConfig& config, const void* const* parameters) {\n"
         "  return emulation::launch(" +
         entry + ", config, parameters, std::make_index_sequence<" + std::to_string(parameters) +
         ">());\n}\n";
}

class EmulatedKernel final : public CompiledKernel {
 public:
  EmulatedKernel(std::unique_ptr<LoadedObject> object, unsigned seed)
      : object_(std::move(object)),
        seed_(seed),
        cluster_(*static_cast<const unsigned*>(object_->symbol("emulated_cluster"))) {}

  int run(const Launch& launch, const Arguments& given, StreamHandle) const noexcept override {
    const Arguments arguments = launch.swaps_operands ? transposed(given) : given;
    last_error.clear();
    if (launch.prologue.grid > 0) {
      const void* parameters[] = {&arguments, launch.prologue.parameters.data()};
      call("emulated_prologue",
           {{launch.prologue.grid, 1, 1}, {launch.prologue.block, 1, 1}, 0, 1, seed_}, parameters);
    }
    std::list<EncodedTensorMap> maps;
    std::vector<const void*> parameters{&arguments};
    for (int index = 0; index < launch.tensor_map_count; ++index) {
      maps.push_back(encoded(launch.tensor_maps[static_cast<std::size_t>(index)], arguments));
      parameters.push_back(&maps.back());
    }
    parameters.push_back(launch.parameters.data());
    if (last_error.empty()) {
      call("emulated_launch",
           {{launch.grid[0], launch.grid[1], launch.grid[2]},
            {launch.block[0], launch.block[1], launch.block[2]},
            launch.shared_bytes,
            cluster_,
            seed_},
           parameters.data());
    }
    return last_error.empty() ? 0 : 1;
  }

 private:
  void call(const char* function, const LaunchConfig& config, const void* const* parameters) const {
    const auto emulate = reinterpret_cast<Emulate>(object_->symbol(function));
    last_error =
        emulate == nullptr ? std::string("there is no ") + function : emulate(config, parameters);
  }

  static EncodedTensorMap encoded(const TensorMap& map, const Arguments& arguments) {
    EncodedTensorMap result{};
    const void* const operands[] = {nullptr, arguments.a, arguments.b, arguments.c, arguments.d};
    result.base = map.workspace_offset != 0
                      ? static_cast<char*>(arguments.workspace) + map.workspace_offset
                      : static_cast<char*>(
                            const_cast<void*>(operands[static_cast<std::size_t>(map.operand)]));
    std::copy(map.extent.begin(), map.extent.end(), result.extent);
    std::copy(map.stride_bytes.begin(), map.stride_bytes.end(), result.stride_bytes);
    std::copy(map.box.begin(), map.box.end(), result.box);
    result.element_bytes = static_cast<int>(size_bytes(map.type));
    result.span = map.span_bytes;
    return result;
  }

  std::unique_ptr<LoadedObject> object_;
  unsigned seed_, cluster_;
};

}  // namespace

EmulatedGpu::EmulatedGpu(const DeviceLimits& limits, unsigned seed)
    : PlainDevice(Problem{}, Flaw::kNone),
      limits_(limits),
      seed_(seed),
      compiler_(Compiler::find({"-O1"})) {}

std::variant<Binary, CompileFailure> EmulatedGpu::compile_within(const Source& source,
                                                                 double seconds) {
  std::list<std::string> texts;
  const auto kept = [&](std::string text) -> std::string_view {
    return texts.emplace_back(std::move(text));
  };
  Source emulated = source;
  emulated.includes.clear();
  for (const char* name : {"launch.h", "threads.h", "cuda.h"}) {
    emulated.includes.push_back(
        {kept(std::string("cuda/emulation/") + name), file_of_emulation(name)});
  }
  constexpr std::string_view kPtx = "cuda/ptx/";
  for (const SourceFile& include : source.includes) {
    emulated.includes.push_back(
        starts_with(include.name, kPtx)
            ? SourceFile{include.name, file_of_emulation(std::string(include.name.substr(5)))}
            : include);
  }
  int cluster = 1;
  bool is_padded = false;
  const bool takes_maps = source.file.name.find("wgmma") != std::string_view::npos;
  for (const auto& [macro, value] : source.defines) {
    cluster *= starts_with(macro, "CLUSTER_") ? std::stoi(value) : 1;
    is_padded |= (macro == "ALIGN_A" || macro == "ALIGN_B") && std::stoi(value) < 16;
  }
  std::string text = "#include \"../emulation/cuda.h\"\n" + without_dynamic_array(source.file.text);
  text += launcher("emulated_launch", source.entry, takes_maps ? 5 : 1);
  if (takes_maps && is_padded) {
    text += launcher("emulated_prologue", source.entry + "_pad", 2);
  }
  text += "extern \"C\" const unsigned emulated_cluster = " + std::to_string(cluster) + ";\n";
  emulated.file = {kept(std::string(source.file.name) + ".cpp"), kept(std::move(text))};
  return compiler_.compile(emulated,
                           std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)));
}

std::variant<std::unique_ptr<CompiledKernel>, Rejection> EmulatedGpu::load(const Binary& binary,
                                                                           const Launch&) {
  auto loaded = LoadedObject::load(binary.code);
  if (auto* rejection = std::get_if<Rejection>(&loaded)) {
    return std::move(*rejection);
  }
  return std::make_unique<EmulatedKernel>(std::get<0>(std::move(loaded)), seed_);
}

std::string EmulatedGpu::describe(int) const {
  return last_error;
}

}  // namespace tunedgemm::internal
