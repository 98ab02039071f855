/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - a device, its threads and its allocator; counted, so that plans may outlive the
 * caller's handle. */
#include <stdlib.h>

#include "core/internal.h"

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

/* The size first: a struct that is too small may end before the other fields. */
static vjp_status check_options(const vjp_context_options *options, vjpi_reason reason)
{
    if (options->struct_size < sizeof(vjp_context_options))
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT,
                           "options: struct_size is %zu, at least %zu is needed",
                           options->struct_size, sizeof(vjp_context_options));
    if (options->num_threads < 0)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT, "options: num_threads is %d",
                           (int)options->num_threads);
    if (!options->allocate != !options->deallocate)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT,
                           "options: allocate and deallocate go together, one is NULL");
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
    vjp_status status;
    if (!ctx)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT, "ctx is NULL");
    *ctx = NULL;
    options = options ? options : &defaults;
    status = check_options(options, reason);
    if (status != VJP_OK)
        return status;
    vjp_context made = { .options = *options };
    if (!made.options.allocate) {
        made.options.allocate = default_allocate;
        made.options.deallocate = default_deallocate;
    }
    made.backend = choose_backend(&made.options, reason);
    if (!made.backend)
        return VJP_NO_DEVICE;
    atomic_init(&made.references, 1);
    atomic_init(&made.error, 0);
    status = made.backend->open(&made, reason);
    if (status != VJP_OK)
        return status;
    *ctx = vjpi_allocate(&made, sizeof(made));
    if (!*ctx)
        return vjpi_refuse(reason, VJP_NO_MEMORY, "no memory for a context");
    **ctx = made;
    return VJP_OK;
}

void vjp_context_destroy(vjp_context *ctx)
{
    if (ctx && atomic_fetch_sub_explicit(&ctx->references, 1, memory_order_acq_rel) == 1)
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
