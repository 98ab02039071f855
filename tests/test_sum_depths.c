/* SPDX-License-Identifier: Apache-2.0 */
/* test_sum_depths.c - how many additions a term of a sum passes through: docs/sums.md.
 *
 * The trees are built by the library's own scheduler (cpu/fold.c, below, and plans as they are
 * prepared), with kernels that count instead of adding: a sum is the depth of its tree, EMPTY where
 * nothing was added. Only the sum of one line (cpu/lines.h) is restated here, and the last test
 * compares that with the real kernels, whose order of additions it finds out from their results. */
#include <stdlib.h>
#include <string.h>

#include "cpu/fold.c"
#include "samples.h"
#include "unit.h"

enum {
    LONGEST = 1 << 20,
    MOST_SEGMENTS = 32,
    LEAST_C = 8, /* of the bounds that ops.def states */
    SPARE = 6    /* roundings that LEAST_C leaves for the formulas around a sum: docs/sums.md */
};

static const float EMPTY = -1;

static float joined(float a, float b)
{
    return a < 0 ? b : b < 0 ? a : (a > b ? a : b) + 1;
}

static int ceil_log2(int64_t n)
{
    int log = 0;
    while ((int64_t)1 << log < n)
        log++;
    return log;
}

/* Half units of eps that the bound of LEAST_C has left for n terms at this depth. */
static int spare(int64_t n, float depth)
{
    return 2 * (ceil_log2(n) + LEAST_C) - (int)depth;
}

/* ---- one line ----------------------------------------------------------------------------- */

/* The partial sums of a chain, halved down to one; `block` of them. */
static float chain_depth(int64_t n, int block)
{
    float partial[64];
    for (int i = 0; i < block; i++)
        partial[i] = i < n ? (float)((n - 1 - i) / block) : EMPTY;
    for (int width = block / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++)
            partial[i] = joined(partial[i], partial[i + width]);
    return partial[0];
}

/* Chains in a binary tree. */
static float line_depth(int64_t n, int block)
{
    float level[48], whole = chain_depth((int64_t)VJPI_CHAIN * block, block);
    int top = 0;
    for (int64_t index = 0; n > 0; index++, n -= (int64_t)VJPI_CHAIN * block) {
        level[top++] = n < VJPI_CHAIN * block ? chain_depth(n, block) : whole;
        for (int64_t full = index; full & 1; full >>= 1, top--)
            level[top - 2] = joined(level[top - 2], level[top - 1]);
    }
    for (; top > 1; top--)
        level[top - 2] = joined(level[top - 2], level[top - 1]);
    return top > 0 ? level[0] : EMPTY;
}

static int block_of(size_t compute_size)
{
    return 256 / (int)compute_size;
}

static void every_line_leaves_enough_of_its_bound(void **state)
{
    (void)state;
    int least = 1000;
    for (int64_t n = 1; n <= (unit_quick() ? LONGEST / 64 : LONGEST); n++)
        for (size_t size = 4; size <= 8; size += 4) {
            int left = spare(n, line_depth(n, block_of(size)));
            least = left < least ? left : least;
        }
    print_message("along a line: at least %d roundings are left\n", least);
    assert_true(least >= SPARE);
}

/* ---- the tree of a fold ------------------------------------------------------------------- */

static void clear_depths(void *to, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        ((float *)to)[i] = EMPTY;
}

static void join_depths(void *to, const void *more, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        ((float *)to)[i] = joined(((float *)to)[i], ((const float *)more)[i]);
}

typedef struct tree {
    sums s;
    float room[VJPI_SUM_LEVELS + 1];
} tree;

static void tree_begin(tree *t)
{
    memset(t, 0, sizeof(*t));
    t->s = (sums){ .accumulators = (char *)t->room, .n = 1, .size = sizeof(float),
                   .nlevels = VJPI_SUM_LEVELS, .combine = join_depths };
}

static void tree_push(tree *t, float depth)
{
    t->room[0] = depth;
    sums_push(&t->s);
}

static float tree_depth(tree *t)
{
    sums_end(&t->s);
    return t->room[0];
}

/* depths[i]: of i terms, i <= n, of which `chain` at a time are added one by one. */
static void fold_depths(int64_t n, int64_t chain, float *depths)
{
    tree whole;
    tree_begin(&whole);
    for (int64_t i = 1; i <= n; i++) {
        float last = (float)((i - 1) % chain);
        tree with_last = whole;
        with_last.s.accumulators = (char *)with_last.room;
        tree_push(&with_last, last);
        depths[i] = i <= chain ? last : tree_depth(&with_last);
        if (i % chain == 0)
            tree_push(&whole, last);
    }
}

static float segments_depth(const float *depths, int64_t n, int64_t nsegments)
{
    tree t;
    tree_begin(&t);
    for (int64_t i = 0; i < nsegments; i++)
        tree_push(&t, depths[vjpi_share(n, nsegments, i + 1) - vjpi_share(n, nsegments, i)]);
    return tree_depth(&t);
}

/* The columns of steps of one or more rows: a chain is as many whole steps as fit in VJPI_CHAIN. */
static void every_fold_leaves_enough_of_its_bound(void **state)
{
    (void)state;
    int64_t longest = unit_quick() ? LONGEST / 64 : LONGEST;
    float *depths = unit_malloc((size_t)(longest + 1) * sizeof(*depths));
    int least = 1000;
    for (int64_t rows = 1; rows <= VJPI_CHAIN; rows++) {
        fold_depths(longest, VJPI_CHAIN / rows * rows, depths);
        for (int64_t n = 1; n <= longest; n++)
            least = spare(n, depths[n]) < least ? spare(n, depths[n]) : least;
        for (int64_t n = MOST_SEGMENTS; n <= longest; n += n < 4096 ? 1 : 997)
            for (int64_t segments = 2; segments <= MOST_SEGMENTS; segments++) {
                int left = spare(n, segments_depth(depths, n, segments));
                least = left < least ? left : least;
            }
    }
    print_message("across rows: at least %d roundings are left\n", least);
    assert_true(least >= SPARE);
    /* Lines of any length as the terms of a fold. */
    fold_depths(longest, VJPI_CHAIN, depths);
    for (int64_t n = 1; n <= longest; n += n < 4096 ? 1 : n / 64)
        for (int64_t lines = 1; lines * n <= longest; lines++)
            for (size_t size = 4; size <= 8; size += 4) {
                float depth = line_depth(n, block_of(size)) + depths[lines];
                int left = spare(n * lines, depth);
                least = left < least ? left : least;
            }
    print_message("lines and rows: at least %d roundings are left\n", least);
    assert_true(least >= SPARE);
    free(depths);
}

/* ---- plans -------------------------------------------------------------------------------- */

/* The kernels of a fold, counting: sum i of row r is at [i * rows + r], of column c at [i * n + c].
 * The fold has one sum. */
static void count_along(const vjpi_tile *tile)
{
    float *sums = tile->sums;
    for (ptrdiff_t row = 0; row < tile->rows; row++)
        sums[row] = joined(sums[row], line_depth(tile->n, block_of(sizeof(float))));
}

static void count_across(const vjpi_tile *tile)
{
    float *sums = tile->sums;
    for (ptrdiff_t row = 0; row < tile->rows; row++)
        for (ptrdiff_t column = 0; column < tile->n; column++)
            sums[column] = joined(sums[column], 0);
}

typedef struct layout {
    const char *name;
    int32_t ndim;
    int64_t shape[4], strides[4], slope[4]; /* slope: 1 or the dim */
} layout;

static const layout layouts[] = {
    { "a vector", 1, { 1000003 }, { 1 }, { 1 } },
    { "a strided vector", 1, { 300007 }, { 3 }, { 1 } },
    { "columns", 2, { 65537, 5 }, { 5, 1 }, { 1, 5 } },
    { "wide columns", 2, { 517, 1031 }, { 1031, 1 }, { 1, 1031 } },
    { "rows", 2, { 37, 20011 }, { 20011, 1 }, { 37, 1 } },
    { "transposed columns", 2, { 2049, 300 }, { 1, 2049 }, { 1, 300 } },
    { "transposed rows", 2, { 300, 2049 }, { 1, 300 }, { 300, 1 } },
    { "channels", 4, { 9, 7, 31, 33 }, { 7161, 1023, 33, 1 }, { 1, 7, 1, 1 } },
    { "channels last", 4, { 9, 31, 33, 7 }, { 7161, 231, 7, 1 }, { 1, 1, 1, 7 } },
    { "short lines far apart", 3, { 701, 5, 3 }, { 64, 8, 1 }, { 1, 5, 1 } },
    { "backwards", 2, { 4099, 17 }, { -17, -1 }, { 1, 17 } },
};

static vjp_tensor tensor_of(const int64_t *shape, const int64_t *strides, int32_t ndim)
{
    vjp_tensor made;
    vjp_status status = strides ? vjp_tensor_strided(VJP_F32, ndim, shape, strides, &made)
                                : vjp_tensor_contiguous(VJP_F32, ndim, shape, &made);
    assert_int_equal(VJP_OK, status);
    return made;
}

/* The greatest depth of the sums of a fold, as its plan adds them. */
static float plan_depth(vjp_context *ctx, const layout *l, int64_t *terms)
{
    vjp_tensor data = tensor_of(l->shape, l->strides, l->ndim);
    vjp_tensor slope = tensor_of(l->slope, NULL, l->ndim);
    const vjp_tensor *tensors[] = { &data, &slope, &data, &data, &slope };
    const vjpi_reason unsaid = { NULL, 0 };
    vjpi_call call;
    size_t workspace_size;
    assert_int_equal(VJP_OK, vjpi_check(SAMPLE_FOLD, NULL, 0, tensors, 5, &call, unsaid));
    vjpi_cpu_plan *plan = unit_malloc(sizeof(*plan));
    memset(plan, 0, sizeof(*plan));
    assert_int_equal(VJP_OK, vjpi_backend_cpu.prepare(ctx, &call, plan, &workspace_size, unsaid));
    vjpi_kernel_set set = *plan->set;
    vjpi_kernels kernels = *plan->kernels;
    set.clear[0] = clear_depths;
    set.combine[0] = join_depths;
    set.order = NULL;
    kernels.along[0] = count_along;
    kernels.across[0] = count_across;
    plan->set = &set;
    plan->kernels = &kernels;

    vjpi_span span = vjpi_tensor_span(&data);
    int64_t sums = vjpi_numel(&slope);
    char *elements = unit_malloc((size_t)(span.high - span.low));
    memset(elements, 0, (size_t)(span.high - span.low));
    float *made = unit_malloc((size_t)sums * sizeof(*made)), most = EMPTY;
    char *at[] = { elements - span.low, elements - span.low, elements - span.low,
                   elements - span.low, (char *)made };
    void *workspace = unit_malloc(workspace_size + 1);
    assert_int_equal(VJP_OK, vjpi_backend_cpu.run(ctx, plan, at, workspace, NULL));
    for (int64_t i = 0; i < sums; i++)
        most = made[i] > most ? made[i] : most;
    *terms = vjpi_numel(&data) / sums;
    free(workspace), free(made), free(elements), free(plan);
    return most;
}

static void every_layout_of_a_plan_leaves_enough_of_its_bound(void **state)
{
    (void)state;
    vjp_context *ctx = NULL;
    assert_status(VJP_OK, vjp_context_create(NULL, &ctx, NULL, 0), "");
    for (int64_t i = 0; i < COUNT_OF(layouts); i++) {
        int64_t terms;
        float depth = plan_depth(ctx, &layouts[i], &terms);
        print_message("%s: depth %g, %d roundings are left\n", layouts[i].name, (double)depth,
                      spare(terms, depth));
        assert_true(depth >= (float)ceil_log2(terms)); /* that of any tree */
        assert_true(spare(terms, depth) >= SPARE);
    }
    vjp_context_destroy(ctx);
}

/* ---- the real kernels --------------------------------------------------------------------- */

/* The order of additions of a sum of n terms, from its results: if term i is 2^60, term j is -2^60
 * and all others are 1, those that join i before j does are lost, and n - 2 - the sum says how many.
 * Each addition above term i has its own number of them. */
typedef struct probe {
    vjp_plan *plan;
    float *src, *diff_dst, *diff_src, slope, sum;
    void *workspace;
    size_t workspace_size;
} probe;

static int terms_below(probe *p, int64_t n, int64_t i, int64_t j)
{
    const void *inputs[] = { p->src, &p->slope, p->diff_dst };
    void *outputs[] = { p->diff_src, &p->sum };
    p->diff_dst[i] = 0x1p60f;
    p->diff_dst[j] = -0x1p60f;
    assert_int_equal(VJP_OK, vjp_plan_run(p->plan, inputs, outputs, p->workspace,
                                          p->workspace_size, NULL));
    p->diff_dst[i] = p->diff_dst[j] = 1;
    return (int)(n + p->sum); /* src is -1 */
}

static int probed_depth(probe *p, int64_t n, int64_t i)
{
    static char seen[1 << 16];
    int depth = 0;
    memset(seen, 0, sizeof(seen));
    for (int64_t j = 0; j < n; j++) {
        if (j == i)
            continue;
        int below = terms_below(p, n, i, j);
        assert_in_range(below, 0, sizeof(seen) - 1);
        depth += !seen[below];
        seen[below] = 1;
    }
    return depth;
}

static void probe_line(vjp_context *ctx, int64_t n)
{
    const int64_t shape[] = { n }, one[] = { 1 };
    vjp_tensor data = tensor_of(shape, NULL, 1), slope = tensor_of(one, NULL, 1);
    const vjp_tensor *tensors[] = { &data, &slope, &data, &data, &slope };
    probe p = { .slope = 1 };
    assert_int_equal(VJP_OK,
                     vjp_plan_create(ctx, SAMPLE_FOLD, NULL, 0, tensors, 5, &p.plan, NULL, 0));
    p.workspace_size = vjp_plan_workspace_size(p.plan);
    p.workspace = unit_malloc(p.workspace_size + 1);
    p.src = unit_malloc((size_t)n * sizeof(float));
    p.diff_dst = unit_malloc((size_t)n * sizeof(float));
    p.diff_src = unit_malloc((size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++)
        p.src[i] = -1, p.diff_dst[i] = 1;
    int most = 0, stride = n <= 200 ? 1 : (int)n / 3;
    for (int64_t i = 0; i < n; i += stride) {
        int depth = probed_depth(&p, n, i);
        most = depth > most ? depth : most;
    }
    assert_int_equal(most, (int)line_depth(n, block_of(sizeof(float))));
    vjp_plan_destroy(p.plan);
    free(p.workspace), free(p.src), free(p.diff_dst), free(p.diff_src);
}

static void kernels_add_a_line_at_the_depth_computed_here(void **state)
{
    (void)state;
    const int64_t lengths[] = { 1,   2,   3,   5,    31,   63,   64,   65,   97,   128,  129,
                                192, 193, 511, 1023, 1024, 1025, 1088, 2048, 2049, 3000, 5121 };
    vjp_context_options options = { .struct_size = sizeof(options), .num_threads = 1 };
    vjp_context *ctx = NULL;
    assert_status(VJP_OK, vjp_context_create(&options, &ctx, NULL, 0), "");
    for (int64_t i = 0; i < COUNT_OF(lengths); i++)
        probe_line(ctx, lengths[i]);
    vjp_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_leaves_enough_of_its_bound),
        cmocka_unit_test(every_fold_leaves_enough_of_its_bound),
        cmocka_unit_test(every_layout_of_a_plan_leaves_enough_of_its_bound),
        cmocka_unit_test(kernels_add_a_line_at_the_depth_computed_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
