/* SPDX-License-Identifier: Apache-2.0 */
/* variants.h - an operator with each set of attributes that gives its values another meaning.
 *
 * Taken from the library's enumeration: both values of a bool and all words of a choice, two sets
 * of numbers. Layout names and integers say where data is, not what it means, and keep their
 * defaults.
 */
#ifndef VJP_REFERENCE_VARIANTS_H
#define VJP_REFERENCE_VARIANTS_H

#include "problem.h"

enum {
    VARIANT_TEXT = 128
};

/* variant_count - how many there are; variant_problem - number `index`, without tensors yet. */
int32_t variant_count(const vjp_op_info *op);
problem variant_problem(const vjp_op_info *op, int32_t index);

/* variant_name - the operator and its attributes as they were given: "NAME use_dst=0".
 * variant_value - the value of an attribute, a number in as few digits as give it back. */
const char *variant_value(const vjp_attr *attr, char text[VARIANT_TEXT]);
const char *variant_name(const problem *p, char text[VARIANT_TEXT]);

#endif
