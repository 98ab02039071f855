/* SPDX-License-Identifier: Apache-2.0 */
/* cases.h - random problems for any operator, drawn from what the library announces about it.
 *
 * Shapes of rank 0 to 12 with sizes around the vector widths, layouts of every kind the library
 * promises (permuted, reversed, padded, broadcast, overlapping inputs), attributes of every
 * value, outputs in place of inputs. The same seed and number always give the same problem.
 */
#ifndef VJP_REFERENCE_CASES_H
#define VJP_REFERENCE_CASES_H

#include "problem.h"
#include "random.h"

enum {
    CASE_SMALL = 6000,   /* elements: every path of a CPU's kernels */
    CASE_MEDIUM = 300000 /* several blocks of a GPU along a dim */
};

/* case_draw - problem `number` of the operator, small. `wide` is the dtype of the tensors that may
 * differ from the others; equal to dtype where they should not. */
problem case_draw(const char *op, vjp_dtype dtype, vjp_dtype wide, uint64_t number);

/* case_draw_within - the same, with a maximum number of elements. */
problem case_draw_within(const char *op, vjp_dtype dtype, vjp_dtype wide, uint64_t number,
                         int64_t most_elements);

/* A pair of dtypes that a call may have. */
typedef struct case_dtypes {
    vjp_dtype dtype, wide;
} case_dtypes;

enum {
    CASE_DTYPES = 8
};

/* case_dtypes_of - the pairs that the operator takes; returns how many. */
int32_t case_dtypes_of(const char *op, case_dtypes pairs[CASE_DTYPES]);

#endif
