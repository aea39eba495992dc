// Qualifiers that CUDA compilers require on device functions and other compilers do not know.
#pragma once

#ifdef __CUDACC__
// Constexpr functions that kernel and host half share (shape.h).
#define TUNEDGEMM_CONSTEXPR __host__ __device__ constexpr
// Functions that the kernels of both devices share.
#define TUNEDGEMM_DEVICE_INLINE __device__ __forceinline__
#else
#define TUNEDGEMM_CONSTEXPR constexpr
#define TUNEDGEMM_DEVICE_INLINE inline
#endif
