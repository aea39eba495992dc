#pragma once

// The types and numbers of cublas_api.h and cublasLt.h (CUDA 12 and 13) that the front and the
// benchmarks use, declared here so that the build needs no toolkit. Handles are opaque, and
// enumerations are plain numbers. All are a stable binary interface.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "kernel_templates/problem/data_type.h"

namespace tunedgemm::internal::cublas {

using Status = int;
inline constexpr Status kSuccess = 0, kNotInitialized = 1, kNotSupported = 15;

using Handle = void*;
using Operation = void*;
using Layout = void*;
using Preference = void*;

struct Algorithm {
  std::array<std::uint64_t, 8> words;

  friend bool operator==(const Algorithm&, const Algorithm&) = default;
};
struct HeuristicResult {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};

/// "13.1.0", of a number as cublasLtGetVersion() returns it.
inline std::string version_text(std::size_t number) {
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

/// cudaDataType
enum DataTypeNumber : int {
  kNoDataType = -1,
  kR32F = 0,
  kR64F = 1,
  kR16F = 2,
  kR8I = 3,
  kR32I = 10,
  kR16BF = 14,
  kRE4M3 = 28,
  kRE5M2 = 29
};
struct NumberOfType {
  DataType type;
  DataTypeNumber number;
};
inline constexpr NumberOfType kNumbersOfTypes[] = {
    {DataType::kF64, kR64F},   {DataType::kF32, kR32F},   {DataType::kF16, kR16F},
    {DataType::kBF16, kR16BF}, {DataType::kE4M3, kRE4M3}, {DataType::kE5M2, kRE5M2},
    {DataType::kS8, kR8I},     {DataType::kS32, kR32I}};

/// cublasComputeType_t
enum ComputeNumber { kCompute32F = 68, kCompute64F = 70, kCompute32I = 72, kComputeTf32 = 77 };
/// cublasMath_t: a mode, and a flag
enum MathMode { kDefaultMath = 0, kPedanticMath = 2, kTf32Math = 3, kNoReducedReduction = 16 };
/// cublasOperation_t
enum OperationNumber { kNotTransposed = 0, kTransposed = 1, kConjugateTransposed = 2 };
/// cublasGemmAlgo_t
enum GemmAlgorithm { kDefaultAlgorithm = -1, kDefaultTensorOpAlgorithm = 99 };
/// cublasLtMatmulDescAttributes_t
enum OperationAttribute {
  kComputeType = 0,
  kScaleType = 1,
  kPointerMode = 2,
  kTransposeA = 3,
  kTransposeB = 4,
  kTransposeC = 5,
  kFillMode = 6,
  kEpilogue = 7,
  kBiasPointer = 8,
  kBiasBatchStride = 10,
  kSmCountTarget = 15,
  kScalePointerA = 17,
  kScalePointerB = 18,
  kScalePointerC = 19,
  kScalePointerD = 20,
  kLargestOfD = 21,
  kFastAccumulation = 25,
  kBiasType = 26,
  kScaleModeA = 31,
  kScaleModeB = 32,
  kScaleOutPointerD = 36,
  kEmulation = 38
};
inline constexpr int kFullFillMode = 2;
/// cublasLtEpilogue_t: an activation with a bias has the bits of both
enum Epilogue { kDefaultEpilogue = 1, kRelu = 2, kBias = 4, kGeluTanh = 32 };
/// cublasLtMatmulMatrixScale_t
enum ScaleMode { kScalar = 0, kOuterVector = 3, kVector128 = 4, kBlock128x128 = 5 };
/// cublasLtMatrixLayoutAttribute_t
enum LayoutAttribute {
  kType = 0,
  kOrder = 1,
  kRows = 2,
  kColumns = 3,
  kLeadingDimension = 4,
  kBatchCount = 5,
  kBatchStride = 6,
  kPlaneOffset = 7,
  kBatchMode = 8
};
/// cublasLtMatmulPreferenceAttributes_t
enum PreferenceAttribute {
  kMaxWorkspaceBytes = 1,
  kLeastAlignmentOfA = 5,
  kLeastAlignmentOfB = 6,
  kLeastAlignmentOfC = 7,
  kLeastAlignmentOfD = 8
};

}  // namespace tunedgemm::internal::cublas
