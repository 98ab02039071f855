/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - drop dims of size 1, reverse negative strides, sort, merge.
 *
 * The order follows the first output with a value per element: writes are in memory order, and
 * inputs in other layouts are repacked to match (cpu/tile.c). Without such an output it follows the
 * first input. */
#include <math.h>
#include <string.h>

#include "core/fpmode.h"
#include "core/layout.h"

int64_t vjpi_numel(const vjp_tensor *tensor)
{
    int64_t numel = 1;
    for (int32_t d = 0; d < tensor->ndim; d++)
        if (tensor->shape[d] == 0)
            return 0; /* the product of the other dims may overflow */
    for (int32_t d = 0; d < tensor->ndim; d++)
        numel *= tensor->shape[d];
    return numel;
}

double vjpi_total_bytes(const vjpi_call *call, int32_t n)
{
    double bytes = 0;
    for (int32_t i = 0; i < n; i++)
        if (vjpi_has(call->facts, i))
            bytes += (double)vjpi_numel(&call->tensors[i]) *
                     (double)vjp_dtype_size(call->tensors[i].dtype);
    return bytes;
}

double vjpi_workspace_limit(const vjpi_call *call)
{
    double share = vjpi_total_bytes(call, call->op->info.ninputs) / 16;
    return share > 256 << 10 ? share : 256 << 10;
}

/* A constant and its rounding error. Any NaN becomes the one that the lanes expect. Out of line, so
 * that no rounding moves out of the mode it is to be done in. */
static __attribute__((noinline)) void set_constant(double exact, int32_t slot, size_t compute_size,
                                                   void *constants)
{
    float narrow = isnan(exact) ? NAN : (float)exact;
    double wide = isnan(exact) ? (double)NAN : exact;
    double lost = isfinite(narrow) ? exact - (double)narrow : 0;
    if (compute_size == sizeof(double)) {
        ((double *)constants)[slot] = wide;
        return;
    }
    ((float *)constants)[slot] = narrow;
    if (slot < VJPI_COUNT_SLOT)
        ((float *)constants)[VJPI_LOW_SLOTS + slot] = (float)lost;
}

void vjpi_set_constants(const vjpi_call *call, void *constants)
{
    size_t size = vjpi_compute_size(call->dtype);
    vjpi_fpmode caller = vjpi_fpmode_enter();
    for (int32_t slot = 0; slot <= VJPI_COUNT_SLOT; slot++)
        set_constant(call->constants[slot], slot, size, constants);
    vjpi_fpmode_leave(caller);
}

/* Reverse the dim in every operand if its stride in the leading one is negative. */
static void turn_upwards(vjpi_loop *loop, vjpi_dim *dim, int32_t leader)
{
    if (dim->step[leader] >= 0)
        return;
    for (int32_t i = 0; i < loop->noperands; i++) {
        loop->offset[i] += (dim->n - 1) * dim->step[i];
        dim->step[i] = -dim->step[i];
    }
}

static int64_t magnitude(int64_t a)
{
    return a < 0 ? -a : a;
}

static void insert_sorted(vjpi_loop *loop, const vjpi_dim *dim, int32_t leader)
{
    int32_t at = loop->ndim++;
    int64_t step = magnitude(dim->step[leader]);
    for (; at > 0 && magnitude(loop->dims[at - 1].step[leader]) < step; at--)
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

/* The operand that the loop's order follows. Sums must not change with an output that the caller
 * may leave out: where there are any, it is one that is always there. */
static int32_t leading_operand(const vjpi_call *call)
{
    for (int32_t i = call->op->info.ninputs; i < call->ntensors; i++) {
        bool optional = call->op->tensors[i].flags & VJP_TENSOR_OPTIONAL;
        if (call->op->roles[i] == VJPI_FULL && vjpi_has(call->facts, i) &&
            !(call->sums && optional))
            return i;
    }
    return 0;
}

/* Does an element's position along its row matter? Then the axis keeps its direction. */
static bool asks_position(const vjpi_call *call)
{
    bool asks = call->op->indexed || call->causal_dim >= 0;
    for (int32_t i = 0; i < call->op->info.ninputs; i++)
        asks = asks || (call->op->roles[i] == VJPI_ROW_END && vjpi_has(call->facts, i));
    return asks;
}

/* The steps of a dense array with an element of `size` bytes per row. */
static void dense_row_steps(const vjpi_call *call, int64_t size, int64_t *step)
{
    for (int32_t d = call->ndim - 1; d >= 0; d--) {
        bool along = call->reduced[d] & VJPI_AXIS;
        step[d] = along ? 0 : size;
        size *= along ? 1 : call->shape[d];
    }
}

static bool is_row_tensor(const vjpi_call *call, int32_t i)
{
    return call->op->tensors[i].shape_rule == VJP_SHAPE_ROW;
}

void vjpi_layout(const vjpi_call *call, bool dense_rows, vjpi_loop *loop)
{
    int32_t leader = leading_operand(call);
    int64_t compute = (int64_t)vjpi_compute_size(call->dtype), row_step[VJP_MAX_DIMS];
    bool keeps_axis = asks_position(call);
    memset(loop, 0, sizeof(*loop));
    dense_row_steps(call, compute, row_step);
    loop->noperands = call->ntensors + (dense_rows ? call->op->nvalues + call->op->nlets : 0) +
                      (call->causal_dim >= 0);
    for (int32_t i = 0; i < loop->noperands; i++) {
        bool dense = i >= call->ntensors || (dense_rows && is_row_tensor(call, i));
        loop->size[i] = dense                        ? compute
                        : vjpi_has(call->facts, i) ? (int64_t)vjp_dtype_size(call->tensors[i].dtype)
                                                   : 0;
    }
    for (int32_t d = 0; d < call->ndim; d++) {
        vjpi_dim dim = { .n = call->shape[d], .reduced = call->reduced[d] };
        if (dim.n == 1)
            continue;
        for (int32_t i = 0; i < call->ntensors; i++)
            dim.step[i] = dense_rows && is_row_tensor(call, i)
                              ? row_step[d] : call->strides[i][d] * loop->size[i];
        for (int32_t i = call->ntensors; i < loop->noperands; i++)
            dim.step[i] = row_step[d];
        if (call->causal_dim >= 0)
            dim.step[loop->noperands - 1] = d == call->causal_dim;
        if (!(keeps_axis && dim.reduced & VJPI_AXIS))
            turn_upwards(loop, &dim, leader);
        insert_sorted(loop, &dim, leader);
    }
    merge(loop);
}

void vjpi_layout_rows(const vjpi_call *call, vjpi_loop *loop)
{
    int32_t dense = call->ntensors;
    int64_t compute = (int64_t)vjpi_compute_size(call->dtype), row_step[VJP_MAX_DIMS];
    memset(loop, 0, sizeof(*loop));
    dense_row_steps(call, compute, row_step);
    loop->noperands = dense + 1 + (call->causal_dim >= 0);
    for (int32_t i = 0; i < dense; i++)
        if (is_row_tensor(call, i) && vjpi_has(call->facts, i))
            loop->size[i] = (int64_t)vjp_dtype_size(call->tensors[i].dtype);
    loop->size[dense] = compute;
    for (int32_t d = 0; d < call->ndim; d++) {
        vjpi_dim dim = { .n = call->shape[d] };
        if (dim.n == 1 || call->reduced[d] & VJPI_AXIS)
            continue;
        for (int32_t i = 0; i < dense; i++)
            dim.step[i] = call->strides[i][d] * loop->size[i];
        dim.step[dense] = row_step[d];
        if (call->causal_dim >= 0)
            dim.step[dense + 1] = d == call->causal_dim;
        insert_sorted(loop, &dim, dense);
    }
    merge(loop);
}
