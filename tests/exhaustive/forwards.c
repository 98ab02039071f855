/* SPDX-License-Identifier: Apache-2.0 */
/* forwards.c - operators without a gradient: every finite input of f16, bf16 and f32, and 2^30
 * numerically difficult points of f64. Exact values are long doubles; results within 2 % of the
 * bound, and every new worst one, are computed again with MPFR. */
#include <math.h>
#include <stdlib.h>

#include "dtypes.h"
#include "exact.h"
#include "exhaustive.h"
#include "points.h"
#include "quick.h"

enum {
    BLOCK = 1 << 14
};

typedef struct forwards {
    bench b;
    points list;
    double values[2][BLOCK]; /* of the inputs */
    long double exact[BLOCK];
    double narrow[BLOCK]; /* the same as doubles, for dtypes of up to 32 bits */
} forwards;

static int64_t blocks(const job *j)
{
    int width = j->dtype == VJP_F64 ? 30 : 8 * (int)vjp_dtype_size(j->dtype);
    return ((int64_t)1 << width) / BLOCK;
}

static void *open_forwards(const job *j)
{
    forwards *s = malloc(sizeof *s);
    if (s == NULL)
        abort();
    bench_open(&s->b, j, ALL_DENSE, 1, BLOCK);
    s->list = points_list(&s->b.p);
    return s;
}

/* Value `number` of the running input. Infinity and NaN are edges, which have tests of their
 * own. */
static double value_at(const forwards *s, const job *j, random_state *random, int64_t number)
{
    if (j->dtype == VJP_F64)
        return number < s->list.count ? s->list.at[number]
                                      : point_draw(random, j->dtype, &s->list);
    double value = element_from_bits(j->dtype, (uint64_t)number);
    return isfinite(value) ? value : 0;
}

static void fill_block(forwards *s, const job *j, int64_t index)
{
    random_state random = random_start(random_seed(), (uint64_t)index);
    size_t size = vjp_dtype_size(j->dtype);
    for (int64_t i = 0; i < BLOCK; i++) {
        double x, w;
        bench_others(j, value_at(s, j, &random, index * BLOCK + i), &x, &w);
        if (j->dtype == VJP_F64 && s->b.p.op->ninputs > 1)
            w = point_draw(&random, j->dtype, &s->list);
        s->values[0][i] = x;
        s->values[1][i] = w;
        for (int32_t t = 0; t < s->b.p.op->ninputs; t++)
            element_write(j->dtype, (char *)s->b.data[t] + (size_t)i * size, t == 0 ? x : w);
        quick_factor(&s->b.p, x, w, &s->exact[i]);
        s->narrow[i] = (double)s->exact[i];
    }
}

/* The largest error of n results from i on; of one, where it is by long doubles. */
static double error_of(const forwards *s, const job *j, int64_t i, int64_t n)
{
    const char *got = s->b.result;
    int correctly = j->limit[ANY_GRADIENT] == 0.5;
    if (j->dtype == VJP_F64)
        return compare_f64(s->exact[i], ((const double *)s->b.result)[i]);
    return compare_block(j->dtype, correctly, n, s->narrow + i,
                         got + (size_t)i * vjp_dtype_size(j->dtype));
}

static void block(void *state, const job *j, int64_t index, worst w[WORSTS])
{
    forwards *s = state;
    size_t size = vjp_dtype_size(j->dtype);
    double mpfr_from = compare_mpfr_from(j, ANY_GRADIENT);
    fill_block(s, j, index);
    bench_run(&s->b);
    double most = j->dtype == VJP_F64 ? (double)INFINITY : error_of(s, j, 0, BLOCK);
    if (most < mpfr_from && most <= w[ANY_GRADIENT].error)
        return;
    for (int64_t i = 0; i < BLOCK; i++) {
        double error = error_of(s, j, i, 1);
        if (error > w[ANY_GRADIENT].error || error >= mpfr_from)
            compare_keep(j, s->values[0][i], s->values[1][i], 1,
                         element_read(j->dtype, (const char *)s->b.result + (size_t)i * size),
                         index * BLOCK + i, w);
    }
}

static void close_forwards(void *state)
{
    forwards *s = state;
    bench_close(&s->b);
    points_free(&s->list);
    exact_close();
    free(s);
}

const method forwards_method = { "every input; f64: 2^30 adversarial points", blocks, open_forwards,
                                 block, close_forwards, bench_where };
