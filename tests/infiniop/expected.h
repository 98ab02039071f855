/* SPDX-License-Identifier: Apache-2.0 */
/* expected.h - the results of an infiniop call according to the oracle (reference/oracle.h).
 *
 * A test names the operator of vjp and its attributes, which say what the call means, and passes
 * the tensors in vjp's order. */
#ifndef TESTS_INFINIOP_EXPECTED_H
#define TESTS_INFINIOP_EXPECTED_H

#include "oracle.h"
#include "support.h"

typedef struct expected {
    problem p;
    struct element {
        long double value;
        bound within;
    } *outputs[PROBLEM_TENSORS];
} expected;

/* expected_of - the answer to a problem that has its operator and attributes. tensors: inputs, then
 * outputs, by index, NULL where the call has none; only the inputs' values are read, and before the
 * call, which may be in place. */
expected expected_of(const problem *p, const tensor *const *tensors);

/* expected_check - fail unless every output is within its bound; frees the answer. */
void expected_check(expected *e, const tensor *const *outputs);

#endif
