/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_walks.c - the launches of CUDA plans cover each element once, at its own address: the
 * kernels' index arithmetic, walked on the CPU. Needs no GPU.
 */
#include "cases.h"
#include "unit.h"
#include "walk.h"

/* All tensors at the start of a vector, all behind it by as much, or each anywhere. */
static void walk_problem(const problem *p, uint64_t number)
{
    const int32_t clusters[] = { 1, 8, VJPI_CUDA_CLUSTER };
    random_state random = random_start(random_seed(), number);
    int64_t part = random_between(&random, 1, 7);
    for (int64_t i = 0; i < COUNT_OF(clusters); i++)
        for (int how = 0; how < 3; how++) {
            int64_t shift[PROBLEM_TENSORS + 1];
            cuda_case c;
            for (int32_t t = 0; t <= PROBLEM_TENSORS; t++)
                shift[t] = how == 0 ? 0 : how == 1 ? part : random_below(&random, 16);
            cuda_case_open(&c, p, clusters[i]);
            cuda_walk(&c, shift);
        }
}

static void walk_drawn(uint64_t count, int64_t most_elements)
{
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (uint64_t number = 0; number < count; number++) {
            case_dtypes pairs[CASE_DTYPES];
            int32_t n = case_dtypes_of(vjp_op_at(op)->name, pairs), i = (int32_t)number % n;
            problem p = case_draw_within(vjp_op_at(op)->name, pairs[i].dtype, pairs[i].wide,
                                         number, most_elements);
            walk_problem(&p, number);
        }
}

static void small_problems_are_covered(void **state)
{
    (void)state;
    walk_drawn(unit_quick() ? 20 : 200, CASE_SMALL);
}

static void larger_problems_are_covered(void **state)
{
    (void)state;
    walk_drawn(unit_quick() ? 2 : 12, CASE_MEDIUM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_problems_are_covered),
        cmocka_unit_test(larger_problems_are_covered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
