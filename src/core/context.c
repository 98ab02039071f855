/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - a device, its threads and its allocator; reference counted, so that plans may outlive
 * the caller's handle. */
#include <stdlib.h>
#include <string.h>

#include "core/internal.h"

#define MOST_STRUCT 4096 /* bytes that a struct of any version may have */

static void *default_allocate(void *user, size_t size)
{
    (void)user;
    return malloc(size);
}

static void default_deallocate(void *user, void *memory)
{
    (void)user;
    free(memory);
}

vjp_status vjpi_copy_struct(void *to, size_t to_size, size_t least, const void *from, size_t size,
                            const char *name, vjpi_reason reason)
{
    if (size < least)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT,
                           "%s: struct_size is %zu, at least %zu is needed", name, size, least);
    if (size > MOST_STRUCT) /* garbage: reading that far could fault */
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT,
                           "%s: struct_size is %zu, at most %d is allowed", name, size,
                           MOST_STRUCT);
    memset(to, 0, to_size);
    memcpy(to, from, size < to_size ? size : to_size);
    for (size_t i = to_size; i < size; i++)
        if (((const unsigned char *)from)[i] != 0)
            return vjpi_refuse(
                reason, VJP_BAD_ARGUMENT,
                "%s: byte %zu is set, but this library knows %zu bytes of the struct", name, i,
                to_size);
    return VJP_OK;
}

static vjp_status check_options(const vjp_context_options *options, vjpi_reason reason)
{
    if (options->num_threads < 0)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT, "options: num_threads is %d",
                           (int)options->num_threads);
    if (!options->allocate != !options->deallocate)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT,
                           "options: set both allocate and deallocate, or neither");
    return VJP_OK;
}

static const vjpi_backend *choose_backend(const vjp_context_options *options, vjpi_reason reason)
{
    if (options->device == VJP_CPU)
        return &vjpi_backend_cpu;
    if (options->device == VJP_CUDA)
        return vjpi_load_cuda(reason);
    vjpi_refuse(reason, VJP_NO_DEVICE, "options: there is no device %d", (int)options->device);
    return NULL;
}

vjp_status vjp_context_create(const vjp_context_options *options, vjp_context **ctx, char *text,
                              size_t text_size)
{
    static const vjp_context_options defaults = VJP_CONTEXT_DEFAULTS;
    vjpi_reason reason = vjpi_reason_begin(text, text_size);
    vjp_context_options own;
    vjp_status status;
    if (!ctx)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT, "ctx is NULL");
    *ctx = NULL;
    options = options ? options : &defaults;
    status = vjpi_copy_struct(&own, sizeof(own), sizeof(own), options, options->struct_size,
                              "options", reason);
    if (status != VJP_OK || (status = check_options(&own, reason)) != VJP_OK)
        return status;
    if (!own.allocate) {
        own.allocate = default_allocate;
        own.deallocate = default_deallocate;
    }
    const vjpi_backend *backend = choose_backend(&own, reason);
    if (!backend)
        return VJP_NO_DEVICE;
    size_t size = sizeof(vjp_context) + backend->context_size;
    vjp_context *made = own.allocate(own.allocator_user, size);
    if (!made)
        return vjpi_refuse(reason, VJP_NO_MEMORY, "no memory for a context");
    memset(made, 0, size);
    made->options = own;
    made->backend = backend;
    atomic_init(&made->references, 1);
    status = backend->open(made, reason);
    made->options.isa = NULL; /* the caller's string need not outlive the call */
    if (status == VJP_OK)
        *ctx = made;
    else
        vjpi_deallocate(made, made);
    return status;
}

vjp_status vjpi_default_context(vjp_context **ctx, vjpi_reason reason)
{
    static _Atomic(vjp_context *) shared; /* lives as long as the process */
    vjp_context *expected = NULL;
    *ctx = atomic_load_explicit(&shared, memory_order_acquire);
    if (*ctx)
        return VJP_OK;
    vjp_status status = vjp_context_create(NULL, ctx, reason.text, reason.size);
    if (status == VJP_OK && !atomic_compare_exchange_strong(&shared, &expected, *ctx)) {
        vjp_context_destroy(*ctx); /* another thread was first */
        *ctx = expected;
    }
    return status;
}

void vjp_context_destroy(vjp_context *ctx)
{
    if (!ctx || atomic_fetch_sub_explicit(&ctx->references, 1, memory_order_acq_rel) != 1)
        return;
    if (ctx->backend->close)
        ctx->backend->close(ctx);
    vjpi_deallocate(ctx, ctx);
}

const char *vjp_context_isa(const vjp_context *ctx)
{
    return ctx ? ctx->backend->isa(ctx) : NULL;
}

const char *vjp_context_error(const vjp_context *ctx)
{
    return ctx ? ctx->backend->error(ctx) : NULL;
}

int32_t vjp_context_threads(const vjp_context *ctx)
{
    return ctx && ctx->backend->threads ? ctx->backend->threads(ctx) : 0;
}

void vjpi_context_retain(vjp_context *ctx)
{
    atomic_fetch_add_explicit(&ctx->references, 1, memory_order_relaxed);
}

void *vjpi_allocate(const vjp_context *ctx, size_t size)
{
    return ctx->options.allocate(ctx->options.allocator_user, size);
}

void vjpi_deallocate(const vjp_context *ctx, void *memory)
{
    ctx->options.deallocate(ctx->options.allocator_user, memory);
}
