/* SPDX-License-Identifier: Apache-2.0 */
/* large.h - problems of a million elements or so: beyond the caches, long rows, many columns. */
#ifndef VJP_REFERENCE_LARGE_H
#define VJP_REFERENCE_LARGE_H

#include "named.h"

enum {
    LARGE_PROBLEMS = 21
};
extern const named_problem large_problems[LARGE_PROBLEMS];

#endif
