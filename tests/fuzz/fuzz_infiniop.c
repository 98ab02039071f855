/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_infiniop.c - the input is a sequence of infiniop calls on a few slots of objects.
 *
 * Calls come in any order, with NULL, with objects of the wrong operator and with descriptors that
 * fit nothing; what was destroyed is never used again, and data is where the descriptor says. A
 * call whose arguments are all right must succeed. The operators come from ops.def.
 */
#include <infiniop.h>
#include <infinirt.h>

#include "../infiniop/operators.h"
#include "bytes.h"
#include "infiniop/runtime.h"
#include "problem.h"

enum {
    SLOTS = 4,
    CALLS = 64,
    ARGUMENTS = MOST_ARGUMENTS
};

typedef infiniopHandle_t handle;
typedef infiniopTensorDescriptor_t view;

/* ---- the objects --------------------------------------------------------------------------- */

/* A tensor descriptor and what it says, if data for it can be had: `known`. */
typedef struct described {
    view desc;
    int known;
    vjp_tensor tensor;
} described;

typedef struct made_op {
    any_descriptor desc;
    const operator *op;
    described tensors[ARGUMENTS];
} made_op;

typedef struct world {
    handle handles[SLOTS];
    described tensors[2 * SLOTS];
    made_op made[SLOTS];
    runtime runtime;
} world;

static vjp_dtype dtype_of(infiniDtype_t dtype)
{
    return dtype == INFINI_DTYPE_F16   ? VJP_F16
           : dtype == INFINI_DTYPE_F32 ? VJP_F32
           : dtype == INFINI_DTYPE_F64 ? VJP_F64
           : dtype == INFINI_DTYPE_BF16 ? VJP_BF16
                                        : (vjp_dtype)0;
}

/* ---- the calls ----------------------------------------------------------------------------- */

static void create_handle(world *w, bytes *b)
{
    handle *slot = &w->handles[bytes_below(b, SLOTS)];
    infiniopDestroyHandle(*slot);
    int on_cpu = bytes_below(b, 8) > 0;
    if (!on_cpu)
        infinirtSetDevice((infiniDevice_t)(int32_t)bytes_number(b), (int)bytes_number(b));
    infiniStatus_t status = infiniopCreateHandle(slot);
    expect((status == INFINI_STATUS_SUCCESS) == (*slot != NULL), "a handle in spite of an error");
    expect(!on_cpu || *slot, "no handle for the CPU");
    infinirtSetDevice(INFINI_DEVICE_CPU, 0);
    expect(infiniopCreateHandle(NULL) == INFINI_STATUS_NULL_POINTER, "NULL was accepted");
}

static void destroy_handle(world *w, bytes *b)
{
    handle *slot = &w->handles[bytes_below(b, SLOTS)];
    expect(infiniopDestroyHandle(*slot) == INFINI_STATUS_SUCCESS, "a handle does not go");
    *slot = NULL;
}

/* The lists are allocations of exactly ndim elements. */
static void create_tensor(world *w, bytes *b)
{
    described *slot = &w->tensors[bytes_below(b, 2 * SLOTS)];
    size_t ndim = (size_t)bytes_below(b, VJP_MAX_DIMS + 3);
    size_t *shape = malloc(ndim * sizeof(*shape) + 1);
    ptrdiff_t *strides = malloc(ndim * sizeof(*strides) + 1);
    infiniDtype_t dtype = (infiniDtype_t)(12 + bytes_below(b, 8)); /* F16 to BF16 and between */
    int dense = bytes_below(b, 4) > 0;
    expect(shape && strides, "out of memory");
    infiniopDestroyTensorDescriptor(slot->desc);
    *slot = (described){ .known = ndim <= VJP_MAX_DIMS && dtype_of(dtype) };
    for (size_t d = 0; d < ndim; d++) {
        shape[d] = (size_t)bytes_number(b);
        strides[d] = dense ? 0 : bytes_below(b, 4) ? (int8_t)bytes_u8(b) : bytes_number(b);
        slot->known &= shape[d] <= 8 && strides[d] >= -128 && strides[d] <= 128;
    }
    infiniStatus_t status =
        infiniopCreateTensorDescriptor(&slot->desc, ndim, shape, dense ? NULL : strides, dtype);
    expect(status == INFINI_STATUS_SUCCESS && slot->desc, "no tensor descriptor");
    int64_t dims[VJP_MAX_DIMS];
    for (size_t d = 0; slot->known && d < ndim; d++)
        dims[d] = (int64_t)shape[d];
    if (slot->known)
        slot->known = vjp_tensor_contiguous(dtype_of(dtype), (int32_t)ndim, dims, &slot->tensor) ==
                      VJP_OK;
    for (size_t d = 0; slot->known && !dense && d < ndim; d++)
        slot->tensor.strides[d] = strides[d];
    slot->known &= !slot->known || tensor_count(&slot->tensor) <= 1 << 12;
    free(shape);
    free(strides);
}

static void destroy_tensor(world *w, bytes *b)
{
    described *slot = &w->tensors[bytes_below(b, 2 * SLOTS)];
    expect(infiniopDestroyTensorDescriptor(slot->desc) == INFINI_STATUS_SUCCESS,
           "a tensor descriptor does not go");
    *slot = (described){ 0 };
}

static void destroy_made(made_op *slot, const operator *op)
{
    expect(op->destroy(slot->desc) == INFINI_STATUS_SUCCESS, "a descriptor does not go");
    *slot = (made_op){ .op = op };
}

static operator_values draw_values(bytes *b, const operator *op)
{
    operator_values values = { 0 };
    if (op->needs == NEEDS_AXIS)
        values.axis = (int8_t)bytes_u8(b);
    if (op->needs == NEEDS_LINE) {
        values.alpha = (float)bytes_number(b) / 8;
        values.beta = (float)bytes_number(b) / 8;
    }
    return values;
}

static void create_op(world *w, bytes *b)
{
    made_op *slot = &w->made[bytes_below(b, SLOTS)];
    view views[ARGUMENTS];
    destroy_made(slot, slot->op);
    slot->op = &operators[bytes_below(b, noperators)];
    for (int i = 0; i < slot->op->ntensors; i++) {
        slot->tensors[i] = w->tensors[bytes_below(b, 2 * SLOTS)];
        views[i] = slot->tensors[i].desc;
    }
    handle h = w->handles[bytes_below(b, SLOTS)];
    any_descriptor *at = bytes_below(b, 16) == 1 ? NULL : &slot->desc;
    operator_values values = draw_values(b, slot->op);
    infiniStatus_t status = operator_create(slot->op, h, at, views, &values);
    expect((status == INFINI_STATUS_SUCCESS) == (slot->desc != NULL),
           "a descriptor in spite of an error");
    expect(!slot->desc || h, "a descriptor without a handle");
}

static void destroy_op(world *w, bytes *b)
{
    made_op *slot = &w->made[bytes_below(b, SLOTS)];
    destroy_made(slot, slot->op);
}

/* Queries of a descriptor; NULL for either argument is refused. */
static void ask_op(world *w, bytes *b)
{
    made_op *slot = &w->made[bytes_below(b, SLOTS)];
    size_t size = SIZE_MAX;
    infiniDevice_t device;
    int id;
    infiniStatus_t wanted = slot->desc ? INFINI_STATUS_SUCCESS : INFINI_STATUS_NULL_POINTER;
    expect(slot->op->get_workspace_size(slot->desc, &size) == wanted, "the size of a workspace");
    expect(slot->op->get_workspace_size(slot->desc, NULL) == INFINI_STATUS_NULL_POINTER,
           "NULL accepted");
    expect(infiniopGetDescriptorDeviceType(slot->desc, &device) == wanted, "the device's type");
    expect(infiniopGetDescriptorDeviceId(slot->desc, &id) == wanted, "the device's number");
}

/* ---- running ------------------------------------------------------------------------------- */

/* The memory of a run: one block for each argument, and one that arguments may share. */
typedef struct memory {
    char *blocks[ARGUMENTS + 1];
    void *data[ARGUMENTS];
    int as_it_should_be;
} memory;

static void extent_in_bytes(const vjp_tensor *tensor, int64_t *low, int64_t *high)
{
    int64_t size = (int64_t)vjp_dtype_size(tensor->dtype);
    tensor_extent(tensor, low, high);
    *low *= size;
    *high = (*high + 1) * size;
}

static char *zeros(int64_t low, int64_t high)
{
    char *block = calloc(1, (size_t)(high - low));
    expect(block, "out of memory");
    return block;
}

static memory draw_memory(bytes *b, const made_op *made)
{
    memory m = { .as_it_should_be = 1 };
    int64_t low, high, lowest = 0, highest = 1;
    for (int i = 0; i < made->op->ntensors; i++) {
        if (!made->tensors[i].known) /* too far apart for a buffer: stays NULL */
            return (memory){ .as_it_should_be = 0 };
        extent_in_bytes(&made->tensors[i].tensor, &low, &high);
        lowest = low < lowest ? low : lowest;
        highest = high > highest ? high : highest;
    }
    m.blocks[ARGUMENTS] = zeros(lowest, highest);
    for (int i = 0; i < made->op->ntensors; i++) {
        int32_t kind = bytes_below(b, 16);
        extent_in_bytes(&made->tensors[i].tensor, &low, &high);
        m.blocks[i] = zeros(low, high);
        m.data[i] = kind == 1   ? NULL
                    : kind <= 3 && kind ? m.blocks[ARGUMENTS] - lowest
                    : kind == 4 ? m.blocks[i] - low + 1
                                : m.blocks[i] - low;
        m.as_it_should_be &= kind == 0 || kind > 4;
    }
    return m;
}

static void run_op(world *w, bytes *b)
{
    const made_op *slot = &w->made[bytes_below(b, SLOTS)];
    const operator *called =
        bytes_below(b, 8) == 1 ? &operators[bytes_below(b, noperators)] : slot->op;
    memory m = draw_memory(b, slot);
    size_t size = 0, short_by = bytes_below(b, 8) == 1;
    if (slot->desc)
        slot->op->get_workspace_size(slot->desc, &size);
    size_t given = size > short_by ? size - short_by : 0;
    char *workspace = malloc(given + 1);
    expect(workspace, "out of memory");
    infiniStatus_t status =
        operator_run(called, slot->desc, given > 0 ? workspace : NULL, given, m.data);
    int right = slot->desc && called == slot->op;
    if (right && m.as_it_should_be && given == size)
        expect(status == INFINI_STATUS_SUCCESS, "a run with nothing wrong was refused");
    if (!right || given < size)
        expect(status != INFINI_STATUS_SUCCESS, "a run that is wrong was accepted");
    free(workspace);
    for (int i = 0; i <= ARGUMENTS; i++)
        free(m.blocks[i]);
}

static void use_runtime(world *w, bytes *b)
{
    runtime_call(&w->runtime, b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const calls[])(world *, bytes *) = {
        create_handle, create_tensor, create_op, run_op, ask_op,
        destroy_handle, destroy_tensor, destroy_op, use_runtime,
    };
    bytes b = { data, size };
    world w = { 0 };
    for (int i = 0; i < SLOTS; i++)
        w.made[i].op = operators;
    for (int i = 0; i < CALLS && b.left > 0; i++)
        calls[bytes_below(&b, sizeof(calls) / sizeof(calls[0]))](&w, &b);
    for (int i = 0; i < SLOTS; i++) {
        infiniopDestroyHandle(w.handles[i]);
        destroy_made(&w.made[i], w.made[i].op);
    }
    for (int i = 0; i < 2 * SLOTS; i++)
        infiniopDestroyTensorDescriptor(w.tensors[i].desc);
    runtime_end(&w.runtime);
    return 0;
}
