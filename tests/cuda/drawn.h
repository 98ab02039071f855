/* SPDX-License-Identifier: Apache-2.0 */
/* drawn.h - random calls of any operator over a given shape, from what the library announces. */
#ifndef VJP_TESTS_CUDA_DRAWN_H
#define VJP_TESTS_CUDA_DRAWN_H

#include "core/limits.h"
#include "random.h"
#include "vjp/vjp.h"

typedef struct drawn {
    const vjp_op_info *op;
    vjp_dtype dtype;
    int32_t nattrs, ntensors, ndim;
    int64_t shape[VJP_MAX_DIMS];
    int32_t axis, last_axis; /* that rows run along; -1 without rows */
    int64_t length, ignored; /* of a row; the label to ignore */
    vjp_attr attrs[VJPI_MAX_ATTRS];
    vjp_tensor tensors[VJPI_MAX_TENSORS];
    const vjp_tensor *given[VJPI_MAX_TENSORS]; /* into tensors, or NULL: a drawn must not move */
    int32_t home[VJPI_MAX_TENSORS]; /* of an output: the input in whose place it is; -1 */
} drawn;

void draw_call(const vjp_op_info *op, vjp_dtype dtype, int32_t ndim, const int64_t *shape,
               random_state *random, drawn *d);

/* draw_value - an element of input i. */
double draw_value(const drawn *d, int32_t i, random_state *random);

#endif
