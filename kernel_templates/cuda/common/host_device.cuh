// Qualifiers that CUDA compilers require on device functions and other compilers do not know.
#pragma once

#ifdef __CUDACC__
// For constexpr functions that kernels and host code share (shape.h).
#define TUNEDGEMM_CONSTEXPR __host__ __device__ constexpr
// For functions that GPU kernels and CPU kernels share.
#define TUNEDGEMM_DEVICE_INLINE __device__ __forceinline__
#else
#define TUNEDGEMM_CONSTEXPR constexpr
#define TUNEDGEMM_DEVICE_INLINE inline
#endif
