/* SPDX-License-Identifier: Apache-2.0 */
/* doubles.c - see doubles.h. The oracle's mathematics over doubles. */
#include "doubles.h"

#include <math.h>
#include <string.h>

#include "base.h"
#include "double_number.h"
#include "oracle.h"
#include "quick.h"

#define DUAL_HAS_ONE_VARIABLE
#include "dual.h"

#include "forward.h"

#include "pointwise.h"

/* Of 53 bits, f32 and the error that is allowed need 36. */
static int has_cancelled(const dual *y) { return fabs(y->rate[0]) < 0x1p-13 * y->size[0]; }

/* Points whose inputs are stored before any function is called: it loads them with wider
 * instructions, which wait until the stores are done. */
enum {
    TOGETHER = 8
};

typedef struct group {
    pointwise at[TOGETHER];
    attr_memory memory;
    int32_t output;
} group;

static void group_start(group *g, const problem *p, int32_t output)
{
    const oracle_entry *entry = entry_of(p->op->name);
    g->memory.count = 0;
    g->output = output;
    for (int i = 0; i < TOGETHER; i++)
        pointwise_start(&g->at[i], p, entry, &g->memory, output > 0);
}

static int factor_at(const group *g, const pointwise *f, double x, double w, double *factor)
{
    dual y = pointwise_result(f);
    if (f->entry->forward == NULL) {
        *factor = y.value;
        return 1;
    }
    *factor = y.depends ? y.rate[0] : 0;
    if (y.depends && has_cancelled(&y)) {
        long double longer;
        quick_factor(f->s.p, g->output, x, w, &longer);
        *factor = (double)longer;
    }
    return (int)y.depends;
}

void doubles_factors(const problem *p, int32_t output, int64_t n, const double *x, const double *w,
                     double *factors, unsigned char *depends)
{
    group g;
    group_start(&g, p, output);
    for (int64_t first = 0; first < n; first += TOGETHER) {
        int64_t end = first + TOGETHER < n ? first + TOGETHER : n;
        for (int64_t i = first; i < end; i++)
            pointwise_move(&g.at[i - first], x[i], w[i]);
        for (int64_t i = first; i < end; i++)
            depends[i] =
                (unsigned char)factor_at(&g, &g.at[i - first], x[i], w[i], &factors[i]);
    }
}
