// The CUDA compilers take only what is marked for the device, other compilers do not know the
// marks.
#pragma once

#ifdef __CUDACC__
// For functions of constants that kernel and host half share (shape.h).
#define TUNEDGEMM_CONSTEXPR __host__ __device__ constexpr
// For functions that the kernels of both devices share.
#define TUNEDGEMM_DEVICE_INLINE __device__ __forceinline__
#else
#define TUNEDGEMM_CONSTEXPR constexpr
#define TUNEDGEMM_DEVICE_INLINE inline
#endif
