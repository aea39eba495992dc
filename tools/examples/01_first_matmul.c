/* The smallest program in C: D = A * B in f32 on the host. */

#include <stdio.h>
#include <tunedgemm/tunedgemm.h>

enum { kM = 512, kN = 128, kK = 256 };
static float a[kM * kK], b[kK * kN], d[kM * kN];

int main(void) {
  tunedgemm_context_options options;
  tunedgemm_context_options_init(&options);
  options.backend = TUNEDGEMM_BACKEND_HOST;
  tunedgemm_context* context = NULL;
  tunedgemm_status status = tunedgemm_context_create(&options, &context);

  for (int i = 0; i < kM * kK; ++i) a[i] = 1.0f;
  for (int i = 0; i < kK * kN; ++i) b[i] = 2.0f;
  if (status == TUNEDGEMM_STATUS_OK) {
    tunedgemm_problem problem;
    tunedgemm_problem_init(&problem, kM, kN, kK, TUNEDGEMM_TYPE_F32, TUNEDGEMM_TYPE_F32,
                           TUNEDGEMM_TYPE_F32);
    tunedgemm_buffers buffers;
    tunedgemm_buffers_init(&buffers);
    buffers.a = a;
    buffers.b = b;
    buffers.d = d;
    status = tunedgemm_matmul(context, &problem, &buffers, NULL);
  }
  if (status != TUNEDGEMM_STATUS_OK) {
    fprintf(stderr, "%s: %s\n", tunedgemm_status_name(status), tunedgemm_error_message());
  }
  printf("d[0] = %g\n", d[0]);
  tunedgemm_context_destroy(context);
  return d[0] == 2.0f * kK ? 0 : 1;
}
