/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_handler.c - the handler for CUDA (jax_ffi.c) without a GPU: stand-ins for XLA, which has
 * XLA's conditions, and for the library's plans. Prints what it sees; test_xla_ffi.py compares.
 *
 * cuda_handler SIZE STATUS - of a plan that needs a workspace of SIZE bytes and whose run returns
 * STATUS. */
#include "jax_ffi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char context, stream, memory[4096], message[512];
static size_t workspace;
static vjp_status status;

/* ---- the library ---------------------------------------------------------------------------- */

vjp_status vjp_context_create(const vjp_context_options *options, vjp_context **ctx, char *reason,
                              size_t size)
{
    (void)reason, (void)size;
    printf("context on device %d\n", (int)options->device_id);
    *ctx = (vjp_context *)&context;
    return VJP_OK;
}

vjp_status vjp_plan_create(vjp_context *ctx, const char *op, const vjp_attr *attrs, int32_t nattrs,
                           const vjp_tensor *const *tensors, int32_t ntensors, vjp_plan **plan,
                           char *reason, size_t size)
{
    (void)ctx, (void)attrs, (void)nattrs, (void)tensors, (void)reason, (void)size;
    printf("plan of %s with %d tensors\n", op, (int)ntensors);
    *plan = (vjp_plan *)&context;
    return VJP_OK;
}

void vjp_plan_destroy(vjp_plan *plan) { printf("plan destroyed%s\n", plan ? "" : ": NULL"); }

size_t vjp_plan_workspace_size(const vjp_plan *plan)
{
    (void)plan;
    return workspace;
}

vjp_status vjp_plan_run(const vjp_plan *plan, const void *const *inputs, void *const *outputs,
                        void *scratch, size_t size, void *on)
{
    (void)plan, (void)inputs, (void)outputs;
    printf("run on %s, workspace %s of %zu\n", on == &stream ? "the stream" : "another stream",
           scratch == memory ? "given" : scratch ? "unknown" : "NULL", size);
    return status;
}

vjp_status vjp_plan_check(const vjp_plan *plan, const void *const *inputs, void *const *outputs,
                          const void *scratch, size_t size, char *reason, size_t reason_size)
{
    (void)plan, (void)inputs, (void)outputs, (void)scratch, (void)size;
    snprintf(reason, reason_size, "src: is NULL");
    return status;
}

const char *vjp_context_error(const vjp_context *ctx)
{
    (void)ctx;
    return "the device's own words";
}

/* ---- XLA ------------------------------------------------------------------------------------ */

static XLA_FFI_Error *create_error(XLA_FFI_Error_Create_Args *args)
{
    snprintf(message, sizeof message, "error %d: %s", args->errc, args->message);
    return (XLA_FFI_Error *)message;
}

static void destroy_error(XLA_FFI_Error_Destroy_Args *args) { (void)args; }

static XLA_FFI_Error *get_stream(XLA_FFI_Stream_Get_Args *args)
{
    args->stream = &stream;
    return NULL;
}

static XLA_FFI_Error *get_ordinal(XLA_FFI_DeviceOrdinal_Get_Args *args)
{
    args->device_ordinal = 1;
    return NULL;
}

/* XLA allows alignments up to 16. */
static XLA_FFI_Error *allocate(XLA_FFI_DeviceMemory_Allocate_Args *args)
{
    size_t a = args->alignment;
    if (a == 0 || (a & (a - 1)) != 0 || a > 16) {
        snprintf(message, sizeof message, "error 3: Unsupported alignment: %zu", a);
        return (XLA_FFI_Error *)message;
    }
    printf("allocate %zu\n", args->size);
    args->data = memory;
    return NULL;
}

static XLA_FFI_Error *release(XLA_FFI_DeviceMemory_Free_Args *args)
{
    printf("free %s of %zu\n", args->data == memory ? "it" : "another", args->size);
    return NULL;
}

#define SPAN(text) { text, sizeof text - 1 }

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    workspace = strtoul(argv[1], NULL, 10);
    status = (vjp_status)atoi(argv[2]);
    XLA_FFI_Api api = { .XLA_FFI_Error_Create = create_error,
                        .XLA_FFI_Error_Destroy = destroy_error,
                        .XLA_FFI_Stream_Get = get_stream,
                        .XLA_FFI_DeviceMemory_Allocate = allocate,
                        .XLA_FFI_DeviceMemory_Free = release,
                        .XLA_FFI_DeviceOrdinal_Get = get_ordinal };
    XLA_FFI_ByteSpan op_name = SPAN("op"), tensors_name = SPAN("tensors");
    XLA_FFI_ByteSpan op = SPAN("relu_backward"), tensors = SPAN("src diff_dst diff_src");
    int types[] = { XLA_FFI_AttrType_STRING, XLA_FFI_AttrType_STRING };
    XLA_FFI_ByteSpan *names[] = { &op_name, &tensors_name };
    void *values[] = { &op, &tensors };
    int64_t dims[] = { 8 };
    XLA_FFI_Buffer buffer = {
        .dtype = XLA_FFI_DataType_F32, .data = memory, .rank = 1, .dims = dims
    };
    void *args[] = { &buffer, &buffer }, *rets[] = { &buffer };
    XLA_FFI_CallFrame frame = { .api = &api,
                                .stage = XLA_FFI_ExecutionStage_EXECUTE,
                                .args = { .size = 2, .args = args },
                                .rets = { .size = 1, .rets = rets },
                                .attrs = {
                                    .size = 2, .types = types, .names = names, .attrs = values } };
    const char *error = (const char *)vjpy_jax_cuda(&frame);
    printf("%s\n", error ? error : "ok");
}
