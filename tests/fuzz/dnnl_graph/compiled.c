/* SPDX-License-Identifier: Apache-2.0 */
/* compiled.c - partitions compiled for some descriptions, and executed. */
#include "world.h"

void drop_compiled(world *w, int32_t slot)
{
    dnnl_graph_compiled_partition_destroy(w->compiled[slot].it);
    w->compiled[slot] = (compiled){ 0 };
}

void new_compiled(world *w, bytes *b)
{
    int32_t i = bytes_below(b, FEW);
    compiled *slot = &w->compiled[i];
    drop_compiled(w, i);
    expect_made(dnnl_graph_compiled_partition_create(&slot->it, *SLOT(w->partitions)), &slot->it);
}

static size_t list_descriptions(world *w, bytes *b, const lt **list)
{
    size_t n = (size_t)bytes_below(b, LISTED + 1);
    for (size_t i = 0; i < n; i++)
        list[i] = bytes_below(b, 32) == 1 ? NULL : SLOT(w->descriptions);
    return n;
}

void compile(world *w, bytes *b)
{
    compiled *slot = SLOT(w->compiled), done = { slot->it, 0, 0, { 0 } };
    dnnl_graph_partition_t partition = *SLOT(w->partitions);
    dnnl_engine_t engine = *SLOT(w->engines);
    const lt *inputs[LISTED], *outputs[LISTED];
    done.ninputs = list_descriptions(w, b, inputs);
    done.noutputs = list_descriptions(w, b, outputs);
    if (dnnl_graph_partition_compile(partition, slot->it, done.ninputs, inputs, done.noutputs,
                                     outputs, engine) != dnnl_success)
        return;
    for (size_t i = 0; i < done.ninputs + done.noutputs; i++)
        done.ids[i] = i < done.ninputs ? inputs[i]->id : outputs[i - done.ninputs]->id;
    *slot = done;
}

static int are_distinct(const compiled *c)
{
    for (size_t i = 0; i < c->ninputs + c->noutputs; i++)
        for (size_t j = 0; j < i; j++)
            if (c->ids[i] == c->ids[j])
                return 0;
    return 1;
}

/* Execute on tensors of the compiled descriptions, each with memory of its own. */
void compute(world *w, bytes *b)
{
    const compiled *c = SLOT(w->compiled);
    dnnl_stream_t stream = *SLOT(w->streams);
    dnnl_engine_t engine = NULL;
    filled made[2 * LISTED] = { { NULL, NULL } };
    const_dnnl_graph_tensor_t list[2 * LISTED] = { NULL };
    size_t count = c->ninputs + c->noutputs;
    int complete = count > 0 && are_distinct(c);
    if (dnnl_stream_get_engine(stream, &engine) != dnnl_success)
        return;
    for (size_t i = 0; i < count; i++) {
        lt it;
        expect(dnnl_graph_compiled_partition_query_logical_tensor(c->it, c->ids[i], &it) ==
                   dnnl_success,
               "a compiled tensor is not known");
        made[i] = fill(&it, engine);
        list[i] = made[i].tensor;
        complete &= made[i].block != NULL;
    }
    dnnl_status_t status = dnnl_graph_compiled_partition_execute(c->it, stream, c->ninputs, list,
                                                                 c->noutputs, list + c->ninputs);
    expect(!complete || status == dnnl_success, "what was compiled is not executed");
    for (size_t i = 0; i < count; i++)
        empty_out(&made[i]);
}

/* Execute on any tensors. One of layout any is taken to have the compiled layout, for which its
 * memory was not made: it has none here. */
void execute(world *w, bytes *b)
{
    const compiled *c = SLOT(w->compiled);
    dnnl_stream_t stream = *SLOT(w->streams);
    const_dnnl_graph_tensor_t list[2 * LISTED];
    lt scratch;
    size_t counts[2];
    for (int side = 0; side < 2; side++) {
        counts[side] = bytes_below(b, 8) ? (side ? c->noutputs : c->ninputs) : 1;
        for (size_t i = 0; i < counts[side]; i++) {
            const filled *slot = SLOT(w->tensors);
            list[side * LISTED + (int)i] = slot->tensor;
        }
    }
    dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(c->it, &scratch);
    const filled *pad = SLOT(w->tensors);
    dnnl_graph_compiled_partition_execute_v2(c->it, stream, counts[0], list, counts[1],
                                             list + LISTED, bytes_below(b, 2) ? NULL : pad->tensor);
}
