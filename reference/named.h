/* SPDX-License-Identifier: Apache-2.0 */
/* named.h - problems listed in a table. */
#ifndef VJP_REFERENCE_NAMED_H
#define VJP_REFERENCE_NAMED_H

#include "problem.h"

/* What becomes of the contiguous layout of the leading input: the gradient or, without one, the
 * first. */
typedef enum named_layout {
    NAMED_PLAIN,
    NAMED_IN_PLACE,      /* the first output is at its address */
    NAMED_CHANNELS_LAST, /* of images: dim 1 is the fastest in memory */
    NAMED_SWAPPED,       /* dims 0 and 1 change places in memory */
    NAMED_BROADCAST      /* it is one element, repeated */
} named_layout;

typedef struct named_problem {
    const char *name;
    const char *op;
    vjp_dtype dtype, wide;
    named_layout layout;
    vjp_attr attrs[2];
    int32_t nattrs;
    int32_t ndim;
    int64_t shape[VJP_MAX_DIMS];
    int32_t slope_ndim;
    int64_t slope_shape[3];
} named_problem;

/* What a row ends with if the operator has no slope. */
/* clang-format off */
#define NO_SLOPE 0, { 0 }
/* clang-format on */

/* The attributes of a row: the array and its count. */
#define USE_DST(value) { { "use_dst", VJP_ATTR_BOOL, { .b = value } } }, 1
#define AXIS(value) { { "axis", VJP_ATTR_S64, { .s64 = value } } }, 1
#define FORMAT(value) { { "data_format", VJP_ATTR_STR, { .str = value } } }, 1
#define LINE(alpha, beta) \
    { { "alpha", VJP_ATTR_F32, { .f32 = alpha } }, { "beta", VJP_ATTR_F32, { .f32 = beta } } }, 2

/* named_lay_out - give a contiguous problem that layout. named_tensor - the input whose layout that is, of
 * the data's shape: the gradient if it can be, else the first. In place: if an output has that shape. */
int32_t named_tensor(const vjp_op_info *op);
void named_lay_out(problem *p, named_layout layout);

problem named_problem_build(const named_problem *named);

#endif
