/* SPDX-License-Identifier: Apache-2.0 */
/* test_bench_parts.c - what `vjp bench` measures is what it says: the data of a load, and turns. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "bench.h"
#include "dtypes.h"
#include "samples.h"
#include "unit.h"

/* The first case of that name in the set "cliffs". */
static bench_problem cliff_named(const char *name)
{
    const bench_set *set = bench_set_of(VJP_CPU, "cliffs");
    bench_problem of;
    for (int32_t i = 0; i < vjp_op_count(); i++)
        for (int64_t c = 0; c < set->count; c++)
            if (bench_case_at(set, &set->cases[c], vjp_op_at(i), 0, 1 << 16, VJP_F16, &of) &&
                strcmp(of.name, name) == 0)
                return of;
    fail_msg("there is no case %s", name);
    return of;
}

/* A case of the set "cliffs" in memory, with a twist. */
static load load_of(const char *name, bench_twist twist, vjp_context **ctx, memory *where)
{
    char reason[VJP_REASON_SIZE] = "";
    bench_problem of = cliff_named(name);
    load l;
    assert_true(memory_open(where, VJP_CPU, 0, reason));
    assert_int_equal(vjp_context_create(NULL, ctx, reason, sizeof(reason)), VJP_OK);
    if (!load_open(&l, where, *ctx, &of.p, twist, 0, reason))
        fail_msg("%s", reason);
    return l;
}

static void assert_numbers(const char *name, bench_twist twist, const char *tensor, double low,
                           double high)
{
    vjp_context *ctx;
    memory where;
    load l = load_of(name, twist, &ctx, &where);
    int32_t index = problem_tensor(&l.p, tensor);
    const uint16_t *data = load_buffer(&l, index);
    int64_t count = tensor_count(&l.p.tensors[index]), zeros = 0;
    for (int64_t i = 0; i < count; i++) {
        double value = element_read(VJP_F16, &data[i]);
        if (value < low || value > high)
            fail_msg("%s[%lld] is %g", tensor, (long long)i, value);
        zeros += value == 0;
    }
    assert_true(zeros < count / 10);
    assert_int_equal(load_run(&l, NULL), VJP_OK);
    load_close(&l);
    vjp_context_destroy(ctx);
}

/* An operator is measured from the moment that the library has it. */
static void every_operator_has_a_case_in_every_set(void **state)
{
    static const struct {
        vjp_device device;
        const char *name;
    } sets[] = { { VJP_CPU, "standard" },
                 { VJP_CPU, "peers" },
                 { VJP_CPU, "growth" },
                 { VJP_CPU, "cliffs" },
                 { VJP_CUDA, "standard" } };
    (void)state;
    for (int s = 0; s < COUNT_OF(sets); s++)
        for (int32_t i = 0; i < vjp_op_count(); i++) {
            const bench_set *set = bench_set_of(sets[s].device, sets[s].name);
            char name[BENCH_NAME];
            int64_t cases = 0;
            for (int64_t c = 0; c < set->count; c++)
                cases += bench_case_name(&set->cases[c], vjp_op_at(i), 0, name);
            if (cases == 0)
                fail_msg("%s has no case in %s", vjp_op_at(i)->name, sets[s].name);
        }
}

static void subnormal_numbers_are_subnormal(void **state)
{
    (void)state;
    double limit = 0x1p-14 - 0x1p-24;
    assert_numbers(SAMPLE_ROWS_CASE ", rows", TWIST_DENORMALS, "dst", -limit, limit);
    assert_numbers(SAMPLE_ROWS_CASE ", rows", TWIST_DENORMALS, "diff_dst", -limit, limit);
    assert_numbers(SAMPLE_ROWS_CASE ", rows", TWIST_NONE, "dst", -16, 16);
}

/* Its sums neither cancel nor leave the range of f16. */
static void gradients_beside_a_slope_are_positive_and_small(void **state)
{
    (void)state;
    assert_numbers(SAMPLE_FOLD_CASE " NXC", TWIST_NONE, "diff_dst", -0x1p-11, 0x1p-9);
}

static void a_twist_moves_every_tensor_by_one_element(void **state)
{
    (void)state;
    for (int twist = 0; twist < BENCH_TWISTS; twist++) {
        vjp_context *ctx;
        memory where;
        load l = load_of(SAMPLE_FOLD_CASE " NXC", (bench_twist)twist, &ctx, &where);
        for (int32_t i = 0; i < l.p.ntensors; i++)
            assert_int_equal((uintptr_t)load_buffer(&l, i) % 256, twist == TWIST_OFFSET ? 2 : 0);
        load_close(&l);
        vjp_context_destroy(ctx);
    }
}

/* In the set "peers" a gradient is given what its forward pass keeps, and that is what it says. */
static void what_the_forward_pass_keeps_is_true(void **state)
{
    const bench_set *set = bench_set_of(VJP_CPU, "peers");
    const vjp_op_info *op = vjp_op_find(SAMPLE_KEPT);
    char reason[VJP_REASON_SIZE] = "";
    vjp_context *ctx;
    memory where;
    bench_problem of;
    load l;
    int64_t c = 0, row = 1024;
    (void)state;
    while (c < set->count && !bench_case_at(set, &set->cases[c], op, 0, 4 * row, VJP_F32, &of))
        c++;
    assert_true(c < set->count);
    assert_true(memory_open(&where, VJP_CPU, 0, reason));
    assert_int_equal(vjp_context_create(NULL, &ctx, reason, sizeof(reason)), VJP_OK);
    assert_true(load_open(&l, &where, ctx, &of.p, TWIST_NONE, 0, reason));
    const float *x = load_buffer(&l, problem_tensor(&l.p, "src"));
    const float *rstd = load_buffer(&l, problem_tensor(&l.p, "rstd"));
    for (int64_t i = 0; i < 4; i++) {
        double squares = 0;
        for (int64_t k = 0; k < row; k++)
            squares += (double)x[i * row + k] * x[i * row + k];
        assert_true(fabs(rstd[i] * sqrt(squares / (double)row + 1e-5) - 1) < 1e-6);
    }
    load_close(&l);
    vjp_context_destroy(ctx);
}

/* Results that may be omitted and that other libraries do not have are. */
static void a_forward_pass_beside_peers_has_no_more_results_than_they(void **state)
{
    const bench_set *peers = bench_set_of(VJP_CPU, "peers");
    const bench_set *all = bench_set_of(VJP_CPU, "standard");
    const vjp_op_info *op = vjp_op_find(SAMPLE_EXTRA);
    bench_problem of;
    (void)state;
    for (int64_t c = 0; c < peers->count; c++)
        if (bench_case_at(peers, &peers->cases[c], op, 0, 4096, VJP_F32, &of))
            assert_false(problem_has(&of.p, problem_tensor(&of.p, "normalized")));
    for (int64_t c = 0; c < all->count; c++)
        if (bench_case_at(all, &all->cases[c], op, 0, 4096, VJP_F32, &of))
            assert_true(problem_has(&of.p, problem_tensor(&of.p, "normalized")));
}

static void broadcast_bytes_count_once(void **state)
{
    (void)state;
    vjp_context *ctx;
    memory where;
    load l = load_of(SAMPLE_MAP_CASE, TWIST_NONE, &ctx, &where);
    assert_true(l.bytes == 3.0 * 2 * (1 << 16));
    load_close(&l);

    char reason[VJP_REASON_SIZE] = "";
    bench_problem of = cliff_named(SAMPLE_MAP_CASE);
    named_lay_out(&of.p, NAMED_BROADCAST);
    assert_true(load_open(&l, &where, ctx, &of.p, TWIST_NONE, 0, reason));
    assert_true(l.bytes == 2.0 * 2 * (1 << 16) + 2);
    load_close(&l);
    vjp_context_destroy(ctx);
}

/* ---- turns -------------------------------------------------------------------------------- */

/* Runs that last at least so long; the last one is `fails_at`. */
typedef struct waiter {
    double seconds;
    int runs, fails_at;
} waiter;

static bool wait_a_little(void *state)
{
    waiter *w = state;
    double start = bench_now();
    while (bench_now() - start < w->seconds)
        continue;
    return ++w->runs != w->fails_at;
}

static void medians_are_those_of_the_rounds_both_were_in(void **state)
{
    (void)state;
    const contender a = { .pairs = 3, .seconds = { 6, 9, 4 } };
    const contender b = { .pairs = 5, .seconds = { 3, 3, 1, 100, 200 } };
    assert_true(turns_median(&a) == 6);
    assert_true(turns_median(&b) == 3);
    assert_true(turns_ratio(&a, &b) == 3); /* of 2, 3 and 4 */
}

static void all_take_as_many_turns(void **state)
{
    (void)state;
    waiter fast = { 2e-4, 0, 0 }, slow = { 2e-2, 0, 0 };
    contender all[] = { { .run = wait_a_little, .state = &fast },
                        { .run = wait_a_little, .state = &slow } };
    assert_true(turns_take(all, 2, 0));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(all[i].pairs, LEAST_PAIRS);
        for (int round = 0; round < LEAST_PAIRS; round++)
            assert_true(all[i].seconds[round] >= ((waiter *)all[i].state)->seconds);
    }
    assert_ptr_equal(turns_fastest(all, 2), &all[0]);
}

static void small_work_is_repeated_and_slow_work_spared(void **state)
{
    (void)state;
    waiter small = { 1e-6, 0, 0 }, slow = { 1.01, 0, 0 };
    contender all[] = { { .run = wait_a_little, .state = &small },
                        { .run = wait_a_little, .state = &slow } };
    assert_true(turns_take(all, 2, 0));
    assert_true(all[0].times >= 10);
    assert_int_equal(slow.runs, 1 + SLOW_PAIRS);
}

static void who_is_much_slower_than_another_is_spared(void **state)
{
    (void)state;
    waiter fast = { 1e-3, 0, 0 }, slow = { 25e-3, 0, 0 };
    contender all[] = { { .run = wait_a_little, .state = &fast },
                        { .run = wait_a_little, .state = &slow, .beside = &all[0] } };
    assert_true(turns_take(all, 2, 0));
    assert_int_equal(all[0].pairs, LEAST_PAIRS);
    assert_int_equal(all[1].pairs, SLOW_PAIRS);
}

static void a_run_that_fails_ends_the_turns(void **state)
{
    (void)state;
    waiter w = { 2e-4, 0, 5 };
    contender all[] = { { .run = wait_a_little, .state = &w } };
    assert_false(turns_take(all, 1, 0));
    assert_int_equal(w.runs, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_has_a_case_in_every_set),
        cmocka_unit_test(subnormal_numbers_are_subnormal),
        cmocka_unit_test(gradients_beside_a_slope_are_positive_and_small),
        cmocka_unit_test(a_twist_moves_every_tensor_by_one_element),
        cmocka_unit_test(what_the_forward_pass_keeps_is_true),
        cmocka_unit_test(a_forward_pass_beside_peers_has_no_more_results_than_they),
        cmocka_unit_test(broadcast_bytes_count_once),
        cmocka_unit_test(medians_are_those_of_the_rounds_both_were_in),
        cmocka_unit_test(all_take_as_many_turns),
        cmocka_unit_test(small_work_is_repeated_and_slow_work_spared),
        cmocka_unit_test(who_is_much_slower_than_another_is_spared),
        cmocka_unit_test(a_run_that_fails_ends_the_turns),
    };
    return cmocka_run_group_tests_name("bench_parts", tests, NULL, NULL);
}
