/* SPDX-License-Identifier: Apache-2.0 */
/* tensors.c - core/tensor.c and the check of one descriptor (core/check.c), for Frama-C's Eva: every
 * field of a descriptor may have any value.
 *
 * Eva reports each access outside an object, signed overflow, invalid shift, division by 0 and use of
 * what was not initialized that it cannot exclude; run.sh fails if there is one, or if a loop might not
 * end. What stands in for functions that are not under study is below. */
#include <inttypes.h>

#include "__fc_builtin.h"

int nondet(void);
long long nondet_64(void);

/* gcc's built-ins store something, and say whether it is the result: any of both is possible. */
#define __builtin_mul_overflow(a, b, r) ((void)(a), (void)(b), *(r) = nondet_64(), nondet())
#define __builtin_add_overflow __builtin_mul_overflow

#define _Alignas(alignment) /* which Frama-C does not know */
#include "core/tensor.c"
#include "one_tensor.c" /* of core/check.c */

vjp_status vjpi_refuse(vjpi_reason reason, vjp_status status, const char *format, ...)
{
    (void)reason, (void)format;
    return status;
}

/* table.c: 0 for what is no dtype. */
size_t vjp_dtype_size(vjp_dtype dtype)
{
    return nondet() ? 0 : nondet() ? 1 : nondet() ? 2 : nondet() ? 4 : 8;
}

static int refuses_struct; /* does the next call? */

/* context.c: copies at most the struct, or refuses. */
vjp_status vjpi_copy_struct(void *to, size_t to_size, size_t least, const void *from, size_t size,
                            const char *name, vjpi_reason reason)
{
    if (refuses_struct)
        return VJP_BAD_ARGUMENT;
    *(vjp_tensor *)to = *(const vjp_tensor *)from;
    return VJP_OK;
}

/* Every function with this ndim, and a tensor of that one to broadcast. */
static void call_all(int32_t ndim, int32_t tensor_ndim)
{
    vjp_tensor tensor, made;
    int64_t shape[VJP_MAX_DIMS], strides[VJP_MAX_DIMS];
    Frama_C_make_unknown((char *)&tensor, sizeof(tensor));
    Frama_C_make_unknown((char *)shape, sizeof(shape));
    Frama_C_make_unknown((char *)strides, sizeof(strides));
    tensor.ndim = tensor_ndim;
    vjpi_check_tensor("tensor", &tensor, unsaid);
    vjp_tensor_strided(nondet(), ndim, shape, strides, &made);
    vjp_tensor_contiguous(nondet(), ndim, shape, &made);
    for (refuses_struct = 0; refuses_struct < 2; refuses_struct++)
        vjp_tensor_broadcast(&tensor, ndim, shape, &made);
    vjp_tensor_strided(nondet(), ndim, NULL, strides, &made);
    vjp_tensor_strided(nondet(), ndim, shape, NULL, &made);
    vjp_tensor_strided(nondet(), ndim, shape, strides, NULL);
    vjp_tensor_contiguous(nondet(), ndim, NULL, &made);
    vjp_tensor_broadcast(NULL, ndim, shape, &made);
    refuses_struct = 0;
    vjp_tensor_broadcast(&tensor, ndim, NULL, &made);
}

static int32_t below(void) { return Frama_C_interval(INT32_MIN, -1); }
static int32_t above(void) { return Frama_C_interval(VJP_MAX_DIMS + 1, INT32_MAX); }

/* Each number of dims by itself, so that Eva need not relate it to indices; all others at once. */
int main(void)
{
    for (int32_t n = 0; n <= VJP_MAX_DIMS; n++) {
        for (int32_t of = 0; of <= VJP_MAX_DIMS; of++)
            call_all(n, of);
        call_all(below(), n);
        call_all(above(), n);
    }
    call_all(0, below());
    call_all(0, above());
    return 0;
}
