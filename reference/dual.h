/* SPDX-License-Identifier: Apache-2.0 */
/* dual.h - numbers that carry their derivatives by x and by w along.
 *
 * A number also remembers whether it depends on a variable at all: the flat piece of a clamp
 * does not, and then its gradient is +0 even where the gradient flowing back is infinite or NaN.
 */
#ifndef VJP_REFERENCE_DUAL_H
#define VJP_REFERENCE_DUAL_H

#include <float.h>
#include <math.h>

enum {
    BY_X,
    BY_W,
    DUAL_VARIABLES
};

typedef struct dual {
    long double value;
    int depends[DUAL_VARIABLES];
    long double rate[DUAL_VARIABLES];
} dual;

static inline dual dual_constant(long double value)
{
    return (dual){ value, { 0, 0 }, { 0, 0 } };
}

static inline dual dual_variable(long double value, int by)
{
    dual x = dual_constant(value);
    x.depends[by] = 1;
    x.rate[by] = 1;
    return x;
}

/* The chain rule for f(a, b): df = fa * da + fb * db, over what a and b depend on. */
static inline dual dual_chain(long double value, dual a, long double fa, dual b, long double fb)
{
    dual result = dual_constant(value);
    for (int by = 0; by < DUAL_VARIABLES; by++) {
        result.depends[by] = a.depends[by] || b.depends[by];
        if (a.depends[by] && b.depends[by])
            result.rate[by] = fa * a.rate[by] + fb * b.rate[by];
        else if (result.depends[by])
            result.rate[by] = a.depends[by] ? fa * a.rate[by] : fb * b.rate[by];
    }
    return result;
}

static inline dual dual_add(dual a, dual b)
{
    return dual_chain(a.value + b.value, a, 1, b, 1);
}

static inline dual dual_subtract(dual a, dual b)
{
    return dual_chain(a.value - b.value, a, 1, b, -1);
}

static inline dual dual_multiply(dual a, dual b)
{
    return dual_chain(a.value * b.value, a, b.value, b, a.value);
}

static inline dual dual_divide(dual a, dual b)
{
    return dual_chain(a.value / b.value, a, 1 / b.value, b, -a.value / b.value / b.value);
}

/* The exponential of a finite number is never 0, else an infinite gradient would become NaN. */
static inline dual dual_exp(dual a)
{
    long double e = expl(a.value);
    if (e == 0 && isfinite(a.value))
        e = LDBL_TRUE_MIN;
    return dual_chain(e, a, e, dual_constant(0), 0);
}

static inline dual dual_log(dual a)
{
    return dual_chain(logl(a.value), a, 1 / a.value, dual_constant(0), 0);
}

/* dual_pull_back - the gradient that `upstream` becomes when it flows back through y. */
static inline long double dual_pull_back(dual y, int by, long double upstream)
{
    return y.depends[by] ? y.rate[by] * upstream : 0.0L;
}

#endif
