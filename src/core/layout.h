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

/* Outermost dim first. Dims of size 1 are gone, dims that every operand walks alike are one, and
 * the first output's steps are positive and fall. */
typedef struct vjpi_loop {
    int32_t ndim;
    vjpi_dim dims[VJP_MAX_DIMS];
    int32_t noperands;
    int64_t size[VJPI_MAX_OPERANDS];   /* bytes of an element */
    int64_t offset[VJPI_MAX_OPERANDS]; /* bytes from the data pointer to the nest's first element */
} vjpi_loop;

/* The loop of a valid call without empty tensors. Operands are the tensors; those that are not
 * given stand still. dense_rows: row tensors are dense arrays of the compute type instead, and one
 * for each row value follows. A causal call has one more: bytes that count where a row is. */
void vjpi_layout(const vjpi_call *call, bool dense_rows, vjpi_loop *loop);

/* The loop over its rows: the row tensors (the others stand still), a dense array of the compute
 * type behind the tensors, and the count of a causal call. */
void vjpi_layout_rows(const vjpi_call *call, vjpi_loop *loop);

#endif
