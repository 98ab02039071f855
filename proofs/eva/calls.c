/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - the check of a whole call (core/check.c) for Frama-C's Eva, like tensors.c: any
 * descriptors, for any operator that limits.h allows. What stands in for other files is below. */
#include <inttypes.h>

#include "__fc_builtin.h"

int nondet(void);
long long nondet_64(void);

#define __builtin_mul_overflow(a, b, r) ((void)(a), (void)(b), *(r) = nondet_64(), nondet())
#define __builtin_add_overflow __builtin_mul_overflow
#define _Alignas(alignment) /* which Frama-C does not know */
#include <string.h>

#include "core/attributes.h"
#include "core/internal.h"

#define MAX_BYTES (INT64_MAX / 2)

/* Whole calls are checked with a stand-in for the check of one shape, which run.sh renamed:
 * that is studied by itself, for each number of dims. */
static vjp_status check_shape(vjpi_call *call, int32_t i, bool channels_first, vjpi_reason reason)
{
    Frama_C_make_unknown((char *)call->strides[i], sizeof(call->strides[i]));
    for (int32_t d = 0; d < VJP_MAX_DIMS; d++)
        call->reduced[d] |= nondet() ? VJPI_SUMMED : 0;
    return nondet() ? VJP_OK : VJP_BAD_SHAPE;
}

#include "tensors_together.c" /* of core/check.c */

static vjpi_op op;
static vjp_tensor_info infos[VJPI_MAX_TENSORS];
static uint8_t roles[VJPI_MAX_TENSORS];
static char names[VJPI_MAX_TENSORS][16];

vjp_status vjpi_refuse(vjpi_reason reason, vjp_status status, const char *format, ...)
{
    (void)reason, (void)format;
    return status;
}

/* table.c */
size_t vjp_dtype_size(vjp_dtype dtype)
{
    return nondet() ? 0 : nondet() ? 1 : nondet() ? 2 : nondet() ? 4 : 8;
}

size_t vjpi_compute_size(vjp_dtype dtype)
{
    return nondet() ? 0 : nondet() ? 4 : 8;
}

const char *vjp_dtype_name(vjp_dtype dtype) { return nondet() ? NULL : "dtype"; }
const vjpi_op *vjpi_op_find(const char *name) { return nondet() ? NULL : &op; }

/* context.c: a struct of anything, or a refusal. */
vjp_status vjpi_copy_struct(void *to, size_t to_size, size_t least, const void *from, size_t size,
                            const char *name, vjpi_reason reason)
{
    if (nondet())
        return VJP_BAD_ARGUMENT;
    Frama_C_make_unknown(to, sizeof(vjp_tensor));
    return VJP_OK;
}

/* The first part of check.c: tensors.c. */
vjp_status vjpi_check_tensor(const char *name, const vjp_tensor *tensor, vjpi_reason reason)
{
    return tensor->ndim < 0 || tensor->ndim > VJP_MAX_DIMS || nondet() ? VJP_BAD_SHAPE : VJP_OK;
}

/* layout.c, overlap.c */
int64_t vjpi_numel(const vjp_tensor *tensor) { return Frama_C_long_long_interval(0, MAX_BYTES); }

vjpi_answer vjpi_overlaps_itself(const vjp_tensor *tensor, int32_t *dim)
{
    *dim = Frama_C_interval(0, VJP_MAX_DIMS - 1);
    return nondet() ? VJPI_NO : nondet() ? VJPI_YES : VJPI_PERHAPS;
}

/* attributes.c: any axis, any position of the rows, any numbers. */
vjp_status vjpi_resolve_attrs(const vjpi_op *of, const vjp_attr *attrs, int32_t nattrs,
                              vjp_attr *values, bool *given, vjpi_reason reason)
{
    return nondet() ? VJP_OK : VJP_BAD_ATTRIBUTE;
}

vjp_status vjpi_apply_attrs(const vjp_attr *values, const bool *given, vjpi_call *call,
                            vjpi_reason reason)
{
    if (nondet())
        return VJP_BAD_ATTRIBUTE;
    for (int32_t d = 0; d < call->ndim; d++)
        call->reduced[d] |= nondet() ? VJPI_AXIS : 0;
    call->causal_dim = Frama_C_interval(-1, call->ndim - 1);
    call->choice = Frama_C_interval(0, 1);
    call->facts |= Frama_C_interval(0, 255) << VJPI_ATTR_FACTS;
    return VJP_OK;
}

bool vjpi_channels_first(const vjpi_op *of, const vjp_attr *values) { return nondet() != 0; }

static bool needs(int pass, uint32_t facts) { return nondet() != 0; }

/* An operator with this many inputs, and whatever else limits.h allows. */
static void make_op(int32_t ninputs)
{
    Frama_C_make_unknown((char *)infos, sizeof(infos));
    Frama_C_make_unknown((char *)roles, sizeof(roles));
    Frama_C_make_unknown((char *)names, sizeof(names));
    for (int32_t i = 0; i < VJPI_MAX_TENSORS; i++) {
        names[i][sizeof(names[i]) - 1] = 0;
        infos[i].name = names[i];
    }
    op.info.name = "op";
    op.info.ninputs = ninputs;
    op.info.noutputs = Frama_C_interval(1, VJPI_MAX_TENSORS - ninputs);
    op.tensors = infos;
    op.roles = roles;
    op.npasses = Frama_C_interval(1, VJPI_MAX_PASSES);
    op.needs = needs;
    op.indexed = nondet() != 0;
    op.is_heavy = nondet() != 0;
    op.has_plain = nondet() != 0;
}

static const vjpi_reason unsaid = { NULL, 0 };

static void check_call(void)
{
    const vjp_tensor given = { 0 }, *tensors[VJPI_MAX_TENSORS];
    vjpi_call call;
    for (int32_t i = 0; i < VJPI_MAX_TENSORS; i++)
        tensors[i] = nondet() ? &given : NULL;
    vjpi_check(nondet() ? "op" : NULL, NULL, nondet(), nondet() ? tensors : NULL, nondet(), &call,
               unsaid);
}

/* Tensor i of `ndim` dims, like those before it, beside data of `data_ndim`. */
static void check_one_shape(int32_t i, int32_t data_ndim, int32_t ndim)
{
    vjpi_call call;
    Frama_C_make_unknown((char *)&call, sizeof(call));
    for (int32_t j = 1; j < VJPI_MAX_TENSORS; j++)
        call.tensors[j].ndim = ndim;
    call.op = &op;
    call.ndim = call.tensors[0].ndim = data_ndim;
    check_shape_of_one(&call, i, nondet() != 0, unsaid);
    call.tensors[1].ndim = Frama_C_interval(0, VJP_MAX_DIMS); /* the one that i must be like */
    check_same_shape(&call, 0, 1, unsaid);
}

/* Each number of dims by itself, so that Eva need not relate it to indices. */
int main(void)
{
    for (int32_t ninputs = 1; ninputs < VJPI_MAX_TENSORS; ninputs++) {
        make_op(ninputs);
        check_call();
    }
    for (int32_t n = 0; n <= VJP_MAX_DIMS; n++) {
        check_one_shape(0, n, 0);
        for (int32_t of = 0; of <= VJP_MAX_DIMS; of++)
            check_one_shape(Frama_C_interval(1, VJPI_MAX_TENSORS - 1), n, of);
    }
    return 0;
}
