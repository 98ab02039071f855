/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - is this call valid? All validation is here and in attributes.c, and depends only on the
 * table.
 *
 * On success a vjpi_call holds everything that a backend needs; on refusal there is a status and
 * one sentence that names the tensor and the dim. Sizes are computed with overflow checks: sizes
 * that pass here can be multiplied and added in 64 bits. */
#include <inttypes.h>
#include <string.h>

#include "core/attributes.h"
#include "core/internal.h"

/* ---- one tensor --------------------------------------------------------------------------- */

/* Half the range of int64_t, so that distances between two tensors also fit. */
#define MAX_BYTES (INT64_MAX / 2)

/* The first dim at which the byte count, or the distance from the lowest to the highest byte, no
 * longer fits; ndim if all fit. */
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

static bool is_narrow(vjp_dtype dtype)
{
    return dtype == VJP_F16 || dtype == VJP_BF16;
}

static bool fits_rule(vjp_dtype_rule rule, vjp_dtype data, vjp_dtype dtype)
{
    switch (rule) {
    case VJP_DTYPE_SAME:
        return dtype == data;
    case VJP_DTYPE_WIDE:
        return dtype == data || (dtype == VJP_F32 && is_narrow(data));
    case VJP_DTYPE_ANY:
        return dtype == data || (dtype == VJP_F32 && is_narrow(data)) ||
               (data == VJP_F32 && is_narrow(dtype));
    case VJP_DTYPE_STAT:
        return dtype == (data == VJP_F64 ? VJP_F64 : VJP_F32);
    case VJP_DTYPE_INDEX:
        return dtype == VJP_S32 || dtype == VJP_S64;
    case VJP_DTYPE_MASK:
        return dtype == VJP_U8;
    }
    return false;
}

static vjp_status refuse_dtype(const vjpi_call *call, int32_t i, vjpi_reason reason)
{
    const vjp_tensor_info *info = call->op->tensors;
    const char *name = info[i].name, *dtype = vjp_dtype_name(call->tensors[i].dtype);
    if (info[i].dtype_rule == VJP_DTYPE_INDEX)
        return vjpi_refuse(reason, VJP_BAD_DTYPE, "%s: dtype is %s, not s32 or s64", name, dtype);
    if (info[i].dtype_rule == VJP_DTYPE_MASK)
        return vjpi_refuse(reason, VJP_BAD_DTYPE, "%s: dtype is %s, not u8", name, dtype);
    if (info[i].dtype_rule == VJP_DTYPE_STAT)
        return vjpi_refuse(reason, VJP_BAD_DTYPE, "%s: dtype is %s, not %s beside %s", name, dtype,
                           call->dtype == VJP_F64 ? "f64" : "f32", vjp_dtype_name(call->dtype));
    return vjpi_refuse(reason, VJP_BAD_DTYPE, "%s: dtype is %s, %s has %s", name, dtype,
                       info[0].name, vjp_dtype_name(call->dtype));
}

static vjp_status check_dtypes(vjpi_call *call, vjpi_reason reason)
{
    call->dtype = call->tensors[0].dtype;
    if (vjpi_compute_size(call->dtype) == 0)
        return vjpi_refuse(reason, VJP_BAD_DTYPE, "%s: dtype is %s, not f64, f32, f16 or bf16",
                           call->op->tensors[0].name, vjp_dtype_name(call->dtype));
    for (int32_t i = 1; i < call->ntensors; i++) {
        if (!vjpi_has(call->facts, i))
            continue;
        vjp_dtype dtype = call->tensors[i].dtype;
        if (!fits_rule(call->op->tensors[i].dtype_rule, call->dtype, dtype))
            return refuse_dtype(call, i, reason);
        bool loaded = call->op->roles[i] == VJPI_ELEMENTS || call->op->roles[i] == VJPI_FULL;
        if (loaded && dtype != call->dtype && dtype != VJP_U8)
            call->mixed = true;
    }
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

static int32_t axis_dims(const vjpi_call *call, int32_t *last)
{
    int32_t count = 0;
    for (int32_t d = 0; d < call->ndim; d++)
        if (call->reduced[d] & VJPI_AXIS) {
            *last = d;
            count++;
        }
    return count;
}

/* The dim of the data that dim 0 of a PARAM runs along; its other dims follow. A 1-D PARAM runs
 * along the axis or the channels, any other is right-aligned. */
static int32_t param_first_dim(const vjpi_call *call, const vjp_tensor *param, bool channels_first)
{
    int32_t axis = 0, naxes = axis_dims(call, &axis);
    if (param->ndim == 1 && param->shape[0] != 1) {
        if (naxes == 1)
            return axis;
        if (channels_first && call->ndim >= 2)
            return 1;
    }
    return call->ndim - param->ndim;
}

static vjp_status check_param(const vjpi_call *call, int32_t i, bool channels_first,
                              vjpi_reason reason)
{
    const vjp_tensor *param = &call->tensors[i];
    const char *name = call->op->tensors[i].name, *data = call->op->tensors[0].name;
    int32_t first = param_first_dim(call, param, channels_first);
    bool one = param->ndim == 1 && param->shape[0] == 1;
    if (first < 0 && !one)
        return vjpi_refuse(reason, VJP_BAD_SHAPE, "%s: ndim is %" PRId32 ", %s has %" PRId32, name,
                           param->ndim, data, call->ndim);
    for (int32_t d = 0; d < param->ndim && !one; d++)
        if (param->shape[d] != call->shape[first + d] && (param->ndim == 1 || param->shape[d] != 1))
            return vjpi_refuse(reason, VJP_BAD_SHAPE,
                               "%s: dim %" PRId32 " is %" PRId64 ", dim %" PRId32
                               " of %s is %" PRId64, name, d, param->shape[d], first + d, data,
                               call->shape[first + d]);
    return VJP_OK;
}

/* View PARAM i in the data's shape: stride 0 along each dim that it lacks. */
static void view_param(vjpi_call *call, int32_t i, bool channels_first)
{
    const vjp_tensor *param = &call->tensors[i];
    int32_t first = param_first_dim(call, param, channels_first);
    for (int32_t d = 0; d < call->ndim; d++) {
        int32_t s = d - first;
        bool has = s >= 0 && s < param->ndim && param->shape[s] != 1;
        call->strides[i][d] = has ? param->strides[s] : 0;
        if (call->op->roles[i] == VJPI_SUM && !has)
            call->reduced[d] |= VJPI_SUMMED;
    }
}

/* The tensor whose shape SUM output i must have: the input that it is the gradient of, or the first
 * SUM output; -1 if there is none. */
static int32_t shape_partner(const vjpi_call *call, int32_t i)
{
    const char *name = call->op->tensors[i].name;
    for (int32_t j = 0; j < i && call->op->roles[i] == VJPI_SUM; j++) {
        const char *other = call->op->tensors[j].name;
        bool partner = call->op->roles[j] == VJPI_SUM ||
                       (strncmp(name, "diff_", 5) == 0 && strcmp(name + 5, other) == 0);
        if (partner && vjpi_has(call->facts, j))
            return j;
    }
    return -1;
}

static vjp_status check_row_tensor(vjpi_call *call, int32_t i, vjpi_reason reason)
{
    const vjp_tensor *row = &call->tensors[i];
    const char *name = call->op->tensors[i].name, *data = call->op->tensors[0].name;
    int32_t axis = 0, naxes = axis_dims(call, &axis), s = 0;
    bool keeps_dims = row->ndim == call->ndim;
    if (!keeps_dims && row->ndim != call->ndim - naxes)
        return vjpi_refuse(reason, VJP_BAD_SHAPE,
                           "%s: ndim is %" PRId32 ", not %" PRId32 " or, with 1 at the axis, %"
                           PRId32, name, row->ndim, call->ndim - naxes, call->ndim);
    for (int32_t d = 0; d < call->ndim; d++) {
        bool along = call->reduced[d] & VJPI_AXIS;
        if (along && !keeps_dims)
            continue;
        int64_t expected = along ? 1 : call->shape[d];
        if (row->shape[s] != expected && along)
            return vjpi_refuse(reason, VJP_BAD_SHAPE,
                               "%s: dim %" PRId32 " is %" PRId64
                               ", not 1: the rows of %s run along it",
                               name, s, row->shape[s], data);
        if (row->shape[s] != expected)
            return vjpi_refuse(reason, VJP_BAD_SHAPE,
                               "%s: dim %" PRId32 " is %" PRId64 ", dim %" PRId32
                               " of %s is %" PRId64, name, s, row->shape[s], d, data, expected);
        call->strides[i][d] = expected > 1 ? row->strides[s] : 0;
        s++;
    }
    return VJP_OK;
}

static vjp_status check_shape(vjpi_call *call, int32_t i, bool channels_first, vjpi_reason reason)
{
    vjp_shape_rule rule = call->op->tensors[i].shape_rule;
    vjp_status status;
    if (rule == VJP_SHAPE_ROW)
        return check_row_tensor(call, i, reason);
    if (rule == VJP_SHAPE_PARAM) {
        int32_t partner = shape_partner(call, i);
        status = partner >= 0 ? check_same_shape(call, i, partner, reason)
                              : check_param(call, i, channels_first, reason);
        if (status == VJP_OK)
            view_param(call, i, channels_first);
        return status;
    }
    status = check_same_shape(call, i, 0, reason);
    if (status == VJP_OK)
        memcpy(call->strides[i], call->tensors[i].strides, sizeof(call->strides[i]));
    return status;
}

/* The shapes that are input 0's, or all others, which the attributes have a say in. */
static vjp_status check_shapes(vjpi_call *call, bool data, bool channels_first, vjpi_reason reason)
{
    for (int32_t i = 0; i < call->ntensors; i++) {
        bool is_data = call->op->tensors[i].shape_rule == VJP_SHAPE_DATA;
        if (is_data != data || !vjpi_has(call->facts, i))
            continue;
        vjp_status status = check_shape(call, i, channels_first, reason);
        if (status != VJP_OK)
            return status;
    }
    return VJP_OK;
}

static vjp_status check_outputs(const vjpi_call *call, vjpi_reason reason)
{
    for (int32_t i = call->op->info.ninputs; i < call->ntensors; i++) {
        const vjp_tensor *out = &call->tensors[i];
        const char *name = call->op->tensors[i].name;
        if (!vjpi_has(call->facts, i) || vjpi_numel(out) == 0)
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

/* ---- rows --------------------------------------------------------------------------------- */

/* The number of rows, and their length. */
static void count_rows(vjpi_call *call)
{
    call->elements = vjpi_numel(&call->tensors[0]);
    call->rows = call->length = 1;
    for (int32_t d = 0; d < call->ndim; d++) {
        int64_t *count = call->reduced[d] & VJPI_AXIS ? &call->length : &call->rows;
        *count = __builtin_mul_overflow(*count, call->shape[d], count) ? 0 : *count;
    }
    call->constants[VJPI_COUNT_SLOT] = (double)call->length;
}

/* Plans count in bytes what they hold for all rows and read of one, with 8 bytes or less for each
 * operand: 62 bits are enough for that. */
#define MAX_ROW_ELEMENTS ((int64_t)1 << 54)

static vjp_status check_rows(const vjpi_call *call, vjpi_reason reason)
{
    if (call->op->npasses == 1 ||
        (call->elements <= MAX_ROW_ELEMENTS && call->rows <= MAX_ROW_ELEMENTS))
        return VJP_OK;
    return vjpi_refuse(reason, VJP_TOO_LARGE,
                       "%s: %" PRId64 " elements in %" PRId64 " rows, %s can have %" PRId64,
                       call->op->tensors[0].name, call->elements, call->rows, call->op->info.name,
                       MAX_ROW_ELEMENTS);
}

/* Positions along the axis are numbers of the compute type, which must represent them exactly. */
static vjp_status check_length(const vjpi_call *call, vjpi_reason reason)
{
    int64_t most = vjpi_compute_size(call->dtype) == 8 ? (int64_t)1 << 53 : 1 << 24;
    bool ends = call->causal_dim >= 0;
    for (int32_t i = 0; i < call->op->info.ninputs; i++)
        ends = ends || (call->op->roles[i] == VJPI_ROW_END && vjpi_has(call->facts, i));
    if (call->length <= most || !(call->op->indexed || ends))
        return VJP_OK;
    return vjpi_refuse(reason, VJP_TOO_LARGE,
                       "%s: the axis is %" PRId64 " long, %s in %s counts to %" PRId64,
                       call->op->tensors[0].name, call->length, call->op->info.name,
                       vjp_dtype_name(call->dtype), most);
}

/* ---- the call ----------------------------------------------------------------------------- */

/* The description of each tensor that was passed. */
static vjp_status take_tensors(const vjp_tensor *const *tensors, int32_t ntensors, vjpi_call *call,
                               vjpi_reason reason)
{
    const vjpi_op *op = call->op;
    bool any_output = false;
    for (int32_t i = 0; i < call->ntensors; i++) {
        const char *name = op->tensors[i].name;
        if (i >= ntensors || !tensors[i]) {
            if (!(op->tensors[i].flags & VJP_TENSOR_OPTIONAL))
                return vjpi_refuse(reason, VJP_BAD_ARGUMENT, "%s: required by %s, but not given",
                                   name, op->info.name);
            continue;
        }
        vjp_status status = vjpi_copy_struct(&call->tensors[i], sizeof(vjp_tensor),
                                             sizeof(vjp_tensor), tensors[i],
                                             tensors[i]->struct_size, name, reason);
        if (status == VJP_OK)
            status = vjpi_check_tensor(name, &call->tensors[i], reason);
        if (status != VJP_OK)
            return status;
        call->facts |= 1u << i;
        any_output = any_output || i >= op->info.ninputs;
    }
    if (!any_output)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT, "%s: no output is wanted", op->info.name);
    return VJP_OK;
}

/* Which parts of the operator the call needs. */
static void find_work(vjpi_call *call)
{
    for (int32_t i = call->op->info.ninputs; i < call->ntensors; i++) {
        call->sums = call->sums || (call->op->roles[i] == VJPI_SUM && vjpi_has(call->facts, i));
        call->per_row =
            call->per_row || (call->op->roles[i] == VJPI_PER_ROW && vjpi_has(call->facts, i));
    }
    for (int32_t pass = 0; pass < call->op->npasses - 1; pass++)
        if (call->op->needs(pass, call->facts))
            call->passes |= 1u << pass;
}

/* Which kernels, and where rows end: a causal call without lengths has an input for that, too. Of a
 * long formula, those for masked rows serve other dtypes, too. */
static void find_variant(vjpi_call *call)
{
    bool masked = call->op->is_heavy && call->mixed;
    call->end = -1;
    for (int32_t i = 0; i < call->op->info.ninputs; i++) {
        bool given = vjpi_has(call->facts, i);
        if (call->op->roles[i] == VJPI_ROW_END && (given || call->causal_dim >= 0))
            call->end = i;
        masked |= given && call->op->tensors[i].dtype_rule == VJP_DTYPE_MASK;
    }
    call->variant = call->choice || (call->op->has_plain && (masked || call->end >= 0));
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
    call->op = op;
    call->causal_dim = -1;
    call->ntensors = op->info.ninputs + op->info.noutputs;
    if (ntensors < 0 || ntensors > call->ntensors)
        return vjpi_refuse(reason, VJP_BAD_ARGUMENT,
                           "ntensors is %" PRId32 ", %s has %" PRId32, ntensors, op->info.name,
                           call->ntensors);
    if ((status = take_tensors(tensors, ntensors, call, reason)) != VJP_OK ||
        (status = vjpi_resolve_attrs(op, attrs, nattrs, values, given, reason)) != VJP_OK ||
        (status = check_dtypes(call, reason)) != VJP_OK)
        return status;
    call->ndim = call->tensors[0].ndim;
    memcpy(call->shape, call->tensors[0].shape, sizeof(call->shape));
    if ((status = check_shapes(call, true, false, reason)) != VJP_OK)
        return status;
    if ((status = vjpi_apply_attrs(values, given, call, reason)) != VJP_OK ||
        (status = check_shapes(call, false, vjpi_channels_first(op, values), reason)) != VJP_OK)
        return status;
    find_variant(call);
    count_rows(call);
    find_work(call);
    if ((status = check_rows(call, reason)) != VJP_OK ||
        (status = check_length(call, reason)) != VJP_OK)
        return status;
    return check_outputs(call, reason);
}
