/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the smallest user of an installed vjp: the gradient of ReLU at four points.
 *
 * Valid as C11 and as C++11. `make check` compiles it in each language and builds it by
 * pkg-config and by CMake. The header comes first: it must not lean on another.
 */
#include <vjp/vjp.h>

#include <stdio.h>

int main(void)
{
    float src[4] = { -1, 0, 2, 3 };
    float diff_dst[4] = { 10, 20, 30, 40 };
    float diff_src[4] = { -1, -1, -1, -1 };
    const int64_t shape[1] = { 4 };
    const void *inputs[2] = { src, diff_dst };
    void *outputs[1] = { diff_src };
    vjp_context_options options = VJP_CONTEXT_DEFAULTS;
    vjp_context *ctx;
    vjp_tensor tensor;
    const vjp_tensor *tensors[3] = { &tensor, &tensor, &tensor };
    char reason[VJP_REASON_SIZE];

    if (vjp_version() != VJP_VERSION_MAJOR * 10000 + VJP_VERSION_MINOR * 100 + VJP_VERSION_PATCH) {
        fprintf(stderr, "the header and the library differ in version\n");
        return 1;
    }
    if (vjp_context_create(&options, &ctx, reason, sizeof(reason)) != VJP_OK ||
        vjp_tensor_contiguous(VJP_F32, 1, shape, &tensor) != VJP_OK ||
        vjp_compute(ctx, "relu_backward", NULL, 0, tensors, 3, inputs, outputs, reason,
                    sizeof(reason)) != VJP_OK) {
        fprintf(stderr, "%s\n", reason);
        return 1;
    }
    vjp_context_destroy(ctx);
    printf("%g %g %g %g\n", diff_src[0], diff_src[1], diff_src[2], diff_src[3]);
    return !(diff_src[0] == 0 && diff_src[1] == 0 && diff_src[2] == 30 && diff_src[3] == 40);
}
