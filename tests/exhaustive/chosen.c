/* SPDX-License-Identifier: Apache-2.0 */
/* chosen.c - f64: 2^30 numerically difficult points, every eighth with a gradient of 1, after the
 * list of special points with gradients of every kind. Slopes are long doubles; results within 2 %
 * of the bound, and every new worst one, are computed again with MPFR. */
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

typedef struct chosen {
    bench b;
    points list;
    gradient_source source;
    long double slopes[BLOCK];
    unsigned char depends[BLOCK];
} chosen;

static int64_t blocks(const job *j)
{
    (void)j;
    return ((int64_t)1 << 30) / BLOCK;
}

static void *open_chosen(const job *j)
{
    chosen *s = malloc(sizeof *s);
    if (s == NULL)
        abort();
    bench_open(&s->b, j, ALL_DENSE, 1, BLOCK);
    s->list = points_list(&s->b.p);
    s->source = gradient_source_of(j->dtype);
    return s;
}

static void fill_block(chosen *s, const job *j, int64_t index)
{
    random_state random = random_start(random_seed(), (uint64_t)index);
    double *x = s->b.data[0], *g = s->b.data[s->b.gradient];
    double *w = s->b.p.op->ninputs > 2 ? s->b.data[1] : NULL;
    for (int64_t i = 0; i < BLOCK; i++) {
        int64_t number = index * BLOCK + i;
        x[i] = number / GRADIENTS < s->list.count ? s->list.at[number / GRADIENTS]
                                                  : point_draw(&random, j->dtype, &s->list);
        if (w != NULL)
            w[i] = point_draw(&random, j->dtype, &s->list);
        s->depends[i] = (unsigned char)quick_factor(&s->b.p, j->output, x[i],
                                                    w != NULL ? w[i] : 0, &s->slopes[i]);
        g[i] = gradient_probe(&s->source, &random, (gradient_kind)(number % GRADIENTS),
                              (double)s->slopes[i], number / GRADIENTS);
    }
}

static void block(void *state, const job *j, int64_t index, worst w[WORSTS])
{
    chosen *s = state;
    const double *x = s->b.data[0], *g = s->b.data[s->b.gradient], *got = s->b.result;
    const double *slope_input = s->b.p.op->ninputs > 2 ? s->b.data[1] : NULL;
    fill_block(s, j, index);
    bench_run(&s->b);
    for (int64_t i = 0; i < BLOCK; i++) {
        int which = g[i] == 1 ? GRADIENT_IS_1 : ANY_GRADIENT;
        double error = compare_f64(s->depends[i] ? s->slopes[i] * g[i] : 0.0L, got[i]);
        if (compare_is_worse(error, &w[which]) || error >= compare_mpfr_from(j, which))
            compare_keep(j, x[i], slope_input != NULL ? slope_input[i] : 0, g[i], got[i],
                         index * BLOCK + i, w);
    }
}

static void close_chosen(void *state)
{
    chosen *s = state;
    bench_close(&s->b);
    points_free(&s->list);
    exact_close();
    free(s);
}

const method chosen_method = { "2^30 adversarial points", blocks, open_chosen, block,
                               close_chosen, bench_where };
