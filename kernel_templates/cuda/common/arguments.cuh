// The arguments of every kernel on the GPU and the CPU. Host code includes this file, too, so it is
// plain C++ without includes.
#pragma once

struct Arguments {
  const void* a;
  const void* b;
  const void* c;  // never read if beta is of class zero; may be d
  void* d;
  const void* bias;      // of D's type: a value per row of D, or one per column; may be null
  const float* scale_a;  // SCALING_A: one value, or null for 1; or a value for each row or block
  const float* scale_b;
  const int* groups;  // GROUP_KIND: numbers for each batch index
  void* workspace;    // 256-byte aligned

  long long m, n, k, batch;

  // Leading dimensions, in elements. C has two strides, since its order may differ from that of D.
  // D is row-major, unless the host has exchanged A and B (swap_ab of wgmma).
  long long lda, ldb, ldd;
  long long c_stride_m, c_stride_n;

  // In elements.
  long long batch_stride_a, batch_stride_b, batch_stride_c, batch_stride_d, batch_stride_bias;

  double alpha, beta;
  float slope;  // of leaky_relu

  // From the scale of a row (or 128 rows) of A to the next one, from a block to the next one along
  // K, and between batch indices. For B, a column takes the place of a row.
  long long scale_stride_a, scale_stride_b;
  long long scale_k_stride_a, scale_k_stride_b;
  long long scale_batch_stride_a, scale_batch_stride_b;
};
