/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - any shapes and strides as one canonical loop nest. */
#ifndef VJPI_LAYOUT_H
#define VJPI_LAYOUT_H

#include "core/internal.h"

typedef struct vjpi_dim {
    int64_t n;
    int64_t step[VJPI_MAX_OPERANDS]; /* bytes from one index to the next */
    bool reduced;                    /* a sum runs over it */
} vjpi_dim;

/* Outermost dim first. Dims of size 1 are gone, dims that every operand walks alike are one, and
 * the output's steps are positive and fall. */
typedef struct vjpi_loop {
    int32_t ndim;
    vjpi_dim dims[VJP_MAX_DIMS];
    int32_t noperands;
    int64_t size[VJPI_MAX_OPERANDS];   /* bytes of an element */
    int64_t offset[VJPI_MAX_OPERANDS]; /* bytes from the data pointer to the nest's first element */
} vjpi_loop;

/* The loop of a valid call without empty tensors. rowsum_size > 0 adds an operand behind the
 * tensors: a dense array with an element of that size per index of the dims not reduced. */
void vjpi_layout(const vjpi_call *call, int64_t rowsum_size, vjpi_loop *loop);

#endif
