/* SPDX-License-Identifier: Apache-2.0 */
/* launches.h - the real kernels of the CUDA backend, run on the CPU (emulate.h). */
#ifndef VJP_TESTS_CUDA_LAUNCHES_H
#define VJP_TESTS_CUDA_LAUNCHES_H

#include "cuda/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* emulate_launch - run `blocks` blocks of x times y threads, with `shared` bytes of shared memory.
 * is_flat: the kernel's argument is a vjpi_cuda_flat, made from the loop and the lookup table, or
 * NULL. */
void emulate_launch(const void *kernel, const vjpi_cuda_loop *loop, int is_flat, const void *lookup,
                    int64_t blocks, uint32_t x, uint32_t y, size_t shared);

#ifdef __cplusplus
}
#endif

#endif
