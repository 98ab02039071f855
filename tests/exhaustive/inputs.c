/* SPDX-License-Identifier: Apache-2.0 */
/* inputs.c - f32: every finite input with one gradient of each kind, half of them drawn anew for
 * every input. Slopes are long doubles; results within 2 % of the bound, and every new worst one,
 * are computed again with MPFR. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dtypes.h"
#include "exact.h"
#include "exhaustive.h"
#include "points.h"
#include "quick.h"

enum {
    COLUMNS = 1 << 14, /* inputs in a block */
    CHUNK = 2048
};

typedef struct inputs {
    bench b;
    gradient_source source;
    double slopes[COLUMNS];
    unsigned char depends[COLUMNS];
} inputs;

static int64_t blocks(const job *j)
{
    (void)j;
    return ((int64_t)1 << 32) / COLUMNS;
}

/* Gradients of the kinds first .. last - 1, for the inputs of block `index`. */
static void draw_gradients(inputs *s, int first, int last, int64_t index)
{
    random_state random = random_start(random_seed(), (uint64_t)index);
    float *gradients = s->b.data[s->b.gradient];
    for (int kind = first; kind < last; kind++)
        for (int64_t i = 0; i < COLUMNS; i++)
            gradients[kind * COLUMNS + i] =
                (float)gradient_probe(&s->source, &random, (gradient_kind)kind, s->slopes[i], i);
}

static void *open_inputs(const job *j)
{
    inputs *s = malloc(sizeof *s);
    if (s == NULL)
        abort();
    bench_open(&s->b, j, ROW_PER_GRADIENT, GRADIENTS, COLUMNS);
    s->source = gradient_source_of(j->dtype);
    memset(s->slopes, 0, sizeof s->slopes);
    draw_gradients(s, 0, GRADIENTS, 0);
    return s;
}

/* Gradients flow back as they are where the function is not flat. Except for the first of them,
 * inputs that are not finite fill whole blocks, and 0 times anything shows nothing. */
static void fill_block(inputs *s, const job *j, int64_t index)
{
    float *values = s->b.data[j->runs];
    for (int64_t i = 0; i < COLUMNS; i++) {
        uint32_t bits = (uint32_t)(index * COLUMNS + i);
        double x, w;
        long double slope;
        memcpy(values + i, &bits, sizeof bits);
        bench_others(j, (double)values[i], &x, &w);
        s->depends[i] = (unsigned char)quick_factor(&j->p, x, w, &slope);
        s->slopes[i] = (double)slope;
    }
    draw_gradients(s, GRADIENTS_FIXED, GRADIENTS, index);
}

static void keep(const inputs *s, const job *j, int64_t index, int64_t place, worst w[WORSTS])
{
    const float *values = s->b.data[j->runs], *gradients = s->b.data[s->b.gradient];
    const float *got = s->b.result;
    int64_t column = place % COLUMNS;
    double x, slope_input;
    bench_others(j, (double)values[column], &x, &slope_input);
    compare_keep(j, x, slope_input, (double)gradients[place], (double)got[place],
                 (index * COLUMNS + column) * GRADIENTS + place / COLUMNS, w);
}

/* Results place .. place + n - 1, all of one kind of gradient. */
static void check_chunk(const inputs *s, const job *j, int64_t index, int64_t place, int64_t n,
                        worst w[WORSTS])
{
    double exact[CHUNK];
    const float *gradients = s->b.data[s->b.gradient], *got = s->b.result;
    int which = place / COLUMNS == GRADIENT_ONE ? GRADIENT_IS_1 : ANY_GRADIENT;
    int correctly = j->limit[ANY_GRADIENT] == 0.5;
    double mpfr_from = compare_mpfr_from(j, which);
    for (int64_t i = 0; i < n; i++) {
        int64_t column = (place + i) % COLUMNS;
        double product = s->slopes[column] * (double)gradients[place + i];
        exact[i] = s->depends[column] ? product : 0.0;
    }
    double error = compare_block(j->dtype, correctly, n, exact, got + place);
    if (error <= w[which].error && error < mpfr_from)
        return;
    for (int64_t i = 0; i < n; i++) {
        double this = compare_block(j->dtype, correctly, 1, exact + i, got + place + i);
        if (this >= error || this >= mpfr_from)
            keep(s, j, index, place + i, w);
    }
}

static void block(void *state, const job *j, int64_t index, worst w[WORSTS])
{
    inputs *s = state;
    if (!isfinite(element_from_bits(j->dtype, (uint64_t)(index * COLUMNS))))
        return;
    fill_block(s, j, index);
    bench_run(&s->b);
    for (int64_t place = 0; place < GRADIENTS * COLUMNS; place += CHUNK)
        check_chunk(s, j, index, place, CHUNK, w);
}

static void close_inputs(void *state)
{
    inputs *s = state;
    bench_close(&s->b);
    exact_close();
    free(s);
}

const method inputs_method = { "all 2^32 inputs, 8 gradients each", blocks, open_inputs, block,
                               close_inputs, bench_where };
