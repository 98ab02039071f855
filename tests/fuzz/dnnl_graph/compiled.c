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

static size_t place_of(const compiled *c, size_t id)
{
    size_t i = 0;
    while (c->ids[i] != id)
        i++;
    return i;
}

/* Let an output have the memory of the input that it may take the place of. */
static void share_memory(const compiled *c, const filled *made)
{
    const dnnl_graph_inplace_pair_t *pairs;
    size_t count;
    void *data;
    expect(dnnl_graph_compiled_partition_get_inplace_ports(c->it, &count, &pairs) == dnnl_success,
           "no pairs that share memory");
    if (count == 0)
        return;
    const filled *input = &made[place_of(c, pairs[0].input_id)];
    const filled *output = &made[place_of(c, pairs[0].output_id)];
    dnnl_graph_tensor_get_data_handle(input->tensor, &data);
    dnnl_graph_tensor_set_data_handle(output->tensor, data);
}

static void execute_list(const compiled *c, dnnl_stream_t stream,
                         const const_dnnl_graph_tensor_t *list, int complete)
{
    int before = allocations_refused;
    dnnl_status_t status = dnnl_graph_compiled_partition_execute(
        c->it, stream, c->ninputs, (const_dnnl_graph_tensor_t *)list, c->noutputs,
        (const_dnnl_graph_tensor_t *)list + c->ninputs);
    dnnl_status_t wanted = allocations_refused == before ? dnnl_success : dnnl_out_of_memory;
    expect(!complete || status == wanted, "what was compiled is not executed");
}

/* Execute on tensors of the compiled descriptions: each with memory of its own, then in place. */
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
    execute_list(c, stream, list, complete);
    if (complete) {
        share_memory(c, made);
        execute_list(c, stream, list, complete);
    }
    for (size_t i = 0; i < count; i++)
        empty_out(&made[i]);
}

/* As many tensors as were compiled for, or one; the list is an allocation of its own. */
static const_dnnl_graph_tensor_t *list_tensors(world *w, bytes *b, size_t *count)
{
    if (bytes_below(b, 8) == 0)
        *count = 1;
    const_dnnl_graph_tensor_t *list = calloc(*count, sizeof(*list));
    expect(list || *count == 0, "out of memory");
    for (size_t i = 0; i < *count; i++)
        list[i] = SLOT(w->tensors)->tensor;
    return list;
}

/* Execute on any tensors. One of layout any is taken to have the compiled layout, for which its
 * memory was not made: it has none here. */
void execute(world *w, bytes *b)
{
    const compiled *c = SLOT(w->compiled);
    dnnl_stream_t stream = *SLOT(w->streams);
    size_t ninputs = c->ninputs, noutputs = c->noutputs;
    const_dnnl_graph_tensor_t *inputs = list_tensors(w, b, &ninputs);
    const_dnnl_graph_tensor_t *outputs = list_tensors(w, b, &noutputs);
    const filled *pad = SLOT(w->tensors);
    lt scratch;
    dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(c->it, &scratch);
    dnnl_graph_compiled_partition_execute_v2(c->it, stream, ninputs, inputs, noutputs, outputs,
                                             bytes_below(b, 2) ? NULL : pad->tensor);
    free(inputs);
    free(outputs);
}
