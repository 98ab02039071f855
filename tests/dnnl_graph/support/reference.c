/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - see reference.h. */
#include "reference.h"

#include <math.h>

#define F32_EPS 0x1p-23

static wanted about(double value)
{
    wanted w = { value, 4 * F32_EPS * fabs(value) };
    return w;
}

static wanted elementwise_at(const operation *o, const parameters *p, double x, double dd)
{
    double s = p->use_dst ? x : 1 / (1 + exp(-x)), v = p->alpha * x + p->beta;
    switch (o->kind) {
    case dnnl_graph_op_relu_backward:
        return about(x > 0 ? dd : 0);
    case dnnl_graph_op_sigmoid_backward:
        return about(dd * s * (1 - s));
    default: /* hard_sigmoid_backward */
        return about(v > 0 && v < 1 ? p->alpha * dd : 0);
    }
}

static wanted softmax_at(const logical_tensor *t, const parameters *p, void *const *data,
                         int64_t index)
{
    int64_t coordinates[DNNL_MAX_NDIMS];
    unravel(&t[0], index, coordinates);
    double sum = 0, size = 0;
    for (int64_t k = 0; k < t[0].dims[p->axis]; k++) {
        coordinates[p->axis] = k;
        int64_t i = ravel(&t[0], coordinates);
        double term = value_at(&t[0], data[0], i) * value_at(&t[1], data[1], i);
        sum += term;
        size += fabs(term);
    }
    double dd = value_at(&t[0], data[0], index), y = value_at(&t[1], data[1], index);
    wanted w = { y * (dd - sum), 16 * F32_EPS * fabs(y) * (fabs(dd) + size) };
    return w;
}

/* slope_index - the element of slope that belongs to an element of src. */
static int64_t slope_index(const logical_tensor *src, const logical_tensor *slope,
                           const parameters *p, int64_t index)
{
    int64_t coordinates[DNNL_MAX_NDIMS], own[DNNL_MAX_NDIMS];
    unravel(src, index, coordinates);
    for (int i = 0; i < slope->ndims; i++) {
        int from = slope->ndims == 1 ? p->channel_dim : src->ndims - slope->ndims + i;
        own[i] = slope->dims[i] == 1 ? 0 : coordinates[from];
    }
    return ravel(slope, own);
}

static wanted prelu_at(const logical_tensor *t, const parameters *p, void *const *data,
                       int64_t index)
{
    double x = value_at(&t[0], data[0], index), dd = value_at(&t[2], data[2], index);
    double w = value_at(&t[1], data[1], slope_index(&t[0], &t[1], p, index));
    return about(x > 0 ? dd : dd * w);
}

static wanted prelu_slope_at(const logical_tensor *t, const parameters *p, void *const *data,
                             int64_t index)
{
    wanted sum = { 0, 0 };
    for (int64_t i = 0; i < count_of(&t[0]); i++) {
        double x = value_at(&t[0], data[0], i), dd = value_at(&t[2], data[2], i);
        if (slope_index(&t[0], &t[1], p, i) != index || x > 0)
            continue;
        sum.value += dd * x;
        sum.slack += 16 * F32_EPS * fabs(dd * x);
    }
    return sum;
}

wanted reference(const operation *o, const logical_tensor *tensors, const parameters *p,
                 void *const *data, size_t output, int64_t index)
{
    if (o->kind == dnnl_graph_op_softmax_backward)
        return softmax_at(tensors, p, data, index);
    if (o->kind == dnnl_graph_op_prelu_backward)
        return output ? prelu_slope_at(tensors, p, data, index) : prelu_at(tensors, p, data, index);
    return elementwise_at(o, p, value_at(&tensors[0], data[0], index),
                          value_at(&tensors[1], data[1], index));
}
