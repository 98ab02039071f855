/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_dnnl_graph.c - the input is a sequence of oneDNN Graph calls on a few slots of objects.
 *
 * Calls come in any order, with NULL, with descriptions that say anything and with objects of
 * other graphs; what was destroyed is never used again, and data lie where the description says.
 * What was compiled must execute on tensors of the compiled descriptions.
 */
#include <oneapi/dnnl/dnnl_graph.h>

#include "bytes.h"

enum {
    FEW = 3,      /* slots of most kinds of objects */
    TENSORS = 8,  /* and of tensors and their descriptions; also the ids */
    LISTED = 5,   /* tensors in a list */
    CALLS = 96,
    REACH = 4096, /* elements from the first of a tensor to its last */
    SPANS = 12    /* dims of the largest tensor with memory */
};

typedef dnnl_graph_logical_tensor_t lt;

/* A tensor and its memory, NULL where the description asks for too much. */
typedef struct filled {
    dnnl_graph_tensor_t tensor;
    char *block;
} filled;

/* A compiled partition and the ids it was compiled for. */
typedef struct compiled {
    dnnl_graph_compiled_partition_t it;
    size_t ninputs, noutputs, ids[2 * LISTED];
} compiled;

typedef struct world {
    dnnl_engine_t engines[FEW];
    dnnl_stream_t streams[FEW];
    dnnl_graph_op_t ops[FEW];
    dnnl_graph_graph_t graphs[FEW];
    dnnl_graph_partition_t partitions[FEW];
    compiled compiled[FEW];
    lt descriptions[TENSORS];
    filled tensors[TENSORS];
} world;

#define SLOT(array) (&(array)[bytes_below(b, (int32_t)(sizeof(array) / sizeof((array)[0])))])

/* Whether there is an object in `slot` must be as the status says. */
static void expect_made(dnnl_status_t status, const void *slot)
{
    void *made;
    memcpy(&made, slot, sizeof(made));
    expect((status == dnnl_success) == (made != NULL), "an object in spite of an error, or none");
}

/* ---- engines and streams ------------------------------------------------------------------- */

static void *host_allocate(size_t size, size_t alignment)
{
    void *memory = NULL;
    return posix_memalign(&memory, alignment, size) ? NULL : memory;
}

static void new_engine(world *w, bytes *b)
{
    dnnl_engine_t *slot = SLOT(w->engines);
    dnnl_graph_allocator_t allocator = NULL;
    int32_t bend = bytes_below(b, 16);
    dnnl_engine_destroy(*slot);
    *slot = NULL;
    dnnl_engine_kind_t kind = bend == 1 ? (dnnl_engine_kind_t)(int32_t)bytes_number(b) : dnnl_cpu;
    size_t index = bend == 2 ? (size_t)bytes_number(b) : 0;
    if (bend < 8) {
        expect_made(dnnl_engine_create(slot, kind, index), slot);
        return;
    }
    dnnl_graph_allocator_create(&allocator, host_allocate, bend == 8 ? NULL : free);
    expect_made(dnnl_graph_make_engine_with_allocator(slot, kind, index, allocator), slot);
    dnnl_graph_allocator_destroy(allocator);
}

static void new_stream(world *w, bytes *b)
{
    dnnl_stream_t *slot = SLOT(w->streams);
    dnnl_stream_destroy(*slot);
    *slot = NULL;
    unsigned flags = bytes_below(b, 8) ? dnnl_stream_default_flags : (unsigned)bytes_number(b);
    expect_made(dnnl_stream_create(slot, *SLOT(w->engines), flags), slot);
    dnnl_stream_wait(*slot);
}

/* ---- descriptions -------------------------------------------------------------------------- */

/* Change a field as only a program that writes the struct itself can. */
static void bend_description(bytes *b, lt *it)
{
    switch (bytes_below(b, 32)) {
    case 1:
        it->ndims = (int)bytes_number(b);
        break;
    case 2:
        it->dims[bytes_below(b, DNNL_MAX_NDIMS)] = bytes_number(b);
        break;
    case 3:
        it->layout.strides[bytes_below(b, DNNL_MAX_NDIMS)] = bytes_number(b);
        break;
    case 4:
        it->layout_type = (dnnl_graph_layout_type_t)(int32_t)bytes_number(b);
        break;
    case 5:
        it->data_type = (dnnl_data_type_t)(int32_t)bytes_number(b);
        break;
    case 6:
        it->property = dnnl_graph_tensor_property_host_scalar;
        break;
    }
}

static void new_description(world *w, bytes *b)
{
    lt *slot = SLOT(w->descriptions), before = *slot;
    size_t id = (size_t)(slot - w->descriptions), size;
    dnnl_dims_t dims, strides;
    dnnl_status_t status;
    uint8_t equal = 2;
    int32_t ndims = bytes_below(b, DNNL_MAX_NDIMS + 3) - 1, how = bytes_below(b, 4);
    dnnl_data_type_t dtype = (dnnl_data_type_t)bytes_below(b, 18);
    dnnl_graph_layout_type_t layout = (dnnl_graph_layout_type_t)bytes_below(b, 4);
    dnnl_graph_tensor_property_t property = (dnnl_graph_tensor_property_t)bytes_below(b, 4);
    for (int i = 0; i < ndims && i < DNNL_MAX_NDIMS; i++) {
        dims[i] = bytes_number(b);
        strides[i] = how == 3 ? bytes_number(b) : (int8_t)bytes_u8(b);
    }
    if (how == 0)
        status = dnnl_graph_logical_tensor_init(slot, id, dtype, ndims, layout, property);
    else if (how == 1)
        status = dnnl_graph_logical_tensor_init_with_dims(slot, id, dtype, ndims, dims, layout,
                                                          property);
    else
        status = dnnl_graph_logical_tensor_init_with_strides(slot, id, dtype, ndims, dims, strides,
                                                             property);
    if (status != dnnl_success)
        expect(!memcmp(slot, &before, sizeof(before)), "a refusal has changed the description");
    bend_description(b, slot);
    expect(dnnl_graph_logical_tensor_get_mem_size(slot, &size) == dnnl_success, "no size");
    expect(dnnl_graph_logical_tensor_is_equal(slot, slot, &equal) == dnnl_success && equal == 1,
           "a description is not equal to itself");
}

/* ---- tensors ------------------------------------------------------------------------------- */

/* The offsets of the lowest and highest element; 0 if they are not known or too far apart. */
static int find_extent(const lt *it, int64_t *low, int64_t *high)
{
    *low = *high = 0;
    if (it->layout_type != dnnl_graph_layout_type_strided || it->ndims < 0 || it->ndims > SPANS)
        return 0;
    for (int i = 0; i < it->ndims; i++)
        if (it->dims[i] < 0 || it->dims[i] > REACH)
            return 0;
    for (int i = 0; i < it->ndims; i++) {
        int64_t stride = it->layout.strides[i];
        if (it->dims[i] <= 1)
            continue;
        if (stride < -REACH || stride > REACH)
            return 0;
        *(stride < 0 ? low : high) += (it->dims[i] - 1) * stride;
    }
    return *high - *low < REACH;
}

static int64_t size_of(dnnl_data_type_t dtype)
{
    return dtype == dnnl_f16 || dtype == dnnl_bf16 ? 2 : dtype == dnnl_f32 ? 4 : 8;
}

static void drop_tensor(filled *slot)
{
    dnnl_graph_tensor_destroy(slot->tensor);
    free(slot->block);
    *slot = (filled){ NULL, NULL };
}

static filled fill(const lt *it, dnnl_engine_t engine)
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
        drop_tensor(&made);
    return made;
}

static void new_tensor(world *w, bytes *b)
{
    filled *slot = SLOT(w->tensors);
    const lt *it = SLOT(w->descriptions);
    int64_t low, high, scalar = bytes_number(b);
    int32_t kind = bytes_below(b, 4);
    dnnl_engine_t engine = *SLOT(w->engines);
    void *data;
    drop_tensor(slot);
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

static void set_data(world *w, bytes *b)
{
    void *data = bytes_below(b, 2) ? DNNL_MEMORY_ALLOCATE : DNNL_MEMORY_NONE;
    dnnl_graph_tensor_set_data_handle(SLOT(w->tensors)->tensor, data);
}

/* ---- operations and graphs ----------------------------------------------------------------- */

static void new_op(world *w, bytes *b)
{
    dnnl_graph_op_t *slot = SLOT(w->ops);
    dnnl_graph_op_destroy(*slot);
    *slot = NULL;
    size_t id = bytes_u8(b);
    dnnl_graph_op_kind_t kind = (dnnl_graph_op_kind_t)bytes_u8(b);
    expect_made(dnnl_graph_op_create(slot, id, kind, bytes_below(b, 8) == 1 ? NULL : "op"), slot);
    for (int32_t n = bytes_below(b, LISTED + 1); n > 0; n--)
        dnnl_graph_op_add_input(*slot, SLOT(w->descriptions));
    for (int32_t n = bytes_below(b, LISTED + 1); n > 0; n--)
        dnnl_graph_op_add_output(*slot, SLOT(w->descriptions));
}

static void set_attr(world *w, bytes *b)
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

static void new_graph(world *w, bytes *b)
{
    dnnl_graph_graph_t *slot = SLOT(w->graphs);
    dnnl_graph_graph_destroy(*slot);
    *slot = NULL;
    dnnl_engine_kind_t kind =
        bytes_below(b, 8) ? dnnl_cpu : (dnnl_engine_kind_t)(int32_t)bytes_number(b);
    expect_made(dnnl_graph_graph_create(slot, kind), slot);
}

static void add_op(world *w, bytes *b)
{
    dnnl_graph_graph_t graph = *SLOT(w->graphs);
    dnnl_graph_add_op(graph, *SLOT(w->ops));
}

static void finish_graph(world *w, bytes *b)
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

static void take_partitions(world *w, bytes *b)
{
    dnnl_graph_graph_t graph = *SLOT(w->graphs);
    size_t count = 0;
    dnnl_graph_graph_get_partition_num(graph, &count);
    dnnl_graph_partition_t *all = calloc(count + 1, sizeof(*all));
    expect(all, "out of memory");
    dnnl_status_t status = dnnl_graph_graph_get_partitions(graph, count, all);
    expect((status == dnnl_success) == (count > 0), "partitions that were counted are not there");
    for (size_t i = 0; i < count; i++) {
        dnnl_graph_partition_t *slot = &w->partitions[i % FEW];
        dnnl_graph_partition_destroy(*slot);
        *slot = all[i];
    }
    free(all);
}

static void new_partition(world *w, bytes *b)
{
    dnnl_graph_partition_t *slot = SLOT(w->partitions);
    dnnl_graph_partition_destroy(*slot);
    *slot = NULL;
    expect_made(dnnl_graph_partition_create_with_op(slot, *SLOT(w->ops), dnnl_cpu), slot);
}

static void ask_partition(world *w, bytes *b)
{
    dnnl_graph_partition_t partition = *SLOT(w->partitions);
    size_t n = 0;
    uint8_t supported;
    lt *ports;
    dnnl_status_t wanted = partition ? dnnl_success : dnnl_invalid_arguments;
    expect(dnnl_graph_partition_is_supported(partition, &supported) == wanted, "supported?");
    expect(dnnl_graph_partition_get_input_ports_num(partition, &n) == wanted, "no inputs' count");
    ports = calloc(n + 1, sizeof(*ports));
    expect(ports, "out of memory");
    dnnl_graph_partition_get_input_ports(partition, n, ports);
    expect(dnnl_graph_partition_get_input_ports(partition, n + 1, ports) != dnnl_success,
           "more inputs than there are");
    free(ports);
}

/* ---- compiled partitions ------------------------------------------------------------------- */

static void new_compiled(world *w, bytes *b)
{
    compiled *slot = SLOT(w->compiled);
    dnnl_graph_compiled_partition_destroy(slot->it);
    *slot = (compiled){ 0 };
    expect_made(dnnl_graph_compiled_partition_create(&slot->it, *SLOT(w->partitions)), &slot->it);
}

static size_t list_descriptions(world *w, bytes *b, const lt **list)
{
    size_t n = (size_t)bytes_below(b, LISTED + 1);
    for (size_t i = 0; i < n; i++)
        list[i] = bytes_below(b, 32) == 1 ? NULL : SLOT(w->descriptions);
    return n;
}

static void compile(world *w, bytes *b)
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
static void compute(world *w, bytes *b)
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
    dnnl_status_t status = dnnl_graph_compiled_partition_execute(
        c->it, stream, c->ninputs, list, c->noutputs, list + c->ninputs);
    expect(!complete || status == dnnl_success, "what was compiled is not executed");
    for (size_t i = 0; i < count; i++)
        drop_tensor(&made[i]);
}

/* Execute on any tensors. One of layout any is taken to have the compiled layout, for which its
 * memory was not made: it has none here. */
static void execute(world *w, bytes *b)
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
                                             list + LISTED,
                                             bytes_below(b, 2) ? NULL : pad->tensor);
}

/* ---- the end ------------------------------------------------------------------------------- */

static void destroy_one(world *w, bytes *b)
{
    switch (bytes_below(b, 6)) {
        dnnl_engine_t *engine;
        dnnl_graph_op_t *op;
        dnnl_graph_graph_t *graph;
        dnnl_graph_partition_t *partition;
        compiled *c;
    case 0:
        engine = SLOT(w->engines);
        dnnl_engine_destroy(*engine);
        *engine = NULL;
        break;
    case 1:
        op = SLOT(w->ops);
        dnnl_graph_op_destroy(*op);
        *op = NULL;
        break;
    case 2:
        graph = SLOT(w->graphs);
        dnnl_graph_graph_destroy(*graph);
        *graph = NULL;
        break;
    case 3:
        partition = SLOT(w->partitions);
        dnnl_graph_partition_destroy(*partition);
        *partition = NULL;
        break;
    case 4:
        c = SLOT(w->compiled);
        dnnl_graph_compiled_partition_destroy(c->it);
        *c = (compiled){ 0 };
        break;
    default:
        drop_tensor(SLOT(w->tensors));
    }
}

static void destroy_all(world *w)
{
    for (int i = 0; i < FEW; i++) {
        dnnl_engine_destroy(w->engines[i]);
        dnnl_stream_destroy(w->streams[i]);
        dnnl_graph_op_destroy(w->ops[i]);
        dnnl_graph_graph_destroy(w->graphs[i]);
        dnnl_graph_partition_destroy(w->partitions[i]);
        dnnl_graph_compiled_partition_destroy(w->compiled[i].it);
    }
    for (int i = 0; i < TENSORS; i++)
        drop_tensor(&w->tensors[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const calls[])(world *, bytes *) = {
        new_engine,      new_stream,    new_description, new_tensor,   set_data, new_op,
        set_attr,        new_graph,     add_op,          finish_graph, compile,  compute,
        take_partitions, new_partition, ask_partition,   new_compiled, execute,  destroy_one,
    };
    bytes b = { data, size };
    world w = { 0 };
    for (int i = 0; i < CALLS && b.left > 0; i++)
        calls[bytes_below(&b, sizeof(calls) / sizeof(calls[0]))](&w, &b);
    destroy_all(&w);
    return 0;
}
