/* SPDX-License-Identifier: Apache-2.0 */
/* test_family_edges.c - the edge values of every activation, a test by name for each: kinks, zeros,
 * infinities, NaN, and the tails where a textbook formula returns 0 or NaN.
 *
 * Every row is tried in each dtype that holds its inputs, on every instruction set, in a tensor
 * long enough to have both whole vectors and a tail.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contexts.h"
#include "dtypes.h"
#include "family_edges.h"
#include "kinds.h"
#include "trial.h"
#include "unit.h"
#include "values.h"

enum {
    LENGTH = 67,
    TEXT = 256
};

/* ---- one operator -------------------------------------------------------------------------- */

static const vjp_attr_info *attr_named(const vjp_op_info *op, const char *name, size_t length)
{
    for (int32_t i = 0; i < op->nattrs; i++) {
        const vjp_attr_info *info = vjp_op_attr(op, i);
        if (strlen(info->name) == length && strncmp(info->name, name, length) == 0)
            return info;
    }
    fail_msg("%s has no attribute %.*s", op->name, (int)length, name);
    abort(); /* not reached */
}

static vjp_attr attr_from(const vjp_attr_info *info, const char *value)
{
    int32_t choice = 0;
    if (info->type == VJP_ATTR_BOOL)
        return vjp_attr_bool(info->name, atoi(value));
    if (info->type == VJP_ATTR_F64)
        return vjp_attr_f64(info->name, strtod(value, NULL));
    while (kind_choice(info, choice) != NULL && strcmp(kind_choice(info, choice), value) != 0)
        choice++;
    return vjp_attr_str(info->name, kind_choice(info, choice));
}

/* The row's operator with its attributes, which are written "name=value name=value". */
static problem problem_of(const family_edge *e)
{
    problem p = problem_start(e->op);
    char text[TEXT], *rest = text;
    strncpy(text, e->attrs, sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (char *word = strtok_r(rest, " ", &rest); word != NULL; word = strtok_r(rest, " ", &rest)) {
        size_t length = strcspn(word, "=");
        problem_add_attr(&p, attr_from(attr_named(p.op, word, length), word + length + 1));
    }
    return p;
}

/* ---- one row ------------------------------------------------------------------------------- */

static int dtype_holds(vjp_dtype dtype, double value)
{
    return isnan(value) || dtype_round(dtype, value) == value;
}

static int is_expected(const family_edge *e, double wanted, double got)
{
    return e->kind == EDGE_ZERO ? got == 0 : value_same(wanted, got);
}

/* The operator at one place, repeated; the result is `wanted` or, of EDGE_TRUE, within its
 * bound. */
static void check_at(const family_edge *e, const problem *op, vjp_dtype dtype, double g,
                     double wanted)
{
    problem p = *op;
    int32_t gradient = kind_gradient(p.op), output = p.op->ninputs + e->output;
    problem_contiguous(&p, dtype, dtype, 1, (int64_t[]){ LENGTH }, 1, (int64_t[]){ 1 });
    for (int isa = 0; isa < ISAS; isa++) {
        trial t;
        if (isa_contexts[isa] == NULL)
            continue;
        trial_open(&t, &p, 0);
        for (int32_t i = 0; i < p.op->ninputs; i++)
            trial_set(&t, i, i == gradient ? &g : i == 0 ? &e->x : &e->w, 1);
        trial_run(&t, isa_contexts[isa], 0xa5);
        if (e->kind == EDGE_TRUE)
            trial_check(&t);
        for (int64_t i = 0; i < LENGTH && e->kind != EDGE_TRUE; i++)
            if (!is_expected(e, wanted, trial_get(&t, output, i)))
                fail_msg("%s %s %s on %s: %a, %a, gradient %a gives %a, not %a", e->op, e->attrs,
                         vjp_dtype_name(dtype), all_isas[isa], e->x, e->w, g,
                         trial_get(&t, output, i), wanted);
        trial_close(&t);
    }
}

static void check_in(const family_edge *e, const problem *op, vjp_dtype dtype)
{
    static const double any[] = { 1, -1.5, 0.0, -0.0, INFINITY, -INFINITY, NAN, 0x1p-24, 60000 };
    static const double finite[] = { 1, -1.5, 0x1p-14 };
    switch (e->kind) {
    case EDGE_PLUS_ZERO:
        for (int64_t i = 0; i < COUNT_OF(any); i++)
            if (dtype_holds(dtype, any[i]))
                check_at(e, op, dtype, any[i], 0.0);
        break;
    case EDGE_TIMES:
        for (int64_t i = 0; i < COUNT_OF(finite); i++)
            check_at(e, op, dtype, finite[i], dtype_round(dtype, finite[i] * e->value));
        break;
    case EDGE_TRUE:
    case EDGE_ZERO:
        check_at(e, op, dtype, dtype_holds(dtype, e->value) ? e->value : 1, 0);
        break;
    case EDGE_IS:
        check_at(e, op, dtype, 1, dtype_round(dtype, e->value));
        break;
    }
}

static void an_edge_is_as_stated(void **state)
{
    const family_edge *e = *state;
    if (vjp_op_find(e->op) == NULL)
        fail_msg("there is no operator %s", e->op);
    problem p = problem_of(e);
    for (int64_t i = 0; i < COUNT_OF(all_dtypes); i++)
        if (dtype_holds(all_dtypes[i], e->x) && dtype_holds(all_dtypes[i], e->w))
            check_in(e, &p, all_dtypes[i]);
}

/* ---- the family ---------------------------------------------------------------------------- */

/* Rows of operators that the library lacks are failures, listed once. */
static void every_operator_of_the_table_exists(void **state)
{
    (void)state;
    int missing = 0;
    for (int64_t i = 0; i < family_edge_count; i++) {
        int first = i == 0 || strcmp(family_edges[i].op, family_edges[i - 1].op) != 0;
        if (first && vjp_op_find(family_edges[i].op) == NULL) {
            print_error("there is no operator %s\n", family_edges[i].op);
            missing++;
        }
    }
    assert_int_equal(missing, 0);
}

/* A NaN in src gives NaN in every operator that has one input and no gradient. */
static void nan_stays_nan_in_every_forward_operator(void **state)
{
    (void)state;
    for (int32_t i = 0; i < vjp_op_count(); i++) {
        const vjp_op_info *op = vjp_op_at(i);
        family_edge e = { op->name, "", "NaN", NAN, 0, EDGE_IS, NAN, 0 };
        problem p = problem_start(op->name);
        if (kind_gradient(op) >= 0 || kind_has_rows(op) || op->noutputs != 1)
            continue;
        for (int32_t a = 0, numbers = 0; a < op->nattrs; a++)
            if (vjp_op_attr(op, a)->required)
                problem_add_attr(&p, vjp_attr_f64(vjp_op_attr(op, a)->name, ++numbers));
        for (int64_t d = 0; d < COUNT_OF(all_dtypes); d++)
            check_in(&e, &p, all_dtypes[d]);
    }
}

int main(void)
{
    struct CMUnitTest *tests = unit_malloc(((size_t)family_edge_count + 2) * sizeof *tests);
    size_t n = 0;
    tests[n++] = unit_named("the family", "every operator of the table exists",
                            every_operator_of_the_table_exists, NULL);
    tests[n++] = unit_named("the family", "NaN stays NaN in every forward operator",
                            nan_stays_nan_in_every_forward_operator, NULL);
    for (int64_t i = 0; i < family_edge_count; i++)
        if (vjp_op_find(family_edges[i].op) != NULL)
            tests[n++] = unit_named(family_edges[i].op, family_edges[i].what, an_edge_is_as_stated,
                                    &family_edges[i]);
    int failed = _cmocka_run_group_tests("family edges", tests, n, isa_contexts_open,
                                         isa_contexts_close);
    free(tests);
    return failed;
}
