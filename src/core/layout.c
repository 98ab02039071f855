/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - drop dims of size 1, turn negative strides, sort, merge.
 *
 * The order follows the first output: what is written goes in the order of memory, and inputs in
 * other layouts are brought to it (cpu/tile.c). */
#include <string.h>

#include "core/layout.h"

int64_t vjpi_numel(const vjp_tensor *tensor)
{
    int64_t numel = 1;
    for (int32_t d = 0; d < tensor->ndim; d++)
        if (tensor->shape[d] == 0)
            return 0; /* the other dims' product need not fit */
    for (int32_t d = 0; d < tensor->ndim; d++)
        numel *= tensor->shape[d];
    return numel;
}

double vjpi_total_bytes(const vjpi_call *call, int32_t n)
{
    double bytes = 0;
    for (int32_t i = 0; i < n; i++)
        bytes += (double)vjpi_numel(&call->tensors[i]) *
                 (double)vjp_dtype_size(call->tensors[i].dtype);
    return bytes;
}

double vjpi_workspace_limit(const vjpi_call *call)
{
    double share = vjpi_total_bytes(call, call->op->info.ninputs) / 16;
    return share > 256 << 10 ? share : 256 << 10;
}

/* Turn dim d around in every operand if the output walks it downwards. */
static void turn_upwards(vjpi_loop *loop, vjpi_dim *dim, int32_t output)
{
    if (dim->step[output] >= 0)
        return;
    for (int32_t i = 0; i < loop->noperands; i++) {
        loop->offset[i] += (dim->n - 1) * dim->step[i];
        dim->step[i] = -dim->step[i];
    }
}

static void insert_sorted(vjpi_loop *loop, const vjpi_dim *dim, int32_t output)
{
    int32_t at = loop->ndim++;
    for (; at > 0 && loop->dims[at - 1].step[output] < dim->step[output]; at--)
        loop->dims[at] = loop->dims[at - 1];
    loop->dims[at] = *dim;
}

/* Is `outer` the continuation of `inner` for every operand? */
static bool can_merge(const vjpi_loop *loop, const vjpi_dim *outer, const vjpi_dim *inner)
{
    if (outer->reduced != inner->reduced)
        return false;
    for (int32_t i = 0; i < loop->noperands; i++)
        if (outer->step[i] != inner->step[i] * inner->n)
            return false;
    return true;
}

static void merge(vjpi_loop *loop)
{
    int32_t kept = 0;
    for (int32_t d = 1; d < loop->ndim; d++) {
        vjpi_dim *outer = &loop->dims[kept], *inner = &loop->dims[d];
        if (can_merge(loop, outer, inner)) {
            inner->n *= outer->n;
            *outer = *inner;
        } else {
            loop->dims[++kept] = *inner;
        }
    }
    loop->ndim = loop->ndim > 0 ? kept + 1 : 0;
}

void vjpi_layout(const vjpi_call *call, int64_t rowsum_size, vjpi_loop *loop)
{
    int32_t output = call->op->info.ninputs;
    int64_t rowsum_step[VJP_MAX_DIMS], dense = rowsum_size;
    memset(loop, 0, sizeof(*loop));
    loop->noperands = call->ntensors + (rowsum_size > 0);
    for (int32_t i = 0; i < call->ntensors; i++)
        loop->size[i] = (int64_t)vjp_dtype_size(call->tensors[i].dtype);
    if (rowsum_size > 0)
        loop->size[call->ntensors] = rowsum_size;
    for (int32_t d = call->ndim - 1; d >= 0; d--) {
        rowsum_step[d] = call->reduced[d] ? 0 : dense;
        dense *= call->reduced[d] ? 1 : call->shape[d];
    }
    for (int32_t d = 0; d < call->ndim; d++) {
        vjpi_dim dim = { .n = call->shape[d], .reduced = call->reduced[d] };
        if (dim.n == 1)
            continue;
        for (int32_t i = 0; i < call->ntensors; i++)
            dim.step[i] = call->strides[i][d] * loop->size[i];
        if (rowsum_size > 0)
            dim.step[call->ntensors] = rowsum_step[d];
        turn_upwards(loop, &dim, output);
        insert_sorted(loop, &dim, output);
    }
    merge(loop);
}
