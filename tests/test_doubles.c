/* SPDX-License-Identifier: Apache-2.0 */
/* test_doubles.c - the oracle's doubles, which tests/exhaustive compares results of f32 with, agree
 * with its long doubles: over all magnitudes of f32, at the points of points.h and next to the
 * roots of slopes, where doubles cancel. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "doubles.h"
#include "dtypes.h"
#include "exact.h"
#include "exhaustive/exhaustive.h"
#include "points.h"
#include "quick.h"
#include "unit.h"
#include "variants.h"

enum {
    BATCH = 1024,
    STRIDE = 65521, /* between the bits of inputs: a prime */
    DISTANCES = 26
};

static struct {
    double x[BATCH], w[BATCH], factors[BATCH];
    unsigned char depends[BATCH];
    int count;
} batch;

/* Small enough that f32's largest gradient does not show it, or so large that the smallest does not
 * bring it back. */
static int is_out_of_range(long double a) { return fabsl(a) < 0x1p-290L || fabsl(a) > 0x1p280L; }

static int agree(long double wanted, double got)
{
    if (isnan(wanted) || isnan(got))
        return isnan(wanted) && isnan(got);
    if (is_negative(wanted) != is_negative(got))
        return 0;
    if (is_out_of_range(wanted))
        return is_out_of_range(got) && (fabsl(wanted) < 1) == (fabs(got) < 1);
    return fabsl(wanted - got) <= 0x1p-36L * fabsl(wanted);
}

static void check_batch(const problem *p, int32_t output)
{
    char name[VARIANT_TEXT];
    doubles_factors(p, output, batch.count, batch.x, batch.w, batch.factors, batch.depends);
    for (int i = 0; i < batch.count; i++) {
        long double wanted;
        int depends = quick_factor(p, output, batch.x[i], batch.w[i], &wanted);
        if (depends == batch.depends[i] && agree(wanted, batch.factors[i]))
            continue;
        variant_name(p, name);
        fail_msg("%s, output %d: x = %a, w = %a: %La (%d), as a double %a (%d)", name, (int)output,
                 batch.x[i], batch.w[i], wanted, depends, batch.factors[i], batch.depends[i]);
    }
    batch.count = 0;
}

static void check_at(const problem *p, int32_t output, double x, double w)
{
    if (!isfinite(x) || !isfinite(w))
        return;
    batch.x[batch.count] = x;
    batch.w[batch.count++] = w;
    if (batch.count == BATCH)
        check_batch(p, output);
}

/* From half of it down to one step away. */
static void check_next_to(const problem *p, int32_t output, double turn, double w)
{
    for (int k = 1; k < DISTANCES; k++)
        for (int sign = -1; sign <= 1; sign += 2)
            check_at(p, output, dtype_round(VJP_F32, turn * (1 + sign * ldexp(1, -k))), w);
}

static void check_output(const problem *p, int32_t output)
{
    random_state random = random_start(random_seed(), (uint64_t)output);
    points list = points_list(p);
    uint64_t stride = unit_quick() ? 16 * STRIDE : STRIDE;
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += stride)
        check_at(p, output, element_from_bits(VJP_F32, bits), point_draw(&random, VJP_F32, &list));
    for (int64_t i = 0; i < list.count; i++) {
        double w = point_draw(&random, VJP_F32, &list);
        check_at(p, output, list.at[i], w);
        if (i >= list.first_turn)
            check_next_to(p, output, list.at[i], w);
    }
    check_batch(p, output);
    points_free(&list);
}

static void check_problem(problem p)
{
    problem_contiguous(&p, VJP_F32, VJP_F32, 1, (int64_t[]){ 1 }, 1, (int64_t[]){ 1 });
    for (int32_t output = 0; output < p.op->noutputs; output++)
        check_output(&p, output);
}

static void doubles_agree_with_long_doubles(void **state)
{
    (void)state;
    for (int32_t o = 0; o < vjp_op_count(); o++)
        for (int32_t v = 0; v < variant_count(vjp_op_at(o)); v++) {
            problem p = variant_problem(vjp_op_at(o), v);
            if (!exact_knows(p.op->name))
                continue;
            check_problem(p);
            for (int32_t n = 0; n < named_count(p.op) && !named_sets_numbers(&p); n++)
                check_problem(named_problem(&p, n));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_agree_with_long_doubles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
