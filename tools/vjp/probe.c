/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - see probe.h. */
#include "probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "dtypes.h"
#include "values.h"

enum {
    CANARY = 0xc9,
    MARGIN = 256, /* bytes before a tensor where it is aligned; also that of any CUDA memory */
    MOST_VALUES = 100003
};

bool probe_fail(probe *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!t->failure[0])
        vsnprintf(t->failure, sizeof(t->failure), format, arguments);
    va_end(arguments);
    return false;
}

/* A tensor that is not given has no block. */
static bool is_home(const probe *t, int32_t tensor)
{
    return problem_has(&t->p, tensor) && t->p.home[tensor] == tensor;
}

static bool is_output(const probe *t, int32_t tensor)
{
    return tensor >= t->p.op->ninputs;
}

int64_t probe_output_count(const probe *t, int32_t tensor)
{
    return is_output(t, tensor) && problem_has(&t->p, tensor) ? tensor_count(&t->p.tensors[tensor])
                                                               : 0;
}

static size_t element_size(const probe *t, int32_t tensor)
{
    return vjp_dtype_size(t->p.tensors[tensor].dtype);
}

/* ---- blocks ------------------------------------------------------------------------------- */

/* A third of the problems are aligned, a third misaligned equally, a third differently. Some blocks
 * end with their tensor, so that an overrun leaves the allocation. */
static void place(probe *t, int32_t tensor, random_state *random, int64_t style, int64_t together)
{
    const vjp_tensor *description = &t->p.tensors[tensor];
    int64_t lowest, highest, size = (int64_t)element_size(t, tensor);
    int64_t shift = style == 0 ? 0 : style == 1 ? together : random_below(random, 16);
    int64_t lead = random_chance(random, 30) ? shift * size : MARGIN + shift * size;
    int64_t tail = random_chance(random, 50) ? 0 : random_between(random, 1, 99);
    tensor_extent(description, &lowest, &highest);
    int64_t extent = tensor_count(description) > 0 ? (highest - lowest + 1) * size : 0;
    t->size[tensor] = (size_t)(lead + extent + tail);
    t->start[tensor] = lead - lowest * size;
}

static bool side_open(probe *t, side *s, memory *where)
{
    s->where = where;
    s->bits = unit_malloc((size_t)t->count * sizeof(*s->bits));
    for (int32_t i = 0; i < t->p.ntensors; i++) {
        if (!is_home(t, i))
            continue;
        s->blocks[i] = memory_allocate(where, t->size[i]);
        if (!s->blocks[i])
            return probe_fail(t, "no memory for %zu bytes", t->size[i]);
        s->found[i] = where->cuda ? unit_malloc(t->size[i]) : s->blocks[i];
    }
    return true;
}

static void side_close(side *s)
{
    for (int32_t i = 0; i < PROBLEM_TENSORS; i++) {
        if (s->where && s->where->cuda)
            free(s->found[i]);
        if (s->where)
            memory_free(s->where, s->blocks[i]);
    }
    free(s->bits);
}

/* Long tensors repeat their values; the period is prime, so that no two rows are alike. */
static void draw_values(probe *t, int32_t tensor, random_state *random, int specials)
{
    const vjp_tensor *description = &t->p.tensors[tensor];
    oracle_domain domain = oracle_home_domain(&t->p, tensor);
    size_t size = element_size(t, tensor);
    int64_t count = tensor_count(description), period = count < MOST_VALUES ? count : MOST_VALUES;
    unsigned char *values = unit_malloc((size_t)period * size);
    for (int64_t i = 0; i < period; i++)
        element_write(description->dtype, values + (size_t)i * size,
                      dtype_is_integer(description->dtype)
                          ? value_draw_input(random, &t->p, tensor, 0)
                          : value_draw(random, description->dtype, domain, specials));
    int64_t i = 0;
    unsigned char *origin = t->image[tensor] + t->start[tensor];
    for (walk w = walk_tensor(description); w.more; walk_next(&w)) {
        memcpy(origin + w.offset * (ptrdiff_t)size, values + (size_t)i * size, size);
        i = i + 1 < period ? i + 1 : 0;
    }
    free(values);
}

double *probe_read_dense(const probe *t, int32_t tensor)
{
    const vjp_tensor *description = &t->p.tensors[tensor];
    const unsigned char *origin = t->image[t->p.home[tensor]] + t->start[tensor];
    ptrdiff_t size = (ptrdiff_t)vjp_dtype_size(description->dtype);
    double *values = unit_malloc((size_t)tensor_count(description) * sizeof(*values));
    int64_t i = 0;
    for (walk w = walk_tensor(description); w.more; walk_next(&w))
        values[i++] = element_read(description->dtype, origin + w.offset * size);
    return values;
}

/* What the forward pass saved belongs to the other inputs: computed from them. */
static void write_saved(probe *t)
{
    double *inputs[PROBLEM_TENSORS] = { NULL };
    for (int32_t i = 0; i < t->p.op->ninputs; i++)
        inputs[i] = problem_has(&t->p, i) ? probe_read_dense(t, i) : NULL;
    values_save(&t->p, inputs);
    for (int32_t i = 0; i < t->p.op->ninputs; i++) {
        const vjp_tensor *tensor = &t->p.tensors[i];
        int64_t at = 0;
        if (problem_has(&t->p, i) && oracle_is_saved(&t->p, i))
            for (walk w = walk_tensor(tensor); w.more; walk_next(&w))
                element_write(tensor->dtype,
                              t->image[t->p.home[i]] + t->start[i] +
                                  w.offset * (ptrdiff_t)vjp_dtype_size(tensor->dtype),
                              inputs[i][at++]);
        free(inputs[i]);
    }
}

static bool open_probe(probe *t, const problem *p, uint64_t number, memory *reference,
                       memory *device, bool blank)
{
    memset(t, 0, sizeof(*t));
    t->p = *p;
    t->number = number;
    random_state random = random_start(random_seed(), number);
    int specials = random_chance(&random, 20) ? 1 : 0;
    int64_t style = random_below(&random, 3), together = random_between(&random, 1, 15);
    for (int32_t i = 0; i < p->ntensors; i++) {
        t->count += probe_output_count(t, i);
        if (!is_home(t, i)) {
            t->start[i] = problem_has(p, i) ? t->start[p->home[i]] : 0;
            continue;
        }
        place(t, i, &random, style, together);
        if (is_output(t, i))
            continue;
        t->image[i] = unit_malloc(t->size[i]);
        memset(t->image[i], CANARY, t->size[i]);
        if (!blank)
            draw_values(t, i, &random, specials);
    }
    if (!blank)
        write_saved(t);
    return side_open(t, &t->reference, reference) && side_open(t, &t->device, device);
}

bool probe_open(probe *t, const problem *p, uint64_t number, memory *reference, memory *device)
{
    return open_probe(t, p, number, reference, device, false);
}

bool probe_open_blank(probe *t, const problem *p, memory *reference, memory *device)
{
    return open_probe(t, p, 0, reference, device, true);
}

void probe_close(probe *t)
{
    side_close(&t->reference);
    side_close(&t->device);
    for (int32_t i = 0; i < PROBLEM_TENSORS; i++)
        free(t->image[i]);
}

/* ---- a run -------------------------------------------------------------------------------- */

void probe_prepare(probe *t, side *s, unsigned char poison)
{
    for (int32_t i = 0; i < t->p.ntensors; i++) {
        if (!is_home(t, i))
            continue;
        if (is_output(t, i))
            memset(s->found[i], poison, t->size[i]);
        else
            memcpy(s->found[i], t->image[i], t->size[i]);
        if (s->where->cuda)
            memory_upload(s->where, s->blocks[i], s->found[i], t->size[i]);
    }
    memory_wait(s->where); /* the run may be on a stream that does not wait for the copies */
}

static vjp_status run_in_a_way(probe *t, side *s, const vjp_plan *plan, void *workspace, way how)
{
    void *buffers[PROBLEM_TENSORS], *stream = NULL;
    size_t size = vjp_plan_workspace_size(plan);
    bool captured = how == CAPTURED && s->where->cuda;
    for (int32_t i = 0; i < t->p.ntensors; i++)
        buffers[i] = problem_has(&t->p, i)
                         ? (unsigned char *)s->blocks[t->p.home[i]] + t->start[i]
                         : NULL;
    if (how != ON_DEFAULT_STREAM)
        stream = memory_stream_create(s->where);
    if (captured)
        memory_capture_begin(s->where, stream);
    vjp_status status = vjp_plan_run(plan, (const void *const *)buffers,
                                     buffers + t->p.op->ninputs, workspace, size, stream);
    if (captured) {
        cuda_graph_exec graph = memory_capture_end(s->where, stream);
        if (graph)
            memory_graph_run(s->where, graph, stream);
        else
            probe_fail(t, "the run could not be captured into a graph");
        memory_stream_wait(s->where, stream);
        memory_graph_destroy(s->where, graph);
    }
    memory_stream_wait(s->where, stream);
    memory_stream_destroy(s->where, stream);
    return status;
}

static bool all_bytes(const unsigned char *bytes, size_t size, unsigned char value)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

/* NaNs in the workspace: a sum that starts from stale memory shows it. */
bool probe_execute(probe *t, side *s, const vjp_plan *plan, way how)
{
    size_t size = vjp_plan_workspace_size(plan), lead = MARGIN + t->number % 16;
    size_t block_size = size > 0 ? lead + size + MARGIN : 1;
    unsigned char *host = unit_malloc(block_size), *block = memory_allocate(s->where, block_size);
    vjp_status status = VJP_NO_MEMORY;
    memset(host, 0xff, block_size);
    if (block) {
        memory_upload(s->where, block, host, block_size);
        memory_wait(s->where);
        status = run_in_a_way(t, s, plan, size > 0 ? block + lead : NULL, how);
        memory_download(s->where, host, block, block_size);
        memory_free(s->where, block);
    }
    if (status != VJP_OK)
        probe_fail(t, "the run was refused: %s", vjp_status_string(status));
    if (size > problem_workspace_limit(&t->p))
        probe_fail(t, "a workspace of %zu bytes", size);
    if (size > 0 && (!all_bytes(host, lead, 0xff) || !all_bytes(host + lead + size, MARGIN, 0xff)))
        probe_fail(t, "memory beside the workspace was written");
    free(host);
    if (s->where->error)
        probe_fail(t, "the device stopped: %s", s->where->error);
    return !t->failure[0];
}

/* Whether the block is unchanged, except for its outputs' elements. */
static bool block_kept(const probe *t, const side *s, int32_t home, unsigned char poison)
{
    unsigned char *now = unit_malloc(t->size[home]), *was = unit_malloc(t->size[home]);
    memcpy(now, s->found[home], t->size[home]);
    if (is_output(t, home))
        memset(was, poison, t->size[home]);
    else
        memcpy(was, t->image[home], t->size[home]);
    for (int32_t i = t->p.op->ninputs; i < t->p.ntensors; i++) {
        ptrdiff_t size = (ptrdiff_t)element_size(t, i);
        if (t->p.home[i] != home || !problem_has(&t->p, i))
            continue;
        for (walk w = walk_tensor(&t->p.tensors[i]); w.more; walk_next(&w)) {
            ptrdiff_t at = t->start[i] + w.offset * size;
            memcpy(now + at, was + at, (size_t)size);
        }
    }
    bool kept = memcmp(now, was, t->size[home]) == 0;
    free(now);
    free(was);
    return kept;
}

static void read_outputs(const probe *t, side *s)
{
    uint64_t *bits = s->bits;
    for (int32_t i = t->p.op->ninputs; i < t->p.ntensors; i++) {
        if (!problem_has(&t->p, i))
            continue;
        const vjp_tensor *description = &t->p.tensors[i];
        const unsigned char *origin = s->found[t->p.home[i]] + t->start[i];
        ptrdiff_t size = (ptrdiff_t)element_size(t, i);
        for (walk w = walk_tensor(description); w.more; walk_next(&w))
            *bits++ = element_bits(description->dtype, origin + w.offset * size);
    }
}

bool probe_settle(probe *t, side *s, unsigned char poison)
{
    for (int32_t i = 0; i < t->p.ntensors; i++) {
        if (!is_home(t, i))
            continue;
        if (s->where->cuda)
            memory_download(s->where, s->found[i], s->blocks[i], t->size[i]);
        if (s->where->error)
            return probe_fail(t, "the device stopped: %s", s->where->error);
        if (!block_kept(t, s, i, poison))
            return probe_fail(t, "%s: %s", vjp_op_tensor(t->p.op, i)->name,
                              is_output(t, i) ? "memory between or beside its elements was written"
                                              : "the input, or memory beside it, was written");
    }
    read_outputs(t, s);
    return true;
}

bool probe_run(probe *t, side *s, vjp_context *ctx, way how, unsigned char poison)
{
    char reason[VJP_REASON_SIZE] = "";
    vjp_plan *plan = NULL;
    if (problem_create(&t->p, ctx, &plan, reason) != VJP_OK)
        return probe_fail(t, "no plan: %s", reason);
    probe_prepare(t, s, poison);
    bool ran = probe_execute(t, s, plan, how);
    vjp_plan_destroy(plan);
    return ran && probe_settle(t, s, poison);
}
