/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_plans.c - limits that every launch of a CUDA plan keeps to, for any shape: sizes that
 * the kernels and the device allow. Needs no GPU.
 */
#include "plans.h"
#include "unit.h"

/* Devices without clusters, with little shared memory, and with much of both. */
static const vjpi_cuda_limits devices[] = { { 1, 166912, 1 }, { 8, 101376, 132 },
                                            { VJPI_CUDA_CLUSTER, 232448, 132 } };

/* ---- one launch --------------------------------------------------------------------------- */

static bool is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

static void check_threads(const cuda_case *c, const vjpi_cuda_stage *stage,
                          const vjpi_cuda_launch *l)
{
    const vjpi_cuda_kernels *k = c->plan.kernels;
    int64_t threads = (int64_t)l->x * l->y;
    bool held_most = l->kernel == k->row[0][VJPI_CUDA_HELD - 1] ||
                     l->kernel == k->row[1][VJPI_CUDA_HELD - 1];
    bool row = (stage->kind == VJPI_CUDA_ROW && !held_most && l->loop.held == 0) ||
               l->kernel == k->summed[0] || l->kernel == k->summed[1];
    cuda_require(c, threads >= 1 && threads <= (row ? VJPI_CUDA_ROW_THREADS : VJPI_CUDA_THREADS),
                 "threads of a block", threads);
    if (stage->kind != VJPI_CUDA_MAP)
        cuda_require(c, threads % 32 == 0, "a part of a warp is idle", threads);
    if (stage->kind == VJPI_CUDA_TRANSPOSED || stage->kind == VJPI_CUDA_ALONG ||
        l->kernel == c->plan.set->join)
        cuda_require(c, threads == VJPI_CUDA_THREADS, "threads of a whole block", threads);
    if (stage->kind == VJPI_CUDA_COLUMN || stage->kind == VJPI_CUDA_ACROSS) /* warps are shared */
        cuda_require(c, is_power_of_two(l->x), "columns of a block", l->x);
}

static void check_launch(const cuda_case *c, const vjpi_cuda_stage *stage,
                         const vjpi_cuda_launch *l)
{
    int64_t lanes = l->loop.lanes, shared = (int64_t)l->shared;
    bool holds = stage->kind == VJPI_CUDA_ROW || stage->kind == VJPI_CUDA_COLUMN ||
                 stage->kind == VJPI_CUDA_SUMMED;
    cuda_require(c, l->kernel != NULL, "there is no such kernel", stage->kind);
    /* Where there are more, the backend refuses the call. */
    cuda_require(c, l->blocks >= 1 && (l->blocks <= INT32_MAX || c->call.elements > INT32_MAX),
                 "blocks", l->blocks);
    check_threads(c, stage, l);
    cuda_require(c, lanes == 0 || (lanes == 1 << l->loop.lanes_log && lanes <= 32), "lanes", lanes);
    cuda_require(c, is_power_of_two(l->cluster) &&
                        (int32_t)l->cluster <= c->plan.limits.most_cluster,
                 "blocks of a cluster", l->cluster);
    cuda_require(c, (int32_t)l->cluster == l->loop.cluster, "two sizes of a cluster", l->cluster);
    cuda_require(c, l->blocks % l->cluster == 0, "a part of a cluster", l->blocks);
    shared += holds ? vjpi_cuda_static_shared(&c->plan) : 0;
    cuda_require(c, shared <= c->plan.limits.most_shared, "shared memory", shared);
    cuda_require(c, !l->flat || l->kernel == c->plan.kernels->flat, "flat, or not", l->flat);
    cuda_require(c, cuda_partials_fit(c, l), "partial sums do not fit", l->loop.nsegments);
}

/* ---- whole plans -------------------------------------------------------------------------- */

/* Every launch that some addresses would lead to. */
static void check_stage(const cuda_case *c, const vjpi_cuda_stage *stage)
{
    for (int vectors = 0; vectors <= stage->vectors; vectors++)
        for (int exact = 0; exact <= vectors; exact++) {
            vjpi_cuda_launch l;
            vjpi_cuda_shape(&c->plan, stage, vectors, exact, &l);
            check_launch(c, stage, &l);
            if (l.loop.nsegments > 1) {
                vjpi_cuda_shape_join(&c->plan, &l, &l);
                check_launch(c, stage, &l);
            }
        }
}

/* Every operator and dtype over a shape, on every device. */
static void check_shape(int32_t ndim, const int64_t *shape, uint64_t number)
{
    const vjp_dtype dtypes[] = { VJP_F64, VJP_F32, VJP_F16, VJP_BF16 };
    random_state random = random_start(random_seed(), number);
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (int64_t i = 0; i < COUNT_OF(dtypes) * COUNT_OF(devices); i++) {
            drawn d;
            cuda_case c;
            draw_call(vjp_op_at(op), dtypes[i % COUNT_OF(dtypes)], ndim, shape, &random, &d);
            if (!cuda_case_open(&c, &d, devices[i / COUNT_OF(dtypes)]))
                continue;
            cuda_require(&c, c.plan.nstages <= VJPI_CUDA_MAX_STAGES, "stages", c.plan.nstages);
            for (int32_t s = 0; s < c.plan.nstages; s++)
                check_stage(&c, &c.plan.stages[s]);
        }
}

static void any_shape_has_good_launches(void **state)
{
    (void)state;
    const int64_t sizes[] = { 0,    1,    2,    3,    7,    8,     9,     31,    33,
                              64,   255,  257,  1000, 1024, 2048,  2049,  4096,  4097,
                              8192, 8193, 9999, 10000, 16384, 16385, 131072, 131073, 300000 };
    for (int64_t i = 0; i < COUNT_OF(sizes); i++) {
        check_shape(1, &sizes[i], (uint64_t)i);
        for (int64_t j = 0; j < COUNT_OF(sizes); j += unit_quick() ? 5 : 1) {
            const int64_t shape[] = { sizes[i], sizes[j], 5, sizes[i] };
            uint64_t number = (uint64_t)(1000 * i + j);
            check_shape(2, shape, number);
            if (i % 3 == 0 && j % 3 == 0)
                check_shape(3, shape, number);
        }
    }
}

static void huge_shapes_have_good_launches(void **state)
{
    (void)state;
    const int64_t n = (1LL << 31) + 7;
    const int64_t shapes[][2] = { { 1, n },  { n, 1 },      { 3, n },       { n, 3 },
                                  { n, 40 }, { n / 9, 60 }, { 65536, n / 9 }, { 1LL << 35, 8 } };
    for (int64_t i = 0; i < COUNT_OF(shapes); i++)
        for (uint64_t number = 0; number < 8; number++)
            check_shape(2, shapes[i], number);
    check_shape(12, (int64_t[]){ 2, 3, 2, 5, 2, 2, 3, 2, 2, 7, 2, 3 }, 1);
    check_shape(12, (int64_t[]){ 9, 5, 6, 5, 7, 6, 5, 6, 5, 7, 8, 9 }, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_shape_has_good_launches),
        cmocka_unit_test(huge_shapes_have_good_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
