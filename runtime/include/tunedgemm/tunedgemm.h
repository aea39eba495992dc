/* libtunedgemm: a matrix multiplication that writes its own kernel for your shape, measures it on
 * your device, remembers the winner on disk, and from then on costs nothing but the launch.
 *
 *     D = act( alpha * scale_a * scale_b * op(A) * op(B) + beta * C + bias ),   per batch entry
 *
 * This is the whole public interface, in C. tunedgemm.hpp is the same for C++20, header-only over
 * it.
 *
 * Conventions
 *   Errors      Every function that can fail returns a tunedgemm_status; tunedgemm_error_message()
 * then gives a sentence for the calling thread: what was being done, to what, with which value, and
 * the remedy. Structs     Set `struct_size` to sizeof(the struct) first; the _init functions do
 * that and set all defaults. Members are only ever added at the end. Enums       Numbers are
 * explicit and never change. Memory      Matrices lie in the memory of the context's device: device
 * pointers for CUDA, plain ones for the host. The struct arguments themselves are host memory and
 * are not kept. Threads     A context and its plans may be used by any number of threads at once.
 *   Streams     `stream` is a cudaStream_t/CUstream (NULL: the default stream), and must be NULL on
 * the host, where calls return when the result is there. Output      The library never prints,
 * aborts or exits. It logs through the spdlog logger "tunedgemm".
 */
#ifndef TUNEDGEMM_TUNEDGEMM_H
#define TUNEDGEMM_TUNEDGEMM_H

#include <stddef.h>
#include <stdint.h>

#if defined(TUNEDGEMM_BUILDING) && defined(__GNUC__)
#define TUNEDGEMM_API __attribute__((visibility("default")))
#else
#define TUNEDGEMM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TUNEDGEMM_VERSION_MAJOR 0
#define TUNEDGEMM_VERSION_MINOR 1
#define TUNEDGEMM_VERSION_PATCH 0

typedef enum tunedgemm_status {
  TUNEDGEMM_OK = 0,
  TUNEDGEMM_INVALID_ARGUMENT = 1, /* fix the call: the message names the value */
  TUNEDGEMM_UNSUPPORTED = 2,      /* well formed, but no kernel computes it on this device */
  TUNEDGEMM_NOT_TUNED = 3,        /* policy replay, and the cache has no winner for this problem */
  TUNEDGEMM_OUT_OF_MEMORY = 4,
  TUNEDGEMM_NO_DEVICE = 5,     /* no GPU, no driver, or no such ordinal */
  TUNEDGEMM_DEVICE_FAILED = 6, /* the driver reported an error; the device may be lost */
  TUNEDGEMM_INTERNAL = 7       /* a bug in this library: please report the message */
} tunedgemm_status;

typedef enum tunedgemm_backend {
  TUNEDGEMM_BACKEND_AUTO = 0,
  TUNEDGEMM_BACKEND_HOST = 1,
  TUNEDGEMM_BACKEND_CUDA = 2
} tunedgemm_backend;

typedef enum tunedgemm_type {
  TUNEDGEMM_F64 = 1,
  TUNEDGEMM_F32 = 2,
  TUNEDGEMM_F16 = 3,
  TUNEDGEMM_BF16 = 4,
  TUNEDGEMM_E4M3 = 5,
  TUNEDGEMM_E5M2 = 6,
  TUNEDGEMM_S8 = 7,
  TUNEDGEMM_S32 = 8
} tunedgemm_type;

typedef enum tunedgemm_order {
  TUNEDGEMM_ROW_MAJOR = 0,
  TUNEDGEMM_COLUMN_MAJOR = 1
} tunedgemm_order;

typedef enum tunedgemm_activation {
  TUNEDGEMM_ACTIVATION_NONE = 0,
  TUNEDGEMM_RELU = 1,
  TUNEDGEMM_LEAKY_RELU = 2, /* x >= 0 ? x : slope * x */
  TUNEDGEMM_GELU_TANH = 3,
  TUNEDGEMM_GELU_ERF = 4,
  TUNEDGEMM_SILU = 5,
  TUNEDGEMM_SIGMOID = 6,
  TUNEDGEMM_TANH = 7
} tunedgemm_activation;

/* The bias has D's element type: M values, one for each row of D, or N values, one for each column.
 */
typedef enum tunedgemm_bias {
  TUNEDGEMM_BIAS_NONE = 0,
  TUNEDGEMM_BIAS_PER_ROW = 1,
  TUNEDGEMM_BIAS_PER_COLUMN = 2
} tunedgemm_bias;

typedef enum tunedgemm_numerics {
  TUNEDGEMM_NUMERICS_DEFAULT = -1, /* ieee, or fast for fp8 */
  TUNEDGEMM_IEEE = 0,              /* f32 products and sums in f32 */
  TUNEDGEMM_TF32 = 1,              /* f32 inputs rounded to tf32 */
  TUNEDGEMM_EMULATED = 2,          /* f32 from tensor cores at no greater error than ieee */
  TUNEDGEMM_FAST = 3,              /* fp8 summed as the tensor core does it */
  TUNEDGEMM_PROMOTED = 4           /* fp8 partial sums moved to f32 at short intervals */
} tunedgemm_numerics;

/* What a call does for a problem that the cache does not know. $TUNEDGEMM_POLICY sets it for
 * contexts that ask for DEFAULT: "tune", "never" or "replay". */
typedef enum tunedgemm_policy {
  TUNEDGEMM_POLICY_DEFAULT = 0,
  TUNEDGEMM_POLICY_TUNE = 1,  /* tune now, within the budget, then run */
  TUNEDGEMM_POLICY_NEVER = 2, /* run what the cost model chooses, note the request in the cache */
  TUNEDGEMM_POLICY_REPLAY = 3 /* fail with NOT_TUNED and a message */
} tunedgemm_policy;

typedef enum tunedgemm_rigor {
  TUNEDGEMM_RIGOR_DEFAULT = 0,
  TUNEDGEMM_QUICK = 2,
  TUNEDGEMM_NORMAL = 3,
  TUNEDGEMM_EXHAUSTIVE = 4
} tunedgemm_rigor;

/* ---- Context: one device, one cache
 * ---------------------------------------------------------------------------- */

typedef struct tunedgemm_context tunedgemm_context;

typedef struct tunedgemm_context_options {
  size_t struct_size;
  tunedgemm_backend backend; /* AUTO: CUDA device `ordinal` if there is one, else the host */
  int32_t ordinal;           /* of the CUDA device */
  int32_t host_threads;      /* 0: $TUNEDGEMM_THREADS, else all cores this process may use */
  const char*
      cache_path; /* NULL: $TUNEDGEMM_CACHE, else the user's cache folder; "" : in memory only */
  tunedgemm_policy policy;
  tunedgemm_rigor rigor;   /* DEFAULT: normal */
  double tune_seconds;     /* budget for one problem; 0: what the rigor gives */
  int32_t tune_candidates; /* likewise */
} tunedgemm_context_options;

TUNEDGEMM_API void tunedgemm_context_options_init(tunedgemm_context_options* options);

/* `options` may be NULL for all defaults. A cache that cannot be used is not an error: see
 * tunedgemm_context_report. On failure *context is NULL. */
TUNEDGEMM_API tunedgemm_status tunedgemm_context_create(const tunedgemm_context_options* options,
                                                        tunedgemm_context** context);
/* Destroys the context and its plans. Work that was launched may still run. NULL is allowed. */
TUNEDGEMM_API void tunedgemm_context_destroy(tunedgemm_context* context);

/* ---- Problem and buffers
 * ------------------------------------------------------------------------------------------ */

/* All sizes may be 0. D is M x N, op(A) M x K, op(B) K x N. `order_a` is the order of op(A): a
 * transposed row-major matrix is a column-major one. Leading dimensions and batch strides count
 * elements; 0 means packed (for batch_stride_a and _b of a batched problem, TUNEDGEMM_BROADCAST
 * means the same matrix for every entry). */
#define TUNEDGEMM_BROADCAST INT64_C(-1)

typedef struct tunedgemm_problem {
  size_t struct_size;
  int64_t m, n, k, batch;
  tunedgemm_type type_a, type_b, type_d; /* C has D's type */
  tunedgemm_order order_a, order_b, order_c, order_d;
  int64_t lda, ldb, ldc, ldd;
  int64_t batch_stride_a, batch_stride_b, batch_stride_c, batch_stride_d;
  tunedgemm_activation activation;
  tunedgemm_bias bias;
  tunedgemm_numerics numerics;
} tunedgemm_problem;

/* Row-major, packed, one batch entry, no epilogue. */
TUNEDGEMM_API void tunedgemm_problem_init(tunedgemm_problem* problem, int64_t m, int64_t n,
                                          int64_t k, tunedgemm_type type_a, tunedgemm_type type_b,
                                          tunedgemm_type type_d);

typedef struct tunedgemm_buffers {
  size_t struct_size;
  const void* a;
  const void* b;
  const void* c; /* read only if beta is not 0; may be the same memory as d (then with the same
                    order and strides) */
  void* d;       /* must not overlap a or b */
  const void* bias;
  const float* scale_a; /* one value in the device's memory, or NULL for 1; so that fp8 scales need
                           no copy */
  const float* scale_b;
  double alpha, beta;
  float slope; /* of leaky_relu */
  /* Memory for kernels that need some (see tunedgemm_plan_workspace_bytes), 256-byte aligned, all
   * zero before its first use (by a copy or a memset, or by a kernel that has ended when the first
   * launch with it is made) and then left alone. NULL: the context keeps one for each stream.
   * Give one where a captured graph is replayed beside other work of the same stream. */
  void* workspace;
  size_t workspace_bytes;
} tunedgemm_buffers;

/* alpha = 1, beta = 0, slope = 0.01, the rest NULL. */
TUNEDGEMM_API void tunedgemm_buffers_init(tunedgemm_buffers* buffers);

/* ---- Multiplication
 * ------------------------------------------------------------------------------------------------
 */

/* Does everything: finds, tunes or chooses a kernel for the problem as the policy says, and
 * launches it on `stream`. Once a problem is known to the context, a call costs the launch. A NULL
 * context is one for the whole process with default options, made by the first call that needs it.
 * While `stream` is being captured nothing is compiled, tuned, loaded or allocated: a problem that
 * is not ready runs a fallback that the context prepared, or fails with NOT_TUNED. */
TUNEDGEMM_API tunedgemm_status tunedgemm_matmul(tunedgemm_context* context,
                                                const tunedgemm_problem* problem,
                                                const tunedgemm_buffers* buffers, void* stream);

/* A plan is a problem with its kernel: for those who call in a loop. `buffers` gives alignments,
 * the classes of alpha and beta (0, 1 or other) and whether C is D; its pointers are not kept.
 * Belongs to the context; never freed by the caller. May compile and tune. */
typedef struct tunedgemm_plan tunedgemm_plan;
TUNEDGEMM_API tunedgemm_status tunedgemm_plan_create(tunedgemm_context* context,
                                                     const tunedgemm_problem* problem,
                                                     const tunedgemm_buffers* buffers,
                                                     const tunedgemm_plan** plan);
/* Launches. `buffers` must have the alignments and scalar classes of the plan, else
 * INVALID_ARGUMENT. */
TUNEDGEMM_API tunedgemm_status tunedgemm_run(const tunedgemm_plan* plan,
                                             const tunedgemm_buffers* buffers, void* stream);
/* What launches of the plan have use for; 0 if for nothing. A kernel that can do without is
 * launched without where there is no memory for it, or the stream is captured and brings none. */
TUNEDGEMM_API size_t tunedgemm_plan_workspace_bytes(const tunedgemm_plan* plan);
/* One line: the kernel, its config, where it comes from (tuned, stale, model) and its time. Lives
 * as long as the plan. */
TUNEDGEMM_API const char* tunedgemm_plan_description(const tunedgemm_plan* plan);

/* ---- Telling
 * ---------------------------------------------------------------------------------------------------------
 */

/* The last failure on this thread, "" if there was none. Lives until the thread's next failing
 * call. */
TUNEDGEMM_API const char* tunedgemm_error_message(void);
TUNEDGEMM_API const char* tunedgemm_status_name(tunedgemm_status status);
/* Device, cache file and its state, counters of this context (hits, stale, tuned, fallbacks,
 * compiled). Copies at most `size` bytes with the terminating zero; returns the bytes that the
 * whole text needs. */
TUNEDGEMM_API size_t tunedgemm_context_report(tunedgemm_context* context, char* text, size_t size);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TUNEDGEMM_TUNEDGEMM_H */
