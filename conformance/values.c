/* SPDX-License-Identifier: Apache-2.0 */
/* values.c - cases of an elementwise operator: one long row of numerically difficult elements. */
#include <math.h>
#include <stdlib.h>

#include "base.h"
#include "dtypes.h"
#include "exact.h"
#include "kinds.h"
#include "oracle.h"
#include "points.h"
#include "quick.h"
#include "values.h"
#include "vectors.h"

enum {
    EDGES = VALUE_EDGES * VALUE_EDGES, /* pairs of edge values */
    CHOSEN = 700,                      /* points out of points.h */
    TIES = 60,                         /* results half-way between two numbers, if there are any */
    MOST_TRIES = 200000                /* to find those */
};

/* What an input holds while it is not tried. */
static const double ORDINARY = -1.5;

/* One element of the row: a value for each input. */
typedef struct element {
    double at[PROBLEM_TENSORS];
} element;

/* The row. `inputs` are those that are not the gradient. */
typedef struct elements {
    problem p; /* of one element */
    int32_t inputs[PROBLEM_TENSORS], ninputs;
    int32_t gradient; /* -1: there is none */
    element list[EDGES + CHOSEN + TIES];
    int64_t count;
} elements;

static elements *elements_start(const problem *variant, case_dtypes dtypes)
{
    const int64_t one = 1;
    elements *e = unit_malloc(sizeof *e);
    e->p = *variant;
    e->ninputs = 0;
    e->gradient = kind_gradient(variant->op);
    e->count = 0;
    problem_contiguous(&e->p, dtypes.dtype, dtypes.wide, 1, &one, 1, &one);
    for (int32_t t = 0; t < variant->op->ninputs; t++)
        if (t != e->gradient)
            e->inputs[e->ninputs++] = t;
    return e;
}

static element ordinary_element(void)
{
    element one;
    for (int32_t t = 0; t < PROBLEM_TENSORS; t++)
        one.at[t] = ORDINARY;
    return one;
}

static void add(elements *e, const element *one)
{
    double g = e->gradient >= 0 ? one->at[e->gradient] : 1;
    for (int32_t i = 0; i < e->ninputs; i++) {
        /* Outside the range of the forward function, 0 to 1, there is no limit. */
        double x = one->at[e->inputs[i]];
        int outside =
            oracle_home_domain(&e->p, e->inputs[i]) == ORACLE_FRACTION && (x < 0 || x > 1);
        if (outside && (isinf(x) || !isfinite(g)))
            return;
    }
    e->list[e->count++] = *one;
}

/* ---- edge values -------------------------------------------------------------------------- */

/* Every pair of edge values of one input and the gradient. */
static void add_edges(elements *e, int32_t input)
{
    for (int32_t i = 0; i < VALUE_EDGES; i++)
        for (int32_t j = 0; j < (e->gradient >= 0 ? VALUE_EDGES : 1); j++) {
            element one = ordinary_element();
            one.at[input] = value_edge(e->p.tensors[input].dtype, i);
            if (e->gradient >= 0)
                one.at[e->gradient] = value_edge(e->p.tensors[e->gradient].dtype, j);
            add(e, &one);
        }
}

/* ---- chosen points ------------------------------------------------------------------------ */

static void keep_first(void *user, int32_t output, int64_t index, mpfr_srcptr value)
{
    (void)index;
    if (output == 0)
        mpfr_set(user, value, MPFR_RNDN);
}

/* The first output of one element of finite inputs. */
static void result_of(const elements *e, const element *one, mpfr_t result)
{
    const double *inputs[PROBLEM_TENSORS];
    for (int32_t t = 0; t < e->p.op->ninputs; t++)
        inputs[t] = &one->at[t];
    exact_answer(&e->p, inputs, keep_first, result);
}

/* What the gradient is multiplied by. */
static double slope_of(const elements *e, element one)
{
    mpfr_t slope;
    mpfr_init2(slope, EXACT_BITS);
    one.at[e->gradient] = 1;
    result_of(e, &one, slope);
    double value = mpfr_get_d(slope, MPFR_RNDN);
    mpfr_clear(slope);
    return value;
}

/* Values for the inputs after the first. One is drawn even where there is none, so that operators
 * with and without a second input get the same first ones. */
static void draw_others(const elements *e, random_state *random,
                        double (*draw)(random_state *random, vjp_dtype dtype), element *one)
{
    for (int32_t i = 1; i < e->ninputs || i == 1; i++) {
        double value = draw(random, e->p.tensors[0].dtype);
        if (i < e->ninputs)
            one->at[e->inputs[i]] = dtype_round(e->p.tensors[e->inputs[i]].dtype, value);
    }
}

static double draw_any_size(random_state *random, vjp_dtype dtype)
{
    double value = random_bell(random);
    (void)dtype;
    return value * ldexp(1, (int)random_between(random, -9, 3));
}

static void add_chosen(elements *e, random_state *random)
{
    vjp_dtype dtype = e->p.tensors[0].dtype;
    gradient_source source = gradient_source_of(dtype);
    points list = points_list(&e->p);
    for (int64_t i = 0; i < CHOSEN; i++) {
        element one = ordinary_element();
        one.at[e->inputs[0]] = i < CHOSEN / 2 ? list.at[i * list.count / (CHOSEN / 2)]
                                              : point_draw(random, dtype, &list);
        draw_others(e, random, draw_any_size, &one);
        if (e->gradient >= 0)
            one.at[e->gradient] = gradient_draw(&source, random, (gradient_kind)(i % GRADIENTS),
                                                slope_of(e, one));
        add(e, &one);
    }
    points_free(&list);
}

/* ---- ties --------------------------------------------------------------------------------- */

/* Few digits, and every second time 0. */
static double draw_simple(random_state *random, vjp_dtype dtype)
{
    double value = random_bell(random);
    return dtype_round(dtype, value * (double)random_between(random, 0, 1));
}

static double draw_short_gradient(random_state *random, vjp_dtype dtype)
{
    double digits = (double)random_between(random, -4096, 4096);
    return dtype_round(dtype, digits * ldexp(1, (int)random_between(random, -30, 4)));
}

static int is_tie(const elements *e, const element *one)
{
    vjp_dtype dtype = e->p.tensors[e->p.op->ninputs].dtype;
    mpfr_t exact;
    mpfr_init2(exact, EXACT_BITS);
    result_of(e, one, exact);
    int tie = exact_error(dtype, exact, exact_rounded(dtype, exact)) == 0.5;
    mpfr_clear(exact);
    return tie;
}

/* The same by long doubles, in a hundredth of the time; where they are not sure, it may be. */
static int may_be_tie(const elements *e, const element *one)
{
    vjp_dtype dtype = e->p.tensors[e->p.op->ninputs].dtype;
    double w = e->ninputs > 1 ? one->at[e->inputs[1]] : 0;
    long double factor;
    quick_factor(&e->p, 0, one->at[e->inputs[0]], w, &factor);
    long double result = e->gradient >= 0 ? factor * one->at[e->gradient] : factor;
    long double error = fabsl(result - dtype_round(dtype, result)) / dtype_ulp(dtype, result);
    return !(fabsl(error - 0.5L) > 0.01L);
}

/* Elements whose exact result is half-way between two numbers of the dtype. */
static void add_ties(elements *e, random_state *random)
{
    vjp_dtype dtype = e->p.tensors[0].dtype;
    for (int64_t tries = 0, found = 0; tries < MOST_TRIES && found < TIES; tries++) {
        element one = ordinary_element();
        one.at[e->inputs[0]] = dtype_round(dtype, random_bell(random));
        draw_others(e, random, draw_simple, &one);
        if (e->gradient >= 0)
            one.at[e->gradient] = draw_short_gradient(random, dtype);
        if (!may_be_tie(e, &one) || !is_tie(e, &one))
            continue;
        add(e, &one);
        found++;
    }
}

/* ---- turns -------------------------------------------------------------------------------- */

/* Inputs next to where the slope changes its sign, with gradients of every kind. */
static void add_turns(elements *e, random_state *random)
{
    vjp_dtype dtype = e->p.tensors[0].dtype;
    gradient_source source = gradient_source_of(dtype);
    points list = points_list(&e->p);
    for (int64_t i = list.first_turn; i < list.count && e->gradient >= 0; i++)
        for (int kind = 0; kind < GRADIENTS && e->count < EDGES; kind++) {
            element one = ordinary_element();
            one.at[e->inputs[0]] = list.at[i];
            draw_others(e, random, draw_any_size, &one);
            one.at[e->gradient] =
                gradient_draw(&source, random, (gradient_kind)kind, slope_of(e, one));
            add(e, &one);
        }
    points_free(&list);
}

/* ---- cases -------------------------------------------------------------------------------- */

static void add_case(vector_file *f, const elements *e, case_dtypes dtypes, int32_t number,
                     const char *what)
{
    problem p = e->p;
    double *inputs[PROBLEM_TENSORS];
    problem_contiguous(&p, dtypes.dtype, dtypes.wide, 1, &e->count, 1, &e->count);
    for (int32_t t = 0; t < p.op->ninputs; t++) {
        inputs[t] = unit_malloc((size_t)e->count * sizeof *inputs[t]);
        for (int64_t i = 0; i < e->count; i++)
            inputs[t][i] = e->list[i].at[t];
    }
    file_add(f, &p, number, what, inputs);
}

/* "values" tries the last input that is not the gradient at its edge values, and everything else. A
 * case "edges-NAME" for each input before it tries the edge values of that one; "turns" the places
 * where the slope changes its sign, if there are any. */
void values_cases(vector_file *f, const problem *variant, int32_t number, case_dtypes dtypes)
{
    random_state random = random_start(1, (uint64_t)number);
    elements *e = elements_start(variant, dtypes);
    add_edges(e, e->inputs[e->ninputs - 1]);
    add_chosen(e, &random);
    add_ties(e, &random);
    add_case(f, e, dtypes, number, "values");
    for (int32_t i = 0; i < e->ninputs - 1; i++) {
        char what[64];
        snprintf(what, sizeof what, "edges-%s", vjp_op_tensor(e->p.op, e->inputs[i])->name);
        e->count = 0;
        add_edges(e, e->inputs[i]);
        add_case(f, e, dtypes, number, what);
    }
    e->count = 0;
    add_turns(e, &random);
    if (e->count > 0)
        add_case(f, e, dtypes, number, "turns");
    free(e);
}
