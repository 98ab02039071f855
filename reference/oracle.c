/* SPDX-License-Identifier: Apache-2.0 */
/* oracle.c - see oracle.h. */
#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "dtypes.h"
#include "kinds.h"
#include "number.h"

#include "dual.h"

#include "forward.h"

#include "answer.h"

int oracle_knows(const char *op)
{
    return find_entry(op) != NULL;
}

static int32_t choice_of(const problem *p)
{
    for (int32_t a = 0; a < p->op->nattrs; a++) {
        const vjp_attr_info *info = vjp_op_attr(p->op, a);
        if (info->role == VJP_ROLE_CHOICE && info->type == VJP_ATTR_BOOL)
            return problem_attr(p, info->name).value.b;
        if (info->role == VJP_ROLE_CHOICE)
            return strcmp(problem_attr(p, info->name).value.str, kind_choice(info, 1)) == 0;
    }
    return 0;
}

static oracle_domain domain_of(const problem *p, int32_t input)
{
    const oracle_entry *entry = entry_of(p->op->name);
    return input == 0 && choice_of(p) ? entry->chosen : entry->domains[input];
}

oracle_domain oracle_home_domain(const problem *p, int32_t home)
{
    oracle_domain narrowest = ORACLE_ANY;
    for (int32_t i = 0; i < p->op->ninputs; i++)
        if (p->home[i] == home && domain_of(p, i) > narrowest)
            narrowest = domain_of(p, i);
    return narrowest;
}

const vjp_bound_info *oracle_bound_info(const problem *p, int32_t output)
{
    const char *name = vjp_op_tensor(p->op, p->op->ninputs + output)->name;
    for (int32_t i = 0; i < p->op->nbounds; i++) {
        const vjp_bound_info *info = vjp_op_bound(p->op, i);
        if (strcmp(info->output, name) == 0 && (info->dtypes >> p->tensors[0].dtype & 1) &&
            (info->choice < 0 || info->choice == choice_of(p)))
            return info;
    }
    broken("the library states no bound for %s of %s", name, p->op->name);
}

bound oracle_bound(const problem *p, int32_t output, int64_t n, long double size)
{
    const vjp_bound_info *info = oracle_bound_info(p, output);
    if (info->magnitude == NULL)
        return bound_of_ulps(info->ulp, size);
    if (isnan(size)) /* 0 times an infinite weight: no magnitude, and no promise */
        size = INFINITY;
    return bound_absolute(bound_sum_error(p->tensors[0].dtype, n, info->c, size));
}

long double oracle_ulps(const problem *p, int32_t output, int gradient_is_one)
{
    const vjp_bound_info *info = oracle_bound_info(p, output);
    return gradient_is_one ? info->unit_ulp : info->ulp;
}

void oracle_answer(const problem *p, const double *const *inputs, oracle_visit visit, void *user)
{
    answer(p, inputs, 0, visit, user);
}

int oracle_is_saved(const problem *p, int32_t input)
{
    return entry_of(p->op->name)->saved[input] != NULL;
}

/* What the forward pass saved as input t, by row. */
static void answer_saved(const problem *p, const double *const *inputs, int32_t t,
                         answer_visit visit, void *user)
{
    query q;
    scene s;
    double x[PROBLEM_TENSORS];
    query_start(&q, p, inputs, visit, user);
    for (int64_t r = 0, n = oracle_row_count(p); r < n; r++) {
        int mark = number_mark();
        oracle_row row = oracle_row_at(p, inputs, r);
        open_row(&q, row, x, &s);
        if (row.n > 0)
            look(&q, row, 0, x, &s);
        visit(user, t, r, q.entry->saved[t](&s).value, bound_ulps(0));
        number_release(mark);
    }
    query_end(&q);
}

typedef struct saved {
    vjp_dtype dtype;
    double *values;
} saved;

static void keep_saved(void *user, int32_t input, int64_t row, long double value, bound within)
{
    const saved *to = user;
    (void)input, (void)within;
    to->values[row] = dtype_round(to->dtype, value);
}

void oracle_save(const problem *p, const double *const *inputs, int32_t input, double *values)
{
    saved to = { p->tensors[input].dtype, values };
    answer_saved(p, inputs, input, keep_saved, &to);
}

int oracle_is_forward(const problem *p)
{
    const oracle_entry *entry = entry_of(p->op->name);
    int by_result = entry->known[0] != NULL && entry->known_by[0] == entry->by_x;
    by_result |= choice_of(p) && (entry->chosen != ORACLE_ANY || entry->from_result);
    return entry->forward != NULL && !by_result;
}

long double oracle_flow(const problem *p, const double *const *inputs)
{
    query q;
    scene s;
    double x[PROBLEM_TENSORS];
    total flow;
    total_start(&flow);
    query_start(&q, p, inputs, NULL, NULL);
    for (int64_t r = 0, n = oracle_row_count(p); r < n; r++) {
        oracle_row row = oracle_row_at(p, inputs, r);
        open_row(&q, row, x, &s);
        for (int64_t i = 0; i < (q.per_row ? 1 : row.n) && !row.ignored; i++) {
            look(&q, row, i, x, &s);
            total_add(&flow, number_multiply(number_from(x[q.gradient]),
                                             q.entry->forward(&s).value));
            if (q.entry->passed > 0)
                total_add(&flow, number_multiply(number_from(x[q.entry->passed]), s.in[0].value));
        }
    }
    query_end(&q);
    return number_value(total_number(&flow));
}

long double oracle_forward(const problem *p, long double x, long double w)
{
    const oracle_entry *entry = entry_of(p->op->name);
    double values[PROBLEM_TENSORS] = { 0 };
    scene s = { .p = p, .x = values, .count = 1 };
    values[entry->by_x] = (double)x;
    s.in[entry->by_x] = constant(x);
    if (entry->by_w >= 0) {
        values[entry->by_w] = (double)w;
        s.in[entry->by_w] = constant(w);
    }
    return number_value(function_of(entry)(&s).value);
}
