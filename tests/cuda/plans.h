/* SPDX-License-Identifier: Apache-2.0 */
/* plans.h - CUDA plans of problems, made without CUDA: kernels are addresses that nobody calls. */
#ifndef VJP_TESTS_CUDA_PLANS_H
#define VJP_TESTS_CUDA_PLANS_H

#include "cases.h"
#include "cuda/stage.h"

enum {
    CUDA_KERNELS = sizeof(vjpi_cuda_kernels) / sizeof(void *)
};

typedef struct cuda_case {
    const problem *p;
    vjpi_call call;
    vjpi_cuda_kernels kernels; /* those that an operator of its kind has */
    vjpi_cuda_plan plan;
    size_t workspace_size;
    bool *walked; /* [CUDA_KERNELS]: the caller's, for cuda_walk */
} cuda_case;

/* cuda_case_open - the plan of a valid problem. Its kernels are in `c`: it must not move. */
void cuda_case_open(cuda_case *c, const problem *p, int32_t most_cluster);

/* cuda_kernel_number - which of the table's it is. */
int64_t cuda_kernel_number(const void *kernel);

/* What becomes of the contiguous layout of one tensor: of the last input, then of the first output,
 * which cannot repeat an element. */
enum {
    CUDA_PLAIN,
    CUDA_TURNED,   /* dims in the other order in memory */
    CUDA_BACKWARD, /* the last dim from its end */
    CUDA_PADDED,   /* 16 elements between the first dim's indices */
    CUDA_REPEATED, /* one element */
    CUDA_LAYOUTS,
    CUDA_BOTH_LAYOUTS = 2 * CUDA_LAYOUTS - 1
};

/* cuda_problem - an operator over a shape. The rule, 0 .. ndim + 1, says which axis and which
 * slope: of the last dim, of dim 1, of so many trailing dims, and one for all. */
problem cuda_problem(const char *op, case_dtypes dtypes, int32_t ndim, const int64_t *shape,
                     int32_t rule, int layout);

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
