/* SPDX-License-Identifier: Apache-2.0 */
/* bench_load.c - a problem in memory, ready to be run again and again; see bench.h. */
#define _DEFAULT_SOURCE

#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "bench.h"
#include "dtypes.h"
#include "random.h"

enum {
    PATTERN = 262139 /* elements; prime, so that rows differ */
};

/* Ordinary numbers, repeated: written once, then doubled where they lie. */
static void fill(load *l, int32_t tensor, size_t size)
{
    vjp_dtype dtype = l->p.tensors[tensor].dtype;
    size_t element = vjp_dtype_size(dtype), have = PATTERN * element;
    unsigned char *pattern = unit_malloc(have);
    random_state random = random_start(1, (uint64_t)tensor);
    for (size_t i = 0; i < PATTERN; i++)
        element_write(dtype, pattern + i * element, 2 * random_bell(&random));
    if (have > size)
        have = size;
    memory_upload(l->where, l->blocks[tensor], pattern, have);
    free(pattern);
    for (; have < size; have *= 2)
        memory_copy(l->where, l->blocks[tensor] + have, l->blocks[tensor],
                    have < size - have ? have : size - have);
}

static double tensor_bytes(const vjp_tensor *tensor)
{
    return (double)tensor_count(tensor) * (double)vjp_dtype_size(tensor->dtype);
}

bool load_open(load *l, memory *where, vjp_context *ctx, const named_problem *row, double spread,
               char reason[VJP_REASON_SIZE])
{
    *l = (load){ .where = where, .p = named_problem_build(row) };
    if (problem_create(&l->p, ctx, &l->plan, reason) != VJP_OK)
        return false;
    for (int32_t i = 0; i < l->p.ntensors; i++)
        l->bytes += tensor_bytes(&l->p.tensors[i]);
    l->sets = 1 + (int64_t)(spread / l->bytes);
    bool enough = true;
    for (int32_t i = 0; i < l->p.ntensors && enough; i++) {
        size_t bytes = (size_t)tensor_bytes(&l->p.tensors[i]);
        l->stride[i] = (bytes + 255) / 256 * 256;
        l->blocks[i] = memory_allocate(where, l->stride[i] * (size_t)l->sets);
        enough = l->blocks[i] != NULL;
        if (enough)
            fill(l, i, l->stride[i] * (size_t)l->sets);
    }
    l->workspace = memory_allocate(where, vjp_plan_workspace_size(l->plan));
    if (!enough || !l->workspace)
        snprintf(reason, VJP_REASON_SIZE, "no memory for %.0f bytes", l->bytes * (double)l->sets);
    return enough && l->workspace;
}

void load_close(load *l)
{
    memory_wait(l->where);
    vjp_plan_destroy(l->plan);
    memory_free(l->where, l->workspace);
    for (int32_t i = 0; i < l->p.ntensors; i++)
        memory_free(l->where, l->blocks[i]);
}

vjp_status load_run(load *l, void *stream)
{
    void *buffers[PROBLEM_TENSORS];
    for (int32_t i = 0; i < l->p.ntensors; i++)
        buffers[i] = l->blocks[i] + l->stride[i] * (size_t)l->turn;
    l->turn = l->turn + 1 < l->sets ? l->turn + 1 : 0;
    return vjp_plan_run(l->plan, buffers, l->workspace, vjp_plan_workspace_size(l->plan), stream);
}

void *load_buffer(const load *l, int32_t tensor)
{
    return l->blocks[tensor];
}
