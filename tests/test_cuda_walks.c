/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_walks.c - the threads of a cluster of blocks share rows and columns so that each
 * element belongs to exactly one thread: the kernels' own index arithmetic (cuda/walk.h). What one
 * block does alone, test_cuda_emulated.c runs. Needs no GPU.
 */
#include <stdlib.h>
#include <string.h>

#include "cuda/walk.h"
#include "unit.h"

static void count_elements(unsigned char *visits, int64_t first, int64_t count, int64_t n)
{
    for (int64_t e = first; e < first + count; e++) {
        assert_in_range(e, 0, n - 1);
        assert_int_equal(visits[e]++, 0);
    }
}

static void assert_all_visited(const unsigned char *visits, int64_t n)
{
    for (int64_t e = 0; e < n; e++)
        assert_int_equal(visits[e], 1);
}

/* A row of n elements that begins `shift` elements behind a cache line of `line`. */
static void walk_row(int n, int shift, int line, int vector, uint32_t cluster, int threads,
                     int held)
{
    unsigned char *visits = calloc((size_t)n + 1, 1);
    const vjpi_cuda_loop loop = { .lanes = 0 };
    assert_non_null(visits);
    for (uint32_t block = 0; block < cluster; block++)
        for (int thread = 0; thread < threads; thread++) {
            vjpi_row_share share = vjpi_share_row(&loop, 5 * cluster + block, thread, threads,
                                                  cluster, held);
            vjpi_row_cut cut = vjpi_cut_row(n, shift, line, vector, share.number);
            assert_int_equal(share.row, 5);
            for (int j = 0; j < held && share.first + j * share.stride < cut.vectors; j++)
                count_elements(visits, cut.head + (share.first + j * share.stride) * vector, vector,
                               n);
            if (cut.single >= 0)
                count_elements(visits, cut.single, 1, n);
        }
    assert_all_visited(visits, n);
    free(visits);
}

static void a_cluster_shares_a_row(void **state)
{
    (void)state;
    for (uint32_t cluster = 1; cluster <= VJPI_CUDA_CLUSTER; cluster *= 2)
        for (int shift = 0; shift < 64; shift += 7)
            for (int less = 0; less < 300; less += 23) {
                int held = 4, threads = 96, n = 8 * held * threads * (int)cluster - less;
                walk_row(n, shift, 64, 8, cluster, threads, held);
                walk_row(n / 8, 0, 1, 1, cluster, threads, held);
            }
}

static void a_cluster_shares_columns(void **state)
{
    (void)state;
    enum { X = 8, Y = 32, VECTOR = 4 };
    for (int32_t cluster = 1; cluster <= VJPI_CUDA_CLUSTER; cluster *= 2)
        for (int64_t rows = cluster * Y * 3 - 40; rows <= cluster * Y * 3; rows += 13) {
            const int64_t n = 44;
            unsigned char *visits = calloc((size_t)(n * rows), 1);
            vjpi_cuda_loop loop = { .cluster = cluster, .held = 3, .xblocks = 2, .x.n = n,
                                    .y.n = rows };
            assert_non_null(visits);
            for (uint32_t block = 0; block < 2 * (uint32_t)cluster; block++)
                for (int thread = 0; thread < X * Y; thread++) {
                    vjpi_column_share share = vjpi_share_column(&loop, block, thread % X,
                                                                thread / X, X, Y, VECTOR);
                    for (int j = 0; j < share.count; j++)
                        count_elements(visits, (share.first + j * Y) * n + share.p, VECTOR,
                                       n * rows);
                }
            assert_all_visited(visits, n * rows);
            free(visits);
        }
}

/* +0 behind the end of a row: vectors where they fit, single elements around them. */
static void what_is_behind_the_end_is_cleared_once(void **state)
{
    (void)state;
    for (int64_t n = 1; n < 40; n++)
        for (int64_t end = 0; end <= n; end++)
            for (int shift = 0; shift < 8; shift++) {
                int64_t begin, stop;
                vjpi_cut_behind(end, n, shift, 8, &begin, &stop);
                assert_true(end <= begin && begin <= stop && stop <= n);
                assert_int_equal((stop - begin) % 8, 0);
                assert_true(begin == stop || (begin + shift) % 8 == 0);
                assert_true(begin - end < 8 && n - stop < 16);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cluster_shares_a_row),
        cmocka_unit_test(a_cluster_shares_columns),
        cmocka_unit_test(what_is_behind_the_end_is_cleared_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
