/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - what a run, a plan and a byte cost, against ceilings measured in the same run.
 *
 * Bandwidth: the operator and the ceiling (two reads and one write of the same buffers, with
 * non-temporal stores) take turns; the figure is the median of the pairs' ratios, since one
 * machine's speed changes from second to second. Bytes: each input read once, each output written
 * once. Also the cost of vjp_plan_run above its loop, and of creating a plan. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <vjp/vjp.h>

#include "ceiling.h"

#define PAIRS 41

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), compare);
    return values[n / 2];
}

static void need(vjp_status status, const char *reason)
{
    if (status == VJP_OK)
        return;
    fprintf(stderr, "bench: %s: %s\n", vjp_status_string(status), reason);
    exit(1);
}

/* Memory on huge pages where the system gives them, touched, with ordinary numbers in it. */
static void *numbers(vjp_dtype dtype, int64_t n)
{
    size_t size = (size_t)n * vjp_dtype_size(dtype), huge = 2 << 20;
    size = (size + huge - 1) / huge * huge;
    char *p = aligned_alloc(huge, size);
    if (!p) {
        fprintf(stderr, "bench: no memory for %zu bytes\n", size);
        exit(1);
    }
    madvise(p, size, MADV_HUGEPAGE);
    uint32_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525 + 1013904223;
        float value = ((float)(state >> 8) / 16777216.0f - 0.5f) * 8.0f;
        uint32_t bits;
        memcpy(&bits, &value, 4);
        if (dtype == VJP_F64)
            ((double *)p)[i] = (double)value;
        else if (dtype == VJP_F32)
            ((float *)p)[i] = value;
        else if (dtype == VJP_BF16)
            ((uint16_t *)p)[i] = (uint16_t)(bits >> 16);
        else /* f16 of about the same size: sign, exponent of 1 to 2, random fraction */
            ((uint16_t *)p)[i] = (uint16_t)(0x3c00 | (state >> 16 & 0x83ff));
    }
    return p;
}

typedef struct bench_case {
    const char *label, *op;
    vjp_attr attrs[2];
    int32_t nattrs;
    int32_t ndim;
    int64_t shape[4];
    int64_t slope; /* > 0: prelu, this many slopes */
} bench_case;

typedef struct made {
    vjp_plan *plan;
    void *buffers[5];
    int32_t n;
    void *workspace;
    size_t workspace_size;
    double bytes;
} made;

static made make(vjp_context *ctx, const bench_case *c, vjp_dtype dtype)
{
    made m = { .n = 0 };
    char reason[VJP_REASON_SIZE];
    const vjp_op_info *op = vjp_op_find(c->op);
    vjp_tensor tensors[5];
    const vjp_tensor *pointers[5];
    m.n = op->ninputs + op->noutputs;
    for (int32_t i = 0; i < m.n; i++) {
        int is_slope = vjp_op_tensor(op, i)->shape_rule == VJP_SHAPE_SLOPE;
        int64_t n = 1;
        if (is_slope)
            need(vjp_tensor_contiguous(dtype, 1, &c->slope, &tensors[i]), "slope");
        else
            need(vjp_tensor_contiguous(dtype, c->ndim, c->shape, &tensors[i]), "shape");
        pointers[i] = &tensors[i];
        for (int32_t d = 0; d < tensors[i].ndim; d++)
            n *= tensors[i].shape[d];
        m.buffers[i] = numbers(dtype, n);
        m.bytes += (double)n * (double)vjp_dtype_size(dtype);
    }
    need(vjp_plan_create(ctx, c->op, c->attrs, c->nattrs, pointers, m.n, &m.plan, reason,
                         sizeof(reason)), reason);
    m.workspace_size = vjp_plan_workspace_size(m.plan);
    m.workspace = malloc(m.workspace_size + 1);
    return m;
}

static void drop(made *m)
{
    vjp_plan_destroy(m->plan);
    free(m->workspace);
    for (int32_t i = 0; i < m->n; i++)
        free(m->buffers[i]);
}

static double run_time(const made *m)
{
    double start = now();
    need(vjp_plan_run(m->plan, m->buffers, m->workspace, m->workspace_size, NULL), "run");
    return now() - start;
}

/* Print GB/s and the share of the ceiling for one case. */
static void bandwidth(vjp_context *ctx, const bench_case *c, vjp_dtype dtype)
{
    made m = make(ctx, c, dtype);
    int64_t third = (int64_t)(m.bytes / 3) / 64 * 64;
    double ratio[PAIRS], times[PAIRS], ceilings[PAIRS];
    run_time(&m);
    for (int i = 0; i < PAIRS; i++) {
        double start = now();
        ceiling_triad(m.buffers[m.n > 3 ? 3 : 2], m.buffers[0], m.buffers[m.n > 3 ? 2 : 1], third);
        ceilings[i] = now() - start;
        times[i] = run_time(&m);
        ratio[i] = ceilings[i] / times[i];
    }
    printf("%-28s %-5s %8.1f %8.1f %7.0f %%\n", c->label, vjp_dtype_name(dtype),
           m.bytes / median(times, PAIRS) / 1e9, (double)third * 3 / median(ceilings, PAIRS) / 1e9,
           100 * median(ratio, PAIRS));
    fflush(stdout);
    drop(&m);
}

/* Nanoseconds of one call, the best of several medians of many. */
static double run_cost(vjp_context *ctx, int64_t n)
{
    enum { CALLS = 20000, ROUNDS = 15 };
    bench_case c = { "relu", "relu_backward", { { 0 } }, 0, 1, { n }, 0 };
    made m = make(ctx, &c, VJP_F32);
    double rounds[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        double start = now();
        for (int i = 0; i < CALLS; i++)
            vjp_plan_run(m.plan, m.buffers, NULL, 0, NULL);
        rounds[r] = (now() - start) / CALLS * 1e9;
    }
    double cost = median(rounds, ROUNDS);
    drop(&m);
    return cost;
}

static double plan_cost(vjp_context *ctx)
{
    enum { CALLS = 20000, ROUNDS = 15 };
    int64_t shape[] = { 32, 64, 56, 56 };
    vjp_tensor t;
    const vjp_tensor *tensors[] = { &t, &t, &t };
    double rounds[ROUNDS];
    need(vjp_tensor_contiguous(VJP_F32, 4, shape, &t), "shape");
    for (int r = 0; r < ROUNDS; r++) {
        double start = now();
        for (int i = 0; i < CALLS; i++) {
            vjp_plan *plan;
            vjp_plan_create(ctx, "relu_backward", NULL, 0, tensors, 3, &plan, NULL, 0);
            vjp_plan_destroy(plan);
        }
        rounds[r] = (now() - start) / CALLS * 1e9;
    }
    return median(rounds, ROUNDS);
}

/* bench [WORD ...]: only the cases whose label or dtype holds each word. */
static int wanted(const bench_case *c, vjp_dtype dtype, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strstr(c->label, argv[i]) && strcmp(vjp_dtype_name(dtype), argv[i]) != 0)
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    static const vjp_dtype dtypes[] = { VJP_F32, VJP_BF16, VJP_F16, VJP_F64 };
    const int64_t n = 64 << 20;
    vjp_attr alpha = vjp_attr_f32("alpha", 0.2f), beta = vjp_attr_f32("beta", 0.5f);
    vjp_attr from_dst = vjp_attr_bool("use_dst", 1), ncx = vjp_attr_str("data_format", "NCX");
    const bench_case cases[] = {
        { "relu", "relu_backward", { { 0 } }, 0, 1, { n }, 0 },
        { "hard_sigmoid", "hard_sigmoid_backward", { alpha, beta }, 2, 1, { n }, 0 },
        { "sigmoid from src", "sigmoid_backward", { { 0 } }, 0, 1, { n }, 0 },
        { "sigmoid from dst", "sigmoid_backward", { from_dst }, 1, 1, { n }, 0 },
        { "prelu NCX", "prelu_backward", { ncx }, 1, 4, { n / (64 * 12544), 64, 112, 112 }, 64 },
        { "prelu NXC", "prelu_backward", { { 0 } }, 0, 2, { n / 1024, 1024 }, 1024 },
        { "prelu, one slope", "prelu_backward", { { 0 } }, 0, 1, { n }, 1 },
        { "softmax rows of 1024", "softmax_backward", { { 0 } }, 0, 2, { n / 1024, 1024 }, 0 },
        { "softmax rows of 32768", "softmax_backward", { { 0 } }, 0, 2, { n / 32768, 32768 }, 0 },
        { "softmax axis 1 of NCHW", "softmax_backward", { { 0 } }, 0, 4,
          { n / (64 * 12544), 64, 112, 112 }, 0 },
    };
    char reason[VJP_REASON_SIZE];
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    vjp_context *ctx;
    options.num_threads = 1;
    need(vjp_context_create(&options, &ctx, reason, sizeof(reason)), reason);
    printf("isa %s, 1 thread, %lld Mi elements, %d pairs\n\n", vjp_context_isa(ctx),
           (long long)(n >> 20), PAIRS);
    printf("create and destroy a plan    %8.0f ns\n", plan_cost(ctx));
    printf("run, 1 element               %8.0f ns\n", run_cost(ctx, 1));
    printf("run, 4096 elements           %8.0f ns\n\n", run_cost(ctx, 4096));
    printf("%-28s %-5s %8s %8s %9s\n", "operator", "dtype", "GB/s", "ceiling", "share");
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
        for (size_t d = 0; d < sizeof(dtypes) / sizeof(dtypes[0]); d++)
            if (wanted(&cases[c], dtypes[d], argc, argv))
                bandwidth(ctx, &cases[c], dtypes[d]);
    vjp_context_destroy(ctx);
    return 0;
}
