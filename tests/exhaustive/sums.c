/* SPDX-License-Identifier: Apache-2.0 */
/* sums.c - outputs that depend on a sum, over numerically difficult rows: terms that cancel, terms
 * of every size, terms too small relative to those before them; up to 2^24 of them. Errors are
 * given as fractions of the stated bound. The oracle's sum is a compensated one of long doubles,
 * whose own error is below 2^-62 of the summed magnitudes: less than a thousandth of any bound. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "dtypes.h"
#include "exhaustive.h"
#include "kinds.h"
#include "oracle.h"
#include "random.h"

typedef enum family {
    ORDINARY,
    CANCELLING, /* every term twice, with both signs, and a small one that is left */
    SPREAD,     /* any exponent that cannot overflow */
    ABSORBED,   /* terms of half an ULP of the sum so far, which takes none of them */
    ALTERNATING,
    FAMILIES
} family;

static const char *const family_names[FAMILIES] = { "ordinary terms", "terms that cancel",
                                                    "terms of every size", "terms of half an ULP",
                                                    "alternating terms" };

static const int64_t lengths[] = { 1,    2,    3,    7,    16,    17,    63,      64,     65,
                                   1000, 1024, 1025, 4099, 65537, 1000003, 1 << 20, 1 << 24 };

enum {
    LENGTHS = sizeof lengths / sizeof lengths[0],
    LONG = 65537, /* beyond: one row */
    WIDE = 2,     /* results stored as the data's dtype, or as f32 */
    AXES = 2
};

/* One block: a family, a length, the row's position in memory and how results are stored. */
typedef struct row {
    family family;
    int64_t n;
    int32_t axis;
    int wide;
} row;

static row row_at(int64_t index)
{
    row r;
    r.wide = (int)(index % WIDE);
    r.axis = (int32_t)(index / WIDE % AXES);
    r.family = (family)(index / WIDE / AXES % FAMILIES);
    r.n = lengths[LENGTHS - 1 - index / WIDE / AXES / FAMILIES]; /* the long ones first */
    return r;
}

static int64_t blocks(const job *j)
{
    (void)j;
    return WIDE * AXES * FAMILIES * LENGTHS;
}

/* ---- values ------------------------------------------------------------------------------- */

static double mantissa(random_state *random)
{
    return (1 + random_unit(random)) * (random_chance(random, 50) ? 1 : -1);
}

/* Gradient i of a row of n. The terms are these times values near -1. */
static double term(random_state *random, const row *r, vjp_dtype dtype, int64_t i)
{
    double half = dtype == VJP_F64 ? 0x1p-53 : 0x1p-24;
    int most = dtype == VJP_F64 ? 900 : dtype == VJP_F16 ? 14 : 90;
    switch (r->family) {
    case SPREAD:
        return ldexp(mantissa(random), (int)random_between(random, -most, most));
    case ABSORBED:
        return i % 1024 < 64 ? 1 : half * (1 - half);
    case ALTERNATING:
        return (i % 2 == 0 ? 1 : -1) * ldexp(1 + random_unit(random) * 0x1p-8, most / 2);
    default:
        return mantissa(random);
    }
}

static void fill_row(random_state *random, const row *r, vjp_dtype dtype, int64_t step, double *g)
{
    for (int64_t i = 0; i < r->n; i++)
        g[i * step] = dtype_round(dtype, term(random, r, dtype, i));
    if (r->family != CANCELLING)
        return;
    /* A term's opposite is half a row away, in another order. */
    int64_t half = r->n / 2;
    for (int64_t i = 0; i < half; i++)
        g[(half + (i * 7919 + 13) % half) * step] = -g[i * step];
    if (r->n % 2 != 0)
        g[(r->n - 1) * step] = dtype_round(dtype, 1e-3);
}

static double other_value(random_state *random, const row *r, vjp_dtype dtype)
{
    int plain = r->family == CANCELLING || r->family == ABSORBED;
    return plain ? -1 : dtype_round(dtype, -0.5 - random_unit(random) / 2);
}

/* ---- one block ---------------------------------------------------------------------------- */

/* Data of 3 rows (long ones: 1) along the axis; a slope is broadcast along it. */
static problem problem_of(const job *j, const row *r)
{
    problem p = j->p;
    int64_t others = r->n > LONG ? 1 : 3;
    int64_t shape[2] = { r->axis == 0 ? r->n : others, r->axis == 0 ? others : r->n };
    int64_t slope[2] = { r->axis == 0 ? 1 : others, r->axis == 0 ? others : 1 };
    const vjp_attr_info *axis = kind_attr(p.op, ROLE_AXIS);
    if (axis != NULL)
        problem_add_attr(&p, vjp_attr_s64(axis->name, r->axis));
    vjp_dtype wide = r->wide && dtype_is_16_bit(j->dtype) ? VJP_F32 : j->dtype;
    problem_contiguous(&p, j->dtype, wide, 2, shape, 2, slope);
    return p;
}

static void fill_inputs(const problem *p, const row *r, random_state *random, double **inputs)
{
    vjp_dtype dtype = p->tensors[0].dtype;
    int32_t lead = kind_lead(p->op); /* has a term per element, or else input 0 */
    int32_t gradient = tensor_count(&p->tensors[lead]) < tensor_count(&p->tensors[0]) ? 0 : lead;
    int64_t others = r->axis == 0 ? p->tensors[0].shape[1] : p->tensors[0].shape[0];
    for (int32_t t = 0; t < p->op->ninputs; t++) {
        int64_t count = tensor_count(&p->tensors[t]);
        inputs[t] = malloc((size_t)count * sizeof(double));
        if (inputs[t] == NULL)
            abort();
        int is_label = (vjp_op_tensor(p->op, t)->flags & VJP_TENSOR_LABEL) != 0;
        for (int64_t i = 0; t != gradient && i < count; i++)
            inputs[t][i] = is_label ? (double)random_below(random, r->n)
                                    : other_value(random, r, dtype);
    }
    for (int64_t i = 0; i < others; i++)
        fill_row(random, r, dtype, r->axis == 0 ? others : 1,
                 inputs[gradient] + (r->axis == 0 ? i : i * r->n));
}

typedef struct check {
    const problem *p;
    void *const *data;
    int64_t index;
    worst *w;
} check;

/* The share of the bound that is used, beyond the rounding to a 16-bit dtype. */
static void visit(void *user, int32_t output, int64_t index, long double value, bound within)
{
    check *c = user;
    if (within.absolute < 0)
        return;
    int32_t t = c->p->op->ninputs + output;
    vjp_dtype dtype = c->p->tensors[t].dtype;
    const unsigned char *stored = c->data[t];
    double got = element_read(dtype, stored + (size_t)index * vjp_dtype_size(dtype));
    long double error = fabsl(got - value);
    if (dtype_is_16_bit(dtype))
        error = fmaxl(0, error - dtype_ulp(dtype, value) / 2);
    double share = within.absolute > 0 ? (double)(error / within.absolute) : 0;
    if (!bound_holds(within, dtype, value, got))
        share = INFINITY;
    else if (isinf(got) || !isfinite(value))
        share = 0;
    worst this = { share, (double)value, 0, 0, got, c->index };
    worst_join(c->w, &this);
}

static void run(const problem *p, double *const *inputs, void **data)
{
    const vjp_tensor *tensors[PROBLEM_TENSORS];
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    vjp_context *ctx = NULL;
    char reason[VJP_REASON_SIZE] = "";
    options.num_threads = 1;
    vjp_status status = vjp_context_create(&options, &ctx, reason, sizeof reason);
    for (int32_t t = 0; t < p->ntensors; t++) {
        int64_t count = tensor_count(&p->tensors[t]);
        size_t size = vjp_dtype_size(p->tensors[t].dtype);
        tensors[t] = &p->tensors[t];
        data[t] = malloc((size_t)count * size);
        if (data[t] == NULL)
            abort();
        for (int64_t i = 0; t < p->op->ninputs && i < count; i++)
            element_write(p->tensors[t].dtype, (unsigned char *)data[t] + (size_t)i * size,
                          inputs[t][i]);
    }
    if (status == VJP_OK)
        status = vjp_compute(ctx, p->op->name, p->attrs, p->nattrs, tensors, p->ntensors,
                             (const void *const *)data, data + p->op->ninputs, reason,
                             sizeof reason);
    vjp_context_destroy(ctx);
    if (status == VJP_OK)
        return;
    fprintf(stderr, "exhaustive: %s: %s\n", vjp_status_string(status), reason);
    exit(2);
}

static void *open_sums(const job *j)
{
    (void)j;
    return NULL;
}

static void block(void *state, const job *j, int64_t index, worst w[WORSTS])
{
    (void)state;
    row r = row_at(index);
    if (r.wide && !dtype_is_16_bit(j->dtype))
        return; /* f32 and f64 results are stored as they are */
    problem p = problem_of(j, &r);
    random_state random = random_start(random_seed(), (uint64_t)index);
    double *inputs[PROBLEM_TENSORS];
    void *data[PROBLEM_TENSORS];
    check c = { &p, data, index, &w[ANY_GRADIENT] };
    fill_inputs(&p, &r, &random, inputs);
    run(&p, inputs, data);
    oracle_answer(&p, (const double *const *)inputs, visit, &c);
    for (int32_t t = 0; t < p.ntensors; t++) {
        free(data[t]);
        if (t < p.op->ninputs)
            free(inputs[t]);
    }
}

static void close_sums(void *state)
{
    (void)state;
}

static void where(const job *j, const worst *w, char text[WHERE_TEXT])
{
    (void)j;
    row r = row_at(w->index);
    snprintf(text, WHERE_TEXT, "n = %lld, %s, axis %d", (long long)r.n, family_names[r.family],
             (int)r.axis);
}

const method sums_method = { "adversarial rows of up to 2^24", blocks, open_sums, block,
                             close_sums, where };
