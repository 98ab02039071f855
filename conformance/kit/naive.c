/* SPDX-License-Identifier: Apache-2.0 */
/* naive.c - the gradient of SiLU as textbooks have it. It loses the tail, where 1 - s is 0, and all
 * digits next to the root of the slope, near -1.278. */
#include <math.h>
#include <stddef.h>

void silu_backward_f32(size_t n, const float *src, const float *diff_dst, float *diff_src);

void silu_backward_f32(size_t n, const float *src, const float *diff_dst, float *diff_src)
{
    for (size_t i = 0; i < n; i++) {
        float s = 1 / (1 + expf(-src[i]));
        diff_src[i] = diff_dst[i] * (s * (1 + src[i] * (1 - s)));
    }
}
