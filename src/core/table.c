/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - ops.def and dtypes.def expanded into constant rows, and the questions asked of them. */
#include <string.h>

#include "core/internal.h"
#include "ops_counts.h"

/* First pass: the tensors and attributes of each operator. A spare row ends each list of
 * attributes, since C has no empty arrays. */
#define TENSOR(name, dtype, shape) \
    { sizeof(vjp_tensor_info), #name, VJP_DTYPE_##dtype, VJP_SHAPE_##shape },
#define IN(name, variable, dtype, shape) TENSOR(name, dtype, shape)
#define FULL(name, dtype, shape, ...) TENSOR(name, dtype, shape)
#define SUM(name, dtype, shape, ...) TENSOR(name, dtype, shape)
#define ATTR(name, type, field, required, value, choices, meaning) \
    { sizeof(vjp_attr_info), #name, VJP_ATTR_##type, required,     \
      { #name, VJP_ATTR_##type, { .field = value } }, choices, meaning },
#define BOOL(name, value, meaning) ATTR(name, BOOL, b, 0, value, NULL, meaning)
#define CHOICE(name, value, meaning) ATTR(name, BOOL, b, 0, value, NULL, meaning)
#define AXIS(name, value, meaning) ATTR(name, S64, s64, 0, value, NULL, meaning)
#define F32(name, meaning) ATTR(name, F32, f32, 1, 0, NULL, meaning)
#define FORMAT(name, value, meaning) ATTR(name, STR, str, 0, value, "NCX|NXC", meaning)
#define OP(name, title, formula, accuracy, inputs, attributes, outputs) \
    static const vjp_tensor_info name##_tensors[] = { inputs outputs }; \
    static const vjp_attr_info name##_attrs[] = { attributes { 0 } };
#include "ops.def"

#define COUNT(list) (int32_t)(sizeof(list) / sizeof((list)[0]))

/* Second pass: what the loops can do. */
#define CHOICE(...) +1
#define OP(name, title, formula, accuracy, inputs, attributes, outputs)                            \
    _Static_assert(COUNT(name##_tensors) <= VJPI_MAX_TENSORS, #name ": too many tensors");         \
    _Static_assert(COUNT(name##_attrs) - 1 <= VJPI_MAX_ATTRS, #name ": too many attributes");      \
    _Static_assert(name##_nsums <= VJPI_MAX_SUMS, #name ": too many SUM");                         \
    _Static_assert(name##_nrowsums <= 1, #name ": more than one ROWSUM");                          \
    _Static_assert(name##_nrowsums == 0 || name##_nsums == 0, #name ": ROWSUM and SUM");           \
    _Static_assert(0 attributes <= 1, #name ": more than one CHOICE");
#include "ops.def"

/* Third pass: the rows. The attribute with a role of its own is the one the macro names. */
#define CHOICE(name, ...) #name
#define OP(name, title, formula, accuracy, inputs, attributes, outputs)   \
    { { sizeof(vjp_op_info), #name, title, formula, accuracy, name##_nin, \
        COUNT(name##_tensors) - name##_nin, COUNT(name##_attrs) - 1 },    \
      name##_tensors, name##_attrs,                                       \
      name##_nrowsums ? VJPI_ROW                                          \
      : name##_nsums ? VJPI_FOLD : VJPI_MAP,                              \
      VJPI_FORMULA_##name, "" attributes, name##_nfull },
static const vjpi_op ops[] = {
#include "ops.def"
};

static const struct {
    vjp_dtype dtype;
    const char *name;
    size_t size;
} dtypes[] = {
#define DTYPE(name, suffix, size, compute) { VJP_##suffix, #name, size },
#include "dtypes.def"
#undef DTYPE
};

int32_t vjp_op_count(void)
{
    return COUNT(ops);
}

const vjp_op_info *vjp_op_at(int32_t index)
{
    return index >= 0 && index < COUNT(ops) ? &ops[index].info : NULL;
}

const vjpi_op *vjpi_op_find(const char *name)
{
    for (int32_t i = 0; name && i < COUNT(ops); i++)
        if (strcmp(ops[i].info.name, name) == 0)
            return &ops[i];
    return NULL;
}

const vjp_op_info *vjp_op_find(const char *name)
{
    const vjpi_op *op = vjpi_op_find(name);
    return op ? &op->info : NULL;
}

const vjp_tensor_info *vjp_op_tensor(const vjp_op_info *op, int32_t index)
{
    if (!op || index < 0 || index >= op->ninputs + op->noutputs)
        return NULL;
    return &((const vjpi_op *)op)->tensors[index];
}

const vjp_attr_info *vjp_op_attr(const vjp_op_info *op, int32_t index)
{
    if (!op || index < 0 || index >= op->nattrs)
        return NULL;
    return &((const vjpi_op *)op)->attrs[index];
}

const char *vjp_dtype_name(vjp_dtype dtype)
{
    for (int32_t i = 0; i < COUNT(dtypes); i++)
        if (dtypes[i].dtype == dtype)
            return dtypes[i].name;
    return NULL;
}

size_t vjp_dtype_size(vjp_dtype dtype)
{
    for (int32_t i = 0; i < COUNT(dtypes); i++)
        if (dtypes[i].dtype == dtype)
            return dtypes[i].size;
    return 0;
}
