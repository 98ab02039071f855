/* SPDX-License-Identifier: Apache-2.0 */
/* values.c - see values.h. */
#include "values.h"

#include <math.h>

#include "dtypes.h"

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

static int64_t axis_length(const problem *p)
{
    int32_t first, end;
    int64_t length = 1;
    problem_axis(p, p->tensors[0].ndim, &first, &end);
    for (int32_t d = first; d < end; d++)
        length *= p->tensors[0].shape[d];
    return length;
}

double value_integer(random_state *random, const problem *p, int32_t input)
{
    const vjp_tensor_info *info = vjp_op_tensor(p->op, input);
    int64_t length = axis_length(p);
    if (info->dtype_rule == VJP_DTYPE_MASK)
        return (double)random_below(random, 2);
    for (int32_t i = 0; i < p->op->nattrs && (info->flags & VJP_TENSOR_LABEL); i++)
        if (vjp_op_attr(p->op, i)->role == VJP_ROLE_IGNORED &&
            (length == 0 || random_chance(random, 5)))
            return (double)problem_attr(p, vjp_op_attr(p->op, i)->name).value.s64;
    if (info->flags & VJP_TENSOR_LABEL)
        return (double)random_below(random, length > 0 ? length : 1);
    return (double)random_between(random, 0, length);
}

double value_draw(random_state *random, vjp_dtype dtype, oracle_domain domain, int specials)
{
    static const double special[] = { NAN, INFINITY, -INFINITY };
    if (specials > 0 && random_chance(random, specials))
        return special[random_below(random, domain == ORACLE_FRACTION ? 1 : 3)];
    switch (domain) {
    case ORACLE_ANY:
        return any_value(random, dtype);
    case ORACLE_MODEST:
        return modest_value(random, dtype);
    default:
        return fraction_value(random, dtype);
    }
}
