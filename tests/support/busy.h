/* SPDX-License-Identifier: Apache-2.0 */
/* busy.h - every operator, dense and not, large enough for several tasks. */
#ifndef VJP_TESTS_BUSY_H
#define VJP_TESTS_BUSY_H

#include "named.h"

enum {
    BUSY_PROBLEMS = 7
};
extern const named_problem busy_problems[BUSY_PROBLEMS];

#endif
