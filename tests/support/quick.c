/* SPDX-License-Identifier: Apache-2.0 */
/* quick.c - see quick.h. */
#include "quick.h"

#include <math.h>
#include <string.h>

#include "base.h"

typedef long double number;

static number from(double a) { return a; }
static number add(number a, number b) { return a + b; }
static number subtract(number a, number b) { return a - b; }
static number multiply(number a, number b) { return a * b; }
static number divide(number a, number b) { return a / b; }
static number exponential(number a) { return expl(a); }

#include "slopes.h"

/* Names are compared only when the operator changes: the next question is mostly the same. */
static slope_function *slope_of(const vjp_op_info *op)
{
    static _Thread_local const vjp_op_info *last;
    static _Thread_local slope_function *found;
    if (op != last)
        found = find_slope(op->name);
    last = op;
    return found;
}

int quick_slope(const problem *p, double x, double w, long double *slope)
{
    slope_function *function = slope_of(p->op);
    *slope = 0;
    return function != NULL && function(p, x, w, slope);
}
