/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_quotient.cu - the sigmoid's quotient e / (1 + e)^2 as the kernels compute it, against IEEE
 * division, for every e that can occur. Needs a GPU:
 *
 *     nvcc -fmad=false -arch=sm_90 -Isrc tests/cuda_quotient.cu -o quotient && ./quotient */
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>
#include <stdio.h>

#define VJPI_COMPUTE_F64 0
namespace vjpi {
#include "cuda/element.cuh"
}

__global__ void compare(uint32_t first, uint32_t count, unsigned long long *different)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float e = __uint_as_float(first + i), d = __fmaf_rn(e, __fadd_rn(2.0f, e), 1.0f);
    if (__float_as_uint(__fdiv_rn(e, d)) != __float_as_uint(vjpi::near_ratio(e, d)))
        atomicAdd(different, 1ull);
}

int main(void)
{
    const uint32_t first = (127 - 97) << 23, count = 0x3f800001 - first; /* 2^-97 to 1 */
    unsigned long long *counter, different = ~0ull;
    cudaMalloc(&counter, sizeof(*counter));
    cudaMemset(counter, 0, sizeof(*counter));
    compare<<<(count + 255) / 256, 256>>>(first, count, counter);
    cudaError_t error = cudaMemcpy(&different, counter, sizeof(different), cudaMemcpyDeviceToHost);
    printf("%u quotients, %llu differ (%s)\n", count, different, cudaGetErrorName(error));
    return error != cudaSuccess || different > 0;
}
