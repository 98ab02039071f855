/* SPDX-License-Identifier: Apache-2.0 */
/* pairs.c - 16-bit dtypes: every finite input with every finite gradient. MPFR is used once per
 * input; its product with a gradient of at most 11 bits is a double. */
#include <math.h>
#include <stdlib.h>

#include "dtypes.h"
#include "exact.h"
#include "exhaustive.h"

enum {
    ALL = 1 << 16,
    ROWS = 16, /* inputs in a block */
    CHUNK = 2048
};

typedef struct pairs {
    bench b;
    int64_t ngradients;
    double gradients[ALL];
} pairs;

static int64_t blocks(const job *j)
{
    (void)j;
    return ALL / ROWS;
}

static void *open_pairs(const job *j)
{
    pairs *s = malloc(sizeof *s);
    if (s == NULL)
        abort();
    s->ngradients = 0;
    for (uint64_t bits = 0; bits < ALL; bits++)
        if (isfinite(element_from_bits(j->dtype, bits)))
            s->gradients[s->ngradients++] = element_from_bits(j->dtype, bits);
    bench_open(&s->b, j, ROW_PER_INPUT, ROWS, s->ngradients);
    uint16_t *g = s->b.data[s->b.gradient];
    for (int64_t i = 0; i < s->ngradients; i++)
        element_write(j->dtype, g + i, s->gradients[i]);
    return s;
}

/* The results for one input and gradients first .. first + n - 1. */
static void check_chunk(const pairs *s, const job *j, int64_t input, double slope, int depends,
                        const uint16_t *got, int64_t first, int64_t n, worst w[WORSTS])
{
    double exact[CHUNK] = { 0 }; /* gcc does not see that n is above 0 */
    int correctly = j->limit[ANY_GRADIENT] == 0.5;
    for (int64_t i = 0; i < n; i++)
        exact[i] = depends ? slope * s->gradients[first + i] : 0.0;
    double error = compare_block(j->dtype, correctly, n, exact, got);
    if (!compare_is_worse(error, &w[ANY_GRADIENT]))
        return;
    for (int64_t i = 0; i < n; i++) {
        double x, slope_input;
        if (compare_block(j->dtype, correctly, 1, exact + i, got + i) < error)
            continue;
        bench_others(j, element_from_bits(j->dtype, (uint64_t)input), &x, &slope_input);
        compare_keep(j, x, slope_input, s->gradients[first + i],
                     element_read(j->dtype, got + i), input * ALL + first + i, w);
        return;
    }
}

static void check_input(const pairs *s, const job *j, int64_t input, const uint16_t *got,
                        worst w[WORSTS])
{
    double x, slope_input;
    mpfr_t exact;
    bench_others(j, element_from_bits(j->dtype, (uint64_t)input), &x, &slope_input);
    if (!isfinite(x) || !isfinite(slope_input))
        return;
    mpfr_init2(exact, EXACT_BITS);
    int depends = exact_factor(&j->p, j->output, x, slope_input, exact);
    double slope = mpfr_get_d(exact, MPFR_RNDN);
    mpfr_clear(exact);
    for (int64_t first = 0; first < s->ngradients; first += CHUNK) {
        int64_t left = s->ngradients - first;
        check_chunk(s, j, input, slope, depends, got + first, first, left < CHUNK ? left : CHUNK,
                    w);
    }
}

static void block(void *state, const job *j, int64_t index, worst w[WORSTS])
{
    pairs *s = state;
    uint16_t *inputs = s->b.data[j->runs];
    const uint16_t *got = s->b.result;
    for (int64_t row = 0; row < ROWS; row++)
        inputs[row] = (uint16_t)(index * ROWS + row);
    bench_run(&s->b);
    for (int64_t row = 0; row < ROWS; row++)
        check_input(s, j, index * ROWS + row, got + row * s->ngradients, w);
}

static void close_pairs(void *state)
{
    pairs *s = state;
    bench_close(&s->b);
    exact_close();
    free(s);
}

const method pairs_method = {
    "all 2^32 pairs", blocks, open_pairs, block, close_pairs, bench_where
};
