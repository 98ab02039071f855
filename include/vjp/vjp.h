/* SPDX-License-Identifier: Apache-2.0 */
/* vjp.h - the whole native API of vjp, and its manual. What is not here is not API.
 *
 * vjp computes the part of a training step that is not a matrix product: activations, softmax,
 * losses and norms, and above all their backward passes (vector-Jacobian products).
 *
 *     vjp_context *ctx;  vjp_context_create(NULL, &ctx, NULL, 0);           once per program
 *     vjp_plan    *plan; vjp_plan_create(ctx, "relu_backward", ...);        once per shape
 *     vjp_plan_run(plan, inputs, outputs, workspace, size, NULL);           once per step
 *
 * Creating may fail, and says why in one sentence if you pass a char buffer as `reason`. Running
 * checks only what can change from call to call (addresses, and labels on the CPU), allocates
 * nothing and takes no lock (OpenMP's runtime may, when it starts its threads or their number
 * changes).
 * The library never prints, aborts or exits. OpenMP's runtime may: it ends the process where it
 * cannot create a thread or allocate what its threads need. To rule that out, set num_threads to 1
 * or pass your own parallel_for.
 * Every function may be called from any thread; a plan may run on many threads at once. A thread
 * that calls the library or runs its tasks needs a stack of 64 KiB; for OpenMP's threads that is
 * OMP_STACKSIZE=64k or more.
 *
 * Results are the same bits for any number of threads and any instruction set (the payload and
 * sign of a NaN aside). The caller's rounding mode and flush-to-zero setting change nothing.
 *
 * Operators, their tensors and attributes: docs/operators/, or the enumeration at the end.
 */
#ifndef VJP_VJP_H
#define VJP_VJP_H

#include <stddef.h>
#include <stdint.h>

#if defined(VJP_STATIC)
#define VJP_API
#elif defined(__GNUC__)
#define VJP_API __attribute__((visibility("default")))
#else
#define VJP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version ------------------------------------------------------------------------------ */

#define VJP_VERSION_MAJOR 0
#define VJP_VERSION_MINOR 2
#define VJP_VERSION_PATCH 0

/* vjp_version - the version of the library that is running: major * 10000 + minor * 100 + patch. */
VJP_API int32_t vjp_version(void);

/* ---- status ------------------------------------------------------------------------------- */

typedef enum vjp_status {
    VJP_OK = 0,
    VJP_BAD_ARGUMENT = 1,  /* NULL where a pointer is needed, a wrong count or struct_size, a label
                              out of range */
    VJP_BAD_OP = 2,        /* no operator of that name */
    VJP_BAD_ATTRIBUTE = 3, /* unknown, missing, given twice, of the wrong type, out of range */
    VJP_BAD_DTYPE = 4,     /* unknown, or not a combination the operator takes */
    VJP_BAD_SHAPE = 5, /* ranks or dims that do not fit together, a negative dim, over 12 dims */
    VJP_BAD_STRIDES = 6,   /* an output with two indices on one address */
    VJP_BAD_ALIAS = 7,     /* an output overlaps another tensor other than exactly */
    VJP_BAD_ALIGNMENT = 8, /* a data pointer is not a multiple of its element size */
    VJP_BAD_WORKSPACE = 9, /* NULL or smaller than vjp_plan_workspace_size says */
    VJP_TOO_LARGE = 10,    /* bytes beyond 62 bits, elements of rows 54, or CUDA blocks 31 */
    VJP_NO_MEMORY = 11,    /* the allocator returned NULL */
    VJP_NO_DEVICE = 12,    /* no such device, or not supported by this build */
    VJP_DEVICE_ERROR = 13  /* the device reported an error: vjp_context_error names it */
} vjp_status;

/* vjp_status_string - the name of a status ("VJP_BAD_SHAPE"); "VJP_UNKNOWN" for any other
 * number. */
VJP_API const char *vjp_status_string(vjp_status status);

/* A reason is one sentence that names the tensor and the dim ("diff_dst: dim 1 is 7, src has 5").
 * Functions that take `reason` write it there on failure, cut to reason_size and always
 * terminated, and an empty string on success. NULL or 0 means it is not wanted. */
#define VJP_REASON_SIZE 256

/* ---- context ------------------------------------------------------------------------------ */

typedef enum vjp_device {
    VJP_CPU = 0,
    VJP_CUDA = 1
} vjp_device;

/* vjp_task - one piece of work; vjp_parallel_for - the caller's own way to run many.
 *
 * Equivalent to, in any order and on any threads, returning when all are done:
 *
 *     for (int64_t i = 0; i < ntasks; i++)
 *         task(arg, i);
 */
typedef void (*vjp_task)(void *arg, int64_t index);
typedef void (*vjp_parallel_for)(void *user, int64_t ntasks, vjp_task task, void *arg);

/* vjp_context_options - how and where plans run. Start from VJP_CONTEXT_DEFAULTS.
 *
 * device, device_id: where plans of this context run. VJP_CUDA needs libvjp_cuda.so beside
 *     libvjp.so (the static library supports the CPU only); device_id is CUDA's device ordinal.
 * num_threads: 1 stays on the calling thread. n is a team of n OpenMP threads, even if there are
 *     fewer CPUs, but never more than OpenMP's thread limit or 256. 0 takes what OpenMP offers
 *     (OMP_NUM_THREADS, omp_set_num_threads), but never more than 256 or the CPUs in the affinity
 *     mask when the context is created. vjp_context_threads returns the result.
 * parallel_for: runs the tasks instead of OpenMP, unless num_threads is 1. `parallel_for_user`
 *     is passed to it.
 * allocate, deallocate: set both or neither; they replace the C library's allocator for
 *     contexts, their tables and plans. allocate returns memory aligned to at least 16 bytes, or
 *     NULL. Running a plan calls neither. `allocator_user` is passed to both.
 * isa: the instruction set to use at most ("scalar", "avx2", "avx512"; on Arm "scalar", "neon"; on
 *     CUDA "80", "90"); NULL: the best. The environment may lower it further: vjp_context_create.
 *
 * Small work stays on the calling thread, and parallel_for is not called for it. The threshold may
 * change in any version: today it is 512 KiB read and written, in all passes, where a long formula
 * counts as 32 bytes per element, 64 in f64. Work for OpenMP also stays on the calling thread if it
 * is started inside an OpenMP parallel region or in a forked child, where OpenMP's threads are
 * gone.
 */
typedef struct vjp_context_options {
    size_t struct_size; /* sizeof(vjp_context_options) */
    vjp_device device;
    int32_t device_id;
    int32_t num_threads;
    vjp_parallel_for parallel_for;
    void *parallel_for_user;
    void *(*allocate)(void *allocator_user, size_t size);
    void (*deallocate)(void *allocator_user, void *memory);
    void *allocator_user;
    const char *isa;
} vjp_context_options;

#define VJP_CONTEXT_DEFAULTS \
    { sizeof(vjp_context_options), VJP_CPU, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL }

typedef struct vjp_context vjp_context;

/* vjp_context_create - a device, its threads and its allocator.
 *
 * options: NULL means VJP_CONTEXT_DEFAULTS. *ctx is set to NULL on failure.
 * The instruction set is chosen here: the best one that the CPU and the operating system
 * support, capped by options->isa and by the environment variable VJP_ISA (the same names) where
 * they are set and not empty; an unknown name is refused. On CUDA the environment variable is
 * VJP_CUDA_ARCH (80 or more).
 */
VJP_API vjp_status vjp_context_create(const vjp_context_options *options, vjp_context **ctx,
                                      char *reason, size_t reason_size);

/* vjp_context_destroy - drop the caller's reference. Its plans stay valid: the context is freed
 * with the last of them. NULL is allowed. */
VJP_API void vjp_context_destroy(vjp_context *ctx);

/* vjp_context_isa - the name of the instruction set in use ("avx512", "sm_90"); NULL for NULL. */
VJP_API const char *vjp_context_isa(const vjp_context *ctx);

/* vjp_context_error - the name of the last error that the device reported to a call which
 * returned VJP_DEVICE_ERROR ("cudaErrorLaunchFailure"); "" if there was none; NULL for NULL.
 * The context stays usable where CUDA allows it. */
VJP_API const char *vjp_context_error(const vjp_context *ctx);

/* vjp_context_threads - how many threads would share the work of a run started here and now: the
 * size of OpenMP's team; 1 if the calling thread works alone; 0 for a parallel_for, whose threads
 * are the caller's, for CUDA and for NULL. Small work takes one thread in any case. */
VJP_API int32_t vjp_context_threads(const vjp_context *ctx);

/* ---- tensors ------------------------------------------------------------------------------ */

typedef enum vjp_dtype {
    VJP_F64 = 1,
    VJP_F32 = 2,
    VJP_F16 = 3,  /* IEEE binary16 */
    VJP_BF16 = 4, /* the upper half of an IEEE binary32 */
    VJP_S32 = 5,  /* s32, s64: labels and lengths */
    VJP_S64 = 6,
    VJP_U8 = 7    /* masks */
} vjp_dtype;

/* vjp_dtype_name - "f64", "f32", "f16", "bf16", "s32", "s64" or "u8"; NULL for any other number.
 * vjp_dtype_size - bytes of an element; 0 for any other number. */
VJP_API const char *vjp_dtype_name(vjp_dtype dtype);
VJP_API size_t vjp_dtype_size(vjp_dtype dtype);

#define VJP_MAX_DIMS 12

/* vjp_tensor - the description of a tensor: everything but its data.
 *
 * Element (i0, i1, ...) is at data + (i0 * strides[0] + i1 * strides[1] + ...) elements.
 * Strides are in elements and may be negative (data is then not the lowest address) or, for
 * inputs, 0 (the same element again: a broadcast). ndim 0 is one element. A dim of 0 makes the
 * tensor empty. Shape and strides mean what they mean in DLPack's DLTensor.
 */
typedef struct vjp_tensor {
    size_t struct_size; /* sizeof(vjp_tensor) */
    vjp_dtype dtype;
    int32_t ndim;
    int64_t shape[VJP_MAX_DIMS];
    int64_t strides[VJP_MAX_DIMS];
} vjp_tensor;

/* vjp_tensor_contiguous - describe a dense row-major tensor.
 * shape may be NULL if ndim is 0. Fails, leaving *tensor as it was, on a bad dtype, ndim or dim
 * and if the bytes do not fit in 62 bits. */
VJP_API vjp_status vjp_tensor_contiguous(vjp_dtype dtype, int32_t ndim, const int64_t *shape,
                                         vjp_tensor *tensor);

/* vjp_tensor_strided - describe a tensor with the given strides. Fails as above. */
VJP_API vjp_status vjp_tensor_strided(vjp_dtype dtype, int32_t ndim, const int64_t *shape,
                                      const int64_t *strides, vjp_tensor *tensor);

/* vjp_tensor_broadcast - view a tensor in a larger shape, by NumPy's rules: shapes are aligned
 * at the right, and a dim that is missing or 1 is repeated (its stride becomes 0).
 * VJP_BAD_SHAPE if the tensor does not fit. *view may be the tensor itself. */
VJP_API vjp_status vjp_tensor_broadcast(const vjp_tensor *tensor, int32_t ndim,
                                        const int64_t *shape, vjp_tensor *view);

/* ---- attributes --------------------------------------------------------------------------- */

typedef enum vjp_attr_type {
    VJP_ATTR_BOOL = 1,
    VJP_ATTR_S64 = 2,
    VJP_ATTR_F32 = 3, /* accepted wherever an operator has an F64 attribute */
    VJP_ATTR_STR = 4,
    VJP_ATTR_F64 = 5
} vjp_attr_type;

/* vjp_attr - one attribute of an operator: a name and a value. The struct is final: it will not
 * grow. The functions below make one:
 *
 *     vjp_attr attrs[] = { vjp_attr_f64("alpha", 0.2), vjp_attr_f64("beta", 0.5) };
 *
 * Note that use_dst defaults to 1 for relu_backward and to 0 for sigmoid_backward, as their
 * specifications say.
 */
typedef struct vjp_attr {
    const char *name;
    vjp_attr_type type;
    union {
        int32_t b; /* VJP_ATTR_BOOL: 0 or 1 */
        int64_t s64;
        float f32;
        double f64;
        const char *str;
    } value;
} vjp_attr;

static inline vjp_attr vjp_attr_bool(const char *name, int32_t value)
{
    vjp_attr attr;
    attr.name = name;
    attr.type = VJP_ATTR_BOOL;
    attr.value.b = value;
    return attr;
}

static inline vjp_attr vjp_attr_s64(const char *name, int64_t value)
{
    vjp_attr attr;
    attr.name = name;
    attr.type = VJP_ATTR_S64;
    attr.value.s64 = value;
    return attr;
}

static inline vjp_attr vjp_attr_f32(const char *name, float value)
{
    vjp_attr attr;
    attr.name = name;
    attr.type = VJP_ATTR_F32;
    attr.value.f32 = value;
    return attr;
}

static inline vjp_attr vjp_attr_f64(const char *name, double value)
{
    vjp_attr attr;
    attr.name = name;
    attr.type = VJP_ATTR_F64;
    attr.value.f64 = value;
    return attr;
}

static inline vjp_attr vjp_attr_str(const char *name, const char *value)
{
    vjp_attr attr;
    attr.name = name;
    attr.type = VJP_ATTR_STR;
    attr.value.str = value;
    return attr;
}

/* ---- plans -------------------------------------------------------------------------------- */

typedef struct vjp_plan vjp_plan;

/* vjp_plan_create - check an operator, its attributes and its tensors, and prepare to run it.
 *
 * op: the operator's name, such as "relu_backward".
 * attrs, nattrs: its attributes in any order; those left out take their defaults.
 * tensors, ntensors: the descriptions of its inputs by index, then of its outputs by index
 *     (vjp_op_tensor_index finds one by name). NULL means that an optional tensor is not given, or
 *     that an output is not wanted: it is not computed then. Tensors beyond ntensors count as NULL.
 *     An output may not repeat an element. Everything passed may be freed after the call.
 * *plan is set to NULL on failure, and `reason` says what to fix.
 *
 * A plan is one allocation and does not change after it is made. For large 16-bit data the first
 * plan of some operators also makes a table, which the context keeps: at most 32 of 256 KiB each.
 */
VJP_API vjp_status vjp_plan_create(vjp_context *ctx, const char *op, const vjp_attr *attrs,
                                   int32_t nattrs, const vjp_tensor *const *tensors,
                                   int32_t ntensors, vjp_plan **plan, char *reason,
                                   size_t reason_size);

/* vjp_plan_destroy - free the plan. NULL is allowed. */
VJP_API void vjp_plan_destroy(vjp_plan *plan);

/* vjp_plan_workspace_size - the bytes of scratch memory that one run needs; often 0. 0 for NULL. */
VJP_API size_t vjp_plan_workspace_size(const vjp_plan *plan);

/* vjp_plan_run - compute what the plan describes: the formula of docs/operators/<name>.md.
 *
 * inputs, outputs: the data of each input and of each output by index. Entries of tensors that the
 *     plan does not have are not read. NULL is allowed for a tensor without elements.
 * workspace: at least vjp_plan_workspace_size bytes of any alignment, used by this run alone;
 *     may be NULL if that is 0.
 * stream: the CUDA stream to queue on (a cudaStream_t; NULL: the default one); not used on the
 *     CPU. On CUDA all buffers are device memory, and the workspace must outlive the work queued.
 *     Nothing waits, allocates or copies: a run may be captured into a graph.
 *
 * An output may be one of the inputs (same address, dtype and strides); any other overlap
 * returns VJP_BAD_ALIAS. On the CPU a label out of range returns VJP_BAD_ARGUMENT. Where a run is
 * refused nothing is written; vjp_plan_check says why. Does not allocate or lock. One plan may run
 * on many threads at once, each with its own workspace.
 */
VJP_API vjp_status vjp_plan_run(const vjp_plan *plan, const void *const *inputs,
                                void *const *outputs, void *workspace, size_t workspace_size,
                                void *stream);

/* vjp_plan_check - validate vjp_plan_run's arguments without running. */
VJP_API vjp_status vjp_plan_check(const vjp_plan *plan, const void *const *inputs,
                                  void *const *outputs, const void *workspace,
                                  size_t workspace_size, char *reason, size_t reason_size);

/* vjp_compute - create a plan, run it and destroy it, in one call.
 *
 * ctx may be NULL: then a context with default options is used, which the first such call makes
 * and the process keeps. The workspace, if one is needed, comes from the context's allocator, on
 * CUDA from cudaMalloc. The arguments are those of vjp_plan_create and vjp_plan_run. On a CUDA
 * context the call waits for the work to finish.
 */
VJP_API vjp_status vjp_compute(vjp_context *ctx, const char *op, const vjp_attr *attrs,
                               int32_t nattrs, const vjp_tensor *const *tensors, int32_t ntensors,
                               const void *const *inputs, void *const *outputs, char *reason,
                               size_t reason_size);

/* ---- enumeration -------------------------------------------------------------------------- */

/* vjp_dtype_rule - which dtypes a tensor of an operator may have, independently of other tensors.
 * SAME: the dtype of the call, that of input 0: f64, f32, f16 or bf16.
 * WIDE: as SAME, or f32 beside f16 and bf16.
 * ANY: as SAME, or any two of f32, f16 and bf16 of which one is f32.
 * STAT: f64 beside f64, else f32.
 * INDEX: s32 or s64.
 * MASK: u8, 0 or not 0. */
typedef enum vjp_dtype_rule {
    VJP_DTYPE_SAME = 1,
    VJP_DTYPE_WIDE = 2,
    VJP_DTYPE_ANY = 3,
    VJP_DTYPE_STAT = 4,
    VJP_DTYPE_INDEX = 5,
    VJP_DTYPE_MASK = 6
} vjp_dtype_rule;

/* vjp_shape_rule - which shape a tensor of an operator has.
 * DATA: that of input 0.
 * PARAM: broadcast to it: right-aligned with each dim equal or 1, or one element. A 1-D tensor has
 *     the length of the channels or, in an operator with an axis, runs along that axis.
 * ROW: one element per row: the data's shape with 1 in place of the axis, or without that dim. */
typedef enum vjp_shape_rule {
    VJP_SHAPE_DATA = 1,
    VJP_SHAPE_PARAM = 2,
    VJP_SHAPE_ROW = 3
} vjp_shape_rule;

/* vjp_tensor_flags - other properties of a tensor. */
typedef enum vjp_tensor_flags {
    VJP_TENSOR_OPTIONAL = 1, /* NULL is allowed; of several outputs one must be given */
    VJP_TENSOR_SUM = 2,      /* an output that is summed over the dims along which it broadcasts */
    VJP_TENSOR_LABEL = 4,    /* must be in [0, length of the axis) or equal the ignored label */
    VJP_TENSOR_END = 8       /* where each row ends; clamped to [0, length of the axis] */
} vjp_tensor_flags;

/* vjp_attr_role - what an attribute does.
 * HINT: documents the caller's intent; the result does not depend on it.
 * CHOICE: selects between two formulas. FLAG: switches a detail of one.
 * CONSTANT: a number in the formula.
 * AXIS: the dim that rows run along. AXES: the first of the dims, up to the last, that they do.
 * FORMAT: where the channels are. CHANNELS: if 0, FORMAT does not apply, and a 1-D parameter is
 * aligned with the last dim.
 * CAUSAL: rows end at the diagonal. IGNORED: the label of rows that are left out. LENIENT: if 1, so
 * are rows whose label is not in range. */
typedef enum vjp_attr_role {
    VJP_ROLE_HINT = 1,
    VJP_ROLE_CHOICE = 2,
    VJP_ROLE_FLAG = 3,
    VJP_ROLE_CONSTANT = 4,
    VJP_ROLE_AXIS = 5,
    VJP_ROLE_AXES = 6,
    VJP_ROLE_FORMAT = 7,
    VJP_ROLE_CAUSAL = 8,
    VJP_ROLE_IGNORED = 9,
    VJP_ROLE_CHANNELS = 10,
    VJP_ROLE_LENIENT = 11
} vjp_attr_role;

/* The structs below are the library's own constants and live as long as it does. Their
 * struct_size tells which fields this library has. */
typedef struct vjp_op_info {
    size_t struct_size;
    const char *name;    /* "softmax_backward" */
    const char *title;   /* "SoftMaxBackward" */
    const char *formula; /* one line, over the tensors' names */
    int32_t ninputs;
    int32_t noutputs;
    int32_t nattrs;
    int32_t nbounds;
} vjp_op_info;

typedef struct vjp_tensor_info {
    size_t struct_size;
    const char *name; /* "diff_dst" */
    vjp_dtype_rule dtype_rule;
    vjp_shape_rule shape_rule;
    uint32_t flags; /* of vjp_tensor_flags */
} vjp_tensor_info;

typedef struct vjp_attr_info {
    size_t struct_size;
    const char *name;
    vjp_attr_type type;
    vjp_attr_role role;
    int32_t required;       /* 1: has no default */
    vjp_attr default_value; /* of that name and type; meaningless if required */
    const char *choices;    /* VJP_ATTR_STR: the values allowed, "NCX|NXC"; else NULL */
    const char *meaning;    /* one line */
} vjp_attr_info;

/* vjp_bound_info - a stated error bound of one output, for some dtypes and one CHOICE.
 *
 * Without a magnitude: within `ulp` units in the last place of the exact result for every finite
 * input whose exact result is finite, and within `unit_ulp` for a gradient (diff_dst) of 1; 0 is
 * exact. With a magnitude: within (ceil(log2 n) + c) * eps * magnitude for n summed terms, eps
 * being an ULP of 1 in the compute type (f32 for f16 and bf16), as long as no partial sum
 * overflows; then one rounding to f16 or bf16. */
typedef struct vjp_bound_info {
    size_t struct_size;
    const char *output;    /* its name */
    int32_t choice;        /* the value of the CHOICE attribute; -1: any */
    uint32_t dtypes;       /* bit (1 << vjp_dtype) of the data's dtype */
    double ulp, unit_ulp;
    double c;
    const char *magnitude; /* over the tensors' names; NULL: the bound is in ULP */
    const char *text;      /* all of it in words */
} vjp_bound_info;

/* vjp_op_count - how many operators there are; vjp_op_at - the one of index 0 .. count - 1;
 * vjp_op_find - the one of that name. NULL if there is none. */
VJP_API int32_t vjp_op_count(void);
VJP_API const vjp_op_info *vjp_op_at(int32_t index);
VJP_API const vjp_op_info *vjp_op_find(const char *name);

/* vjp_op_tensor - tensor `index` of an operator: inputs 0 .. ninputs - 1, then the outputs.
 * vjp_op_tensor_index - the index of the tensor of that name; -1 if there is none.
 * vjp_op_attr, vjp_op_bound - attribute and bound `index`. NULL if there is none. */
VJP_API const vjp_tensor_info *vjp_op_tensor(const vjp_op_info *op, int32_t index);
VJP_API int32_t vjp_op_tensor_index(const vjp_op_info *op, const char *name);
VJP_API const vjp_attr_info *vjp_op_attr(const vjp_op_info *op, int32_t index);
VJP_API const vjp_bound_info *vjp_op_bound(const vjp_op_info *op, int32_t index);

#ifdef __cplusplus
}
#endif

#endif /* VJP_VJP_H */
