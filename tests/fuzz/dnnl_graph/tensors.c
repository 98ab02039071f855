/* SPDX-License-Identifier: Apache-2.0 */
/* tensors.c - tensors, with memory just large enough for their description. */
#include "world.h"

static int64_t size_of(dnnl_data_type_t dtype)
{
    return dtype == dnnl_f16 || dtype == dnnl_bf16 ? 2 : dtype == dnnl_f32 ? 4 : 8;
}

void empty_out(filled *slot)
{
    dnnl_graph_tensor_destroy(slot->tensor);
    free(slot->block);
    *slot = (filled){ NULL, NULL };
}

filled fill(const lt *it, dnnl_engine_t engine)
{
    filled made = { NULL, NULL };
    int64_t low, high, size = size_of(it->data_type);
    void *data = NULL;
    if (find_extent(it, &low, &high)) {
        made.block = calloc((size_t)(high - low + 1), (size_t)size);
        expect(made.block, "out of memory");
        data = made.block - low * size;
    }
    dnnl_graph_tensor_create(&made.tensor, it, engine, data);
    if (!made.tensor)
        empty_out(&made);
    return made;
}

void drop_tensor(world *w, int32_t slot)
{
    empty_out(&w->tensors[slot]);
}

void new_tensor(world *w, bytes *b)
{
    filled *slot = SLOT(w->tensors);
    const lt *it = SLOT(w->descriptions);
    int64_t low, high, scalar = bytes_number(b);
    int32_t kind = bytes_below(b, 4);
    dnnl_engine_t engine = *SLOT(w->engines);
    void *data;
    empty_out(slot);
    if (kind == 0)
        dnnl_graph_tensor_create_scalar(&slot->tensor, it, &scalar);
    else if (kind == 1 && find_extent(it, &low, &high))
        dnnl_graph_tensor_create(&slot->tensor, it, engine, DNNL_MEMORY_ALLOCATE);
    else
        *slot = fill(it, engine);
    lt got;
    dnnl_status_t wanted = slot->tensor ? dnnl_success : dnnl_invalid_arguments;
    expect(dnnl_graph_tensor_get_logical_tensor(slot->tensor, &got) == wanted, "no description");
    expect(dnnl_graph_tensor_get_data_handle(slot->tensor, &data) == wanted, "no handle");
}

void set_data(world *w, bytes *b)
{
    void *data = bytes_below(b, 2) ? DNNL_MEMORY_ALLOCATE : DNNL_MEMORY_NONE;
    dnnl_graph_tensor_set_data_handle(SLOT(w->tensors)->tensor, data);
}
