/* SPDX-License-Identifier: Apache-2.0 */
/* values.c - see values.h. */
#include "values.h"

#include <math.h>

#include "dtypes.h"
#include "kinds.h"

int value_same(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b && is_negative(a) == is_negative(b);
}

double value_edge(vjp_dtype dtype, int32_t index)
{
    double tiny = dtype_tiny(dtype), normal = tiny / (double)dtype_ulp(dtype, 1);
    double most = dtype_max(dtype);
    const double edges[VALUE_EDGES / 2 + 1] = {
        0,
        tiny,
        tiny * 3,
        dtype_next(dtype, normal, -1),
        normal,
        0.5,
        dtype_next(dtype, 1, -1),
        1,
        2,
        17.5,
        dtype_next(dtype, 1, +1),
        100,
        most,
        most / 2,
        INFINITY,
        NAN,
    };
    return index <= VALUE_EDGES / 2 ? edges[index] : -edges[index - VALUE_EDGES / 2 - 1];
}

static double any_value(random_state *random, vjp_dtype dtype)
{
    int64_t kind = random_below(random, 10);
    if (kind < 5)
        return dtype_round(dtype, 4 * random_bell(random));
    if (kind < 9)
        return element_from_bits(dtype, random_bits(random) >> (64 - 8 * vjp_dtype_size(dtype)));
    return value_edge(dtype, (int32_t)random_below(random, VALUE_EDGES));
}

static double modest_value(random_state *random, vjp_dtype dtype)
{
    int64_t kind = random_below(random, 20);
    if (kind == 0)
        return random_chance(random, 50) ? 0.0 : -0.0;
    double scale = kind < 3 ? ldexp(1, (int)random_between(random, -12, 6)) : 1;
    return dtype_round(dtype, scale * random_bell(random));
}

static double fraction_value(random_state *random, vjp_dtype dtype)
{
    int64_t kind = random_below(random, 20);
    if (kind < 2)
        return (double)kind;
    double scale = kind < 8 ? ldexp(1, (int)random_between(random, -30, 0)) : 1;
    return dtype_round(dtype, scale * random_unit(random));
}

static double positive_value(random_state *random, vjp_dtype dtype)
{
    double scale = ldexp(1, (int)random_between(random, -3, 2));
    return dtype_round(dtype, scale * (1 + random_unit(random)));
}

double value_draw(random_state *random, vjp_dtype dtype, oracle_domain domain, int specials)
{
    static const double special[] = { NAN, INFINITY, -INFINITY };
    if (specials > 0 && random_chance(random, specials))
        return special[random_below(random, domain >= ORACLE_POSITIVE ? 1 : 3)];
    switch (domain) {
    case ORACLE_ANY:
        return any_value(random, dtype);
    case ORACLE_MODEST:
        return modest_value(random, dtype);
    case ORACLE_POSITIVE:
        return positive_value(random, dtype);
    case ORACLE_LOGARITHM:
        return -fabs(modest_value(random, dtype));
    default:
        return fraction_value(random, dtype);
    }
}

/* Mostly a class; sometimes the label of rows that are left out, or one that leaves them out
 * too. */
static double draw_label(random_state *random, const problem *p)
{
    const vjp_attr_info *ignored = kind_attr(p->op, ROLE_IGNORED);
    int64_t n = oracle_row_length(p);
    if (problem_attr(p, kind_attr(p->op, ROLE_LENIENT)->name).value.b && random_chance(random, 10))
        return random_chance(random, 50) ? (double)n : -1;
    if (n == 0 || random_chance(random, 10))
        return (double)problem_attr(p, ignored->name).value.s64;
    return (double)random_below(random, n);
}

double value_draw_input(random_state *random, const problem *p, int32_t t, int specials)
{
    const vjp_tensor_info *info = vjp_op_tensor(p->op, t);
    if (info->flags & VJP_TENSOR_LABEL)
        return draw_label(random, p);
    if (info->flags & VJP_TENSOR_END)
        return (double)random_between(random, -2, oracle_row_length(p) + 2);
    if (info->dtype_rule == VJP_DTYPE_MASK)
        return random_chance(random, 30) ? 0 : random_chance(random, 80) ? 1 : 255;
    return value_draw(random, p->tensors[t].dtype, oracle_home_domain(p, t), specials);
}

void values_save(const problem *p, double *const *inputs)
{
    for (int32_t t = 0; t < p->op->ninputs; t++)
        if (problem_has(p, t) && oracle_is_saved(p, t))
            oracle_save(p, (const double *const *)inputs, t, inputs[t]);
}
