/* SPDX-License-Identifier: Apache-2.0 */
/* relu.c - the shortest use of vjp: the gradient of ReLU in one call.
 *
 * vjp_compute checks the tensors and runs the operator once. A program that computes the same
 * gradient many times creates a plan once instead: see plan.c. */
#include <stdio.h>

#include <vjp/vjp.h>

int main(void)
{
    float src[2][3] = { { -1, 0, 2 }, { 3, -4, 5 } };          /* input of the forward pass */
    float diff_dst[2][3] = { { 10, 20, 30 }, { 40, 50, 60 } }; /* gradient of its output */
    float diff_src[2][3];                                      /* to compute: gradient of src */

    vjp_tensor matrix;
    vjp_tensor_contiguous(VJP_F32, 2, (const int64_t[]){ 2, 3 }, &matrix);
    const vjp_tensor *tensors[] = { &matrix, &matrix, &matrix }; /* inputs, then outputs */
    const void *inputs[] = { src, diff_dst };
    void *outputs[] = { diff_src };
    const vjp_attr attrs[] = { vjp_attr_bool("use_dst", 0) }; /* input 0 is src, not dst */

    char reason[VJP_REASON_SIZE];
    if (vjp_compute(NULL, "relu_backward", attrs, 1, tensors, 3, inputs, outputs, reason,
                    sizeof reason)) {
        fprintf(stderr, "%s\n", reason);
        return 1;
    }
    for (int i = 0; i < 2; i++)
        printf("%g %g %g\n", diff_src[i][0], diff_src[i][1], diff_src[i][2]);
    return 0;
}
