/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - a plan, tensors with two layouts in one call, and what a refusal looks like.
 *
 * src and diff_src are channels-first (NCHW), diff_dst is channels-last (NHWC), as can happen when
 * two libraries are combined. The strides describe this; nothing is copied or transposed
 * beforehand. The result is compared with a plain loop. */
#include <stdio.h>
#include <stdlib.h>

#include <vjp/vjp.h>

enum {
    N = 2,
    C = 3,
    H = 4,
    W = 5
};

static const float ALPHA = 0.2f, BETA = 0.5f;

/* One shape for both: strides say where an element is, not what it means. */
static void describe(vjp_tensor *first, vjp_tensor *last)
{
    const int64_t shape[4] = { N, C, H, W };
    const int64_t last_strides[4] = { H * W * C, 1, W * C, C };
    vjp_tensor_contiguous(VJP_F32, 4, shape, first);
    vjp_tensor_strided(VJP_F32, 4, shape, last_strides, last);
}

/* Create a plan, or print the reason why there is none. */
static vjp_plan *plan_or_reason(vjp_context *ctx, const vjp_attr *attrs, int32_t nattrs,
                                const vjp_tensor *const *tensors)
{
    vjp_plan *plan;
    char reason[VJP_REASON_SIZE];
    vjp_status status = vjp_plan_create(ctx, "hard_sigmoid_backward", attrs, nattrs, tensors, 3,
                                        &plan, reason, sizeof reason);
    if (status != VJP_OK)
        printf("refused: %s: %s\n", vjp_status_string(status), reason);
    return plan;
}

/* Two deliberate mistakes: beta is missing, and diff_dst has one channel too many. */
static int refusals(vjp_context *ctx, const vjp_attr *attrs, const vjp_tensor *const *tensors)
{
    vjp_tensor wide = *tensors[1];
    wide.shape[1] = C + 1;
    const vjp_tensor *wrong[] = { tensors[0], &wide, tensors[2] };

    vjp_plan *first = plan_or_reason(ctx, attrs, 1, tensors);
    vjp_plan *second = plan_or_reason(ctx, attrs, 2, wrong);
    int both = !first && !second;
    vjp_plan_destroy(first); /* NULL, and NULL may be destroyed */
    vjp_plan_destroy(second);
    return both;
}

static int right(const float *src, const float *diff_dst, const float *diff_src)
{
    for (int n = 0; n < N; n++)
        for (int c = 0; c < C; c++)
            for (int i = 0; i < H * W; i++) {
                int first = (n * C + c) * H * W + i, last = (n * H * W + i) * C + c;
                float v = ALPHA * src[first] + BETA;
                if (diff_src[first] != (v > 0 && v < 1 ? ALPHA * diff_dst[last] : 0))
                    return 0;
            }
    return 1;
}

int main(void)
{
    static float src[N * C * H * W], diff_dst[N * H * W * C], diff_src[N * C * H * W];
    for (int i = 0; i < N * C * H * W; i++) {
        src[i] = (float)(i % 17 - 8) / 2; /* from -4 to 4: past both ends of the slope */
        diff_dst[i] = (float)i;
    }
    vjp_context *ctx;
    char reason[VJP_REASON_SIZE];
    if (vjp_context_create(NULL, &ctx, reason, sizeof reason) != VJP_OK) {
        fprintf(stderr, "%s\n", reason);
        return 1;
    }
    vjp_tensor first, last;
    describe(&first, &last);
    const vjp_tensor *tensors[] = { &first, &last, &first }; /* src, diff_dst; diff_src */
    const vjp_attr attrs[] = { vjp_attr_f64("alpha", ALPHA), vjp_attr_f64("beta", BETA) };

    int ok = refusals(ctx, attrs, tensors);
    vjp_plan *plan = plan_or_reason(ctx, attrs, 2, tensors);
    vjp_context_destroy(ctx); /* the plan keeps a reference */

    /* The plan may run any number of times, with these buffers or others of the same layout. */
    size_t workspace_size = vjp_plan_workspace_size(plan);
    void *workspace = malloc(workspace_size + 1); /* never 0 bytes: malloc may then give NULL */
    const void *inputs[] = { src, diff_dst };
    void *outputs[] = { diff_src };
    ok = ok && plan && workspace &&
         vjp_plan_run(plan, inputs, outputs, workspace, workspace_size, NULL) == VJP_OK &&
         right(src, diff_dst, diff_src);
    printf("channels-first src, channels-last diff_dst: %s\n", ok ? "right" : "wrong");
    free(workspace);
    vjp_plan_destroy(plan);
    return ok ? 0 : 1;
}
