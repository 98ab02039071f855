/* SPDX-License-Identifier: Apache-2.0 */
/* plans.h - CUDA plans of drawn calls, made without CUDA. Their kernels are emulated ones. */
#ifndef VJP_TESTS_CUDA_PLANS_H
#define VJP_TESTS_CUDA_PLANS_H

#include "cuda/stage.h"
#include "drawn.h"

typedef struct cuda_case {
    const drawn *d;
    vjpi_call call;
    vjpi_cuda_plan plan;
    size_t workspace_size;
} cuda_case;

/* cuda_case_open - the plan of a call on a device with these limits; false if the call is refused:
 * what was drawn need not be valid. */
bool cuda_case_open(cuda_case *c, const drawn *d, vjpi_cuda_limits limits);

/* cuda_fail - fail with the call, and what is wrong with its plan. */
_Noreturn void cuda_fail(const cuda_case *c, const char *what, int64_t number);

/* cuda_require - fail unless it is so. */
static inline void cuda_require(const cuda_case *c, bool so, const char *what, int64_t number)
{
    if (!so)
        cuda_fail(c, what, number);
}

/* cuda_partials_fit - do the partial sums of a launch fit into the workspace? */
bool cuda_partials_fit(const cuda_case *c, const vjpi_cuda_launch *l);

#endif
