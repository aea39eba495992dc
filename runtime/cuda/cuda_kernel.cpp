#include "runtime/cuda/cuda_kernel.h"

#include <utility>

#include "runtime/cuda/tensor_map.h"

namespace tunedgemm::internal::cuda {
namespace {

// The launch may start while the previous kernel still runs.
constexpr CUlaunchAttribute kProgrammatic{
    .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
    .pad = {},
    .value = {.programmaticStreamSerializationAllowed = 1}};

}  // namespace

CudaKernel::CudaKernel(const PrimaryContext& context, TriggeringKernels& triggering_kernels,
                       const Binary& binary, const Launch& launch)
    : context_(context),
      triggering_kernels_(triggering_kernels),
      module_(context, binary, launch.shared_bytes),
      prologue_(launch.prologue.grid > 0 ? module_.function(std::string(launch.prologue.entry))
                                         : nullptr) {
  if (launch.triggers_next) {
    triggering_kernels_.add(module_.function());
  }
}

CudaKernel::~CudaKernel() {
  triggering_kernels_.remove(module_.function());
}

int CudaKernel::run(const Launch& launch, const Arguments& arguments,
                    StreamHandle stream) const noexcept {
  return launch.swaps_operands ? launch_in_context(launch, transposed(arguments), stream)
                               : launch_in_context(launch, arguments, stream);
}

int CudaKernel::launch_in_context(const Launch& launch, const Arguments& arguments,
                                  StreamHandle stream) const noexcept {
  const CUresult result = start(launch, arguments, stream);
  if (result != CUDA_ERROR_INVALID_CONTEXT && result != CUDA_ERROR_INVALID_HANDLE) [[likely]] {
    return result;
  }
  if (!push_unless_current(context_)) {
    return result;
  }
  const CUresult repeated = start(launch, arguments, stream);
  pop(context_.driver());
  return repeated;
}

CUresult CudaKernel::start_prologue(const Launch& launch, const Arguments& arguments,
                                    CUstream stream) const noexcept {
  void* parameters[] = {const_cast<Arguments*>(&arguments),
                        const_cast<void*>(launch.prologue.parameters.data())};
  CUlaunchAttribute attribute = kProgrammatic;
  const CUlaunchConfig config{.gridDimX = launch.prologue.grid,
                              .gridDimY = 1,
                              .gridDimZ = 1,
                              .blockDimX = launch.prologue.block,
                              .blockDimY = 1,
                              .blockDimZ = 1,
                              .sharedMemBytes = 0,
                              .hStream = stream,
                              .attrs = &attribute,
                              .numAttrs = is_programmatic(launch, stream) ? 1U : 0U};
  return context_.driver().cuLaunchKernelEx(&config, prologue_, parameters, nullptr);
}

CUresult CudaKernel::start(const Launch& launch, const Arguments& arguments,
                           StreamHandle stream) const noexcept {
  // The driver copies the parameters without modifying them, but its signature has no const.
  std::array<CUtensorMap, kMostTensorMaps> maps;
  std::array<void*, 1 + kMostTensorMaps + 1> parameters;
  std::size_t count = 0;
  parameters[count++] = const_cast<Arguments*>(&arguments);
  for (std::size_t index = 0; index < static_cast<std::size_t>(launch.tensor_map_count); ++index) {
    const CUresult result =
        encode(context_.driver(), launch.tensor_maps[index], arguments, maps[index]);
    if (result != CUDA_SUCCESS) [[unlikely]] {
      return result;
    }
    parameters[count++] = &maps[index];
  }
  parameters[count] = const_cast<void*>(launch.parameters.data());
  const bool has_prologue = launch.prologue.grid > 0;
  if (has_prologue) {
    const CUresult result = start_prologue(launch, arguments, static_cast<CUstream>(stream));
    if (result != CUDA_SUCCESS) [[unlikely]] {
      return result;
    }
  }
  CUlaunchAttribute attribute = kProgrammatic;
  const CUlaunchConfig config{
      .gridDimX = launch.grid[0],
      .gridDimY = launch.grid[1],
      .gridDimZ = launch.grid[2],
      .blockDimX = launch.block[0],
      .blockDimY = launch.block[1],
      .blockDimZ = launch.block[2],
      .sharedMemBytes = launch.shared_bytes,
      .hStream = static_cast<CUstream>(stream),
      .attrs = &attribute,
      .numAttrs = has_prologue || is_programmatic(launch, static_cast<CUstream>(stream)) ? 1U : 0U};
  return context_.driver().cuLaunchKernelEx(&config, module_.function(), parameters.data(),
                                            nullptr);
}

bool CudaKernel::is_programmatic(const Launch& launch, CUstream stream) const noexcept {
  return launch.programmatic == ProgrammaticLaunch::kAlways ||
         (launch.programmatic == ProgrammaticLaunch::kAfterOwn &&
          triggering_kernels_.one_was_captured_last(context_.driver(), stream));
}

}  // namespace tunedgemm::internal::cuda
