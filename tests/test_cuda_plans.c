/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_plans.c - what every launch of a CUDA plan keeps to, whatever the shape: sizes that the
 * kernels and the device allow, and the workspace that vjp.h promises. Needs no GPU.
 */
#include <stdlib.h>

#include "plans.h"
#include "unit.h"

#define MOST_SHARED 90112 /* bytes, as cuda/cuda.c asks for */

static const int32_t clusters[] = { 1, 8, VJPI_CUDA_CLUSTER };

/* ---- one launch --------------------------------------------------------------------------- */

static bool is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

static void check_threads(const cuda_case *c, const vjpi_cuda_stage *stage,
                          const vjpi_cuda_launch *l)
{
    int64_t threads = (int64_t)l->x * l->y;
    bool held_most = l->kernel == c->kernels.row[0][VJPI_CUDA_HELD - 1] ||
                     l->kernel == c->kernels.row[1][VJPI_CUDA_HELD - 1];
    bool row = stage->kind == VJPI_CUDA_ROW && !held_most && l->loop.held == 0;
    cuda_require(c, threads >= 1 && threads <= (row ? VJPI_CUDA_ROW_THREADS : VJPI_CUDA_THREADS),
                 "threads of a block", threads);
    if (stage->kind != VJPI_CUDA_MAP)
        cuda_require(c, threads % 32 == 0, "a part of a warp is idle", threads);
    if (stage->kind == VJPI_CUDA_TURNED || stage->kind == VJPI_CUDA_ALONG ||
        l->kernel == c->kernels.join)
        cuda_require(c, threads == VJPI_CUDA_THREADS, "threads of a whole block", threads);
    if (stage->kind == VJPI_CUDA_COLUMN || stage->kind == VJPI_CUDA_ACROSS) /* warps are shared */
        cuda_require(c, is_power_of_two(l->x), "columns of a block", l->x);
}

static void check_launch(const cuda_case *c, const vjpi_cuda_stage *stage,
                         const vjpi_cuda_launch *l)
{
    int64_t lanes = l->loop.lanes;
    cuda_require(c, l->kernel != NULL, "there is no such kernel", stage->kind);
    /* Where there are more, the backend refuses the call. */
    cuda_require(c, l->blocks >= 1 &&
                        (l->blocks <= INT32_MAX || vjpi_numel(&c->call.tensors[0]) > INT32_MAX),
                 "blocks", l->blocks);
    check_threads(c, stage, l);
    cuda_require(c, lanes == 0 || (is_power_of_two(lanes) && lanes <= 32), "lanes", lanes);
    cuda_require(c, is_power_of_two(l->cluster) && (int32_t)l->cluster <= c->plan.most_cluster,
                 "blocks of a cluster", l->cluster);
    cuda_require(c, (int32_t)l->cluster == l->loop.cluster, "two sizes of a cluster", l->cluster);
    cuda_require(c, l->blocks % l->cluster == 0, "a part of a cluster", l->blocks);
    cuda_require(c, l->shared <= MOST_SHARED, "shared memory", (int64_t)l->shared);
    cuda_require(c, !l->flat || l->kernel == c->kernels.flat, "flat, or not", l->flat);
    cuda_require(c, cuda_partials_fit(c, l), "partial sums do not fit", l->loop.nsegments);
}

/* ---- whole plans -------------------------------------------------------------------------- */

static int64_t workspace_limit(const problem *p)
{
    double bytes = 0;
    for (int32_t i = 0; i < p->op->ninputs; i++)
        bytes += (double)tensor_count(&p->tensors[i]) *
                 (double)vjp_dtype_size(p->tensors[i].dtype);
    return bytes / 16 < 262144 ? 262144 : (int64_t)(bytes / 16);
}

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

static void check_plans(const problem *p)
{
    for (int64_t i = 0; i < COUNT_OF(clusters); i++) {
        cuda_case c;
        cuda_case_open(&c, p, clusters[i]);
        cuda_require(&c, c.plan.nstages <= VJPI_CUDA_MAX_STAGES, "stages", c.plan.nstages);
        cuda_require(&c, (int64_t)c.workspace_size <= workspace_limit(p), "workspace",
                     (int64_t)c.workspace_size);
        if (c.plan.rowsums_size > 0)
            cuda_require(&c, (int64_t)c.workspace_size >=
                                 c.plan.rowsums_size + c.plan.compute_size - 1,
                         "no room for row sums", c.plan.rowsums_size);
        for (int32_t s = 0; s < c.plan.nstages; s++)
            check_stage(&c, &c.plan.stages[s]);
    }
}

static void check_all_dtypes(const char *op, uint64_t number, int64_t most_elements)
{
    case_dtypes pairs[CASE_DTYPES];
    int32_t n = case_dtypes_of(op, pairs);
    for (int32_t i = 0; i < n; i++) {
        problem p = case_draw_within(op, pairs[i].dtype, pairs[i].wide, number, most_elements);
        check_plans(&p);
    }
}

static void random_problems_have_good_launches(void **state)
{
    (void)state;
    uint64_t count = unit_quick() ? 100 : 1000;
    const int64_t rooms[] = { CASE_SMALL, CASE_MEDIUM, 1LL << 31 };
    for (int32_t op = 0; op < vjp_op_count(); op++)
        for (uint64_t number = 0; number < count; number++)
            for (int64_t r = 0; r < COUNT_OF(rooms); r++)
                check_all_dtypes(vjp_op_at(op)->name, number, rooms[r]);
}

/* ---- shapes of all sizes ------------------------------------------------------------------ */

/* Every operator, dtype, axis, slope and layout over a shape. */
static void check_shape(int32_t ndim, const int64_t *shape)
{
    for (int32_t op = 0; op < vjp_op_count(); op++) {
        case_dtypes pairs[CASE_DTYPES];
        int32_t n = case_dtypes_of(vjp_op_at(op)->name, pairs);
        for (int32_t i = 0; i < n; i++)
            for (int32_t rule = 0; rule <= ndim + 1; rule++)
                for (int layout = 0; layout < CUDA_BOTH_LAYOUTS; layout++) {
                    problem p = cuda_problem(vjp_op_at(op)->name, pairs[i], ndim, shape, rule,
                                             layout);
                    check_plans(&p);
                }
    }
}

static void any_shape_has_good_launches(void **state)
{
    (void)state;
    const int64_t sizes[] = { 0,    1,    2,    3,    7,    8,     9,     31,    33,
                              64,   255,  257,  1000, 1024, 2048,  2049,  4096,  4097,
                              8192, 8193, 9999, 10000, 16384, 16385, 131072, 131073, 300000 };
    for (int64_t i = 0; i < COUNT_OF(sizes); i++) {
        check_shape(1, &sizes[i]);
        for (int64_t j = 0; j < COUNT_OF(sizes); j += unit_quick() ? 5 : 1) {
            const int64_t shape[] = { sizes[i], sizes[j], 5, sizes[i] };
            check_shape(2, shape);
            if (i % 3 == 0 && j % 3 == 0)
                check_shape(3, shape);
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
        check_shape(2, shapes[i]);
    check_shape(12, (int64_t[]){ 2, 3, 2, 5, 2, 2, 3, 2, 2, 7, 2, 3 });
    check_shape(12, (int64_t[]){ 9, 5, 6, 5, 7, 6, 5, 6, 5, 7, 8, 9 });
}

/* ---- sizes of structs --------------------------------------------------------------------- */

static void *measured_allocate(void *user, size_t size)
{
    *(size_t *)user = size;
    return malloc(size);
}

static void measured_deallocate(void *user, void *memory)
{
    (void)user;
    free(memory);
}

static void a_cuda_plan_takes_at_most_4_kib(void **state)
{
    (void)state;
    size_t size = 0;
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    vjp_context *ctx = NULL;
    vjp_plan *plan = NULL;
    problem p = case_draw(vjp_op_at(0)->name, VJP_F32, VJP_F32, 0);
    options.allocate = measured_allocate;
    options.deallocate = measured_deallocate;
    options.allocator_user = &size;
    assert_status(VJP_OK, vjp_context_create(&options, &ctx, NULL, 0), NULL);
    assert_status(VJP_OK, problem_create(&p, ctx, &plan, NULL), NULL);
    assert_true(size > vjpi_backend_cpu.plan_size);
    assert_in_range(size - vjpi_backend_cpu.plan_size + sizeof(vjpi_cuda_plan), 1, 4096);
    vjp_plan_destroy(plan);
    vjp_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems_have_good_launches),
        cmocka_unit_test(any_shape_has_good_launches),
        cmocka_unit_test(huge_shapes_have_good_launches),
        cmocka_unit_test(a_cuda_plan_takes_at_most_4_kib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
