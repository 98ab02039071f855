/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - the same gradient by vjp. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <vjp/vjp.h>

void silu_backward_f32(size_t n, const float *src, const float *diff_dst, float *diff_src);

void silu_backward_f32(size_t n, const float *src, const float *diff_dst, float *diff_src)
{
    vjp_tensor row;
    const vjp_tensor *tensors[] = { &row, &row, &row };
    const void *inputs[] = { src, diff_dst };
    void *outputs[] = { diff_src };
    char reason[VJP_REASON_SIZE] = "too many elements";
    if (vjp_tensor_contiguous(VJP_F32, 1, (const int64_t[]){ (int64_t)n }, &row) ||
        vjp_compute(NULL, "silu_backward", NULL, 0, tensors, 3, inputs, outputs, reason,
                    sizeof reason)) {
        fprintf(stderr, "%s\n", reason);
        exit(1);
    }
}
