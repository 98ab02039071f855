/* SPDX-License-Identifier: Apache-2.0 */
/* parallel_fors.h - unusual but valid ways to run tasks. */
#ifndef VJP_TESTS_PARALLEL_FORS_H
#define VJP_TESTS_PARALLEL_FORS_H

#include "vjp/vjp.h"

typedef struct named_parallel_for {
    const char *name;
    vjp_parallel_for run; /* its user is an atomic_llong that counts the tasks, or NULL */
} named_parallel_for;

enum {
    PARALLEL_FORS = 5
};
extern const named_parallel_for parallel_fors[PARALLEL_FORS];

#endif
