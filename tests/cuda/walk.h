/* SPDX-License-Identifier: Apache-2.0 */
/* walk.h - what the threads of a launch read and write, found by the kernels' own arithmetic
 * (cuda/map.cuh, row.cuh, fold.cuh) in plain C. */
#ifndef VJP_TESTS_CUDA_WALK_H
#define VJP_TESTS_CUDA_WALK_H

#include "plans.h"

/* cuda_walk - walk every launch of a run whose tensors begin shift[i] elements, and whose workspace
 * begins shift[ntensors] bytes, behind a multiple of 256 bytes. Fails unless each stage visits
 * every element once, at the addresses that the strides of the call give it, in whole vectors only
 * where they are aligned, and unless what is added up belongs together. */
void cuda_walk(const cuda_case *c, const int64_t *shift);

#endif
