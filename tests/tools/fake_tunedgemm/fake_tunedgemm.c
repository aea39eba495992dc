/* In libtunedgemm's place, for the test of the Python binding: it refuses what is not passed as the
 * header says, tells what it was given, and a launch writes the workspace's size to D. */
#include <stdio.h>
#include <tunedgemm/tunedgemm.h>

static char message[200], description[200];
static tunedgemm_problem planned;

void tunedgemm_context_options_init(tunedgemm_context_options* options) {
  *options = (tunedgemm_context_options){.struct_size = sizeof *options};
}

tunedgemm_status tunedgemm_context_create(const tunedgemm_context_options* options,
                                          tunedgemm_context** context) {
  const int fits =
      options->struct_size == sizeof *options && options->policy == TUNEDGEMM_POLICY_TUNE;
  sprintf(message, "backend %d", (int)options->backend);
  if (!fits || options->backend == TUNEDGEMM_BACKEND_HOST) return TUNEDGEMM_NO_DEVICE;
  *context = (tunedgemm_context*)0x100000001;
  return TUNEDGEMM_OK;
}

void tunedgemm_context_destroy(tunedgemm_context* context) {
  (void)context;
}

size_t tunedgemm_context_report(tunedgemm_context* context, char* text, size_t size) {
  (void)context;
  return (size_t)snprintf(text, size,
                          "device     A GPU (cuda)\ntoolchain  nvrtc 13.0, driver 580\nplans 0\n") +
         1;
}

void tunedgemm_problem_init(tunedgemm_problem* problem, int64_t m, int64_t n, int64_t k,
                            tunedgemm_type type_a, tunedgemm_type type_b, tunedgemm_type type_d) {
  *problem = (tunedgemm_problem){.struct_size = sizeof *problem,
                                 .m = m,
                                 .n = n,
                                 .k = k,
                                 .batch = 1,
                                 .type_a = type_a,
                                 .type_b = type_b,
                                 .type_d = type_d,
                                 .numerics = TUNEDGEMM_NUMERICS_DEFAULT};
}

void tunedgemm_buffers_init(tunedgemm_buffers* buffers) {
  *buffers = (tunedgemm_buffers){.struct_size = sizeof *buffers, .alpha = 1, .slope = 0.01f};
}

tunedgemm_status tunedgemm_plan_create(tunedgemm_context* context, const tunedgemm_problem* problem,
                                       const tunedgemm_buffers* buffers,
                                       const tunedgemm_plan** plan) {
  if (context != (tunedgemm_context*)0x100000001 || !buffers->a || !buffers->b || !buffers->d)
    return TUNEDGEMM_INTERNAL;
  planned = *problem;
  *plan = (const tunedgemm_plan*)&planned;
  return TUNEDGEMM_OK;
}

tunedgemm_status tunedgemm_run(const tunedgemm_plan* plan, const tunedgemm_buffers* buffers,
                               void* stream) {
  if (plan != (const tunedgemm_plan*)&planned || stream != (void*)0x5eed || buffers->alpha != 1 ||
      buffers->beta != 0) {
    sprintf(message, "stream %p", stream);
    return TUNEDGEMM_INVALID_ARGUMENT;
  }

  *(int64_t*)buffers->d = (int64_t)buffers->workspace_bytes;
  return TUNEDGEMM_OK;
}

size_t tunedgemm_plan_workspace_bytes(const tunedgemm_plan* plan) {
  return plan ? 512 : 0;
}

const char* tunedgemm_plan_description(const tunedgemm_plan* plan) {
  (void)plan;
  sprintf(description, "%ldx%ldx%ld types %d %d %d orders %d %d %d", (long)planned.m,
          (long)planned.n, (long)planned.k, (int)planned.type_a, (int)planned.type_b,
          (int)planned.type_d, (int)planned.order_a, (int)planned.order_b, (int)planned.order_d);
  return description;
}

const char* tunedgemm_error_message(void) {
  return message;
}

const char* tunedgemm_status_name(tunedgemm_status status) {
  return status == TUNEDGEMM_NO_DEVICE ? "no device" : "bad";
}
