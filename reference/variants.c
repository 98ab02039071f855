/* SPDX-License-Identifier: Apache-2.0 */
/* variants.c - see variants.h. A number of the mixed radix that the attributes make up. */
#include "variants.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base.h"

enum {
    NUMBER_SETS = 2
};

/* Set s gives numeric attribute a the value numbers[s][a % 2]: a rising line that rounds, and a
 * falling one that meets 0 and 1 exactly. */
static const float numbers[NUMBER_SETS][2] = { { 0.2f, 0.5f }, { -0.25f, 0.5f } };

/* All numeric attributes change together: `together` counts them once. */
static int32_t choices_of(const vjp_attr_info *info, int32_t *together)
{
    if (info->type == VJP_ATTR_BOOL)
        return 2;
    if (info->type != VJP_ATTR_F64)
        return 1;
    return (*together)++ == 0 ? NUMBER_SETS : 1;
}

int32_t variant_count(const vjp_op_info *op)
{
    int32_t count = 1, together = 0;
    for (int32_t i = 0; i < op->nattrs; i++)
        count *= choices_of(vjp_op_attr(op, i), &together);
    return count;
}

problem variant_problem(const vjp_op_info *op, int32_t index)
{
    problem p = problem_start(op->name);
    int32_t together = 0, set = 0;
    for (int32_t i = 0; i < op->nattrs; i++) {
        const vjp_attr_info *info = vjp_op_attr(op, i);
        int32_t earlier = together, choices = choices_of(info, &together);
        int32_t choice = index % choices;
        index /= choices;
        if (info->type == VJP_ATTR_BOOL)
            problem_add_attr(&p, vjp_attr_bool(info->name, choice));
        if (info->type != VJP_ATTR_F64)
            continue;
        set = earlier == 0 ? choice : set;
        problem_add_attr(&p, vjp_attr_f32(info->name, numbers[set][earlier % 2]));
    }
    return p;
}

/* The fewest digits that give the same float. */
static int digits_of(float value)
{
    char text[32];
    for (int digits = 1; digits < 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value)
            return digits;
    }
    return 9;
}

const char *variant_value(const vjp_attr *attr, char text[VARIANT_TEXT])
{
    if (attr->type == VJP_ATTR_BOOL)
        snprintf(text, VARIANT_TEXT, "%d", (int)attr->value.b);
    else if (attr->type == VJP_ATTR_F32)
        snprintf(text, VARIANT_TEXT, "%.*g", digits_of(attr->value.f32), (double)attr->value.f32);
    else if (attr->type == VJP_ATTR_S64)
        snprintf(text, VARIANT_TEXT, "%" PRId64, attr->value.s64);
    else
        snprintf(text, VARIANT_TEXT, "%s", attr->value.str);
    return text;
}

const char *variant_name(const problem *p, char text[VARIANT_TEXT])
{
    int used = snprintf(text, VARIANT_TEXT, "%s", p->op->name);
    for (int32_t i = 0; i < p->nattrs; i++) {
        char value[VARIANT_TEXT];
        used += snprintf(text + used, (size_t)(VARIANT_TEXT - used), " %s=%s", p->attrs[i].name,
                         variant_value(&p->attrs[i], value));
        if (used >= VARIANT_TEXT)
            broken("the attributes of %s are too many for a name", p->op->name);
    }
    return text;
}
