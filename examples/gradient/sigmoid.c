/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <vjp/vjp.h>

int main(void)
{
    float src[3] = { -1, 0, 2 };        /* input of the forward pass */
    float diff_dst[3] = { 10, 20, 30 }; /* gradient of its output */
    float diff_src[3];                  /* to compute: gradient of src */

    vjp_tensor row;
    vjp_tensor_contiguous(VJP_F32, 1, (const int64_t[]){ 3 }, &row);
    const vjp_tensor *tensors[] = { &row, &row, &row }; /* inputs, then outputs */
    const void *inputs[] = { src, diff_dst };
    void *outputs[] = { diff_src };

    char reason[VJP_REASON_SIZE];
    if (vjp_compute(NULL, "sigmoid_backward", NULL, 0, tensors, 3, inputs, outputs, reason,
                    sizeof reason)) {
        fprintf(stderr, "%s\n", reason);
        return 1;
    }
    printf("%g %g %g\n", diff_src[0], diff_src[1], diff_src[2]);
    return 0;
}
