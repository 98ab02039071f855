/* SPDX-License-Identifier: Apache-2.0 */
/* test_bounds.c - the stated error bounds of the elementwise operators.
 *
 * All 65,536 inputs of the 16-bit dtypes with gradients of every kind. For f32 and f64 the points
 * of points.h: every binade, both signs, the edges, the neighbours of every threshold, and draws
 * from among them. Only finite pairs: the others are edges. tests/exhaustive has all the rest.
 *
 * Results are compared with long doubles first. MPFR decides where their digits may not be enough:
 * near the bound, and where a sign or an infinity is not as expected.
 */
#include <math.h>
#include <stdlib.h>

#include "dtypes.h"
#include "exact.h"
#include "kinds.h"
#include "oracle.h"
#include "points.h"
#include "quick.h"
#include "samples.h"
#include "unit.h"
#include "values.h"
#include "variants.h"

enum {
    BATCH = 1 << 16,
    STEP = 4 /* of second outputs, which only MPFR knows, one in this many is compared */
};

/* ---- one batch of places ------------------------------------------------------------------ */

/* BATCH places; `w` is the second input that is differentiated, unused by operators without one.
 * factor, depends: of the first output, by quick_factor. */
typedef struct batch {
    double x[BATCH], w[BATCH], g[BATCH], got[2][BATCH];
    long double factor[BATCH];
    int depends[BATCH];
} batch;

static batch places;

static void write_all(vjp_dtype dtype, const double *values, unsigned char *data)
{
    for (int64_t i = 0; i < BATCH; i++)
        element_write(dtype, data + (size_t)i * vjp_dtype_size(dtype), values[i]);
}

static void set_inputs(const problem *p, int64_t i, double x, double w)
{
    places.x[i] = x;
    places.w[i] = w;
    places.depends[i] = 0;
    places.factor[i] = 0;
    if (isfinite(x) && isfinite(w))
        places.depends[i] = quick_factor(p, 0, x, w, &places.factor[i]);
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

/* The bound for the gradient at place i. */
static double limit_at(const vjp_bound_info *info, int64_t i)
{
    return places.g[i] == 1 ? fmin(info->ulp, info->unit_ulp) : info->ulp;
}

/* In ULP, by long doubles; -1 where MPFR has to decide. A long double has 40 bits more than a
 * 16-bit dtype, and few more than f64. A bound of one half means correctly rounded, and 0,
 * exact. */
static double quick_error(vjp_dtype dtype, double largest, int64_t i, double limit)
{
    long double exact = places.depends[i] ? places.factor[i] * places.g[i] : 0.0L;
    double got = places.got[0][i];
    if (!(fabs(got) <= largest && fabsl(exact) < largest) || is_negative(got) != is_negative(exact))
        return -1;
    if (exact == got)
        return 0;
    double error = (double)(fabsl(exact - got) / dtype_ulp(dtype, exact));
    return error < (dtype_is_16_bit(dtype) ? 0.999 : 0.98) * limit ? error : -1;
}

/* In ULP, by MPFR. A bound of one half means correctly rounded, ties too. */
static double exact_error_of(const problem *p, int32_t output, int64_t i, double limit,
                             mpfr_t exact)
{
    vjp_dtype dtype = p->tensors[p->op->ninputs + output].dtype;
    double got = places.got[output][i];
    if (!exact_factor(p, output, places.x[i], places.w[i], exact))
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
static void compare_output(const problem *p, int32_t output, worst worst_yet[2])
{
    const vjp_bound_info *info = oracle_bound_info(p, output);
    vjp_dtype dtype = p->tensors[p->op->ninputs + output].dtype;
    double largest = dtype_max(dtype);
    mpfr_t exact;
    mpfr_init2(exact, EXACT_BITS);
    for (int64_t i = 0; i < BATCH; i += output == 0 ? 1 : STEP) {
        double x = places.x[i], w = places.w[i], g = places.g[i];
        if (!isfinite(x) || !isfinite(w) || !isfinite(g))
            continue;
        double error = output == 0 ? quick_error(dtype, largest, i, limit_at(info, i)) : -1;
        if (error < 0)
            error = exact_error_of(p, output, i, info->ulp, exact);
        for (int is_one = 0; is_one <= (g == 1); is_one++)
            if (error > worst_yet[is_one].error)
                worst_yet[is_one] = (worst){ error, x, w, g, places.got[output][i] };
    }
    mpfr_clear(exact);
}

static void compare_batch(const problem *p, worsts *worst_yet)
{
    for (int32_t o = 0; o < p->op->noutputs; o++)
        if (!is_sum(p, o))
            compare_output(p, o, worst_yet->of[o]);
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
static void set_every_input(const problem *p, random_state *random)
{
    vjp_dtype dtype = p->tensors[0].dtype;
    int has_param = kind_has_params(p->op);
    for (int64_t i = 0; i < BATCH; i++) {
        double value = element_from_bits(dtype, (uint64_t)i);
        set_inputs(p, i, has_param ? -1 : value,
                   has_param ? value : dtype_round(dtype, random_bell(random)));
    }
}

static void draw_gradients(vjp_dtype dtype, random_state *random, gradient_kind kind)
{
    gradient_source source = gradient_source_of(dtype);
    for (int64_t i = 0; i < BATCH; i++)
        places.g[i] = gradient_probe(&source, random, kind, (double)places.factor[i], i);
}

/* An operator without a gradient is run once. */
static int kinds_of_gradients(const problem *p)
{
    return kind_gradient(p->op) < 0 ? 1 : GRADIENTS;
}

static void all_sixteen_bit_inputs_keep_the_bound(void **state)
{
    const vjp_dtype dtypes[] = { VJP_F16, VJP_BF16 };
    int kinds = kinds_of_gradients(*state);
    int first = unit_quick() && kinds > 1 ? GRADIENT_BELOW_POWER : 0;
    for (int64_t d = 0; d < COUNT_OF(dtypes); d++) {
        problem p = *(const problem *)*state;
        worsts worst_yet = no_worsts();
        random_state random = random_start(random_seed(), (uint64_t)d);
        describe_batch(&p, dtypes[d], dtypes[d]);
        for (int kind = first; kind < kinds; kind++) {
            if (kind == first || p.op->ninputs > 2) /* others depend on the one input alone */
                set_every_input(&p, &random);
            draw_gradients(dtypes[d], &random, (gradient_kind)kind);
            run_batch(&p);
            compare_batch(&p, &worst_yet);
        }
        check_worst(&p, &worst_yet);
    }
}

static void an_f32_slope_keeps_the_bound(void **state)
{
    (void)state;
    const vjp_dtype dtypes[] = { VJP_F16, VJP_BF16 };
    for (int64_t d = 0; d < COUNT_OF(dtypes); d++) {
        problem p = problem_start(SAMPLE_FOLD);
        worsts worst_yet = no_worsts();
        random_state random = random_start(random_seed(), (uint64_t)d);
        describe_batch(&p, dtypes[d], VJP_F32);
        for (int64_t i = 0; i < BATCH; i++) {
            double x = dtype_round(dtypes[d], random_bell(&random));
            set_inputs(&p, i, x, value_draw(&random, VJP_F32, ORACLE_ANY, 0));
            places.g[i] = element_from_bits(dtypes[d], (uint64_t)i);
        }
        run_batch(&p);
        compare_batch(&p, &worst_yet);
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
        double x = from_list < list->count ? list->at[from_list] : point_draw(random, dtype, list);
        set_inputs(p, i, x, point_draw(random, dtype, list));
        places.g[i] = gradient_probe(&source, random, (gradient_kind)(i % kinds),
                                     (double)places.factor[i], i / kinds);
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
    int64_t batches = unit_quick() ? 1 : of_list + 2;
    for (int64_t i = 0; i < batches; i++) {
        draw_batch(&p, &list, &random, i);
        run_batch(&p);
        compare_batch(&p, &worst_yet);
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
            tests[n++] =
                unit_named(name, "every 16-bit input", all_sixteen_bit_inputs_keep_the_bound, p);
            tests[n++] = unit_named(name, "points of f32", points_of_f32_keep_the_bound, p);
            tests[n++] = unit_named(name, "points of f64", points_of_f64_keep_the_bound, p);
        }
    tests[n++] =
        unit_named(SAMPLE_FOLD, "f32 slope beside 16-bit data", an_f32_slope_keeps_the_bound, NULL);
    return _cmocka_run_group_tests("bounds", tests, n, NULL, NULL);
}
