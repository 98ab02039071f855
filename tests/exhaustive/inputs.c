/* SPDX-License-Identifier: Apache-2.0 */
/* inputs.c - every finite input of f32, or every pair of inputs of 16 bits, with one gradient of
 * each kind, half of them drawn anew for every input. Slopes are doubles; results near the bound,
 * and every new worst one, are computed again with MPFR. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doubles.h"
#include "dtypes.h"
#include "exact.h"
#include "exhaustive.h"
#include "points.h"

enum {
    COLUMNS = 1 << 11 /* inputs in a block, which fits into a cache */
};

typedef struct inputs {
    bench b;
    gradient_source source;
    double x[COLUMNS], w[COLUMNS], slopes[COLUMNS];
    double gradients[GRADIENTS * COLUMNS]; /* as stored, for every dtype */
    unsigned char depends[COLUMNS];
} inputs;

static int64_t blocks(const job *j)
{
    (void)j;
    return ((int64_t)1 << 32) / COLUMNS;
}

static void *element_at(const inputs *s, int32_t t, int64_t place)
{
    return (char *)s->b.data[t] + (size_t)place * vjp_dtype_size(s->b.p.tensors[t].dtype);
}

/* Gradients of the kinds first .. last - 1, for the inputs of block `index`. */
static void draw_gradients(inputs *s, int first, int last, int64_t index)
{
    random_state random = random_start(random_seed(), (uint64_t)index);
    for (int64_t kind = first; kind < last; kind++) {
        double *row = s->gradients + kind * COLUMNS;
        gradients_probe(&s->source, &random, (gradient_kind)kind, COLUMNS, s->slopes, row);
        bench_write(s->source.dtype, element_at(s, s->b.gradient, kind * COLUMNS), COLUMNS, row);
    }
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

static void fill_block(inputs *s, const job *j, int64_t index)
{
    bench_inputs(j, index * COLUMNS, COLUMNS, s->x, s->w);
    for (int32_t t = 0; t < 2; t++)
        if (t == j->runs || j->runs == BOTH_RUN)
            bench_write(j->dtype, s->b.data[t], COLUMNS, t == 0 ? s->x : s->w);
    doubles_factors(&j->p, j->output, COLUMNS, s->x, s->w, s->slopes, s->depends);
    draw_gradients(s, GRADIENTS_FIXED, GRADIENTS, index);
}

static void keep(const inputs *s, const job *j, int64_t index, int64_t place, worst w[WORSTS])
{
    int64_t column = place % COLUMNS;
    double got = element_read(j->dtype, element_at(s, s->b.p.op->ninputs + j->output, place));
    compare_keep(j, s->x[column], s->w[column], s->gradients[place], got,
                 (index * COLUMNS + column) * GRADIENTS + place / COLUMNS, w);
}

/* The results for one kind of gradient. */
static void check_row(const inputs *s, const job *j, int64_t index, int64_t row, worst w[WORSTS])
{
    double exact[COLUMNS];
    size_t size = vjp_dtype_size(j->dtype);
    const double *gradients = s->gradients + row * COLUMNS;
    const char *got = (const char *)s->b.result + (size_t)(row * COLUMNS) * size;
    int which = row == GRADIENT_ONE ? GRADIENT_IS_1 : ANY_GRADIENT;
    int correctly = j->limit[ANY_GRADIENT] == 0.5;
    double mpfr_from = compare_mpfr_from(j, which);
    for (int64_t i = 0; i < COLUMNS; i++) {
        double product = s->slopes[i] * gradients[i];
        exact[i] = s->depends[i] ? product : 0.0;
    }
    double error = compare_block(j->dtype, correctly, COLUMNS, exact, got);
    if (!compare_is_worse(error, &w[which]) && error < mpfr_from)
        return;
    for (int64_t i = 0; i < COLUMNS; i++) {
        double this = compare_block(j->dtype, correctly, 1, exact + i, got + (size_t)i * size);
        if (this >= mpfr_from || (this >= error && compare_is_worse(this, &w[which])))
            keep(s, j, index, row * COLUMNS + i, w);
    }
}

static void block(void *state, const job *j, int64_t index, worst w[WORSTS])
{
    inputs *s = state;
    fill_block(s, j, index);
    bench_run(&s->b);
    for (int64_t row = 0; row < GRADIENTS; row++)
        check_row(s, j, index, row, w);
}

static void close_inputs(void *state)
{
    inputs *s = state;
    bench_close(&s->b);
    exact_close();
    free(s);
}

#define INPUTS(inputs) \
    { \
        inputs, blocks, open_inputs, block, close_inputs, bench_where \
    }

const method inputs_method = INPUTS("all 2^32 inputs, 8 gradients each");
const method both_method = INPUTS("all 2^32 pairs of inputs, 8 gradients each");
