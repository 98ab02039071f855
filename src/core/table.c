/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - ops.def and dtypes.def expanded into constant rows, and lookups in them. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/internal.h"
#include "ops_counts.h"

#define LENGTH(list) (int32_t)(sizeof(list) / sizeof((list)[0]))

/* Words of ops.def that combine a public rule and a flag. */
enum {
    VJP_DTYPE_LABEL = VJP_DTYPE_INDEX,
    VJP_SHAPE_END = VJP_SHAPE_ROW,
    IS_SAME = 0, IS_WIDE = 0, IS_ANY = 0, IS_STAT = 0, IS_INDEX = 0, IS_MASK = 0,
    IS_LABEL = VJP_TENSOR_LABEL,
    IS_DATA = 0, IS_PARAM = 0, IS_ROW = 0,
    IS_END = VJP_TENSOR_END
};

/* First: the tensors and attributes of each operator. A spare row ends each list of attributes,
 * since C has no empty arrays. */
#define TENSOR(name, dtype, shape, flags) \
    { sizeof(vjp_tensor_info), #name, (vjp_dtype_rule)VJP_DTYPE_##dtype, \
      (vjp_shape_rule)VJP_SHAPE_##shape, IS_##dtype | IS_##shape | (flags) },
#define IN(name, variable, dtype, shape) TENSOR(name, dtype, shape, 0)
#define OPT(name, variable, dtype, shape, value) TENSOR(name, dtype, shape, VJP_TENSOR_OPTIONAL)
#define FULL(name, dtype, shape, ...) TENSOR(name, dtype, shape, 0)
#define OPT_FULL(name, dtype, shape, ...) TENSOR(name, dtype, shape, VJP_TENSOR_OPTIONAL)
#define SUM(name, dtype, shape, ...) TENSOR(name, dtype, shape, VJP_TENSOR_SUM)
#define OPT_SUM(name, dtype, shape, ...) \
    TENSOR(name, dtype, shape, VJP_TENSOR_SUM | VJP_TENSOR_OPTIONAL)
#define PER_ROW(name, dtype, ...) TENSOR(name, dtype, ROW, 0)
#define OPT_PER_ROW(name, dtype, ...) TENSOR(name, dtype, ROW, VJP_TENSOR_OPTIONAL)
#define ATTR(name, type, role, field, required, value, choices, meaning)        \
    { sizeof(vjp_attr_info), #name, VJP_ATTR_##type, VJP_ROLE_##role, required, \
      { #name, VJP_ATTR_##type, { .field = value } }, choices, meaning },
#define HINT(name, value, meaning) ATTR(name, BOOL, HINT, b, 0, value, NULL, meaning)
#define CHOICE(name, value, meaning) ATTR(name, BOOL, CHOICE, b, 0, value, NULL, meaning)
#define MODE(name, value, words, meaning) ATTR(name, STR, CHOICE, str, 0, value, words, meaning)
#define FLAG(name, value, meaning) ATTR(name, BOOL, FLAG, b, 0, value, NULL, meaning)
#define WORD(name, value, words, meaning) ATTR(name, STR, FLAG, str, 0, value, words, meaning)
#define ONE_OF WORD
#define REAL(name, value, meaning) ATTR(name, F64, CONSTANT, f64, 0, value, NULL, meaning)
#define NEEDED(name, meaning) ATTR(name, F64, CONSTANT, f64, 1, 0, NULL, meaning)
#define AXIS(name, value, meaning) ATTR(name, S64, AXIS, s64, 0, value, NULL, meaning)
#define AXES(name, value, meaning) ATTR(name, S64, AXES, s64, 0, value, NULL, meaning)
#define FORMAT(name, value, meaning) ATTR(name, STR, FORMAT, str, 0, value, "NCX|NXC", meaning)
#define CHANNELS(name, value, meaning) ATTR(name, BOOL, CHANNELS, b, 0, value, NULL, meaning)
#define CAUSAL(name, value, meaning) ATTR(name, BOOL, CAUSAL, b, 0, value, NULL, meaning)
#define IGNORE(name, value, meaning) ATTR(name, S64, IGNORED, s64, 0, value, NULL, meaning)
#define LENIENT(name, value, meaning) ATTR(name, BOOL, LENIENT, b, 0, value, NULL, meaning)
#define OP(name, title, formula, inputs, attributes, outputs, bounds)   \
    static const vjp_tensor_info name##_tensors[] = { inputs outputs }; \
    static const vjp_attr_info name##_attrs[] = { attributes { 0 } };
#include "ops.def"

/* Second: the tensors' roles, and what an omitted input is read as. */
#define IN(name, variable, dtype, shape) VJPI_ROLE_##shape,
#define OPT(name, variable, dtype, shape, value) VJPI_ROLE_##shape,
#define FULL(...) VJPI_FULL,
#define SUM(...) VJPI_SUM,
#define PER_ROW(...) VJPI_PER_ROW,
#define OP(name, title, formula, inputs, attributes, outputs, bounds) \
    static const uint8_t name##_roles[] = { inputs outputs };
#include "ops.def"
#define IN(...) 0,
#define OPT(name, variable, dtype, shape, value) (value),
#define OP(name, title, formula, inputs, attributes, outputs, bounds) \
    static const double name##_stand_ins[] = { inputs };
#include "ops.def"

/* Third: the bounds, in numbers and in words made from them. */
#define NARROW_DTYPES (1u << VJP_F16 | 1u << VJP_BF16)
#define ALL_DTYPES (1u << VJP_F64 | 1u << VJP_F32 | NARROW_DTYPES)
#define ULP_ROW(output, choice, dtypes, any, one, text) \
    { sizeof(vjp_bound_info), #output, choice, dtypes, any, one, 0, NULL, text },
#define ULP(output, choice, half, f32, f32_one, f64, f64_one)        \
    ULP_ROW(output, choice, NARROW_DTYPES, half, half, #half " ULP") \
    ULP_ROW(output, choice, 1u << VJP_F32, f32, f32_one,             \
            #f32 " ULP, " #f32_one " for a gradient of 1")           \
    ULP_ROW(output, choice, 1u << VJP_F64, f64, f64_one,             \
            #f64 " ULP, " #f64_one " for a gradient of 1")
#define VALUE_ULP(output, choice, half, f32, f64)                                            \
    ULP_ROW(output, choice, NARROW_DTYPES, half, half, #half " ULP")                         \
    ULP_ROW(output, choice, 1u << VJP_F32, f32, f32, #f32 " ULP")                            \
    ULP_ROW(output, choice, 1u << VJP_F64, f64, f64, #f64 " ULP")
#define WITHIN(output, c, magnitude)                                      \
    { sizeof(vjp_bound_info), #output, -1, ALL_DTYPES, 0, 0, c, magnitude, \
      "(ceil(log2 n) + " #c ") * eps * " magnitude                        \
      " as long as no partial sum overflows, then one rounding for f16 and bf16" },
#define OP(name, title, formula, inputs, attributes, outputs, bounds) \
    static const vjp_bound_info name##_bounds[] = { bounds };
#include "ops.def"

/* Fourth: which passes a call needs. */
#define SKIP_ATTR(...) attr++;
#define IN(...) tensor++;
#define OPT(name, ...)                                                  \
    const bool has_##name = facts >> tensor++ & 1;                      \
    (void)has_##name;
#define FACT(name, ...)                                                 \
    const bool is_##name = facts >> (VJPI_ATTR_FACTS + attr++) & 1;     \
    (void)is_##name;
#define HINT SKIP_ATTR
#define CHOICE SKIP_ATTR
#define MODE SKIP_ATTR
#define FLAG FACT
#define WORD FACT
#define ONE_OF FACT
#define LENIENT FACT
#define REAL FACT
#define NEEDED FACT
#define AXIS SKIP_ATTR
#define AXES SKIP_ATTR
#define FORMAT SKIP_ATTR
#define CHANNELS SKIP_ATTR
#define CAUSAL SKIP_ATTR
#define IGNORE SKIP_ATTR
#define THEN current++;
#define WHEN(...)            \
    if (pass == current)     \
        return (__VA_ARGS__);
#define OP(name, title, formula, inputs, attributes, outputs, bounds) \
    static bool name##_needs(int pass, uint32_t facts)                \
    {                                                                 \
        int tensor = 0, attr = 0, current = 0;                        \
        inputs attributes outputs                                     \
        (void)tensor, (void)attr, (void)current, (void)facts;         \
        return pass < current;                                        \
    }
#include "ops.def"
#undef SKIP_ATTR
#undef FACT

/* For REQUIRE: is v, a number made of attributes, 0 or what f32 has as a normal number? */
static bool is_normal_f32(double v)
{
    return v == 0 || (fabs(v) >= FLT_MIN && fabs(v) <= FLT_MAX);
}

/* Fifth: what is required of the attributes, and the numbers made of them. */
#define SKIP_ATTR(...) attr++;
#define FACT(name, ...)                                                 \
    const bool is_##name = facts >> (VJPI_ATTR_FACTS + attr++) & 1;     \
    (void)is_##name;
#define CHOSEN(name, ...)    \
    const int name = choice; \
    (void)name;              \
    attr++;
#define VALUE(name, ...)                 \
    const double name = values[attr++];  \
    (void)name;
#define HINT SKIP_ATTR
#define CHOICE CHOSEN
#define MODE CHOSEN
#define FLAG FACT
#define WORD FACT
#define ONE_OF VALUE
#define LENIENT FACT
#define REAL VALUE
#define NEEDED VALUE
#define AXIS SKIP_ATTR
#define AXES SKIP_ATTR
#define FORMAT SKIP_ATTR
#define CHANNELS SKIP_ATTR
#define CAUSAL SKIP_ATTR
#define IGNORE VALUE
#define REQUIRE(condition, reason) \
    if (!(condition))              \
        return reason;
#define DERIVED(name, ...)             \
    const double name = (__VA_ARGS__); \
    *derived++ = name;
#define OP(name, title, formula, inputs, attributes, outputs, bounds)                      \
    static const char *name##_settle(const double *values, int choice, uint32_t facts,     \
                                     double *derived)                                      \
    {                                                                                      \
        int attr = 0;                                                                      \
        attributes                                                                         \
        (void)attr, (void)values, (void)choice, (void)facts, (void)derived;                \
        return NULL;                                                                       \
    }
#include "ops.def"
#undef SKIP_ATTR
#undef FACT
#undef CHOSEN
#undef VALUE

/* Sixth: what the loops support. */
#define OP(name, title, formula, inputs, attributes, outputs, bounds)                           \
    _Static_assert(LENGTH(name##_tensors) <= VJPI_MAX_TENSORS, #name ": too many tensors");     \
    _Static_assert(LENGTH(name##_attrs) - 1 <= VJPI_MAX_ATTRS, #name ": too many attributes");  \
    _Static_assert(name##_nderived <= VJPI_MAX_DERIVED, #name ": too many DERIVED");            \
    _Static_assert(name##_nsums <= VJPI_MAX_SUMS, #name ": too many SUM");                      \
    _Static_assert(name##_nsums == 0 || name##_nper_row == 0, #name ": SUM and PER_ROW");       \
    _Static_assert(name##_npasses <= VJPI_MAX_PASSES, #name ": too many passes");               \
    _Static_assert(name##_nvalues <= VJPI_MAX_VALUES, #name ": too many ROWSUM and ROWMAX");    \
    _Static_assert(name##_nlets <= VJPI_MAX_LETS, #name ": too many ROWLET");                   \
    _Static_assert(name##_nkept <= 1, #name ": more than one KEEP");                            \
    _Static_assert(name##_nheavy > 0 || name##_nkept == 0,                                      \
                   #name ": only a HEAVY formula may have KEEP");                               \
    _Static_assert(name##_nchoices <= 1, #name ": more than one CHOICE or MODE");               \
    _Static_assert(name##_nlookups == 0 || (name##_nin <= 2 && LENGTH(name##_tensors) ==        \
                                            name##_nin + 1 && name##_npasses == 1),             \
                   #name ": LOOKUP is for one or two inputs and one output");
#include "ops.def"

/* Last: the rows. Whatever is counted per pass is one element of an initializer list. */
#define ROWSUM(...) +1
#define ROWMAX(...) +1 + VJPI_MAXIMUM
#define ROWLET(...) +VJPI_LET
#define KEEP(...) +VJPI_KEEP
#define THEN , 0
#define OP(name, title, formula, inputs, attributes, outputs, bounds)             \
    { { sizeof(vjp_op_info), #name, title, formula, name##_nin,                   \
        LENGTH(name##_tensors) - name##_nin, LENGTH(name##_attrs) - 1,            \
        LENGTH(name##_bounds) },                                                  \
      name##_tensors, name##_attrs, name##_bounds, name##_roles, name##_stand_ins, \
      VJPI_FORMULA_##name, name##_npasses, name##_nvalues, name##_nlets,          \
      { 0 outputs }, name##_nkept > 0, name##_nindex > 0, name##_needs, name##_settle,  \
      name##_nheavy > 0, name##_nlookups > 0, name##_has_plain },
static const vjpi_op ops[] = {
#include "ops.def"
};

static const struct {
    vjp_dtype dtype;
    const char *name;
    size_t size;
} dtypes[] = {
#define DTYPE(name, suffix, size, compute) { VJP_##suffix, #name, size },
#define STORED(name, suffix, size, type) { VJP_##suffix, #name, size },
#include "dtypes.def"
};

int32_t vjp_op_count(void)
{
    return LENGTH(ops);
}

const vjp_op_info *vjp_op_at(int32_t index)
{
    return index >= 0 && index < LENGTH(ops) ? &ops[index].info : NULL;
}

const vjpi_op *vjpi_op_find(const char *name)
{
    for (int32_t i = 0; name && i < LENGTH(ops); i++)
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

int32_t vjp_op_tensor_index(const vjp_op_info *op, const char *name)
{
    for (int32_t i = 0; op && name && i < op->ninputs + op->noutputs; i++)
        if (strcmp(((const vjpi_op *)op)->tensors[i].name, name) == 0)
            return i;
    return -1;
}

const vjp_attr_info *vjp_op_attr(const vjp_op_info *op, int32_t index)
{
    if (!op || index < 0 || index >= op->nattrs)
        return NULL;
    return &((const vjpi_op *)op)->attrs[index];
}

const vjp_bound_info *vjp_op_bound(const vjp_op_info *op, int32_t index)
{
    if (!op || index < 0 || index >= op->nbounds)
        return NULL;
    return &((const vjpi_op *)op)->bounds[index];
}

const char *vjp_dtype_name(vjp_dtype dtype)
{
    for (int32_t i = 0; i < LENGTH(dtypes); i++)
        if (dtypes[i].dtype == dtype)
            return dtypes[i].name;
    return NULL;
}

size_t vjp_dtype_size(vjp_dtype dtype)
{
    for (int32_t i = 0; i < LENGTH(dtypes); i++)
        if (dtypes[i].dtype == dtype)
            return dtypes[i].size;
    return 0;
}

size_t vjpi_compute_size(vjp_dtype dtype)
{
    enum {
#define DTYPE(name, suffix, size, compute) SIZE_##name = size,
#include "dtypes.def"
    };
    switch (dtype) {
#define DTYPE(name, suffix, size, compute) case VJP_##suffix: return SIZE_##compute;
#define STORED(name, suffix, size, type) case VJP_##suffix: return 0;
#include "dtypes.def"
    }
    return 0;
}
