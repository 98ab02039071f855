/* SPDX-License-Identifier: Apache-2.0 */
/* forwards.c - operators without a gradient: every finite input of f16, bf16 and f32, every pair of
 * inputs of 16 bits, and 2^30 numerically difficult points of f64. Exact values are doubles, those
 * of f64 long doubles; results near the bound, and every new worst one, are computed again with
 * MPFR. */
#include <math.h>
#include <stdlib.h>

#include "doubles.h"
#include "dtypes.h"
#include "exact.h"
#include "exhaustive.h"
#include "points.h"
#include "quick.h"

enum {
    BLOCK = 1 << 12
};

typedef struct forwards {
    bench b;
    points list;
    double values[2][BLOCK]; /* of the inputs */
    long double exact[BLOCK]; /* of f64 */
    double narrow[BLOCK];     /* of dtypes of up to 32 bits */
    unsigned char depends[BLOCK];
} forwards;

static int64_t blocks(const job *j)
{
    int width = j->dtype == VJP_F64 ? 30 : 8 * (int)vjp_dtype_size(j->dtype);
    if (j->runs == BOTH_RUN)
        width = 32;
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

static void draw_inputs(const forwards *s, int64_t index, double *x, double *w)
{
    random_state random = random_start(random_seed(), (uint64_t)index);
    for (int64_t i = 0; i < BLOCK; i++) {
        int64_t number = index * BLOCK + i;
        x[i] = number < s->list.count ? s->list.at[number]
                                      : point_draw(&random, VJP_F64, &s->list);
        w[i] = s->b.p.op->ninputs > 1 ? point_draw(&random, VJP_F64, &s->list) : 0;
    }
}

static void fill_block(forwards *s, const job *j, int64_t index)
{
    double *x = s->values[0], *w = s->values[1];
    if (j->dtype == VJP_F64)
        draw_inputs(s, index, x, w);
    else
        bench_inputs(j, index * BLOCK, BLOCK, x, w);
    for (int32_t t = 0; t < s->b.p.op->ninputs; t++)
        bench_write(j->dtype, s->b.data[t], BLOCK, s->values[t]);
    if (j->dtype != VJP_F64)
        doubles_factors(&s->b.p, 0, BLOCK, x, w, s->narrow, s->depends);
    else
        for (int64_t i = 0; i < BLOCK; i++)
            quick_factor(&s->b.p, 0, x[i], w[i], &s->exact[i]);
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
    if (most < mpfr_from && !compare_is_worse(most, &w[ANY_GRADIENT]))
        return;
    for (int64_t i = 0; i < BLOCK; i++) {
        double error = error_of(s, j, i, 1);
        if (compare_is_worse(error, &w[ANY_GRADIENT]) || error >= mpfr_from)
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

#define FORWARDS(inputs) \
    { \
        inputs, blocks, open_forwards, block, close_forwards, bench_where \
    }

const method forwards_method = FORWARDS("all inputs");
const method forward_pairs_method = FORWARDS("all 2^32 pairs of inputs");
const method forward_points_method = FORWARDS("2^30 adversarial points");
