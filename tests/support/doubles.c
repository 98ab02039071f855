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

static int slope_at(const problem *p, const oracle_entry *entry, attr_memory *memory,
                    int32_t output, double x, double w, double *slope)
{
    dual y = result_at(p, entry, memory, output > 0, x, w);
    *slope = y.depends ? y.rate[0] : 0;
    if (y.depends && has_cancelled(&y)) {
        long double longer;
        quick_factor(p, output, x, w, &longer);
        *slope = (double)longer;
    }
    return (int)y.depends;
}

void doubles_factors(const problem *p, int32_t output, int64_t n, const double *x, const double *w,
                     double *factors, unsigned char *depends)
{
    const oracle_entry *entry = entry_of(p->op->name);
    attr_memory memory = { .count = 0 };
    for (int64_t i = 0; i < n; i++)
        if (entry->forward != NULL) {
            depends[i] =
                (unsigned char)slope_at(p, entry, &memory, output, x[i], w[i], &factors[i]);
        } else {
            factors[i] = result_at(p, entry, &memory, 0, x[i], w[i]).value;
            depends[i] = 1;
        }
}
