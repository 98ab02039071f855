/* SPDX-License-Identifier: Apache-2.0 */
/* plans.c - see plans.h. */
#include "plans.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

static const vjpi_cuda_kernel_set *set_of(vjp_dtype dtype)
{
    switch (dtype) {
#define DTYPE(name, suffix, ...) \
    case VJP_##suffix:           \
        return &vjpi_cuda_kernel_set_##name;
#define STORED(name, suffix, ...) case VJP_##suffix:
#include "dtypes.def"
        break;
    }
    return NULL;
}

bool cuda_case_open(cuda_case *c, const drawn *d, vjpi_cuda_limits limits)
{
    char text[VJP_REASON_SIZE] = "";
    memset(c, 0, sizeof *c);
    c->d = d;
    vjp_status status = vjpi_check(d->op->name, d->attrs, d->nattrs, d->given, d->ntensors,
                                   &c->call, vjpi_reason_begin(text, sizeof text));
    if (status != VJP_OK)
        return false;
    c->plan.set = set_of(c->call.dtype);
    c->plan.kernels = &c->plan.set->kernels[c->call.op->formula][c->call.variant][c->call.mixed];
    c->plan.limits = limits;
    vjpi_cuda_prepare(&c->call, &c->plan, &c->workspace_size);
    return true;
}

static int describe_tensor(const drawn *d, int32_t i, char *text, size_t size)
{
    const vjp_tensor *t = d->given[i];
    int n = snprintf(text, size, "\n  %s %s", vjp_op_tensor(d->op, i)->name,
                     t ? vjp_dtype_name(t->dtype) : "not given");
    for (int32_t j = 0; t && j < t->ndim && (size_t)n < size; j++)
        n += snprintf(text + n, size - (size_t)n, " %" PRId64 "@%" PRId64, t->shape[j],
                      t->strides[j]);
    return n;
}

void cuda_fail(const cuda_case *c, const char *what, int64_t number)
{
    char text[2048] = "";
    int n = 0;
    for (int32_t i = 0; i < c->d->ntensors && (size_t)n < sizeof text; i++)
        n += describe_tensor(c->d, i, text + n, sizeof text - (size_t)n);
    fail_msg("%s (%" PRId64 "), clusters of %d, seed %" PRIu64 ": %s, axis %d to %d%s", what,
             number, (int)c->plan.limits.most_cluster, random_seed(), c->d->op->name,
             (int)c->d->axis, (int)c->d->last_axis, text);
    abort(); /* not reached */
}

bool cuda_partials_fit(const cuda_case *c, const vjpi_cuda_launch *l)
{
    int64_t partials = l->loop.nsegments * l->loop.nouts * l->loop.nsums * c->plan.compute_size;
    return l->loop.nsegments <= 1 ||
           (size_t)(c->plan.arrays_size + partials + c->plan.compute_size - 1) <=
               c->workspace_size;
}
