/**
 * @file tunedgemm.h
 * Matrix multiplication by a kernel tuned for each shape, in C; tunedgemm.hpp is for C++20.
 *
 *     D = act(alpha * scale_a * scale_b * op(A) * op(B) + beta * C + bias)     per batch index
 *
 * For example, with device pointers on a GPU and plain ones on the CPU:
 *
 *     tunedgemm_problem problem;
 *     tunedgemm_buffers buffers;
 *     tunedgemm_problem_init(&problem, m, n, k, TUNEDGEMM_TYPE_F16, TUNEDGEMM_TYPE_F16,
 *                            TUNEDGEMM_TYPE_F16);
 *     tunedgemm_buffers_init(&buffers);
 *     buffers.a = a, buffers.b = b, buffers.d = d;
 *     if (tunedgemm_matmul(NULL, &problem, &buffers, stream) != TUNEDGEMM_STATUS_OK) {
 *       fprintf(stderr, "%s\n", tunedgemm_error_message());
 *     }
 *
 * The first call tunes the problem and stores the winner in the cache file; later calls, also in
 * other processes, launch it. A simple program needs the first half of this header, which ends with
 * tunedgemm_error_message(). See @ref page_misses (tuning) and @ref page_processes (environment,
 * fork). All is since 0.1.0 unless it says otherwise; experimental things may change in 0.2. */
#ifndef TUNEDGEMM_TUNEDGEMM_H
#define TUNEDGEMM_TUNEDGEMM_H

/** @page page_contracts  Contracts
 * 1. Errors: Unless a call returns TUNEDGEMM_STATUS_OK, it launched nothing. The library never
 *    aborts or exits, and prints nothing but warnings, which tunedgemm_set_log() takes over.
 * 2. Structs: In C, call the struct's _init function, then set the members that differ. In C++ the
 *    members have the same defaults: `tunedgemm_problem problem{.m = 5, .n = 6, .k = 7};`. Options
 *    may be NULL. Structs are not kept.
 * 3. Versions: `struct_size` is sizeof in the caller's header; the _init functions, which are part
 *    of it, set it. New members come at the end; those that a caller lacks have their defaults.
 *    Enumerators keep their numbers; others are refused.
 * 4. Memory: Operands lie in the context's device memory; managed and registered host memory works
 *    for GPU and host. A problem's first call or plan and a plan's first launch refuse others.
 * 5. Streams: A cudaStream_t or CUstream, NULL for the default one and on the host. A call returns
 *    after the launch, and waits only if it tunes or allocates; on the host, with the result.
 * 6. Threads: Any number of threads may share a context and its plans; on the host their launches
 *    take turns. No other thread may use a context while it is destroyed.
 * 7. Lifetime: A context owns its plans, descriptions and kernels; they die with it. */

#include <stddef.h>
#include <stdint.h>
/** @cond */
#pragma GCC visibility push(default) /* The library exports these functions and nothing else. */
/* As in C, an enumeration of C++ holds all numbers of this type. Members have defaults in C++. ZERO
 * is 0, NULL or the enumerator 0. SET sets all members: to these values in C, else to 0. */
#ifdef __cplusplus
#define TUNEDGEMM_INT32 : int32_t
#define TUNEDGEMM_DEFAULT(value) = value
#define TUNEDGEMM_ZERO = {}
#define TUNEDGEMM_SET(type, to, ...) (*(to) = type{})
extern "C" {
#else
#define TUNEDGEMM_INT32
#define TUNEDGEMM_DEFAULT(value)
#define TUNEDGEMM_ZERO
#define TUNEDGEMM_SET(type, to, ...) (*(to) = (type){.struct_size = sizeof(type), __VA_ARGS__})
#endif
/** @endcond */
/* ==== Simple interface ======================================================================== */
/** Element types. The supported combinations:
 *
 *     A and B                       accumulator               D, C and the bias
 *     F64                           f64                       F64
 *     F32                           f32                       F32, F16, BF16
 *     F16; BF16                     f32                       F32, F16, BF16
 *     E4M3 and E5M2, in any mix     f32                       F32, F16, BF16
 *     S8                            s32, modulo 2^32          S32
 *
 * A and B have the same type, except for fp8. Rounding is to nearest even; integers saturate. */
typedef enum tunedgemm_type TUNEDGEMM_INT32 {
  TUNEDGEMM_TYPE_F64 = 1,  /**< IEEE 754 binary64. */
  TUNEDGEMM_TYPE_F32 = 2,  /**< IEEE 754 binary32. */
  TUNEDGEMM_TYPE_F16 = 3,  /**< IEEE 754 binary16. */
  TUNEDGEMM_TYPE_BF16 = 4, /**< bfloat16: the upper half of a binary32. */
  TUNEDGEMM_TYPE_E4M3 = 5, /**< fp8 with 4 exponent bits (OCP OFP8 E4M3); A and B only. */
  TUNEDGEMM_TYPE_E5M2 = 6, /**< fp8 with 5 exponent bits (OCP OFP8 E5M2); A and B only. */
  TUNEDGEMM_TYPE_S8 = 7,   /**< Signed 8-bit integer; A and B only. */
  TUNEDGEMM_TYPE_S32 = 8   /**< Signed 32-bit integer; C, D and the bias only. */
} tunedgemm_type;

/** The layout of a matrix in memory. */
typedef enum tunedgemm_order TUNEDGEMM_INT32 {
  TUNEDGEMM_ORDER_ROW_MAJOR = 0,   /**< Consecutive elements form a row. */
  TUNEDGEMM_ORDER_COLUMN_MAJOR = 1 /**< Consecutive elements form a column. */
} tunedgemm_order;

/** The function act(x), computed in the accumulator's type (f64 for S32). NaN stays NaN. */
typedef enum tunedgemm_activation TUNEDGEMM_INT32 {
  TUNEDGEMM_ACTIVATION_NONE = 0,        /**< x */
  TUNEDGEMM_ACTIVATION_RELU = 1,        /**< x < 0 ? 0 : x */
  TUNEDGEMM_ACTIVATION_LEAKY_RELU = 2,  /**< x < 0 ? slope * x : x */
  TUNEDGEMM_ACTIVATION_GELU_TANH = 3,   /**< x / 2 * (1 + tanh(0.7978846 * (x + 0.044715 * x^3))) */
  TUNEDGEMM_ACTIVATION_GELU_ERF = 4,    /**< x / 2 * (1 + erf(x / sqrt(2))) */
  TUNEDGEMM_ACTIVATION_SILU = 5,        /**< x / (1 + exp(-x)) */
  TUNEDGEMM_ACTIVATION_SIGMOID = 6,     /**< 1 / (1 + exp(-x)) */
  TUNEDGEMM_ACTIVATION_TANH = 7,        /**< tanh(x) */
  TUNEDGEMM_ACTIVATION_RELU_SQUARED = 8 /**< x < 0 ? 0 : x * x */
} tunedgemm_activation;

/** The bias: a packed vector of D's element type, shared by all batch indices; groups have one
 * each, behind each other. Rows that groups share have one value each. */
typedef enum tunedgemm_bias TUNEDGEMM_INT32 {
  TUNEDGEMM_BIAS_NONE = 0,      /**< No bias. */
  TUNEDGEMM_BIAS_PER_ROW = 1,   /**< M values, one for each row of D. */
  TUNEDGEMM_BIAS_PER_COLUMN = 2 /**< N values, one for each column of D. */
} tunedgemm_bias;

/** The arithmetic of products and sums. Only some types offer a choice. */
typedef enum tunedgemm_numerics TUNEDGEMM_INT32 {
  TUNEDGEMM_NUMERICS_DEFAULT = -1, /**< FAST for fp8, IEEE for all other types. */
  TUNEDGEMM_NUMERICS_IEEE = 0, /**< Full precision. The only choice for f64, f16, bf16 and s8. */
  TUNEDGEMM_NUMERICS_TF32 = 1, /**< f32 inputs rounded to tf32 (10 mantissa bits). */
  TUNEDGEMM_NUMERICS_EMULATED = 2, /**< f32 on tensor cores, no less accurate than IEEE. */
  TUNEDGEMM_NUMERICS_FAST = 3,     /**< fp8, summed by the tensor core alone. */
  TUNEDGEMM_NUMERICS_PROMOTED = 4  /**< fp8, partial sums promoted to f32 at short intervals. */
} tunedgemm_numerics;

/** The scales of an operand: f32 factors in memory of the device. A row stands for a row of op(A)
 * or a column of op(B). Blocks begin at multiples of 128; the last ones may be smaller. */
typedef enum tunedgemm_scaling TUNEDGEMM_INT32 {
  TUNEDGEMM_SCALING_TENSOR = 0,       /**< One value for the matrix, or none. */
  TUNEDGEMM_SCALING_ROW = 1,          /**< A value for each row. */
  TUNEDGEMM_SCALING_BLOCK_1X128 = 2,  /**< A value for every 128 elements of a row, along K. */
  TUNEDGEMM_SCALING_BLOCK_128X128 = 3 /**< A value for 128 rows and 128 elements along K. */
} tunedgemm_scaling;

/** A grouped product: `batch` groups with B (and bias) of their own and different numbers of rows,
 * or of elements along K. A call reads them on the device, from int32 numbers in its buffers, which
 * may change between the replays of a captured graph. Numbers outside the matrix count as its
 * nearest end. Ends do not decrease; else groups may be empty or overlap. */
typedef enum tunedgemm_group_kind TUNEDGEMM_INT32 {
  TUNEDGEMM_GROUP_KIND_NONE = 0, /**< A batch: all products have the same extents. */
  /** A, C and D are M rows that the groups share: a group ends before the row that its number
   * names, and begins where the one before it ends. D must be row-major. Rows behind the last group
   * are not written. For offsets with a leading 0, pass the address of the next number. */
  TUNEDGEMM_GROUP_KIND_ROWS = 1,
  /** Each group has M rows of A, C and D, of which as many as its number says are multiplied. The
   * others are not written. D must be row-major. */
  TUNEDGEMM_GROUP_KIND_COUNTS = 2,
  /** A is M rows and B is N columns of K elements that the groups share, with ends as above; each
   * has a D of its own, to which an empty group gives K = 0. Blocks of scales are those of A and B
   * as a whole. */
  TUNEDGEMM_GROUP_KIND_K = 3,
  /** As ROWS, but with two numbers for each group: the row with which it begins, and the one before
   * which it ends. Rows between groups are not written. Groups must not overlap. */
  TUNEDGEMM_GROUP_KIND_RANGES = 4
} tunedgemm_group_kind;

/** The result of a call. tunedgemm_error_message() has the details. */
typedef enum tunedgemm_status TUNEDGEMM_INT32 {
  TUNEDGEMM_STATUS_OK = 0,               /**< Done; on CUDA: launched. */
  TUNEDGEMM_STATUS_INVALID_ARGUMENT = 1, /**< The call is wrong; the message names the value. */
  TUNEDGEMM_STATUS_UNSUPPORTED = 2,      /**< No kernel for the problem, or none can be compiled. */
  TUNEDGEMM_STATUS_NOT_TUNED = 3,        /**< No permitted kernel is ready (policy or capture). */
  TUNEDGEMM_STATUS_OUT_OF_MEMORY = 4,    /**< Host memory, or device memory for a workspace. */
  TUNEDGEMM_STATUS_NO_DEVICE = 5,        /**< No GPU, no driver, or no such ordinal. */
  TUNEDGEMM_STATUS_DEVICE_FAILED = 6, /**< The driver reported an error; the device may be lost. */
  TUNEDGEMM_STATUS_INTERNAL = 7       /**< A bug in this library: please report the message. */
} tunedgemm_status;

/** A batch stride of A, B or C: all batch indices use the same matrix. */
#define TUNEDGEMM_BROADCAST INT64_C(-1)

/** The multiplication. op(A) is M x K, op(B) is K x N, C and D are M x N, `batch` times. Sizes may
 * be 0: an empty D needs no work, and K = 0 gives D = act(beta * C + bias). No matrix may span more
 * than 2^56 bytes. There is no transpose flag: the transpose of a row-major matrix is column-major.
 * Leading dimensions and batch strides are in elements; 0: packed. D must not overlap itself. */
typedef struct tunedgemm_problem {
  size_t struct_size TUNEDGEMM_DEFAULT(sizeof(tunedgemm_problem)); /**< sizeof *problem */
  int64_t m TUNEDGEMM_ZERO;                                        /**< Rows of op(A), C and D. */
  int64_t n TUNEDGEMM_ZERO;           /**< Columns of op(B), C and D. */
  int64_t k TUNEDGEMM_ZERO;           /**< Columns of op(A) and rows of op(B). */
  int64_t batch TUNEDGEMM_DEFAULT(1); /**< Number of products; 1 unless batched. */
  tunedgemm_type type_a TUNEDGEMM_DEFAULT(TUNEDGEMM_TYPE_F32); /**< Of the elements of A. */
  tunedgemm_type type_b TUNEDGEMM_DEFAULT(TUNEDGEMM_TYPE_F32); /**< Of the elements of B. */
  tunedgemm_type type_d TUNEDGEMM_DEFAULT(TUNEDGEMM_TYPE_F32); /**< Of C, D and the bias. */
  tunedgemm_numerics numerics TUNEDGEMM_DEFAULT(TUNEDGEMM_NUMERICS_DEFAULT); /**< Arithmetic. */
  tunedgemm_order order_a TUNEDGEMM_ZERO; /**< Layout of op(A). */
  tunedgemm_order order_b TUNEDGEMM_ZERO; /**< Layout of op(B). */
  tunedgemm_order order_c TUNEDGEMM_ZERO; /**< Layout of C. */
  tunedgemm_order order_d TUNEDGEMM_ZERO; /**< Layout of D. */
  int64_t lda TUNEDGEMM_ZERO;             /**< Leading dimension of A. */
  int64_t ldb TUNEDGEMM_ZERO;             /**< Leading dimension of B. */
  int64_t ldc TUNEDGEMM_ZERO;             /**< Leading dimension of C. */
  int64_t ldd TUNEDGEMM_ZERO;             /**< Leading dimension of D. */
  int64_t batch_stride_a TUNEDGEMM_ZERO;  /**< From one A to the next, or TUNEDGEMM_BROADCAST. */
  int64_t batch_stride_b TUNEDGEMM_ZERO;  /**< From one B to the next, or TUNEDGEMM_BROADCAST. */
  int64_t batch_stride_c TUNEDGEMM_ZERO;  /**< From one C to the next, or TUNEDGEMM_BROADCAST. */
  int64_t batch_stride_d TUNEDGEMM_ZERO;  /**< From one D to the next. */
  tunedgemm_activation activation TUNEDGEMM_ZERO; /**< Applied last, before rounding to D's type. */
  tunedgemm_bias bias TUNEDGEMM_ZERO; /**< Whether a bias is added, and along which dimension. */
  /** 1: a row of D has the same bits for every M, in every place, whatever the alignments. If no
   * kernel does that, the call is UNSUPPORTED. 0: the bits may depend on the winner. */
  int32_t invariant TUNEDGEMM_ZERO;
  int32_t sm_limit TUNEDGEMM_ZERO; /**< The SMs that a launch may use; 0: the context's sm_limit. */
  /** The scales of A. Only fp8 has others than TENSOR; blocks need numerics PROMOTED, which is then
   * the default. */
  tunedgemm_scaling scaling_a TUNEDGEMM_ZERO;
  tunedgemm_scaling scaling_b TUNEDGEMM_ZERO; /**< The scales of B, likewise. */
  /** If not NONE, `batch` is the number of groups. A matrix that they share has no batch stride. */
  tunedgemm_group_kind group_kind TUNEDGEMM_ZERO;
  /** The usual rows of a group of ROWS or COUNTS, for which the problem is tuned; 0: equal parts of
   * M, or M. Only the speed depends on it. */
  int32_t rows_per_group TUNEDGEMM_ZERO;
} tunedgemm_problem;
/** Sets the sizes, the types and all defaults: batch 1, row-major, packed, no epilogue. */
static inline void tunedgemm_problem_init(tunedgemm_problem* problem, int64_t m, int64_t n,
                                          int64_t k, tunedgemm_type type_a, tunedgemm_type type_b,
                                          tunedgemm_type type_d) {
  TUNEDGEMM_SET(tunedgemm_problem, problem, .batch = 1, .numerics = TUNEDGEMM_NUMERICS_DEFAULT);
  problem->m = m, problem->n = n, problem->k = k;
  problem->type_a = type_a, problem->type_b = type_b, problem->type_d = type_d;
}

/** Sets the members that a text names, for example "types=bf16 layout=nt m=4096 n=6144 k=4096
 * activation=relu", a line of a list of shapes; the others stay, on failure all. Does not check
 * whether the problem is valid. Spaces separate the fields, which have any order:
 *
 *     types                           of A and B, and of D: "f16", "e4m3xe5m2", "bf16->f32", "tf32"
 *     layout                          nn, nt, tn, tt: A and B row-major (n) or column-major (t)
 *     m n k batch lda ldb ldc ldd     numbers
 *     batch_stride_a _b _c _d         numbers; 0 is TUNEDGEMM_BROADCAST
 *     output order_c order_d          the type of C and D if not in `types`; row, col
 *     activation bias numerics        "gelu_tanh"; "row"; "emulated". `types` resets numerics.
 *     invariant sm_limit              0 or 1; a number
 *     scaling_a scaling_b             tensor, row, block_1x128, block_128x128
 *     groups group_kind               batch, of groups; none, rows, counts, k, ranges
 *     rows_per_group                  a number */
tunedgemm_status tunedgemm_problem_parse(const char* text, tunedgemm_problem* problem);
/** The text of a problem, without defaults. Writes as tunedgemm_context_report(); 0 if invalid. */
size_t tunedgemm_problem_text(const tunedgemm_problem* problem, char* text, size_t size);

/** The operands of one call. Matrices and the bias must be aligned to their element size. The
 * fastest kernels need pointers, leading dimensions and batch strides that are multiples of 16
 * bytes; alignment is part of the problem that is tuned. D must not overlap an input, but C may be
 * D itself, with the same layout. Padding between rows of D (columns, if column-major) is never
 * touched. If K or alpha is 0, A, B and their scales may be NULL or NaN; so may C if beta is 0. */
typedef struct tunedgemm_buffers {
  size_t struct_size TUNEDGEMM_DEFAULT(sizeof(tunedgemm_buffers)); /**< sizeof *buffers */
  const void* a TUNEDGEMM_ZERO;                                    /**< A. */
  const void* b TUNEDGEMM_ZERO;                                    /**< B. */
  const void* c TUNEDGEMM_ZERO;                                    /**< C. Not read if beta is 0. */
  void* d TUNEDGEMM_ZERO;               /**< D; every element is written, and nothing else. */
  const void* bias TUNEDGEMM_ZERO;      /**< The bias; ignored unless the problem has one. */
  const float* scale_a TUNEDGEMM_ZERO;  /**< The scales of A; NULL for 1, if scaling_a is TENSOR. */
  const float* scale_b TUNEDGEMM_ZERO;  /**< The scales of B; NULL for 1, if scaling_b is TENSOR. */
  double alpha TUNEDGEMM_DEFAULT(1);    /**< Factor, in the accumulator's type (f64 for S32). */
  double beta TUNEDGEMM_ZERO;           /**< Factor of C, likewise. */
  float slope TUNEDGEMM_DEFAULT(0.01f); /**< Of TUNEDGEMM_ACTIVATION_LEAKY_RELU. */
  void* workspace TUNEDGEMM_ZERO;       /**< Optional; see tunedgemm_plan_workspace_bytes(). */
  size_t workspace_bytes TUNEDGEMM_ZERO; /**< Its size; it is not used if it is too small. */
  /** From the scale of a row (or 128 rows) of A to the next; 0: packed, with blocks of the same row
   * side by side; or TUNEDGEMM_BROADCAST. Likewise for the others. */
  int64_t scale_stride_a TUNEDGEMM_ZERO;
  int64_t scale_stride_b TUNEDGEMM_ZERO;   /**< The same for columns of B. */
  int64_t scale_k_stride_a TUNEDGEMM_ZERO; /**< From a block of A to the next one along K; 0: 1. */
  int64_t scale_k_stride_b TUNEDGEMM_ZERO; /**< The same for B. */
  /** From the scales of one A to those of the next; 0: packed. */
  int64_t scale_batch_stride_a TUNEDGEMM_ZERO;
  int64_t scale_batch_stride_b TUNEDGEMM_ZERO; /**< The same for B. */
  /** The numbers of the groups, in memory of the device; ignored unless the problem has groups. */
  const int32_t* groups TUNEDGEMM_ZERO;
} tunedgemm_buffers;
/** Sets alpha = 1, beta = 0, slope = 0.01, the rest to NULL or 0. */
static inline void tunedgemm_buffers_init(tunedgemm_buffers* buffers) {
  TUNEDGEMM_SET(tunedgemm_buffers, buffers, .alpha = 1, .slope = 0.01f);
}

/** A device, a cache file, and the plans, kernels and workspaces made with them. Opaque. NULL is a
 * context of the process, which its first use creates with default options, for the calling
 * thread's current CUDA device, or for the host if there is no GPU. */
typedef struct tunedgemm_context tunedgemm_context;

/** Multiplies: looks the problem up, tunes it if the policy says so, and launches its kernel. Equal
 * inputs give equal bits while the kernel is the same; another winner may round differently. Once
 * the context knows the problem, by a call with equal fields, pointer alignments, and answers to
 * "alpha = 0?", "beta = 0?" and "is C D?", a call costs only the launch: no lock, no cache access,
 * no allocation except of a workspace, the first time on a stream.
 *
 * While `stream` is being captured nothing is compiled, tuned or loaded. A known problem is
 * captured with its own kernel, an unknown one with the best loaded kernel that computes it; if
 * there is none, the call fails with TUNEDGEMM_STATUS_NOT_TUNED. Make a plan before the capture. */
tunedgemm_status tunedgemm_matmul(tunedgemm_context* context, const tunedgemm_problem* problem,
                                  const tunedgemm_buffers* buffers, void* stream);

/** The calling thread's last failure, as a sentence that names the object, the value and the
 * remedy. "" if nothing failed. Lives until the thread's next failure. Never NULL. */
const char* tunedgemm_error_message(void);
/* ==== Advanced: plans, which separate lookup and launch ======================================= */
/** A problem with its kernel. Opaque. Switches to the winner soon after the cache has it. */
typedef struct tunedgemm_plan tunedgemm_plan;

/** How to handle a cache miss (see @ref page_misses). Under every policy a hit is used. */
typedef enum tunedgemm_policy TUNEDGEMM_INT32 {
  TUNEDGEMM_POLICY_DEFAULT = 0, /**< Context: $TUNEDGEMM_POLICY, else TUNE; plan: its context's. */
  TUNEDGEMM_POLICY_TUNE = 1,    /**< Tune now, within the budget, then run the winner. */
  TUNEDGEMM_POLICY_TUNE_IN_BACKGROUND = 2, /**< As STORED, else as COMPILE; tune while idle. */
  TUNEDGEMM_POLICY_COMPILE = 3, /**< A stored kernel that is within 5 %, else compile one. */
  TUNEDGEMM_POLICY_STORED = 4,  /**< The best stored or linked-in kernel; never compile. */
  TUNEDGEMM_POLICY_FAIL = 5     /**< Fail with TUNEDGEMM_STATUS_NOT_TUNED. */
} tunedgemm_policy;

/** The kernels around a launch on its stream. A plan is tuned for one regime, correct in both. */
typedef enum tunedgemm_launch_regime TUNEDGEMM_INT32 {
  TUNEDGEMM_LAUNCH_REGIME_ISOLATED = 0, /**< Other kernels may run between the launches. */
  /** Experimental. This library's kernels follow each other and may overlap. Another one between
   * costs 1 us; it must not both start its successor early and write the launch's workspace. */
  TUNEDGEMM_LAUNCH_REGIME_BACK_TO_BACK = 1
} tunedgemm_launch_regime;

/** Options of a plan. */
typedef struct tunedgemm_plan_options {
  size_t struct_size TUNEDGEMM_DEFAULT(sizeof(tunedgemm_plan_options)); /**< sizeof *options */
  tunedgemm_policy policy TUNEDGEMM_ZERO; /**< TUNE and FAIL: also for a plan without a winner. */
  tunedgemm_launch_regime launch_regime TUNEDGEMM_ZERO; /**< Calls without a plan are isolated. */
  const char* name TUNEDGEMM_ZERO; /**< Added to the problem's names in the cache, or NULL. */
  /** The expected loss up to which a stored kernel of another M is used, and none is made: 0.05 is
   * one that is expected to take at most 5 % longer than the winner. 0: the policy's, 5 % for
   * COMPILE and none for TUNE; the other policies keep theirs, any stored kernel or none. */
  double accepted_loss TUNEDGEMM_ZERO;
} tunedgemm_plan_options;
/** Sets the defaults: the context's policy, isolated, no name, no accepted loss. */
static inline void tunedgemm_plan_options_init(tunedgemm_plan_options* options) {
  TUNEDGEMM_SET(tunedgemm_plan_options, options, .policy = TUNEDGEMM_POLICY_DEFAULT);
}

/** Finds or makes the plan of a problem, as tunedgemm_matmul() does before its launch; NULL on
 * failure. May compile and tune, also while a stream is being captured. Later tunedgemm_matmul()
 * calls with the problem use an isolated plan, too, under every policy. Of `buffers` only the
 * alignments matter, whether alpha or beta is 0, and whether C is D; pointers may be NULL. */
tunedgemm_status tunedgemm_plan_create(tunedgemm_context* context, const tunedgemm_problem* problem,
                                       const tunedgemm_buffers* buffers,
                                       const tunedgemm_plan_options* options,
                                       const tunedgemm_plan** plan);

/** Launches a plan. Never tunes, and compiles only if there is no memory for its workspace. Needs
 * alignments as good as the plan's, and equal answers to "alpha = 0?", "beta = 0?", "is C D?". */
tunedgemm_status tunedgemm_run(const tunedgemm_plan* plan, const tunedgemm_buffers* buffers,
                               void* stream);

/** Fails unless the plan is one of this problem, for programs that run it with other matrices. */
tunedgemm_status tunedgemm_plan_check(const tunedgemm_plan* plan, const tunedgemm_problem* problem);

/** Bytes of workspace that the plan can use; 0 for none or for NULL. A caller's workspace must be
 * 256-byte aligned, and zeroed before its first use, in stream order or earlier; each launch leaves
 * it ready for the next. Overlapping launches must not share it. If the buffers have none, the
 * context keeps one per stream, allocated by the first call on it; a captured graph gets its own,
 * one per branch, for the life of the graph, its clones and executables. Executables of a graph
 * share them: to run two at once, pass your own. */
size_t tunedgemm_plan_workspace_bytes(const tunedgemm_plan* plan);

/** Where the kernel of a plan comes from. */
typedef enum tunedgemm_plan_origin TUNEDGEMM_INT32 {
  TUNEDGEMM_PLAN_ORIGIN_NOTHING = 0, /**< No kernel: D has no elements. */
  TUNEDGEMM_PLAN_ORIGIN_TUNED = 1,   /**< The problem's winner. */
  TUNEDGEMM_PLAN_ORIGIN_STALE = 2,   /**< The winner of a tuning with another compiler or driver. */
  TUNEDGEMM_PLAN_ORIGIN_OTHER_M = 3, /**< A stored kernel that was tuned for another M. */
  TUNEDGEMM_PLAN_ORIGIN_OTHER_DEVICE = 4, /**< A stored kernel, tuned on a similar device. */
  TUNEDGEMM_PLAN_ORIGIN_NEAREST = 5,  /**< The stored kernel of the most similar tuned problem. */
  TUNEDGEMM_PLAN_ORIGIN_MODEL = 6,    /**< The cost model's choice. */
  TUNEDGEMM_PLAN_ORIGIN_LINKED_IN = 7 /**< The kernel in the library, which needs no compiler. */
} tunedgemm_plan_origin;

/** The kernel that a plan runs now, and its tuning, 0 or "" unless it is TUNED or STALE. */
typedef struct tunedgemm_plan_info {
  size_t struct_size TUNEDGEMM_DEFAULT(sizeof(tunedgemm_plan_info)); /**< sizeof *info */
  tunedgemm_plan_origin origin TUNEDGEMM_ZERO; /**< Where the kernel comes from. */
  /* The tuning: */
  int32_t candidates TUNEDGEMM_ZERO; /**< How many candidates the tuning tried. */
  double median_us TUNEDGEMM_ZERO;   /**< The kernel's median time, in microseconds. */
  double low_us TUNEDGEMM_ZERO;      /**< The 20th percentile of its times. */
  double high_us TUNEDGEMM_ZERO;     /**< The 80th percentile of its times. */
  double default_us TUNEDGEMM_ZERO;  /**< The untuned default's time; 0 if not measured. */
  double naive_us TUNEDGEMM_ZERO;    /**< The naive kernel's time; 0 if not measured. */
  /** Experimental, as the next two. The share of time that the kernel is expected to take more than
   * a tuning's winner: 0 of NOTHING and TUNED, at least 0 of OTHER_M, -1 (unknown) of others. */
  double expected_loss TUNEDGEMM_ZERO;
  double expected_us TUNEDGEMM_ZERO; /**< Of OTHER_M: the expected time; else 0. */
  int64_t tuned_m TUNEDGEMM_ZERO; /**< Of OTHER_M: the M (N if D is column-major) of the tuning. */
  size_t workspace_bytes TUNEDGEMM_ZERO; /**< As tunedgemm_plan_workspace_bytes() returns it. */
  /* The tuning again: */
  int64_t tuned_at TUNEDGEMM_ZERO;              /**< Its end, in seconds since 1970 (UTC). */
  double spent_seconds TUNEDGEMM_ZERO;          /**< How long it took. */
  const char* tuned_with TUNEDGEMM_DEFAULT(""); /**< Its compiler. Lives as long as the plan. */
  /** The time of the vendor library's own call, comparable with `median_us`; 0 if not compared. */
  double vendor_us TUNEDGEMM_ZERO;
  /** That library and its version, "cuBLASLt 13.1.0"; "" if not compared. Lives as long as the
   * plan. */
  const char* vendor TUNEDGEMM_DEFAULT("");
} tunedgemm_plan_info;
/** Sets `struct_size`, `tuned_with` and `vendor` to "" and the rest to 0. */
static inline void tunedgemm_plan_info_init(tunedgemm_plan_info* info) {
  TUNEDGEMM_SET(tunedgemm_plan_info, info, .tuned_with = "", .vendor = "");
}

/** Describes the kernel that the plan runs now, in `struct_size` bytes; none on failure. Does not
 * tune or compile. Of OTHER_M, a plan's first call may take milliseconds. */
tunedgemm_status tunedgemm_plan_get_info(const tunedgemm_plan* plan, tunedgemm_plan_info* info);

/** One line for people: family, config and origin ("tuned" or "stale" with the measured time,
 * "served from M = 4096, expected within 3 %", "the nearest stored kernel", "chosen by the model").
 * Lives as long as the plan. "" for NULL. The first call for a plan may take milliseconds. */
const char* tunedgemm_plan_description(const tunedgemm_plan* plan);

/** The result for one problem of tunedgemm_prepare(). */
typedef struct tunedgemm_progress {
  size_t struct_size;         /**< sizeof(tunedgemm_progress) in the library's version. */
  size_t index;               /**< Of the problem in the list; those before it are done. */
  size_t count;               /**< Of the problems in the list. */
  const tunedgemm_plan* plan; /**< The problem's plan; NULL on failure. */
  tunedgemm_status status;    /**< As tunedgemm_plan_create() returns it. */
  const char* message;        /**< The failure as a sentence; "" on success. */
  double seconds;             /**< Since tunedgemm_prepare() began. */
} tunedgemm_progress;

/** Experimental. Receives a result, which lives during the call, on the caller's thread. Must not
 * destroy the context or throw. Returns 0 to go on, else to stop: then only those so far count. */
typedef int32_t (*tunedgemm_progress_function)(void* user_data, const tunedgemm_progress* progress);

/** Makes the plans of a list of problems, of equal struct_size, one after the other, ahead of calls
 * with beta = 0 and matrices at multiples of 16, as tunedgemm_plan_create() does. Calls `function`,
 * unless NULL, after each. Repeated ones cost nothing. One that fails does not stop the others; the
 * first failure is returned, and its message begins with its index, as "problems[2]: ". While a GPU
 * tunes one, its compilers begin with the next, as tunedgemm_context_announce() tells them to. */
tunedgemm_status tunedgemm_prepare(tunedgemm_context* context, const tunedgemm_problem* problems,
                                   size_t count, const tunedgemm_plan_options* options,
                                   tunedgemm_progress_function function, void* user_data);

/** Experimental. Announces the problems of a list, of equal struct_size, whose plans are made next,
 * in this order, with these options. While a GPU tunes one of them, its compilers begin with the
 * first one behind it that has no winner. An invalid one is left out. Each list replaces the
 * one before, also that of tunedgemm_prepare(); an empty one ends these compilations, too, and
 * waits for those in progress. */
tunedgemm_status tunedgemm_context_announce(tunedgemm_context* context,
                                            const tunedgemm_problem* problems, size_t count,
                                            const tunedgemm_plan_options* options);

/** Experimental. Adds calls that the program made by other means to the requests of problems, for
 * `tune-all --from-requests`, and writes them to the cache. `problems` are of equal struct_size;
 * so are `buffers`, one for each problem, as for tunedgemm_plan_create(). Invalid problems are left
 * out; the first failure is returned. */
tunedgemm_status tunedgemm_context_request(tunedgemm_context* context,
                                           const tunedgemm_problem* problems,
                                           const tunedgemm_buffers* buffers, const int64_t* calls,
                                           size_t count);
/* ==== Advanced: contexts, each with its device and its cache ================================== */
/** The kind of device. */
typedef enum tunedgemm_backend TUNEDGEMM_INT32 {
  TUNEDGEMM_BACKEND_AUTO = 0, /**< CUDA if there is any CUDA device, else the host. */
  TUNEDGEMM_BACKEND_HOST = 1, /**< The CPU. */
  TUNEDGEMM_BACKEND_CUDA = 2  /**< An NVIDIA GPU of compute capability 8.0 or later. */
} tunedgemm_backend;

/** The limit of one tuning. A less complete result never replaces a more complete one. */
typedef enum tunedgemm_rigor TUNEDGEMM_INT32 {
  TUNEDGEMM_RIGOR_DEFAULT = 0,   /**< $TUNEDGEMM_RIGOR, else NORMAL. */
  TUNEDGEMM_RIGOR_QUICK = 1,     /**< 5 seconds, 12 candidates. */
  TUNEDGEMM_RIGOR_NORMAL = 2,    /**< 30 seconds, 28 candidates. */
  TUNEDGEMM_RIGOR_EXHAUSTIVE = 3 /**< All but the hopeless candidates, without a time limit. */
} tunedgemm_rigor;

/** Options of a context. */
typedef struct tunedgemm_context_options {
  size_t struct_size TUNEDGEMM_DEFAULT(sizeof(tunedgemm_context_options)); /**< sizeof *options */
  tunedgemm_backend backend TUNEDGEMM_ZERO; /**< The kind of device. */
  int32_t ordinal TUNEDGEMM_ZERO;      /**< The number of the CUDA device in the driver's list. */
  int32_t host_threads TUNEDGEMM_ZERO; /**< At most 1024; 0: $TUNEDGEMM_THREADS, else all cores. */
  /** The cache file, "" for memory only. NULL: $TUNEDGEMM_CACHE, else tunedgemm/tunedgemm.db in
   * $XDG_CACHE_HOME, else in ~/.cache. It holds executable code: use only files you trust. */
  const char* cache_path TUNEDGEMM_ZERO;
  tunedgemm_policy policy TUNEDGEMM_ZERO; /**< On a miss. */
  tunedgemm_rigor rigor TUNEDGEMM_ZERO;   /**< The limit of one tuning. */
  double tune_seconds TUNEDGEMM_ZERO; /**< Limit; 0: $TUNEDGEMM_TUNE_SECONDS, else the rigor's. */
  int32_t tune_candidates TUNEDGEMM_ZERO; /**< The limit of candidates; 0: the rigor's. */
  /** For problems without one; 0: $TUNEDGEMM_SM_LIMIT, else all SMs. */
  int32_t sm_limit TUNEDGEMM_ZERO;
} tunedgemm_context_options;
/** Sets the defaults, which are all 0 or NULL. */
static inline void tunedgemm_context_options_init(tunedgemm_context_options* options) {
  TUNEDGEMM_SET(tunedgemm_context_options, options, .backend = TUNEDGEMM_BACKEND_AUTO);
}

/** Opens a device and a cache, in milliseconds plus the driver's start; NULL on failure. A cache
 * that cannot be used is no failure: the context works in memory, and its report says why. */
tunedgemm_status tunedgemm_context_create(const tunedgemm_context_options* options,
                                          tunedgemm_context** context);

/** Writes pending results to the cache and frees the context, which may be NULL. Launched work may
 * still run, but graphs that captured calls of this context must no longer be launched. */
void tunedgemm_context_destroy(tunedgemm_context* context);

/** Ends background tuning for good, after the current candidate; then plans change only if a call
 * makes a plan. Call it after capturing graphs, whose launches background tuning cannot see. */
tunedgemm_status tunedgemm_context_freeze(tunedgemm_context* context);

/** Several lines for people: device, toolchain, state of the cache, plans by origin. As snprintf(),
 * writes at most `size` bytes with a final zero, and returns the whole text's length without it. */
size_t tunedgemm_context_report(tunedgemm_context* context, char* text, size_t size);
/* ==== Advanced: messages and names ============================================================ */
/** The importance of a message. */
typedef enum tunedgemm_log_level TUNEDGEMM_INT32 {
  TUNEDGEMM_LOG_LEVEL_INFO = 1,   /**< An expected event, such as a tuning that begins. */
  TUNEDGEMM_LOG_LEVEL_WARNING = 2 /**< A problem that the library worked around. */
} tunedgemm_log_level;

/** Receives a message, a sentence that lives during the call, on any thread, one at a time. Must
 * not throw, and must not call this library or fork(). */
typedef void (*tunedgemm_log_function)(void* user_data, tunedgemm_log_level level,
                                       const char* sentence);

/** Sends the messages of all contexts, of both levels, to a function; one under way may still reach
 * the old one. NULL restores the default, the spdlog logger "tunedgemm", which a C++ program may
 * replace: warnings go to standard error, with $TUNEDGEMM_LOG = "info" all, with "off" none. With
 * "summary" one more message, about the calls of the process, is sent when it exits. */
void tunedgemm_set_log(tunedgemm_log_function function, void* user_data);

/** A name for people, such as "invalid argument". Never NULL. Async-signal-safe. */
const char* tunedgemm_status_name(tunedgemm_status status);

/** The name of an origin, such as "other_m", or "unknown". Never NULL. */
const char* tunedgemm_plan_origin_name(tunedgemm_plan_origin origin);

/** The name as in a problem's text and in the cache, such as "bf16", or "unknown". Never NULL. */
const char* tunedgemm_type_name(tunedgemm_type type);
/** "row" or "col", or "unknown". Never NULL. */
const char* tunedgemm_order_name(tunedgemm_order order);
/** Such as "gelu_tanh", or "unknown". Never NULL. */
const char* tunedgemm_activation_name(tunedgemm_activation activation);
/** "none", "row" or "col", or "unknown". Never NULL. */
const char* tunedgemm_bias_name(tunedgemm_bias bias);
/** Such as "tf32", or "unknown". Never NULL. */
const char* tunedgemm_numerics_name(tunedgemm_numerics numerics);
/** Such as "block_1x128", or "unknown". Never NULL. */
const char* tunedgemm_scaling_name(tunedgemm_scaling scaling);
/** Such as "k", or "unknown". Never NULL. */
const char* tunedgemm_group_kind_name(tunedgemm_group_kind kind);

#define TUNEDGEMM_VERSION_MAJOR 0 /**< The major version of this header (Semantic Versioning). */
#define TUNEDGEMM_VERSION_MINOR 1 /**< Of this header. */
#define TUNEDGEMM_VERSION_PATCH 0 /**< Of this header. */
/** The version of the library that runs, such as "0.1.0". Never NULL. */
const char* tunedgemm_version(void);
#ifdef __cplusplus
} /* extern "C" */
#endif
#pragma GCC visibility pop
#endif /* TUNEDGEMM_TUNEDGEMM_H */
