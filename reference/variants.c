/* SPDX-License-Identifier: Apache-2.0 */
/* variants.c - see variants.h. A number in the mixed radix of the attributes' counts. */
#include "variants.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base.h"
#include "kinds.h"

enum {
    NUMBER_SETS = 2
};

/* Set s gives required number a the value required[s][a % 2]: a rising line that rounds, and a
 * falling one that meets 0 and 1 exactly. Numbers that have defaults keep them in the first set. */
static const float required[NUMBER_SETS][2] = { { 0.2f, 0.5f }, { -0.25f, 0.5f } };
static const double others[2] = { 0.2, 0.5 };

static int32_t words_of(const vjp_attr_info *info)
{
    int32_t n = 0;
    while (kind_choice(info, n) != NULL)
        n++;
    return n;
}

/* All numeric attributes change together: `together` counts them once. */
static int32_t choices_of(const vjp_attr_info *info, int32_t *together)
{
    if (info->role == VJP_ROLE_FORMAT || info->role == VJP_ROLE_CHANNELS ||
        info->type == VJP_ATTR_S64)
        return 1;
    if (info->type == VJP_ATTR_BOOL)
        return 2;
    if (info->type == VJP_ATTR_STR)
        return words_of(info);
    return (*together)++ == 0 ? NUMBER_SETS : 1;
}

int32_t variant_count(const vjp_op_info *op)
{
    int32_t count = 1, together = 0;
    for (int32_t i = 0; i < op->nattrs; i++)
        count *= choices_of(vjp_op_attr(op, i), &together);
    return count;
}

static void add_number(problem *p, const vjp_attr_info *info, int32_t set, int32_t which)
{
    if (info->required)
        problem_add_attr(p, vjp_attr_f32(info->name, required[set][which % 2]));
    else if (set > 0)
        problem_add_attr(p, vjp_attr_f64(info->name, others[which % 2]));
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
        if (info->type == VJP_ATTR_BOOL && choices == 2)
            problem_add_attr(&p, vjp_attr_bool(info->name, choice));
        else if (info->type == VJP_ATTR_STR && choices > 1)
            problem_add_attr(&p, vjp_attr_str(info->name, kind_choice(info, choice)));
        else if (info->type == VJP_ATTR_F64) {
            set = earlier == 0 ? choice : set;
            add_number(&p, info, set, earlier);
        }
    }
    return p;
}

/* The fewest digits that give the same number. */
static int digits_of(double value, int is_float)
{
    char text[32];
    for (int digits = 1; digits < 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (is_float ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
            return digits;
    }
    return 17;
}

const char *variant_value(const vjp_attr *attr, char text[VARIANT_TEXT])
{
    if (attr->type == VJP_ATTR_BOOL)
        snprintf(text, VARIANT_TEXT, "%d", (int)attr->value.b);
    else if (attr->type == VJP_ATTR_F32)
        snprintf(text, VARIANT_TEXT, "%.*g", digits_of((double)attr->value.f32, 1),
                 (double)attr->value.f32);
    else if (attr->type == VJP_ATTR_F64)
        snprintf(text, VARIANT_TEXT, "%.*g", digits_of(attr->value.f64, 0), attr->value.f64);
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
