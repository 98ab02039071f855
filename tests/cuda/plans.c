/* SPDX-License-Identifier: Apache-2.0 */
/* plans.c - see plans.h. */
#include "plans.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "unit.h"

/* As kernels_of in kernels.cu: NULL is what an operator of this kind never launches. */
static vjpi_cuda_kernels fake_kernels(vjpi_op_kind kind)
{
    static const char addresses[sizeof(vjpi_cuda_kernels) / sizeof(void *)];
    vjpi_cuda_kernels k, none = { .flat = NULL };
    const void *at[COUNT_OF(addresses)];
    for (int64_t i = 0; i < COUNT_OF(addresses); i++)
        at[i] = &addresses[i];
    memcpy(&k, at, sizeof k);
    if (kind == VJPI_FOLD) {
        memcpy(k.map, none.map, sizeof k.map);
        memcpy(k.turned, none.turned, sizeof k.turned);
    }
    if (kind != VJPI_MAP)
        k.flat = NULL;
    if (kind != VJPI_ROW) {
        memcpy(k.row, none.row, sizeof k.row);
        memcpy(k.longer, none.longer, sizeof k.longer);
        memcpy(k.column, none.column, sizeof k.column);
    }
    if (kind == VJPI_MAP) {
        memcpy(k.along, none.along, sizeof k.along);
        memcpy(k.across, none.across, sizeof k.across);
        k.join = NULL;
    }
    return k;
}

void cuda_case_open(cuda_case *c, const problem *p, int32_t most_cluster)
{
    const vjp_tensor *tensors[PROBLEM_TENSORS];
    char text[VJP_REASON_SIZE] = "";
    memset(c, 0, sizeof *c);
    c->p = p;
    for (int32_t t = 0; t < p->ntensors; t++)
        tensors[t] = &p->tensors[t];
    assert_status(VJP_OK,
                  vjpi_check(p->op->name, p->attrs, p->nattrs, tensors, p->ntensors, &c->call,
                             vjpi_reason_begin(text, sizeof text)),
                  text);
    c->kernels = fake_kernels(c->call.op->kind);
    c->plan.kernels = &c->kernels;
    c->plan.most_cluster = most_cluster;
    vjpi_cuda_prepare(&c->call, &c->plan, &c->workspace_size);
}

void cuda_fail(const cuda_case *c, const char *what, int64_t number)
{
    char text[PROBLEM_TEXT];
    fail_msg("%s (%" PRId64 "), clusters of %d, seed %" PRIu64 ":\n%s", what, number,
             (int)c->plan.most_cluster, random_seed(), problem_describe(c->p, text));
    abort(); /* not reached */
}

bool cuda_partials_fit(const cuda_case *c, const vjpi_cuda_launch *l)
{
    int64_t partials = l->loop.nsegments * l->loop.nouts * c->plan.nsums * c->plan.compute_size;
    return l->loop.nsegments <= 1 ||
           (size_t)(c->plan.rowsums_size + partials + c->plan.compute_size - 1) <=
               c->workspace_size;
}
