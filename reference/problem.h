/* SPDX-License-Identifier: Apache-2.0 */
/* problem.h - one call of one operator: attributes, tensors, and who shares memory with whom.
 *
 * Also the walk over a tensor's elements in row-major order of its indices ("dense order"), in
 * which tests hold values whatever the layout.
 */
#ifndef VJP_REFERENCE_PROBLEM_H
#define VJP_REFERENCE_PROBLEM_H

#include "vjp/vjp.h"

enum {
    PROBLEM_TENSORS = 8,
    PROBLEM_ATTRS = 8,
    PROBLEM_TEXT = 2048
};

typedef struct problem {
    const vjp_op_info *op;
    vjp_attr attrs[PROBLEM_ATTRS];
    int32_t nattrs;
    vjp_tensor tensors[PROBLEM_TENSORS]; /* inputs by index, then outputs by index */
    int32_t ntensors;
    int32_t home[PROBLEM_TENSORS]; /* the first tensor that lives at the same address */
    uint32_t absent;               /* bit t: tensor t is not given */
} problem;

/* problem_start - the operator of that name, no attributes, every tensor at home in itself. */
problem problem_start(const char *op);

void problem_add_attr(problem *p, vjp_attr attr);

/* problem_attr - the value given, or the default that the library announces; a real one as F64. */
vjp_attr problem_attr(const problem *p, const char *name);

/* problem_has - whether a tensor is given. */
int problem_has(const problem *p, int32_t tensor);

/* problem_axis - the dims that rows run along by the attributes given: [*first, *end). Without an
 * axis there are none. */
void problem_axis(const problem *p, int32_t ndim, int32_t *first, int32_t *end);

/* problem_contiguous - all DATA tensors dense in `shape`, all PARAM tensors in `slope_shape`, all ROW
 * tensors without the axis; `wide` is the dtype of tensors that may differ from the others. Labels
 * and lengths are s32 beside 16 bits, else s64. */
void problem_contiguous(problem *p, vjp_dtype dtype, vjp_dtype wide, int32_t ndim,
                        const int64_t *shape, int32_t slope_ndim, const int64_t *slope_shape);

/* problem_share - let `output` live at the address of `input`, with the same layout. */
void problem_share(problem *p, int32_t output, int32_t input);

/* problem_tensor - the index of the tensor of that name; there must be one. */
int32_t problem_tensor(const problem *p, const char *name);

/* problem_create - vjp_plan_create with the problem's arguments. */
vjp_status problem_create(const problem *p, vjp_context *ctx, vjp_plan **plan, char *reason);

/* problem_describe - operator, attributes and tensors in a few lines of text. A problem of zeros is
 * one without an operator. */
const char *problem_describe(const problem *p, char text[PROBLEM_TEXT]);

int tensor_same_shape(const vjp_tensor *a, const vjp_tensor *b);

/* tensor_count - elements; tensor_extent - the lowest and highest offset of an element, both 0
 * without elements. */
int64_t tensor_count(const vjp_tensor *tensor);
void tensor_extent(const vjp_tensor *tensor, int64_t *lowest, int64_t *highest);

/* A walk visits the offsets of a shape's elements in dense order:
 *
 *     for (walk w = walk_start(ndim, shape, strides); w.more; walk_next(&w))
 *         use(w.offset);
 */
typedef struct walk {
    int more;
    int64_t offset;
    int32_t ndim;
    const int64_t *shape, *strides;
    int64_t index[VJP_MAX_DIMS];
} walk;

walk walk_start(int32_t ndim, const int64_t *shape, const int64_t *strides);
walk walk_tensor(const vjp_tensor *tensor);
void walk_next(walk *w);

#endif
