/* SPDX-License-Identifier: Apache-2.0 */
/* reference.h - what the served operations compute, in double, one element at a time.
 *
 * Typed from the definitions, in the Graph API's order of tensors; it knows nothing of the library.
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "drop_in.h"
#include "elements.h"

typedef struct parameters {
    int use_dst;
    double alpha, beta, min, max;
    int tanh_form;   /* of GELU */
    int axis;        /* not negative */
    int channel_dim; /* of a 1-D slope */
} parameters;

/* The value wanted, and by how much a computation in f32 may be off before the last rounding. */
typedef struct wanted {
    double value;
    double slack;
} wanted;

/* reference - element `index` of output `output`, from the inputs' data. */
wanted reference(const operation *o, const logical_tensor *tensors, const parameters *p,
                 void *const *data, size_t output, int64_t index);

#endif
