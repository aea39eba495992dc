// What CUDA C++ declares without an include, as far as the kernels use it.
#pragma once

#include <cmath>

#include "threads.h"

#define __CUDACC__ 12
#define __CUDA_ARCH__ 900
#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(bytes) alignas(bytes)

struct uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}
inline int4 make_int4(int x, int y, int z, int w) {
  return {x, y, z, w};
}
inline double2 make_double2(double x, double y) {
  return {x, y};
}
inline uint2 make_uint2(unsigned x, unsigned y) {
  return {x, y};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}

template <class X, class Y>
constexpr auto min(X x, Y y) {
  return y < x ? y : x;
}
template <class X, class Y>
constexpr auto max(X x, Y y) {
  return x < y ? y : x;
}

inline float __uint_as_float(unsigned x) {
  return __builtin_bit_cast(float, x);
}
inline unsigned __float_as_uint(float x) {
  return __builtin_bit_cast(unsigned, x);
}
inline long long __double_as_longlong(double x) {
  return __builtin_bit_cast(long long, x);
}
inline float __fmaf_rn(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
inline double __fma_rn(double x, double y, double z) {
  return __builtin_fma(x, y, z);
}
inline float __double2float_rn(double x) {
  return static_cast<float>(x);
}
inline float __double2float_rz(double x) {
  const auto nearest = static_cast<float>(x);
  return std::fabs(static_cast<double>(nearest)) > std::fabs(x) ? std::nextafterf(nearest, 0.0f)
                                                                : nearest;
}
inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
inline int __ffs(int x) {
  return __builtin_ffs(x);
}
inline unsigned funnel(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> shift);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return funnel(low, high, shift % 32);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return funnel(low, high, std::min(shift, 32u));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return funnel(low, high, 32 - std::min(shift, 32u));
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(high) << 32 | low;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned digit = selector >> 4 * i & 15;
    unsigned byte = static_cast<unsigned>(bytes >> 8 * (digit & 7)) & 255;
    byte = (digit & 8) != 0 ? (byte & 128) != 0 ? 255 : 0 : byte;
    result |= byte << 8 * i;
  }
  return result;
}

template <class Type>
Type __ldg(const Type* from) {
  if (reinterpret_cast<std::uintptr_t>(from) % alignof(Type) != 0) {
    emulation::fail("a load of " + std::to_string(sizeof(Type)) + " bytes is not aligned");
  }
  return *from;
}
template <class Type>
Type __ldcg(const Type* from) {
  return __ldg(from);
}
template <class Type>
void __stcg(Type* to, Type x) {
  *to = x;
}
inline void __threadfence() {}
template <class Type>
Type atomicAdd(Type* at, Type x) {
  const Type before = *at;
  *at += x;
  emulation::wait_until([] { return true; });
  return before;
}
template <class Type>
Type atomicExch(Type* at, Type x) {
  const Type before = *at;
  *at = x;
  return before;
}

inline void __syncthreads() {
  emulation::wait_at(emulation::self().cta->barriers[0], emulation::self().cta->live);
}

// ---- A warp together --------------------------------------------------------------------------
inline void __syncwarp() {
  int none = 0;
  emulation::as_warp(none, [](int**) {});
}
template <class Type>
struct Exchanged {
  Type own, result;
  unsigned lane;
};
template <class Type, class LaneOf>
Type exchange(Type x, const LaneOf& lane_of) {
  Exchanged<Type> own{x, x, lane_of(emulation::lane())};
  emulation::as_warp(own, [](Exchanged<Type>** all) {
    for (int lane = 0; lane < 32; ++lane) {
      all[lane]->result = all[all[lane]->lane]->own;
    }
  });
  return own.result;
}
template <class Type>
Type __shfl_sync(unsigned, Type x, int from) {
  return exchange(x, [from](unsigned) { return static_cast<unsigned>(from) % 32; });
}
template <class Type>
Type __shfl_xor_sync(unsigned, Type x, int mask) {
  return exchange(x, [mask](unsigned lane) { return lane ^ static_cast<unsigned>(mask); });
}
template <class Type>
Type __shfl_up_sync(unsigned, Type x, unsigned delta) {
  return exchange(x, [delta](unsigned lane) { return lane < delta ? lane : lane - delta; });
}
inline unsigned __ballot_sync(unsigned, int predicate) {
  unsigned own = predicate != 0 ? 1u << emulation::lane() : 0;
  emulation::as_warp(own, [](unsigned** all) {
    unsigned ballot = 0;
    for (int lane = 0; lane < 32; ++lane) {
      ballot |= *all[lane];
    }
    for (int lane = 0; lane < 32; ++lane) {
      *all[lane] = ballot;
    }
  });
  return own;
}

inline unsigned long long __cvta_generic_to_shared(const void* pointer) {
  return emulation::address_of(pointer);
}
inline void* __cvta_shared_to_generic(unsigned long long address) {
  return emulation::pointer_to(static_cast<unsigned>(address), 0);
}
