/* SPDX-License-Identifier: Apache-2.0 */
/* infiniop.c - InfiniCore's operator interface, translated to vjp.h.
 *
 * An operator is a row of ops.def: its four functions are generated at the end of this file and
 * call the four static ones above them, which are the same for all. vjp decides what is valid; here
 * its statuses are translated to InfiniCore's, and NULL is caught where vjp would not see it. */
#include <stdlib.h>
#include <string.h>

#include <vjp/vjp.h>

#include "infiniop.h"
#include "infinirt.h"

#define MAX_TENSORS 6       /* of infiniop's operators */
#define MAX_VJP_TENSORS 16  /* of vjp's, which may have optional ones beside */

/* A row of ops.def: vjp's operator, and its tensors in the order of infiniop's arguments. If
 * `halves` is set, the last two tensors are halves of the last argument; if `last_optional` is, it
 * may be NULL. */
struct op {
    const char *name;
    int ntensors, halves, last_optional;
    const char *tensors[MAX_TENSORS];
};

/* InfiniCore's Python and C++ read the device at the start of handles and operator descriptors. */
struct InfiniopHandle {
    infiniDevice_t device;
    int device_id;
    vjp_context *ctx;
};

struct InfiniopTensorDescriptor {
    vjp_tensor tensor;
};

struct InfiniopDescriptor {
    infiniDevice_t device_type;
    int device_id;
    const struct op *op;
    vjp_plan *plan;
    int32_t ninputs;            /* of vjp's operator */
    int32_t place[MAX_TENSORS]; /* vjp's index of each tensor of the row */
    ptrdiff_t half;             /* bytes from the first half of an argument to the second */
};

static infiniStatus_t translate(vjp_status status)
{
    switch (status) {
    case VJP_OK:
        return INFINI_STATUS_SUCCESS;
    case VJP_BAD_ARGUMENT:
    case VJP_BAD_ATTRIBUTE:
    case VJP_BAD_ALIAS:
    case VJP_BAD_ALIGNMENT:
        return INFINI_STATUS_BAD_PARAM;
    case VJP_BAD_DTYPE:
        return INFINI_STATUS_BAD_TENSOR_DTYPE;
    case VJP_BAD_SHAPE:
    case VJP_TOO_LARGE:
        return INFINI_STATUS_BAD_TENSOR_SHAPE;
    case VJP_BAD_STRIDES:
        return INFINI_STATUS_BAD_TENSOR_STRIDES;
    case VJP_BAD_WORKSPACE:
        return INFINI_STATUS_INSUFFICIENT_WORKSPACE;
    case VJP_NO_DEVICE:
        return INFINI_STATUS_DEVICE_NOT_FOUND;
    case VJP_BAD_OP:
    case VJP_NO_MEMORY:
    case VJP_DEVICE_ERROR:
        break;
    }
    return INFINI_STATUS_INTERNAL_ERROR;
}

/* ---- handle ------------------------------------------------------------------------------- */

/* Is the device served, and what does vjp call it? */
static int find_device(infiniDevice_t device, vjp_device *found)
{
    static const struct {
        infiniDevice_t infini;
        vjp_device vjp;
    } devices[] = {
#define DEVICE(name, vjp_device, backend) { INFINI_DEVICE_##name, vjp_device },
#include "devices.def"
    };
    for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
        if (devices[i].infini == device) {
            *found = devices[i].vjp;
            return 1;
        }
    return 0;
}

infiniStatus_t infiniopCreateHandle(infiniopHandle_t *handle_ptr)
{
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    struct InfiniopHandle *made;
    infiniStatus_t status;
    if (!handle_ptr)
        return INFINI_STATUS_NULL_POINTER;
    *handle_ptr = NULL;
    made = calloc(1, sizeof(*made));
    if (!made)
        return INFINI_STATUS_INTERNAL_ERROR;
    status = infinirtGetDevice(&made->device, &made->device_id);
    if (status == INFINI_STATUS_SUCCESS && !find_device(made->device, &options.device))
        status = INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED;
    options.device_id = made->device_id;
    if (status == INFINI_STATUS_SUCCESS)
        status = translate(vjp_context_create(&options, &made->ctx, NULL, 0));
    if (status == INFINI_STATUS_BAD_PARAM) /* VJP_ISA, not a parameter of this call, is wrong */
        status = INFINI_STATUS_INTERNAL_ERROR;
    if (status == INFINI_STATUS_SUCCESS)
        *handle_ptr = made;
    else
        free(made);
    return status;
}

infiniStatus_t infiniopDestroyHandle(infiniopHandle_t handle)
{
    if (handle)
        vjp_context_destroy(handle->ctx);
    free(handle);
    return INFINI_STATUS_SUCCESS;
}

/* ---- tensor descriptor -------------------------------------------------------------------- */

static vjp_dtype translate_dtype(infiniDtype_t dtype)
{
    switch (dtype) {
    case INFINI_DTYPE_F16:
        return VJP_F16;
    case INFINI_DTYPE_F32:
        return VJP_F32;
    case INFINI_DTYPE_F64:
        return VJP_F64;
    case INFINI_DTYPE_BF16:
        return VJP_BF16;
    case INFINI_DTYPE_I32:
        return VJP_S32;
    case INFINI_DTYPE_I64:
        return VJP_S64;
    default:
        return (vjp_dtype)0; /* none of vjp's: refused when an operator is created */
    }
}

/* What vjp cannot describe must stay visible in the description, since only creating an operator
 * refuses it: too many dims become one too many, a dim of 2^63 or more becomes negative. */
static void describe(size_t ndim, const size_t *shape, const ptrdiff_t *strides, vjp_dtype dtype,
                     vjp_tensor *tensor)
{
    int64_t dims[VJP_MAX_DIMS] = { 0 };
    int32_t n = ndim > VJP_MAX_DIMS ? VJP_MAX_DIMS + 1 : (int32_t)ndim;
    tensor->struct_size = sizeof(*tensor);
    tensor->dtype = dtype;
    tensor->ndim = n;
    for (int32_t d = 0; d < n && d < VJP_MAX_DIMS; d++) {
        dims[d] = (int64_t)shape[d];
        tensor->strides[d] = strides ? strides[d] : 0;
    }
    memcpy(tensor->shape, dims, sizeof(dims));
    if (!strides && n <= VJP_MAX_DIMS)
        (void)vjp_tensor_contiguous(dtype, n, dims, tensor);
}

infiniStatus_t infiniopCreateTensorDescriptor(infiniopTensorDescriptor_t *desc_ptr, size_t ndim,
                                              const size_t *shape, const ptrdiff_t *strides,
                                              infiniDtype_t dtype)
{
    if (!desc_ptr || (ndim > 0 && !shape))
        return INFINI_STATUS_NULL_POINTER;
    *desc_ptr = calloc(1, sizeof(**desc_ptr));
    if (!*desc_ptr)
        return INFINI_STATUS_INTERNAL_ERROR;
    describe(ndim, shape, strides, translate_dtype(dtype), &(*desc_ptr)->tensor);
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infiniopDestroyTensorDescriptor(infiniopTensorDescriptor_t desc)
{
    free(desc);
    return INFINI_STATUS_SUCCESS;
}

/* ---- operator descriptor ------------------------------------------------------------------ */

infiniStatus_t infiniopGetDescriptorDeviceType(const struct InfiniopDescriptor *desc_ptr,
                                               infiniDevice_t *device_type)
{
    if (!desc_ptr || !device_type)
        return INFINI_STATUS_NULL_POINTER;
    *device_type = desc_ptr->device_type;
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t infiniopGetDescriptorDeviceId(const struct InfiniopDescriptor *desc_ptr,
                                             int *device_id)
{
    if (!desc_ptr || !device_id)
        return INFINI_STATUS_NULL_POINTER;
    *device_id = desc_ptr->device_id;
    return INFINI_STATUS_SUCCESS;
}

/* vjp's index of each tensor of the row, found by its name; 0 if the row does not fit: vjp does not
 * have one of them, or needs another. */
static int find_places(const struct op *op, const vjp_op_info *info, int32_t *place)
{
    const int32_t ntensors = info ? info->ninputs + info->noutputs : 0;
    int placed[MAX_VJP_TENSORS] = { 0 };
    if (!info || ntensors > MAX_VJP_TENSORS)
        return 0;
    for (int i = 0; i < op->ntensors; i++) {
        place[i] = vjp_op_tensor_index(info, op->tensors[i]);
        if (place[i] < 0)
            return 0;
        placed[place[i]] = 1;
    }
    for (int32_t i = 0; i < ntensors; i++)
        if (!placed[i] && !(vjp_op_tensor(info, i)->flags & VJP_TENSOR_OPTIONAL))
            return 0;
    return 1;
}

/* The argument that tensor i of the row is, or is a half of. */
static int argument_of(const struct op *op, int i)
{
    return op->halves && i == op->ntensors - 1 ? i - 1 : i;
}

/* Half of a tensor along its last dim, and the bytes from one half to the other. What cannot be
 * halved is left for vjp to refuse. */
static infiniStatus_t halve(const vjp_tensor *whole, vjp_tensor *half, ptrdiff_t *distance)
{
    int32_t last = whole->ndim - 1;
    *half = *whole;
    *distance = 0;
    if (last < 0 || last >= VJP_MAX_DIMS)
        return INFINI_STATUS_SUCCESS;
    if (whole->shape[last] % 2)
        return INFINI_STATUS_BAD_TENSOR_SHAPE;
    half->shape[last] /= 2;
    if (__builtin_mul_overflow(half->shape[last], whole->strides[last], distance) ||
        __builtin_mul_overflow(*distance, (ptrdiff_t)vjp_dtype_size(whole->dtype), distance))
        return INFINI_STATUS_BAD_TENSOR_SHAPE;
    return INFINI_STATUS_SUCCESS;
}

static infiniStatus_t create(const struct op *op, infiniopHandle_t handle,
                             const infiniopTensorDescriptor_t *tensors, const vjp_attr *attrs,
                             int32_t nattrs, struct InfiniopDescriptor **desc_ptr)
{
    struct InfiniopDescriptor made = { .op = op };
    const vjp_op_info *info = vjp_op_find(op->name);
    const vjp_tensor *placed[MAX_VJP_TENSORS] = { NULL };
    vjp_tensor half;
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    if (!desc_ptr)
        return INFINI_STATUS_BAD_PARAM;
    *desc_ptr = NULL;
    if (!handle)
        return INFINI_STATUS_BAD_PARAM;
    if (!find_places(op, info, made.place))
        return INFINI_STATUS_INTERNAL_ERROR;
    for (int i = 0; i < op->ntensors; i++) {
        const int argument = argument_of(op, i);
        if (!tensors[argument] && op->last_optional && i == op->ntensors - 1)
            continue;
        if (!tensors[argument])
            return INFINI_STATUS_BAD_PARAM;
        placed[made.place[i]] = &tensors[argument]->tensor;
        if (op->halves && i >= op->ntensors - 2) {
            status = halve(&tensors[argument]->tensor, &half, &made.half);
            placed[made.place[i]] = &half;
        }
    }
    if (status != INFINI_STATUS_SUCCESS)
        return status;
    made.ninputs = info->ninputs;
    status = translate(vjp_plan_create(handle->ctx, op->name, attrs, nattrs, placed,
                                       info->ninputs + info->noutputs, &made.plan, NULL, 0));
    if (status != INFINI_STATUS_SUCCESS)
        return status;
    made.device_type = handle->device;
    made.device_id = handle->device_id;
    *desc_ptr = malloc(sizeof(made));
    if (!*desc_ptr) {
        vjp_plan_destroy(made.plan);
        return INFINI_STATUS_INTERNAL_ERROR;
    }
    **desc_ptr = made;
    return INFINI_STATUS_SUCCESS;
}

static infiniStatus_t get_workspace_size(const struct InfiniopDescriptor *desc, size_t *size)
{
    if (!desc || !size)
        return INFINI_STATUS_NULL_POINTER;
    *size = vjp_plan_workspace_size(desc->plan);
    return INFINI_STATUS_SUCCESS;
}

/* All descriptors have one C type, so that only this can tell another operator's from the right. */
static infiniStatus_t run(const struct op *op, const struct InfiniopDescriptor *desc,
                          void *workspace, size_t workspace_size, const void *const *data,
                          void *stream)
{
    void *buffers[MAX_VJP_TENSORS] = { NULL };
    if (!desc || desc->op != op)
        return INFINI_STATUS_BAD_PARAM;
    for (int i = 0; i < op->ntensors; i++) {
        char *at = (char *)data[argument_of(op, i)];
        buffers[desc->place[i]] = at && argument_of(op, i) != i ? at + desc->half : at;
    }
    return translate(vjp_plan_run(desc->plan, (const void *const *)buffers,
                                  buffers + desc->ninputs, workspace, workspace_size, stream));
}

static infiniStatus_t destroy(struct InfiniopDescriptor *desc)
{
    if (desc)
        vjp_plan_destroy(desc->plan);
    free(desc);
    return INFINI_STATUS_SUCCESS;
}

/* ---- the operators ------------------------------------------------------------------------ */

#define PARAMS(...) __VA_ARGS__
#define ATTRS(...) __VA_ARGS__
#define LIST(...) __VA_ARGS__

/* For each count of outputs and inputs: how many tensors, their names, and the parameters for them
 * in Create and in the run call. */
#define COUNT_1_1 2
#define NAMES_1_1(a, b) #a, #b
#define DESCS_1_1(a, b) infiniopTensorDescriptor_t a, infiniopTensorDescriptor_t b
#define DATA_1_1(a, b) void *a, const void *b

#define COUNT_1_2 3
#define NAMES_1_2(a, b, c) #a, #b, #c
#define DESCS_1_2(a, b, c) \
    infiniopTensorDescriptor_t a, infiniopTensorDescriptor_t b, infiniopTensorDescriptor_t c
#define DATA_1_2(a, b, c) void *a, const void *b, const void *c

#define COUNT_1_3 4
#define NAMES_1_3(a, b, c, d) #a, #b, #c, #d
#define DESCS_1_3(a, b, c, d) DESCS_1_2(a, b, c), infiniopTensorDescriptor_t d
#define DATA_1_3(a, b, c, d) void *a, const void *b, const void *c, const void *d

#define COUNT_2_3 5
#define NAMES_2_3(a, b, c, d, e) #a, #b, #c, #d, #e
#define DESCS_2_3(a, b, c, d, e) \
    DESCS_1_2(a, b, c), infiniopTensorDescriptor_t d, infiniopTensorDescriptor_t e
#define DATA_2_3(a, b, c, d, e) void *a, void *b, const void *c, const void *d, const void *e

#define COUNT_3_3 6
#define NAMES_3_3(a, b, c, d, e, f) #a, #b, #c, #d, #e, #f
#define DESCS_3_3(a, b, c, d, e, f) DESCS_1_2(a, b, c), DESCS_1_2(d, e, f)
#define DATA_3_3(a, b, c, d, e, f) \
    void *a, void *b, void *c, const void *d, const void *e, const void *f

#define ROW(stem, vjp_name, arity, halves, last_optional, tensors)                                 \
    static const struct op op_##stem = { #vjp_name, COUNT_##arity, halves, last_optional,          \
                                         { NAMES_##arity tensors } };
#define OP(stem, vjp_name, arity, tensors, params, attrs)                                          \
    ROW(stem, vjp_name, arity, 0, 0, tensors)                                                      \
    FUNCTIONS(stem, arity, tensors, PARAMS(params), ATTRS(attrs))
#define LAST_OPTIONAL(stem, vjp_name, arity, tensors, params, attrs)                               \
    ROW(stem, vjp_name, arity, 0, 1, tensors)                                                      \
    FUNCTIONS(stem, arity, tensors, PARAMS(params), ATTRS(attrs))
#define HALVES(stem, vjp_name, tensors, attrs)                                                     \
    ROW(stem, vjp_name, 1_2, 1, 0, tensors)                                                        \
    FUNCTIONS(stem, 1_1, (output, input), PARAMS(), ATTRS(attrs))

/* The empty attribute in front lets an operator have none. */
#define FUNCTIONS(stem, arity, tensors, params, attrs)                                             \
    infiniStatus_t infiniopCreate##stem##Descriptor(                                               \
        infiniopHandle_t handle, infiniop##stem##Descriptor_t *desc_ptr,                           \
        DESCS_##arity tensors params)                                                              \
    {                                                                                              \
        const infiniopTensorDescriptor_t descs[] = { LIST tensors };                               \
        const vjp_attr values[] = { vjp_attr_bool(NULL, 0), attrs };                               \
        return create(&op_##stem, handle, descs, values + 1,                                       \
                      (int32_t)(sizeof(values) / sizeof(*values)) - 1, desc_ptr);                  \
    }                                                                                              \
                                                                                                   \
    infiniStatus_t infiniopGet##stem##WorkspaceSize(infiniop##stem##Descriptor_t desc,             \
                                                    size_t *size)                                  \
    {                                                                                              \
        return get_workspace_size(desc, size);                                                     \
    }                                                                                              \
                                                                                                   \
    infiniStatus_t infiniop##stem(infiniop##stem##Descriptor_t desc, void *workspace,              \
                                  size_t workspace_size, DATA_##arity tensors, void *stream)       \
    {                                                                                              \
        const void *const data[] = { LIST tensors };                                               \
        return run(&op_##stem, desc, workspace, workspace_size, data, stream);                     \
    }                                                                                              \
                                                                                                   \
    infiniStatus_t infiniopDestroy##stem##Descriptor(infiniop##stem##Descriptor_t desc)            \
    {                                                                                              \
        return destroy(desc);                                                                      \
    }
#include "ops.def"
