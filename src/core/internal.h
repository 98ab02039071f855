/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h - what the parts of the core share: the operator table, the context, a checked call.
 *
 * A call flows one way: plan.c asks check.c whether it is valid, makes one allocation and hands it
 * to the backend of the context's device (layout, kernels, run). Nothing calls back up. */
#ifndef VJPI_INTERNAL_H
#define VJPI_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/limits.h"
#include "vjp/vjp.h"

/* ---- table.c ------------------------------------------------------------------------------ */

typedef enum vjpi_op_kind {
    VJPI_MAP,  /* FULL outputs only */
    VJPI_FOLD, /* a SUM output */
    VJPI_ROW   /* a sum along an axis that the outputs need */
} vjpi_op_kind;

/* Formulas by number: each is a row of kernels in every (ISA, dtype) table. */
typedef enum vjpi_formula {
#define OP(name, ...) VJPI_FORMULA_##name,
#include "ops.def"
    VJPI_FORMULA_COUNT
} vjpi_formula;

typedef struct vjpi_op {
    vjp_op_info info; /* first: the public row is this row */
    const vjp_tensor_info *tensors;
    const vjp_attr_info *attrs;
    vjpi_op_kind kind;
    vjpi_formula formula;
    const char *choice; /* the CHOICE attribute's name; "" if there is none */
    int32_t nfull;      /* outputs ninputs .. ninputs + nfull - 1 are FULL, the rest SUM */
} vjpi_op;

const vjpi_op *vjpi_op_find(const char *name);

#define VJPI_VERSION (VJP_VERSION_MAJOR * 10000 + VJP_VERSION_MINOR * 100 + VJP_VERSION_PATCH)

/* ---- status.c ----------------------------------------------------------------------------- */

/* Where a refusal's sentence goes. */
typedef struct vjpi_reason {
    char *text;
    size_t size;
} vjpi_reason;

/* Write the sentence and return the status, so that a check reads `return vjpi_refuse(...)`. */
vjp_status vjpi_refuse(vjpi_reason reason, vjp_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
vjpi_reason vjpi_reason_begin(char *text, size_t size);

/* ---- context.c ---------------------------------------------------------------------------- */

typedef struct vjpi_backend vjpi_backend;

struct vjp_context {
    vjp_context_options options;
    const vjpi_backend *backend;
    atomic_int references;      /* the caller's and one per plan */
    const struct vjpi_isa *isa; /* CPU: whose kernels run */
    int64_t cache_size;         /* CPU: bytes of the last-level cache */
    int32_t most_threads;       /* CPU: of a team of OpenMP */
    atomic_int error;           /* CUDA: the last error that the device reported; 0: none */
    int32_t arch;               /* CUDA: 90 for compute capability 9.0 */
    char arch_name[16];         /* CUDA: "sm_90" */
};

void *vjpi_allocate(const vjp_context *ctx, size_t size);
void vjpi_deallocate(const vjp_context *ctx, void *memory);
void vjpi_context_retain(vjp_context *ctx);

/* ---- check.c ------------------------------------------------------------------------------ */

/* One operator call, found valid: everything a backend needs and nothing it must check. */
typedef struct vjpi_call {
    const vjpi_op *op;
    bool choice;                               /* the CHOICE attribute's value */
    vjp_dtype dtype;                           /* of the SAME tensors */
    bool wide;                                 /* the WIDE tensors are f32 beside a 16-bit dtype */
    int32_t ntensors;
    vjp_tensor tensors[VJPI_MAX_TENSORS];
    int32_t ndim;                              /* the data's shape: that of input 0 */
    int64_t shape[VJP_MAX_DIMS];
    int64_t strides[VJPI_MAX_TENSORS][VJP_MAX_DIMS]; /* each tensor viewed in the data's shape */
    bool reduced[VJP_MAX_DIMS];                /* dims that SUM outputs or row sums run over */
    float constants[VJPI_MAX_ATTRS];          /* the F32 attributes in order */
} vjpi_call;

vjp_status vjpi_check(const char *name, const vjp_attr *attrs, int32_t nattrs,
                      const vjp_tensor *const *tensors, int32_t ntensors, vjpi_call *call,
                      vjpi_reason reason);

/* A description's own sanity: struct_size, dtype, ndim, dims, and sizes that fit in 62 bits. */
vjp_status vjpi_check_tensor(const char *name, const vjp_tensor *tensor, vjpi_reason reason);

/* ---- layout.c ----------------------------------------------------------------------------- */

int64_t vjpi_numel(const vjp_tensor *tensor);

/* Bytes of the first n tensors; as a double, since together they may pass 63 bits. */
double vjpi_total_bytes(const vjpi_call *call, int32_t n);

/* The workspace that a plan may ask for: 256 KiB or, if that is more, 1/16 of its inputs' bytes. */
double vjpi_workspace_limit(const vjpi_call *call);

/* ---- the devices -------------------------------------------------------------------------- */

/* What a device does for a context and its plans. `state` is the device's part of the plan:
 * plan_size bytes, aligned to 16, zeroed. run is handed arguments that were found valid.
 * threads is NULL where no thread of the host does the work.
 * allocate, deallocate and finish serve vjp_compute: memory that kernels can reach, and the wait
 * for what was queued. */
struct vjpi_backend {
    size_t plan_size;
    vjp_status (*open)(vjp_context *ctx, vjpi_reason reason);
    const char *(*isa)(const vjp_context *ctx);
    const char *(*error)(const vjp_context *ctx);
    int32_t (*threads)(const vjp_context *ctx);
    vjp_status (*prepare)(vjp_context *ctx, const vjpi_call *call, void *state,
                          size_t *workspace_size, vjpi_reason reason);
    vjp_status (*run)(vjp_context *ctx, const void *state, void *const *buffers, void *workspace,
                      void *stream);
    void *(*allocate)(const vjp_context *ctx, size_t size);
    void (*deallocate)(const vjp_context *ctx, void *memory);
    vjp_status (*finish)(vjp_context *ctx);
};

extern const vjpi_backend vjpi_backend_cpu;

/* module.c: the backend of libvjp_cuda.so, which lies beside libvjp.so; NULL and a reason if it
 * cannot be had. The module exports one vjpi_module, by the name below. */
const vjpi_backend *vjpi_load_cuda(vjpi_reason reason);

#define VJPI_CUDA_MODULE "libvjp_cuda.so"
#define VJPI_CUDA_SYMBOL "vjpi_cuda_module"

typedef struct vjpi_module {
    int32_t version; /* VJPI_VERSION of the library it was built with */
    size_t sizes[2]; /* of a context and of a call: both sides must see the same structs */
    const vjpi_backend *backend;
} vjpi_module;

/* ---- overlap.c ---------------------------------------------------------------------------- */

/* The bytes of a tensor relative to its data pointer: [low, high). Empty: low == high. */
typedef struct vjpi_span {
    int64_t low, high;
} vjpi_span;

vjpi_span vjpi_tensor_span(const vjp_tensor *tensor);

/* Perhaps: it was not found out in reasonable time. */
typedef enum vjpi_answer {
    VJPI_NO,
    VJPI_YES,
    VJPI_PERHAPS
} vjpi_answer;

/* Do two indices of this tensor share an address? If so, *dim is one whose stride is too small. */
vjpi_answer vjpi_overlaps_itself(const vjp_tensor *tensor, int32_t *dim);

/* Do a and b share a byte, b's data lying `distance` bytes after a's? */
vjpi_answer vjpi_overlap(const vjp_tensor *a, const vjp_tensor *b, int64_t distance);

/* Do both describe the same elements in the same order (so that in place is safe)? */
bool vjpi_same_view(const vjp_tensor *a, const vjp_tensor *b);

#endif
