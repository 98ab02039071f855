/* SPDX-License-Identifier: Apache-2.0 */
/* test_bounds.c - the stated error bounds of the elementwise operators, against MPFR.
 *
 * A quarter of the 16-bit dtypes' inputs, with gradients of every kind. For f32 and f64 some of the
 * points of points.h: every binade, both signs, the edges, the neighbours of every threshold, and
 * draws from among them. Only finite pairs: the others are edges. tests/exhaustive has all inputs and
 * all points: MPFR takes hours for them.
 */
#include <math.h>
#include <stdlib.h>

#include "dtypes.h"
#include "exact.h"
#include "kinds.h"
#include "oracle.h"
#include "points.h"
#include "quick.h"
#include "unit.h"
#include "values.h"
#include "variants.h"

enum {
    BATCH = 1 << 16,
    STEP = 4 /* one position in this many of a batch is compared */
};

/* ---- one batch of places ------------------------------------------------------------------ */

/* BATCH places; `w` is the second input that is differentiated, unused by operators without one. */
typedef struct batch {
    double x[BATCH], w[BATCH], g[BATCH], got[2][BATCH];
} batch;

static batch places;

static void write_all(vjp_dtype dtype, const double *values, unsigned char *data)
{
    for (int64_t i = 0; i < BATCH; i++)
        element_write(dtype, data + (size_t)i * vjp_dtype_size(dtype), values[i]);
}

static void describe_batch(problem *p, vjp_dtype dtype, vjp_dtype wide)
{
    problem_contiguous(p, dtype, wide, 1, (int64_t[]){ BATCH }, 1, (int64_t[]){ BATCH });
}

static int is_sum(const problem *p, int32_t output)
{
    return (vjp_op_tensor(p->op, p->op->ninputs + output)->flags & VJP_TENSOR_SUM) != 0;
}

/* Run the operator over the batch; all tensors are one long row, so is a parameter. */
static void run_batch(const problem *p)
{
    const vjp_tensor *tensors[PROBLEM_TENSORS];
    void *data[PROBLEM_TENSORS];
    char reason[VJP_REASON_SIZE] = "";
    int32_t gradient = kind_gradient(p->op);
    for (int32_t t = 0; t < p->ntensors; t++) {
        tensors[t] = &p->tensors[t];
        data[t] = unit_malloc(BATCH * vjp_dtype_size(p->tensors[t].dtype));
        if (t < p->op->ninputs)
            write_all(p->tensors[t].dtype, t == gradient ? places.g : t == 0 ? places.x : places.w,
                      data[t]);
    }
    vjp_status status = vjp_compute(NULL, p->op->name, p->attrs, p->nattrs, tensors, p->ntensors,
                                    (const void *const *)data, data + p->op->ninputs, reason,
                                    sizeof reason);
    assert_status(VJP_OK, status, reason);
    for (int32_t o = 0; o < p->op->noutputs; o++) {
        vjp_dtype dtype = p->tensors[p->op->ninputs + o].dtype;
        const unsigned char *result = data[p->op->ninputs + o];
        for (int64_t i = 0; i < BATCH; i++)
            places.got[o][i] = element_read(dtype, result + (size_t)i * vjp_dtype_size(dtype));
    }
    for (int32_t t = 0; t < p->ntensors; t++)
        free(data[t]);
}

/* ---- how wrong it is ---------------------------------------------------------------------- */

typedef struct worst {
    double error, x, w, g, got;
} worst;

/* By output, and for a gradient of 1. */
typedef struct worsts {
    worst of[2][2];
} worsts;

static worsts no_worsts(void)
{
    const worst none = { -1, 0, 0, 0, 0 };
    return (worsts){ { { none, none }, { none, none } } };
}

/* The exact factors of the first output at the places, where many batches have the same ones. */
static struct {
    mpfr_t at[BATCH];
    signed char known[BATCH]; /* 0: not yet; 1: flat there; 2: not flat */
    int kept;
} factors;

static void keep_factors(int kept)
{
    factors.kept = kept;
    for (int64_t i = 0; i < BATCH; i++) {
        if (factors.known[i] != 0)
            mpfr_clear(factors.at[i]);
        factors.known[i] = 0;
    }
}

static int factor_at(const problem *p, int32_t output, int64_t i, mpfr_t factor)
{
    if (!factors.kept || output > 0)
        return exact_factor(p, output, places.x[i], places.w[i], factor);
    if (factors.known[i] == 0) {
        mpfr_init2(factors.at[i], EXACT_BITS);
        factors.known[i] =
            (signed char)(exact_factor(p, output, places.x[i], places.w[i], factors.at[i]) + 1);
    }
    mpfr_set(factor, factors.at[i], MPFR_RNDN);
    return factors.known[i] > 1;
}

/* In ULP. A bound of one half means correctly rounded, ties too. */
static double error_of(const problem *p, int32_t output, int64_t i, double limit, mpfr_t exact)
{
    vjp_dtype dtype = p->tensors[p->op->ninputs + output].dtype;
    double got = places.got[output][i];
    if (!factor_at(p, output, i, exact))
        return value_same(got, 0.0) ? 0 : (double)INFINITY;
    mpfr_mul_d(exact, exact, places.g[i], MPFR_RNDN);
    if (!mpfr_number_p(exact))
        return value_same(got, mpfr_get_d(exact, MPFR_RNDN)) ? 0 : (double)INFINITY;
    if (is_negative(got) != (mpfr_signbit(exact) != 0) ||
        (limit <= 0.5 && !value_same(got, exact_rounded(dtype, exact))))
        return INFINITY;
    return exact_error(dtype, exact, got);
}

/* Compare an output, and those of its places whose gradient is 1 with their own bound. */
static void compare_output(const problem *p, int32_t output, int64_t first, worst worst_yet[2])
{
    double limit = oracle_bound_info(p, output)->ulp;
    mpfr_t exact;
    mpfr_init2(exact, EXACT_BITS);
    for (int64_t i = first; i < BATCH; i += STEP) {
        double x = places.x[i], w = places.w[i], g = places.g[i];
        if (!isfinite(x) || !isfinite(w) || !isfinite(g))
            continue;
        double error = error_of(p, output, i, limit, exact);
        for (int is_one = 0; is_one <= (g == 1); is_one++)
            if (error > worst_yet[is_one].error)
                worst_yet[is_one] = (worst){ error, x, w, g, places.got[output][i] };
    }
    mpfr_clear(exact);
}

/* Every STEP-th place from `first` on. */
static void compare_batch(const problem *p, int64_t first, worsts *worst_yet)
{
    for (int32_t o = 0; o < p->op->noutputs; o++)
        if (!is_sum(p, o))
            compare_output(p, o, first, worst_yet->of[o]);
    exact_close();
}

static void check_output(const problem *p, int32_t output, const worst worst_yet[2])
{
    char name[VARIANT_TEXT];
    const vjp_bound_info *info = oracle_bound_info(p, output);
    const char *dtype = vjp_dtype_name(p->tensors[0].dtype);
    variant_name(p, name);
    for (int is_one = 0; is_one < 2; is_one++) {
        const worst *w = &worst_yet[is_one];
        double limit = is_one ? info->unit_ulp : info->ulp;
        if (w->error > limit)
            fail_msg("%s %s %s: %.6f ulp, not %g: x = %a, w = %a, g = %a gives %a", name, dtype,
                     info->output, w->error, limit, w->x, w->w, w->g, w->got);
        print_message("%s %s %s%s: at worst %.6f ulp of %g\n", name, dtype, info->output,
                      is_one ? ", gradient 1" : "", w->error, limit);
    }
}

static void check_worst(const problem *p, const worsts *worst_yet)
{
    for (int32_t o = 0; o < p->op->noutputs; o++)
        if (!is_sum(p, o))
            check_output(p, o, worst_yet->of[o]);
}

/* ---- every 16-bit input ------------------------------------------------------------------- */

/* A parameter runs over all inputs, left of 0 where it counts; the other factor of a gated unit is
 * drawn. */
static void every_input_with(const problem *p, random_state *random, gradient_kind kind)
{
    vjp_dtype dtype = p->tensors[0].dtype;
    gradient_source source = gradient_source_of(dtype);
    int has_param = kind_has_params(p->op);
    for (int64_t i = 0; i < BATCH; i++) {
        double value = element_from_bits(dtype, (uint64_t)i);
        long double slope = 0;
        places.x[i] = has_param ? -1 : value;
        places.w[i] = has_param ? value : dtype_round(dtype, random_bell(random));
        if (isfinite(value))
            quick_factor(p, places.x[i], places.w[i], &slope);
        places.g[i] = gradient_draw(&source, random, kind, (double)slope);
    }
}

/* An operator without a gradient is run once. */
static int kinds_of_gradients(const problem *p)
{
    return kind_gradient(p->op) < 0 ? 1 : GRADIENTS;
}

/* Always the same quarter, so that its factors are computed once. */
static void sixteen_bit_inputs_keep_the_bound(void **state)
{
    const vjp_dtype dtypes[] = { VJP_F16, VJP_BF16 };
    int kinds = kinds_of_gradients(*state);
    int first = unit_quick() && kinds > 1 ? GRADIENT_BELOW_POWER : 0;
    for (int64_t d = 0; d < COUNT_OF(dtypes); d++) {
        problem p = *(const problem *)*state;
        worsts worst_yet = no_worsts();
        random_state random = random_start(random_seed(), (uint64_t)d);
        describe_batch(&p, dtypes[d], dtypes[d]);
        keep_factors(p.op->ninputs - (kind_gradient(p.op) >= 0) == 1);
        for (int kind = first; kind < kinds; kind++) {
            every_input_with(&p, &random, (gradient_kind)kind);
            run_batch(&p);
            compare_batch(&p, (int64_t)(random_seed() % STEP), &worst_yet);
        }
        keep_factors(0);
        check_worst(&p, &worst_yet);
    }
}

static void prelu_with_an_f32_slope_keeps_the_bound(void **state)
{
    (void)state;
    const vjp_dtype dtypes[] = { VJP_F16, VJP_BF16 };
    for (int64_t d = 0; d < COUNT_OF(dtypes); d++) {
        problem p = problem_start("prelu_backward");
        worsts worst_yet = no_worsts();
        random_state random = random_start(random_seed(), (uint64_t)d);
        describe_batch(&p, dtypes[d], VJP_F32);
        for (int64_t i = 0; i < BATCH; i++) {
            places.x[i] = dtype_round(dtypes[d], random_bell(&random));
            places.w[i] = value_draw(&random, VJP_F32, ORACLE_ANY, 0);
            places.g[i] = element_from_bits(dtypes[d], (uint64_t)i);
        }
        run_batch(&p);
        compare_batch(&p, 0, &worst_yet);
        check_worst(&p, &worst_yet);
    }
}

/* ---- chosen points of f32 and f64 --------------------------------------------------------- */

/* The list with gradients of every kind, in as many batches as it takes; then draws. */
static void draw_batch(const problem *p, const points *list, random_state *random, int64_t number)
{
    vjp_dtype dtype = p->tensors[0].dtype;
    gradient_source source = gradient_source_of(dtype);
    int kinds = kinds_of_gradients(p);
    for (int64_t i = 0; i < BATCH; i++) {
        int64_t from_list = (number * BATCH + i) / kinds;
        long double slope;
        places.x[i] = from_list < list->count ? list->at[from_list]
                                              : point_draw(random, dtype, list);
        places.w[i] = point_draw(random, dtype, list);
        quick_factor(p, places.x[i], places.w[i], &slope);
        places.g[i] = gradient_draw(&source, random, (gradient_kind)(i % kinds), (double)slope);
    }
}

static void check_points(const problem *variant, vjp_dtype dtype)
{
    problem p = *variant;
    worsts worst_yet = no_worsts();
    random_state random = random_start(random_seed(), (uint64_t)dtype);
    describe_batch(&p, dtype, dtype);
    points list = points_list(&p);
    int64_t of_list = (list.count * kinds_of_gradients(&p) + BATCH - 1) / BATCH;
    int64_t batches = unit_quick() ? 1 : of_list + 1;
    for (int64_t i = 0; i < batches; i++) {
        draw_batch(&p, &list, &random, i);
        run_batch(&p);
        compare_batch(&p, i % STEP, &worst_yet);
    }
    points_free(&list);
    check_worst(&p, &worst_yet);
}

static void points_of_f32_keep_the_bound(void **state)
{
    check_points(*state, VJP_F32);
}

static void points_of_f64_keep_the_bound(void **state)
{
    check_points(*state, VJP_F64);
}

int main(void)
{
    enum {
        MOST = 256
    };
    static problem variants[MOST];
    static struct CMUnitTest tests[MOST * 3 + 1];
    size_t n = 0, count = 0;
    for (int32_t o = 0; o < vjp_op_count(); o++)
        for (int32_t v = 0; v < variant_count(vjp_op_at(o)); v++) {
            char name[VARIANT_TEXT];
            if (!exact_knows(vjp_op_at(o)->name))
                continue;
            assert_true(count < MOST);
            problem *p = &variants[count++];
            *p = variant_problem(vjp_op_at(o), v);
            variant_name(p, name);
            tests[n++] = unit_named(name, "16-bit inputs", sixteen_bit_inputs_keep_the_bound, p);
            tests[n++] = unit_named(name, "points of f32", points_of_f32_keep_the_bound, p);
            tests[n++] = unit_named(name, "points of f64", points_of_f64_keep_the_bound, p);
        }
    tests[n++] = unit_named("prelu", "f32 slope beside 16-bit data",
                            prelu_with_an_f32_slope_keeps_the_bound, NULL);
    return _cmocka_run_group_tests("bounds", tests, n, NULL, NULL);
}
