/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h - what the parts of the core share: the operator table, the context, a checked call.
 *
 * A call flows one way: plan.c validates it with check.c, makes one allocation and passes it to the
 * backend of the context's device (layout, kernels, run). Nothing calls back up. */
#ifndef VJPI_INTERNAL_H
#define VJPI_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/limits.h"
#include "vjp/vjp.h"

/* ---- table.c ------------------------------------------------------------------------------ */

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
    const vjp_bound_info *bounds;
    const uint8_t *roles;    /* of the tensors: limits.h */
    const double *stand_ins; /* what an omitted input is read as */
    vjpi_formula formula;
    int32_t npasses, nvalues, nlets;          /* over a row; what they leave for it; ROWLETs */
    uint16_t passes[VJPI_MAX_PASSES];         /* what each pass makes: limits.h */
    bool keeps;                               /* it has a KEEP */
    bool indexed;                             /* the formula uses the position along the axis */
    bool (*needs)(int pass, uint32_t facts);  /* must this pass be done? */
    /* Fills the DERIVED numbers from the attributes' values; the reason if a REQUIRE does not
     * hold. */
    const char *(*settle)(const double *values, int choice, uint32_t facts, double *derived);
    bool is_heavy;   /* its formula is long */
    bool has_lookup; /* a table may replace the formula for 16-bit data */
    bool has_plain;  /* it has kernels of its own for rows that are whole and not masked and, if its
                        formula is long, for tensors of one dtype */
} vjpi_op;

const vjpi_op *vjpi_op_find(const char *name);

/* Bytes of an element of the dtype that `dtype` is computed in; 0 for labels and masks. */
size_t vjpi_compute_size(vjp_dtype dtype);

#define VJPI_VERSION (VJP_VERSION_MAJOR * 10000 + VJP_VERSION_MINOR * 100 + VJP_VERSION_PATCH)

/* ---- status.c ----------------------------------------------------------------------------- */

/* The buffer for the reason of a refusal. */
typedef struct vjpi_reason {
    char *text;
    size_t size;
} vjpi_reason;

/* Write the reason and return the status, so that a check reads `return vjpi_refuse(...)`. */
vjp_status vjpi_refuse(vjpi_reason reason, vjp_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
vjpi_reason vjpi_reason_begin(char *text, size_t size);

/* ---- context.c ---------------------------------------------------------------------------- */

typedef struct vjpi_backend vjpi_backend;

/* The backend's own part of a context follows it in memory. */
struct vjp_context {
    vjp_context_options options;
    const vjpi_backend *backend;
    atomic_int references; /* the caller's and one per plan */
    _Alignas(16) char state[];
};

void *vjpi_allocate(const vjp_context *ctx, size_t size);
void vjpi_deallocate(const vjp_context *ctx, void *memory);
void vjpi_context_retain(vjp_context *ctx);

/* The context of vjp_compute(NULL, ...), created by the first call. */
vjp_status vjpi_default_context(vjp_context **ctx, vjpi_reason reason);

/* Copy a caller's struct that may be older or newer than ours; `size` is its struct_size. Fields
 * that it lacks are 0 here; fields unknown to us must be 0 there. Refuses less than `least` and
 * more than 4096 bytes. */
vjp_status vjpi_copy_struct(void *to, size_t to_size, size_t least, const void *from, size_t size,
                            const char *name, vjpi_reason reason);

/* ---- check.c ------------------------------------------------------------------------------ */

/* Sets of dims: those that rows run along, and those that SUM outputs are summed over. */
enum {
    VJPI_AXIS = 1,
    VJPI_SUMMED = 2
};

/* One valid operator call: everything a backend needs and nothing it must check. */
typedef struct vjpi_call {
    const vjpi_op *op;
    int32_t choice;           /* the CHOICE attribute's value */
    int32_t variant;          /* which kernels: the choice, or 1 if has_plain and the call is not */
    uint32_t facts;           /* limits.h */
    vjp_dtype dtype;          /* of the SAME tensors */
    bool mixed;               /* a tensor that kernels load or store has a different dtype */
    int32_t ntensors;
    vjp_tensor tensors[VJPI_MAX_TENSORS];
    int32_t ndim;             /* the data's shape: that of input 0 */
    int64_t shape[VJP_MAX_DIMS];
    int64_t strides[VJPI_MAX_TENSORS][VJP_MAX_DIMS]; /* each tensor viewed in the data's shape */
    uint8_t reduced[VJP_MAX_DIMS]; /* the sets that the dim is in */
    int64_t elements, rows;   /* of the data; the rows it has along the axis */
    int64_t length;           /* of the axis */
    bool sums, per_row;       /* some SUM output is wanted; some PER_ROW output */
    uint32_t passes;          /* bit i: pass i is needed, except the last one */
    int32_t causal_dim;       /* the dim that counts rows where they end at the diagonal; -1 */
    int32_t end;              /* the input that says where rows end, if they may end early; or -1 */
    int64_t ignored_label;    /* of labels that need not be in range */
    bool lenient;             /* no label needs to be */
    double constants[VJPI_COUNT_SLOT + 1]; /* limits.h */
} vjpi_call;

static inline bool vjpi_has(uint32_t facts, int32_t tensor)
{
    return facts >> tensor & 1;
}

/* Does some pass of the call make the value of KEEP? */
static inline bool vjpi_keeps(const vjpi_call *call)
{
    for (int32_t p = 0; p < call->op->npasses - 1; p++)
        if (VJPI_KEEPS(call->op->passes[p]) && call->passes >> p & 1)
            return true;
    return false;
}

vjp_status vjpi_check(const char *name, const vjp_attr *attrs, int32_t nattrs,
                      const vjp_tensor *const *tensors, int32_t ntensors, vjpi_call *call,
                      vjpi_reason reason);

/* A description's own sanity: dtype, ndim, dims, and sizes that fit in 62 bits. */
vjp_status vjpi_check_tensor(const char *name, const vjp_tensor *tensor, vjpi_reason reason);

/* ---- layout.c ----------------------------------------------------------------------------- */

int64_t vjpi_numel(const vjp_tensor *tensor);

/* Bytes of the first n tensors; a double, since their sum may exceed 63 bits. */
double vjpi_total_bytes(const vjpi_call *call, int32_t n);

/* The workspace that wide rows of sums may take: 256 KiB or 1/16 of the inputs if more. */
double vjpi_workspace_limit(const vjpi_call *call);

/* The constants of a formula in the compute type, as kernels read them. */
void vjpi_set_constants(const vjpi_call *call, void *constants);

/* ---- the devices -------------------------------------------------------------------------- */

/* What a device does for a context and its plans. `state` is the device's part of the plan:
 * plan_size bytes, aligned to 16, the first plan_zeroed of them zero; context_size bytes are its
 * part of a context. run gets validated arguments, with the data of inputs and outputs by tensor,
 * NULL for omitted ones. close: NULL or called before the memory of an open context is freed.
 * threads is NULL where no host thread does the work. allocate, deallocate and finish serve
 * vjp_compute: memory that kernels can access, and waiting for queued work. */
struct vjpi_backend {
    size_t context_size, plan_size, plan_zeroed;
    bool host_memory; /* the caller's buffers can be read here */
    vjp_status (*open)(vjp_context *ctx, vjpi_reason reason);
    void (*close)(vjp_context *ctx);
    const char *(*isa)(const vjp_context *ctx);
    const char *(*error)(const vjp_context *ctx);
    int32_t (*threads)(const vjp_context *ctx);
    vjp_status (*prepare)(vjp_context *ctx, const vjpi_call *call, void *state,
                          size_t *workspace_size, vjpi_reason reason);
    vjp_status (*run)(vjp_context *ctx, const void *state, char *const *data, void *workspace,
                      void *stream);
    void *(*allocate)(const vjp_context *ctx, size_t size);
    void (*deallocate)(const vjp_context *ctx, void *memory);
    vjp_status (*finish)(vjp_context *ctx);
};

extern const vjpi_backend vjpi_backend_cpu;

/* module.c: the backend of libvjp_cuda.so, in the same folder as libvjp.so; NULL and a reason if it
 * cannot be loaded. The module exports one vjpi_module under the name below. */
const vjpi_backend *vjpi_load_cuda(vjpi_reason reason);

#define VJPI_CUDA_MODULE "libvjp_cuda.so"
#define VJPI_CUDA_SYMBOL "vjpi_cuda_module"

typedef struct vjpi_module {
    int32_t version;     /* VJPI_VERSION of the library it was built with */
    uint64_t table_hash; /* VJPI_TABLE_HASH of the build: of ops.def, dtypes.def and the structs
                            above. Kernels are found by position: with a different table they
                            would compute a different operator. */
    const vjpi_backend *backend;
} vjpi_module;

/* ---- overlap.c ---------------------------------------------------------------------------- */

/* The bytes of a tensor relative to its data pointer: [low, high). Empty: low == high. */
typedef struct vjpi_span {
    int64_t low, high;
} vjpi_span;

vjpi_span vjpi_tensor_span(const vjp_tensor *tensor);

/* Perhaps: the search was cut off. */
typedef enum vjpi_answer {
    VJPI_NO,
    VJPI_YES,
    VJPI_PERHAPS
} vjpi_answer;

/* Do two indices of this tensor share an address? If so, *dim is one whose stride is too small. */
vjpi_answer vjpi_overlaps_itself(const vjp_tensor *tensor, int32_t *dim);

/* Do a and b share a byte, if b's data is `distance` bytes after a's? */
vjpi_answer vjpi_overlap(const vjp_tensor *a, const vjp_tensor *b, int64_t distance);

/* Do both describe the same elements in the same order (so that in-place is safe)? */
bool vjpi_same_view(const vjp_tensor *a, const vjp_tensor *b);

#endif
