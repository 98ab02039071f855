/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - see record.h. */
#include "record.h"

#include <stdlib.h>
#include <string.h>

#include "base.h"

static int64_t *numbers(int64_t count)
{
    return unit_malloc((size_t)(count > 0 ? count : 1) * sizeof(int64_t));
}

static void forget(int64_t *list, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        list[i] = -1;
}

/* list[e] = first + size * the offset of element e. */
static void find_places(const record *r, const int64_t *strides, int64_t first, int64_t size,
                        int64_t *list)
{
    int64_t e = 0;
    for (walk w = walk_start(r->c->call.ndim, r->c->call.shape, strides); w.more; walk_next(&w))
        list[e++] = first + size * w.offset;
}

/* Dense strides of the dims that are not summed, 0 along the others; returns how many keys. */
static int64_t key_strides(const vjpi_call *call, int64_t *strides)
{
    int64_t dense = 1;
    for (int32_t d = call->ndim - 1; d >= 0; d--) {
        strides[d] = call->reduced[d] ? 0 : dense;
        dense *= call->reduced[d] ? 1 : call->shape[d];
    }
    return dense;
}

static void index_output(record *r)
{
    const vjp_tensor *output = &r->c->p->tensors[r->c->p->op->ninputs];
    int32_t i = r->c->p->op->ninputs;
    int64_t low, high;
    tensor_extent(output, &low, &high);
    r->low = r->base[i] + low * r->c->plan.size[i];
    r->room = high - low + 1;
    r->at_output = numbers(r->room);
    forget(r->at_output, r->room);
    for (int64_t e = 0; e < r->count; e++)
        r->at_output[(r->address[i][e] - r->low) / r->c->plan.size[i]] = e;
}

void record_open(record *r, const cuda_case *c, const int64_t *shift)
{
    const problem *p = c->p;
    int64_t strides[VJP_MAX_DIMS], workspace;
    memset(r, 0, sizeof *r);
    r->c = c;
    r->count = tensor_count(&p->tensors[0]);
    r->nkeys = key_strides(&c->call, strides);
    for (int32_t i = 0; i <= p->ntensors; i++) {
        r->address[i] = numbers(r->count);
        r->base[i] = ((int64_t)(i + 1) << 40) + shift[i] * (i < p->ntensors ? c->plan.size[i] : 1);
        if (i < p->ntensors)
            find_places(r, vjp_op_tensor(p->op, i)->shape_rule == VJP_SHAPE_DATA
                               ? p->tensors[i].strides : c->call.strides[i],
                        r->base[i], c->plan.size[i], r->address[i]);
    }
    workspace = r->base[p->ntensors] + c->plan.compute_size - 1;
    r->base[p->ntensors] = workspace - workspace % c->plan.compute_size;
    find_places(r, strides, r->base[p->ntensors], c->plan.compute_size, r->address[p->ntensors]);
    r->key = numbers(r->count);
    find_places(r, strides, 0, 1, r->key);
    r->visits = numbers(r->count);
    r->sum_of_key = numbers(r->nkeys);
    r->element_of_sum = numbers(r->nkeys);
    index_output(r);
}

void record_close(record *r)
{
    for (int32_t i = 0; i <= r->c->p->ntensors; i++)
        free(r->address[i]);
    free(r->key);
    free(r->at_output);
    free(r->visits);
    free(r->sum_of_key);
    free(r->element_of_sum);
}

void record_begin(record *r)
{
    memset(r->visits, 0, (size_t)r->count * sizeof r->visits[0]);
    forget(r->sum_of_key, r->nkeys);
    forget(r->element_of_sum, r->nkeys);
}

void record_end(const record *r)
{
    for (int64_t e = 0; e < r->count; e++)
        cuda_require(r->c, r->visits[e] == 1, "an element is not visited", e);
}

/* The elements of a key go to one sum, and no others do. */
static void join_key(record *r, int64_t element, int64_t sum)
{
    int64_t key = r->key[element];
    cuda_require(r->c, sum < r->nkeys, "there is no such sum", sum);
    if (r->sum_of_key[key] < 0 && r->element_of_sum[sum] < 0) {
        r->sum_of_key[key] = sum;
        r->element_of_sum[sum] = element;
    }
    cuda_require(r->c, r->sum_of_key[key] == sum && r->key[r->element_of_sum[sum]] == key,
                 "sums are mixed up", sum);
}

int64_t record_visit(record *r, int64_t output, int64_t sum)
{
    int64_t distance = output - r->low, size = r->c->plan.size[r->c->p->op->ninputs];
    cuda_require(r->c, distance >= 0 && distance % size == 0 && distance / size < r->room,
                 "outside of the output", distance);
    int64_t e = r->at_output[distance / size];
    cuda_require(r->c, e >= 0, "between the output's elements", distance);
    cuda_require(r->c, r->visits[e]++ == 0, "an element is visited twice", e);
    if (sum >= 0)
        join_key(r, e, sum);
    return e;
}
