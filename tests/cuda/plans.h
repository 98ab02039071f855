/* SPDX-License-Identifier: Apache-2.0 */
/* plans.h - CUDA plans of problems, made without CUDA: kernels are addresses that nobody calls. */
#ifndef VJP_TESTS_CUDA_PLANS_H
#define VJP_TESTS_CUDA_PLANS_H

#include "cuda/stage.h"
#include "problem.h"

typedef struct cuda_case {
    const problem *p;
    vjpi_call call;
    vjpi_cuda_kernels kernels; /* those that an operator of its kind has */
    vjpi_cuda_plan plan;
    size_t workspace_size;
} cuda_case;

/* cuda_case_open - the plan of a valid problem. Its kernels are in `c`: it must not move. */
void cuda_case_open(cuda_case *c, const problem *p, int32_t most_cluster);

/* cuda_fail - fail with the problem, and what is wrong with its plan. */
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
