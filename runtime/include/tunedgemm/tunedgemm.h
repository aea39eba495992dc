/**
 * @file tunedgemm.h
 * The public interface of libtunedgemm, in C. tunedgemm.hpp is the same for C++20, header-only over
 * this one.
 *
 * libtunedgemm is a matrix multiplication that writes its own kernel for your shape, measures it on
 * your device, remembers the winner on disk, and from then on costs nothing but the launch:
 *
 *     D = act( alpha * scale_a * scale_b * op(A) * op(B) + beta * C + bias ),   per batch entry
 *
 * A context is one device with one cache. A problem says what is asked, buffers say where the
 * matrices lie. tunedgemm_matmul() does everything in one call; tunedgemm_plan_create() and
 * tunedgemm_run() do the same in two steps, for those who call in a loop.
 *
 * @par Errors
 * Every function that can fail returns a tunedgemm_status. With any but TUNEDGEMM_OK nothing was
 * launched for the caller, and tunedgemm_error_message() gives a sentence for the calling thread:
 * what was being done, to what, with which value, and the remedy; control characters and what is no
 * UTF-8 in it are escaped. The library never prints, aborts
 * or exits. It logs through the spdlog logger "tunedgemm": the one that the program has registered,
 * else one on the standard error stream that says nothing below a warning.
 *
 * @par Structs
 * `struct_size` is sizeof(the struct) as the caller was compiled. The _init functions set it and
 * all defaults: call them first, then set what differs. Members are only ever added at the end. A
 * struct that is shorter than the library's is completed with defaults; one that is longer, or of a
 * size that no struct has (not a multiple of 8), is refused with TUNEDGEMM_INVALID_ARGUMENT. Structs
 * are read during the call and not kept.
 *
 * @par Enumerations
 * The numbers are explicit and never change. An integer that is not one of its enumeration is
 * refused with TUNEDGEMM_INVALID_ARGUMENT.
 *
 * @par Memory
 * Matrices, bias, scales and workspaces lie in the memory of the context's device: device pointers
 * for CUDA, plain ones for the host. Managed memory and host memory that is registered with CUDA
 * are both. The first call of a problem, and the first launch of a plan, refuse memory that the
 * device cannot use with TUNEDGEMM_INVALID_ARGUMENT: another GPU's without peer access, host memory
 * on a GPU (but where that GPU reads pageable memory), and what the CPU cannot read on the host.
 * Later calls do not look. Structs, strings and what a function returns through a pointer lie in
 * host memory.
 *
 * @par Streams
 * `stream` is a cudaStream_t or CUstream of the context's device; NULL is the default stream. On
 * CUDA, a call returns when the kernel is launched, and one that neither tunes nor allocates waits
 * for nothing on the device. On the host, `stream` must be NULL, else the call is refused, and a
 * call returns when the result is there.
 *
 * @par Threads
 * A context and its plans may be used by any number of threads at once; on the host, launches of
 * one context run one after the other. Only while tunedgemm_context_destroy() runs may no other
 * thread use them.
 *
 * @par Environment
 * Variables of the environment are read when a context is made and when something is compiled. In a
 * program that runs with rights that its caller does not have (set-user-ID, set-group-ID, file
 * capabilities), none is read, PATH, HOME and TMPDIR included: such a program names its cache file,
 * or the cache is in memory.
 *
 * @par Lifetime
 * A context lives until tunedgemm_context_destroy(), and its plans, what they describe and their
 * kernels with it: to use any of them afterwards, in any function, is undefined, as after free().
 * No function can notice it.
 *
 * @par Signals
 * No function may be called in a signal handler but tunedgemm_status_name(): the others take locks
 * and allocate memory, and so may wait for what the interrupted thread holds. A handler sets a flag
 * or writes to a pipe, and the program calls. Functions go on after a signal whose handler returns.
 * The library changes what no signal does. Compilers that it starts are in process groups of their
 * own, are killed when their time is over, and end by themselves when this process dies.
 *
 * @par Child processes
 * After fork() a child uses the library afresh: with contexts that it makes itself, or with none
 * (NULL), which are its own. A context of the parent, and a plan of it, is refused there with
 * TUNEDGEMM_INVALID_ARGUMENT; to destroy the context is allowed, and releases nothing. What any
 * thread of the parent was doing does not matter; fork() itself waits until none is inside the cache
 * or the log, some milliseconds, and up to some seconds where the cache file is busy. CUDA does not
 * work in the child of a process that has used it: TUNEDGEMM_NO_DEVICE.
 *
 * @par What the environment may do
 * Where the linked-in kernel of the host, or a stored one, can compute a call, the call is computed:
 * a compiler that is missing, fails or hangs, a full disk, too few descriptors, processes or threads
 * only make it slower. A tuning takes the time of its budget, in which a compiler is stopped, and
 * two seconds where the budget is less.
 *
 * @par Which calls may take long
 *
 *     call                                        opens a    reads the   compiles    allocates
 *                                                 device     cache       and tunes   memory
 *     tunedgemm_context_create                    yes        yes         no          yes
 *     tunedgemm_matmul, problem not yet known     (1)        yes         (2)         yes
 *     tunedgemm_plan_create, likewise             (1)        yes         (2)         yes
 *     either, problem known to the context        no         no          no          (3)
 *     tunedgemm_run                               no         no          no          (3)
 *     tunedgemm_context_destroy                   no         writes it   no          no
 *
 *     (1) for a context of the process, in the first call that uses it
 *     (2) as the policy says; tunedgemm_matmul never while the stream is captured
 *     (3) a workspace for each stream on which a plan that uses one is run, and for each graph
 *         into which it is captured, unless the caller brings one
 *
 * A problem is known once a call of this context had the same problem, with pointers of the same
 * alignments, alpha and beta that are 0 or not as before, and C that is D or not as before. On CUDA
 * such a call costs the launch: it takes no lock, allocates nothing (but for (3)) and does not look
 * at the environment.
 */
#ifndef TUNEDGEMM_TUNEDGEMM_H
#define TUNEDGEMM_TUNEDGEMM_H

#include <stddef.h>
#include <stdint.h>

/** @cond */
#if defined(TUNEDGEMM_BUILDING) && defined(__GNUC__)
#define TUNEDGEMM_API __attribute__((visibility("default")))
#else
#define TUNEDGEMM_API
#endif
/* In C++ every number of this type may stand in a variable of such an enumeration, as in C. */
#ifdef __cplusplus
#define TUNEDGEMM_INT32 : int32_t
#else
#define TUNEDGEMM_INT32
#endif
/** @endcond */

#ifdef __cplusplus
extern "C" {
#endif

#define TUNEDGEMM_VERSION_MAJOR 0 /**< Of this header, as in Semantic Versioning. */
#define TUNEDGEMM_VERSION_MINOR 1 /**< Likewise. */
#define TUNEDGEMM_VERSION_PATCH 0 /**< Likewise. */

/* ------------------------------------------------------------------------------------------------
 * Enumerations
 */

/** What became of a call. */
typedef enum tunedgemm_status TUNEDGEMM_INT32 {
  /** Done; on CUDA: launched. */
  TUNEDGEMM_OK = 0,
  /** The call is wrong; the message names the value. */
  TUNEDGEMM_INVALID_ARGUMENT = 1,
  /** Well formed, but no kernel can be had for it: none computes it on this device, or there is
   * nothing to compile with. */
  TUNEDGEMM_UNSUPPORTED = 2,
  /** Policy replay, and the cache has no winner for the problem; policy stored, and there is no
   * kernel that computes it; or a captured stream, and no kernel that is loaded computes it. */
  TUNEDGEMM_NOT_TUNED = 3,
  /** Of the host, or of the device (for a workspace). */
  TUNEDGEMM_OUT_OF_MEMORY = 4,
  /** No GPU, no driver, or no such ordinal. */
  TUNEDGEMM_NO_DEVICE = 5,
  /** The driver reported an error; the device may be lost to this process. */
  TUNEDGEMM_DEVICE_FAILED = 6,
  /** A bug in this library: please report the message. */
  TUNEDGEMM_INTERNAL = 7
} tunedgemm_status;

/** Where a context computes. */
typedef enum tunedgemm_backend TUNEDGEMM_INT32 {
  /** The CUDA device `ordinal`; the host where there is no CUDA device at all. */
  TUNEDGEMM_BACKEND_AUTO = 0,
  TUNEDGEMM_BACKEND_HOST = 1, /**< The CPU. */
  TUNEDGEMM_BACKEND_CUDA = 2  /**< An NVIDIA GPU of compute capability 8.0 or later. */
} tunedgemm_backend;

/**
 * Element types. These go together:
 *
 *     A and B                       products are summed in    D, C and the bias
 *     F64                           f64                       F64
 *     F32                           f32                       F32, F16, BF16
 *     F16; BF16                     f32                       F32, F16, BF16
 *     E4M3 and E5M2, in any mix     f32                       F32, F16, BF16
 *     S8                            s32, modulo 2^32          S32
 *
 * Except for fp8, A and B have the same type. Rounding is to nearest even; to integers it
 * saturates.
 */
typedef enum tunedgemm_type TUNEDGEMM_INT32 {
  TUNEDGEMM_F64 = 1,  /**< IEEE 754 binary64. */
  TUNEDGEMM_F32 = 2,  /**< IEEE 754 binary32. */
  TUNEDGEMM_F16 = 3,  /**< IEEE 754 binary16. */
  TUNEDGEMM_BF16 = 4, /**< bfloat16: the upper half of a binary32. */
  TUNEDGEMM_E4M3 = 5, /**< fp8 with 4 exponent bits (OCP OFP8 E4M3); A and B only. */
  TUNEDGEMM_E5M2 = 6, /**< fp8 with 5 exponent bits (OCP OFP8 E5M2); A and B only. */
  TUNEDGEMM_S8 = 7,   /**< Signed 8-bit integer; A and B only. */
  TUNEDGEMM_S32 = 8   /**< Signed 32-bit integer; C, D and the bias only. */
} tunedgemm_type;

/** How a matrix lies in memory. */
typedef enum tunedgemm_order TUNEDGEMM_INT32 {
  TUNEDGEMM_ROW_MAJOR = 0,   /**< The elements of a row follow each other. */
  TUNEDGEMM_COLUMN_MAJOR = 1 /**< The elements of a column follow each other. */
} tunedgemm_order;

/**
 * The function act(x), which is applied to each element in the type in which products are summed
 * (f64 for S32), before the result is rounded to D's type. NaN stays NaN.
 */
typedef enum tunedgemm_activation TUNEDGEMM_INT32 {
  TUNEDGEMM_ACTIVATION_NONE = 0, /**< x */
  TUNEDGEMM_RELU = 1,            /**< x < 0 ? 0 : x */
  TUNEDGEMM_LEAKY_RELU = 2,      /**< x < 0 ? slope * x : x */
  TUNEDGEMM_GELU_TANH = 3,       /**< x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) */
  TUNEDGEMM_GELU_ERF = 4,        /**< x / 2 * (1 + erf(x / sqrt(2))) */
  TUNEDGEMM_SILU = 5,            /**< x / (1 + exp(-x)) */
  TUNEDGEMM_SIGMOID = 6,         /**< 1 / (1 + exp(-x)) */
  TUNEDGEMM_TANH = 7,            /**< tanh(x) */
  TUNEDGEMM_RELU_SQUARED = 8     /**< x < 0 ? 0 : x * x */
} tunedgemm_activation;

/**
 * Whether a bias is added: a packed vector of D's element type, the same for every batch entry.
 */
typedef enum tunedgemm_bias TUNEDGEMM_INT32 {
  TUNEDGEMM_BIAS_NONE = 0,      /**< None. */
  TUNEDGEMM_BIAS_PER_ROW = 1,   /**< M values, one for each row of D. */
  TUNEDGEMM_BIAS_PER_COLUMN = 2 /**< N values, one for each column of D. */
} tunedgemm_bias;

/** How products are formed and summed, where there is a choice. */
typedef enum tunedgemm_numerics TUNEDGEMM_INT32 {
  TUNEDGEMM_NUMERICS_DEFAULT = -1, /**< FAST for fp8, IEEE for all other types. */
  /** f32 products and sums in f32. The only one for f64, f16, bf16 and s8. */
  TUNEDGEMM_IEEE = 0,
  /** f32 inputs rounded to tf32 (10 mantissa bits), summed in f32. */
  TUNEDGEMM_TF32 = 1,
  /** f32 from tensor cores: inputs split into parts, at no greater error than IEEE. */
  TUNEDGEMM_EMULATED = 2,
  /** fp8 summed as the tensor core does it. */
  TUNEDGEMM_FAST = 3,
  /** fp8 with partial sums moved to f32 registers at short intervals. */
  TUNEDGEMM_PROMOTED = 4
} tunedgemm_numerics;

/**
 * What runs on the stream between the kernels of this library. It is part of what a tuning decides
 * for; results do not depend on it.
 */
typedef enum tunedgemm_launches TUNEDGEMM_INT32 {
  /** Other kernels, or nobody knows. In a captured graph, a kernel whose only predecessor is one of
   * this library overlaps with it where that pays. */
  TUNEDGEMM_ISOLATED = 0,
  /** Nothing: each kernel follows one of this library, and overlaps with it where that pays. If
   * something else comes between after all, a launch takes up to about a microsecond longer; but it
   * must not be a kernel that starts the next one early and writes a workspace that is given. */
  TUNEDGEMM_BACK_TO_BACK = 1
} tunedgemm_launches;

/**
 * What a call does for a problem for which the cache has no winner. A winner that is there is used
 * under every policy.
 */
typedef enum tunedgemm_policy TUNEDGEMM_INT32 {
  /** Of a context: what $TUNEDGEMM_POLICY says when it is made: tune, background, stored, never or
   * replay; else TUNE. Of a plan: that of its context. */
  TUNEDGEMM_POLICY_DEFAULT = 0,
  /** Tune now, within the budget, then run the winner. */
  TUNEDGEMM_POLICY_TUNE = 1,
  /** Never tune: run what the cost model chooses, or what won for a near shape in the cache, and note
   * the problem in the cache for `tune-all --from-requests`, with how often it was launched (a
   * capture counts once). Where the cache does not have that kernel, it is compiled: one kernel,
   * which takes a second or two, and the next ones only if it does not compile. This is logged
   * (level info). STORED compiles nothing. */
  TUNEDGEMM_POLICY_NEVER = 2,
  /** Fail with TUNEDGEMM_NOT_TUNED and a message. */
  TUNEDGEMM_POLICY_REPLAY = 3,
  /** Neither tune nor compile: run a kernel that is stored in the cache, or linked into the
   * library, and computes the problem: that of the nearest problem with a winner of the same types,
   * orders and epilogue, else one that was compiled without a tuning, else, on the host, the one
   * that is linked in. The first call looks for it, some milliseconds for a cache of any size: at
   * the winners of 32 problems that are near, of 32 configs farther away, and at the 32 kernels that
   * the cost model prefers. The problem is noted as under NEVER. Where there is no such kernel, fail
   * with TUNEDGEMM_NOT_TUNED and a message. A winner whose kernel the cache lacks is not compiled
   * either. */
  TUNEDGEMM_POLICY_STORED = 4,
  /** Answer at once, as under STORED; and tune the problem in a thread of the context, within the
   * budget, or compile its winner there if the cache has one without its kernel, while nobody calls
   * the context. The caller compiles only where no kernel that is stored, loaded or linked in
   * computes the problem: the winner, or else what NEVER runs, which takes a second or two. The
   * thread waits for 100 ms without a call before it begins and, while there are calls, between
   * candidates. Then plans of the problem go over to the winner. Launches of graphs are not seen,
   * so a program that runs graphs calls tunedgemm_context_freeze() when it has captured them. What
   * fails in the thread is logged and reaches no caller. */
  TUNEDGEMM_POLICY_BACKGROUND = 5
} tunedgemm_policy;

/**
 * How much a tuning spends at most on one problem. What a lesser one finds never replaces what a
 * fuller one found.
 */
typedef enum tunedgemm_rigor TUNEDGEMM_INT32 {
  TUNEDGEMM_RIGOR_DEFAULT = 0, /**< NORMAL. */
  TUNEDGEMM_QUICK = 1,         /**< 5 seconds, 12 candidates. */
  TUNEDGEMM_NORMAL = 2,        /**< 30 seconds, 32 candidates. */
  TUNEDGEMM_EXHAUSTIVE = 3     /**< Every candidate that is not hopeless, with no limit in time. */
} tunedgemm_rigor;

/* ------------------------------------------------------------------------------------------------
 * Context: one device, one cache
 */

/**
 * One device, one cache, and the plans, kernels and workspaces made with them. Opaque. Made by
 * tunedgemm_context_create(), ended by tunedgemm_context_destroy().
 *
 * Where a function takes a context, NULL is the context of the process for the device on which the
 * calling thread works: the current CUDA device (cudaSetDevice), the first one if the thread has
 * chosen none, and the host where there is no CUDA device. There is one for each device, with
 * default options, made by the first call that uses it, and never destroyed.
 */
typedef struct tunedgemm_context tunedgemm_context;

/** How a context is made. */
typedef struct tunedgemm_context_options {
  /** sizeof(tunedgemm_context_options) */
  size_t struct_size;
  /** Where to compute. */
  tunedgemm_backend backend;
  /** Of the CUDA device, as the CUDA driver counts them. */
  int32_t ordinal;
  /** Threads of a multiplication on the host; 0: $TUNEDGEMM_THREADS, else one for each core that
   * the process may use. At most 1024 are used, and no more than the system has to give. */
  int32_t host_threads;
  /** The cache file. NULL: $TUNEDGEMM_CACHE, else $XDG_CACHE_HOME/tunedgemm/tunedgemm.db, else
   * ~/.cache/tunedgemm/tunedgemm.db. "": in memory only. The file holds executable code: use only
   * files of people whom you trust. */
  const char* cache_path;
  /** What to do where the cache has no winner. */
  tunedgemm_policy policy;
  /** How much a tuning spends. */
  tunedgemm_rigor rigor;
  /** At most so many seconds for one problem, compiling included; 0: what the rigor gives. */
  double tune_seconds;
  /** At most so many candidates for one problem; 0: what the rigor gives. */
  int32_t tune_candidates;
} tunedgemm_context_options;

/** Sets `struct_size` and the defaults, which are 0 and NULL. `options` must not be NULL. */
TUNEDGEMM_API void tunedgemm_context_options_init(tunedgemm_context_options* options);

/**
 * Opens the device and the cache. Blocks for some milliseconds, and on CUDA for as long as the
 * driver takes to make the device's primary context, which is shared with the CUDA runtime. Opens
 * no compiler. A cache that cannot be used is not an error: the context then works with what it can
 * read, or in memory, and tunedgemm_context_report() says why.
 *
 * @param options  NULL for all defaults.
 * @param context  Receives the context; NULL on failure. Must not be NULL itself.
 * @return TUNEDGEMM_NO_DEVICE where the device that was asked for is not there (for
 *     TUNEDGEMM_BACKEND_AUTO: where there are CUDA devices, but none with this ordinal);
 *     TUNEDGEMM_DEVICE_FAILED where it does not work; TUNEDGEMM_INVALID_ARGUMENT for a value out of
 *     its range, $TUNEDGEMM_POLICY included.
 */
TUNEDGEMM_API tunedgemm_status tunedgemm_context_create(const tunedgemm_context_options* options,
                                                        tunedgemm_context** context);

/**
 * Ends tuning in the background, see tunedgemm_context_freeze(), writes to the cache what is still
 * to be written, and destroys the context with its plans, kernels and workspaces. No other thread
 * may be using them. Work that was launched may still run; but a graph into which calls of this
 * context were captured must not be launched any more, since its kernels are gone. The context and
 * its plans must not be used afterwards. NULL is allowed and does nothing.
 */
TUNEDGEMM_API void tunedgemm_context_destroy(tunedgemm_context* context);

/**
 * Ends tuning under TUNEDGEMM_POLICY_BACKGROUND, for good: when it returns, nothing is tuned in the
 * background any more, plans stay what they are, and that policy does what STORED and NEVER do.
 * Waits for the candidate that is at work, up to some seconds if it is being compiled. Does nothing
 * else, and nothing if there was no such tuning. May be called by several threads at once.
 *
 * @param context  NULL for the process's context of the current device.
 * @return TUNEDGEMM_OK; with NULL, also what tunedgemm_context_create() returns.
 */
TUNEDGEMM_API tunedgemm_status tunedgemm_context_freeze(tunedgemm_context* context);

/* ------------------------------------------------------------------------------------------------
 * Problem and buffers
 */

/** As a batch stride of A, B or C: every batch entry uses the same matrix. */
#define TUNEDGEMM_BROADCAST INT64_C(-1)

/**
 * What is asked. Set by tunedgemm_problem_init(), then changed.
 *
 * @par Sizes
 * op(A) is M x K, op(B) K x N, C and D M x N, and there are `batch` of each. All may be 0: if D has
 * no elements nothing is done; if K is 0, D = act(beta * C + bias). However large the sizes are,
 * no matrix may span more than 2^56 bytes, and no leading dimension or batch stride.
 *
 * @par Layouts
 * op(X) is X or its transpose. There is no flag for it: a transposed row-major matrix is a
 * column-major one. Leading dimensions count elements from one row to the next, or from one column
 * to the next if column-major. They are at least the length of a row (column), or 0 for just that.
 *
 * @par Batches
 * Batch strides count elements from one entry to the next; 0 means that the matrices follow each
 * other. The entries of D must not overlap. Those of A, B and C may, and with TUNEDGEMM_BROADCAST
 * they are the same matrix.
 */
typedef struct tunedgemm_problem {
  /** sizeof(tunedgemm_problem) */
  size_t struct_size;
  int64_t m,               /**< Rows of op(A), C and D. */
      n,                   /**< Columns of op(B), C and D. */
      k,                   /**< Columns of op(A) and rows of op(B). */
      batch;               /**< Products of these sizes; 1 for a single one. */
  tunedgemm_type type_a,   /**< Element type of A. */
      type_b,              /**< Of B. */
      type_d;              /**< Of D, C and the bias. */
  tunedgemm_order order_a, /**< How op(A) lies in memory. */
      order_b,             /**< How op(B) lies in memory. */
      order_c,             /**< How C lies in memory. */
      order_d;             /**< How D lies in memory. */
  int64_t lda,             /**< Leading dimension of A. */
      ldb,                 /**< Of B. */
      ldc,                 /**< Of C. */
      ldd;                 /**< Of D. */
  int64_t batch_stride_a,  /**< From one A to the next. */
      batch_stride_b,      /**< From one B to the next. */
      batch_stride_c,      /**< From one C to the next. */
      batch_stride_d;      /**< From one D to the next. */
  /** What is applied last, before rounding to D's type. */
  tunedgemm_activation activation;
  /** Whether a bias is added. */
  tunedgemm_bias bias;
  /** How products are formed and summed. */
  tunedgemm_numerics numerics;
} tunedgemm_problem;

/**
 * Sets `struct_size`, the sizes and the types, and all other members to: one batch entry,
 * row-major, packed, no activation, no bias, default numerics. `problem` must not be NULL. Values
 * are checked by the functions that take the problem, not here.
 */
TUNEDGEMM_API void tunedgemm_problem_init(tunedgemm_problem* problem, int64_t m, int64_t n,
                                          int64_t k, tunedgemm_type type_a, tunedgemm_type type_b,
                                          tunedgemm_type type_d);

/**
 * Where the matrices of one call lie, and its scalars. Set by tunedgemm_buffers_init(), then
 * changed.
 *
 * @par Alignment
 * Every matrix and the bias begin at a multiple of their element's size, or the call is refused.
 * The fastest kernels need more: pointers, leading dimensions and batch strides that are multiples
 * of 16 bytes. Alignments are part of what a problem is tuned for.
 *
 * @par Overlap
 * D must not overlap what is read of A, B, C, the bias and the scales, and a workspace none of
 * these; a call in which they do is refused. Two kinds of overlap are allowed: C may be the same
 * memory as D, with the same order, leading dimension and batch stride; and what lies in the
 * padding between the rows of D (columns, if column-major), such as another matrix that is
 * different columns of one larger matrix, does not overlap it.
 *
 * @par NULL
 * A pointer to what is not read may be NULL: A and B if K or alpha is 0, C if beta is 0, all of
 * them if D has no elements.
 */
typedef struct tunedgemm_buffers {
  /** sizeof(tunedgemm_buffers) */
  size_t struct_size;
  /** A. */
  const void* a;
  /** B. */
  const void* b;
  /** C. Never read if beta is 0, so that it may hold NaN. */
  const void* c;
  /** D. All its elements are written, and nothing else is. */
  void* d;
  /** The bias. Ignored unless the problem has one. */
  const void* bias;
  /** One value in the device's memory, which the kernel reads when it runs, so that a scale that
   * was computed there need not be copied; or NULL for 1. For every element type. */
  const float* scale_a;
  /** Likewise. */
  const float* scale_b;
  double alpha, /**< Used in the type in which products are summed (f64 for S32). */
      beta;     /**< Likewise. */
  /** Of TUNEDGEMM_LEAKY_RELU. */
  float slope;
  /** Memory for kernels that need some, or NULL; see tunedgemm_plan_workspace_bytes(). */
  void* workspace;
  /** Of `workspace`. One that is too small for the kernel is not used. */
  size_t workspace_bytes;
} tunedgemm_buffers;

/** Sets `struct_size`, alpha = 1, beta = 0, slope = 0.01, and all other members to NULL and 0.
 * `buffers` must not be NULL. */
TUNEDGEMM_API void tunedgemm_buffers_init(tunedgemm_buffers* buffers);

/* ------------------------------------------------------------------------------------------------
 * Multiplication
 */

/**
 * Multiplies: finds, tunes or chooses a kernel for the problem, and launches it on `stream`. Once a
 * problem is known to the context, a call costs the launch.
 *
 * @par A problem that is not known yet
 * The cache is asked for a winner. One that was tuned with another driver or compiler is used, too,
 * and called stale; its stored kernel runs, whichever compiler made it. Without a winner the policy
 * decides.
 *
 * @par Tuning
 * A tuning has operands, a workspace and a stream of its own, and touches nothing of the caller's.
 * One runs at a time in a context, and for one problem among processes that share a cache file: the
 * others wait for its result, for a minute at most. Where no winner comes of it (not enough memory,
 * nothing to compile with, the minute is over, no candidate is valid) the call goes on as under
 * policy NEVER.
 *
 * @par Candidates that fail
 * One that computes a wrong result, writes outside D, spills registers (where others do not) or
 * takes longer than ten seconds is rejected, and the tuning goes on. On a GPU, one that has not
 * ended after a minute, or after which the GPU reports an error, ends the call with
 * TUNEDGEMM_DEVICE_FAILED, and this process cannot use the GPU any more. On the host, one that
 * crashes ends the process, and one that never ends is waited for. Since a mark of each candidate
 * that runs for the first time is kept in the cache file, the next tuning of the problem rejects it
 * unseen.
 *
 * @par Without a compiler
 * A stored kernel runs whichever compiler or NVRTC made it (on the host for a CPU with these
 * features), and whether or not there is one. Where none is found, a problem without a winner runs
 * the kernel that policy STORED would run, under every policy but REPLAY. If there is none, calls
 * fail with TUNEDGEMM_UNSUPPORTED; on the host a kernel that is linked into the library computes
 * every problem.
 *
 * @par Capture
 * While `stream` is being captured into a graph, nothing is compiled, tuned or loaded, whatever the
 * policy. A problem that is known is captured with its own kernel, on whatever stream it became
 * known; if that kernel uses a workspace, the graph gets one of its own, see
 * tunedgemm_plan_workspace_bytes(). For a problem that is not known, the best kernel is captured of
 * those that the context has loaded for other problems and that compute this one, and the problem
 * is noted for `tune-all --from-requests`; if there is no such kernel the call fails with
 * TUNEDGEMM_NOT_TUNED. So call once with the problem, or make its plan, before the capture.
 *
 * @par Reproducibility
 * A kernel gives the same bits for the same inputs, always. Another winner may give others, and so
 * does a plan that goes over to one.
 *
 * @param context  NULL for the process's context of the current device.
 * @param problem  What is asked.
 * @param buffers  Where the matrices lie.
 * @param stream   On which to launch; NULL on the host.
 * @return Any status.
 */
TUNEDGEMM_API tunedgemm_status tunedgemm_matmul(tunedgemm_context* context,
                                                const tunedgemm_problem* problem,
                                                const tunedgemm_buffers* buffers, void* stream);

/**
 * A problem with its kernel. Opaque, shared by threads. Belongs to its context and lives as long;
 * never freed by the caller. Where it was made without a winner, and the problem is then tuned in
 * its context, the plan goes over to the winner's kernel.
 */
typedef struct tunedgemm_plan tunedgemm_plan;

/**
 * Makes the plan for a problem, or finds the one that is there: what tunedgemm_matmul() does before
 * it launches, so it may read the cache, compile and tune. It is given no stream, so it does all of
 * that even while one is being captured: make plans before a capture.
 *
 * @param context  NULL for the process's context of the current device.
 * @param problem  What is asked.
 * @param buffers  Of these the alignments of the pointers, whether alpha and beta are 0, and
 *     whether C is D, belong to the plan; pointers may be NULL, which is aligned to anything. The
 *     memory is not changed and the pointers are not kept.
 * @param plan     Receives the plan; NULL on failure. Must not be NULL itself.
 * @return Any status.
 */
TUNEDGEMM_API tunedgemm_status tunedgemm_plan_create(tunedgemm_context* context,
                                                     const tunedgemm_problem* problem,
                                                     const tunedgemm_buffers* buffers,
                                                     const tunedgemm_plan** plan);

/** How a plan is made. */
typedef struct tunedgemm_plan_options {
  /** sizeof(tunedgemm_plan_options) */
  size_t struct_size;
  /** For a problem without a winner. Where the problem is known, but ran without a winner so far,
   * TUNE tunes it now, and REPLAY fails. */
  tunedgemm_policy policy;
  /** What runs between the kernels of this library where the plan is launched. Calls without a plan
   * are isolated. */
  tunedgemm_launches launches;
  /** What the program calls the problem, such as the name of a layer, or NULL: it is kept with the
   * request that is noted where there is no winner (the view `missing` of the cache). */
  const char* name;
} tunedgemm_plan_options;

/** Sets `struct_size` and the defaults: 0, isolated, NULL. `options` must not be NULL. */
TUNEDGEMM_API void tunedgemm_plan_options_init(tunedgemm_plan_options* options);

/**
 * tunedgemm_plan_create() with options of its own, such as another policy than its context's. Later
 * calls with the problem use the plan, whatever their policy.
 *
 * @param context  As there.
 * @param problem  As there.
 * @param buffers  As there.
 * @param options  NULL for all defaults.
 * @param plan     As there.
 * @return Any status.
 */
TUNEDGEMM_API tunedgemm_status tunedgemm_plan_create_with(tunedgemm_context* context,
                                                          const tunedgemm_problem* problem,
                                                          const tunedgemm_buffers* buffers,
                                                          const tunedgemm_plan_options* options,
                                                          const tunedgemm_plan** plan);

/**
 * Launches a plan. Never compiles or tunes. What tunedgemm_matmul() says about captured streams
 * holds here, too.
 *
 * @param plan     Of tunedgemm_plan_create().
 * @param buffers  Aligned at least as well as those with which the plan was made; alpha and beta
 *     are 0 where they were and not 0 where they were not; C is D if it was. Else
 *     TUNEDGEMM_INVALID_ARGUMENT.
 * @param stream   On which to launch; NULL on the host.
 * @return TUNEDGEMM_OK, TUNEDGEMM_INVALID_ARGUMENT, TUNEDGEMM_OUT_OF_MEMORY (no workspace) or
 *     TUNEDGEMM_DEVICE_FAILED.
 */
TUNEDGEMM_API tunedgemm_status tunedgemm_run(const tunedgemm_plan* plan,
                                             const tunedgemm_buffers* buffers, void* stream);

/**
 * How many bytes of workspace launches of the plan have use for; 0 for none, or if `plan` is NULL.
 *
 * Some kernels need a workspace, split-K for one; others only run better with it. Where the
 * buffers bring none, the context has one for each stream. It is allocated by the first call on
 * that stream, which blocks for it, and again after the stream has not been used for long, if there
 * are many streams. All are freed with the context.
 *
 * A graph has workspaces of its own, so that it can be launched beside anything: they are allocated
 * while it is captured, one for each of its branches, and belong to the graph, its clones and its
 * executables. When these are destroyed, a later call frees them, at the latest the one that
 * destroys the context. Two executables of one graph share them: to launch both at the same time,
 * give the captured calls workspaces, or capture twice.
 *
 * A caller's workspace is 256-byte aligned and all zero before its first use (by a copy or a
 * memset, or by a kernel that has ended when the first launch with it is made), and is then left
 * alone: each launch leaves it fit for the next one. Launches that may run at the same time must
 * not share one. It is used wherever it is given and large enough.
 */
TUNEDGEMM_API size_t tunedgemm_plan_workspace_bytes(const tunedgemm_plan* plan);

/**
 * One line for people: the family of the kernel, its config, and where it comes from: "tuned" or
 * "stale" with the time measured in the tuning, "the nearest stored kernel", or "chosen by the
 * model". Lives as long as the plan. "" if `plan` is NULL.
 */
TUNEDGEMM_API const char* tunedgemm_plan_description(const tunedgemm_plan* plan);

/* ------------------------------------------------------------------------------------------------
 * Messages
 */

/**
 * The last failure on the calling thread as a sentence, "" if there was none. Lives until the
 * thread's next call that fails. Never NULL.
 */
TUNEDGEMM_API const char* tunedgemm_error_message(void);

/** A name for people, such as "invalid argument". Lives for ever. Never NULL. */
TUNEDGEMM_API const char* tunedgemm_status_name(tunedgemm_status status);

/**
 * Several lines for people: the device, the toolchain, the cache file with its state and what is
 * wrong with it, and how many plans of this context were made tuned, stale, with the nearest stored
 * kernel or with the model's choice, how many of the latter have been replaced by a winner's, and
 * how many were chosen during a capture.
 *
 * @param context  NULL for the process's context of the current device, which is made if it is not
 *     there yet.
 * @param text     Receives at most `size` bytes, the terminating zero included; or NULL.
 * @param size     Of `text`, in bytes.
 * @return The bytes that the whole text needs, the terminating zero included.
 */
TUNEDGEMM_API size_t tunedgemm_context_report(tunedgemm_context* context, char* text, size_t size);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TUNEDGEMM_TUNEDGEMM_H */
