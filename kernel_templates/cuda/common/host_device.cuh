// For functions of constants that kernel and host half share (shape.h): the CUDA compilers take
// only what is marked for the device, other compilers do not know the marks.
#pragma once

#ifdef __CUDACC__
#define TUNEDGEMM_CONSTEXPR __host__ __device__ constexpr
#else
#define TUNEDGEMM_CONSTEXPR constexpr
#endif
