// Data movement between registers and shared memory: addresses, loads, stores, matrices, bytes.
// Each function is one instruction. The names in quotes are sections of the PTX ISA manual.
#pragma once

// "Data Movement and Conversion Instructions: cvta". Converts a generic pointer to an address in
// the shared state space.
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// "Data Movement and Conversion Instructions: ld, st". Loads and stores values of 32 and 64 bits,
// and vectors.
__device__ __forceinline__ unsigned load_shared(unsigned from) {
  unsigned value;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
  return value;
}
__device__ __forceinline__ double load_shared_f64(unsigned from) {
  double value;
  asm volatile("ld.shared.f64 %0, [%1];" : "=d"(value) : "r"(from) : "memory");
  return value;
}
__device__ __forceinline__ void store_shared(unsigned to, double x) {
  asm volatile("st.shared.f64 [%0], %1;" ::"r"(to), "d"(x) : "memory");
}
// st.shared.v2
__device__ __forceinline__ void store_shared(unsigned to, double x, double y) {
  asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(to), "d"(x), "d"(y) : "memory");
}
__device__ __forceinline__ void store_shared(unsigned to, unsigned x) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(x) : "memory");
}
// st.shared.v2
__device__ __forceinline__ void store_shared(unsigned to, unsigned x, unsigned y) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(x), "r"(y) : "memory");
}

// ld.shared.v4, st.shared.v4: 16 bytes.
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

// "Warp Level Matrix Instructions: ldmatrix". Loads four matrices, each with 8 rows of 16 bytes.
// Lane l gives the address of row l % 8 of matrix l / 8. The lane receives 4 bytes of row l / 4 of
// every matrix, starting at byte l % 4 * 4.
__device__ __forceinline__ void load_matrices(const void* from, unsigned (&registers)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(shared_address(from))
               : "memory");
}
// Like load_matrices(), but transposes every matrix as 8 x 8 pairs of bytes. Lane l receives pair l
// / 4 of row l % 4 * 2 in the lower half of the register, and pair l / 4 of row l % 4 * 2 + 1 in
// the upper half.
__device__ __forceinline__ void load_matrices_transposed(const void* from,
                                                         unsigned (&registers)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(shared_address(from))
               : "memory");
}

// "Warp Level Matrix Instructions: stmatrix". Stores four matrices of 8 x 8 elements of 16 bits.
// Lanes 8 i to 8 i + 7 give the addresses of the rows of matrix i.
__device__ __forceinline__ void store_matrices(unsigned row, const unsigned (&pairs)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row),
               "r"(pairs[0]), "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3])
               : "memory");
}
// stmatrix.trans: stores the transposed matrices.
__device__ __forceinline__ void store_matrices_transposed(unsigned row,
                                                          const unsigned (&pairs)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row),
               "r"(pairs[0]), "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3])
               : "memory");
}

// "Data Movement and Conversion Instructions: prmt". The hexadecimal digits of `selector`, lowest
// first, select four bytes: 0 to 3 are bytes of `first`, 4 to 7 are bytes of `second`.
__device__ __forceinline__ unsigned permute_bytes(unsigned first, unsigned second,
                                                  unsigned selector) {
  unsigned result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(first), "r"(second), "r"(selector));
  return result;
}
