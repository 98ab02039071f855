/* SPDX-License-Identifier: Apache-2.0 */
/* oracle.c - the forward functions, one table line per operator, and three ways to go back:
 * element by element, element by element with a folded parameter gradient, and row by row.
 *
 * Where a derivative does not exist, the side taken is the one docs/operators/ states.
 */
#include "oracle.h"

#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "dtypes.h"
#include "dual.h"

typedef struct oracle_query {
    const problem *p;
    const double *const *inputs;
    oracle_visit visit;
    void *user;
} oracle_query;

typedef struct oracle_entry {
    const char *op;
    dual (*forward)(const problem *p, dual x, dual w);
    void (*answer)(const struct oracle_entry *entry, const oracle_query *query);
    long double (*ulps)(const problem *p, int gradient_is_one);
    oracle_domain (*domain)(const problem *p, int32_t input);
} oracle_entry;

/* ---- forward functions -------------------------------------------------------------------- */

static dual relu(const problem *p, dual x, dual w)
{
    (void)p, (void)w;
    return x.value > 0 ? x : dual_constant(0);
}

static dual prelu(const problem *p, dual x, dual w)
{
    (void)p;
    return x.value > 0 ? x : dual_multiply(w, x);
}

/* Which piece of the clamp applies is decided on the line as the library's compute type has it. */
static dual hardsigmoid(const problem *p, dual x, dual w)
{
    (void)w;
    float alpha = (float)problem_attr(p, "alpha").value.f64;
    float beta = (float)problem_attr(p, "beta").value.f64;
    double line = p->tensors[0].dtype == VJP_F64 ? fma((double)alpha, (double)x.value, (double)beta)
                                                 : (double)fmaf(alpha, (float)x.value, beta);
    if (!(line > 0 && line < 1))
        return dual_constant(line >= 1 ? 1 : 0);
    return dual_add(dual_multiply(dual_constant(alpha), x), dual_constant(beta));
}

/* Both pieces are the logistic function; each is accurate on its own side of 0. */
static dual logistic(dual x)
{
    dual one = dual_constant(1);
    if (x.value >= 0)
        return dual_divide(one, dual_add(one, dual_exp(dual_subtract(dual_constant(0), x))));
    dual e = dual_exp(x);
    return dual_divide(e, dual_add(one, e));
}

/* The logistic function seen from its result y: x = log(y) - log(1 - y), so dy/dx = 1 / (dx/dy). */
static dual logistic_by_result(dual y)
{
    dual x = dual_subtract(dual_log(y), dual_log(dual_subtract(dual_constant(1), y)));
    dual result = y;
    result.rate[BY_X] = 1 / x.rate[BY_X];
    return result;
}

static dual sigmoid(const problem *p, dual x, dual w)
{
    (void)w;
    return problem_attr(p, "use_dst").value.b ? logistic_by_result(x) : logistic(x);
}

/* ---- bounds and domains ------------------------------------------------------------------- */

static long double ulps_exact(const problem *p, int gradient_is_one)
{
    (void)p, (void)gradient_is_one;
    return 0.5L;
}

static long double ulps_hardsigmoid(const problem *p, int gradient_is_one)
{
    (void)gradient_is_one;
    return dtype_is_16_bit(p->tensors[0].dtype) ? 0.5005L : 0.5L;
}

static long double ulps_prelu(const problem *p, int gradient_is_one)
{
    (void)gradient_is_one;
    return p->tensors[1].dtype != p->tensors[0].dtype ? 0.5005L : 0.5L;
}

static long double ulps_sigmoid(const problem *p, int gradient_is_one)
{
    if (dtype_is_16_bit(p->tensors[0].dtype))
        return 0.501L;
    if (problem_attr(p, "use_dst").value.b)
        return 2.0L;
    return gradient_is_one ? 2.5L : 3.5L;
}

static oracle_domain domain_any(const problem *p, int32_t input)
{
    (void)p, (void)input;
    return ORACLE_ANY;
}

static oracle_domain domain_modest(const problem *p, int32_t input)
{
    (void)p, (void)input;
    return ORACLE_MODEST;
}

static oracle_domain domain_sigmoid(const problem *p, int32_t input)
{
    return input == 0 && problem_attr(p, "use_dst").value.b ? ORACLE_FRACTION : ORACLE_ANY;
}

static oracle_domain domain_softmax(const problem *p, int32_t input)
{
    (void)p;
    return input == 1 ? ORACLE_FRACTION : ORACLE_MODEST;
}

/* ---- sums --------------------------------------------------------------------------------- */

/* Neumaier's compensated sum: the oracle's own error must vanish beside f64's bound. */
typedef struct long_sum {
    long double plain, lost, magnitude;
} long_sum;

static void sum_add(long_sum *sum, long double term)
{
    long double before = sum->plain;
    sum->plain += term;
    sum->lost +=
        fabsl(before) >= fabsl(term) ? (before - sum->plain) + term : (term - sum->plain) + before;
    sum->magnitude += fabsl(term);
}

static long double sum_total(const long_sum *sum)
{
    return isfinite(sum->plain) ? sum->plain + sum->lost : sum->plain;
}

/* ---- the ways back ------------------------------------------------------------------------ */

static void answer_each(const oracle_entry *entry, const oracle_query *query)
{
    const problem *p = query->p;
    const double *x = query->inputs[0], *upstream = query->inputs[p->op->ninputs - 1];
    bound within = bound_ulps(entry->ulps(p, 0));
    for (int64_t i = 0, n = tensor_count(&p->tensors[0]); i < n; i++) {
        dual y = entry->forward(p, dual_variable(x[i], BY_X), dual_constant(0));
        query->visit(query->user, 0, i, dual_pull_back(y, BY_X, upstream[i]), within);
    }
}

void oracle_slope_strides(const problem *p, int64_t strides[VJP_MAX_DIMS])
{
    const vjp_tensor *src = &p->tensors[0], *slope = &p->tensors[1];
    memset(strides, 0, VJP_MAX_DIMS * sizeof strides[0]);
    if (slope->ndim == 1 && slope->shape[0] != 1) {
        int ncx = strcmp(problem_attr(p, "data_format").value.str, "NCX") == 0;
        strides[ncx && src->ndim > 1 ? 1 : src->ndim - 1] = 1;
        return;
    }
    int64_t step = 1;
    for (int32_t d = slope->ndim - 1; d >= 0; d--) {
        if (slope->shape[d] != 1)
            strides[src->ndim - slope->ndim + d] = step;
        step *= slope->shape[d];
    }
}

static void answer_fold(const oracle_entry *entry, const oracle_query *query)
{
    const problem *p = query->p;
    const double *x = query->inputs[0], *slope = query->inputs[1], *upstream = query->inputs[2];
    int64_t count = tensor_count(&p->tensors[0]), slopes = tensor_count(&p->tensors[1]);
    int64_t strides[VJP_MAX_DIMS], i = 0;
    bound within = bound_ulps(entry->ulps(p, 0));
    long_sum *sums = unit_malloc((size_t)slopes * sizeof *sums);
    for (int64_t s = 0; s < slopes; s++)
        sums[s] = (long_sum){ 0, 0, 0 };
    oracle_slope_strides(p, strides);
    for (walk w = walk_start(p->tensors[0].ndim, p->tensors[0].shape, strides); w.more;
         walk_next(&w), i++) {
        dual y = entry->forward(p, dual_variable(x[i], BY_X), dual_variable(slope[w.offset], BY_W));
        query->visit(query->user, 0, i, dual_pull_back(y, BY_X, upstream[i]), within);
        sum_add(&sums[w.offset], dual_pull_back(y, BY_W, upstream[i]));
    }
    for (int64_t s = 0; s < slopes; s++) {
        long double error = bound_sum_error(p->tensors[0].dtype, count / slopes, sums[s].magnitude);
        query->visit(query->user, 1, s, sum_total(&sums[s]), bound_absolute(error));
    }
    free(sums);
}

int64_t oracle_row_count(const problem *p)
{
    return tensor_count(&p->tensors[0]) / oracle_row_at(p, 0).n;
}

oracle_row oracle_row_at(const problem *p, int64_t index)
{
    const vjp_tensor *shape = &p->tensors[0];
    int64_t axis = problem_attr(p, "axis").value.s64, inner = 1;
    if (axis < 0)
        axis += shape->ndim;
    for (int32_t d = (int32_t)axis + 1; d < shape->ndim; d++)
        inner *= shape->shape[d];
    int64_t n = shape->shape[axis];
    return (oracle_row){ index / inner * n * inner + index % inner, n, inner };
}

static void answer_row(const oracle_query *query, oracle_row row)
{
    const double *upstream = query->inputs[0] + row.start, *y = query->inputs[1] + row.start;
    long_sum sum = { 0, 0, 0 };
    for (int64_t i = 0; i < row.n; i++)
        sum_add(&sum, (long double)y[i * row.step] * upstream[i * row.step]);
    for (int64_t i = 0; i < row.n; i++) {
        long double yi = y[i * row.step], ui = upstream[i * row.step];
        long double error = bound_sum_error(query->p->tensors[0].dtype, row.n,
                                            fabsl(yi) * (fabsl(ui) + sum.magnitude));
        query->visit(query->user, 0, row.start + i * row.step, yi * (ui - sum_total(&sum)),
                     bound_absolute(error));
    }
}

/* Through softmax, the gradient of y_i by x_j is y_i * ((i == j) - y_j). */
static void answer_rows(const oracle_entry *entry, const oracle_query *query)
{
    (void)entry;
    if (tensor_count(&query->p->tensors[0]) == 0)
        return;
    for (int64_t i = 0, n = oracle_row_count(query->p); i < n; i++)
        answer_row(query, oracle_row_at(query->p, i));
}

/* ---- the table ---------------------------------------------------------------------------- */

static const oracle_entry entries[] = {
    { "relu_backward", relu, answer_each, ulps_exact, domain_any },
    { "sigmoid_backward", sigmoid, answer_each, ulps_sigmoid, domain_sigmoid },
    { "hard_sigmoid_backward", hardsigmoid, answer_each, ulps_hardsigmoid, domain_any },
    { "prelu_backward", prelu, answer_fold, ulps_prelu, domain_modest },
    { "softmax_backward", NULL, answer_rows, ulps_exact, domain_softmax },
};

static const oracle_entry *find(const char *op)
{
    for (int64_t i = 0; i < COUNT_OF(entries); i++)
        if (strcmp(entries[i].op, op) == 0)
            return &entries[i];
    return NULL;
}

static const oracle_entry *must_find(const char *op)
{
    const oracle_entry *entry = find(op);
    if (entry == NULL)
        broken("the oracle has no line for %s", op);
    return entry;
}

int oracle_knows(const char *op)
{
    return find(op) != NULL;
}

oracle_domain oracle_home_domain(const problem *p, int32_t home)
{
    oracle_domain narrowest = ORACLE_ANY;
    const oracle_entry *entry = must_find(p->op->name);
    for (int32_t i = 0; i < p->op->ninputs; i++)
        if (p->home[i] == home && entry->domain(p, i) > narrowest)
            narrowest = entry->domain(p, i);
    return narrowest;
}

long double oracle_ulps(const problem *p, int gradient_is_one)
{
    return must_find(p->op->name)->ulps(p, gradient_is_one);
}

void oracle_answer(const problem *p, const double *const *inputs, oracle_visit visit, void *user)
{
    const oracle_entry *entry = must_find(p->op->name);
    oracle_query query = { p, inputs, visit, user };
    entry->answer(entry, &query);
}

long double oracle_forward(const problem *p, long double x, long double w)
{
    return must_find(p->op->name)->forward(p, dual_constant(x), dual_constant(w)).value;
}
