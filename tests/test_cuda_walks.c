/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_walks.c - the launches of CUDA plans cover each element once, at its own address: the
 * kernels' index arithmetic, walked on the CPU. Needs no GPU.
 */
#include <string.h>

#include "unit.h"
#include "walk.h"

static bool walked[CUDA_KERNELS];

/* With clusters of each size: all tensors at the start of a vector, all behind it by as much, or
 * each anywhere. */
static void walk_problem(const problem *p, uint64_t number)
{
    const int32_t clusters[] = { 1, 8, VJPI_CUDA_CLUSTER };
    random_state random = random_start(random_seed(), number);
    for (int64_t i = 0; i < COUNT_OF(clusters); i++) {
        int64_t shift[PROBLEM_TENSORS + 1], how = random_below(&random, 3);
        int64_t part = random_between(&random, 1, 7);
        cuda_case c;
        for (int32_t t = 0; t <= PROBLEM_TENSORS; t++)
            shift[t] = how == 0 ? 0 : how == 1 ? part : random_below(&random, 16);
        cuda_case_open(&c, p, clusters[i]);
        c.walked = walked;
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
    walk_drawn(unit_quick() ? 40 : 400, CASE_SMALL);
}

static void larger_problems_are_covered(void **state)
{
    (void)state;
    walk_drawn(unit_quick() ? 2 : 16, CASE_MEDIUM);
}

/* Every layout of every operator, axis and slope, with a dtype each. */
static void walk_layouts(int32_t ndim, const int64_t *shape)
{
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int32_t rule = 0; rule <= ndim + 1; rule++)
            for (int layout = 0; layout < CUDA_BOTH_LAYOUTS; layout++) {
                case_dtypes pairs[CASE_DTYPES];
                int32_t n = case_dtypes_of(vjp_op_at(op)->name, pairs);
                problem p = cuda_problem(vjp_op_at(op)->name, pairs[(rule + layout) % n], ndim,
                                         shape, rule, layout);
                walk_problem(&p, (uint64_t)(layout + 100 * rule));
            }
}

static void layouts_are_covered(void **state)
{
    (void)state;
    walk_layouts(2, (int64_t[]){ 70, 48 });
    walk_layouts(2, (int64_t[]){ 21, 65 });
    walk_layouts(3, (int64_t[]){ 4, 24, 16 });
}

/* The last input lies along y, and something forbids vectors: its rows, the distance of its tiles,
 * or the first input. */
static void odd_tiles_are_covered(void **state)
{
    (void)state;
    const int64_t shape[] = { 3, 72, 64 };
    const int64_t turned[][3] = { { 4608, 1, 72 }, { 5120, 1, 73 }, { 4609, 1, 72 } };
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int64_t i = 0; i < COUNT_OF(turned); i++)
            for (int64_t step = 1; step <= 2; step++)
                for (uint64_t number = 0; number < 4; number++) {
                    case_dtypes same = { VJP_F32, VJP_F32 };
                    problem p = cuda_problem(vjp_op_at(op)->name, same, 3, shape, 3, CUDA_PLAIN);
                    vjp_tensor *last = &p.tensors[p.op->ninputs - 1];
                    memcpy(last->strides, turned[i], sizeof turned[i]);
                    for (int32_t d = 0; d < 3; d++)
                        p.tensors[0].strides[d] *= step;
                    walk_problem(&p, number);
                }
}

/* A few dtypes and layouts of every operator, axis and slope. */
static void walk_shape(int32_t ndim, const int64_t *shape, uint64_t number)
{
    random_state random = random_start(random_seed(), number);
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int32_t rule = 0; rule <= ndim + 1; rule++) {
            case_dtypes pairs[CASE_DTYPES];
            int32_t n = case_dtypes_of(vjp_op_at(op)->name, pairs);
            int layout = (int)random_below(&random, 2 * CUDA_BOTH_LAYOUTS);
            problem p = cuda_problem(vjp_op_at(op)->name, pairs[random_below(&random, n)], ndim,
                                     shape, rule, layout < CUDA_BOTH_LAYOUTS ? layout : 0);
            walk_problem(&p, number);
        }
}

/* Rows and columns that take a warp, a block, a cluster, or more than that; sums in segments. */
static void long_rows_and_columns_are_covered(void **state)
{
    (void)state;
    const int64_t shapes[][3] = {
        { 3, 2051, 1 },  { 3, 8200, 1 }, { 2, 20011, 1 }, { 1, 70001, 1 },
        { 1, 140000, 1 }, { 300, 80, 1 }, { 700, 40, 1 },  { 2, 1500, 24 },
        { 2, 4100, 16 }, { 5000, 7, 1 }, { 9, 100, 64 },  { 64, 9, 130 },
    };
    for (int64_t i = 0; i < COUNT_OF(shapes); i += unit_quick() ? 5 : 1)
        walk_shape(shapes[i][2] > 1 ? 3 : 2, shapes[i], (uint64_t)i);
}

static void rows_and_columns_of_any_length_are_covered(void **state)
{
    (void)state;
    for (int64_t n = 1; n < 2600; n += 1 + n / (unit_quick() ? 4 : 24)) {
        walk_shape(2, (int64_t[]){ 5, n }, (uint64_t)n);
        walk_shape(2, (int64_t[]){ n, 9 }, (uint64_t)n);
    }
}

/* The last test: that the others met every kernel. */
static void every_kernel_was_met(void **state)
{
    (void)state;
    for (int64_t i = 0; i < CUDA_KERNELS; i++)
        if (!walked[i] && !unit_quick())
            fail_msg("no problem led to kernel %d of vjpi_cuda_kernels", (int)i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_problems_are_covered),
        cmocka_unit_test(larger_problems_are_covered),
        cmocka_unit_test(layouts_are_covered),
        cmocka_unit_test(odd_tiles_are_covered),
        cmocka_unit_test(long_rows_and_columns_are_covered),
        cmocka_unit_test(rows_and_columns_of_any_length_are_covered),
        cmocka_unit_test(every_kernel_was_met),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
