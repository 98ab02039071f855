/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - is this call valid? Every question is asked here, of the table and nothing else.
 *
 * On success a vjpi_call says all that a backend needs; on refusal a status and one sentence that
 * names the tensor and the dim. Sizes are computed with overflow checks: what passes here can be
 * multiplied and added in 64 bits. */
#include <inttypes.h>
#include <string.h>

#include "core/internal.h"

/* ---- attributes --------------------------------------------------------------------------- */

/* Is `value` one of the words of "NCX|NXC"? */
static bool is_choice(const char *choices, const char *value)
{
    size_t length = strlen(value);
    for (const char *word = choices; word; word = strchr(word, '|')) {
        word += *word == '|';
        if (length == strcspn(word, "|") && strncmp(word, value, length) == 0)
            return true;
    }
    return false;
}

static vjp_status check_attr_value(const vjp_attr_info *info, const vjp_attr *attr,
                                   vjpi_reason reason)
{
    static const char *const types[] = { "?", "bool", "s64", "f32", "str" };
    if (attr->type != info->type)
        return vjpi_refuse(reason, VJP_BAD_ATTRIBUTE, "attribute %s: not given as %s", info->name,
                           types[info->type]);
    if (attr->type == VJP_ATTR_BOOL && attr->value.b != 0 && attr->value.b != 1)
        return vjpi_refuse(reason, VJP_BAD_ATTRIBUTE, "attribute %s: %" PRId32 " is not 0 or 1",
                           info->name, attr->value.b);
    if (attr->type == VJP_ATTR_STR && !attr->value.str)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT, "attribute %s: the string is NULL",
                           info->name);
    if (attr->type == VJP_ATTR_STR && !is_choice(info->choices, attr->value.str))
        return vjpi_refuse(reason, VJP_BAD_ATTRIBUTE, "attribute %s: '%.32s' is not one of %s",
                           info->name, attr->value.str, info->choices);
    return VJP_OK;
}

/* Fill values[i] for each attribute i of the operator: as given, else its default. */
static vjp_status resolve_attrs(const vjpi_op *op, const vjp_attr *attrs, int32_t nattrs,
                                vjp_attr *values, bool *given, vjpi_reason reason)
{
    if (nattrs < 0)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT, "nattrs is %" PRId32, nattrs);
    if (nattrs > 0 && !attrs)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT, "attrs is NULL");
    for (int32_t i = 0; i < op->info.nattrs; i++)
        values[i] = op->attrs[i].default_value;
    for (int32_t i = 0; i < nattrs; i++) {
        int32_t a = 0;
        if (!attrs[i].name)
            return vjpi_refuse(reason, VJP_BAD_ARGUMENT, "attribute %" PRId32 ": name is NULL", i);
        while (a < op->info.nattrs && strcmp(op->attrs[a].name, attrs[i].name) != 0)
            a++;
        if (a == op->info.nattrs)
            return vjpi_refuse(reason, VJP_BAD_ATTRIBUTE, "%s has no attribute '%.64s'",
                               op->info.name, attrs[i].name);
        if (given[a])
            return vjpi_refuse(reason, VJP_BAD_ATTRIBUTE, "attribute %s: given twice",
                               attrs[i].name);
        vjp_status status = check_attr_value(&op->attrs[a], &attrs[i], reason);
        if (status != VJP_OK)
            return status;
        given[a] = true;
        values[a] = attrs[i];
    }
    for (int32_t a = 0; a < op->info.nattrs; a++)
        if (op->attrs[a].required && !given[a])
            return vjpi_refuse(reason, VJP_BAD_ATTRIBUTE, "attribute %s: required by %s",
                               op->attrs[a].name, op->info.name);
    return VJP_OK;
}

/* ---- one tensor --------------------------------------------------------------------------- */

/* Half the range of int64_t, so that distances between two tensors fit as well. */
#define MAX_BYTES (INT64_MAX / 2)

/* The first dim with which byte count, or the distance from the lowest to the highest byte, no
 * longer fits; ndim if all do. */
static int32_t first_dim_too_large(const vjp_tensor *tensor)
{
    int64_t size = (int64_t)vjp_dtype_size(tensor->dtype), bytes = size, reach = size;
    for (int32_t d = 0; d < tensor->ndim; d++) {
        int64_t stride = tensor->strides[d], span;
        if (tensor->shape[d] <= 1)
            continue;
        if (stride == INT64_MIN || __builtin_mul_overflow(bytes, tensor->shape[d], &bytes) ||
            __builtin_mul_overflow(stride < 0 ? -stride : stride, size, &span) ||
            __builtin_mul_overflow(span, tensor->shape[d] - 1, &span) ||
            __builtin_add_overflow(reach, span, &reach) || bytes > MAX_BYTES || reach > MAX_BYTES)
            return d;
    }
    return tensor->ndim;
}

vjp_status vjpi_check_tensor(const char *name, const vjp_tensor *tensor, vjpi_reason reason)
{
    bool empty = false;
    if (!tensor)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT, "%s: the description is NULL", name);
    if (tensor->struct_size < sizeof(vjp_tensor))
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT,
                           "%s: struct_size is %zu, at least %zu is needed", name,
                           tensor->struct_size, sizeof(vjp_tensor));
    if (vjp_dtype_size(tensor->dtype) == 0)
        return vjpi_refuse(reason, VJP_BAD_DTYPE, "%s: %d is not a dtype", name,
                           (int)tensor->dtype);
    if (tensor->ndim < 0 || tensor->ndim > VJP_MAX_DIMS)
        return vjpi_refuse(reason, VJP_BAD_SHAPE, "%s: ndim is %" PRId32 ", not 0 to %d", name,
                           tensor->ndim, VJP_MAX_DIMS);
    for (int32_t d = 0; d < tensor->ndim; d++) {
        if (tensor->shape[d] < 0)
            return vjpi_refuse(reason, VJP_BAD_SHAPE, "%s: dim %" PRId32 " is %" PRId64, name, d,
                               tensor->shape[d]);
        empty = empty || tensor->shape[d] == 0;
    }
    int32_t d = empty ? tensor->ndim : first_dim_too_large(tensor);
    if (d < tensor->ndim)
        return vjpi_refuse(reason, VJP_TOO_LARGE,
                           "%s: dim %" PRId32 " is %" PRId64 " at stride %" PRId64
                           ", its bytes do not fit in 62 bits", name, d, tensor->shape[d],
                           tensor->strides[d]);
    return VJP_OK;
}

/* ---- tensors together --------------------------------------------------------------------- */

static vjp_status check_dtypes(vjpi_call *call, vjpi_reason reason)
{
    const vjp_tensor_info *info = call->op->tensors;
    const char *wide_name = NULL;
    vjp_dtype wide = call->dtype = call->tensors[0].dtype;
    for (int32_t i = 1; i < call->ntensors; i++) {
        vjp_dtype dtype = call->tensors[i].dtype;
        if (info[i].dtype_rule == VJP_DTYPE_WIDE && wide_name && dtype != wide)
            return vjpi_refuse(reason, VJP_BAD_DTYPE, "%s: dtype is %s, %s has %s", info[i].name,
                               vjp_dtype_name(dtype), wide_name, vjp_dtype_name(wide));
        if (dtype == call->dtype || (info[i].dtype_rule == VJP_DTYPE_WIDE && dtype == VJP_F32 &&
                                     vjp_dtype_size(call->dtype) == 2)) {
            if (info[i].dtype_rule == VJP_DTYPE_WIDE) {
                wide_name = info[i].name;
                wide = dtype;
            }
            continue;
        }
        return vjpi_refuse(reason, VJP_BAD_DTYPE, "%s: dtype is %s, %s has %s", info[i].name,
                           vjp_dtype_name(dtype), info[0].name, vjp_dtype_name(call->dtype));
    }
    call->wide = wide != call->dtype;
    return VJP_OK;
}

/* Refuse tensor i unless it has the shape of tensor j. */
static vjp_status check_same_shape(const vjpi_call *call, int32_t i, int32_t j, vjpi_reason reason)
{
    const vjp_tensor *a = &call->tensors[i], *b = &call->tensors[j];
    const char *name = call->op->tensors[i].name, *other = call->op->tensors[j].name;
    if (a->ndim != b->ndim)
        return vjpi_refuse(reason, VJP_BAD_SHAPE, "%s: ndim is %" PRId32 ", %s has %" PRId32, name,
                           a->ndim, other, b->ndim);
    for (int32_t d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d])
            return vjpi_refuse(reason, VJP_BAD_SHAPE,
                               "%s: dim %" PRId32 " is %" PRId64 ", %s has %" PRId64, name, d,
                               a->shape[d], other, b->shape[d]);
    return VJP_OK;
}

/* The dim of the data that dim 0 of a slope lies along; its other dims follow.
 * A 1-D slope lies along the channels, anything else is aligned at the right. */
static int32_t slope_first_dim(const vjpi_call *call, const vjp_tensor *slope, bool channels_last)
{
    bool per_channel = slope->ndim == 1 && slope->shape[0] != 1 && call->ndim >= 2;
    return per_channel && !channels_last ? 1 : call->ndim - slope->ndim;
}

static vjp_status check_slope(const vjpi_call *call, int32_t i, bool channels_last,
                              vjpi_reason reason)
{
    const vjp_tensor *slope = &call->tensors[i];
    const char *name = call->op->tensors[i].name, *data = call->op->tensors[0].name;
    int32_t first = slope_first_dim(call, slope, channels_last);
    bool one = slope->ndim == 1 && slope->shape[0] == 1;
    if (first < 0 && !one)
        return vjpi_refuse(reason, VJP_BAD_SHAPE, "%s: ndim is %" PRId32 ", %s has %" PRId32, name,
                           slope->ndim, data, call->ndim);
    for (int32_t d = 0; d < slope->ndim && !one; d++)
        if (slope->shape[d] != call->shape[first + d] && (slope->ndim == 1 || slope->shape[d] != 1))
            return vjpi_refuse(reason, VJP_BAD_SHAPE,
                               "%s: dim %" PRId32 " is %" PRId64 ", dim %" PRId32
                               " of %s is %" PRId64, name, d, slope->shape[d], first + d, data,
                               call->shape[first + d]);
    return VJP_OK;
}

/* View slope i in the data's shape: stride 0 on each dim that it does not have. */
static void view_slope(vjpi_call *call, int32_t i, bool channels_last)
{
    const vjp_tensor *slope = &call->tensors[i];
    int32_t first = slope_first_dim(call, slope, channels_last);
    bool is_output = i >= call->op->info.ninputs;
    for (int32_t d = 0; d < call->ndim; d++) {
        int32_t s = d - first;
        bool has = s >= 0 && s < slope->ndim && slope->shape[s] != 1;
        call->strides[i][d] = has ? slope->strides[s] : 0;
        if (is_output && !has)
            call->reduced[d] = true;
    }
}

static vjp_status check_shapes(vjpi_call *call, bool channels_last, vjpi_reason reason)
{
    int32_t slope = -1;
    vjp_status status;
    call->ndim = call->tensors[0].ndim;
    memcpy(call->shape, call->tensors[0].shape, sizeof(call->shape));
    for (int32_t i = 0; i < call->ntensors; i++) {
        if (call->op->tensors[i].shape_rule == VJP_SHAPE_SLOPE) {
            status = slope < 0 ? check_slope(call, i, channels_last, reason)
                               : check_same_shape(call, i, slope, reason);
            if (status != VJP_OK)
                return status;
            slope = slope < 0 ? i : slope;
            view_slope(call, i, channels_last);
        } else {
            status = check_same_shape(call, i, 0, reason);
            if (status != VJP_OK)
                return status;
            memcpy(call->strides[i], call->tensors[i].strides, sizeof(call->strides[i]));
        }
    }
    return VJP_OK;
}

static vjp_status check_axis(vjpi_call *call, int64_t axis, bool given, vjpi_reason reason)
{
    const char *data = call->op->tensors[0].name;
    if (call->ndim == 0)
        return vjpi_refuse(reason, VJP_BAD_SHAPE, "%s: ndim is 0, %s needs an axis", data,
                           call->op->info.name);
    if (axis < -call->ndim || axis >= call->ndim)
        return vjpi_refuse(reason, VJP_BAD_ATTRIBUTE,
                           "attribute axis: %" PRId64 "%s is out of range, %s has %" PRId32
                           " dim%s", axis, given ? "" : ", the default,", data, call->ndim,
                           call->ndim == 1 ? "" : "s");
    call->reduced[axis < 0 ? axis + call->ndim : axis] = true;
    return VJP_OK;
}

static vjp_status check_outputs(const vjpi_call *call, vjpi_reason reason)
{
    for (int32_t i = call->op->info.ninputs; i < call->ntensors; i++) {
        const vjp_tensor *out = &call->tensors[i];
        const char *name = call->op->tensors[i].name;
        if (vjpi_numel(out) == 0)
            continue;
        int32_t d = 0;
        vjpi_answer shared = vjpi_overlaps_itself(out, &d);
        if (shared == VJPI_NO)
            continue;
        if (out->strides[d] == 0)
            return vjpi_refuse(reason, VJP_BAD_STRIDES,
                               "%s: stride 0 on dim %" PRId32 ", an output cannot broadcast", name,
                               d);
        return vjpi_refuse(reason, VJP_BAD_STRIDES,
                           "%s: stride %" PRId64 " on dim %" PRId32
                           " %s two elements on one address", name, out->strides[d], d,
                           shared == VJPI_YES ? "puts" : "may put");
    }
    return VJP_OK;
}

/* ---- the call ----------------------------------------------------------------------------- */

/* Give each attribute's value to whom it concerns. */
static vjp_status apply_attrs(const vjp_attr *values, const bool *given, vjpi_call *call,
                              vjpi_reason reason)
{
    vjp_status status = VJP_OK;
    bool channels_last = false;
    int32_t nconstants = 0;
    for (int32_t a = 0; a < call->op->info.nattrs; a++) {
        if (values[a].type == VJP_ATTR_F32)
            call->constants[nconstants++] = values[a].value.f32;
        if (values[a].type == VJP_ATTR_STR)
            channels_last = strcmp(values[a].value.str, "NXC") == 0;
        if (strcmp(call->op->choice, call->op->attrs[a].name) == 0)
            call->choice = values[a].value.b;
    }
    status = check_shapes(call, channels_last, reason);
    for (int32_t a = 0; a < call->op->info.nattrs && status == VJP_OK; a++)
        if (values[a].type == VJP_ATTR_S64)
            status = check_axis(call, values[a].value.s64, given[a], reason);
    return status;
}

vjp_status vjpi_check(const char *name, const vjp_attr *attrs, int32_t nattrs,
                      const vjp_tensor *const *tensors, int32_t ntensors, vjpi_call *call,
                      vjpi_reason reason)
{
    vjp_attr values[VJPI_MAX_ATTRS];
    bool given[VJPI_MAX_ATTRS] = { false };
    const vjpi_op *op = vjpi_op_find(name);
    vjp_status status;
    memset(call, 0, sizeof(*call));
    if (!name || !tensors)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT, "%s is NULL", name ? "tensors" : "op");
    if (!op)
        return vjpi_refuse(reason, VJP_BAD_OP, "no operator is named '%.64s'", name);
    if (ntensors != op->info.ninputs + op->info.noutputs)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT,
                           "ntensors is %" PRId32 ", %s has %" PRId32, ntensors, op->info.name,
                           op->info.ninputs + op->info.noutputs);
    call->op = op;
    call->ntensors = ntensors;
    for (int32_t i = 0; i < ntensors; i++) {
        status = vjpi_check_tensor(op->tensors[i].name, tensors[i], reason);
        if (status != VJP_OK)
            return status;
        call->tensors[i] = *tensors[i];
    }
    if ((status = resolve_attrs(op, attrs, nattrs, values, given, reason)) != VJP_OK ||
        (status = check_dtypes(call, reason)) != VJP_OK ||
        (status = apply_attrs(values, given, call, reason)) != VJP_OK)
        return status;
    return check_outputs(call, reason);
}
