// Between registers, shared memory and each other: addresses, loads and stores, matrices, bytes.
// One instruction a function; the names in quotes are sections of the PTX ISA manual.
#pragma once

// "Data Movement and Conversion Instructions: cvta". The address of a generic pointer inside the
// shared state space.
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// "Data Movement and Conversion Instructions: ld, st": 32-bit values and vectors of them, by
// address.
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

// "Warp Level Matrix Instructions: ldmatrix". Four matrices of 8 rows of 16 bytes: lane l gives
// the address of row l % 8 of matrix l / 8 and receives, of row l / 4 of every matrix, the 4 bytes
// from byte l % 4 * 4 on.
__device__ __forceinline__ void load_matrices(const void* from, unsigned (&registers)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(shared_address(from))
               : "memory");
}
// The same with every matrix transposed as one of 8 x 8 pairs of bytes: lane l receives pair l / 4
// of row l % 4 * 2 (in the lower half of the register) and of row l % 4 * 2 + 1.
__device__ __forceinline__ void load_matrices_transposed(const void* from,
                                                         unsigned (&registers)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(shared_address(from))
               : "memory");
}

// "Data Movement and Conversion Instructions: prmt". The four bytes that the digits of `selector`
// name, the lowest first: 0 to 3 are those of `first`, 4 to 7 those of `second`.
__device__ __forceinline__ unsigned permute_bytes(unsigned first, unsigned second,
                                                  unsigned selector) {
  unsigned result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(first), "r"(second), "r"(selector));
  return result;
}
