#include "runtime/cuda/tensor_map.h"

#include <array>

namespace tunedgemm::internal::cuda {
namespace {

// Of ragged maps (kernel_templates/cuda/ptx/tensor_copy.cuh). kRaggedExtent lines with the second
// stride are 2^64 bytes less kRaggedExtent lines.
constexpr unsigned long long kRaggedExtent = 1ULL << 30, kRaggedStride = 1ULL << 34;

CUtensorMapDataType type_of(const TensorMap& map) noexcept {
  switch (map.type) {
    case DataType::kF64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case DataType::kF16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DataType::kBF16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DataType::kF32:
      return map.operand == TensorMap::Operand::kA || map.operand == TensorMap::Operand::kB
                 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DataType::kS32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    default:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
}

CUtensorMapSwizzle swizzle_of(int span_bytes) noexcept {
  return span_bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
         : span_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                            : CU_TENSOR_MAP_SWIZZLE_32B;
}

// The result is not const, because the driver's signature has no const.
void* address_of(const TensorMap& map, const Arguments& arguments) noexcept {
  if (map.workspace_offset != 0) {
    return static_cast<char*>(arguments.workspace) + map.workspace_offset;
  }
  switch (map.operand) {
    case TensorMap::Operand::kA:
      return const_cast<void*>(arguments.a);
    case TensorMap::Operand::kB:
      return const_cast<void*>(arguments.b);
    case TensorMap::Operand::kC:
      return const_cast<void*>(arguments.c);
    default:
      return arguments.d;
  }
}

}  // namespace

CUresult encode(const Driver& driver, const TensorMap& map, const Arguments& arguments,
                CUtensorMap& encoded) noexcept {
  if (map.operand == TensorMap::Operand::kNone) {
    return CUDA_SUCCESS;
  }
  constexpr unsigned kMostRank = 4;
  constexpr unsigned kElementStrides[kMostRank] = {1, 1, 1, 1};
  const unsigned rank = map.is_ragged ? 4 : 3;
  const auto wide = [](std::int64_t value) { return static_cast<unsigned long long>(value); };
  const unsigned long long line = wide(map.stride_bytes[0]);
  std::array<unsigned long long, kMostRank> extents{wide(map.extent[0]), wide(map.extent[1]),
                                                    wide(map.extent[2])};
  std::array<unsigned long long, kMostRank - 1> strides{line, wide(map.stride_bytes[1])};
  if (map.is_ragged) {
    extents = {extents[0], kRaggedExtent, kRaggedExtent + 1, extents[1] + 1};
    strides = {line, kRaggedStride - line, line};
  }
  const unsigned box[kMostRank] = {static_cast<unsigned>(map.box[0]),
                                   static_cast<unsigned>(map.box[1]), 1, 1};
  return driver.cuTensorMapEncodeTiled(
      &encoded, type_of(map), rank, address_of(map, arguments), extents.data(), strides.data(), box,
      kElementStrides, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(map.span_bytes),
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

}  // namespace tunedgemm::internal::cuda
