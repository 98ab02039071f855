/* SPDX-License-Identifier: Apache-2.0 */
/* elements.h - the elements of a strided tensor in f32, bf16 or f16, one at a time, as doubles.
 *
 * They are counted in row-major order, whatever the strides.
 */
#ifndef ELEMENTS_H
#define ELEMENTS_H

#include <oneapi/dnnl/dnnl_graph_types.h>

#include "vjp/vjp.h"

typedef dnnl_graph_logical_tensor_t logical_tensor;

int64_t count_of(const logical_tensor *lt);

/* unravel - the coordinates of element `index`. */
void unravel(const logical_tensor *lt, int64_t index, int64_t *coordinates);

/* offset_of - the position of element `index` in memory, in elements. */
int64_t offset_of(const logical_tensor *lt, int64_t index);

vjp_dtype dtype_of(const logical_tensor *lt);
double value_at(const logical_tensor *lt, const void *data, int64_t index);
void put_at(const logical_tensor *lt, void *data, int64_t index, double value);

#endif
