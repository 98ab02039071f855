/* SPDX-License-Identifier: Apache-2.0 */
/* bench_load.c - a problem in memory, ready to be run again and again; see bench.h. */
#define _DEFAULT_SOURCE

#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "bench.h"
#include "dtypes.h"
#include "kinds.h"
#include "random.h"
#include "values.h"

enum {
    PATTERN = 262139 /* elements; prime, so that rows differ */
};

/* What to do to a number of the bell curve so that it suits a tensor: value * scale + mean. A
 * gradient that is summed up is positive and small: so the sum of millions does not cancel (a
 * comparison needs its digits) and fits in f16. */
typedef struct suit {
    double scale, mean;
} suit;

static suit suit_of(const load *l, int32_t tensor, bench_twist twist)
{
    if (twist == TWIST_DENORMALS)
        return (suit){ 20 * dtype_tiny(l->p.tensors[tensor].dtype), 0 };
    if (kind_has_sums(l->p.op) && tensor == kind_gradient(l->p.op))
        return (suit){ 0x1p-13, 0x4p-13 };
    return (suit){ 2, 0 };
}

/* Random numbers, repeated: written once, then doubled in place. */
static void fill(load *l, int32_t tensor, bench_twist twist, size_t size)
{
    vjp_dtype dtype = l->p.tensors[tensor].dtype;
    size_t element = vjp_dtype_size(dtype), have = PATTERN * element;
    unsigned char *pattern = unit_malloc(have);
    random_state random = random_start(1, (uint64_t)tensor);
    suit s = dtype_is_integer(dtype) ? (suit){ 0, 0 } : suit_of(l, tensor, twist);
    for (size_t i = 0; i < PATTERN; i++)
        element_write(dtype, pattern + i * element,
                      dtype_is_integer(dtype) ? value_draw_input(&random, &l->p, tensor, 0)
                                              : random_bell(&random) * s.scale + s.mean);
    if (have > size)
        have = size;
    memory_upload(l->where, l->blocks[tensor], pattern, have);
    free(pattern);
    for (; have < size; have *= 2)
        memory_copy(l->where, l->blocks[tensor] + have, l->blocks[tensor],
                    have < size - have ? have : size - have);
}

/* Bytes of memory: what a broadcast repeats counts once. */
static double tensor_bytes(const vjp_tensor *tensor)
{
    int64_t lowest, highest;
    tensor_extent(tensor, &lowest, &highest);
    return (double)(highest - lowest + 1) * (double)vjp_dtype_size(tensor->dtype);
}

/* The ceiling writes as much as the operator reads; where no output is that large, here. */
static bool add_spare(load *l)
{
    size_t largest = 0, written = 0;
    for (int32_t i = 0; i < l->p.ntensors; i++) {
        largest = l->stride[i] > largest ? l->stride[i] : largest;
        if (i >= l->p.op->ninputs && l->stride[i] > written)
            written = l->stride[i];
    }
    if (written < largest)
        l->spare = memory_allocate(l->where, largest);
    return written == largest || l->spare;
}

bool load_open(load *l, memory *where, vjp_context *ctx, const problem *p, bench_twist twist,
               double spread, char reason[VJP_REASON_SIZE])
{
    *l = (load){ .where = where, .p = *p };
    if (problem_create(&l->p, ctx, &l->plan, reason) != VJP_OK)
        return false;
    for (int32_t i = 0; i < l->p.ntensors; i++)
        l->bytes += problem_has(p, i) ? tensor_bytes(&l->p.tensors[i]) : 0;
    l->sets = 1 + (int64_t)(spread / l->bytes);
    bool enough = true;
    for (int32_t i = 0; i < l->p.ntensors && enough; i++) {
        if (!problem_has(p, i))
            continue;
        l->offset[i] = twist == TWIST_OFFSET ? vjp_dtype_size(l->p.tensors[i].dtype) : 0;
        size_t bytes = (size_t)tensor_bytes(&l->p.tensors[i]);
        l->stride[i] = (bytes + l->offset[i] + 255) / 256 * 256;
        l->blocks[i] = memory_allocate(where, l->stride[i] * (size_t)l->sets);
        enough = l->blocks[i] != NULL;
        if (enough)
            fill(l, i, twist, l->stride[i] * (size_t)l->sets);
    }
    enough = enough && add_spare(l);
    l->workspace = memory_allocate(where, vjp_plan_workspace_size(l->plan));
    if (!enough || !l->workspace)
        snprintf(reason, VJP_REASON_SIZE, "no memory for %.0f bytes", l->bytes * (double)l->sets);
    return enough && l->workspace && load_keep(l, ctx, reason);
}

void load_close(load *l)
{
    memory_wait(l->where);
    vjp_plan_destroy(l->plan);
    memory_free(l->where, l->workspace);
    memory_free(l->where, l->spare);
    for (int32_t i = 0; i < l->p.ntensors; i++)
        memory_free(l->where, l->blocks[i]);
}

vjp_status load_run(load *l, void *stream)
{
    void *buffers[PROBLEM_TENSORS];
    for (int32_t i = 0; i < l->p.ntensors; i++)
        buffers[i] = l->blocks[i] ? l->blocks[i] + l->stride[i] * (size_t)l->turn + l->offset[i]
                                  : NULL;
    l->turn = l->turn + 1 < l->sets ? l->turn + 1 : 0;
    return vjp_plan_run(l->plan, (const void *const *)buffers, buffers + l->p.op->ninputs,
                        l->workspace, vjp_plan_workspace_size(l->plan), stream);
}

void *load_buffer(const load *l, int32_t tensor)
{
    return l->blocks[tensor] ? l->blocks[tensor] + l->offset[tensor] : NULL;
}
