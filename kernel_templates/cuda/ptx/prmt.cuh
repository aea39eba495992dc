// Bytes of two registers in another order. The name in quotes is a section of the PTX ISA manual.
#pragma once

// "Data Movement and Conversion Instructions: prmt". The four bytes that the digits of `selector`
// name, the lowest first: 0 to 3 are those of `first`, 4 to 7 those of `second`.
__device__ __forceinline__ unsigned permute_bytes(unsigned first, unsigned second,
                                                  unsigned selector) {
  unsigned result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(first), "r"(second), "r"(selector));
  return result;
}
