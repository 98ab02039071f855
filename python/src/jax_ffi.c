/* SPDX-License-Identifier: Apache-2.0 */
/* jax_ffi.c - XLA's calls as calls of the library: one handler per platform, for all operators.
 * Nothing here knows Python, which need not hold the GIL, or even run. */
#include "jax_ffi.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TENSORS = 16, MAX_ATTRS = 16, MAX_NAME = 64, MAX_DEVICES = 64 };

typedef struct request {
    char op[MAX_NAME], given[MAX_TENSORS * MAX_NAME];
    vjp_attr attrs[MAX_ATTRS];
    char names[MAX_ATTRS][MAX_NAME], words[MAX_ATTRS][MAX_NAME];
    int nattrs;
    vjp_tensor descriptions[MAX_TENSORS];
    const vjp_tensor *tensors[MAX_TENSORS];
    const void *inputs[MAX_TENSORS];
    void *outputs[MAX_TENSORS];
    int ntensors;
    char reason[MAX_NAME + VJP_REASON_SIZE + 8];
} request;

/* ---- errors ------------------------------------------------------------------------------- */

void vjpy_jax_forget(const XLA_FFI_Api *api, XLA_FFI_Error *error)
{
    XLA_FFI_Error_Destroy_Args args = { sizeof args, NULL, error };
    if (error)
        api->XLA_FFI_Error_Destroy(&args);
}

static XLA_FFI_Error *fail(const XLA_FFI_CallFrame *frame, int code, const char *message)
{
    XLA_FFI_Error_Create_Args args = { sizeof args, NULL, message, code };
    return frame->api->XLA_FFI_Error_Create(&args);
}

static XLA_FFI_Error *refuse(const XLA_FFI_CallFrame *frame, const char *message)
{
    return fail(frame, XLA_FFI_Error_Code_INVALID_ARGUMENT, message);
}

static XLA_FFI_Error *report(const XLA_FFI_CallFrame *frame, request *request,
                             const vjp_context *ctx, vjp_status status, const char *reason)
{
    int code = XLA_FFI_Error_Code_INVALID_ARGUMENT;
    if (status == VJP_OK)
        return NULL;
    if (status == VJP_NO_MEMORY)
        code = XLA_FFI_Error_Code_RESOURCE_EXHAUSTED;
    if (status == VJP_NO_DEVICE)
        code = XLA_FFI_Error_Code_UNAVAILABLE;
    if (status == VJP_DEVICE_ERROR) {
        code = XLA_FFI_Error_Code_INTERNAL;
        reason = ctx ? vjp_context_error(ctx) : reason;
    }
    snprintf(request->reason, sizeof(request->reason), "%s: %s", request->op,
             *reason ? reason : vjp_status_string(status));
    return fail(frame, code, request->reason);
}

/* ---- attributes and buffers --------------------------------------------------------------- */

/* Copy a span as a string; false if it does not fit. */
static bool copy(char *to, size_t size, const XLA_FFI_ByteSpan *from)
{
    if (from->len >= size)
        return false;
    memcpy(to, from->ptr, from->len);
    to[from->len] = 0;
    return true;
}

static bool read_scalar(const XLA_FFI_Scalar *scalar, const char *name, vjp_attr *attr)
{
    uint8_t pred;
    int64_t s64;
    float f32;
    double f64;
    switch (scalar->dtype) {
    case XLA_FFI_DataType_PRED:
        memcpy(&pred, scalar->value, sizeof pred);
        *attr = vjp_attr_bool(name, pred);
        return true;
    case XLA_FFI_DataType_S64:
        memcpy(&s64, scalar->value, sizeof s64);
        *attr = vjp_attr_s64(name, s64);
        return true;
    case XLA_FFI_DataType_F32:
        memcpy(&f32, scalar->value, sizeof f32);
        *attr = vjp_attr_f32(name, f32);
        return true;
    case XLA_FFI_DataType_F64:
        memcpy(&f64, scalar->value, sizeof f64);
        *attr = vjp_attr_f64(name, f64);
        return true;
    }
    return false;
}

static bool read_attr(request *request, const XLA_FFI_Attrs *attrs, int64_t i)
{
    const XLA_FFI_ByteSpan *name = attrs->names[i], *word = attrs->attrs[i];
    bool is_word = attrs->types[i] == XLA_FFI_AttrType_STRING;
    int n = request->nattrs;
    if (is_word && name->len == 2 && memcmp(name->ptr, "op", 2) == 0)
        return copy(request->op, sizeof(request->op), word);
    if (is_word && name->len == 7 && memcmp(name->ptr, "tensors", 7) == 0)
        return copy(request->given, sizeof(request->given), word);
    if (n == MAX_ATTRS || !copy(request->names[n], MAX_NAME, name))
        return false;
    if (is_word) {
        if (!copy(request->words[n], MAX_NAME, word))
            return false;
        request->attrs[n] = vjp_attr_str(request->names[n], request->words[n]);
    } else if (attrs->types[i] != XLA_FFI_AttrType_SCALAR ||
               !read_scalar(attrs->attrs[i], request->names[n], &request->attrs[n]))
        return false;
    request->nattrs++;
    return true;
}

static vjp_dtype dtype_of(int dtype)
{
    switch (dtype) {
    case XLA_FFI_DataType_F64:
        return VJP_F64;
    case XLA_FFI_DataType_F32:
        return VJP_F32;
    case XLA_FFI_DataType_F16:
        return VJP_F16;
    case XLA_FFI_DataType_BF16:
        return VJP_BF16;
    case XLA_FFI_DataType_S32:
        return VJP_S32;
    case XLA_FFI_DataType_S64:
        return VJP_S64;
    case XLA_FFI_DataType_U8:
    case XLA_FFI_DataType_PRED: /* a mask */
        return VJP_U8;
    }
    return 0;
}

/* Tensor `index` of the operator is this buffer, which is dense. */
static bool read_buffer(request *request, const vjp_op_info *op, int index,
                        const XLA_FFI_Buffer *buffer)
{
    if (index < 0 || index >= MAX_TENSORS || request->tensors[index] ||
        vjp_tensor_contiguous(dtype_of(buffer->dtype), (int32_t)buffer->rank, buffer->dims,
                              &request->descriptions[index]))
        return false;
    request->tensors[index] = &request->descriptions[index];
    if (index < op->ninputs)
        request->inputs[index] = buffer->data;
    else
        request->outputs[index - op->ninputs] = buffer->data;
    return true;
}

/* Match the names in `given` with the arguments, then the results. */
static bool read_buffers(request *request, const vjp_op_info *op, const XLA_FFI_CallFrame *frame)
{
    int64_t nbuffers = frame->args.size + frame->rets.size, i = 0;
    char *rest = NULL;
    for (char *name = strtok_r(request->given, " ", &rest); name;
         name = strtok_r(NULL, " ", &rest)) {
        if (i == nbuffers)
            return false;
        const XLA_FFI_Buffer *buffer =
            i < frame->args.size ? frame->args.args[i] : frame->rets.rets[i - frame->args.size];
        if (!read_buffer(request, op, vjp_op_tensor_index(op, name), buffer))
            return false;
        i++;
    }
    request->ntensors = op->ninputs + op->noutputs;
    return i == nbuffers;
}

static XLA_FFI_Error *read_request(const XLA_FFI_CallFrame *frame, request *request)
{
    memset(request, 0, sizeof(*request));
    for (int64_t i = 0; i < frame->attrs.size; i++)
        if (!read_attr(request, &frame->attrs, i))
            return refuse(frame, "vjp: an attribute is too long or of an unknown type");
    const vjp_op_info *op = vjp_op_find(request->op);
    if (!op)
        return refuse(frame, "vjp: there is no operator of that name");
    if (!read_buffers(request, op, frame))
        return refuse(frame,
                      "vjp: the buffers are not those of the attribute 'tensors', or a dtype "
                      "or a rank is not supported");
    return NULL;
}

/* ---- contexts ----------------------------------------------------------------------------- */

/* Create a context once per process; a thread that comes second drops its own. */
static vjp_status get_context(_Atomic(vjp_context *) *slot, const vjp_context_options *options,
                              vjp_context **ctx, char *reason, size_t size)
{
    vjp_context *none = NULL;
    *ctx = atomic_load(slot);
    if (*ctx)
        return VJP_OK;
    vjp_status status = vjp_context_create(options, ctx, reason, size);
    if (status == VJP_OK && !atomic_compare_exchange_strong(slot, &none, *ctx)) {
        vjp_context_destroy(*ctx);
        *ctx = none;
    }
    return status;
}

/* XLA queries a handler before it calls it, and has stages in which there is nothing to do. */
static bool is_work(XLA_FFI_CallFrame *frame)
{
    if (frame->extension_start && frame->extension_start->type == XLA_FFI_Extension_Metadata) {
        XLA_FFI_Metadata *metadata =
            ((XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata;
        metadata->api_version.major_version =
            frame->api ? frame->api->api_version.major_version : 0;
        metadata->api_version.minor_version =
            frame->api ? frame->api->api_version.minor_version : 1;
        metadata->traits = 0; /* not for command buffers: a workspace would be reused */
        return false;
    }
    return frame->stage == XLA_FFI_ExecutionStage_EXECUTE;
}

/* ---- the CPU ------------------------------------------------------------------------------ */

XLA_FFI_Error *vjpy_jax_cpu(XLA_FFI_CallFrame *frame)
{
    static _Atomic(vjp_context *) slot;
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    char reason[VJP_REASON_SIZE] = "";
    vjp_context *ctx;
    request request;
    if (!is_work(frame))
        return NULL;
    XLA_FFI_Error *error = read_request(frame, &request);
    if (error)
        return error;
    options.parallel_for = vjpy_jax_threads;
    vjp_status status = get_context(&slot, &options, &ctx, reason, sizeof reason);
    if (status == VJP_OK) {
        vjpy_jax_frame = frame;
        status = vjp_compute(ctx, request.op, request.attrs, request.nattrs, request.tensors,
                             request.ntensors, request.inputs, request.outputs, reason,
                             sizeof reason);
        vjpy_jax_frame = NULL;
    }
    return report(frame, &request, NULL, status, reason);
}

/* ---- CUDA --------------------------------------------------------------------------------- */

/* Run on XLA's stream, with a workspace from its allocator, which is ordered by that stream. */
static XLA_FFI_Error *run_plan(XLA_FFI_CallFrame *frame, request *request, vjp_context *ctx,
                               const vjp_plan *plan)
{
    const XLA_FFI_Api *api = frame->api;
    size_t size = vjp_plan_workspace_size(plan);
    char reason[VJP_REASON_SIZE] = "";
    XLA_FFI_Stream_Get_Args stream = { sizeof stream, NULL, frame->ctx, NULL };
    XLA_FFI_DeviceMemory_Allocate_Args memory = { sizeof memory, NULL, frame->ctx, size,
                                                  16 /* the most that XLA allows */, NULL };
    XLA_FFI_Error *error = api->XLA_FFI_Stream_Get(&stream);
    if (!error && size)
        error = api->XLA_FFI_DeviceMemory_Allocate(&memory);
    if (error)
        return error;
    vjp_status status = vjp_plan_run(plan, request->inputs, request->outputs, memory.data, size,
                                     stream.stream);
    if (status != VJP_OK)
        vjp_plan_check(plan, request->inputs, request->outputs, memory.data, size, reason,
                       sizeof reason);
    if (size) {
        XLA_FFI_DeviceMemory_Free_Args args = { sizeof args, NULL, frame->ctx, size, memory.data };
        vjpy_jax_forget(api, api->XLA_FFI_DeviceMemory_Free(&args));
    }
    return report(frame, request, ctx, status, reason);
}

XLA_FFI_Error *vjpy_jax_cuda(XLA_FFI_CallFrame *frame)
{
    static _Atomic(vjp_context *) slots[MAX_DEVICES];
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    char reason[VJP_REASON_SIZE] = "";
    vjp_context *ctx = NULL;
    vjp_plan *plan = NULL;
    request request;
    if (!is_work(frame))
        return NULL;
    XLA_FFI_DeviceOrdinal_Get_Args device = { sizeof device, NULL, frame->ctx, 0 };
    XLA_FFI_Error *error = read_request(frame, &request);
    if (!error)
        error = frame->api->XLA_FFI_DeviceOrdinal_Get(&device);
    if (error)
        return error;
    if (device.device_ordinal < 0 || device.device_ordinal >= MAX_DEVICES)
        return refuse(frame, "vjp: more than 64 devices");
    options.device = VJP_CUDA;
    options.device_id = device.device_ordinal;
    vjp_status status =
        get_context(&slots[device.device_ordinal], &options, &ctx, reason, sizeof reason);
    if (status == VJP_OK)
        status = vjp_plan_create(ctx, request.op, request.attrs, request.nattrs, request.tensors,
                                 request.ntensors, &plan, reason, sizeof reason);
    if (status != VJP_OK)
        return report(frame, &request, ctx, status, reason);
    error = run_plan(frame, &request, ctx, plan);
    vjp_plan_destroy(plan);
    return error;
}
