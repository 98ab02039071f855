/* SPDX-License-Identifier: Apache-2.0 */
/* test_bounds.c - the stated error bounds of the elementwise operators, against MPFR.
 *
 * All 65,536 inputs of the 16-bit dtypes with gradients of every kind. For f32 and f64 the points
 * of points.h: every binade, both signs, the edges, the neighbours of every threshold, and draws
 * from among them. Only finite pairs: the others are edges. tests/exhaustive has all the rest.
 */
#include <math.h>
#include <stdlib.h>

#include "dtypes.h"
#include "exact.h"
#include "oracle.h"
#include "points.h"
#include "quick.h"
#include "unit.h"
#include "values.h"
#include "variants.h"

enum {
    BATCH = 1 << 16
};

/* ---- one batch of places ------------------------------------------------------------------ */

/* BATCH places; `w` is PReLU's slope, unused by the others. */
typedef struct batch {
    double x[BATCH], w[BATCH], g[BATCH], got[BATCH];
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

/* Run the operator over the batch; all tensors are one long row, so is PReLU's slope. */
static void run_batch(const problem *p)
{
    const double *values[PROBLEM_TENSORS] = { places.x, places.w, places.g };
    const vjp_tensor *tensors[PROBLEM_TENSORS];
    void *data[PROBLEM_TENSORS];
    char reason[VJP_REASON_SIZE] = "";
    vjp_dtype dtype = p->tensors[0].dtype;
    if (p->op->ninputs == 2)
        values[1] = places.g;
    for (int32_t t = 0; t < p->ntensors; t++) {
        tensors[t] = &p->tensors[t];
        data[t] = unit_malloc(BATCH * vjp_dtype_size(p->tensors[t].dtype));
        if (t < p->op->ninputs)
            write_all(p->tensors[t].dtype, values[t], data[t]);
    }
    vjp_status status = vjp_compute(NULL, p->op->name, p->attrs, p->nattrs, tensors, p->ntensors,
                                    (const void *const *)data, data + p->op->ninputs, reason,
                                    sizeof reason);
    assert_status(VJP_OK, status, reason);
    const unsigned char *result = data[p->op->ninputs];
    for (int64_t i = 0; i < BATCH; i++)
        places.got[i] = element_read(dtype, result + (size_t)i * vjp_dtype_size(dtype));
    for (int32_t t = 0; t < p->ntensors; t++)
        free(data[t]);
}

/* ---- how wrong it is ---------------------------------------------------------------------- */

typedef struct worst {
    double error, x, w, g, got;
} worst;

static const worst NO_WORST = { -1, 0, 0, 0, 0 };

/* In ULP. A bound of one half means correctly rounded, ties too. */
static double error_of(const problem *p, int64_t i, double limit, mpfr_t exact)
{
    vjp_dtype dtype = p->tensors[0].dtype;
    double got = places.got[i];
    if (!exact_slope(p, places.x[i], places.w[i], exact))
        return value_same(got, 0.0) ? 0 : (double)INFINITY;
    mpfr_mul_d(exact, exact, places.g[i], MPFR_RNDN);
    if (is_negative(got) != (mpfr_signbit(exact) != 0) ||
        (limit == 0.5 && !value_same(got, exact_rounded(dtype, exact))))
        return INFINITY;
    return exact_error(dtype, exact, got);
}

/* Compare the batch, and those of its places whose gradient is 1 with their own bound. */
static void compare_batch(const problem *p, worst worst_yet[2])
{
    double limit = (double)oracle_ulps(p, 0);
    mpfr_t exact;
    mpfr_init2(exact, EXACT_BITS);
    for (int64_t i = 0; i < BATCH; i++) {
        double x = places.x[i], w = places.w[i], g = places.g[i];
        if (!isfinite(x) || !isfinite(w) || !isfinite(g))
            continue;
        double error = error_of(p, i, limit, exact);
        for (int is_one = 0; is_one <= (g == 1); is_one++)
            if (error > worst_yet[is_one].error)
                worst_yet[is_one] = (worst){ error, x, w, g, places.got[i] };
    }
    mpfr_clear(exact);
    exact_close();
}

static void check_worst(const problem *p, const worst worst_yet[2])
{
    char name[VARIANT_TEXT];
    const char *dtype = vjp_dtype_name(p->tensors[0].dtype);
    variant_name(p, name);
    for (int is_one = 0; is_one < 2; is_one++) {
        const worst *w = &worst_yet[is_one];
        double limit = (double)oracle_ulps(p, is_one);
        if (w->error > limit)
            fail_msg("%s %s: %.6f ulp, not %g: x = %a, w = %a, g = %a gives %a", name, dtype,
                     w->error, limit, w->x, w->w, w->g, w->got);
        print_message("%s %s%s: at worst %.6f ulp of %g\n", name, dtype,
                      is_one ? ", gradient 1" : "", w->error, limit);
    }
}

/* ---- every 16-bit input ------------------------------------------------------------------- */

/* For PReLU the slope runs over all inputs, left of 0 where it counts. */
static void every_input_with(const problem *p, random_state *random, gradient_kind kind)
{
    vjp_dtype dtype = p->tensors[0].dtype;
    gradient_source source = gradient_source_of(dtype);
    int has_slope = p->op->ninputs > 2;
    for (int64_t i = 0; i < BATCH; i++) {
        double value = element_from_bits(dtype, (uint64_t)i);
        long double slope = 0;
        places.x[i] = has_slope ? -1 : value;
        places.w[i] = has_slope ? value : 0;
        if (isfinite(value))
            quick_slope(p, places.x[i], places.w[i], &slope);
        places.g[i] = gradient_draw(&source, random, kind, (double)slope);
    }
}

static void all_sixteen_bit_inputs_keep_the_bound(void **state)
{
    const vjp_dtype dtypes[] = { VJP_F16, VJP_BF16 };
    int rounds = unit_quick() ? 1 : 4, first = unit_quick() ? GRADIENT_BELOW_POWER : 0;
    for (int64_t d = 0; d < COUNT_OF(dtypes); d++) {
        problem p = *(const problem *)*state;
        worst worst_yet[2] = { NO_WORST, NO_WORST };
        random_state random = random_start(random_seed(), (uint64_t)d);
        describe_batch(&p, dtypes[d], dtypes[d]);
        for (int i = first; i < rounds * GRADIENTS; i++) {
            gradient_kind kind = (gradient_kind)(i % GRADIENTS);
            if (i >= GRADIENTS && kind < GRADIENTS_FIXED)
                continue;
            every_input_with(&p, &random, kind);
            run_batch(&p);
            compare_batch(&p, worst_yet);
        }
        check_worst(&p, worst_yet);
    }
}

static void prelu_with_an_f32_slope_keeps_the_bound(void **state)
{
    (void)state;
    const vjp_dtype dtypes[] = { VJP_F16, VJP_BF16 };
    for (int64_t d = 0; d < COUNT_OF(dtypes); d++) {
        problem p = problem_start("prelu_backward");
        worst worst_yet[2] = { NO_WORST, NO_WORST };
        random_state random = random_start(random_seed(), (uint64_t)d);
        describe_batch(&p, dtypes[d], VJP_F32);
        for (int64_t i = 0; i < BATCH; i++) {
            places.x[i] = dtype_round(dtypes[d], random_bell(&random));
            places.w[i] = value_draw(&random, VJP_F32, ORACLE_ANY, 0);
            places.g[i] = element_from_bits(dtypes[d], (uint64_t)i);
        }
        run_batch(&p);
        compare_batch(&p, worst_yet);
        check_worst(&p, worst_yet);
    }
}

/* ---- chosen points of f32 and f64 --------------------------------------------------------- */

/* The list with gradients of every kind, in as many batches as it takes; then draws. */
static void draw_batch(const problem *p, const points *list, random_state *random, int64_t number)
{
    vjp_dtype dtype = p->tensors[0].dtype;
    gradient_source source = gradient_source_of(dtype);
    for (int64_t i = 0; i < BATCH; i++) {
        int64_t from_list = (number * BATCH + i) / GRADIENTS;
        long double slope;
        places.x[i] = from_list < list->count ? list->at[from_list]
                                              : point_draw(random, dtype, list);
        places.w[i] = point_draw(random, dtype, list);
        quick_slope(p, places.x[i], places.w[i], &slope);
        places.g[i] = gradient_draw(&source, random, (gradient_kind)(i % GRADIENTS), (double)slope);
    }
}

static void check_points(const problem *variant, vjp_dtype dtype)
{
    problem p = *variant;
    worst worst_yet[2] = { NO_WORST, NO_WORST };
    random_state random = random_start(random_seed(), (uint64_t)dtype);
    describe_batch(&p, dtype, dtype);
    points list = points_list(&p);
    int64_t of_list = (list.count * GRADIENTS + BATCH - 1) / BATCH;
    int64_t batches = unit_quick() ? 1 : of_list + 4;
    for (int64_t i = 0; i < batches; i++) {
        draw_batch(&p, &list, &random, i);
        run_batch(&p);
        compare_batch(&p, worst_yet);
    }
    points_free(&list);
    check_worst(&p, worst_yet);
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
        MOST = 64
    };
    static problem variants[MOST];
    static struct CMUnitTest tests[MOST * 3 + 1];
    size_t n = 0, count = 0;
    for (int32_t o = 0; o < vjp_op_count(); o++)
        for (int32_t v = 0; v < variant_count(vjp_op_at(o)); v++) {
            char name[VARIANT_TEXT];
            if (!exact_knows(vjp_op_at(o)->name) || count == MOST)
                continue;
            problem *p = &variants[count++];
            *p = variant_problem(vjp_op_at(o), v);
            variant_name(p, name);
            tests[n++] =
                unit_named(name, "every 16-bit input", all_sixteen_bit_inputs_keep_the_bound, p);
            tests[n++] = unit_named(name, "points of f32", points_of_f32_keep_the_bound, p);
            tests[n++] = unit_named(name, "points of f64", points_of_f64_keep_the_bound, p);
        }
    tests[n++] = unit_named("prelu", "f32 slope beside 16-bit data",
                            prelu_with_an_f32_slope_keeps_the_bound, NULL);
    return _cmocka_run_group_tests("bounds", tests, n, NULL, NULL);
}
