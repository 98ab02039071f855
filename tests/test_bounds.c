/* SPDX-License-Identifier: Apache-2.0 */
/* test_bounds.c - the stated error bounds of the elementwise operators, against MPFR.
 *
 * All 65,536 inputs of the 16-bit dtypes with a set of gradients; for f32 and f64 every binade,
 * the edges, and the range where the function lives. Only finite pairs: the others are edges.
 */
#include <math.h>
#include <stdlib.h>

#include "dtypes.h"
#include "exact.h"
#include "named.h"
#include "unit.h"
#include "values.h"

enum {
    BATCH = 1 << 16,
    GRADIENTS = 20
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

/* Run the operator over the batch; all tensors are one long row, so is PReLU's slope. */
static void run_batch(problem *p, vjp_dtype dtype, vjp_dtype wide)
{
    const double *values[PROBLEM_TENSORS] = { places.x, places.w, places.g };
    const vjp_tensor *tensors[PROBLEM_TENSORS];
    void *data[PROBLEM_TENSORS];
    char reason[VJP_REASON_SIZE] = "";
    if (p->op->ninputs == 2)
        values[1] = places.g;
    problem_contiguous(p, dtype, wide, 1, (int64_t[]){ BATCH }, 1, (int64_t[]){ BATCH });
    for (int32_t t = 0; t < p->ntensors; t++) {
        tensors[t] = &p->tensors[t];
        data[t] = unit_malloc(BATCH * vjp_dtype_size(p->tensors[t].dtype));
        if (t < p->op->ninputs)
            write_all(p->tensors[t].dtype, values[t], data[t]);
    }
    vjp_status status = vjp_compute(NULL, p->op->name, p->attrs, p->nattrs, tensors, data,
                                    p->ntensors, reason, sizeof reason);
    assert_status(VJP_OK, status, reason);
    const unsigned char *result = data[p->op->ninputs];
    for (int64_t i = 0; i < BATCH; i++)
        places.got[i] = element_read(dtype, result + (size_t)i * vjp_dtype_size(dtype));
    for (int32_t t = 0; t < p->ntensors; t++)
        free(data[t]);
}

typedef struct worst {
    double error, x, w, g, got;
} worst;

/* How wrong a result is, in ulp. A bound of one half means correctly rounded, ties too. */
static double error_of(const problem *p, int64_t i, double limit, mpfr_t exact)
{
    vjp_dtype dtype = p->tensors[0].dtype;
    double got = places.got[i];
    int depends = exact_slope(p, places.x[i], places.w[i], exact);
    if (!depends)
        return value_same(got, 0.0) ? 0 : INFINITY;
    mpfr_mul_d(exact, exact, places.g[i], MPFR_RNDN);
    if (limit == 0.5 && !value_same(got, exact_rounded(dtype, exact)))
        return INFINITY;
    return exact_error(dtype, exact, got);
}

static void compare_batch(const problem *p, double limit, worst *worst_yet)
{
    mpfr_t exact;
    mpfr_init2(exact, EXACT_BITS);
    for (int64_t i = 0; i < BATCH; i++) {
        double x = places.x[i], w = places.w[i], g = places.g[i];
        if (!isfinite(x) || !isfinite(w) || !isfinite(g))
            continue;
        double error = error_of(p, i, limit, exact);
        if (error > worst_yet->error)
            *worst_yet = (worst){ error, x, w, g, places.got[i] };
    }
    mpfr_clear(exact);
    mpfr_free_cache();
}

static void check_worst(const problem *p, const worst *w, double limit)
{
    const vjp_tensor *x = &p->tensors[0];
    if (w->error > limit)
        fail_msg("%s %s: %.6f ulp, not %g: x = %a, w = %a, g = %a gives %a", p->op->name,
                 vjp_dtype_name(x->dtype), w->error, limit, w->x, w->w, w->g, w->got);
    print_message("%s %s: at worst %.6f ulp of %g\n", p->op->name, vjp_dtype_name(x->dtype),
                  w->error, limit);
}

/* ---- what is measured --------------------------------------------------------------------- */

typedef struct measure {
    const char *name;
    const char *op;
    vjp_attr attrs[2];
    int32_t nattrs;
    double sixteen, wider, wider_for_one; /* bounds: 16-bit, f32 and f64, those with g = 1 */
    double reach;                         /* where the function lives, in f64 */
} measure;

static const measure measures[] = {
    { "relu", "relu_backward", USE_DST(0), 0.5, 0.5, 0.5, 4 },
    { "hard sigmoid, alpha 0.2", "hard_sigmoid_backward", LINE(0.2f, 0.5f), 0.5005, 0.5, 0.5, 4 },
    { "hard sigmoid, alpha -1/3", "hard_sigmoid_backward", LINE(-1.0f / 3, 0.1f), 0.5005, 0.5, 0.5,
      4 },
    { "sigmoid from src", "sigmoid_backward", USE_DST(0), 0.501, 3.5, 2.5, 760 },
    { "sigmoid from dst", "sigmoid_backward", USE_DST(1), 0.501, 2, 2, 1.25 },
    { "prelu", "prelu_backward", FORMAT("NXC"), 0.5, 0.5, 0.5, 4 },
};

static problem measured_problem(const measure *m)
{
    problem p = problem_start(m->op);
    for (int32_t i = 0; i < m->nattrs; i++)
        problem_add_attr(&p, m->attrs[i]);
    return p;
}

/* ---- every 16-bit input ------------------------------------------------------------------- */

static double sixteen_bit_gradient(vjp_dtype dtype, int index)
{
    if (index < VALUE_EDGES / 2)
        return value_edge(dtype, index);
    random_state random = random_start(random_seed(), (uint64_t)index);
    return dtype_round(dtype, random_bell(&random) * ldexp(1, 3 * (index % 4) - 4));
}

/* For PReLU the slope runs over all inputs, left of 0 where it counts. */
static void every_input_with(vjp_dtype dtype, double g, int has_slope)
{
    for (int64_t i = 0; i < BATCH; i++) {
        double value = element_from_bits(dtype, (uint64_t)i);
        places.x[i] = has_slope ? -1 : value;
        places.w[i] = has_slope ? value : 0;
        places.g[i] = g;
    }
}

static void all_sixteen_bit_inputs_keep_the_bound(void **state)
{
    const measure *m = *state;
    const vjp_dtype dtypes[] = { VJP_F16, VJP_BF16 };
    for (int64_t d = 0; d < COUNT_OF(dtypes); d++) {
        problem p = measured_problem(m);
        worst worst_yet = { -1, 0, 0, 0, 0 };
        for (int i = 0; i < (unit_quick() ? GRADIENTS / 5 : GRADIENTS); i++) {
            every_input_with(dtypes[d], sixteen_bit_gradient(dtypes[d], i), p.op->ninputs == 3);
            run_batch(&p, dtypes[d], dtypes[d]);
            compare_batch(&p, m->sixteen, &worst_yet);
        }
        check_worst(&p, &worst_yet, m->sixteen);
    }
}

static void prelu_with_an_f32_slope_keeps_the_bound(void **state)
{
    (void)state;
    const vjp_dtype dtypes[] = { VJP_F16, VJP_BF16 };
    for (int64_t d = 0; d < COUNT_OF(dtypes); d++) {
        problem p = problem_start("prelu_backward");
        worst worst_yet = { -1, 0, 0, 0, 0 };
        random_state random = random_start(random_seed(), (uint64_t)d);
        for (int64_t i = 0; i < BATCH; i++) {
            places.x[i] = dtype_round(dtypes[d], random_bell(&random));
            places.w[i] = value_draw(&random, VJP_F32, ORACLE_ANY, 0);
            places.g[i] = element_from_bits(dtypes[d], (uint64_t)i);
        }
        run_batch(&p, dtypes[d], VJP_F32);
        compare_batch(&p, 0.5005, &worst_yet);
        check_worst(&p, &worst_yet, 0.5005);
    }
}

/* ---- samples of f32 and f64 --------------------------------------------------------------- */

static double sample(random_state *random, vjp_dtype dtype, double reach)
{
    int64_t kind = random_below(random, 8);
    if (kind == 0)
        return value_edge(dtype, (int32_t)random_below(random, VALUE_EDGES));
    if (kind < 4) /* all exponents alike, both signs */
        return element_from_bits(dtype, random_bits(random) >> (64 - 8 * vjp_dtype_size(dtype)));
    return dtype_round(dtype, (2 * random_unit(random) - 1) * reach);
}

static void draw_batch(random_state *random, vjp_dtype dtype, double reach, int gradient_is_one)
{
    for (int64_t i = 0; i < BATCH; i++) {
        places.x[i] = sample(random, dtype, reach);
        places.w[i] = sample(random, dtype, 2);
        places.g[i] = gradient_is_one ? 1 : sample(random, dtype, 10);
    }
}

static void check_samples(const measure *m, vjp_dtype dtype, int gradient_is_one)
{
    int batches = unit_quick() ? 1 : 5;
    double reach = dtype == VJP_F32 && m->reach > 105 ? 105 : m->reach;
    double limit = gradient_is_one ? m->wider_for_one : m->wider;
    problem p = measured_problem(m);
    worst worst_yet = { -1, 0, 0, 0, 0 };
    random_state random = random_start(random_seed(), (uint64_t)dtype);
    for (int i = 0; i < batches; i++) {
        draw_batch(&random, dtype, reach, gradient_is_one);
        run_batch(&p, dtype, dtype);
        compare_batch(&p, limit, &worst_yet);
    }
    check_worst(&p, &worst_yet, limit);
}

static void samples_of_f32_keep_the_bound(void **state)
{
    check_samples(*state, VJP_F32, 0);
    check_samples(*state, VJP_F32, 1);
}

static void samples_of_f64_keep_the_bound(void **state)
{
    check_samples(*state, VJP_F64, 0);
    check_samples(*state, VJP_F64, 1);
}

int main(void)
{
    static struct CMUnitTest tests[COUNT_OF(measures) * 3 + 1];
    size_t n = 0;
    for (int64_t i = 0; i < COUNT_OF(measures); i++) {
        const measure *m = &measures[i];
        tests[n++] =
            unit_named(m->name, "every 16-bit input", all_sixteen_bit_inputs_keep_the_bound, m);
        tests[n++] = unit_named(m->name, "samples of f32", samples_of_f32_keep_the_bound, m);
        tests[n++] = unit_named(m->name, "samples of f64", samples_of_f64_keep_the_bound, m);
    }
    tests[n++] = unit_named("prelu", "f32 slope beside 16-bit data",
                            prelu_with_an_f32_slope_keeps_the_bound, NULL);
    return _cmocka_run_group_tests("bounds", tests, n, NULL, NULL);
}
