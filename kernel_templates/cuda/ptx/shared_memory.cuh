// Loads from and stores to shared memory by address ("Data Movement and Conversion Instructions:
// ld, st"): 32-bit values and vectors of them.
#pragma once

__device__ __forceinline__ unsigned load_shared(unsigned from) {
  unsigned value;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
  return value;
}
__device__ __forceinline__ void store_shared(unsigned to, unsigned x) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(x) : "memory");
}
// st.shared.v2
__device__ __forceinline__ void store_shared(unsigned to, unsigned x, unsigned y) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(x), "r"(y) : "memory");
}

// 16 bytes: ld.shared.v4, st.shared.v4.
struct SharedVector {
  unsigned element[4];
};
__device__ __forceinline__ SharedVector load_shared_vector(unsigned from) {
  SharedVector x;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.element[0]), "=r"(x.element[1]), "=r"(x.element[2]), "=r"(x.element[3])
               : "r"(from)
               : "memory");
  return x;
}
__device__ __forceinline__ void store_shared(unsigned to, unsigned x, unsigned y, unsigned z,
                                             unsigned w) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x), "r"(y), "r"(z), "r"(w)
               : "memory");
}
