/* SPDX-License-Identifier: Apache-2.0 */
/* problem.h - one call of one operator: attributes, tensors, and which tensors share memory.
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
    PROBLEM_TEXT = 4096
};

typedef struct problem {
    const vjp_op_info *op;
    vjp_attr attrs[PROBLEM_ATTRS];
    int32_t nattrs;
    vjp_tensor tensors[PROBLEM_TENSORS]; /* inputs by index, then outputs by index */
    int32_t ntensors;
    uint32_t absent;               /* bit t: tensor t is not given, or not wanted */
    int32_t home[PROBLEM_TENSORS]; /* the first tensor that lives at the same address */
} problem;

/* problem_start - the operator of that name, no attributes, every tensor at home in itself. */
problem problem_start(const char *op);

void problem_add_attr(problem *p, vjp_attr attr);

/* problem_attr - the value given, or the default that the library announces; a real one as F64. */
vjp_attr problem_attr(const problem *p, const char *name);

/* problem_channels_first - whether a 1-D parameter runs along dim 1 of data that has one. */
int problem_channels_first(const problem *p);

/* problem_contiguous - all DATA tensors dense in `shape`, all PARAM tensors in `param_shape`, all
 * ROW tensors in `shape` without the axis, which must be set; `wide` is the dtype of tensors that
 * may differ from the others. All tensors are there. */
void problem_contiguous(problem *p, vjp_dtype dtype, vjp_dtype wide, int32_t ndim,
                        const int64_t *shape, int32_t param_ndim, const int64_t *param_shape);

/* problem_drop - leave out an optional tensor; problem_drop_inputs - all optional inputs;
 * problem_has - whether a tensor is there. */
void problem_drop(problem *p, int32_t tensor);
void problem_drop_inputs(problem *p);
int problem_has(const problem *p, int32_t tensor);

/* problem_dtype - the dtype that a tensor has in a call of `dtype` and `wide`. */
vjp_dtype problem_dtype(const problem *p, int32_t tensor, vjp_dtype dtype, vjp_dtype wide);

/* problem_row_shape - the shape of ROW tensors for data of that shape: with 1 at the axis, or
 * without it. Returns how many dims. */
int32_t problem_row_shape(const problem *p, int32_t ndim, const int64_t *shape, int keeps_dims,
                          int64_t row_shape[VJP_MAX_DIMS]);

/* problem_axis_shape - the dims of that shape that rows run along: the shape of a parameter with an
 * element for each of a row's. Returns how many. */
int32_t problem_axis_shape(const problem *p, int32_t ndim, const int64_t *shape,
                           int64_t axis_shape[VJP_MAX_DIMS]);

/* problem_share - let `output` live at the address of `input`, with the same layout. */
void problem_share(problem *p, int32_t output, int32_t input);

/* problem_tensor - the index of the tensor of that name; there must be one. */
int32_t problem_tensor(const problem *p, const char *name);

/* problem_workspace_limit - the bytes that the workspace of a plan may have on the CPU: a sixteenth
 * of the inputs', 128 per row of a row operator (16 row arrays in f64), or 256 KiB. */
size_t problem_workspace_limit(const problem *p);

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

/* walk_carry - the next offset where the last dim is at its end. */
void walk_carry(walk *w);

static inline void walk_next(walk *w)
{
    int32_t last = w->ndim - 1;
    if (last < 0 || w->index[last] + 1 >= w->shape[last]) {
        walk_carry(w);
        return;
    }
    w->index[last]++;
    w->offset += w->strides[last];
}

#endif
