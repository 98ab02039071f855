/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c - see answer.h. */
#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dnnl_status_t set(const answer *a, const setting *s)
{
    const vjp_attr *v = &s->value;
    switch (v->type) {
    case VJP_ATTR_BOOL: {
        const uint8_t flag = (uint8_t)v->value.b;
        return a->lib->graph_op_set_attr_bool(a->op, s->id, &flag, s->length);
    }
    case VJP_ATTR_S64:
        return a->lib->graph_op_set_attr_s64(a->op, s->id, &v->value.s64, s->length);
    case VJP_ATTR_F32:
        return a->lib->graph_op_set_attr_f32(a->op, s->id, &v->value.f32, s->length);
    default:
        return a->lib->graph_op_set_attr_str(a->op, s->id, v->value.str, s->length);
    }
}

void answer_describe(answer *a)
{
    const question *q = a->q;
    a->status = a->lib->graph_op_create(&a->op, 1, q->kind, "op");
    for (size_t i = 0; i < q->ninputs; i++)
        a->lib->graph_op_add_input(a->op, &q->added[i]);
    for (size_t i = 0; i < q->noutputs; i++)
        a->lib->graph_op_add_output(a->op, &q->added[q->ninputs + i]);
    for (size_t i = 0; i < q->nsettings; i++)
        a->settings[i] = set(a, &q->settings[i]);
}

void answer_add(answer *a)
{
    a->lib->graph_graph_create(&a->graph, dnnl_cpu);
    a->status = a->lib->graph_add_op(a->graph, a->op);
}

void answer_partition(answer *a)
{
    a->status = a->lib->graph_graph_finalize(a->graph);
    if (!a->status)
        a->status = a->lib->graph_graph_filter(a->graph, dnnl_graph_partition_policy_fusion);
    if (a->status || a->lib->graph_graph_get_partition_num(a->graph, &a->npartitions) ||
        a->npartitions != 1)
        return;
    a->status = a->lib->graph_graph_get_partitions(a->graph, 1, &a->partition);
    a->lib->graph_partition_is_supported(a->partition, &a->supported);
    a->lib->graph_partition_get_input_ports_num(a->partition, &a->ninputs);
    a->lib->graph_partition_get_output_ports_num(a->partition, &a->noutputs);
}

/* ---- compiling ---------------------------------------------------------------------------- */

static void compile(void *argument)
{
    answer *a = argument;
    const question *q = a->q;
    const logical_tensor *tensors[NTENSORS];
    for (size_t i = 0; i < q->ninputs + q->noutputs; i++)
        tensors[i] = &q->compiled[i];
    a->status = a->lib->graph_partition_compile(a->partition, a->compiled, q->ninputs, tensors,
                                                q->noutputs, tensors + q->ninputs, a->engine);
}

void answer_compile(answer *a)
{
    const question *q = a->q;
    const dnnl_graph_inplace_pair_t *pairs = NULL;
    a->lib->graph_compiled_partition_create(&a->compiled, a->partition);
    if (guarded(compile, a))
        a->status = EXCEPTION;
    if (a->status)
        return;
    for (size_t i = 0; i < q->ninputs + q->noutputs; i++) {
        a->resolved[i] = q->compiled[i];
        if (i >= q->ninputs || q->compiled[i].layout_type == dnnl_graph_layout_type_any)
            a->lib->graph_compiled_partition_query_logical_tensor(a->compiled, q->compiled[i].id,
                                                                  &a->resolved[i]);
    }
    a->lib->graph_compiled_partition_get_inplace_ports(a->compiled, &a->npairs, &pairs);
    if (a->npairs)
        memcpy(a->pairs, pairs, a->npairs * sizeof(*pairs));
}

/* ---- executing ---------------------------------------------------------------------------- */

static void execute(void *argument)
{
    answer *a = argument;
    const question *q = a->q;
    dnnl_graph_tensor_t made[NTENSORS] = { NULL };
    const_dnnl_graph_tensor_t tensors[NTENSORS];
    for (size_t i = 0; i < q->ninputs + q->noutputs; i++) {
        a->lib->graph_tensor_create(&made[i], &a->resolved[i], a->engine, a->data[i]);
        tensors[i] = made[i];
    }
    a->status = a->lib->graph_compiled_partition_execute(
        a->compiled, a->stream, q->ninputs, tensors, q->noutputs, tensors + q->ninputs);
    for (size_t i = 0; i < q->ninputs + q->noutputs; i++)
        a->lib->graph_tensor_destroy(made[i]);
}

void answer_execute(answer *a)
{
    const question *q = a->q;
    random_state random = q->data;
    for (size_t i = 0; i < q->ninputs + q->noutputs; i++) {
        const logical_tensor *lt = &a->resolved[i];
        int64_t count = count_of(lt);
        size_t size = 0;
        a->lib->graph_logical_tensor_get_mem_size(lt, &size);
        a->data[i] =
            aligned_alloc(64, size / 64 * 64 + 128); /* room to spare: not what is tested */
        memset(a->data[i], 0, size);
        for (int64_t k = 0; i < q->ninputs && k < count; k++)
            put_at(lt, a->data[i], k, draw_value(q, i, &random));
    }
    if (guarded(execute, a))
        a->status = EXCEPTION;
}

void answer_end(answer *a)
{
    for (size_t i = 0; i < NTENSORS; i++)
        free(a->data[i]);
    a->lib->graph_compiled_partition_destroy(a->compiled);
    a->lib->graph_partition_destroy(a->partition);
    a->lib->graph_graph_destroy(a->graph);
    a->lib->graph_op_destroy(a->op);
}
