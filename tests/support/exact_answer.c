/* SPDX-License-Identifier: Apache-2.0 */
/* exact_answer.c - whole problems by MPFR; see exact.h. Operators are elementwise and have a line in
 * slopes.h, or have sums and a line at the end of this file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "exact.h"
#include "oracle.h"

enum {
    SUM_BITS = 4700 /* any sum of products of two doubles, exactly */
};

static void answer_elements(const problem *p, const double *const *inputs, exact_visit visit,
                            void *user)
{
    int32_t gradient = problem_tensor(p, "diff_dst");
    int64_t strides[VJP_MAX_DIMS], i = 0;
    mpfr_t value;
    mpfr_init2(value, EXACT_BITS);
    memset(strides, 0, sizeof strides);
    if (p->op->ninputs > 2)
        oracle_slope_strides(p, strides);
    for (walk w = walk_start(p->tensors[0].ndim, p->tensors[0].shape, strides); w.more;
         walk_next(&w), i++) {
        double x = inputs[0][i], g = inputs[gradient][i];
        double slope = p->op->ninputs > 2 ? inputs[1][w.offset] : 0;
        if (!isfinite(x) || !isfinite(slope) || !isfinite(g))
            continue;
        if (exact_slope(p, x, slope, value))
            mpfr_mul_d(value, value, g, MPFR_RNDN);
        visit(user, 0, i, value);
    }
    mpfr_clear(value);
}

/* sum += a * b; NaN if either is not finite, so that the sum is not visited. */
static void add_product(mpfr_t sum, double a, double b)
{
    mpfr_t product;
    mpfr_init2(product, 2 * 53);
    mpfr_set_d(product, isfinite(a) && isfinite(b) ? a : (double)NAN, MPFR_RNDN);
    mpfr_mul_d(product, product, b, MPFR_RNDN);
    mpfr_add(sum, sum, product, MPFR_RNDN);
    mpfr_clear(product);
}

/* PReLU's second output: what flows back to each slope where it was used. */
static void answer_prelu_slopes(const problem *p, const double *const *inputs, exact_visit visit,
                                void *user)
{
    int64_t strides[VJP_MAX_DIMS], i = 0, count = tensor_count(&p->tensors[1]);
    mpfr_t *sums = unit_malloc((size_t)count * sizeof *sums);
    for (int64_t s = 0; s < count; s++) {
        mpfr_init2(sums[s], SUM_BITS);
        mpfr_set_zero(sums[s], 1);
    }
    oracle_slope_strides(p, strides);
    for (walk w = walk_start(p->tensors[0].ndim, p->tensors[0].shape, strides); w.more;
         walk_next(&w), i++)
        if (!(inputs[0][i] > 0))
            add_product(sums[w.offset], inputs[0][i], inputs[2][i]);
    for (int64_t s = 0; s < count; s++) {
        if (!mpfr_nan_p(sums[s]))
            visit(user, 1, s, sums[s]);
        mpfr_clear(sums[s]);
    }
    free(sums);
}

static void answer_prelu(const problem *p, const double *const *inputs, exact_visit visit,
                         void *user)
{
    answer_elements(p, inputs, visit, user);
    answer_prelu_slopes(p, inputs, visit, user);
}

/* y * (g - sum of y * g) along one row. */
static void answer_softmax_row(const double *const *inputs, oracle_row row, exact_visit visit,
                               void *user)
{
    const double *g = inputs[0], *y = inputs[1];
    mpfr_t sum, value;
    mpfr_inits2(SUM_BITS, sum, value, (mpfr_ptr)NULL);
    mpfr_set_zero(sum, 1);
    for (int64_t i = 0; i < row.n; i++)
        add_product(sum, y[row.start + i * row.step], g[row.start + i * row.step]);
    for (int64_t i = 0; i < row.n && !mpfr_nan_p(sum); i++) {
        mpfr_d_sub(value, g[row.start + i * row.step], sum, MPFR_RNDN);
        mpfr_mul_d(value, value, y[row.start + i * row.step], MPFR_RNDN);
        visit(user, 0, row.start + i * row.step, value);
    }
    mpfr_clears(sum, value, (mpfr_ptr)NULL);
}

static void answer_softmax(const problem *p, const double *const *inputs, exact_visit visit,
                           void *user)
{
    for (int64_t i = 0, n = oracle_row_count(p); i < n; i++)
        answer_softmax_row(inputs, oracle_row_at(p, i), visit, user);
}

void exact_answer(const problem *p, const double *const *inputs, exact_visit visit, void *user)
{
    static const struct {
        const char *op;
        void (*answer)(const problem *p, const double *const *inputs, exact_visit visit,
                       void *user);
    } with_sums[] = {
        { "prelu_backward", answer_prelu },
        { "softmax_backward", answer_softmax },
    };
    for (int64_t i = 0; i < COUNT_OF(with_sums); i++)
        if (strcmp(with_sums[i].op, p->op->name) == 0) {
            with_sums[i].answer(p, inputs, visit, user);
            return;
        }
    answer_elements(p, inputs, visit, user);
}
