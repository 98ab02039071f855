/* SPDX-License-Identifier: Apache-2.0 */
/* attributes.c - see attributes.h. */
#include "core/attributes.h"

#include <inttypes.h>
#include <string.h>

#include "core/fpmode.h"

/* ---- what is given ------------------------------------------------------------------------ */

/* The number of a word among those of "NCX|NXC", from 0; -1 if it is none of them. */
static int32_t word_number(const char *choices, const char *value)
{
    size_t length = strlen(value);
    int32_t number = 0;
    for (const char *word = choices; word; word = strchr(word, '|'), number++) {
        word += *word == '|';
        if (length == strcspn(word, "|") && strncmp(word, value, length) == 0)
            return number;
    }
    return -1;
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
    if (attr->type == VJP_ATTR_STR && word_number(info->choices, attr->value.str) < 0)
        return vjpi_refuse(reason, VJP_BAD_ATTRIBUTE, "attribute %s: '%.32s' is not one of %s",
                           info->name, attr->value.str, info->choices);
    return VJP_OK;
}

vjp_status vjpi_resolve_attrs(const vjpi_op *op, const vjp_attr *attrs, int32_t nattrs,
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

/* ---- what it means ------------------------------------------------------------------------ */

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

/* What an attribute means for the call, apart from shapes. */
static vjp_status apply_attr(int32_t a, const vjp_attr *value, bool given, vjpi_call *call,
                             vjpi_reason reason)
{
    const vjp_attr_info *info = &call->op->attrs[a];
    int32_t word =
        value->type == VJP_ATTR_STR ? word_number(info->choices, value->value.str) : 0;
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
            call->causal_dim = d; /* settle_causal finds the last dim that is not the axis */
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

vjp_status vjpi_apply_attrs(const vjp_attr *values, const bool *given, vjpi_call *call,
                            vjpi_reason reason)
{
    for (int32_t a = 0; a < call->op->info.nattrs; a++) {
        vjp_status status = apply_attr(a, &values[a], given[a], call, reason);
        if (status != VJP_OK)
            return status;
    }
    settle_causal(call);
    return settle_numbers(call, reason);
}

bool vjpi_channels_first(const vjpi_op *op, const vjp_attr *values)
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
