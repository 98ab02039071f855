/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_stream.c - a gradient on an NVIDIA GPU: a plan for the device, queued on the caller's
 * stream, then captured into a CUDA graph and replayed. No nvcc is needed to compile this. */
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>
#include <vjp/vjp.h>

enum {
    COUNT = 8,
    SKIPPED = 77 /* ctest: test skipped */
};

static void check(cudaError_t error, const char *call)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
        exit(1);
    }
}

#define CHECK(call) check(call, #call)

static vjp_plan *make_plan(vjp_context *ctx)
{
    char reason[VJP_REASON_SIZE];
    vjp_plan *plan;
    vjp_tensor vector;
    vjp_tensor_contiguous(VJP_F32, 1, (const int64_t[]){ COUNT }, &vector);
    const vjp_tensor *tensors[] = { &vector, &vector, &vector }; /* src, diff_dst; diff_src */
    if (vjp_plan_create(ctx, "sigmoid_backward", NULL, 0, tensors, 3, &plan, reason,
                        sizeof reason)) {
        fprintf(stderr, "%s\n", reason);
        exit(1);
    }
    return plan;
}

/* Running a plan queues kernels on the stream and returns: nothing waits, allocates or copies. */
static void run(const vjp_plan *plan, const float *src, const float *diff_dst, float *diff_src,
                cudaStream_t stream)
{
    const void *inputs[] = { src, diff_dst };
    void *outputs[] = { diff_src };
    vjp_status status =
        vjp_plan_run(plan, inputs, outputs, NULL, 0, stream); /* maps need no workspace */
    if (status != VJP_OK) {
        fprintf(stderr, "vjp_plan_run: %s\n", vjp_status_string(status));
        exit(1);
    }
}

int main(void)
{
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    vjp_context *ctx;
    char reason[VJP_REASON_SIZE];
    options.device = VJP_CUDA;
    if (vjp_context_create(&options, &ctx, reason, sizeof reason)) {
        printf("skipped: %s\n", reason);
        return SKIPPED;
    }
    vjp_plan *plan = make_plan(ctx);

    float src[COUNT] = { -4, -2, -1, 0, 1, 2, 4, 8 }, diff_src[COUNT];
    float diff_dst[COUNT] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    float *x, *dy; /* on the device */
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc((void **)&x, sizeof src));
    CHECK(cudaMalloc((void **)&dy, sizeof diff_dst));
    CHECK(cudaMemcpyAsync(x, src, sizeof src, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(dy, diff_dst, sizeof diff_dst, cudaMemcpyHostToDevice, stream));
    run(plan, x, dy, dy, stream); /* in place: dy becomes diff_src */

    cudaGraph_t graph; /* the same run once more, as a graph */
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    run(plan, x, dy, dy, stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 2; i++) /* each replay multiplies by the derivative again */
        CHECK(cudaGraphLaunch(exec, stream));

    CHECK(cudaMemcpyAsync(diff_src, dy, sizeof diff_src, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < COUNT; i++)
        printf("sigmoid'(%2g)^3 = %.6g\n", src[i], diff_src[i]);

    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(x));
    CHECK(cudaFree(dy));
    CHECK(cudaStreamDestroy(stream));
    vjp_plan_destroy(plan);
    vjp_context_destroy(ctx);
    return diff_src[3] == 1.0f / 64 ? 0 : 1; /* at 0 the derivative is 1/4 */
}
