/* SPDX-License-Identifier: Apache-2.0 */
/* named.c - the numbers that operators are used with under other names, forward and backward. */
#include <string.h>

#include "exhaustive.h"

enum {
    NUMBERS = 3
};

typedef struct named_set {
    const char *op; /* the forward operator */
    struct {
        const char *attr; /* NULL behind the last */
        double value;
    } numbers[NUMBERS];
} named_set;

static const named_set sets[] = {
    { "silu", { { "alpha", 1.702 } } },                                           /* quick-GELU */
    { "elu", { { "alpha", 1.6732632423543772 }, { "scale", 1.0507009873554805 } } }, /* SELU */
    { "elu", { { "alpha", 2 }, { "input_scale", 0.5 } } },                        /* CELU of 2 */
    { "softplus", { { "beta", 0.5 } } },
    { "softplus", { { "beta", 20 } } },
    { "swiglu", { { "alpha", 1.702 }, { "limit", 7 }, { "bias", 1 } } }, /* gpt-oss's */
};

static int is_of(const named_set *set, const vjp_op_info *op)
{
    size_t length = strlen(set->op);
    return strncmp(op->name, set->op, length) == 0 &&
           (op->name[length] == 0 || strcmp(op->name + length, "_backward") == 0);
}

static const named_set *find(const vjp_op_info *op, int32_t index)
{
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (is_of(&sets[i], op) && index-- == 0)
            return &sets[i];
    return NULL;
}

int32_t named_count(const vjp_op_info *op)
{
    int32_t n = 0;
    while (find(op, n) != NULL)
        n++;
    return n;
}

problem named_problem(const problem *p, int32_t index)
{
    problem named = *p;
    const named_set *set = find(p->op, index);
    for (int i = 0; i < NUMBERS && set->numbers[i].attr != NULL; i++)
        problem_add_attr(&named, vjp_attr_f64(set->numbers[i].attr, set->numbers[i].value));
    return named;
}

int named_sets_numbers(const problem *p)
{
    for (int32_t i = 0; i < p->nattrs; i++)
        if (p->attrs[i].type == VJP_ATTR_F64)
            return 1;
    return 0;
}
