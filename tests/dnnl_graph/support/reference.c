/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - see reference.h. */
#include "reference.h"

#include <math.h>

#define F32_EPS 0x1p-23

static wanted about(double value)
{
    wanted w = { value, 8 * F32_EPS * fabs(value) };
    return w;
}

static double logistic(double x) { return 1 / (1 + exp(-x)); }
static double clamped(double x, double min, double max) { return fmin(fmax(x, min), max); }

/* gelu_tanh is x * logistic(2u). */
static double twice_u(double x) { return sqrt(8 / acos(-1)) * (x + 0.044715 * x * x * x); }
static double twice_u_slope(double x) { return sqrt(8 / acos(-1)) * (1 + 3 * 0.044715 * x * x); }

static double forward_at(dnnl_graph_op_kind_t kind, const parameters *p, double x)
{
    switch (kind) {
    case dnnl_graph_op_abs:
        return fabs(x);
    case dnnl_graph_op_clamp:
        return clamped(x, p->min, p->max);
    case dnnl_graph_op_elu:
        return x > 0 ? x : p->alpha * expm1(x);
    case dnnl_graph_op_exp:
        return exp(x);
    case dnnl_graph_op_gelu:
        return p->tanh_form ? x * logistic(twice_u(x)) : x / 2 * erfc(-x / sqrt(2));
    case dnnl_graph_op_hard_sigmoid:
        return clamped(p->alpha * x + p->beta, 0, 1);
    case dnnl_graph_op_hard_swish:
        return x * clamped(x + 3, 0, 6) / 6;
    case dnnl_graph_op_leaky_relu:
        return x > 0 ? x : p->alpha * x;
    case dnnl_graph_op_log:
        return log(x);
    case dnnl_graph_op_mish:
        return x * tanh(log1p(exp(x)));
    case dnnl_graph_op_reciprocal:
        return 1 / x;
    case dnnl_graph_op_relu:
        return fmax(x, 0);
    case dnnl_graph_op_round:
        return nearbyint(x);
    case dnnl_graph_op_sigmoid:
        return logistic(x);
    case dnnl_graph_op_softplus:
        return log1p(exp(p->beta * x)) / p->beta;
    case dnnl_graph_op_sqrt:
        return sqrt(x);
    case dnnl_graph_op_square:
        return x * x;
    default: /* tanh */
        return tanh(x);
    }
}

/* The slope at x, which is src or, with use_dst, dst. */
static double slope_at(dnnl_graph_op_kind_t kind, const parameters *p, double x)
{
    double v = p->alpha * x + p->beta, s = p->use_dst ? x : logistic(x);
    double t = tanh(log1p(exp(x))), u = twice_u(x);
    switch (kind) {
    case dnnl_graph_op_abs_backward:
        return x > 0 ? 1 : x < 0 ? -1 : 0;
    case dnnl_graph_op_clamp_backward:
        return x > p->min && x < p->max;
    case dnnl_graph_op_elu_backward:
        return x > 0 ? 1 : p->use_dst ? x + p->alpha : p->alpha * exp(x);
    case dnnl_graph_op_gelu_backward:
        if (p->tanh_form)
            return logistic(u) * (1 + x * twice_u_slope(x) * logistic(-u));
        return erfc(-x / sqrt(2)) / 2 + x * exp(-x * x / 2) / sqrt(2 * acos(-1));
    case dnnl_graph_op_hard_swish_backward:
        return x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6;
    case dnnl_graph_op_mish_backward:
        return t + x * logistic(x) * (1 - t * t);
    case dnnl_graph_op_relu_backward:
        return x > 0;
    case dnnl_graph_op_sigmoid_backward:
        return s * (1 - s);
    case dnnl_graph_op_softplus_backward:
        return logistic(p->beta * x);
    case dnnl_graph_op_sqrt_backward:
        return 0.5 / (p->use_dst ? x : sqrt(x));
    case dnnl_graph_op_tanh_backward:
        return p->use_dst ? 1 - x * x : 1 / (cosh(x) * cosh(x));
    default: /* hard_sigmoid_backward */
        return v > 0 && v < 1 ? p->alpha : 0;
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

static wanted prelu_forward_at(const logical_tensor *t, const parameters *p, void *const *data,
                               int64_t index)
{
    double x = value_at(&t[0], data[0], index);
    return about(x > 0 ? x
                       : x * value_at(&t[1], data[1], slope_index(&t[0], &t[1], p, index)));
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
    if (o->kind == dnnl_graph_op_prelu)
        return prelu_forward_at(tensors, p, data, index);
    double x = value_at(&tensors[0], data[0], index);
    if (o->ninputs == 1)
        return about(forward_at(o->kind, p, x));
    return about(slope_at(o->kind, p, x) * value_at(&tensors[1], data[1], index));
}
