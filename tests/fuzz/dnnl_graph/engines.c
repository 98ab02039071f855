/* SPDX-License-Identifier: Apache-2.0 */
/* engines.c - engines, with an allocator or without, and streams. */
#include "world.h"

static void *host_allocate(size_t size, size_t alignment)
{
    void *memory = NULL;
    return posix_memalign(&memory, alignment, size) ? NULL : memory;
}

int allocations_refused;

static void *no_memory(size_t size, size_t alignment)
{
    (void)size, (void)alignment;
    allocations_refused++;
    return NULL;
}

void drop_engine(world *w, int32_t slot)
{
    dnnl_engine_destroy(w->engines[slot]);
    w->engines[slot] = NULL;
}

void new_engine(world *w, bytes *b)
{
    int32_t i = bytes_below(b, FEW), bend = bytes_below(b, 16);
    dnnl_engine_t *slot = &w->engines[i];
    dnnl_graph_allocator_t allocator = NULL;
    drop_engine(w, i);
    dnnl_engine_kind_t kind = bend == 1 ? (dnnl_engine_kind_t)(int32_t)bytes_number(b) : dnnl_cpu;
    size_t index = bend == 2 ? (size_t)bytes_number(b) : 0;
    if (bend < 8) {
        expect_made(dnnl_engine_create(slot, kind, index), slot);
    } else {
        dnnl_graph_allocator_create(&allocator, bend == 15 ? no_memory : host_allocate,
                                    bend == 8 ? NULL : free);
        expect_made(dnnl_graph_make_engine_with_allocator(slot, kind, index, allocator), slot);
        dnnl_graph_allocator_destroy(allocator);
    }
    expect((dnnl_engine_get_kind(*slot, &kind) == dnnl_success) == (*slot != NULL), "no kind");
    expect(!*slot || kind == dnnl_cpu, "an engine of another kind");
}

void drop_stream(world *w, int32_t slot)
{
    dnnl_stream_destroy(w->streams[slot]);
    w->streams[slot] = NULL;
}

void new_stream(world *w, bytes *b)
{
    int32_t i = bytes_below(b, FEW);
    dnnl_stream_t *slot = &w->streams[i];
    drop_stream(w, i);
    unsigned flags = bytes_below(b, 8) ? dnnl_stream_default_flags : (unsigned)bytes_number(b);
    expect_made(dnnl_stream_create(slot, *SLOT(w->engines), flags), slot);
    dnnl_stream_wait(*slot);
}
