/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - any shapes and strides as one canonical loop nest. */
#ifndef VJPI_LAYOUT_H
#define VJPI_LAYOUT_H

#include "core/internal.h"

typedef struct vjpi_dim {
    int64_t n;
    int64_t step[VJPI_MAX_OPERANDS]; /* bytes from one index to the next */
    uint8_t reduced;                 /* the sets that it is in: internal.h */
} vjpi_dim;

/* Outermost dim first. Dims of size 1 are dropped, dims that are contiguous for every operand are
 * merged, and the first output's steps are positive and decreasing. */
typedef struct vjpi_loop {
    int32_t ndim;
    vjpi_dim dims[VJP_MAX_DIMS];
    int32_t noperands;
    int64_t size[VJPI_MAX_OPERANDS];   /* bytes of an element */
    int64_t offset[VJPI_MAX_OPERANDS]; /* bytes from the data pointer to the nest's first element */
} vjpi_loop;

/* The loop of a valid call without empty tensors. Operands are the tensors; omitted ones have steps
 * of 0. dense_rows: row tensors are dense arrays of the compute type instead, followed by one for
 * each row value and ROWLET. A causal call has one more operand, whose byte offset counts the
 * position of a row. */
void vjpi_layout(const vjpi_call *call, bool dense_rows, vjpi_loop *loop);

/* The loop over its rows: the row tensors (the others have steps of 0), a dense array of the
 * compute type after the tensors, and the counting operand of a causal call. */
void vjpi_layout_rows(const vjpi_call *call, vjpi_loop *loop);

#endif
