/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - allocators, engines and streams.
 *
 * An engine is a vjp context and the allocator of its tensors and scratchpads. There is one CPU
 * and no GPU. Streams have nothing to do: work on the CPU ends before the call that starts it.
 */
#include <stdlib.h>

#include "internal.h"

/* ---- allocators --------------------------------------------------------------------------- */

static void *default_allocate(size_t size, size_t alignment)
{
    void *memory = NULL;
    return posix_memalign(&memory, alignment, size) ? NULL : memory;
}

static const struct dnnl_graph_allocator default_allocator = { default_allocate, free };

dnnl_status_t dnnl_graph_allocator_create(dnnl_graph_allocator_t *allocator,
                                          dnnl_graph_host_allocate_f host_malloc,
                                          dnnl_graph_host_deallocate_f host_free)
{
    if (!allocator)
        return dnnl_invalid_arguments;
    *allocator = malloc(sizeof(**allocator));
    if (!*allocator)
        return dnnl_out_of_memory;
    **allocator = default_allocator;
    if (host_malloc && host_free) {
        (*allocator)->allocate = host_malloc;
        (*allocator)->deallocate = host_free;
    }
    return dnnl_success;
}

dnnl_status_t dnnl_graph_allocator_destroy(dnnl_graph_allocator_t allocator)
{
    if (!allocator)
        return dnnl_invalid_arguments;
    free(allocator);
    return dnnl_success;
}

void *dg_engine_allocate(dnnl_engine_t engine, size_t size)
{
    return engine->allocator.allocate(size, DG_ALIGNMENT);
}

void dg_engine_deallocate(dnnl_engine_t engine, void *memory)
{
    if (memory)
        engine->allocator.deallocate(memory);
}

/* ---- engines ------------------------------------------------------------------------------ */

size_t dnnl_engine_get_count(dnnl_engine_kind_t kind)
{
    return kind == dnnl_cpu;
}

dnnl_status_t dg_status_of(vjp_status status)
{
    switch (status) {
    case VJP_OK:
        return dnnl_success;
    case VJP_BAD_SHAPE:
        return dnnl_invalid_shape;
    case VJP_BAD_DTYPE:
        return dnnl_invalid_data_type;
    case VJP_NO_MEMORY:
        return dnnl_out_of_memory;
    case VJP_BAD_OP:
        return dnnl_unimplemented;
    case VJP_NO_DEVICE:
    case VJP_DEVICE_ERROR:
        return dnnl_runtime_error;
    default:
        return dnnl_invalid_arguments;
    }
}

static dnnl_status_t engine_create(dnnl_engine_t *engine, dnnl_engine_kind_t kind, size_t index,
                                   const struct dnnl_graph_allocator *allocator)
{
    if (!engine || index >= dnnl_engine_get_count(kind))
        return dnnl_invalid_arguments;
    *engine = NULL;
    dnnl_engine_t made = malloc(sizeof(*made));
    if (!made)
        return dnnl_out_of_memory;
    vjp_status status = vjp_context_create(NULL, &made->ctx, NULL, 0);
    if (status) {
        free(made);
        return status == VJP_NO_MEMORY ? dnnl_out_of_memory : dnnl_runtime_error;
    }
    atomic_init(&made->references, 1);
    made->kind = kind;
    made->allocator = *allocator;
    *engine = made;
    return dnnl_success;
}

dnnl_status_t dnnl_engine_create(dnnl_engine_t *engine, dnnl_engine_kind_t kind, size_t index)
{
    return engine_create(engine, kind, index, &default_allocator);
}

dnnl_status_t dnnl_graph_make_engine_with_allocator(dnnl_engine_t *engine, dnnl_engine_kind_t kind,
                                                    size_t index,
                                                    const_dnnl_graph_allocator_t alloc)
{
    return alloc ? engine_create(engine, kind, index, alloc) : dnnl_invalid_arguments;
}

dnnl_engine_t dg_engine_retain(dnnl_engine_t engine)
{
    atomic_fetch_add(&engine->references, 1);
    return engine;
}

void dg_engine_release(dnnl_engine_t engine)
{
    if (engine && atomic_fetch_sub(&engine->references, 1) == 1) {
        vjp_context_destroy(engine->ctx);
        free(engine);
    }
}

dnnl_status_t dnnl_engine_get_kind(dnnl_engine_t engine, dnnl_engine_kind_t *kind)
{
    if (!engine || !kind)
        return dnnl_invalid_arguments;
    *kind = engine->kind;
    return dnnl_success;
}

dnnl_status_t dnnl_engine_destroy(dnnl_engine_t engine)
{
    dg_engine_release(engine);
    return dnnl_success;
}

/* ---- streams ------------------------------------------------------------------------------ */

dnnl_status_t dnnl_stream_create(dnnl_stream_t *stream, dnnl_engine_t engine, unsigned flags)
{
    if (!stream || !engine)
        return dnnl_invalid_arguments;
    *stream = NULL;
    if (!flags)
        return dnnl_invalid_arguments;
    if (flags & ~(unsigned)(dnnl_stream_in_order | dnnl_stream_out_of_order))
        return dnnl_unimplemented;
    dnnl_stream_t made = malloc(sizeof(*made));
    if (!made)
        return dnnl_out_of_memory;
    made->engine = dg_engine_retain(engine);
    *stream = made;
    return dnnl_success;
}

dnnl_status_t dnnl_stream_get_engine(const_dnnl_stream_t stream, dnnl_engine_t *engine)
{
    if (!stream || !engine)
        return dnnl_invalid_arguments;
    *engine = stream->engine;
    return dnnl_success;
}

dnnl_status_t dnnl_stream_wait(dnnl_stream_t stream)
{
    return stream ? dnnl_success : dnnl_invalid_arguments;
}

dnnl_status_t dnnl_stream_destroy(dnnl_stream_t stream)
{
    if (stream) {
        dg_engine_release(stream->engine);
        free(stream);
    }
    return dnnl_success;
}
