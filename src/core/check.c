/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - is this call valid? All validation is here, and depends only on the table.
 *
 * On success a vjpi_call holds everything that a backend needs; on refusal there is a status and
 * one sentence that names the tensor and the dim. Sizes are computed with overflow checks: sizes
 * that pass here can be multiplied and added in 64 bits. */
#include <inttypes.h>
#include <string.h>

#include "core/fpmode.h"
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

static const char *type_name(vjp_attr_type type)
{
    static const char *const names[] = { "no type", "bool", "s64", "f32", "str", "f64" };
    return (unsigned)type < sizeof(names) / sizeof(names[0]) ? names[type] : names[0];
}

static vjp_status check_attr_value(const vjp_attr_info *info, const vjp_attr *attr,
                                   vjpi_reason reason)
{
    bool is_real = info->type == VJP_ATTR_F64 && attr->type == VJP_ATTR_F32;
    if (attr->type != info->type && !is_real)
        return vjpi_refuse(reason, VJP_BAD_ATTRIBUTE, "attribute %s: expected %s, got %s",
                           info->name, type_name(info->type), type_name(attr->type));
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
        if (attrs[i].type == VJP_ATTR_F32)
            values[a] = vjp_attr_f64(attrs[i].name, attrs[i].value.f32);
    }
    for (int32_t a = 0; a < op->info.nattrs; a++)
        if (op->attrs[a].required && !given[a])
            return vjpi_refuse(reason, VJP_BAD_ATTRIBUTE, "attribute %s: required by %s",
                               op->attrs[a].name, op->info.name);
    return VJP_OK;
}

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
                               "%s: dim %" PRId32 " is %" PRId64 ", not 1: the rows of %s run along it",
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

static vjp_status check_axis(vjpi_call *call, const vjp_attr_info *info, int64_t axis, bool given,
                             vjpi_reason reason)
{
    const char *data = call->op->tensors[0].name;
    if (call->ndim == 0)
        return vjpi_refuse(reason, VJP_BAD_SHAPE, "%s: ndim is 0, %s needs an axis", data,
                           call->op->info.name);
    if (axis < -call->ndim || axis >= call->ndim)
        return vjpi_refuse(reason, VJP_BAD_ATTRIBUTE,
                           "attribute %s: %" PRId64 "%s is out of range, %s has %" PRId32
                           " dim%s", info->name, axis, given ? "" : ", the default,", data,
                           call->ndim, call->ndim == 1 ? "" : "s");
    int32_t first = (int32_t)(axis < 0 ? axis + call->ndim : axis);
    int32_t last = info->role == VJP_ROLE_AXES ? call->ndim - 1 : first;
    for (int32_t d = first; d <= last; d++)
        call->reduced[d] |= VJPI_AXIS;
    return VJP_OK;
}

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

/* The number of a word among those of "rstd|variance", from 0. */
static int32_t word_number(const vjp_attr_info *info, const char *word)
{
    int32_t number = 0;
    size_t length = strlen(word);
    for (const char *at = info->choices; strncmp(at, word, length) != 0 || strcspn(at, "|") != length;
         at += strcspn(at, "|") + 1)
        number++;
    return number;
}

/* What an attribute means for the call, apart from shapes. */
static vjp_status apply_attr(int32_t a, const vjp_attr *value, bool given, vjpi_call *call,
                             vjpi_reason reason)
{
    const vjp_attr_info *info = &call->op->attrs[a];
    int32_t word = value->type == VJP_ATTR_STR ? word_number(info, value->value.str) : 0;
    bool set = value->type == VJP_ATTR_STR    ? word > 0
               : value->type == VJP_ATTR_F64  ? value->value.f64 != info->default_value.value.f64
               : value->type == VJP_ATTR_BOOL ? value->value.b != 0
                                              : value->value.s64 != 0;
    call->facts |= (uint32_t)set << (VJPI_ATTR_FACTS + a);
    switch (info->role) {
    case VJP_ROLE_CHOICE:
        call->choice = set;
        break;
    case VJP_ROLE_CONSTANT:
        call->constants[a] = value->value.f64;
        break;
    case VJP_ROLE_AXIS:
    case VJP_ROLE_AXES:
        return check_axis(call, info, value->value.s64, given, reason);
    case VJP_ROLE_CAUSAL:
        for (int32_t d = 0; d < call->ndim && set; d++)
            call->causal_dim = d; /* set below: the last dim that is not the axis */
        break;
    case VJP_ROLE_IGNORED:
        call->ignored_label = value->value.s64;
        call->constants[a] = (double)value->value.s64;
        break;
    case VJP_ROLE_LENIENT:
        call->lenient = set;
        break;
    case VJP_ROLE_FLAG:
        call->constants[a] = word;
        break;
    case VJP_ROLE_HINT:
    case VJP_ROLE_FORMAT:
    case VJP_ROLE_CHANNELS:
        break;
    }
    return VJP_OK;
}

static bool channels_first(const vjpi_op *op, const vjp_attr *values)
{
    bool first = false, applies = true;
    for (int32_t a = 0; a < op->info.nattrs; a++) {
        if (op->attrs[a].role == VJP_ROLE_FORMAT)
            first = strcmp(values[a].value.str, "NCX") == 0;
        if (op->attrs[a].role == VJP_ROLE_CHANNELS)
            applies = values[a].value.b;
    }
    return first && applies;
}

static void settle_causal(vjpi_call *call)
{
    bool causal = call->causal_dim >= 0;
    call->causal_dim = -1;
    for (int32_t d = 0; d < call->ndim && causal; d++)
        if (!(call->reduced[d] & VJPI_AXIS))
            call->causal_dim = d;
}

/* What the operator requires of its attributes, and the numbers it derives from them. */
static vjp_status settle_numbers(vjpi_call *call, vjpi_reason reason)
{
    vjpi_fpmode caller = vjpi_fpmode_enter();
    const char *refusal = call->op->settle(call->constants, call->choice, call->facts,
                                           call->constants + VJPI_DERIVED_SLOTS);
    vjpi_fpmode_leave(caller);
    if (refusal)
        return vjpi_refuse(reason, VJP_BAD_ATTRIBUTE, "%s: attribute %s", call->op->info.name,
                           refusal);
    return VJP_OK;
}

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
        (status = resolve_attrs(op, attrs, nattrs, values, given, reason)) != VJP_OK ||
        (status = check_dtypes(call, reason)) != VJP_OK)
        return status;
    call->ndim = call->tensors[0].ndim;
    memcpy(call->shape, call->tensors[0].shape, sizeof(call->shape));
    if ((status = check_shapes(call, true, false, reason)) != VJP_OK)
        return status;
    for (int32_t a = 0; a < op->info.nattrs; a++)
        if ((status = apply_attr(a, &values[a], given[a], call, reason)) != VJP_OK)
            return status;
    settle_causal(call);
    if ((status = settle_numbers(call, reason)) != VJP_OK ||
        (status = check_shapes(call, false, channels_first(op, values), reason)) != VJP_OK)
        return status;
    count_rows(call);
    find_work(call);
    if ((status = check_length(call, reason)) != VJP_OK)
        return status;
    return check_outputs(call, reason);
}
