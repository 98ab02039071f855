/* SPDX-License-Identifier: Apache-2.0 */
/* runner.c SILU_BACKWARD.safetensors - tests a kernel for f32: link it with yours. naive.c is the
 * textbook formula, which fails; library.c is vjp's. The exit status is 1 if anything is wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "kit.h"

void silu_backward_f32(size_t n, const float *src, const float *diff_dst, float *diff_src);

static int64_t kernel(const kit_case *c)
{
    const safetensor *src = kit_tensor(c, "src"), *diff_dst = kit_tensor(c, "diff_dst");
    if (!src || !diff_dst || src->dtype != VJP_F32 || strcmp(kit_attr(c, "alpha", "1"), "1"))
        return KIT_NOT_SERVED;
    float *diff_src = unit_malloc(src->size);
    silu_backward_f32(src->size / sizeof(float), src->data, diff_dst->data, diff_src);
    int64_t wrong = kit_wrong(c, "diff_src", diff_src);
    free(diff_src);
    return wrong;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        fprintf(stderr, "usage: %s silu_backward.safetensors\n", argv[0]);
    return argc != 2 || kit_run(argv[1], kernel) != 0;
}
