/* SPDX-License-Identifier: Apache-2.0 */
/* quick.c - see quick.h. */
#include "quick.h"

#include <math.h>
#include <string.h>

#include "base.h"
#include "number.h"
#include "oracle.h"

#include "dual.h"

#include "forward.h"

/* Names are compared only when the operator changes: the next question is mostly the same. */
static const oracle_entry *last_entry(const vjp_op_info *op)
{
    static _Thread_local const vjp_op_info *last;
    static _Thread_local const oracle_entry *found;
    if (op != last)
        found = entry_of(op->name);
    last = op;
    return found;
}

static inline dual result_at(const problem *p, const oracle_entry *entry, double x, double w)
{
    double values[PROBLEM_TENSORS];
    scene s;
    s.p = p;
    s.x = values;
    s.count = 1;
    values[entry->by_x] = x;
    s.in[entry->by_x] = variable(x, BY_X);
    if (entry->by_w >= 0) {
        values[entry->by_w] = w;
        s.in[entry->by_w] = constant(w);
    }
    return function_of(entry)(&s);
}

int quick_factor(const problem *p, double x, double w, long double *factor)
{
    const oracle_entry *entry = last_entry(p->op);
    if (entry->forward != NULL)
        return quick_slope(p, x, w, factor);
    *factor = result_at(p, entry, x, w).value;
    return 1;
}

int quick_slope(const problem *p, double x, double w, long double *slope)
{
    dual y = result_at(p, last_entry(p->op), x, w);
    int depends = y.depends >> BY_X & 1;
    *slope = depends ? y.rate[BY_X] : 0;
    return depends;
}
