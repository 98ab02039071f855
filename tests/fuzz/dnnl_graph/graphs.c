/* SPDX-License-Identifier: Apache-2.0 */
/* graphs.c - operations with their tensors and attributes, and the graphs they are added to. */
#include "world.h"

static void ask_op(const_dnnl_graph_op_t op, size_t id, dnnl_graph_op_kind_t kind)
{
    size_t its_id = id + 1;
    dnnl_graph_op_kind_t its_kind = dnnl_graph_op_last_symbol;
    dnnl_status_t wanted = op ? dnnl_success : dnnl_invalid_arguments;
    expect(dnnl_graph_op_get_id(op, &its_id) == wanted && (its_id == id) == (op != NULL), "an id");
    expect(dnnl_graph_op_get_kind(op, &its_kind) == wanted && (!op || its_kind == kind), "a kind");
}

void drop_op(world *w, int32_t slot)
{
    dnnl_graph_op_destroy(w->ops[slot]);
    w->ops[slot] = NULL;
}

void new_op(world *w, bytes *b)
{
    int32_t i = bytes_below(b, FEW);
    dnnl_graph_op_t *slot = &w->ops[i];
    drop_op(w, i);
    size_t id = bytes_u8(b);
    dnnl_graph_op_kind_t kind = (dnnl_graph_op_kind_t)bytes_u8(b);
    expect_made(dnnl_graph_op_create(slot, id, kind, bytes_below(b, 8) == 1 ? NULL : "op"), slot);
    ask_op(*slot, id, kind);
    for (int32_t n = bytes_below(b, LISTED + 1); n > 0; n--)
        dnnl_graph_op_add_input(*slot, SLOT(w->descriptions));
    for (int32_t n = bytes_below(b, LISTED + 1); n > 0; n--)
        dnnl_graph_op_add_output(*slot, SLOT(w->descriptions));
}

void set_attr(world *w, bytes *b)
{
    dnnl_graph_op_t op = *SLOT(w->ops);
    dnnl_graph_op_attr_t name = (dnnl_graph_op_attr_t)bytes_u8(b);
    int64_t number = bytes_number(b);
    float real = (float)number / 8;
    uint8_t truth = (uint8_t)number;
    size_t length = bytes_below(b, 8) != 1;
    char *text = bytes_below(b, 4) ? bytes_choice(b, "NXC|NCX") : bytes_copy(b, bytes_u8(b), NULL);
    switch (bytes_below(b, 4)) {
    case 0:
        dnnl_graph_op_set_attr_f32(op, name, &real, length);
        break;
    case 1:
        dnnl_graph_op_set_attr_bool(op, name, &truth, length);
        break;
    case 2:
        dnnl_graph_op_set_attr_s64(op, name, &number, length);
        break;
    default:
        dnnl_graph_op_set_attr_str(op, name, text, length);
    }
    free(text);
}

/* The value that was set is returned, even if it is not a mode. */
static void ask_mode(dnnl_graph_graph_t graph)
{
    dnnl_fpmath_mode_t mode;
    int to_int;
    if (!graph)
        return;
    expect(dnnl_graph_graph_set_fpmath_mode(graph, dnnl_fpmath_mode_bf16, 0) == dnnl_success &&
               dnnl_graph_graph_set_fpmath_mode(graph, (dnnl_fpmath_mode_t)99, 1) == dnnl_success &&
               dnnl_graph_graph_get_fpmath_mode(graph, &mode, &to_int) == dnnl_success &&
               mode == (dnnl_fpmath_mode_t)99 && to_int == 1,
           "the mode of a graph");
}

void drop_graph(world *w, int32_t slot)
{
    dnnl_graph_graph_destroy(w->graphs[slot]);
    w->graphs[slot] = NULL;
}

void new_graph(world *w, bytes *b)
{
    int32_t i = bytes_below(b, FEW);
    dnnl_graph_graph_t *slot = &w->graphs[i];
    drop_graph(w, i);
    dnnl_engine_kind_t kind =
        bytes_below(b, 8) ? dnnl_cpu : (dnnl_engine_kind_t)(int32_t)bytes_number(b);
    expect_made(dnnl_graph_graph_create(slot, kind), slot);
    ask_mode(*slot);
}

void add_op(world *w, bytes *b)
{
    dnnl_graph_graph_t graph = *SLOT(w->graphs);
    dnnl_graph_add_op(graph, *SLOT(w->ops));
}

void finish_graph(world *w, bytes *b)
{
    dnnl_graph_graph_t graph = *SLOT(w->graphs);
    uint8_t finalized = 0;
    dnnl_status_t status = dnnl_graph_graph_finalize(graph);
    if (graph)
        expect(dnnl_graph_graph_is_finalized(graph, &finalized) == dnnl_success &&
                   finalized == (status == dnnl_success),
               "a graph is finalized, or is not");
    if (bytes_below(b, 8) != 1)
        dnnl_graph_graph_filter(graph, dnnl_graph_partition_policy_fusion);
}
